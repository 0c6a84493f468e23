"""One worker at a time, on every server: a lease in a row of `counters`, taken and kept by conditional updates.

No lock of the server is used: clusters have none that all nodes see. Called by `upkeep.migration`.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

from sqlalchemy import Connection, or_, update

from ..database.dialects import insert_ignore
from ..database.engine import Database
from ..database.schema import counters
from ..errors import StoreError
from . import ddl

LEASE_SECONDS = 60.0
"""A worker that said nothing for so long is taken for dead."""
WAIT_SECONDS = 600.0


@contextlib.contextmanager
def lease(db: Database, name: str, *, wait_seconds: float = WAIT_SECONDS) -> Iterator[Callable[[], None]]:
    """Hold the lease of a name, and yield a function that keeps it; call that between steps.

    Waits while another worker holds it. The work must be safe to run twice at once: a lease that ran out in the middle
    of one long step may be taken over.

    Raises:
        StoreError: another worker still held it after `wait_seconds`.
    """
    mine = secrets.token_hex(16)
    _make_row(db, name)
    deadline = time.monotonic() + wait_seconds
    while not _take(db, name, mine):
        if time.monotonic() >= deadline:
            raise StoreError(
                f"Another process has been at work on the database ({name}) for {wait_seconds:.0f} s. Wait until it is "
                f"done, then try again; if none is running, the lease ends {LEASE_SECONDS:.0f} s after its last step.",
                source=name,
            )
        time.sleep(0.05)
    try:
        yield lambda: _keep(db, name, mine)
    finally:
        _release(db, name, mine)


def _make_row(db: Database, name: str) -> None:
    def work(connection: Connection) -> None:
        for statement in ddl.create_all(counters, db.family):
            connection.exec_driver_sql(statement)
        for column in (counters.c.value, counters.c.lease_until, counters.c.claimed_by):
            if not ddl.has_column(connection, counters.name, column.name):
                connection.exec_driver_sql(ddl.add_column(counters, column, db.family))
        connection.execute(insert_ignore(counters, db.family), {"persona_id": "default", "name": name, "value": 0})

    db.transaction(work, source="counters")


def _change(db: Database, name: str, mine: str, *, claimed_by: str | None, seconds: float) -> bool:
    c, now = counters.c, db.clock()
    free = or_(c.lease_until.is_(None), c.lease_until <= now, c.claimed_by == mine)
    change = (
        update(counters)
        .where(c.persona_id == "default", c.name == name, free)
        .values(claimed_by=claimed_by, lease_until=now + timedelta(seconds=seconds), value=c.value + 1)
    )
    return db.transaction(lambda connection: connection.execute(change).rowcount, source="counters") > 0


def _take(db: Database, name: str, mine: str) -> bool:
    return _change(db, name, mine, claimed_by=mine, seconds=LEASE_SECONDS)


def _keep(db: Database, name: str, mine: str) -> None:
    _change(db, name, mine, claimed_by=mine, seconds=LEASE_SECONDS)


def _release(db: Database, name: str, mine: str) -> None:
    _change(db, name, mine, claimed_by=None, seconds=0)
