"""Vectors of rows (table search_vector): find rows without vectors, write, move, count and delete vectors."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from sqlalchemy import ColumnElement, Connection, bindparam, case, delete, exists, func, literal_column, select, update

from ..base.groups import group
from ..database import sources
from ..database.compiled import AT_ONCE, IDS, read_parts
from ..database.dialects import ID, insert_ignore, microseconds
from ..database.engine import Database
from ..database.ids import first_of
from ..database.rows import insert_tuples
from ..database.schema import audiences, counters, search_vector, search_vector_gone, search_vector_version
from ..database.sources import SourceTable
from ..database.stored_values import from_key
from .shapes import RowId

_V, _C, _N, _G = search_vector.c, counters.c, search_vector_version.c, search_vector_gone.c
KEPT = 1000
"""Number of latest versions of an audience for which deletions of vectors stay recorded."""
CLEANED = 100
"""Number of versions between two clean-ups of old records of deletions."""


def mark(which: str, source: int, model_key: str) -> str:
    """Return the name of the counter that stores the `high` or `low` end of a model's `Reach` in a source."""
    return f"vectors/{which}/{source}/{model_key}"


def drop(connection: Connection, source: SourceTable, rows: Iterable[tuple[int, int]], *, again: bool = False) -> int:
    """Delete vectors of rows, each `(audience, id)`; return how many. `again`: whether new vectors are made later."""
    by_audience = group(rows)
    gone: dict[int, list[int]] = {}
    count = 0
    for audience, ids in sorted(by_audience.items()):
        dropped = connection.execute(delete(search_vector).where(*_of_rows(audience, source, ids))).rowcount
        if dropped:
            gone[audience], count = ids, count + dropped
    for audience, stamp in raise_versions(connection, gone).items():
        note_gone(connection, audience, stamp, source, gone[audience])
    if again and by_audience:
        least = min(min(ids) for ids in by_audience.values())
        first, last = mark("high", source.number, ""), mark("high", source.number, "\x7f")
        row = source.table.c
        owner = select(row.persona_id).where(row.id == least).scalar_subquery()
        farther = (_C.persona_id == owner, _C.name > first, _C.name < last, _C.value > least - 1)
        connection.execute(update(counters).where(*farther).values(value=least - 1))
    return count


def moved(connection: Connection, source: SourceTable, row_id: int, audience: int, to: int, at_us: int) -> None:
    """Move a row's vectors from its audience to the audience `to`, and set their time, in this transaction."""
    change = update(search_vector).where(*_of_rows(audience, source, [row_id]))
    if not connection.execute(change.values(audience_id=to, at_us=at_us)).rowcount:
        return
    stamps = raise_versions(connection, {audience, to})
    note_gone(connection, audience, stamps[audience], source, [row_id])
    connection.execute(update(search_vector).where(*_of_rows(to, source, [row_id])).values(stamp=stamps[to]))


def _of_rows(audience: int, source: SourceTable, ids: Iterable[int]) -> tuple[ColumnElement[bool], ...]:
    return _V.audience_id == audience, _V.source == source.number, _V.row_id.in_(sorted(ids))


def counts(db: Database, persona: str) -> dict[str, int]:
    """Return, for each model, the number of vectors of a persona's rows."""
    own = select(audiences.c.audience_id).where(audiences.c.persona_id == persona)
    counted = select(_V.model, func.count()).where(_V.audience_id.in_(own))
    rows = db.read(counted.group_by(_V.model).order_by(_V.model))
    return {from_key(row[0]): int(row[1]) for row in rows}


def drop_model(db: Database, persona: str, model: str) -> int:
    """Delete a model's vectors of a persona's rows, and the counters of its progress; return the number of vectors."""
    own = select(audiences.c.audience_id).where(audiences.c.persona_id == persona)
    gone = 0
    for audience in sorted(row[0] for row in db.read(own)):
        while count := db.transaction(partial(_drop_some, audience, model), source="search_vector"):
            gone += count
    names = [mark(which, source.number, model_key(model)) for source in sources.ALL for which in ("high", "low")]
    marks = delete(counters).where(counters.c.persona_id == persona, counters.c.name.in_(names))
    db.idempotent_transaction(lambda c: c.execute(marks), source="counters")
    return gone


def _drop_some(audience: int, model: str, connection: Connection) -> int:
    own = (_V.audience_id == audience, _V.model == model)
    ids = sorted(set(connection.execute(select(_V.row_id).where(*own).limit(AT_ONCE)).scalars()))
    if not ids:
        return 0
    raise_versions(connection, [audience], by=KEPT + 1)
    return connection.execute(delete(search_vector).where(*own, _V.row_id.in_(ids))).rowcount


