"""What every table of the schema is declared with: the metadata, the columns that recur, the options of a table."""

from __future__ import annotations

from typing import Any

from sqlalchemy import CheckConstraint, Column, MetaData, Table, text

from .dialects import COLLATION, FLAG, JsonText, Key

metadata: MetaData = MetaData()

_OPTIONS: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": COLLATION,
    "mysql_row_format": "DYNAMIC",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
    "mariadb_collate": COLLATION,
    "mariadb_row_format": "DYNAMIC",
}


def persona() -> Column[Any]:
    """Return the column that owns a row."""
    return Column("persona_id", Key(64), nullable=False, server_default=text("'default'"))


def json_text(name: str, *, nullable: bool = True) -> Column[Any]:
    """Return a column that holds JSON."""
    return Column(name, JsonText(), nullable=nullable)


def flag(name: str) -> Column[Any]:
    """Return a switch, off by default."""
    return Column(name, FLAG, nullable=False, server_default=text("0"))


def key(name: str, length: int, *, default: str | None = "", nullable: bool = False) -> Column[Any]:
    """Return an id or key column of at most `length` bytes."""
    quoted = None if default is None else text("'" + default + "'")
    return Column(name, Key(length), nullable=nullable, server_default=quoted)


def checks(name: str, *columns: str) -> list[CheckConstraint]:
    """JSON columns are checked on SQLite only: elsewhere the type does it. json_valid(NULL) may be 0."""
    return [
        CheckConstraint(text(f"{c} IS NULL OR json_valid({c})"), name=f"ck_{name}_{c}").ddl_if(dialect="sqlite")
        for c in columns
    ]


def table(name: str, *parts: Any, clustered: bool = False) -> Table:
    """Return a table of the one metadata; a clustered one is stored by its primary key on SQLite as it is elsewhere."""
    options = dict(_OPTIONS)
    if clustered:
        options["sqlite_with_rowid"] = False
    return Table(name, metadata, *parts, **options)
