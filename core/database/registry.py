"""Lists, for all tables, the columns that hold texts, and the columns that name a person or a conversation."""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Column, Table

from .dialects import JsonText, StoredText
from .schema import TABLES
from .sources import ALL

_PEOPLE = frozenset({"participant_key", "person_key", "direct_person_key", "triggered_by", "user_id", "ref"})
_PLACES = frozenset({"conversation_key", "interface_path", "channel_id", "ref"})
_PLACE_PARTS = ("interface", "chat_id", "thread_id")
_WORDS = frozenset({"tag", "alias", "related_tag", "term"})
"""Names of key columns whose values are words that people said."""
_PARENTS = {
    "message_row": "chat_history_cache",
    "break_row": "chat_history_cache",
    "scene_id": "scenes",
    "item_id": "memories",
    "memory_id": "memories",
}


@dataclass(frozen=True, slots=True)
class Registered:
    """One table, with the columns that select the rows of a person, a conversation or a persona."""

    table: str
    persona: Literal["persona_id", "audience_id", ""]
    """Column that selects a persona's rows: the persona's key, or its audience in search tables; "" for neither."""
    texts: tuple[str, ...]
    """Columns with texts of people or models; after forgetting, they contain no text of the forgotten person."""
    participant: tuple[str, ...]
    """Key columns that name a participant; a row belongs to a person if any of these columns has the person's key."""
    conversation: tuple[str, ...]
    """Columns that name the conversation: one column with the key, or three with interface, chat id and thread id."""
    row_of: str
    """Column with the id of a parent row; deleting the parent deletes the row. "" if the table has no parent."""
    row_table: str


def _register(table: Table) -> Registered:
    names = tuple(table.columns.keys())
    places = tuple(name for name in names if name in _PLACES)
    if not places and set(_PLACE_PARTS) <= set(names):
        places = _PLACE_PARTS
    parent = next((name for name in names if name in _PARENTS), "")
    is_own, is_audience = "persona_id" in names, "audience_id" in names
    written = (c for c in table.columns if isinstance(c.type, StoredText | JsonText) or c.name in _WORDS)
    texts = (c.name for c in written if c.name != "made_with")  # it holds only row ids
    return Registered(
        table.name,
        "persona_id" if is_own else "audience_id" if is_audience else "",
        tuple(texts) if is_own or is_audience else (),
        tuple(name for name in names if name in _PEOPLE),
        places,
        parent,
        _PARENTS.get(parent, ""),
    )


REGISTRY: tuple[Registered, ...] = tuple(map(_register, TABLES.values()))

BY_TABLE: dict[str, Registered] = {entry.table: entry for entry in REGISTRY}

FOLLOWING: tuple[tuple[Table, Column[str]], ...] = tuple(
    (TABLES[entry.table], TABLES[entry.table].c[entry.conversation[0]])
    for entry in REGISTRY
    if entry.table not in ("audiences", "conversations", *(source.table.name for source in ALL))
    and entry.conversation
    and "audience_id" in TABLES[entry.table].c
)
"""(Table, conversation key column) of tables outside the search index whose rows move with their conversation."""
