"""The three searched tables: their columns, and the conditions for rows that can be found."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Integer, Table, and_, bindparam, func, select

from ..shapes import Source
from .compiled import hide_from_index
from .schema import ai_diary, chat_history_cache, conversations, memories

WITHDRAWN = 3
"""Value of `hidden` for an answer made with forgotten data: no search finds it."""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A searched table. The index tables store its `number`; hits of equal time are sorted by `number`."""

    number: int
    name: Source
    table: Table
    text: Any
    """Column whose text a hit shows as its snippet."""
    tags: Any
    """Column of the row's tags; None for the chat, whose rows have no tags."""

    @property
    def findable(self) -> ColumnElement[bool]:
        """Return the condition for rows that are `visible` and in the search index already."""
        # not by SQLite's index of rows that wait to be indexed: it would read all other rows of a persona
        return and_(hide_from_index(self.table.c.indexed, "sqlite") == 1, self.visible)

    @property
    def visible(self) -> ColumnElement[bool]:
        """Return the condition for rows that a search may find once indexed: not archived, superseded or withdrawn."""
        columns = self.table.c
        unset = [columns[name].is_(None) for name in ("archived_at", "superseded_by") if name in columns]
        return and_(True, *unset, *([columns.hidden < WITHDRAWN] if "hidden" in columns else ()))


def open_to(source: SourceTable) -> ColumnElement[bool]:
    """Return the condition that excludes rows marked local_only, unless the statement's parameter `local_only` is 1."""
    columns = source.table.c
    allowed = bindparam("local_only", type_=Integer())
    if "local_only" in columns:
        return columns.local_only <= allowed
    marked = select(conversations.c.local_only).where(
        conversations.c.persona_id == columns.persona_id, conversations.c.conversation_key == columns.interface_path
    )
    # Some servers turn NOT EXISTS into a list of all conversations; this is one look-up by key per row.
    return func.coalesce(marked.scalar_subquery(), 0) <= allowed


MEMORIES = SourceTable(0, "memories", memories, memories.c.content, memories.c.tags)
AI_DIARY = SourceTable(1, "ai_diary", ai_diary, ai_diary.c.content, ai_diary.c.context_tags)
CHAT = SourceTable(2, "chat_history", chat_history_cache, chat_history_cache.c.message_text, None)

ALL: tuple[SourceTable, ...] = (MEMORIES, AI_DIARY, CHAT)
BY_NAME = {source.name: source for source in ALL}
BY_NUMBER = {source.number: source for source in ALL}
