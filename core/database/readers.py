"""One way to run a SELECT, on a handle's reading connection or inside a transaction under way.

The same statement serves both: a prompt reads what is committed, a change reads what it has written itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam

from .bulk import chunks
from .engine import Database

IDS: Any = bindparam("ids", expanding=True)
"""What statements of `read_parts` and `execute_parts` bind."""
Reader = Callable[[Any, Mapping[str, Any]], Sequence[Any]]
"""Takes a statement and its values, gives all rows."""


def reader_for(db: Database, source: str) -> Reader:
    """Return a reader that sees what is committed; `source` is what an error names."""
    return lambda statement, values: db.read(statement, values, source=source)


def read_parts(
    read: Reader, statement: Any, values: Mapping[str, Any], ids: Iterable[Any], at_once: int = 500
) -> list[Any]:
    """Return the rows of a statement that binds `ids`, which are given to it in parts."""
    return [row for part in chunks(sorted(set(ids)), at_once) for row in read(statement, {**values, "ids": part})]


def execute_parts(connection: Connection, statement: Any, ids: Iterable[Any]) -> int:
    """Run a change that binds `ids`, which are given to it in parts; return how many rows it changed."""
    parts = chunks(sorted(set(ids)), 500)
    return sum(connection.execute(statement, {"ids": part}).rowcount for part in parts)


def reader_in(connection: Connection) -> Reader:
    """Return a reader that sees what the transaction of `connection` has written."""
    return lambda statement, values: connection.execute(statement, values).all()
