"""What there is of a persona and where: for people who look, not for prompts. Nothing here depends on who asks."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import func, select, union_all

from ..database.engine import Database
from ..database.schema import ai_diary, audiences, chat_history_cache, conversations, memories, participants

MOST_KEYS = 100_000


class Place(NamedTuple):
    """Rows that are seen together."""

    kind: str
    """persona, public, server, direct, saved or conversation."""
    server: str
    rows: int


def count_places(db: Database, persona: str) -> list[Place]:
    """Return how many messages, memories and diary entries stand where, most first."""
    a = audiences.c
    counted = union_all(
        *(
            select(table.c.audience_id, func.count().label("held"))
            .where(table.c.persona_id == persona)
            .group_by(table.c.audience_id)
            for table in (chat_history_cache, memories, ai_diary)
        )
    ).subquery()
    found = (
        select(a.kind, a.server_id, func.sum(counted.c.held).label("held"))
        .select_from(audiences.join(counted, counted.c.audience_id == a.audience_id))
        .where(a.persona_id == persona)
        .group_by(a.kind, a.server_id)
    )
    rows = db.read(found, source="audiences")
    return sorted((Place(row.kind, row.server_id, int(row.held)) for row in rows), key=lambda one: -one.rows)


def list_keys(db: Database, persona: str, kind: str) -> list[str]:
    """Return the keys of people, conversations or servers that are known, at most MOST_KEYS."""
    column, table = {
        "participant": (participants.c.participant_key, participants),
        "conversation": (conversations.c.conversation_key, conversations),
        "server": (conversations.c.server_id, conversations),
    }[kind]
    chosen = select(column).where(table.c.persona_id == persona).distinct().order_by(column).limit(MOST_KEYS)
    return [str(row[0]) for row in db.read(chosen, source=table.name) if row[0]]


def is_known(db: Database, persona: str, conversation: str) -> bool:
    """Return whether anything was stored of a conversation."""
    c = conversations.c
    chosen = select(c.id).where(c.persona_id == persona, c.conversation_key == conversation)
    return bool(db.read(chosen, source="conversations"))
