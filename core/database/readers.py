"""One way to run a SELECT, on a handle's reading connection or inside a transaction under way.

The same statement serves both: a prompt reads what is committed, a change reads what it has written itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from .engine import Database

Reader = Callable[[Any, Mapping[str, Any]], Sequence[Any]]
"""Takes a statement and its values, gives all rows."""


def reader_for(db: Database, source: str) -> Reader:
    """Return a reader that sees what is committed; `source` is what an error names."""
    return lambda statement, values: db.read(statement, values, source=source)


def reader_in(connection: Connection) -> Reader:
    """Return a reader that sees what the transaction of `connection` has written."""
    return lambda statement, values: connection.execute(statement, values).all()
