"""Copy a whole database to another server or file. Called by `db copy`.

A target with other rows is an error. During a copy a row of `schema_version` marks the target: nobody can open it, and
an interrupted copy continues with the first table that differs from the source.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, Table, delete, literal, select

from ..access import external_rows
from ..base.whole_file import replace_file
from ..database.connections import Target, check_new_file, find_source
from ..database.dialects import FLAG, INTEGER, SMALL, JsonText, Key, StoredText, upsert
from ..database.engine import Database
from ..database.registry import REGISTRY
from ..database.rows import TEXT_BYTES, insert_tuples
from ..database.schema import TABLES, access_tokens, memories, schema_version, tag_links
from ..database.stored_values import count_repairs, read_json
from ..errors import StoreError
from ..index import packing
from ..shapes import Progress
from . import migration

INDEX = ("search_fresh", "search_segment", "search_block", "search_gone")
"""Tables of the search index, which the target builds from its rows."""
ROWS_AT_ONCE = 500
CHARACTERS_AT_ONCE = 4_000_000
MOST = {FLAG: 127, SMALL: 127, INTEGER: 2**31 - 1, memories.c.importance.type: 9.999, tag_links.c.weight.type: 999.999}
"""Largest number that each column type can store on a server; a SQLite file can store any number."""
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Copied:
    """The result of `copy_database`."""

    source: str
    target: str
    """Connection string of the target; like `source`, with dots for the password."""
    rows: Mapping[str, int]
    """Number of rows per table; number and content are equal in source and target."""
    repaired: int
    """Number of unreadable values in the source; the copy has the repaired values that prompts would show."""
    tokens_left: int
    """Number of access tokens in the source that were not copied."""


@dataclass(slots=True)
class Digest:
    """Number of rows and sum of their hashes, which do not depend on row order, since servers sort keys differently."""

    count: int = 0
    total: int = 0

    def add(self, row: Row) -> None:
        text = json.dumps(row, sort_keys=True, default=repr)
        self.count += 1
        self.total = (self.total + int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest())) % 2**128


def copy_database(source: str, target: str, *, tokens: bool, seconds: float, progress: Progress | None) -> Copied:
    """Copy a database as `db.copy_database` does; `seconds` is the time limit of each database call."""
    with (
        closing(Database(find_source(source), timeout_seconds=seconds)) as old,
        closing(Database(target, timeout_seconds=seconds)) as new,
    ):
        left_out = {*INDEX, schema_version.name, *(() if tokens else (access_tokens.name,))}
        tables = [TABLES[entry.table] for entry in REGISTRY if entry.table not in left_out]
        _check_source(old)
        if _is_same(old.target, new.target):
            raise StoreError(f"SOURCE and TARGET are the same database, {new.target.shown}.", source="TARGET")
        check_new_file(new.target)
        with old.connection(source="SOURCE", snapshot=True) as connection:
            for table in tables if old.family == "sqlite" else ():
                _read_digest(connection, table)  # refuses a value before the target is changed
            is_begun = _begin(new, tables, connection, _identify(old.target))
            before = count_repairs()
            rows = {table.name: _copy_table(connection, new, table, progress) for table in tables}
            left = 0 if tokens else _read_digest(connection, access_tokens).count
        repaired = count_repairs() - before
        if is_begun:
            external_rows.index_all_rows(new, progress)
            packing.rebuild_all(new, progress)
            ended = delete(schema_version).where(schema_version.c.version_num == migration.COPYING)
            new.idempotent_transaction(lambda connection: connection.execute(ended), source=schema_version.name)
        return Copied(old.target.shown, new.target.shown, rows, repaired, left)


def _is_same(old: Target, new: Target) -> bool:
    one, two = (Path(str(each.url.database)) for each in (old, new))
    if old.family == new.family == "sqlite" and one.is_file() and two.is_file():
        return one.samefile(two)  # by any name: a hard link, another case of letters
    return _identify(old) == _identify(new)


def _identify(target: Target) -> str:
    """Return a digest of a database's address, which marks an unfinished copy with its source."""
    name = str(target.url.database)
    place = str(Path(name).resolve()) if target.family == "sqlite" else f"{target.server} {name}"
    return hashlib.blake2b(place.encode(), digest_size=8).hexdigest()


def _check_source(db: Database) -> None:
    versions = migration.read_versions(db)
    mismatch = migration.find_mismatch(versions)
    if mismatch is not None:
        raise StoreError(f"{db.target.shown}: {mismatch.what}. {mismatch.remedy}, then copy it.", source="SOURCE")
    if not migration.find_version(versions):
        raise StoreError(f"{db.target.shown} holds no tables of prompt-engine. Correct SOURCE.", source="SOURCE")


