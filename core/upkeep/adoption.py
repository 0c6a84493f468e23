"""Adoption of the original application's database: its tables become ours, its rows keep ids, texts and times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, MetaData, Table, func, insert, select
from sqlalchemy.types import NullType

from ..base.logs import warning
from ..database.dialects import Key, insert_ignore
from ..database.engine import Database
from ..errors import StoreError
from . import adopted_people, ddl
from .adopted_rows import Broken, Reader, complete_row
from .inspection import FoundTable, read_tables

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many are done, how many there are."""

PERSONA = "default"
RANGE = 1000
ORIGINAL = ("memories", "ai_diary", "chat_history_cache", "archived_memories")
"""Tables that hold texts and have a numbered id; taken over in ranges."""
SMALL = ("tags", "tag_aliases", "tag_links", "config")
"""Taken over at once. One whose columns are not ours is set aside under the name `original_...`."""
NEW, OLD, ASIDE = "adopting_", "adopted_", "original_"


@dataclass(frozen=True, slots=True)
class Adopted:
    """What was taken over of one table."""

    rows: int
    broken: tuple[Broken, ...] = ()
    """Values that could not be taken over as they were, by row id; never the values."""


def original_tables(found: Mapping[str, FoundTable]) -> list[str]:
    """Return the tables that are in the original application's form, in the order they are adopted."""
    return [name for name in (*ORIGINAL, *SMALL) if name in ddl.list_tables() and _is_original(found.get(name))]


def _is_original(there: FoundTable | None) -> bool:
    if there is None:
        return False
    if there.name == "config":
        key = there.columns.get("config_key")
        missing = {"created_at", "updated_at"} - set(there.columns)
        return key is None or key.type.startswith("varchar") or bool(missing)
    return "persona_id" not in there.columns


def is_unfinished(found: Mapping[str, FoundTable]) -> bool:
    """Return whether an adoption stopped after the tables had changed names."""
    return any(OLD + name in found and not _is_original(found.get(name)) for name in (*ORIGINAL, *SMALL))


def adopt_tables(
    db: Database, found: Mapping[str, FoundTable], progress: Progress, keep_lease: Callable[[], None]
) -> dict[str, Adopted]:
    """Adopt every table in the original's form."""
    names = original_tables(found)
    for name in names:
        _check(db, found[name])
    places = adopted_people.Places(PERSONA)
    if "chat_history_cache" in names:
        places.register(db, found["chat_history_cache"])
    adopted: dict[str, Adopted] = {}
    for name in names:
        keep_lease()
        if name in SMALL:
            adopted[name] = _small(db, found[name])
        else:
            adopted[name] = _ranges(db, found[name], places, progress, keep_lease)
        _swap(db, ddl.list_tables()[name])
    _drop_old(db)
    return adopted


def _check(db: Database, there: FoundTable) -> None:
    """Refuse before anything is changed: keys that are too long, and what would be lost with the old table."""
    table = ddl.list_tables()[there.name]
    if there.name in ORIGINAL and "id" not in there.columns:
        raise StoreError(
            f"The table {there.name} has neither persona_id nor id, so it is not the original application's. Rename "
            "it, then run `prompt-engine db migrate` again.",
            source=there.name,
        )
    hanging = _hanging(db, there.name)
    if hanging:
        raise StoreError(
            f"{there.name} cannot be adopted while {', '.join(hanging)} depends on it. Drop that, run `prompt-engine "
            "db migrate` again, and make it anew afterwards where it is still needed.",
            source=there.name,
        )
    for column in table.columns:
        if isinstance(column.type, Key) and column.name in there.columns:
            _check_key(db, there, column, column.type.length)


def _check_key(db: Database, there: FoundTable, column: Column[Any], length: int) -> None:
    name, key = ddl.quote(column.name, db.family), "id" if "id" in there.columns else column.name
    size = f"LENGTH(CAST({name} AS BLOB))" if db.family == "sqlite" else f"LENGTH(CONVERT({name} USING utf8mb4))"
    sql = (
        f"SELECT {ddl.quote(key, db.family)} FROM {ddl.quote(there.name, db.family)} "  # noqa: S608
        f"WHERE {size} > {length} ORDER BY 1 LIMIT 10"
    )
    rows = db.read_driver(sql, (), source=there.name)
    if rows:
        shown = ", ".join(str(row[0]) for row in rows) if key == "id" else f"{len(rows)} rows"
        raise StoreError(
            f"{there.name}.{column.name} is longer than {length} bytes in rows {shown}. A key is never cut: shorten "
            "it in these rows or delete them, then run `prompt-engine db migrate` again.",
            source=there.name,
        )


