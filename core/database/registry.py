"""All tables: their text columns, and the columns by which rows of a person or conversation are found.

It is read off the schema: a column that names somebody has the same name in every table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Column, Connection, Table, update

from .dialects import JsonText, StoredText
from .schema import TABLES
from .sources import ALL

Scoped = Literal["persona", "audience", "none"]
"""persona: has a persona_id of its own. audience: part of the search index, made of other rows, by audience_id. none:
about the database or a participant of any persona."""

_PEOPLE = frozenset({"participant_key", "person_key", "direct_person_key", "triggered_by", "user_id", "ref"})
_PLACES = frozenset({"conversation_key", "interface_path", "channel_id", "ref"})
_PLACE_PARTS = ("interface", "chat_id", "thread_id")
_WORDS = frozenset({"tag", "alias", "related_tag", "term"})
"""Keys that are words people said."""
_PARENTS = {
    "message_row": "chat_history_cache",
    "break_row": "chat_history_cache",
    "scene_id": "scenes",
    "item_id": "memories",
    "memory_id": "memories",
}


@dataclass(frozen=True, slots=True)
class Registered:
    """How a table is read for a person, a conversation, a persona."""

    table: str
    scoped: Scoped
    texts: tuple[str, ...]
    """Columns with texts of people or models: after forgetting they contain nothing of the forgotten."""
    participant: tuple[str, ...]
    """Key columns that name a participant; a row in which one of them is theirs is found by it."""
    conversation: tuple[str, ...]
    """Columns that name the conversation: one holds its key; three are interface, chat id and thread id."""
    row_of: str
    """Column with the id of a parent row; the row is deleted with its parent. Blank for none."""
    row_table: str
    """Table of the parent row."""

    @property
    def persona(self) -> str:
        """Return the column by which rows of a persona are found; blank where rows are nobody's."""
        return {"persona": "persona_id", "audience": "audience_id", "none": ""}[self.scoped]


def _register(table: Table) -> Registered:
    names = tuple(table.columns.keys())
    places = tuple(name for name in names if name in _PLACES)
    if not places and set(_PLACE_PARTS) <= set(names):
        places = _PLACE_PARTS
    parent = next((name for name in names if name in _PARENTS), "")
    scoped: Scoped = "persona" if "persona_id" in names else "audience" if "audience_id" in names else "none"
    written = (c for c in table.columns if isinstance(c.type, StoredText | JsonText) or c.name in _WORDS)
    texts = (c.name for c in written if c.name != "made_with")  # ids of rows alone
    return Registered(
        table.name,
        scoped,
        () if scoped == "none" else tuple(texts),
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
"""Tables whose rows are in the audience of their conversation and in no search table, with the column of its key."""


def move_followers(connection: Connection, persona: str, conversation: str, audience_id: int) -> dict[str, int]:
    """Move rows derived from a conversation to its new audience; return the counts per table."""
    counts = {}
    for table, key in FOLLOWING:
        c = table.c
        change = update(table).where(c.persona_id == persona, key == conversation, c.audience_id != audience_id)
        counts[table.name] = connection.execute(change.values(audience_id=audience_id)).rowcount
    return counts
