"""Insert, move, delete, hide or unhide rows together with their index entries."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Executable, bindparam, case, delete, select, update

from ..base import logs
from ..base.groups import group
from ..database import dialects
from ..database.compiled import chunks
from ..database.dialects import ID, Key, Time
from ..database.engine import Database
from ..database.rows import insert_rows
from ..database.sources import WITHDRAWN, SourceTable
from ..tags import table as tags
from . import embeddings, table
from .entries import Stored, calendar_of, indexed_columns, place_columns, place_of, read_stored
from .shapes import Entry


def insert(
    connection: Connection,
    db: Database,
    source: SourceTable,
    made: Sequence[Mapping[str, Any]],
    local_only: Sequence[int] | None = None,
) -> None:
    """Insert rows with their index entries, and count their tags; `local_only`: marks for rows without their own."""
    if not made:
        return
    insert_rows(connection, source.table, made)
    calendar, places = calendar_of(db), [str(column.key) for column in place_columns(source)]
    entries = []
    for n, row in enumerate(made):
        if row.get("hidden") == WITHDRAWN:
            continue
        named = () if source.tags is None else tuple(row[source.tags.key])
        local = row["local_only"] if local_only is None else int(local_only[n])
        place = place_of(source.number, *(row[name] for name in places))
        stored = Stored(row["id"], row["audience_id"], row["timestamp"], row["text_folded"], named, local, place)
        entries.append(stored.entry(source, calendar))
    add_entries(connection, entries)
    tags.raise_uses(connection, db, made[0]["persona_id"], Counter(tag for one in entries for tag in one.tags))


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
    """Lock the rows with these ids until the transaction ends, and return those that exist, sorted by id."""
    found = connection.execute(_lock_statement(source), {"persona": persona, "ids": sorted(ids)}).all()
    return [read_stored(source, row[:-1], findable=bool(row[-1])) for row in found]


def exchange(
    connection: Connection, db: Database, source: SourceTable, old: Sequence[Stored], new: Sequence[Stored]
) -> None:
    _follow(connection, source, old, new)
    remove_entries(connection, source.number, [(row.audience_id, row.id) for row in old if row.findable])
    add_entries(connection, [row.entry(source, calendar_of(db)) for row in new if row.findable])


def _follow(connection: Connection, source: SourceTable, old: Sequence[Stored], new: Sequence[Stored]) -> None:
    """Delete vectors of deleted, edited, hidden or unhidden rows; move vectors of rows with a new audience or time."""
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
    connection: Connection, db: Database, source: SourceTable, persona: str, ids: Iterable[int], **columns: object
) -> int:
    """Set columns of rows, update their index entries, and return the number of rows."""
    c, changed = source.table.c, 0
    ready = {
        name: bindparam(f"new_{name}", value, type_=Time() if isinstance(value, datetime) else c[name].type)
        for name, value in columns.items()
    }
    for part in chunks(sorted(ids)):
        old = lock(connection, source, persona, part)
        if old:
            numbers = [row.id for row in old]
            if ready:
                where = (c.persona_id == persona, c.id.in_(numbers))
                connection.execute(update(source.table).where(*where).values(ready))
            exchange(connection, db, source, old, lock(connection, source, persona, numbers))
        changed += len(old)
    return changed


def remove(connection: Connection, source: SourceTable, persona: str, ids: Iterable[int]) -> int:
    """Delete rows with their index entries, lower the use counts of their tags, and return the number of rows."""
    c, gone = source.table.c, 0
    for part in chunks(sorted(ids)):
        rows = lock(connection, source, persona, part)
        if not rows:
            continue
        these = (c.persona_id == persona, c.id.in_([row.id for row in rows]))
        connection.execute(delete(source.table).where(*these))
        remove_entries(connection, source.number, [(row.audience_id, row.id) for row in rows if row.findable])
        embeddings.drop(connection, source, [(row.audience_id, row.id) for row in rows])
        tags.lower(connection, persona, Counter(tag for row in rows for tag in row.tags))
        gone += len(rows)
    return gone


# The entries of rows

MANY_WRITTEN = 64
"""Minimum number of rows of an audience, written together, that are packed at once."""
LOOKED_AFTER = 32
"""Number of rows written to an audience after which a process checks for rows to pack."""
MOST_AUDIENCES = 10_000
"""Maximum number of audiences whose written rows are counted."""


def add_entries(connection: Connection, entries: Iterable[Entry]) -> None:
    """Add entries to the index; if an audience has many new entries or unpacked rows, write them into segments now."""
    by_audience = group((one.audience_id, one) for one in entries)
    many = {audience: some for audience, some in by_audience.items() if len(some) >= MANY_WRITTEN}
    few = [one for audience, some in by_audience.items() if audience not in many for one in some]
    table.write_fresh(connection, few)
    if many:
        from . import packing  # noqa: PLC0415 - loads numpy, which few writes need

        for audience in sorted(many):
            packing.pack_entries(connection, audience, many[audience])
    for audience in sorted(by_audience):
        if _is_due(audience, len(by_audience[audience])) and (
            audience in many or table.count_fresh(connection, audience) >= table.PACK_FROM
        ):
            _pack(connection, audience)


def remove_entries(connection: Connection, source: int, rows: Iterable[tuple[int, int]]) -> int:
    """Remove rows of a source, each `(audience, id)`, from the index; return how many of them were in no segment."""
    fresh_rows = 0
    for audience, ids in sorted(group(rows).items()):
        deleted = table.remove_fresh(connection, audience, source, ids)
        fresh_rows += deleted
        if deleted < len(ids):
            table.note_gone(connection, audience, source, ids)
    return fresh_rows


def _is_due(audience: int, count: int) -> bool:
    """Add `count` to the audience's written rows; return True, and count from 0, when they reach LOOKED_AFTER."""
    written = _written.get(audience, 0) + count
    if len(_written) > MOST_AUDIENCES:
        _written.clear()
    _written[audience] = written if written < LOOKED_AFTER else 0
    return written >= LOOKED_AFTER


_written: dict[int, int] = {}


def _pack(connection: Connection, audience: int) -> None:
    """If due, move an audience's unpacked rows into segments and merge these; a damaged segment stops all changes."""
    from . import packing  # noqa: PLC0415 - as in `add_entries`

    step = connection.begin_nested()
    try:
        packing.pack_due(connection, audience)
        step.commit()
    except ValueError as error:  # a damaged segment must not fail the write of a row
        step.rollback()
        logs.warning("search_unpacked", audience=audience, error=str(error))