def _hanging(db: Database, name: str) -> list[str]:
    """Return triggers on a table and foreign keys to it, which would go or block when the table is replaced."""
    if db.family == "sqlite":
        sql = (
            "SELECT 'the trigger ' || name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ? UNION ALL "
            "SELECT 'a foreign key of ' || m.name FROM sqlite_master AS m JOIN pragma_foreign_key_list(m.name) AS f "
            "WHERE m.type = 'table' AND f.\"table\" = ?"
        )
    else:
        sql = (
            "SELECT CONCAT('the trigger ', trigger_name) FROM information_schema.triggers "
            "WHERE event_object_schema = DATABASE() AND event_object_table = %s UNION ALL "
            "SELECT CONCAT('a foreign key of ', table_name) FROM information_schema.key_column_usage "
            "WHERE referenced_table_schema = DATABASE() AND referenced_table_name = %s"
        )
    return [str(row[0]) for row in db.read_driver(sql, (name, name), source=name)]


def _copy_of(table: Table, there: FoundTable) -> Table:
    """Return the new table as it stands beside the old, with the columns the original had more."""
    copy = table.to_metadata(MetaData(), name=NEW + table.name)
    for column in there.columns.values():
        if column.name not in copy.c:
            copy.append_column(Column(column.name, NullType(), nullable=True))
    return copy


def _make_copy(db: Database, table: Table, there: FoundTable) -> None:
    """Make the new table, unless it is there from an earlier attempt and fits."""
    present = read_tables(db).get(NEW + table.name)
    more = [column for column in there.columns.values() if column.name not in table.c]
    fits = present is not None and set(present.columns) == {*table.c.keys(), *(c.name for c in more)}
    if fits:
        return
    name = ddl.quote(NEW + table.name, db.family)
    steps = [f"DROP TABLE IF EXISTS {name}", ddl.create_table(table, db.family, name=NEW + table.name)]
    steps += [f"ALTER TABLE {name} ADD COLUMN {ddl.quote(c.name, db.family)} {c.type or 'TEXT'} NULL" for c in more]
    for step in steps:
        ddl.run_statement(db, step, source=f"the adoption of {table.name}")


def _ranges(
    db: Database,
    there: FoundTable,
    places: adopted_people.Places,
    progress: Progress,
    keep_lease: Callable[[], None],
) -> Adopted:
    table = ddl.list_tables()[there.name]
    copy = _copy_of(table, there)
    _make_copy(db, table, there)
    total = _count(db, there.name)
    reader, taken = Reader(table, list(there.columns)), _taken_ids(db, there)
    broken: list[Broken] = []
    done = _count(db, copy.name)
    progress(f"adopting {there.name}", done, total)

    def one_range(connection: Connection) -> tuple[int, list[Broken]]:
        rows = _next_rows(connection, there, copy)
        listed: list[Broken] = []
        for row in rows:
            values, mended = reader.read(row)
            listed += mended
            if int(row["id"]) in taken:
                values["message_id"] = None
                listed.append(Broken(int(row["id"]), "message_id", "duplicate"))
            complete_row(table, values)
            row["values"] = values
        places.assign(connection, db, table, [row["values"] for row in rows])
        if rows:
            connection.execute(insert(copy), [row["values"] for row in rows])
        return len(rows), listed

    while True:
        count, listed = db.transaction(one_range, source=f"the adoption of {there.name}")
        if not count:
            return Adopted(done, tuple(broken))
        broken += listed
        for found in listed:
            warning("adopted_broken", table=there.name, row=found.row_id, column=found.column, why=found.why)
        done += count
        progress(f"adopting {there.name}", done, total)
        keep_lease()


def _next_rows(connection: Connection, there: FoundTable, copy: Table) -> list[dict[str, Any]]:
    family = connection.dialect.name
    family = "sqlite" if family == "sqlite" else "mysql"
    last = connection.execute(select(func.max(copy.c.id))).scalar()
    columns = ", ".join(ddl.quote(name, family) for name in there.columns)
    mark = "?" if family == "sqlite" else "%s"
    after = f"WHERE id > {mark} " if last is not None else ""
    sql = f"SELECT {columns} FROM {ddl.quote(there.name, family)} {after}ORDER BY id LIMIT {mark}"  # noqa: S608
    values = (last, RANGE) if last is not None else (RANGE,)
    rows = connection.exec_driver_sql(sql, values).fetchall()
    return [dict(zip(there.columns, row, strict=True)) for row in rows]


