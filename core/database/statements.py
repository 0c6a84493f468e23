"""Statements put together from parts that are compiled once: a search joins some fifty SELECTs of a few kinds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Dialect
from sqlalchemy.dialects.mysql import pymysql
from sqlalchemy.dialects.sqlite import pysqlite
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import UnaryExpression

from . import connections
from .dialects import Key, as_key

if TYPE_CHECKING:
    from .engine import Database

MOST_FILLED = 512
"""Longer lists are bound as they are: SQLite bounds how many values a statement has."""
Values = Mapping[str, Any]
_LIST = re.compile(r"__\[POSTCOMPILE_([^\]]+)\]")


@lru_cache(maxsize=2)
def dialect_of(family: str) -> Dialect:
    """Return the dialect that parts are compiled with: `?` for values on SQLite, `%s` elsewhere."""
    made: Dialect = pysqlite.dialect() if family == "sqlite" else pymysql.dialect()
    return made


def hide_from_index(column: Any, family: str) -> Any:
    """Return the column as a condition that leads SQLite to no index: the other conditions choose the rows."""
    if family != "sqlite":
        return column
    return UnaryExpression(column, operator=operators.custom_op("+"), type_=column.type)


class Part:
    """One statement, compiled."""

    __slots__ = ("_lists", "_mark", "_names", "_pieces")

    def __init__(self, statement: Any, family: str, *, in_order: bool = False) -> None:
        dialect = dialect_of(family)
        compiled = statement.compile(dialect=dialect)
        self._mark = "?" if family == "sqlite" else "%s"
        made = compiled.string
        if in_order and family == "sqlite":
            made = made.replace(" JOIN ", " CROSS JOIN ").replace(" OUTER CROSS JOIN ", " OUTER JOIN ")
        found = _LIST.split(made)
        self._pieces: list[str] = found[0::2]
        self._lists: list[str] = found[1::2]
        self._names = [_name(compiled, dialect, name) for name in compiled.positiontup]

    def text(self, values: Values, into: list[Any]) -> str:
        """Return the text for these values, and append the values in its order to `into`."""
        sizes: dict[str, int] = {}
        for name, process, is_list, constant in self._names:
            if name is None:
                into.append(constant)
            elif not is_list:
                into.append(values[name] if process is None else process(values[name]))
            else:
                items = values[name]
                sizes[name] = count = len(items)
                into.extend(items if process is None else map(process, items))
                if self._mark == "?" and 2 < count <= MOST_FILLED:
                    # A list up to a power of two has the text of others: its last item again and again.
                    sizes[name] = filled = 1 << (count - 1).bit_length()
                    into.extend(into[-1:] * (filled - count))
        made = [self._pieces[0]]
        for name, after in zip(self._lists, self._pieces[1:], strict=True):
            between = ") UNION ALL SELECT (" if made[-1].endswith("SELECT (") else ", "
            made += (between.join([self._mark] * sizes[name]) or "NULL", after)
        return "".join(made)

    def read(self, db: Database, values: Values, source: str) -> Sequence[Any]:
        """Return the rows of the statement as the driver brings them; `source` names what is read."""
        bound: list[Any] = []
        text = self.text(values, bound)
        return db.read_driver(text, bound, source=source)

    def run(self, connection: Connection, values: Values) -> tuple[Sequence[Any], int]:
        """Run the statement on a connection; return (rows as the driver brings them, number of rows changed)."""
        bound: list[Any] = []
        text = self.text(values, bound)
        return connections.execute_driver(connection, text, tuple(bound))


_Name = tuple[str | None, Callable[[Any], Any] | None, bool, Any]


def _as_bytes(key: str | None) -> Any:
    return None if key is None else as_key(key, "mysql")


def _name(compiled: Any, dialect: Dialect, name: str) -> _Name:
    bind = compiled.binds[name]
    if isinstance(bind.type, Key):
        process: Any = None if dialect.name == "sqlite" else _as_bytes
    else:
        process = bind.type.dialect_impl(dialect).bind_processor(dialect)
    if bind.required or bind.expanding:
        return name, process, bind.expanding, None
    # A value the statement itself brings, such as a kind of audience or SQLite's OFFSET 0.
    value = bind.effective_value
    return None, None, False, value if process is None else process(value)


def union(texts: Sequence[str], family: str) -> str:
    """Return the texts joined by UNION ALL; each may end in ORDER BY and LIMIT of its own."""
    if len(texts) == 1:
        return texts[0]
    if family == "sqlite":
        return " UNION ALL ".join(f"SELECT * FROM ({text})" for text in texts)  # noqa: S608 - texts of compiled parts
    return " UNION ALL ".join(f"({text})" for text in texts)
