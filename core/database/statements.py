"""Statements put together from parts that are compiled once: a search joins some fifty SELECTs of a few kinds.

A `Part` is one statement of SQLAlchemy Core, mostly a SELECT, compiled; what differs between two of a kind are its
values alone. Joining their texts costs microseconds, where building and compiling the whole costs tens of milliseconds
for every new number of keywords. Values only ever travel as parameters; texts joined here come from compiled parts
alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, CursorResult, Dialect
from sqlalchemy.dialects.mysql import pymysql
from sqlalchemy.dialects.sqlite import pysqlite
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import UnaryExpression

MOST_FILLED = 512
"""Longer lists are bound as they are: SQLite bounds how many values a statement has."""
Values = Mapping[str, Any]
_LIST = re.compile(r"__\[POSTCOMPILE_([^\]]+)\]")


@lru_cache(maxsize=2)
def dialect_of(family: str) -> Dialect:
    """Return the dialect that parts are compiled with: `?` for values on SQLite, `%s` elsewhere."""
    made: Dialect = pysqlite.dialect() if family == "sqlite" else pymysql.dialect()
    return made


def aside(column: Any, family: str) -> Any:
    """Return the column as a condition that leads SQLite to no index: the other conditions choose the rows.

    Without statistics SQLite prefers the index of persona and audience to a list of ids, and walks all their rows.
    """
    if family != "sqlite":
        return column
    return UnaryExpression(column, operator=operators.custom_op("+"), type_=column.type)


class Part:
    """One statement, compiled. Lists are parameters made with `expanding=True`; an empty one matches nothing.

    A list that is selected, `select(bindparam("keys", expanding=True))`, is as many rows as it has items.

    Args:
        statement: a SELECT; or another one that every message runs.
        family: `mysql` or `sqlite`.
        in_order: its tables are read in the order they are joined. SQLite moves the largest to the front otherwise: all
            of search_count was read for every known word. Servers are told by the statement's own STRAIGHT_JOIN.
    """

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
        """Return the text for these values, and append the values in its order to `into`.

        Args:
            values: by the names of the parameters; more than the part uses may be there.

        Raises:
            KeyError: a value is missing.
        """
        append = into.append
        for name, process, is_list, constant in self._names:
            if name is None:
                append(constant)
            elif is_list:
                items = self._filled(values[name])
                into.extend(items if process is None else map(process, items))
            elif process is None:
                append(values[name])
            else:
                append(process(values[name]))
        if not self._lists:
            return self._pieces[0]
        made = [self._pieces[0]]
        for name, after in zip(self._lists, self._pieces[1:], strict=True):
            between = ") UNION ALL SELECT (" if made[-1].endswith("SELECT (") else ", "
            made += (between.join([self._mark] * len(self._filled(values[name]))) or "NULL", after)
        return "".join(made)

    def _filled(self, items: Sequence[Any]) -> Sequence[Any]:
        """Return a list, on SQLite with its last item again and again up to a power of two.

        SQLite takes 2 ms to plan a prompt's last statement, which it runs in 1, and keeps the plans of texts it had.
        """
        count = len(items)
        if self._mark != "?" or not 2 < count <= MOST_FILLED:
            return items
        return [*items, *[items[-1]] * ((1 << (count - 1).bit_length()) - count)]

    def run(self, connection: Connection, values: Values) -> CursorResult[Any]:
        """Run the statement on a connection and return its result."""
        bound: list[Any] = []
        text = self.text(values, bound)
        return connection.exec_driver_sql(text, tuple(bound))


_Name = tuple[str | None, Callable[[Any], Any] | None, bool, Any]


def _name(compiled: Any, dialect: Dialect, name: str) -> _Name:
    bind = compiled.binds[name]
    process = bind.type.dialect_impl(dialect).bind_processor(dialect)
    if bind.required or bind.expanding:
        return name, process, bind.expanding, None
    # A value the statement itself brings, such as a kind of audience or SQLite's OFFSET 0.
    value = bind.effective_value
    return None, None, False, value if process is None else process(value)


def union(texts: Sequence[str], family: str, *, limited: bool = True) -> str:
    """Return the texts joined by UNION ALL; each may end in ORDER BY and LIMIT of its own where `limited`."""
    if len(texts) == 1 or not limited:
        return " UNION ALL ".join(texts)
    if family == "sqlite":
        return " UNION ALL ".join(f"SELECT * FROM ({text})" for text in texts)  # noqa: S608 - texts of compiled parts
    return " UNION ALL ".join(f"({text})" for text in texts)