def _begin(db: Database, tables: Sequence[Table], source: Connection, mark: str) -> bool:
    """Create the target's tables, and mark them as an unfinished copy; return False if the copy is already complete."""
    url = db.target.url
    if db.target.is_missing and not url.query:  # a parameter may forbid a new file
        with (
            replace_file(Path(str(url.database)), new_mode=0o600) as part,
            closing(Database(replace(db.target, url=url.set(database=str(part))))) as new,
        ):
            migration.mark_unfinished(new, migration.COPYING)
    versions = migration.read_versions(db) or {}
    taken: list[str] = []
    if versions.get(migration.COPYING, "") not in ("", mark):
        raise StoreError(
            f"The target {db.target.shown} holds an unfinished copy of another source. Nothing was changed. Name "
            "that source, or an empty database.",
            source="SOURCE",
        )
    if migration.COPYING not in versions or migration.find_version(versions) <= migration.UNFINISHED:
        migration.migrate(db, copying=True)
        first = select(literal(1)).limit(1)
        taken = [table.name for table in tables if db.read(first.select_from(table), source="TARGET")]
    if taken:
        with db.connection(source="TARGET") as target:
            if all(_read_digest(target, table) == _read_digest(source, table) for table in tables):
                return False
        raise StoreError(
            f"The target {db.target.shown} holds rows already, in {', '.join(taken[:3])}. Nothing was changed. Name an "
            "empty database.",
            source="TARGET",
        )
    marked = upsert(schema_version, db.family, ("fingerprint",))
    row = {"version_num": migration.COPYING, "fingerprint": mark}
    db.idempotent_transaction(lambda connection: connection.execute(marked, row), source=schema_version.name)
    return True


def _copy_table(source: Connection, target: Database, table: Table, progress: Progress | None) -> int:
    """Copy a table unless it is already there, and return its number of rows."""
    with target.connection(source=table.name) as connection:
        there = _read_digest(connection, table)
    if there.count:  # copied before an interruption
        if _read_digest(source, table) == there:
            return there.count
        clear = delete(table).with_dialect_options(mysql_limit=5000)
        while target.idempotent_transaction(lambda c: c.execute(clear).rowcount, source=table.name):
            pass
    digest = Digest()
    for chunk in _read_chunks(source, table):
        # an upsert is safe to repeat after a lost commit answer
        write = partial(insert_tuples, table=table, rows=chunk, update=table.columns.keys())
        target.idempotent_transaction(write, source=table.name, if_unsure="Run the copy again: it continues.")
        for row in chunk:
            digest.add(row)
        if progress is not None:
            progress(table.name, digest.count, 0)
    with target.connection(source=table.name) as connection:
        there = _read_digest(connection, table)
    if digest != there:
        raise StoreError(
            f"{table.name} differs after the copy: {digest.count} rows in the source, {there.count} in the target, or "
            "other contents. Does another program write to the target? Stop it, and run the copy again.",
            source=table.name,
        )
    return digest.count


def _read_digest(connection: Connection, table: Table) -> Digest:
    digest = Digest()
    for row in _read_rows(connection, table):
        digest.add(row)
    return digest


def _read_chunks(connection: Connection, table: Table) -> Iterator[list[Row]]:
    """Yield the rows of a table in lists that fit into one statement."""
    chunk: list[Row] = []
    size = 0
    for row in _read_rows(connection, table):
        chunk.append(row)
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if len(chunk) == ROWS_AT_ONCE or size > CHARACTERS_AT_ONCE:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _read_rows(connection: Connection, table: Table) -> Iterator[Row]:
    """Yield a table's rows in the order of the primary key, with values in a form that every server can store."""
    rows = select(table).order_by(*table.primary_key.columns)
    for row in connection.execute(rows.execution_options(stream_results=True)):
        yield tuple(_read_value(column, value, row) for column, value in zip(table.columns, row, strict=True))


def _read_value(column: Column[Any], value: Any, row: Any) -> Any:
    kind: Any = column.type
    if value is None or isinstance(kind, JsonText):
        return read_json(value)
    limit, size = MOST.get(kind), value
    if isinstance(kind, Key | StoredText):
        is_counted_in_bytes = kind.length is None or isinstance(kind, Key)
        limit, size = kind.length or TEXT_BYTES, len(value.encode() if is_counted_in_bytes else value)
    if limit is not None and abs(size) > limit:
        key = "/".join(str(row._mapping[each])[:60] for each in column.table.primary_key.columns)
        where = f"{column.table.name}.{column.name}"
        raise StoreError(f"No server takes {where} of row {key}: it is over {limit}. Correct it.", source=where)
    return value
