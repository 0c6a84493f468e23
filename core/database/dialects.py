"""Differences between database servers: column types, text search conditions, upserts, keys."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import BigInteger, Dialect, Integer, LargeBinary, Numeric, String, Table, Text, literal_column
from sqlalchemy import func as sql
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine

from .stored_values import read_bytes, read_number, read_text, read_time, read_whole

T = TypeVar("T")
COLLATION = "utf8mb4_bin"
LIKE_ESCAPE = "!"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NEVER_US = -(2**62)
"""Number stored in place of the microseconds of an unreadable time; it sorts before every readable time."""


class _Plain:
    """A column type that passes values unchanged to and from the driver; the type around it converts them."""

    def bind_processor(self, dialect: Dialect) -> None:  # noqa: ARG002 - the interface of types
        return None

    def result_processor(self, dialect: Dialect, coltype: object) -> None:  # noqa: ARG002 - the interface of types
        return None


class _Bytes(_Plain, mysql.VARBINARY):
    pass


class _Json(_Plain, mysql.JSON):
    pass


class _Numeric(_Plain, Numeric[Any]):
    pass


class _Stored(TypeDecorator[T]):
    """A column type whose stored form differs between SQLite and servers; it reads values of any type from SQLite."""

    impl: Any = Text
    on_sqlite: TypeEngine[Any] = Text()
    on_servers: TypeEngine[Any]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.cache_ok = True  # SQLAlchemy looks for this attribute on each class itself

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(self.on_sqlite if dialect.name == "sqlite" else self.on_servers)


class _ReadAsText(_Stored[T]):
    def process_result_value(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002 - the interface of types
        return read_text(value)


class Key(_ReadAsText[str]):
    """An id or key of at most `length` UTF-8 bytes, compared as bytes."""

    impl: Any = LargeBinary

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length
        self.on_servers = _Bytes(length)

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else as_key(value, dialect.name)


class JsonText(_ReadAsText[Any]):
    """A JSON column, returned as its stored text (`stored_values.read_json` parses it)."""

    on_servers: TypeEngine[Any] = _Json()

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002 - the interface of types
        # not escaped: MariaDB compares escapes literally
        return None if value is None else json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


class Time(_Stored[datetime]):
    """A UTC time with microseconds: DATETIME(6) on servers, and on SQLite a text with the same order."""

    impl: Any = String
    on_servers: TypeEngine[Any] = mysql.DATETIME(fsp=6)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:  # noqa: ARG002 - the interface of types
        if value is None:
            return None
        moment = value.astimezone(UTC) if value.tzinfo else value
        return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond:06d}".rjust(26, "0")

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - the interface of types
        return read_time(value)


class StoredText(_ReadAsText[str]):
    """A text that is not a key, of at most `length` code points; with None, as long as MEDIUMTEXT allows."""

    def __init__(self, length: int | None = None) -> None:
        super().__init__()
        self.length = length
        self.on_servers = mysql.MEDIUMTEXT(charset="utf8mb4", collation=COLLATION)
        if length is not None:
            self.on_sqlite = String(length)
            self.on_servers = mysql.VARCHAR(length, charset="utf8mb4", collation=COLLATION)


class Decimal(_Stored[float]):
    """A decimal number, rounded to the column's decimals on SQLite too; a stored value that is no number reads as 0."""

    impl: Any = Numeric

    def __init__(self, digits: int, decimals: int) -> None:
        super().__init__(digits, decimals, asdecimal=False)
        self.decimals = decimals
        self.on_sqlite = self.on_servers = _Numeric(digits, decimals, asdecimal=False)

    def coerce_compared_value(self, op: object, value: object) -> TypeEngine[Any]:  # noqa: ARG002 - the interface of types
        return self.on_servers  # a limit that rows are compared with is not rounded

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:  # noqa: ARG002 - the interface of types
        return None if value is None else round(value, self.decimals)

    def process_result_value(self, value: Any, dialect: Dialect) -> float | None:  # noqa: ARG002 - the interface of types
        return None if value is None else round(float(read_number(value) or 0), self.decimals)


class _Given(_Stored[T]):
    def __init__(self, on_servers: TypeEngine[Any]) -> None:
        super().__init__()
        self.on_servers = on_servers


