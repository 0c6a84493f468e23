"""Find rows without vectors, and write their vectors (table search_vector)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache

from sqlalchemy import (
    Connection,
    Executable,
    Integer,
    Row,
    bindparam,
    case,
    delete,
    exists,
    func,
    literal_column,
    null,
    select,
    update,
)

from ..database import sources
from ..database.bulk import write_many
from ..database.dialects import ID, Key, as_key, insert_ignore, microseconds
from ..database.engine import Database
from ..database.ids import first_of
from ..database.schema import audiences, counters, search_vector
from ..database.sources import SourceTable
from . import embeddings
from .embeddings import mark

SETTLED = timedelta(seconds=60)
"""Age below which rows are visited again: a row with a lower id may not be committed yet."""
WALKED = 500
"""Maximum number of rows read in one statement."""
LONGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Reach:
    """Range of row ids, in one source of a persona, that a model's walk has visited."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A row without vectors."""

    source: int
    id: int
    audience_id: int
    at_us: int
    text: str
    speaker: str
    digest: bytes | None
    """Hash of its text, to detect an edit before the vectors are written."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows to embed, and the range of row ids visited once they are embedded."""

    rows: tuple[Unembedded, ...]
    reach: Mapping[int, Reach]
    """Range of visited ids, by source number."""
    stored: Mapping[int, Reach]
    """Range of visited ids as stored in the database: the next walk visits the rows of the last minute again."""
    done: bool
    """Whether no rows are left."""


def model_key(model: str) -> str:
    """Return the model's part of a counter name."""
    return hashlib.sha256(model.encode()).hexdigest()[:16]


def read_reach(db: Database, persona: str, model: str) -> dict[int, Reach]:
    """Return the row ids that a model has visited, by source number; a new model begins at the newest rows."""
    key = model_key(model)
    names = {mark(which, s.number, key): (which, s.number) for s in sources.ALL for which in ("low", "high")}
    found = {
        names[row.name]: int(row.value)
        for row in db.read(_REACH, {"persona": persona, "names": sorted(names)}, source="counters")
    }
    now = first_of(db.clock() - SETTLED)
    return {s.number: Reach(found.get(("low", s.number), now), found.get(("high", s.number), now)) for s in sources.ALL}


_REACH = select(counters.c.name, counters.c.value).where(
    counters.c.persona_id == bindparam("persona"), counters.c.name.in_(bindparam("names", expanding=True))
)


def next_batch(db: Database, persona: str, model: str, most: int, *, local: bool, after: Batch | None = None) -> Batch:
    """Return the next rows of a persona without vectors of a model: new rows, then older ones."""
    stored = after.stored if after is not None else read_reach(db, persona, model)
    at = dict(after.reach if after is not None else stored)
    rows: list[Unembedded] = []
    done = True
    for newer in (True, False):
        for source in sources.ALL:
            while len(rows) < most:
                found = _walk(db, persona, model, source, at[source.number], newer, most - len(rows), local)
                rows += found[0]
                at[source.number] = found[1]
                if found[2]:
                    break
            else:
                done = False
    return Batch(tuple(rows), at, stored, done)


def _walk(
    db: Database, persona: str, model: str, source: SourceTable, at: Reach, newer: bool, most: int, local: bool
) -> tuple[list[Unembedded], Reach, bool]:
    values = {"persona": persona, "model": model, "number": source.number, "walked": WALKED}
    bounds = {"above": at.high, "below": LONGEST} if newer else {"above": -1, "below": at.low}
    found = db.read(_statement(source.number, newer, local), {**values, **bounds}, source=source.table.name)
    rows: list[Unembedded] = []
    for row in found:
        if row.wanted and not row.embedded:
            if len(rows) == most:
                return rows, at, False
            digest = None if row.content_hash is None else bytes(row.content_hash)
            moment = microseconds(row.timestamp)
            rows.append(
                Unembedded(source.number, row.id, row.audience_id, moment, row.text or "", row.speaker or "", digest)
            )
        at = replace(at, high=row.id) if newer else replace(at, low=row.id)
    return rows, at, len(found) < WALKED


@lru_cache(maxsize=16)
def _statement(number: int, newer: bool, local: bool) -> Executable:
    source = sources.BY_NUMBER[number]
    row, v = source.table.c, search_vector.c
    wanted = source.findable if local else source.findable & sources.open_to(source)
    there = exists(literal_column("1")).where(
        v.audience_id == row.audience_id,
        v.row_id == row.id,
        v.source == bindparam("number", type_=Integer()),
        v.model == bindparam("model", type_=Key(100)),
    )
    chosen = select(
        row.id,
        row.audience_id,
        row.timestamp,
        row.content_hash,
        func.substr(source.text, 1, 20_000).label("text"),
        (row.sender_name if source is sources.CHAT else null()).label("speaker"),
        case((wanted, 1), else_=0).label("wanted"),
        case((there, 1), else_=0).label("embedded"),
    ).where(
        row.persona_id == bindparam("persona", type_=Key(64)),
        row.id > bindparam("above", type_=ID),
        row.id < bindparam("below", type_=ID),
    )
    if not local:
        chosen = chosen.params(local_only=0)
    return chosen.order_by(row.id if newer else row.id.desc()).limit(bindparam("walked", type_=Integer()))


