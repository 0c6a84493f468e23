"""Builds the index of an audience anew from its rows, and tells where it holds other rows than there are."""

from __future__ import annotations

from collections import Counter
from functools import partial

from sqlalchemy import Connection, delete, func, select

from ..database import sources
from ..database.engine import Database
from ..database.schema import search_block, search_fresh, search_gone, search_segment
from . import fresh
from .entries import Progress, read_audience
from .packing import find_staying, list_segments, next_segment, pack_entries, read_gone, read_rows

_S, _B, _F, _G = search_segment.c, search_block.c, search_fresh.c, search_gone.c


def rebuild_all(db: Database, progress: Progress | None = None) -> int:
    """Build the index of every audience anew, each in a transaction, and return how many rows were indexed."""
    audiences = sorted({row[0] for query in _audience_queries() for row in db.read(query, source="the search index")})
    done = 0
    for number, audience in enumerate(audiences, 1):
        done += db.transaction(partial(rebuild, family=db.family, audience=audience), source="the search index")
        if progress is not None:
            progress("audiences", number, len(audiences))
    return done


def rebuild(connection: Connection, *, family: str, audience: int) -> int:
    """Build the segments of an audience anew, and return how many rows it has.

    Whoever packs, changes or removes a row of the audience waits. Rows written meanwhile stay as they were written.
    """
    next_segment(connection, family, audience)
    fresh.remove_all(connection, audience)
    connection.execute(delete(search_block).where(_B.audience_id == audience))
    connection.execute(delete(search_segment).where(_S.audience_id == audience, _S.segment_id > 0))
    connection.execute(delete(search_gone).where(_G.audience_id == audience))
    entries = [one for source in sources.ALL for one in read_audience(connection, source, audience)]
    written_meanwhile = {(one.source, one.row_id) for one in fresh.read_rows(connection, audience)}
    old = [one for one in entries if (one.source, one.row_id) not in written_meanwhile]
    if old:
        pack_entries(connection, family, audience, old)
    return len(entries)


def count_differences(db: Database) -> dict[str, int]:
    """Return, by table, how many rows too many or too few the index holds, over all audiences.

    Raises:
        ValueError: a segment is damaged.
    """
    held = db.transaction(_count_held, source="the search index")
    made: dict[str, int] = {}
    for source in sources.ALL:
        c = source.table.c
        stored = select(c.audience_id, func.count()).where(source.findable).group_by(c.audience_id)
        there = {row[0]: int(row[1]) for row in db.read(stored, source=source.table.name)}
        audiences = there.keys() | {audience for audience, number in held if number == source.number}
        made[source.table.name] = sum(abs(there.get(one, 0) - held[one, source.number]) for one in audiences)
    return made


def _count_held(connection: Connection) -> Counter[tuple[int, int]]:
    """Return how many rows the index holds by audience and source."""
    held: Counter[tuple[int, int]] = Counter()
    for audience in connection.execute(select(_F.audience_id).distinct()).scalars().all():
        held.update((audience, one.source) for one in fresh.read_rows(connection, audience))
    for audience in connection.execute(select(_S.audience_id).distinct()).scalars().all():
        gone = read_gone(connection, audience)
        for one in list_segments(connection, audience):
            rows = read_rows(connection, audience, one.segment_id)
            stays = find_staying(rows, one.segment_id, gone)
            for source in sources.ALL:
                held[audience, source.number] += int((rows.source[stays] == source.number).sum())
    return held


def _audience_queries() -> list[object]:
    indexed = (select(column).distinct() for column in (_S.audience_id, _F.audience_id))
    stored = (select(source.table.c.audience_id).where(source.findable).distinct() for source in sources.ALL)
    return [*indexed, *stored]
