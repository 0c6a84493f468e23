"""One at a time for each persona, over all processes: leases, ticks and numbers in rows of `counters`.

Every change is one UPDATE whose conditions decide and whose row count tells; no lock of the server is used. A lease is
kept by taking it again with the same sign, and ends by itself.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, or_, select, update

from ..database.dialects import EPOCH, insert_ignore, upsert
from ..database.engine import Database
from ..database.schema import conversations, counters

LEASE = "consolidation"
"""Whoever holds it runs a cycle of the persona."""
TICK = "consolidation_tick"
"""Its value is when the interval began, in seconds since 1970."""
STREAMS = "stream_end"
"""Its value is how many streams have ended."""
_C = counters.c


def _make(connection: Connection, db: Database, persona: str, name: str, value: int = 0) -> None:
    row = {"persona_id": persona, "name": name, "value": value}
    connection.execute(insert_ignore(counters, db.family), row)


def take(db: Database, persona: str, token: str, seconds: float, *, name: str = LEASE) -> bool:
    """Take or keep a lease of a persona and return whether it is held now by `token`.

    Raises:
        StoreWriteError: it could not be asked.
    """
    now = db.clock()
    free = or_(_C.lease_until.is_(None), _C.lease_until <= now, _C.claimed_by == token)
    change = (
        update(counters)
        .where(_C.persona_id == persona, _C.name == name, free)
        .values(claimed_by=token, lease_until=now + timedelta(seconds=seconds))
    )

    def work(connection: Connection) -> bool:
        _make(connection, db, persona, name)
        return connection.execute(change).rowcount > 0

    return db.transaction(work, source="counters", confirm=lambda c: _holder(c, persona, name) == token or None)


def _holder(connection: Connection, persona: str, name: str) -> str | None:
    found = connection.execute(select(_C.claimed_by).where(_C.persona_id == persona, _C.name == name)).scalar()
    return None if found is None else str(found)


def release(db: Database, persona: str, token: str, *, name: str = LEASE) -> None:
    """Give a lease back, if `token` still holds it."""
    change = (
        update(counters)
        .where(_C.persona_id == persona, _C.name == name, _C.claimed_by == token)
        .values(claimed_by=None, lease_until=None)
    )
    db.transaction(lambda connection: connection.execute(change).rowcount, source="counters", confirm=lambda _: None)


def _seconds(moment: datetime) -> int:
    return int((moment - EPOCH) // timedelta(seconds=1))


def tick(db: Database, persona: str, interval_seconds: int) -> bool:
    """Return whether an interval of a persona is over; then the next one has begun. The first call begins the first.

    Of two processes that ask at once, one is told so.
    """
    now = _seconds(db.clock())
    due = (
        update(counters)
        .where(_C.persona_id == persona, _C.name == TICK, _C.value <= now - interval_seconds)
        .values(value=now)
    )

    def work(connection: Connection) -> bool:
        if connection.execute(due).rowcount > 0:
            return True
        _make(connection, db, persona, TICK, now)
        return False

    # Where the answer to the commit is lost, nobody is told so and the interval begins anew.
    return db.transaction(work, source="counters", confirm=lambda _: False)


def count_stream(connection: Connection, db: Database, persona: str) -> int:
    """Count one more end of a stream, in the caller's transaction, and return how many there were."""
    row = {"persona_id": persona, "name": STREAMS, "value": 1}
    connection.execute(upsert(counters, db.family, add=["value"]), row)
    chosen = select(_C.value).where(_C.persona_id == persona, _C.name == STREAMS)
    return int(connection.execute(chosen).scalar_one())


def personas(db: Database) -> list[str]:
    """Return the personas something was said to, in the order of their keys."""
    found = db.read(_PERSONAS, source="conversations")
    return sorted(row.persona_id for row in found)


_PERSONAS = select(conversations.c.persona_id).distinct()
