"""Texts the screening hook has flagged: stored unchanged, read by nobody until an operator releases them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select

from ..database.engine import Database
from ..database.sources import AI_DIARY, BY_NAME, MEMORIES
from ..index import indexed
from ..shapes import Source


class Quarantined(NamedTuple):
    """One flagged row."""

    source: Source
    id: int
    at: datetime | None
    text: str


def found(db: Database, persona: str, limit: int) -> list[Quarantined]:
    """Return the persona's flagged rows, newest first, memories before diary entries of one instant."""
    listed: list[Quarantined] = []
    for source in (MEMORIES, AI_DIARY):
        c = source.table.c
        chosen = select(c.id, c.timestamp, source.text).where(c.persona_id == bindparam("persona"), c.quarantined == 1)
        rows = db.read(
            chosen.order_by(c.timestamp.desc(), c.id.desc()).limit(limit),
            {"persona": persona},
            source=source.table.name,
        )
        listed += [Quarantined(source.name, row[0], row[1], row[2]) for row in rows]
    listed.sort(key=lambda each: (each.at is not None, each.at, each.source == "memories", each.id), reverse=True)
    return listed[:limit]


def release(db: Database, persona: str, source: str, row_id: int) -> bool:
    """Let a flagged row be read; False where there is none."""
    table = BY_NAME.get(source)  # type: ignore[call-overload]
    if table not in (MEMORIES, AI_DIARY):
        return False
    c = table.table.c
    flagged = select(c.id).where(c.persona_id == persona, c.id == row_id, c.quarantined == 1)

    def work(connection: Connection) -> int:
        ids = connection.execute(flagged.with_for_update()).scalars().all()
        return indexed.set_hidden(connection, db, table, persona, ids, quarantined=0)

    changed: Any = db.transaction(work, source=table.table.name, confirm=lambda _: None)
    return bool(changed)
