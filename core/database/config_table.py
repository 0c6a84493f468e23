"""Settings stored in the database (table config). `config` decides what they mean."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, select

from .dialects import upsert
from .engine import Database
from .schema import config

_ALL = select(config.c.config_key, config.c.value)


def read_values(db: Database) -> dict[str, str]:
    """Return every stored setting."""
    return {row.config_key: row.value for row in db.read(_ALL, source="config") if row.value is not None}


def write_value(
    db: Database, name: str, text: str, *, also: Callable[[Connection, Database], object] | None = None
) -> None:
    """Store one setting."""

    def work(connection: Connection) -> None:
        now = db.clock()
        row = {"config_key": name, "value": text, "created_at": now, "updated_at": now}
        connection.execute(upsert(config, db.family, update=["value", "updated_at"]), row)
        if also is not None:
            also(connection, db)

    db.repeat(work, source="config")
