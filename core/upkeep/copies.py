"""A consistent copy of a SQLite database, while others write to it. Called by `db backup`."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from ..database.engine import Database
from ..errors import StoreError


def copy_file(db: Database, target: Path, *, overwrite: bool = False) -> int:
    """Copy the database of a handle into a file, whole or not at all, and return its bytes."""
    source = Path(str(db.target.url.database or ""))
    if db.target.in_memory or not source.is_file():
        raise StoreError(f"There is no file of {db.target.shown} to copy.", source="DATABASE_URL")
    if target.exists() and not overwrite:
        raise StoreError(f"{str(target)!r} is there already. Name another file, or replace it with --force.", source="")
    part = target.with_name(f".{target.name[:50]}.{os.getpid()}.part")
    try:
        with closing(sqlite3.connect(source)) as held, closing(sqlite3.connect(part)) as copy:
            held.backup(copy, pages=4096)
        part.replace(target)
    except (OSError, sqlite3.Error) as error:
        said = getattr(error, "strerror", None) or error
        raise StoreError(f"{str(target)!r} cannot be written: {said}.", source="") from None
    finally:
        part.unlink(missing_ok=True)
    return target.stat().st_size
