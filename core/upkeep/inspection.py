"""What is in a database: its tables, columns and indexes, read in one statement; how that differs from the schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sqlalchemy import Column, Table

from ..database.dialects import COLLATION
from ..database.engine import Database
from ..database.stored_values import from_key
from . import ddl

SERVER_LOOK = """
SELECT 'column' AS what, table_name AS t, column_name AS a, ordinal_position AS n, column_type AS b,
       is_nullable AS c, collation_name AS d, extra AS e
FROM information_schema.columns WHERE table_schema = DATABASE()
UNION ALL
SELECT 'index', table_name, index_name, seq_in_index, column_name, non_unique, NULL, NULL
FROM information_schema.statistics WHERE table_schema = DATABASE()
UNION ALL
SELECT 'table', table_name, '', 0, engine, '', table_collation, NULL
FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'
"""

SQLITE_LOOK = """
SELECT 'column', m.name, c.name, c.cid, c.type, c."notnull", '', c.pk
FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table'
UNION ALL
SELECT 'index', m.name, l.name, i.seqno, i.name, 1 - l."unique", l.origin, ''
FROM sqlite_master AS m JOIN pragma_index_list(m.name) AS l JOIN pragma_index_info(l.name) AS i
WHERE m.type = 'table'
UNION ALL
SELECT 'table', m.name, '', 0, '', '', '', m.sql FROM sqlite_master AS m WHERE m.type = 'table'
"""


@dataclass(frozen=True, slots=True)
class FoundColumn:
    """A column as the server describes it."""

    name: str
    type: str
    """In lower case, display widths left out."""
    nullable: bool
    collation: str = ""
    extra: str = ""


@dataclass(slots=True)
class FoundTable:
    """A table as it is."""

    name: str
    columns: dict[str, FoundColumn] = field(default_factory=dict)
    primary_key: tuple[str, ...] = ()
    indexes: dict[str, tuple[bool, tuple[str, ...]]] = field(default_factory=dict)
    """`{name: (unique, columns)}` apart from the primary key."""
    engine: str = ""
    collation: str = ""

    def has_index(self, unique: bool, columns: tuple[str, ...]) -> bool:
        """Return whether an index of these columns is there, whatever its name."""
        return (unique, columns) in self.indexes.values()


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing the schema has and the database has not, or has otherwise."""

    kind: str
    """table, column, index, type, nullable, primary key, collation or engine."""
    table: str
    name: str
    there: str = ""
    needed: str = ""
    statement: str = ""
    """The statement that repairs it; blank if it takes more than one."""


def read_tables(db: Database) -> dict[str, FoundTable]:
    """Return every table of the database by name, read in one round trip."""
    sql = SQLITE_LOOK if db.family == "sqlite" else SERVER_LOOK
    return _tables(db.read_driver(sql, (), source="the tables of the database"), db.family)


def _tables(rows: Any, family: str) -> dict[str, FoundTable]:
    tables: dict[str, FoundTable] = {}
    keys: dict[tuple[str, str], list[tuple[int, str]]] = {}
    unique: dict[tuple[str, str], bool] = {}
    for row in rows:
        what, table, name, number, kind, flag, collation, extra = (_plain(value) for value in row)
        found = tables.setdefault(table, FoundTable(table))
        if what == "table":
            found.engine, found.collation = kind or "", collation or ""
        elif what == "column":
            nullable = not int(flag) if family == "sqlite" else flag == "YES"
            found.columns[name] = FoundColumn(name, plain_type(kind or ""), nullable, collation or "", str(extra or ""))
            if family == "sqlite" and int(extra):
                keys.setdefault((table, "PRIMARY"), []).append((int(extra), name))
        elif not (family == "sqlite" and collation == "pk"):
            keys.setdefault((table, name), []).append((int(number), kind))
            unique[table, name] = not int(flag)
    for (table, name), parts in keys.items():
        columns = tuple(column for _, column in sorted(parts))
        if name == "PRIMARY":
            tables[table].primary_key = columns
        else:
            tables[table].indexes[name] = (unique[table, name], columns)
    return tables


def _plain(value: Any) -> Any:
    return from_key(value) if isinstance(value, (bytes, bytearray)) else value


@lru_cache(maxsize=512)
def plain_type(text: str) -> str:
    """Return a column type in the one spelling that every server of the family is compared in."""
    text = re.sub(r" (character set|collate) \w+", "", text.lower())
    text = re.sub(r"^(tinyint|smallint|int|integer|bigint)\(\d+\)", r"\1", text)
    return re.sub(r"^numeric", "decimal", re.sub(r"^integer", "int", text)).replace(", ", ",").strip()


def wanted_type(column: Column[Any], family: str) -> str:
    """Return the type a column should have, in the spelling of `plain_type`."""
    return plain_type(str(column.type.compile(dialect=ddl.choose_dialect(family))))


def is_same_type(found: str, wanted: str) -> bool:
    """Return whether two types are one; MariaDB's JSON is a LONGTEXT with a check."""
    return found == wanted or (found == "longtext" and wanted == "json")


def list_differences(found: Mapping[str, FoundTable], family: str) -> list[Difference]:
    """Return what the schema has and the database has not, table by table. More in the database is no difference."""
    listed: list[Difference] = []
    for table in ddl.list_tables().values():
        there = found.get(table.name)
        if there is None:
            statement = ddl.create_table(table, family)
            listed.append(Difference("table", table.name, table.name, "absent", "the table", statement))
        else:
            listed += _columns(table, there, family) + _indexes(table, there, family)
    return listed


def _columns(table: Table, there: FoundTable, family: str) -> list[Difference]:
    listed: list[Difference] = []
    for column in table.columns:
        found = there.columns.get(column.name)
        wanted = wanted_type(column, family)
        if found is None:
            statement = ddl.add_column(table, column, family)
            listed.append(Difference("column", table.name, column.name, "absent", wanted, statement))
            continue
        repair = f"ALTER TABLE {ddl.quote(table.name, family)} MODIFY {ddl.define_column(column, family)}"
        repair = "" if family == "sqlite" else repair
        if not is_same_type(found.type, wanted):
            listed.append(Difference("type", table.name, column.name, found.type, wanted, repair))
        elif found.collation and found.collation != COLLATION:
            listed.append(Difference("collation", table.name, column.name, found.collation, COLLATION, repair))
        elif found.nullable and not column.nullable and not column.primary_key:
            listed.append(Difference("nullable", table.name, column.name, "NULL", "NOT NULL", repair))
    return listed


def _indexes(table: Table, there: FoundTable, family: str) -> list[Difference]:
    listed: list[Difference] = []
    wanted = tuple(table.primary_key.columns.keys())
    if there.primary_key != wanted:
        shown = ", ".join(there.primary_key) or "absent"
        listed.append(Difference("primary key", table.name, "PRIMARY", shown, ", ".join(wanted)))
    for name, (unique, columns) in ddl.list_indexes(table).items():
        if not there.has_index(unique, columns):
            statement = ddl.create_index(table, name, family)
            listed.append(Difference("index", table.name, name, "absent", ", ".join(columns), statement))
    if there.engine and there.engine.lower() != "innodb":
        repair = f"ALTER TABLE {ddl.quote(table.name, family)} ENGINE=InnoDB"
        listed.append(Difference("engine", table.name, table.name, there.engine, "InnoDB", repair))
    return listed
