"""Statements that are compiled once and run on the driver's cursor, the shapes of their rows, and batches of ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import Connection, Dialect, Integer, bindparam, literal_column, null, type_coerce
from sqlalchemy.dialects.mysql import pymysql
from sqlalchemy.dialects.sqlite import pysqlite
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import Label, UnaryExpression
from sqlalchemy.types import NullType

from . import connections
from .dialects import JsonText, Key, StoredBytes, StoredText, Time, as_key
from .stored_values import read_object, read_text, read_time, read_whole

T = TypeVar("T")
AT_ONCE = 500
"""Maximum number of ids in one statement."""
ROWS_AT_ONCE = 1000
"""Maximum number of rows that one statement inserts."""
IDS: Any = bindparam("ids", expanding=True)
Reader = Callable[[Any, Mapping[str, Any]], Iterable[Any]]
"""Function that runs a SELECT: `Database.read` sees committed rows; `Connection.execute` also its transaction's."""


def chunks(items: Iterable[T], size: int = AT_ONCE) -> Iterator[list[T]]:
    iterator = iter(items)
    while part := list(islice(iterator, size)):
        yield part


def read_parts(read: Reader, statement: Any, values: Mapping[str, Any], ids: Iterable[Any]) -> list[Any]:
    """Run a SELECT once for each batch of `ids`, which it binds as `ids`, and return all rows."""
    return [row for part in chunks(sorted(set(ids))) for row in read(statement, {**values, "ids": part})]


def execute_parts(connection: Connection, statement: Any, ids: Iterable[Any]) -> int:
    """Run a write statement once for each batch of `ids`, which it binds as `ids`; return how many rows changed."""
    return sum(connection.execute(statement, {"ids": part}).rowcount for part in chunks(sorted(set(ids))))


# Compiled statements

MOST_FILLED = 512
"""On SQLite, lists up to this length are padded to a power of two; padding longer lists could exceed its limits."""
Values = Mapping[str, Any]
_LIST = re.compile(r"__\[POSTCOMPILE_([^\]]+)\]")


@lru_cache(maxsize=2)
def dialect_of(family: str) -> Dialect:
    """Return the SQLAlchemy dialect of a database family; its placeholder is `?` on SQLite, `%s` elsewhere."""
    made: Dialect = pysqlite.dialect() if family == "sqlite" else pymysql.dialect()
    return made


def hide_from_index(column: Any, family: str) -> Any:
    """Return the column so that SQLite uses no index on it; the other conditions of the statement find the rows."""
    if family != "sqlite":
        return column
    return UnaryExpression(column, operator=operators.custom_op("+"), type_=column.type)


class CompiledStatement:
    """A statement compiled once. `in_order` makes SQLite join tables as written; `columns` are those of an INSERT."""

    __slots__ = ("_lists", "_mark", "_names", "_order", "_pieces")

    def __init__(self, statement: Any, family: str, *, in_order: bool = False, columns: Sequence[str] = ()) -> None:
        dialect = dialect_of(family)
        compiled = statement.compile(dialect=dialect, column_keys=list(columns) or None)
        self._mark = "?" if family == "sqlite" else "%s"
        made = compiled.string
        if in_order and family == "sqlite":
            made = made.replace(" JOIN ", " CROSS JOIN ").replace(" OUTER CROSS JOIN ", " OUTER JOIN ")
        found = _LIST.split(made)
        self._pieces: list[str] = found[0::2]
        self._lists: list[str] = found[1::2]
        self._names = [_name(compiled, dialect, name) for name in compiled.positiontup]
        self._order = [(columns.index(name), process) for name, process, *_ in self._names if name in columns]

    def text(self, values: Values, into: list[Any]) -> str:
        """Return the SQL text for these values; append the values to `into` in the order of the text's placeholders."""
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
                    # A list is padded with its last item to a power of two: lists of similar length share one text.
                    sizes[name] = filled = 1 << (count - 1).bit_length()
                    into.extend(into[-1:] * (filled - count))
        made = [self._pieces[0]]
        for name, after in zip(self._lists, self._pieces[1:], strict=True):
            between = ") UNION ALL SELECT (" if made[-1].endswith("SELECT (") else ", "
            made += (between.join([self._mark] * sizes[name]) or "NULL", after)
        return "".join(made)

    def run(self, connection: Connection, values: Values) -> tuple[Sequence[Any], int]:
        """Run the statement on a connection; return (rows as the driver returns them, number of rows changed)."""
        bound: list[Any] = []
        return connections.execute_driver(connection, self.text(values, bound), tuple(bound))

    def insert(self, connection: Connection, rows: Iterable[Sequence[Any]]) -> None:
        for part in chunks(rows, ROWS_AT_ONCE):
            values = [tuple([row[at] if read is None else read(row[at]) for at, read in self._order]) for row in part]
            connections.execute_driver(connection, self._pieces[0], values, many=True)