class Whole(_Given[int]):
    impl: Any = Integer
    on_sqlite: TypeEngine[Any] = sqlite.INTEGER()

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:  # noqa: ARG002 - the interface of types
        return read_whole if dialect.name == "sqlite" else None


class StoredBytes(_Given[bytes]):
    impl: Any = LargeBinary
    on_sqlite: TypeEngine[Any] = LargeBinary()

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        return read_bytes if dialect.name == "sqlite" else super().result_processor(dialect, coltype)


def microseconds(moment: datetime | None) -> int:
    """Convert a time to microseconds since 1970, as the search tables store it; None becomes NEVER_US."""
    if moment is None:
        return NEVER_US
    delta = moment - EPOCH
    return (delta.days * 86400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_microseconds(value: int) -> datetime | None:
    """Convert microseconds since 1970 to a time; NEVER_US becomes None."""
    return None if value == NEVER_US else EPOCH + timedelta(microseconds=value)


ID = Whole(BigInteger())
INTEGER = Whole(Integer())
LONG_TEXT = StoredText()
FLAG = Whole(mysql.TINYINT())
SMALL = Whole(mysql.TINYINT())
BLOB = StoredBytes(LargeBinary())
PACKED = StoredBytes(mysql.MEDIUMBLOB())
HASH = StoredBytes(mysql.BINARY(32))


class json_has_text(FunctionElement[int]):  # noqa: N801 - SQLAlchemy names functions as SQL does
    """SQL function for searches by tag: whether a JSON array contains a text as an element."""

    inherit_cache: bool | None = True
    type: Integer = Integer()
    name = "json_has_text"


@compiles(json_has_text, "sqlite")
def _json_has_text_sqlite(element: json_has_text, compiler: SQLCompiler, **kw: Any) -> str:
    column, tag = list(element.clauses)
    return (
        f"EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid({compiler.process(column, **kw)}) THEN "  # noqa: S608 - compiled columns
        f"{compiler.process(column, **kw)} ELSE '[]' END) WHERE json_each.type = 'text' "
        f"AND json_each.value = {compiler.process(tag, **kw)})"
    )


@compiles(json_has_text)
def _json_has_text(element: json_has_text, compiler: SQLCompiler, **kw: Any) -> str:
    column, tag = list(element.clauses)
    return f"JSON_CONTAINS({compiler.process(column, **kw)}, JSON_QUOTE({compiler.process(tag, **kw)}))"


def like_pattern(keyword_folded: str) -> str:
    """Return a LIKE pattern that finds the keyword anywhere; its `!`, `%` and `_` are escaped with `!`."""
    for sign in (LIKE_ESCAPE, "%", "_"):
        keyword_folded = keyword_folded.replace(sign, LIKE_ESCAPE + sign)
    return f"%{keyword_folded}%"


def has_keyword(column: ColumnElement[str], pattern: Any) -> ColumnElement[bool]:
    return column.like(pattern, escape=LIKE_ESCAPE)


def as_key(text: str, family: str) -> Any:
    """Convert a key to the driver's type: text on SQLite, bytes on servers."""
    return text if family == "sqlite" or not text else text.encode("utf-8")


def insert_ignore(table: Table, family: str) -> Any:
    if family == "sqlite":
        return sqlite.insert(table).on_conflict_do_nothing()
    return mysql.insert(table).prefix_with("IGNORE")


def upsert(table: Table, family: str, update: Sequence[str] = (), add: Sequence[str] = ()) -> Any:
    """Return an INSERT; if the primary key exists, it overwrites columns `update` and adds to the numbers in `add`."""
    insert: Any = sqlite.insert(table) if family == "sqlite" else mysql.insert(table)
    new = {
        name: insert.excluded[name] if family == "sqlite" else sql.values(literal_column(f"`{name}`"))
        for name in (*update, *add)
    }
    changes = new | {name: table.c[name] + new[name] for name in add}
    if family == "sqlite":
        return insert.on_conflict_do_update(index_elements=list(table.primary_key.columns.keys()), set_=changes)
    return insert.on_duplicate_key_update(changes)
