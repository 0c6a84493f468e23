"""Rows together with what the search tables hold of them: moved, deleted, hidden or shown in one step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Integer, bindparam, delete, literal_column, null, select, update

from ..database import dialects
from ..database.bulk import chunks
from ..database.dialects import ID, Key, Time
from ..database.engine import Database
from ..database.sources import SourceTable, case_findable
from ..tags import table as tags
from ..text.hits import stored_tags
from . import embeddings
from . import table as search_index
from .entries import Entry, Place, entry, fold_texts, list_texts, place_columns, place_of

AT_ONCE = 500


@lru_cache(maxsize=32)
def change_row(source: SourceTable, names: tuple[str, ...]) -> Any:
    """Return the statement that writes these columns of one row; `whose` is its persona, `which` its id."""
    c = source.table.c
    whose = (c.persona_id == bindparam("whose", type_=Key(64)), c.id == bindparam("which", type_=ID))
    return update(source.table).where(*whose).values({name: bindparam(name, type_=c[name].type) for name in names})


@dataclass(frozen=True, slots=True)
class Stored:
    """A locked row, as far as the search tables need it."""

    id: int
    audience_id: int
    at: datetime | None
    folded: str
    tags: tuple[str, ...]
    local_only: int
    findable: bool
    place: Place

    def entry(self, source: SourceTable) -> Entry:
        """Return what the search tables hold of the row."""
        return entry(
            source.number, self.id, self.audience_id, self.at, self.folded, self.tags, self.local_only, self.place
        )


@lru_cache(maxsize=16)
def _lock_statement(source: SourceTable) -> Any:
    c = source.table.c
    tags_column = null() if source.tags is None else source.tags
    local = c.local_only if "local_only" in c else literal_column("0", Integer())
    return (
        select(
            c.id,
            c.audience_id,
            c.timestamp,
            c.text_folded,
            tags_column.label("tags"),
            local.label("local_only"),
            case_findable(source).label("findable"),
            *(column.label(f"place{n}") for n, column in enumerate(place_columns(source))),
        )
        .where(c.persona_id == bindparam("persona"), c.id.in_(bindparam("ids", expanding=True)))
        .order_by(c.id)
        .with_for_update()
    )


def lock(
    connection: Connection, source: SourceTable, persona: str, ids: Iterable[int], *, local_only: bool = False
) -> list[Stored]:
    """Return the rows of these ids that exist, by id, held until the transaction ends."""
    found = connection.execute(_lock_statement(source), {"persona": persona, "ids": sorted(ids)}).all()
    missing = [row.id for row in found if row.text_folded is None]
    texts = _folded_anew(connection, source, persona, missing) if missing else {}
    return [
        Stored(
            row.id,
            row.audience_id,
            row.timestamp,
            texts.get(row.id, "") if row.text_folded is None else row.text_folded,
            tuple(stored_tags(row.tags)) if source.tags is not None else (),
            int(row.local_only or local_only),
            bool(row.findable),
            place_of(source.number, *row[7:]),
        )
        for row in found
    ]


def _folded_anew(connection: Connection, source: SourceTable, persona: str, ids: list[int]) -> dict[int, str]:
    """Return the folded text of rows an older program wrote without it."""
    c = source.table.c
    chosen = select(c.id, *list_texts(source)).where(c.persona_id == persona, c.id.in_(ids))
    return {row[0]: fold_texts(row[1:]) for row in connection.execute(chosen)}


def exchange(
    connection: Connection, db: Database, source: SourceTable, old: Sequence[Stored], new: Sequence[Stored]
) -> None:
    """Replace what the search tables hold of the rows, as they were, by what they are."""
    _follow(connection, source, old, new)
    search_index.remove(
        connection, db.family, source.number, [(row.audience_id, row.id) for row in old if row.findable]
    )
    search_index.add(connection, db.family, [row.entry(source) for row in new if row.findable])


def _follow(connection: Connection, source: SourceTable, old: Sequence[Stored], new: Sequence[Stored]) -> None:
    """Keep the vectors of rows in step: what is said anew, hidden or shown loses them, what is moved takes
    them along.
    """
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
    *,
    is_local: bool = False,
    **columns: Any,
) -> int:
    """Set columns of rows, index them as they are then, and return how many there were.

    Args:
        is_local: their conversation stays on this machine.
    """
    table, changed = source.table, 0
    ready = {
        name: bindparam(f"new_{name}", value, type_=Time() if isinstance(value, datetime) else table.c[name].type)
        for name, value in columns.items()
    }
    for part in chunks(sorted(ids), AT_ONCE):
        old = lock(connection, source, persona, part)
        numbers = [row.id for row in old]
        if numbers and ready:
            where = (table.c.persona_id == persona, table.c.id.in_(numbers))
            connection.execute(update(table).where(*where).values(ready))
        if numbers:
            new = lock(connection, source, persona, numbers, local_only=is_local)
            exchange(connection, db, source, old, new)
        changed += len(old)
    return changed


def remove(connection: Connection, db: Database, source: SourceTable, persona: str, ids: Iterable[int]) -> int:
    """Delete rows with their index rows, lower the uses of their tags, and return how many there were."""
    table, gone = source.table, 0
    for part in chunks(sorted(ids), AT_ONCE):
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
