"""What the search tables hold of the audiences a search sees: read with one statement, kept where it does
not change.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, select

from ..database.dialects import ID
from ..database.engine import Database
from ..database.schema import search_segment
from .lookups import HELD, WORD, Count, Segment
from .packed_rows import Table, build_table
from .postings import Block, Posting
from .postings import read as read_postings
from .segment import read_head
from .visible import Visible

MOST_BYTES = 64 * 2**20
"""Arrays kept for one database, in bytes; those of the audiences in use stay whatever they take."""
MOST_VIEWS = 1000
"""Audiences of which the view of all rows is kept; those in use are, however many."""
MOST_UNPACKED = 50_000
"""Rows in the views kept that are not packed, some 600 bytes each; those in use stay. Whoever writes has the view made
anew, which takes 1.5 ms with the 255 such rows that an audience has at most."""
READ_AGAIN = 3
"""How often the index is read again that changed while it was read."""
_EMPTY = build_table(())
"""The packed rows of an audience without segments."""


class SegmentsMovedError(ValueError):
    """Segments were packed anew between two reads."""


class _Cache:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tables: OrderedDict[tuple[int, ...], Table] = OrderedDict()
        self.views: OrderedDict[int, Visible] = OrderedDict()
        self.unpacked = 0
        """Rows in the views that are not packed."""

    def keep(self, view: Visible) -> None:
        self.drop(view.audience)
        self.views[view.audience] = view
        self.unpacked += len(view.fresh)

    def drop(self, audience: int) -> None:
        view = self.views.pop(audience, None)
        self.unpacked -= len(view.fresh) if view is not None else 0

    def is_full(self) -> bool:
        return len(self.views) > MOST_VIEWS or self.unpacked > MOST_UNPACKED


def load_views(
    db: Database,
    audiences: Collection[int],
    segments: Mapping[int, Sequence[Segment]],
    fresh: Mapping[int, Sequence[tuple[Any, ...]]],
) -> Iterator[Visible]:
    """Yield all rows of each of the audiences; what is not kept yet is read."""
    cache: _Cache = db.caches.setdefault(HELD, _Cache())
    for audience in audiences:
        table, own = _table(db, cache, audience, segments.get(audience, ()), audiences), fresh.get(audience, ())
        with cache.lock:
            view = cache.views.get(audience)
        if view is None or view.table is not table or view.fresh != own:
            view = Visible(audience, table, own)
        with cache.lock:
            cache.keep(view)
        yield view
    with cache.lock:
        unused = (each for each in tuple(cache.views) if each not in audiences)
        while cache.is_full() and (old := next(unused, None)) is not None:
            cache.drop(old)


def _table(db: Database, cache: _Cache, audience: int, segments: Sequence[Segment], in_use: Collection[int]) -> Table:
    if not segments:  # kept for each, they would be as many as all people ever answered
        return _EMPTY
    key = (audience, *(one.stamp for one in segments))
    with cache.lock:
        table = cache.tables.get(key)
        if table is not None:
            cache.tables.move_to_end(key)
            return table
    table = _load(db, audience, segments)
    with cache.lock:
        for old in [k for k in cache.tables if k[0] == audience]:
            del cache.tables[old]
        cache.tables[key] = table
        taken = sum(each.size for each in cache.tables.values())
        for old, unused in list(cache.tables.items()):
            if taken > MOST_BYTES and old[0] not in in_use:
                del cache.tables[old]
                cache.drop(old[0])
                taken -= unused.size
    return table


def _load(db: Database, audience: int, segments: Sequence[Segment]) -> Table:
    wanted = {"audience": audience, "segments": [one.segment_id for one in segments]}
    rows = db.read(_HEADS, wanted, source="search_segment")
    if len(rows) < len(segments):
        raise SegmentsMovedError("The search index changed while it was read.")
    return build_table([(row[0], read_head(bytes(row[1]))) for row in rows])


_S = search_segment.c
_HEADS = (
    select(_S.segment_id, _S.head)
    .where(
        _S.audience_id == bindparam("audience", type_=ID),
        _S.segment_id.in_(bindparam("segments", expanding=True)),
    )
    .order_by(_S.segment_id)
)


def read_audiences(
    db: Database,
    words: Sequence[Count],
    tags: Sequence[Count],
    audiences: Sequence[int],
    numbers: Collection[int],
    persona: str,
) -> Iterator[tuple[Visible, list[Posting], list[Block], list[tuple[int, int, int]]]]:
    """Yield what the search tables hold of what is asked: the rows of an audience, postings, blocks, what is gone."""
    for attempt in range(READ_AGAIN):
        read = read_postings(db, words, tags, audiences, numbers, persona)
        try:
            found = sorted(read.postings.keys() | read.blocks.keys())
            views = list(load_views(db, found, read.segments, read.fresh))
            break
        except SegmentsMovedError:
            if attempt + 1 == READ_AGAIN:
                raise
    for view in views:
        of = view.audience
        yield view, read.postings[of], read.blocks[of], read.gone[of]


def find_ids(db: Database, persona: str, audiences: Sequence[int], source: int, words: Sequence[str]) -> set[int]:
    """Return the ids of a source's rows in which one of the words stands; of some that are gone too."""
    cells = [Count(audience, word, source, 1) for audience in audiences for word in words]
    numbers = {(WORD, word): n for n, word in enumerate(words)}
    found: set[int] = set()
    for view, postings, blocks, _ in read_audiences(db, cells, (), audiences, (source,), persona):
        index = view.read_postings(postings, blocks, numbers).index
        found.update(view.take("row_id", index[view.take("source", index) == source]).tolist())
    return found
