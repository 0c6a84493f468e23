"""What is wrong with the rows of a database: values that cannot be read, orphans, what has expired, the index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from sqlalchemy import Column, Table, and_, bindparam, func, select

from ..database import registry, stored_values
from ..database.dialects import JsonText, Key, StoredBytes, StoredText, Time
from ..database.engine import Database
from ..database.schema import memories
from ..database.sources import ALL
from . import ddl

Row = tuple[Literal["error", "warning", "note"], str, str, str]
"""The fields of a finding."""
RANGE = 1000
SHOWN_ROWS = 10
REINDEX = "prompt-engine db reindex"


def check_rows(db: Database) -> list[Row]:
    """Return what is wrong with rows, and how many there are of each kind."""
    listed = [*_unreadable(db), *_waiting(db), *_index(db)]
    return [*listed, *_orphans(db), *_expired(db), *_kinds(db)]


# Values that cannot be read


def _unreadable(db: Database) -> Iterator[Row]:
    for entry in registry.REGISTRY:
        if entry.scoped != "audience":
            yield from _unreadable_in(db, ddl.list_tables()[entry.table])


def _unreadable_in(db: Database, table: Table) -> Iterator[Row]:
    """Name the rows of a table with values that reading repairs, column by column."""
    kinds = {c.name: _kind(c) for c in table.columns}
    keys = [c.name for c in table.primary_key.columns]
    bad: dict[str, list[str]] = {}
    for row in _walk(db, table, keys, kinds):
        for name, value in zip(kinds, row[len(keys) :], strict=True):
            if not stored_values.is_readable(value, kinds[name]):
                bad.setdefault(name, []).append("/".join(map(stored_values.from_key, row[: len(keys)])))
    for name, rows in bad.items():
        shown = ", ".join(rows[:SHOWN_ROWS]) + (", ..." if len(rows) > SHOWN_ROWS else "")
        what = f"{len(rows)} rows hold a value that cannot be read as it is: {', '.join(keys)} {shown}"
        yield "warning", what, f"{table.name}.{name}", _remedy(table.name, name, kinds[name])


LISTS = frozenset({"tags", "context_tags", "involved_users", "tag", "source_ids"})
"""JSON columns that hold a list of texts."""


def _kind(column: Column[Any]) -> stored_values.Kind:
    kind = column.type
    if isinstance(kind, JsonText):
        return "texts" if column.name in LISTS else "object" if column.name == "metadata" else "json"
    if isinstance(kind, Time):
        return "time"
    if isinstance(kind, (Key, StoredText)):
        return "text"
    return "bytes" if isinstance(kind, StoredBytes) else "number"


def _remedy(table: str, column: str, kind: stored_values.Kind) -> str:
    meaning = {
        "json": "JSON, or NULL",
        "object": "a JSON object, or NULL",
        "texts": "a JSON list of texts",
        "time": "a time, YYYY-MM-DD HH:MM:SS.ffffff in UTC",
        "number": "a number",
        "bytes": "bytes",
        "text": "UTF-8 text",
    }[kind]
    return f"Write {meaning} into {table}.{column} of these rows"


def _walk(
    db: Database, table: Table, keys: Sequence[str], kinds: Mapping[str, stored_values.Kind]
) -> Iterator[Sequence[Any]]:
    """Yield key and columns of all rows as the driver gives them, by ranges of the id where there is one."""
    columns = [ddl.quote(name, db.family) for name in keys]
    for name, kind in kinds.items():
        quoted = ddl.quote(name, db.family)
        # as bytes, since the driver of SQLite reads texts by itself
        columns.append(f"CAST({quoted} AS BLOB)" if db.family == "sqlite" and kind != "bytes" else quoted)
    sql = f"SELECT {', '.join(columns)} FROM {ddl.quote(table.name, db.family)}"  # noqa: S608 - names of the schema
    mark = "?" if db.family == "sqlite" else "%s"
    if keys != ["id"]:
        yield from db.read_driver(sql, (), source=table.name)
        return
    above = -(2**63)
    while rows := db.read_driver(f"{sql} WHERE id > {mark} ORDER BY id LIMIT {RANGE}", (above,), source=table.name):
        yield from rows
        above = rows[-1][0]


# The index


def _waiting(db: Database) -> Iterator[Row]:
    for source in ALL:
        waiting = select(func.count()).select_from(source.table).where(source.table.c.indexed == 0)
        count = int(db.read(waiting, source=source.table.name)[0][0])
        if count:
            yield "warning", f"{count} rows that were inserted by SQL wait to be indexed", source.table.name, REINDEX


def _index(db: Database) -> Iterator[Row]:
    from ..index import packing  # noqa: PLC0415 - loads numpy

    try:
        differences = packing.count_differences(db)
    except ValueError as error:
        yield "error", f"the search index cannot be read ({error})", "search_segment", REINDEX
        return
    for table, count in differences.items():
        if count:
            yield "error", f"the search index holds {count} rows too many or too few", table, REINDEX


# What lies there


def _orphans(db: Database) -> Iterator[Row]:
    known = ddl.list_tables()
    for entry in registry.REGISTRY:
        if entry.row_table not in known:
            continue
        here, there = known[entry.table], known[entry.row_table]
        link = here.c[entry.row_of]
        gone = select(func.count()).where(link.is_not(None), ~select(there.c.id).where(there.c.id == link).exists())
        count = int(db.read(gone, source=entry.table)[0][0])
        if count:
            remedy = f"delete the rows of {entry.table} whose {link.name} is no id of {there.name}"
            yield "warning", f"{count} rows belong to rows of {there.name} that are gone", entry.table, remedy


def _expired(db: Database) -> Iterator[Row]:
    m = memories.c
    now = bindparam("now", db.clock(), type_=Time())
    over = and_(m.tier == "session", m.archived_at.is_(None), m.expires_at <= now)
    count = int(db.read(select(func.count()).where(over), source="memories")[0][0])
    if count:
        what = f"{count} session items have expired and still take space"
        yield "note", what, "memories", "prompt-engine memory consolidate, or: prompt-engine worker --schedule"


def _kinds(db: Database) -> Iterator[Row]:
    m = memories.c
    there = (m.archived_at.is_(None), m.superseded_by.is_(None))
    counted = select(m.kind, m.tier, func.count()).where(*there).group_by(m.kind, m.tier).order_by(m.kind, m.tier)
    for kind, tier, count in db.read(counted, source="memories"):
        yield "note", f"{count} {tier} memories of kind {kind or '(none)'}", "memories", ""