def _taken_ids(db: Database, there: FoundTable) -> set[int]:
    """Return the rows whose message id another row of the conversation has: ours has each once."""
    if "message_id" not in there.columns or "interface_path" not in there.columns:
        return set()
    sql = (
        f"SELECT a.id FROM {ddl.quote(there.name, db.family)} AS a JOIN {ddl.quote(there.name, db.family)} AS b "  # noqa: S608
        "ON a.interface_path = b.interface_path AND a.message_id = b.message_id AND b.id < a.id"
    )
    return {int(row[0]) for row in db.read_driver(sql, (), source=there.name)}


def _small(db: Database, there: FoundTable) -> Adopted:
    """Copy a table of settings or tags; a row whose key is there already, or too long, stays out."""
    table = ddl.list_tables()[there.name]
    keys = [c.name for c in table.primary_key.columns if c.name != "persona_id"]
    _make_copy(db, table, FoundTable(there.name))
    if any(key not in there.columns for key in keys):
        return Adopted(0, tuple(Broken(0, key, "column absent") for key in keys if key not in there.columns))
    copy = table.to_metadata(MetaData(), name=NEW + table.name)
    shared = [name for name in there.columns if name in table.c]
    reader = Reader(table, shared)

    def work(connection: Connection) -> Adopted:
        names = ", ".join(ddl.quote(name, db.family) for name in shared)
        sql = f"SELECT {names} FROM {ddl.quote(there.name, db.family)}"  # noqa: S608
        rows = [dict(zip(shared, row, strict=True)) for row in connection.exec_driver_sql(sql).fetchall()]
        read = [reader.read(row) for row in rows]
        if read:
            connection.execute(insert_ignore(copy, db.family), [values for values, _ in read])
        return Adopted(len(read), tuple(mended for _, listed in read for mended in listed))

    return db.transaction(work, source=f"the adoption of {there.name}")


def _count(db: Database, name: str) -> int:
    rows = db.read_driver(f"SELECT COUNT(*) FROM {ddl.quote(name, db.family)}", (), source=name)  # noqa: S608
    return int(rows[0][0])


def _swap(db: Database, table: Table) -> None:
    """Put the new table in the place of the old one, at one moment."""
    name, family = table.name, db.family
    here, new, old = (ddl.quote(n, family) for n in (name, NEW + name, OLD + name))
    if family == "mysql":
        ddl.run_statement(db, f"RENAME TABLE {here} TO {old}, {new} TO {here}", source=name)
        return

    def work(connection: Connection) -> None:
        connection.exec_driver_sql(f"ALTER TABLE {here} RENAME TO {old}")
        connection.exec_driver_sql(f"ALTER TABLE {new} RENAME TO {here}")
        for index in ddl.list_indexes(table):
            connection.exec_driver_sql(f"DROP INDEX IF EXISTS {ddl.quote(index, family)}")
            connection.exec_driver_sql(ddl.create_index(table, index, family))

    db.transaction(work, source=name)


def _drop_old(db: Database) -> None:
    """Drop the original's tables once ours hold their rows; one that was not understood is set aside instead."""
    found = read_tables(db)
    for name in (*ORIGINAL, *SMALL):
        old = found.get(OLD + name)
        if old is None or _is_original(found.get(name)):
            continue
        keys = {c.name for c in ddl.list_tables()[name].primary_key.columns if c.name != "persona_id"}
        here, aside = ddl.quote(OLD + name, db.family), ddl.quote(ASIDE + name, db.family)
        if name in SMALL and not keys <= set(old.columns):
            ddl.run_statement(db, f"ALTER TABLE {here} RENAME TO {aside}", source=name)
            continue
        if name in ORIGINAL and _count(db, name) < _count(db, OLD + name):
            raise StoreError(
                f"{name} holds fewer rows than {OLD}{name}, the table it was adopted from: something wrote there "
                "meanwhile. Nothing was dropped: copy what is missing, and drop the old one.",
                source=name,
            )
        ddl.run_statement(db, f"DROP TABLE {here}", source=name)


__all__ = ["Adopted", "Broken", "Progress", "adopt_tables", "is_unfinished", "original_tables"]
