"""The search tables, written in the transaction of the row they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, bindparam, select

from ..base import logs
from ..database import dialects
from ..database.bulk import write_many
from ..database.dialects import ID
from ..database.schema import search_gone, search_segment, search_stats
from . import fresh
from .entries import Entry

MANY_WRITTEN = 64
"""Rows of an audience, written at once, that are packed at once."""
LOOKED_AFTER = 32
"""Rows written to an audience after which a process looks whether there is something to pack."""
MOST_AUDIENCES = 10_000
"""Audiences whose writes are counted."""


def add(connection: Connection, family: str, entries: Iterable[Entry]) -> None:
    """Insert what the index holds of rows, and count them."""
    by_audience: dict[int, list[Entry]] = {}
    for one in entries:
        by_audience.setdefault(one.audience_id, []).append(one)
    if not by_audience:
        return
    many = {audience: some for audience, some in by_audience.items() if len(some) >= MANY_WRITTEN}
    few = [one for audience, some in by_audience.items() if audience not in many for one in some]
    if few:
        fresh.write(connection, family, few)
    if many:
        from . import packing  # noqa: PLC0415 - loads numpy, which few writes need

        for audience in sorted(many):
            packing.pack_entries(connection, family, audience, many[audience])
    count(connection, family, [one for some in by_audience.values() for one in some], 1)
    for audience in sorted(by_audience):
        if _is_due(audience, len(by_audience[audience])) and (
            audience in many or fresh.count(connection, audience) >= fresh.PACK_FROM
        ):
            _pack(connection, family, audience)


def remove(connection: Connection, family: str, entries: Iterable[Entry]) -> list[Entry]:
    """Take rows out of the index, count them off, and return those that were not packed."""
    entries = list(entries)
    if not entries:
        return []
    places: dict[tuple[int, int], list[Entry]] = {}
    for one in entries:
        places.setdefault((one.audience_id, one.source), []).append(one)
    unpacked: list[Entry] = []
    for (audience, source), some in sorted(places.items()):
        held = fresh.find(connection, audience, source, [one.row_id for one in some])
        fresh.remove(connection, audience, source, held)
        unpacked += [one for one in some if one.row_id in held]
        _note_gone(connection, family, audience, [(source, one.row_id) for one in some if one.row_id not in held])
    count(connection, family, entries, -1)
    return unpacked


def _note_gone(connection: Connection, family: str, audience: int, rows: Sequence[tuple[int, int]]) -> None:
    """Note that no segment there is holds these rows, `(source, id)`, any more."""
    last = connection.execute(_LAST_SEGMENT, {"audience": audience}).scalar() if rows else None
    if last:
        gone = sorted((audience, source, row_id, int(last)) for source, row_id in rows)
        write_many(connection, _gone(family), ("audience_id", "source", "row_id", "segment_id"), gone)


_S = search_segment.c
_LAST_SEGMENT = (
    select(_S.docs)
    .where(_S.audience_id == bindparam("audience", type_=ID), _S.segment_id == 0)
    .with_for_update(read=True)
)
"""Row 0 of an audience counts the segments made. Held, so that no segment is made of these rows meanwhile."""


@lru_cache(maxsize=2)
def _gone(family: str) -> Any:
    return dialects.upsert(search_gone, family, update=["segment_id"])


def count(connection: Connection, family: str, entries: Iterable[Entry], by: int) -> None:
    """Add rows, and their words, to the totals of their audiences."""
    totals: dict[tuple[int, int], tuple[int, int]] = {}
    for one in entries:
        docs, words = totals.get((one.audience_id, one.source), (0, 0))
        totals[one.audience_id, one.source] = docs + by, words + by * one.words
    rows = sorted((*place, *total) for place, total in totals.items())
    write_many(connection, _totals(family), ("audience_id", "source", "docs", "words"), rows)


@lru_cache(maxsize=2)
def _totals(family: str) -> Any:
    return dialects.upsert(search_stats, family, add=["docs", "words"])


def _is_due(audience: int, count: int) -> bool:
    """Return whether to look for something to pack: after every LOOKED_AFTER rows of it that this process wrote."""
    written = _written.get(audience, 0) + count
    if len(_written) > MOST_AUDIENCES:
        _written.clear()
    _written[audience] = written if written < LOOKED_AFTER else 0
    return written >= LOOKED_AFTER


_written: dict[int, int] = {}


def _pack(connection: Connection, family: str, audience: int) -> None:
    """Pack rows of an audience and merge its segments where these are due; what cannot be packed stays as it is."""
    from . import packing  # noqa: PLC0415 - as in `add`

    step = connection.begin_nested()
    try:
        packing.pack_due(connection, family, audience)
        step.commit()
    except ValueError as error:  # a damaged segment: the row that is written has nothing to do with it
        step.rollback()
        logs.warning("search_unpacked", audience=audience, error=str(error))
