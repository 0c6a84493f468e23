"""One worker at a time, on every server: a lease in a row of `counters`, taken and kept by conditional updates.

Conditions of one UPDATE decide and its row count tells; no lock of the server is used, since clusters have none that
all nodes see. A lease is kept by taking it again with the same token, and ends by itself.

| Called by | For |
|---|---|
| `upkeep.migration` | `lease`: one migrates the whole database, the others wait |
| `lifelong.cycles` | `acquire`, `release`: one runs a cycle of a persona, the others do something else |
| `jobs` | `is_free`: which operation a worker may take, in rows of its own |
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, or_, select, update

from ..database.dialects import insert_ignore
from ..database.engine import Database
from ..database.schema import counters
from ..errors import StoreError

LEASE_SECONDS = 60.0
"""A worker that said nothing for so long is taken for dead."""
WAIT_SECONDS = 600.0
EVERYBODY = "default"
"""Persona of the row of a lease that is about the whole database."""
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


@contextlib.contextmanager
def lease(db: Database, name: str, *, wait_seconds: float = WAIT_SECONDS) -> Iterator[Callable[[], None]]:
    """Hold the lease of a name, and yield a function that keeps it; call that between steps."""
    mine = secrets.token_hex(16)
    deadline = time.monotonic() + wait_seconds
    while not acquire(db, EVERYBODY, name, mine, LEASE_SECONDS):
        if time.monotonic() >= deadline:
            raise StoreError(
                f"Another process has been at work on the database ({name}) for {wait_seconds:.0f} s. Wait until it is "
                f"done, then try again; if none is running, the lease ends {LEASE_SECONDS:.0f} s after its last step.",
                source=name,
            )
        time.sleep(0.05)

    def keep() -> None:
        acquire(db, EVERYBODY, name, mine, LEASE_SECONDS)

    try:
        yield keep
    finally:
        release(db, EVERYBODY, name, mine)
