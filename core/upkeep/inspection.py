"""Read the actual tables of a database, and compare them with the schema."""

import re
from functools import lru_cache

from sqlalchemy import Table

from ..database.compiled import dialect_of
from ..database.dialects import COLLATION
from ..database.engine import Database
from ..database.schema import TABLES
from ..database.stored_values import read_text
from ..shapes import Finding, Severity
from . import ddl

Facts = dict[tuple[str, str, str], str]
"""Facts about tables by (table, aspect, name): the engine of a table; type, collation and nullability of a column;
columns of an index.

The name of an index is the list of its columns, with the prefix `unique ` if it is unique; its own name is ignored.
"""
SERVER_FACTS = """
SELECT 'column' AS what, table_name AS t, column_name AS a, ordinal_position AS n, column_type AS b,
       IF(is_nullable = 'YES', 'NULL', 'NOT NULL') AS c, COALESCE(collation_name, '') AS d
FROM information_schema.columns WHERE table_schema = DATABASE()
UNION ALL
SELECT 'index', table_name, index_name, seq_in_index, column_name, IF(non_unique, '', 'unique '), ''
FROM information_schema.statistics WHERE table_schema = DATABASE()
UNION ALL
SELECT 'table', table_name, '', 0, engine, '', ''
FROM information_schema.tables WHERE table_schema = DATABASE()
"""
SQLITE_FACTS = """
SELECT 'column', m.name, c.name, c.cid, c.type, CASE WHEN c."notnull" THEN 'NOT NULL' ELSE 'NULL' END, ''
FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table'
UNION ALL
SELECT 'index', m.name, 'PRIMARY', c.pk, c.name, 'unique ', ''
FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table' AND c.pk > 0
UNION ALL
SELECT 'index', m.name, l.name, i.seqno, i.name, CASE WHEN l."unique" THEN 'unique ' ELSE '' END, ''
FROM sqlite_master AS m JOIN pragma_index_list(m.name) AS l JOIN pragma_index_info(l.name) AS i
WHERE m.type = 'table' AND l.origin <> 'pk'
UNION ALL
SELECT 'table', lower(m.name), '', 0, '', '', '' FROM sqlite_master AS m WHERE m.type IN ('table', 'view')
"""
NO_STATEMENT = "Restore a backup, or copy the table into a new one"


def read_facts(db: Database) -> Facts:
    """Return the facts of every table of the database, in one round trip."""
    sql = SQLITE_FACTS if db.family == "sqlite" else SERVER_FACTS
    facts: Facts = {}
    keys: dict[tuple[str, str, str], list[tuple[int, str]]] = {}
    for row in db.read(sql, (), source="the tables of the database"):
        what, table, name, number, value, flag, collation = map(read_text, row)
        if what == "table":
            facts[table, "engine", ""] = value or ""
        elif what == "column":
            facts[table, "type", name] = plain_type(value or "")
            facts[table, "null", name] = flag
            facts[table, "collation", name] = collation
        else:
            keys.setdefault((table, name, flag), []).append((int(number), value))
    for (table, name, unique), parts in keys.items():
        columns = ", ".join(column for _, column in sorted(parts))
        if name == "PRIMARY":
            facts[table, "primary key", ""] = columns
        else:
            facts[table, "index", unique + columns] = name
    return facts


def list_names(facts: Facts) -> set[str]:
    return {table for table, aspect, _ in facts if aspect == "engine"}


@lru_cache(maxsize=512)
def plain_type(text: str) -> str:
    """Normalise a column type to one spelling for all servers of a family."""
    text = re.sub(r" (character set|collate) \w+", "", text.lower())
    text = re.sub(r"^(tinyint|smallint|int|integer|bigint)\(\d+\)", r"\1", text)
    return re.sub(r"^numeric", "decimal", re.sub(r"^integer", "int", text)).replace(", ", ",").strip()


def list_differences(facts: Facts, family: str) -> list[Finding]:
    """Return the differences from the schema, table by table. Extra tables, columns and indexes do not count."""
    names = list_names(facts)
    findings: list[Finding] = []
    for table in TABLES.values():
        if table.name in names:
            findings += _compare_columns(table, facts, family) + _compare_keys(table, facts, family)
        else:
            remedy = "Grant SELECT on it, or restore a backup, or make it without rows: prompt-engine db migrate"
            findings.append(Finding("error", "the table is missing", table.name, remedy))
    return findings


def _compare_columns(table: Table, facts: Facts, family: str) -> list[Finding]:
    findings = []
    for column in table.columns:
        where = f"{table.name}.{column.name}"
        wanted = plain_type(str(column.type.compile(dialect=dialect_of(family))))
        there = {aspect: facts.get((table.name, aspect, column.name)) for aspect in ("type", "collation", "null")}
        if there["type"] is None:
            remedy = f"{ddl.add_column(table, column, family)};"
            findings.append(Finding("error", "the column is missing", where, remedy))
            continue
        repair = f"ALTER TABLE {ddl.quote(table.name, family)} MODIFY {ddl.define_column(column, family)};"
        remedy = NO_STATEMENT if family == "sqlite" else repair
        if there["type"] != wanted and (there["type"], wanted) != ("longtext", "json"):  # MariaDB's form of JSON
            findings.append(_differing("warning", where, "type", there["type"], wanted, remedy))
        elif there["collation"] and there["collation"] != COLLATION:
            findings.append(_differing("warning", where, "collation", there["collation"], COLLATION, remedy))
        elif there["null"] == "NULL" and not column.nullable and not column.primary_key:
            findings.append(_differing("warning", where, "column", "NULL", "NOT NULL", remedy))
    return findings


def _compare_keys(table: Table, facts: Facts, family: str) -> list[Finding]:
    findings = []
    wanted = ", ".join(table.primary_key.columns.keys())
    there = facts.get((table.name, "primary key", ""), "absent")
    if there != wanted:
        findings.append(_differing("error", f"{table.name}.PRIMARY", "primary key", there, wanted, NO_STATEMENT))
    for name, (unique, columns) in ddl.list_indexes(table).items():
        if (table.name, "index", ("unique " if unique else "") + ", ".join(columns)) not in facts:
            remedy = f"{ddl.create_index(table, name, family)};"
            findings.append(Finding("warning", "the index is missing", f"{table.name}.{name}", remedy))
    engine = facts[table.name, "engine", ""]
    if engine and engine.lower() != "innodb":
        remedy = f"ALTER TABLE {ddl.quote(table.name, family)} ENGINE=InnoDB;"
        findings.append(_differing("error", table.name, "engine", engine, "InnoDB", remedy))
    return findings


def _differing(severity: Severity, where: str, kind: str, there: str, wanted: str, remedy: str) -> Finding:
    return Finding(severity, f"the {kind} is {there}, and should be {wanted}", where, remedy)
