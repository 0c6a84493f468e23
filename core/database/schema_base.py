"""The metadata of the schema, and the columns that many tables have."""

from typing import Any

from sqlalchemy import CheckConstraint, Column, MetaData, Table, text

from .dialects import FLAG, ID, JsonText, Key, Time

metadata: MetaData = MetaData()


def persona() -> Column[Any]:
    return Column("persona_id", Key(64), nullable=False, server_default=text("'default'"))


def columns(kind: Any, *names: str, default: str | None = None) -> list[Column[Any]]:
    """Return columns of type `kind`: nullable, or NOT NULL if `default` (an SQL expression) is given."""
    value = None if default is None else text(default)
    return [Column(name, kind, nullable=default is None, server_default=value) for name in names]


def json_texts(*names: str) -> list[Column[Any]]:
    return columns(JsonText(), *names)


def flags(*names: str) -> list[Column[Any]]:
    return columns(FLAG, *names, default="0")


def times(*names: str) -> list[Column[Any]]:
    return columns(Time(), *names)


def key(name: str, length: int, *, default: str = "", nullable: bool = False) -> Column[Any]:
    quoted = None if nullable else text("'" + default + "'")
    return Column(name, Key(length), nullable=nullable, server_default=quoted)


def keys(**lengths: int) -> list[Column[Any]]:
    return [key(name, length) for name, length in lengths.items()]


def row_id(*, by_server: bool = False) -> Column[Any]:
    """Return a primary key column `id`; with `by_server`, the server makes ids for rows that other programs insert."""
    return Column("id", ID, primary_key=True, nullable=False, autoincrement=by_server)


def table(name: str, *parts: Any, clustered: bool = False) -> Table:
    """Define a table in the shared metadata; if `clustered`, SQLite too stores the table by its primary key."""
    # on servers, the type of JSON columns is the check
    columns = [part.name for part in parts if isinstance(part, Column) and isinstance(part.type, JsonText)]
    rules = [
        CheckConstraint(text(f"{c} IS NULL OR json_valid({c})"), name=f"ck_{name}_{c}").ddl_if(dialect="sqlite")
        for c in columns
    ]
    options: dict[str, Any] = {"sqlite_with_rowid": False} if clustered else {}
    return Table(name, metadata, *parts, *rules, **options)
