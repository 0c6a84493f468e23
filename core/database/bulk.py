"""Writes many rows in one statement that is compiled once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import Connection, Dialect
from sqlalchemy.sql.base import Executable

from . import connections

T = TypeVar("T")
ROWS_PER_STATEMENT = 1000
AT_ONCE = 500
"""Maximum number of ids in one statement."""


@lru_cache(maxsize=256)
def compiled(statement: Executable, dialect: Dialect, columns: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    made = statement.compile(dialect=dialect, column_keys=list(columns) or None)  # type: ignore[attr-defined]
    return str(made), tuple(made.positiontup or ())


def write_many(
    connection: Connection, statement: Executable, columns: tuple[str, ...], rows: Iterable[Sequence[Any]]
) -> None:
    """Run `statement` for every row; a row holds the values of `columns` in order, already converted for the driver."""
    text, names = compiled(statement, connection.dialect, columns)
    order = [columns.index(name) for name in names]
    plain = order == list(range(len(columns)))
    for part in chunks(rows, ROWS_PER_STATEMENT):
        values = [tuple(row) for row in part] if plain else [tuple(row[i] for i in order) for row in part]
        connections.execute_driver(connection, text, values, many=True)


def chunks(items: Iterable[T], size: int = AT_ONCE) -> Iterator[list[T]]:
    iterator = iter(items)
    while part := list(islice(iterator, size)):
        yield part
