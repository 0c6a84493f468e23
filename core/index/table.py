"""The search tables, written in the transaction of the row they index.

A fresh row is one row of search_fresh, with its words; many fresh rows are packed into a segment.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from sqlalchemy import Connection, Executable, bindparam, select

from ..base import logs
from ..database import dialects
from ..database.bulk import write_many
from ..database.dialects import ID
from ..database.schema import search_gone, search_segment
from .fresh import PACK_FROM, count_fresh, remove_fresh, write_fresh
from .shapes import Entry

MANY_WRITTEN = 64
"""Minimum number of rows of an audience, written together, that are packed at once."""
LOOKED_AFTER = 32
"""Number of rows written to an audience after which a process checks for rows to pack."""
MOST_AUDIENCES = 10_000
"""Maximum number of audiences whose written rows are counted."""
_S = search_segment.c
_AUDIENCE = bindparam("audience", type_=ID)


def add(connection: Connection, family: str, entries: Iterable[Entry]) -> None:
    """Add entries to the index."""
    by_audience: dict[int, list[Entry]] = {}
    for one in entries:
        by_audience.setdefault(one.audience_id, []).append(one)
    if not by_audience:
        return
    many = {audience: some for audience, some in by_audience.items() if len(some) >= MANY_WRITTEN}
    few = [one for audience, some in by_audience.items() if audience not in many for one in some]
    if few:
        write_fresh(connection, family, few)
    if many:
        from . import packing  # noqa: PLC0415 - loads numpy, which few writes need

        for audience in sorted(many):
            packing.pack_entries(connection, family, audience, many[audience])
    for audience in sorted(by_audience):
        if _is_due(audience, len(by_audience[audience])) and (
            audience in many or count_fresh(connection, audience) >= PACK_FROM
        ):
            _pack(connection, family, audience)


def remove(connection: Connection, family: str, source: int, rows: Iterable[tuple[int, int]]) -> int:
    """Remove rows of a source, `(audience, id)`, from the index; return the number of fresh rows among them."""
    by_audience: dict[int, list[int]] = {}
    for audience, row_id in rows:
        by_audience.setdefault(audience, []).append(row_id)
    fresh_rows = 0
    for audience, ids in sorted(by_audience.items()):
        deleted = remove_fresh(connection, audience, source, ids)
        fresh_rows += deleted
        if deleted < len(ids):
            _note_gone(connection, family, audience, source, ids)
    return fresh_rows


def _note_gone(connection: Connection, family: str, audience: int, source: int, ids: Iterable[int]) -> None:
    """Record that these rows are removed from all segments of the audience."""
    last = connection.execute(_LAST_SEGMENT, {"audience": audience}).scalar()
    if last:
        gone = [(audience, source, row_id, int(last)) for row_id in sorted(ids)]
        write_many(connection, _gone(family), ("audience_id", "source", "row_id", "segment_id"), gone)


_LAST_SEGMENT = select(_S.docs).where(_S.audience_id == _AUDIENCE, _S.segment_id == 0).with_for_update(read=True)
"""Row 0 has the last segment's number. It is locked so that no segment with these rows is made meanwhile."""


@lru_cache(maxsize=2)
def _gone(family: str) -> Executable:
    upsert: Executable = dialects.upsert(search_gone, family, update=["segment_id"])
    return upsert


def _is_due(audience: int, count: int) -> bool:
    """Return whether to check for rows to pack: after every LOOKED_AFTER rows that this process wrote."""
    written = _written.get(audience, 0) + count
    if len(_written) > MOST_AUDIENCES:
        _written.clear()
    _written[audience] = written if written < LOOKED_AFTER else 0
    return written >= LOOKED_AFTER


_written: dict[int, int] = {}


def _pack(connection: Connection, family: str, audience: int) -> None:
    """Pack rows of an audience and merge its segments if due; if a segment is damaged, change nothing."""
    from . import packing  # noqa: PLC0415 - as in `add`

    step = connection.begin_nested()
    try:
        packing.pack_due(connection, family, audience)
        step.commit()
    except ValueError as error:  # a damaged segment must not fail the write of a row
        step.rollback()
        logs.warning("search_unpacked", audience=audience, error=str(error))