_Name = tuple[str | None, Callable[[Any], Any] | None, bool, Any]


def _name(compiled: Any, dialect: Dialect, name: str) -> _Name:
    bind = compiled.binds[name]
    if isinstance(bind.type, Key):
        process: Any = None if dialect.name == "sqlite" else lambda key: None if key is None else as_key(key, "mysql")
    else:
        process = bind.type.dialect_impl(dialect).bind_processor(dialect)
    if bind.required or bind.expanding:
        return name, process, bind.expanding, None
    # A constant of the statement itself, such as a kind of audience or SQLite's OFFSET 0.
    value = bind.effective_value
    return None, None, False, value if process is None else process(value)


def union(texts: Sequence[str], family: str) -> str:
    """Join SELECTs by UNION ALL; each may have ORDER BY and LIMIT."""
    if len(texts) == 1:
        return texts[0]
    if family == "sqlite":
        return " UNION ALL ".join([f"SELECT * FROM ({text})" for text in texts])  # noqa: S608 - texts of compiled parts
    return " UNION ALL ".join([f"({text})" for text in texts])


# Rows of several kinds in one statement

R = TypeVar("R")

FIRST = 20
"""Lowest number of a `Shape`. The number is in each row of a UNION and tells which shape the row has."""
_TEXTS = 5
_PLAIN = 6


class Kind(NamedTuple):
    """How a column of a `Shape` is selected and read."""

    is_text: bool
    """Whether the value is selected into a text column of the UNION; if not, it keeps its stored type."""
    read: Callable[[Any], Any] | None
    """Function that reads the value; None if it needs no reading."""


KEY = Kind(False, read_text)
_NUMBER = Kind(True, read_whole)
_KINDS = {
    StoredText: Kind(True, read_text), Key: KEY, Time: Kind(False, read_time), JsonText: Kind(False, read_object),
    StoredBytes: Kind(False, None),
}  # fmt: skip


class Shape(Generic[R]):
    """Columns of one kind of row in a UNION: an id, up to five texts or numbers, up to six values of other types."""

    __slots__ = ("_given", "_others", "_take", "_texts", "columns", "number", "row")

    def __init__(self, number: int, row: Callable[..., R], row_id: Any, /, **fields: Any) -> None:
        """Call `row` with the id and the `fields`: each is a column, read by its type, or a pair (kind, column)."""
        self.number: int = number
        self.row: Callable[..., R] = row
        self._given = (row_id, fields)
        given = [c if isinstance(c, tuple) else (_KINDS.get(type(c.type), _NUMBER), c) for c in fields.values()]
        kinds = [kind for kind, _ in given]
        texts, plain = iter(range(_TEXTS)), iter(range(_TEXTS, _TEXTS + _PLAIN))
        places = [2 + next(texts if kind.is_text else plain) for kind in kinds]
        self._take = itemgetter(1, *places)
        self._texts = [at for at, kind in enumerate(kinds, 1) if kind.is_text or kind.read is read_text]
        self._others = [(at, kind.read) for at, kind in enumerate(kinds, 1) if kind.read not in (None, read_text)]
        made = {0: literal_column(str(number), Integer()).label("kind"), 1: row_id.label("id")}
        for place, (kind, column) in zip(places, given, strict=True):
            made[place] = (column if kind.is_text else type_coerce(column, NullType())).label(f"value{place}")
        every = range(2 + _TEXTS + _PLAIN)
        self.columns: list[Label[Any]] = [made.get(place, null().label(f"value{place}")) for place in every]
        """The columns of a SELECT for rows of this kind."""

    def numbered(self, number: int) -> Shape[R]:
        row_id, fields = self._given
        return Shape(number, self.row, row_id, **fields)

    def read(self, row: Sequence[Any]) -> R:
        values = list(self._take(row))
        if bytes in map(type, values):  # keys from a server, or foreign bytes in an SQLite text
            for at in self._texts:
                values[at] = read_text(values[at])
        for at, read in self._others:
            values[at] = read(values[at])
        return self.row(*values)

    def rows_in(self, rows: Mapping[int, Sequence[Any]]) -> Sequence[R]:
        return rows.get(self.number, ())


@dataclass(frozen=True, slots=True)
class Branch:
    """One SELECT of the UNION that reads the lines and sections of a prompt."""

    shape: Shape[Any]
    select: Callable[[str], CompiledStatement]
    """Returns the compiled SELECT for a server family; the function should be cached (`functools.lru_cache`)."""
    values: Mapping[str, Any]
    """Parameters besides `persona`, `audiences`, `local_only` and `now`, which every branch may use."""
    source: str
    """Table that the report names if the SELECT fails."""
    of_persona: bool = False
    """Whether the rows belong to the whole persona; then they are read even if the scope sees no audience."""