# Version of the vectors of an audience: a process compares it with the version of its copy


def raise_versions(connection: Connection, audiences: Collection[int], by: int = 1) -> dict[int, int]:
    """Add `by` to the vector version of these audiences in the transaction of `connection`; return their versions."""
    if not audiences:
        return {}
    values = {"ids": sorted(audiences), "by": by}
    there = connection.execute(_RAISE, values).rowcount
    if there < len(audiences):
        known = {row[0] for row in connection.execute(_VERSIONS, values)}
        new = [{"audience_id": one, "version": 0} for one in sorted(audiences) if one not in known]
        connection.execute(insert_ignore(search_vector_version, connection.dialect.name), new)
        connection.execute(_RAISE, {**values, "ids": [one["audience_id"] for one in new]})
    return {row[0]: row[1] for row in connection.execute(_VERSIONS, values)}


_OF = _N.audience_id.in_(IDS)
_RAISE = update(search_vector_version).where(_OF).values(version=_N.version + bindparam("by", type_=ID))
_VERSIONS = select(_N.audience_id, _N.version).where(_OF)


def note_gone(connection: Connection, audience: int, stamp: int, source: SourceTable, rows: Iterable[int]) -> None:
    """Record in this transaction that these rows' vectors were deleted."""
    own = {"audience_id": audience, "stamp": stamp, "source": source.number}
    values = [{**own, "row_id": row} for row in sorted(set(rows))]
    connection.execute(insert_ignore(search_vector_gone, connection.dialect.name), values)
    if stamp % CLEANED == 0:
        old = (_G.audience_id == audience, _G.stamp <= stamp - KEPT)
        connection.execute(delete(search_vector_gone).where(*old))


def read_versions(db: Database, audiences: Collection[int]) -> dict[int, int]:
    """Return the vector version of each audience; audiences whose vectors never changed are absent."""
    read = partial(db.read, source="search_vector_version")
    return {row[0]: row[1] for row in read_parts(read, _VERSIONS, {}, audiences)}


def read_gone(db: Database, audience: int, since: int) -> Sequence[tuple[int, int, int]]:
    """Return rows whose vectors were deleted after version `since`, each as (source, id, version of the deletion)."""
    return [tuple(row) for row in db.read(_GONE, {"audience": audience, "since": since}, source="search_vector_gone")]


_LATER = (_G.audience_id == bindparam("audience", type_=ID), _G.stamp > bindparam("since", type_=ID))
_GONE = select(_G.source, _G.row_id, _G.stamp).where(*_LATER).order_by(_G.stamp)


# Rows without vectors

SETTLED = timedelta(seconds=60)
"""Age below which rows are read again for vectors: a row with a lower id may not be committed yet."""
WALKED = 500
"""Maximum number of rows read in one statement."""
LONGEST = 2**63 - 1
Vectors = Mapping[RowId, Sequence[bytes]]
"""Packed vectors of each row, one for each piece of its text."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Range of row ids, in one source of a persona, for which a model's vectors were already made."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Unembedded:
    source: int
    id: int
    text: str
    speaker: str
    digest: bytes | None
    """Hash of the row's text, to detect an edit before the vectors are written."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows to embed, and, by source, the range of row ids that have vectors after this batch is written."""

    rows: tuple[Unembedded, ...]
    reach: Mapping[int, Reach]
    stored: Mapping[int, Reach]
    """The range to store in the database: it leaves out rows of the last minute, which are read again."""
    done: bool


def model_key(model: str) -> str:
    return hashlib.sha256(model.encode()).hexdigest()[:16]


def read_reach(db: Database, persona: str, model: str) -> dict[int, Reach]:
    """Return, by source number, the range of row ids with vectors of a model; a new model begins at the newest rows."""
    key = model_key(model)
    names = {mark(which, s.number, key): (which, s.number) for s in sources.ALL for which in ("low", "high")}
    marks = select(_C.name, _C.value).where(_C.persona_id == persona, _C.name.in_(sorted(names)))
    found = {names[row.name]: int(row.value) for row in db.read(marks)}
    now = first_of(db.clock() - SETTLED)
    return {s.number: Reach(found.get(("low", s.number), now), found.get(("high", s.number), now)) for s in sources.ALL}


