"""Builds the search tables of rows that are not indexed yet, and mends what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, Integer, bindparam, delete, func, select, update

from ..database import sources
from ..database.bulk import chunks
from ..database.dialects import ID, Key, upsert
from ..database.engine import Database, UndoError
from ..database.schema import search_count, search_progress, search_stats, search_tag, search_term
from ..database.sources import SourceTable
from . import fresh_rows, sweeping
from . import table as search_index
from .check import differences
from .differences import Difference
from .entries import (
    RANGE,
    Entry,
    Progress,
    derive_columns,
    entry_of,
    indexed_columns,
    is_indexed,
    list_texts,
    state_of,
    unindexed,
)
from .fresh_rows import is_fresh
from .indexed import change_row
from .lookups import TAG, WORD

__all__ = ["Difference", "Progress", "backfill", "differences", "mend"]

AT_ONCE = 200
"""Rows, or counts, mended in one transaction."""


def backfill(db: Database, progress: Progress | None = None) -> int:
    """Index the rows of every source that is not ready, in ranges of 1,000 ids; return how many rows were indexed."""
    done = 0
    for source in sources.ALL:
        state = state_of(db, source)
        while state is not None and not state.ready:
            ids = _next_ids(db, source, state.next_id, state.until_id)
            if not ids:
                db.transaction(partial(_set_ready, db, source, state.until_id), source="search_progress")
                break
            done += db.transaction(partial(_index_range, db, source, ids, state), source=source.table.name)
            if progress is not None:
                progress(source.table.name, done, 0)
            state = state_of(db, source)
    return done


def _next_ids(db: Database, source: SourceTable, above: int, until: int) -> list[int]:
    row = source.table.c
    statement = select(row.id).where(row.id > bindparam("above", type_=ID), row.id <= bindparam("until", type_=ID))
    found = db.read(
        statement.order_by(row.id).limit(bindparam("most", type_=Integer())),
        {"above": above, "until": until, "most": RANGE},
        source=source.table.name,
    )
    return [r[0] for r in found]


def _set_ready(db: Database, source: SourceTable, until: int, connection: Connection) -> None:
    connection.execute(
        update(search_progress)
        .where(search_progress.c.source == bindparam("number"), search_progress.c.until_id == bindparam("until"))
        .values(ready=1, updated_at=bindparam("now")),
        {"number": source.number, "until": until, "now": db.clock()},
    )


def _fold_anew(source: SourceTable, ids: Sequence[int], connection: Connection) -> None:
    """Write the folded texts and hashes of a range that an earlier version folded otherwise, or not at all."""
    c = source.table.c
    chosen = select(c.persona_id, c.id, c.text_folded, *list_texts(source)).where(
        c.id >= bindparam("first", type_=ID), c.id <= bindparam("last", type_=ID)
    )
    for persona, row_id, stored, *said in connection.execute(chosen, {"first": ids[0], "last": ids[-1]}).all():
        made = derive_columns(said)
        if made["text_folded"] != stored:
            connection.execute(change_row(source, tuple(made)), {"whose": persona, "which": row_id, **made})


def _index_range(db: Database, source: SourceTable, ids: Sequence[int], state: Any, connection: Connection) -> int:
    """Index a range and return how many rows it has."""
    _fold_anew(source, ids, connection)
    row = source.table.c
    wanted = select(*indexed_columns(source)).where(
        row.id >= bindparam("first", type_=ID), row.id <= bindparam("last", type_=ID), source.findable
    )
    if db.family != "sqlite":
        wanted = wanted.with_for_update()
    found = connection.execute(wanted, {"first": ids[0], "last": ids[-1]}).fetchall()
    search_index.add(connection, db.family, [entry_of(source, r) for r in found])
    p = search_progress.c
    moved = connection.execute(
        update(search_progress)
        .where(
            p.source == bindparam("number"),
            p.next_id == bindparam("before", type_=ID),
            p.until_id == bindparam("until", type_=ID),
        )
        .values(next_id=bindparam("last"), updated_at=bindparam("now")),
        {"number": source.number, "before": state.next_id, "until": state.until_id, "last": ids[-1], "now": db.clock()},
    )
    if not moved.rowcount:
        raise UndoError(0)
    return len(ids)


# Mending


def mend(db: Database, found: Sequence[Difference]) -> int:
    """Put the places right that `differences` listed; return how many there were."""
    from . import packing  # noqa: PLC0415 - loads numpy

    sweeping.sweep_all(db)  # what is put back must not meet what its row had before it was packed
    damaged = [d for d in found if d.kind == "damaged"]
    for d in damaged:
        db.transaction(partial(packing.drop_segment, d.audience_id, int(d.key)), source="search_segment")
    if damaged:  # what its rows are missing is told by looking once more
        found = list(differences(db))
    rows: dict[tuple[int, int], list[Difference]] = {}
    for d in found:
        if d.kind in ("missing", "extra", "stale"):
            rows.setdefault((d.source, d.row_id), []).append(d)
    for number in sorted({number for number, _ in rows}):
        for part in chunks(sorted(row_id for source, row_id in rows if source == number), AT_ONCE):
            listed = {row_id: rows[number, row_id] for row_id in part}
            db.transaction(partial(_mend_rows, db, number, listed), source="the search index")
    places = {(d.audience_id, _kind(d), d.key, d.source) for d in found if d.kind in ("missing", "extra", "count")}
    for some in chunks(sorted(places), AT_ONCE):
        db.transaction(partial(_recount, db, some), source="search_count")
    totals = {(d.audience_id, d.source) for d in found if d.kind == "total"}
    for audience, number in sorted(totals):
        db.transaction(partial(_retotal, db, audience, number), source="search_stats")
    words = {d.key for d in found if d.kind == "word"}
    for taught in chunks(sorted(words), AT_ONCE):
        db.transaction(lambda c, taught=taught: search_index.teach(c, db.family, taught), source="search_vocab")  # type: ignore[misc]
    return len(found)


def _kind(difference: Difference) -> int:
    return TAG if difference.table == "search_tag" else WORD


def _mend_rows(db: Database, number: int, listed: Mapping[int, Sequence[Difference]], connection: Connection) -> None:
    """Take out the postings listed as extra or stale, and put in what the rows, locked, give now."""
    source = sources.BY_NUMBER.get(number)
    entries = {}
    if source is not None:
        row = source.table.c
        statement = select(*indexed_columns(source)).where(row.id.in_(sorted(listed)), source.findable).order_by(row.id)
        locked = statement if db.family == "sqlite" else statement.with_for_update()
        found = connection.execute(locked).fetchall()
        waiting = unindexed(connection, number)
        entries = {r[0]: entry_of(source, r) for r in found if is_indexed(waiting, r[0])}
    for row_id, differences_ in listed.items():
        for d in differences_:
            if d.table in ("search_segment", "search_fresh"):
                continue
            if d.kind == "stale" or (d.kind == "extra" and not _gives(entries.get(row_id), d)):
                table = search_tag if d.table == "search_tag" else search_term
                key = table.c.tag if d.table == "search_tag" else table.c.term
                place = (
                    table.c.audience_id == d.audience_id,
                    key == d.key,
                    table.c.source == d.source,
                    table.c.at_us == d.at_us,
                    table.c.row_id == d.row_id,
                )
                connection.execute(delete(table).where(*place))
        # Wherever it stood, it stands by itself from now on, and is packed anew.
        for audience in sorted({d.audience_id for d in differences_}):
            fresh_rows.note_gone(connection, db.family, audience, [(number, row_id)])
            fresh_rows.delete_fresh(connection, audience, number, [row_id])
    search_index.add_postings(connection, db.family, entries.values())


def _gives(entry: Entry | None, d: Difference) -> bool:
    """Return whether a row gives a posting."""
    if entry is None or (entry.audience_id, entry.at_us) != (d.audience_id, d.at_us):
        return False
    return d.key in (entry.tags if d.table == "search_tag" else entry.terms)


def _recount(db: Database, places: Sequence[tuple[int, int, str, int]], connection: Connection) -> None:
    """Set counts to what the postings say; the rows of the counts are locked first, since writers change them too."""
    from . import packing  # noqa: PLC0415 - loads numpy

    for audience, kind, key, number in places:
        table = search_tag if kind == TAG else search_term
        column = table.c.tag if kind == TAG else table.c.term
        place = {"audience_id": audience, "kind": kind, "term": key, "source": number}
        connection.execute(upsert(search_count, db.family, add=["docs"]), {**place, "docs": 0})
        counted = select(func.count()).where(
            table.c.audience_id == audience,
            column == bindparam("k", type_=Key(255)),
            table.c.source == number,
            is_fresh(table),
        )
        docs = connection.execute(counted, {"k": key}).scalar_one()
        docs += packing.count_packed(connection, audience, kind, key, number)
        connection.execute(upsert(search_count, db.family, update=["docs"]), {**place, "docs": docs})
        if not docs:
            n = search_count.c
            here = (n.audience_id == audience, n.kind == kind, n.source == number)
            connection.execute(delete(search_count).where(*here, n.term == bindparam("k", type_=Key(255))), {"k": key})


def _retotal(db: Database, audience: int, number: int, connection: Connection) -> None:
    source = sources.BY_NUMBER[number]
    row = source.table.c
    place = {"audience_id": audience, "source": number}
    connection.execute(upsert(search_stats, db.family, add=["docs", "words"]), {**place, "docs": 0, "words": 0})
    docs, words = 0, 0
    statement = select(*indexed_columns(source)).where(
        row.audience_id == bindparam("audience", type_=ID), source.findable
    )
    for found in connection.execute(statement, {"audience": audience}):
        docs, words = docs + 1, words + entry_of(source, found).words
    connection.execute(
        upsert(search_stats, db.family, update=["docs", "words"]), {**place, "docs": docs, "words": words}
    )
