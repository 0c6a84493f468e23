"""One worker at a time, on every server: a lease in a row of `counters`, taken and kept by conditional updates.

Conditions of one UPDATE decide and its row count tells; no lock of the server is used, since clusters have none that
all nodes see. A lease is kept by acquiring it again with the same token, and ends by itself.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, or_, select, update

from ..database.dialects import insert_ignore
from ..database.engine import Database
from ..database.schema import counters

_C = counters.c


def is_free(columns: Any, now: Any) -> Any:
    """Return the condition of a row with `lease_until` that nobody holds."""
    return or_(columns.lease_until.is_(None), columns.lease_until <= now)


def acquire(db: Database, persona: str, name: str, token: str, seconds: float) -> bool:
    """Acquire or keep a lease of a persona, and return whether `token` holds it now."""
    now = db.clock()
    row = {"persona_id": persona, "name": name, "value": 0}
    change = (
        update(counters)
        .where(_C.persona_id == persona, _C.name == name, or_(is_free(_C, now), _C.claimed_by == token))
        .values(claimed_by=token, lease_until=now + timedelta(seconds=seconds))
    )
    holder = select(_C.claimed_by).where(_C.persona_id == persona, _C.name == name)

    def work(connection: Connection) -> bool:
        connection.execute(insert_ignore(counters, db.family), row)
        return connection.execute(change).rowcount > 0

    def confirm(connection: Connection) -> bool | None:
        return True if connection.execute(holder).scalar() == token else None

    return db.transaction(work, source="counters", confirm=confirm)


def release(db: Database, persona: str, name: str, token: str) -> None:
    """Give a lease back, if `token` still holds it."""
    change = (
        update(counters)
        .where(_C.persona_id == persona, _C.name == name, _C.claimed_by == token)
        .values(claimed_by=None, lease_until=None)
    )
    db.idempotent_transaction(lambda connection: connection.execute(change).rowcount, source="counters")