def next_batch(db: Database, persona: str, model: str, most: int, *, local: bool, after: Batch | None = None) -> Batch:
    """Return the next rows of a persona to embed with a model: first rows newer than the embedded rows, then older."""
    stored = after.stored if after is not None else read_reach(db, persona, model)
    at = dict(after.reach if after is not None else stored)
    rows: list[Unembedded] = []
    done = True
    for newer in (True, False):
        for source in sources.ALL:
            while len(rows) < most:
                new, at[source.number], is_end = _walk(
                    db, persona, model, source, at[source.number], newer, most - len(rows), local
                )
                rows += new
                if is_end:
                    break
            else:
                done = False
    return Batch(tuple(rows), at, stored, done)


def _walk(
    db: Database, persona: str, model: str, source: SourceTable, at: Reach, newer: bool, most: int, local: bool
) -> tuple[list[Unembedded], Reach, bool]:
    row = source.table.c
    above, below = (at.high, LONGEST) if newer else (-1, at.low)
    wanted = source.findable if local else source.findable & sources.open_to(source)
    own = (_V.audience_id == row.audience_id, _V.row_id == row.id, _V.source == source.number, _V.model == model)
    there = exists(literal_column("1")).where(*own)
    speaker = row.sender_name if source is sources.CHAT else literal_column("NULL")
    facts = (row.id, row.content_hash, func.substr(source.text, 1, 20_000).label("text"), speaker.label("speaker"))
    flags = (case((each, 1), else_=0).label(name) for each, name in ((wanted, "wanted"), (there, "embedded")))
    chosen = select(*facts, *flags).where(row.persona_id == persona, row.id > above, row.id < below)
    ordered = chosen.order_by(row.id if newer else row.id.desc()).limit(WALKED)
    found = db.read(ordered if local else ordered.params(local_only=0), source=source.table.name)
    rows: list[Unembedded] = []
    for one in found:
        if one.wanted and not one.embedded:
            if len(rows) == most:
                return rows, at, False
            digest = None if one.content_hash is None else bytes(one.content_hash)
            rows.append(Unembedded(source.number, one.id, one.text or "", one.speaker or "", digest))
        at = replace(at, high=one.id) if newer else replace(at, low=one.id)
    return rows, at, len(found) < WALKED


def write(
    connection: Connection, db: Database, persona: str, model: str, batch: Batch, vectors: Vectors
) -> tuple[int, Batch]:
    """Write a batch's vectors and the new id range; return (number of rows, the batch with the range now stored)."""
    made: list[tuple[object, ...]] = []
    places: list[tuple[int, int, int, int]] = []
    edited: dict[int, int] = {}
    for source in sources.ALL:
        rows = {row.id: row for row in batch.rows if row.source == source.number and (row.source, row.id) in vectors}
        row = source.table.c
        these = (row.persona_id == persona, row.id.in_(sorted(rows)), source.findable)
        chosen = select(row.id, row.audience_id, row.timestamp, row.content_hash).where(*these).order_by(row.id)
        for now in connection.execute(chosen.with_for_update()) if rows else ():
            if (None if now.content_hash is None else bytes(now.content_hash)) != rows[now.id].digest:
                edited[source.number] = min(now.id, edited.get(source.number, LONGEST))
                continue
            places.append((now.audience_id, microseconds(now.timestamp), source.number, now.id))
    stamps = raise_versions(connection, {place[0] for place in places})
    for audience, at_us, number, row_id in places:
        whole = enumerate(vectors[number, row_id])
        made += [(audience, model, at_us, number, row_id, part, vector, stamps[audience]) for part, vector in whole]
    insert_tuples(connection, search_vector, sorted(made), ignore=True)
    settled = first_of(db.clock() - SETTLED)
    stored = {}
    for number, reach in batch.reach.items():
        was = batch.stored[number]
        high = min(max(was.high, min(reach.high, settled)), edited.get(number, LONGEST) - 1)
        stored[number] = Reach(reach.low, high)
    _mark(connection, persona, model_key(model), batch.stored, stored)
    return len(places), replace(batch, stored=stored)


def _mark(
    connection: Connection, persona: str, key: str, before: Mapping[int, Reach], after: Mapping[int, Reach]
) -> None:
    """Store changed ends of the ranges; skip an end that another transaction has changed, such as an edit of a row."""
    moves = [
        (mark(which, number, key), getattr(before[number], which), getattr(reach, which))
        for number, reach in after.items()
        for which in ("high", "low")
    ]
    there = [{"persona_id": persona, "name": name, "value": was} for name, was, _ in sorted(moves)]
    connection.execute(insert_ignore(counters, connection.dialect.name), there)
    for name, was, now in sorted(moves):
        if now != was:
            as_read = (_C.persona_id == persona, _C.name == name, _C.value == was)
            connection.execute(update(counters).where(*as_read).values(value=now))
