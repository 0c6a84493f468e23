"""Ticks and numbers of each persona, shared by all processes, in rows of `counters`."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Connection, select, update

from ..database.dialects import EPOCH, insert_ignore, upsert
from ..database.engine import Database
from ..database.schema import conversations, counters

TICK = "consolidation_tick"
"""Its value is when the interval began, in seconds since 1970."""
STREAMS = "stream_end"
"""Its value is how many streams have ended."""
_C = counters.c


def begin_interval(db: Database, persona: str, interval_seconds: int) -> bool:
    """Return whether an interval of a persona is over; then the next one has begun."""
    now = int((db.clock() - EPOCH) // timedelta(seconds=1))
    due = (
        update(counters)
        .where(_C.persona_id == persona, _C.name == TICK, _C.value <= now - interval_seconds)
        .values(value=now)
    )

    def work(connection: Connection) -> bool:
        if connection.execute(due).rowcount > 0:
            return True
        row = {"persona_id": persona, "name": TICK, "value": now}
        connection.execute(insert_ignore(counters, db.family), row)
        return False

    # Where the answer to the commit is lost, nobody is told so and the interval begins anew.
    return db.transaction(work, source="counters", confirm=lambda _: False)


def count_stream(connection: Connection, db: Database, persona: str) -> int:
    """Count one more end of a stream, in the caller's transaction, and return how many there were."""
    row = {"persona_id": persona, "name": STREAMS, "value": 1}
    connection.execute(upsert(counters, db.family, add=["value"]), row)
    chosen = select(_C.value).where(_C.persona_id == persona, _C.name == STREAMS)
    return int(connection.execute(chosen).scalar_one())


def read_personas(db: Database) -> list[str]:
    """Return the personas something was said to, in the order of their keys."""
    return sorted(row.persona_id for row in db.read(_PERSONAS, source="conversations"))


_PERSONAS = select(conversations.c.persona_id).distinct()
