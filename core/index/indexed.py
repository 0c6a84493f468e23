"""Rows together with their index entries: move, delete, hide or unhide them in one step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache

from sqlalchemy import Connection, Executable, bindparam, case, delete, select, update

from ..database import dialects
from ..database.bulk import chunks
from ..database.dialects import ID, Key, Time
from ..database.engine import Database
from ..database.sources import SourceTable
from ..tags import table as tags
from . import embeddings
from . import table as search_index
from .entries import Stored, calendar_of, indexed_columns, read_stored


@lru_cache(maxsize=32)
def change_row(source: SourceTable, names: tuple[str, ...]) -> Executable:
    """Return the UPDATE of these columns of one row; the parameters are `whose` (its persona) and `which` (its id)."""
    c = source.table.c
    whose = (c.persona_id == bindparam("whose", type_=Key(64)), c.id == bindparam("which", type_=ID))
    return update(source.table).where(*whose).values({name: bindparam(name, type_=c[name].type) for name in names})


@lru_cache(maxsize=16)
def _lock_statement(source: SourceTable) -> Executable:
    c = source.table.c
    these = (c.persona_id == bindparam("persona"), c.id.in_(bindparam("ids", expanding=True)))
    chosen = select(*indexed_columns(source), case((source.findable, 1), else_=0)).where(*these)
    return chosen.order_by(c.id).with_for_update()


def lock(connection: Connection, source: SourceTable, persona: str, ids: Iterable[int]) -> list[Stored]:
    """Return the existing rows of these ids, sorted, and lock them until the transaction ends."""
    found = connection.execute(_lock_statement(source), {"persona": persona, "ids": sorted(ids)}).all()
    return [read_stored(source, row[:-1], findable=bool(row[-1])) for row in found]


def exchange(
    connection: Connection, db: Database, source: SourceTable, old: Sequence[Stored], new: Sequence[Stored]
) -> None:
    """Replace the index entries of the old rows by those of the new rows."""
    _follow(connection, source, old, new)
    search_index.remove(
        connection, db.family, source.number, [(row.audience_id, row.id) for row in old if row.findable]
    )
    calendar = calendar_of(db)
    search_index.add(connection, db.family, [row.entry(source, calendar) for row in new if row.findable])


def _follow(connection: Connection, source: SourceTable, old: Sequence[Stored], new: Sequence[Stored]) -> None:
    """Delete the vectors of rows that were deleted, edited, hidden or unhidden; move the vectors of moved rows."""
    after = {row.id: row for row in new}
    changed = []
    for was in old:
        now = after.get(was.id)
        if now is None or now.folded != was.folded or now.findable != was.findable:
            changed.append((was.audience_id, was.id))
        elif (now.audience_id, now.at) != (was.audience_id, was.at):
            at_us = dialects.microseconds(now.at)
            embeddings.moved(connection, source, now.id, was.audience_id, now.audience_id, at_us)
    if changed:
        embeddings.drop(connection, source, changed, again=True)


def set_columns(
    connection: Connection,
    db: Database,
    source: SourceTable,
    persona: str,
    ids: Iterable[int],
    **columns: object,
) -> int:
    """Set columns of rows, update their index entries, and return the number of rows."""
    table, changed = source.table, 0
    ready = {
        name: bindparam(f"new_{name}", value, type_=Time() if isinstance(value, datetime) else table.c[name].type)
        for name, value in columns.items()
    }
    for part in chunks(sorted(ids)):
        old = lock(connection, source, persona, part)
        numbers = [row.id for row in old]
        if numbers and ready:
            where = (table.c.persona_id == persona, table.c.id.in_(numbers))
            connection.execute(update(table).where(*where).values(ready))
        if numbers:
            new = lock(connection, source, persona, numbers)
            exchange(connection, db, source, old, new)
        changed += len(old)
    return changed


def remove(connection: Connection, db: Database, source: SourceTable, persona: str, ids: Iterable[int]) -> int:
    """Delete rows with their index entries, lower the use counts of their tags, and return the number of rows."""
    table, gone = source.table, 0
    for part in chunks(sorted(ids)):
        rows = lock(connection, source, persona, part)
        if not rows:
            continue
        numbers = [row.id for row in rows]
        connection.execute(delete(table).where(table.c.persona_id == persona, table.c.id.in_(numbers)))
        search_index.remove(
            connection, db.family, source.number, [(row.audience_id, row.id) for row in rows if row.findable]
        )
        embeddings.drop(connection, source, [(row.audience_id, row.id) for row in rows])
        tags.lower(connection, persona, Counter(tag for row in rows for tag in row.tags))
        gone += len(rows)
    return gone