def write(
    connection: Connection,
    db: Database,
    persona: str,
    model: str,
    batch: Batch,
    vectors: Mapping[tuple[int, int], Sequence[bytes]],
) -> tuple[int, Batch]:
    """Write the vectors and marks of a batch; return (rows written, batch with the new marks).

    Runs in the transaction of `connection`.
    """
    made: list[tuple[object, ...]] = []
    written = 0
    places: list[tuple[int, int, int, int]] = []
    edited: dict[int, int] = {}
    name = as_key(model, db.family)
    for source in sources.ALL:
        rows = {row.id: row for row in batch.rows if row.source == source.number and (row.source, row.id) in vectors}
        for now in _locked(connection, source, persona, rows) if rows else ():
            if (None if now.content_hash is None else bytes(now.content_hash)) != rows[now.id].digest:
                edited[source.number] = min(now.id, edited.get(source.number, LONGEST))
                continue
            written += 1
            places.append((now.audience_id, microseconds(now.timestamp), source.number, now.id))
    stamps = embeddings.raise_versions(connection, {place[0] for place in places})
    for audience, at_us, number, row_id in places:
        whole = enumerate(vectors[number, row_id])
        made += [(audience, name, at_us, number, row_id, part, vector, stamps[audience]) for part, vector in whole]
    write_many(connection, _insert(db.family), _COLUMNS, sorted(made))
    settled = first_of(db.clock() - SETTLED)
    stored = {}
    for number, reach in batch.reach.items():
        was = batch.stored[number]
        high = min(max(was.high, min(reach.high, settled)), edited.get(number, LONGEST) - 1)
        stored[number] = Reach(reach.low, high)
    _mark(connection, db, persona, model_key(model), batch.stored, stored)
    return written, replace(batch, stored=stored)


def _mark(
    connection: Connection,
    db: Database,
    persona: str,
    key: str,
    before: Mapping[int, Reach],
    after: Mapping[int, Reach],
) -> None:
    """Update each mark, unless it changed after this walk read it: an edit may have lowered it."""
    moves = [
        (mark(which, number, key), getattr(before[number], which), getattr(reach, which))
        for number, reach in after.items()
        for which in ("high", "low")
    ]
    there = [{"persona_id": persona, "name": name, "value": was} for name, was, _ in sorted(moves)]
    connection.execute(insert_ignore(counters, db.family), there)
    for name, was, now in sorted(moves):
        if now != was:
            connection.execute(_MOVE, {"persona": persona, "mark": name, "was": was, "now": now})


_MOVE = (
    update(counters)
    .where(
        counters.c.persona_id == bindparam("persona"),
        counters.c.name == bindparam("mark"),
        counters.c.value == bindparam("was", type_=ID),
    )
    .values(value=bindparam("now", type_=ID))
)

_COLUMNS = ("audience_id", "model", "at_us", "source", "row_id", "part", "vector", "stamp")


@lru_cache(maxsize=2)
def _insert(family: str) -> Executable:
    insert: Executable = insert_ignore(search_vector, family)
    return insert


def _locked(
    connection: Connection, source: SourceTable, persona: str, rows: Mapping[int, Unembedded]
) -> Sequence[Row[int, int, datetime, bytes]]:
    row = source.table.c
    chosen = (
        select(row.id, row.audience_id, row.timestamp, row.content_hash)
        .where(row.persona_id == persona, row.id.in_(sorted(rows)), source.findable)
        .order_by(row.id)
        .with_for_update()
    )
    return connection.execute(chosen).all()


def personas(db: Database) -> list[str]:
    """Return all personas that have an audience."""
    return [row[0] for row in db.read(select(audiences.c.persona_id).distinct(), source="audiences")]


def forget_reach(db: Database, persona: str, model: str) -> None:
    """Delete the marks of a model, so that its next walk visits all rows."""
    key = model_key(model)
    names = [mark(which, source.number, key) for source in sources.ALL for which in ("high", "low")]
    gone = delete(counters).where(counters.c.persona_id == persona, counters.c.name.in_(names))
    db.transaction(lambda c: c.execute(gone), source="counters", confirm=lambda _: None)
