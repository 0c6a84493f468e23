"""Vectors of rows (table search_vector): update them with their rows, count and delete them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache, partial

from sqlalchemy import Connection, Executable, Integer, bindparam, delete, func, select, update

from ..database import sources
from ..database.bulk import AT_ONCE
from ..database.compiled import IDS, read_parts
from ..database.dialects import ID, Key, insert_ignore
from ..database.engine import Database
from ..database.schema import audiences, counters, search_vector, search_vector_gone, search_vector_version
from ..database.sources import SourceTable
from ..database.stored_values import from_key

_V = search_vector.c
KEPT = 1000
"""Number of versions for which deletions are recorded."""
CLEANED = 100
"""Number of versions between two clean-ups of old records of deletions."""
_N = search_vector_version.c
_G = search_vector_gone.c


# Updates of vectors when their rows change


def mark(which: str, source: int, model_key: str) -> str:
    """Return the name of a counter that marks how far a model's vectors reach (`embeddings_writing.Reach`)."""
    return f"vectors/{which}/{source}/{model_key}"


def drop(connection: Connection, source: SourceTable, rows: Iterable[tuple[int, int]], *, again: bool = False) -> int:
    """Delete the vectors of rows that are deleted, edited, hidden or unhidden; return the number of vectors.

    Runs in the transaction of `connection`.

    Args:
        again: lower the marks of all models, so that the rows get new vectors.
    """
    by_audience: dict[int, list[int]] = {}
    for audience, row_id in rows:
        by_audience.setdefault(audience, []).append(row_id)
    gone: dict[int, list[int]] = {}
    count = 0
    for audience, ids in sorted(by_audience.items()):
        values = {"audience": audience, "number": source.number, "ids": sorted(ids)}
        dropped = connection.execute(_DROP, values).rowcount
        if dropped:
            gone[audience], count = ids, count + dropped
    for audience, stamp in raise_versions(connection, gone).items():
        note_gone(connection, audience, stamp, source, gone[audience])
    if again and by_audience:
        least = min(min(ids) for ids in by_audience.values())
        first, last = mark("high", source.number, ""), mark("high", source.number, "\x7f")
        values = {"row": least, "first": first, "last": last, "below": least - 1}
        connection.execute(_lower(source.number), values)
    return count


def moved(connection: Connection, source: SourceTable, row_id: int, audience: int, to: int, at_us: int) -> None:
    """Move the vectors of a row to another audience and time, in the transaction of `connection`."""
    values = {"audience": audience, "number": source.number, "ids": [row_id], "to": to, "at": at_us}
    if not connection.execute(_MOVE, values).rowcount:
        return
    stamps = raise_versions(connection, {audience, to})
    note_gone(connection, audience, stamps[audience], source, [row_id])
    connection.execute(_STAMP, {"audience": to, "number": source.number, "ids": [row_id], "stamp": stamps[to]})


_OF_ROW = (_V.audience_id == bindparam("audience"), _V.source == bindparam("number"), _V.row_id.in_(IDS))
_DROP = delete(search_vector).where(*_OF_ROW)
_MOVE = update(search_vector).where(*_OF_ROW).values(audience_id=bindparam("to"), at_us=bindparam("at"))
_STAMP = update(search_vector).where(*_OF_ROW).values(stamp=bindparam("stamp"))


@lru_cache(maxsize=4)
def _lower(number: int) -> Executable:
    row = sources.BY_NUMBER[number].table.c
    owner = select(row.persona_id).where(row.id == bindparam("row", type_=ID)).scalar_subquery()
    c = counters.c
    of_models = (c.name > bindparam("first", type_=Key(64)), c.name < bindparam("last", type_=Key(64)))
    below = bindparam("below", type_=ID)
    return update(counters).where(c.persona_id == owner, *of_models, c.value > below).values(value=below)


# Functions for operators


def counts(db: Database, persona: str) -> dict[str, int]:
    """Return the number of vectors of a persona's rows by model."""
    found = db.read(_COUNTS, {"persona": persona}, source="search_vector")
    return {from_key(row[0]): int(row[1]) for row in found}


_AUDIENCES = select(audiences.c.audience_id).where(audiences.c.persona_id == bindparam("persona"))
_COUNTS = select(_V.model, func.count()).where(_V.audience_id.in_(_AUDIENCES)).group_by(_V.model).order_by(_V.model)


def drop_model(db: Database, persona: str, model: str) -> int:
    """Delete the vectors of a persona's rows that one model made; return the number of vectors."""
    own = db.read(_AUDIENCES, {"persona": persona}, source="audiences")
    gone = 0
    for audience in sorted(row[0] for row in own):
        while count := db.transaction(partial(_drop_some, audience, model), source="search_vector"):
            gone += count
    return gone


def _drop_some(audience: int, model: str, connection: Connection) -> int:
    values = {"audience": audience, "model": model, "most": AT_ONCE}
    ids = sorted({row[0] for row in connection.execute(_SOME, values)})
    if not ids:
        return 0
    raise_versions(connection, [audience], by=KEPT + 1)
    return connection.execute(_DROP_MODEL, {**values, "ids": ids}).rowcount


_OWN = (_V.audience_id == bindparam("audience"), _V.model == bindparam("model"))
_SOME = select(_V.row_id).where(*_OWN).limit(bindparam("most", type_=Integer()))
_DROP_MODEL = delete(search_vector).where(*_OWN, _V.row_id.in_(IDS))


# Version of the vectors of an audience: a process compares it with the version of its copy


def raise_versions(connection: Connection, audiences: Collection[int], by: int = 1) -> dict[int, int]:
    """Raise the version of audiences in the transaction of `connection`; return the new versions."""
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
    values = [
        {"audience_id": audience, "stamp": stamp, "source": source.number, "row_id": row} for row in sorted(set(rows))
    ]
    connection.execute(insert_ignore(search_vector_gone, connection.dialect.name), values)
    if stamp % CLEANED == 0:
        connection.execute(_CLEAN, {"audience": audience, "oldest": stamp - KEPT})


_CLEAN = delete(search_vector_gone).where(
    _G.audience_id == bindparam("audience", type_=ID), _G.stamp <= bindparam("oldest", type_=ID)
)


def read_versions(db: Database, audiences: Collection[int]) -> dict[int, int]:
    """Return the version of each audience whose vectors ever changed."""
    read = partial(db.read, source="search_vector_version")
    return {row[0]: row[1] for row in read_parts(read, _VERSIONS, {}, audiences)}


def read_gone(db: Database, audience: int, since: int) -> Sequence[tuple[int, int, int]]:
    """Return the rows whose vectors were deleted after a version: (source, id, version of the deletion)."""
    return [tuple(row) for row in db.read(_GONE, {"audience": audience, "since": since}, source="search_vector_gone")]


_GONE = (
    select(_G.source, _G.row_id, _G.stamp)
    .where(_G.audience_id == bindparam("audience", type_=ID), _G.stamp > bindparam("since", type_=ID))
    .order_by(_G.stamp)
)
