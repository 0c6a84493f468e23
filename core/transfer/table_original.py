"""Rows of the tables of the original application, in whatever form they have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..database.engine import Database
from ..database.failures import is_missing_table
from ..database.stored_values import read_text
from ..errors import StoreError

RANGE = 1000
"""Rows read at once."""


def read_rows(source: Database, table: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table with the columns it has; none where there is no such table."""
    mark = "?" if source.family == "sqlite" else "%s"
    sql = f"SELECT * FROM {table} WHERE id > {mark} ORDER BY id LIMIT {RANGE}"  # noqa: S608 - one of three names
    above = -1
    while True:
        try:
            rows = source.read_driver(sql, (above,), source=table)
        except StoreError as error:
            if is_missing_table(error):
                return
            raise
        yield from ({name: read_text(value) for name, value in row._mapping.items()} for row in rows)
        if len(rows) < RANGE:
            return
        above = rows[-1]._mapping["id"]
