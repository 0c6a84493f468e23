"""Rows that stand in the audience of their conversation and in no search table: they follow it when it moves."""

from __future__ import annotations

from sqlalchemy import Column, Connection, Table, update

from .schema import conversation_summaries, short_term_memories, stored_values

FOLLOWING: tuple[tuple[Table, Column[str]], ...] = (
    (conversation_summaries, conversation_summaries.c.conversation_key),
    (short_term_memories, short_term_memories.c.channel_id),
    (stored_values, stored_values.c.conversation_key),
)
"""Each table with its column of conversation keys."""

NAMES: tuple[str, ...] = tuple(table.name for table, _ in FOLLOWING)


def move_followers(connection: Connection, persona: str, conversation: str, audience_id: int) -> dict[str, int]:
    """Give what was made of a conversation its new audience, and return the counts per table."""
    counts = {}
    for table, key in FOLLOWING:
        c = table.c
        change = update(table).where(c.persona_id == persona, key == conversation, c.audience_id != audience_id)
        counts[table.name] = connection.execute(change.values(audience_id=audience_id)).rowcount
    return counts
