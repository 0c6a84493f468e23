"""The version of an audience's vectors: what tells a process whether those it holds are what is stored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sqlalchemy import Connection, bindparam, delete, select, update

from ..database.bulk import chunks
from ..database.dialects import ID, insert_ignore
from ..database.engine import Database
from ..database.schema import search_vector_gone, search_vector_version
from ..database.sources import SourceTable

KEPT = 1000
"""Versions whose removals are noted."""
CLEANED = 100
"""Older notes are removed once in so many versions."""
AT_ONCE = 500

_N = search_vector_version.c
_G = search_vector_gone.c


def raise_versions(connection: Connection, audiences: Collection[int], by: int = 1) -> dict[int, int]:
    """Raise the version of audiences within the transaction of `connection`, and return the new ones."""
    if not audiences:
        return {}
    values = {"audiences": sorted(audiences), "by": by}
    there = connection.execute(_RAISE, values).rowcount
    if there < len(audiences):
        known = {row[0] for row in connection.execute(_VERSIONS, values)}
        new = [{"audience_id": one, "version": 0} for one in sorted(audiences) if one not in known]
        connection.execute(insert_ignore(search_vector_version, connection.dialect.name), new)
        connection.execute(_RAISE, {**values, "audiences": [one["audience_id"] for one in new]})
    return {row[0]: row[1] for row in connection.execute(_VERSIONS, values)}


_OF = _N.audience_id.in_(bindparam("audiences", expanding=True, type_=ID))
_RAISE = update(search_vector_version).where(_OF).values(version=_N.version + bindparam("by", type_=ID))
_VERSIONS = select(_N.audience_id, _N.version).where(_OF)


def note_gone(connection: Connection, audience: int, stamp: int, source: SourceTable, rows: Iterable[int]) -> None:
    """Note that the vectors of rows went with a version, within the transaction of `connection`."""
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
    found: dict[int, int] = {}
    for part in chunks(sorted(audiences), AT_ONCE):
        found |= {row[0]: row[1] for row in db.read(_VERSIONS, {"audiences": part}, source="search_vector_version")}
    return found


def read_gone(db: Database, audience: int, since: int) -> Sequence[tuple[int, int, int]]:
    """Return the rows whose vectors went after a version: source, id and the version."""
    return [tuple(row) for row in db.read(_GONE, {"audience": audience, "since": since}, source="search_vector_gone")]


_GONE = (
    select(_G.source, _G.row_id, _G.stamp)
    .where(_G.audience_id == bindparam("audience", type_=ID), _G.stamp > bindparam("since", type_=ID))
    .order_by(_G.stamp)
)
