"""Statements that create tables, columns and indexes of the current schema, for SQLite or a server."""

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from sqlalchemy import CheckConstraint, Column, Connection, Table, UniqueConstraint
from sqlalchemy.schema import CreateColumn

from ..database.compiled import dialect_of
from ..database.dialects import COLLATION
from ..database.schema import TABLES

_OPTIONS = f" ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE={COLLATION} ROW_FORMAT=DYNAMIC"


@lru_cache(maxsize=1)
def build_fingerprint() -> str:
    """Return a hash (16 hexadecimal digits) of tables, columns, types, defaults and indexes; their order is ignored."""
    parts = []
    for table in TABLES.values():
        keys = [table.primary_key.columns.keys(), list_indexes(table), table.dialect_options["sqlite"]["with_rowid"]]
        parts.append(f"{table.name} {keys}")
        for column in table.columns:
            types = [column.type.compile(dialect=dialect_of(family)) for family in ("sqlite", "mysql")]
            default = getattr(getattr(column.server_default, "arg", None), "text", None)
            parts.append(f"{table.name}.{column.name} {types} {column.nullable} {default}")
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()[:16]


def quote(name: str, family: str) -> str:
    return str(dialect_of(family).identifier_preparer.quote(name))


def define_column(of: Column[Any], family: str) -> str:
    return " ".join(str(CreateColumn(of).compile(dialect=dialect_of(family))).split())


def list_indexes(table: Table) -> dict[str, tuple[bool, tuple[str, ...]]]:
    """Return `{name: (unique, columns)}` of a table's secondary indexes: unique ones first, then by name."""
    found: dict[str, tuple[bool, tuple[str, ...]]] = {}
    for rule in table.constraints:
        if isinstance(rule, UniqueConstraint):
            found[str(rule.name)] = (True, tuple(rule.columns.keys()))
    for index in table.indexes:
        found[str(index.name)] = (bool(index.unique), tuple(index.columns.keys()))
    return dict(sorted(found.items(), key=lambda pair: (not pair[1][0], pair[0])))


def _names(columns: tuple[str, ...], family: str) -> str:
    return ", ".join(quote(c, family) for c in columns)


def create_index(table: Table, name: str, family: str) -> str:
    """Return a CREATE INDEX statement; on SQLite it is safe to repeat."""
    unique, columns = list_indexes(table)[name]
    kind = "UNIQUE INDEX" if unique else "INDEX"
    again = "IF NOT EXISTS " if family == "sqlite" else ""
    return f"CREATE {kind} {again}{quote(name, family)} ON {quote(table.name, family)} ({_names(columns, family)})"


def create_table(table: Table, family: str) -> str:
    """Return a CREATE TABLE statement; for servers it includes all indexes."""
    parts = [define_column(column, family) for column in table.columns]
    parts.append(f"PRIMARY KEY ({_names(tuple(table.primary_key.columns.keys()), family)})")
    if family == "mysql":
        for name, (unique, columns) in list_indexes(table).items():
            kind = "UNIQUE KEY" if unique else "KEY"
            parts.append(f"{kind} {quote(name, family)} ({_names(columns, family)})")
        options = _OPTIONS
    else:
        checks = [rule for rule in table.constraints if isinstance(rule, CheckConstraint)]
        checks.sort(key=lambda rule: str(rule.name))
        parts += [f"CONSTRAINT {rule.name} CHECK ({rule.sqltext})" for rule in checks]
        options = " WITHOUT ROWID" if table.dialect_options["sqlite"]["with_rowid"] is False else ""
    body = ",\n".join(f"    {part}" for part in parts)
    return f"CREATE TABLE IF NOT EXISTS {quote(table.name, family)} (\n{body}\n){options}"


@lru_cache(maxsize=128)
def create_all(table: Table, family: str) -> tuple[str, ...]:
    indexes = list_indexes(table) if family == "sqlite" else ()
    return (create_table(table, family), *(create_index(table, index, family) for index in indexes))


def create_tables(connection: Connection, family: str, tables: Iterable[Table]) -> None:
    for statement in (one for table in tables for one in create_all(table, family)):
        connection.exec_driver_sql(statement)


def add_column(table: Table, of: Column[Any], family: str) -> str:
    text = define_column(of, family)
    if family == "sqlite" and not of.nullable and of.server_default is None:
        text += " DEFAULT ''" if "TEXT" in text or "BLOB" in text else " DEFAULT 0"
    return f"ALTER TABLE {quote(table.name, family)} ADD COLUMN {text}"


def run_script(connection: Connection, text: str) -> None:
    for statement in split_statements(text):
        connection.exec_driver_sql(statement)


def split_statements(text: str) -> list[str]:
    """Split a script into statements without comments and closing semicolons."""
    lines = [line.split("-- ")[0].rstrip() for line in text.splitlines() if line.strip() != "--"]
    return [part.strip() for part in "\n".join(line for line in lines if line).split(";") if part.strip()]
