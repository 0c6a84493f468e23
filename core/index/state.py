"""What the search tables hold of the audiences that a search sees; what cannot change is read once and kept.

| read | when |
|---|---|
| which segments, unpacked rows and removed rows there are | at every search, one statement |
| the words of a segment; the content of an unpacked row | once; a segment never changes |
| where the words asked for stand (blocks) | at every search, one statement |
| the rows of a segment (its head) | once, for an audience in which something matches |
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, cast

from sqlalchemy import Integer, and_, bindparam, literal_column, null, select, type_coerce
from sqlalchemy.types import NullType

from ..database import statements
from ..database.bulk import chunks
from ..database.dialects import ID, Key
from ..database.engine import Database
from ..database.schema import search_block, search_fresh, search_gone, search_segment
from ..database.statements import Part
from ..database.stored_values import from_key
from .entries import Entry
from .fresh import decode
from .lexicon import FreshWords, Lexicon, SegmentWords
from .lookups import HELD, TAG, WORD, Block, Posting, Segment
from .packed_rows import Table, build_table
from .segment import read_head, read_terms
from .visible import Visible

MOST_BYTES = 64 * 2**20
"""Segments kept for one database, in bytes; those of the audiences in use stay whatever they take."""
MOST_VIEWS = 1000
"""Audiences of which the view of all rows is kept; those in use are, however many."""
READ_AGAIN = 3
"""How often the index is read again that changed while it was read."""
_EMPTY = build_table(())
_SEGMENT, _FRESH, _GONE = range(3)
_AT_ONCE = 500

Gone = Sequence[tuple[int, int, int]]
"""Source, row id, and the last segment that may hold the row."""


class ChangedError(ValueError):
    """The index changed between two reads."""


@dataclass(slots=True)
class AudienceState:
    """What the index holds of one audience."""

    audience: int
    segments: list[Segment] = field(default_factory=list)
    fresh: dict[tuple[int, int], int] = field(default_factory=dict)
    """Source and id of the rows that are not packed, each with the digest of its content."""
    gone: list[tuple[int, int, int]] = field(default_factory=list)


class _Kept:
    """What a process keeps of a database's index."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.words: OrderedDict[tuple[int, int], SegmentWords] = OrderedDict()
        """By audience and stamp of the segment."""
        self.tables: OrderedDict[tuple[int, ...], Table] = OrderedDict()
        """By audience and the stamps of its segments."""
        self.fresh: OrderedDict[int, _Fresh] = OrderedDict()

    def trim(self, in_use: Collection[int]) -> None:
        """Drop what was not used for longest, beyond what is kept at most."""
        for kept in cast("tuple[OrderedDict[Any, SegmentWords | Table], ...]", (self.words, self.tables)):
            taken = sum(one.size for one in kept.values())
            for key in [key for key in kept if key[0] not in in_use]:
                if taken <= MOST_BYTES // 2:
                    break
                taken -= kept.pop(key).size
        for audience in [one for one in self.fresh if one not in in_use]:
            if len(self.fresh) <= MOST_VIEWS:
                break
            del self.fresh[audience]


@dataclass(slots=True)
class _Fresh:
    """The rows of an audience that are not packed, and what was made of them."""

    digests: Mapping[tuple[int, int], int]
    entries: Mapping[tuple[int, int], Entry]
    words: FreshWords
    view: Visible | None = None


class IndexState:
    """What the index holds of some audiences, as it was when it was read."""

    def __init__(self, db: Database, audiences: Sequence[int]) -> None:
        self._db, self._audiences = db, audiences
        self._kept: _Kept = db.caches.setdefault(HELD, _Kept())
        self._load()

    def _load(self) -> None:
        """Read which rows there are, with their words."""
        for attempt in range(READ_AGAIN):
            self._states = _read_states(self._db, self._audiences)
            try:
                self._fresh = self._load_fresh()
                self.lexicon: Lexicon = Lexicon([*self._load_words(), *(one.words for one in self._fresh.values())])
                break
            except ChangedError:
                if attempt + 1 == READ_AGAIN:
                    raise
        with self._kept.lock:
            self._kept.trim(self._states)

    def _load_words(self) -> list[SegmentWords]:
        """Return the words of every segment; what is not kept is read."""
        segments = [one for state in self._states.values() for one in state.segments]
        with self._kept.lock:
            known = {one: self._kept.words.get((one.audience_id, one.stamp)) for one in segments}
        missing = [one for one, words in known.items() if words is None]
        for one, stored in _read_column(self._db, "terms", missing).items():
            known[one] = SegmentWords(*read_terms(stored))
        with self._kept.lock:
            for one, words in known.items():
                assert words is not None
                self._kept.words[one.audience_id, one.stamp] = words
                self._kept.words.move_to_end((one.audience_id, one.stamp))
        return [words for words in known.values() if words is not None]

    def _load_fresh(self) -> dict[int, _Fresh]:
        """Return the rows of each audience that are not packed; those whose content is not kept are read."""
        made: dict[int, _Fresh] = {}
        same: dict[int, dict[tuple[int, int], Entry]] = {}
        unread: list[tuple[int, int, int]] = []
        with self._kept.lock:
            for audience, state in self._states.items():
                kept = self._kept.fresh.get(audience)
                if not state.fresh:
                    continue
                if kept is not None and kept.digests == state.fresh:
                    made[audience] = kept
                    self._kept.fresh.move_to_end(audience)
                    continue
                known = {} if kept is None else kept.digests
                same[audience] = mine = {}
                for place, digest in state.fresh.items():
                    if kept is not None and known.get(place) == digest:
                        mine[place] = kept.entries[place]
                    else:
                        unread.append((audience, *place))
        for one in _read_fresh(self._db, unread):
            same[one.audience_id][one.source, one.row_id] = one
        for audience, entries in same.items():
            if entries.keys() != self._states[audience].fresh.keys():
                raise ChangedError("The search index changed while it was read.")
            made[audience] = _Fresh(self._states[audience].fresh, entries, FreshWords(entries.values()))
        with self._kept.lock:
            self._kept.fresh.update({audience: made[audience] for audience in same})
        return made

    def read(self, words: Collection[str], tags: Collection[str], *, every: bool = False) -> list[AudienceRows]:
        """Return, of each audience in which one of the words or tags stands, its rows and where these stand.

        Args:
            every: of each audience, whatever stands there.
        """
        for attempt in range(READ_AGAIN):
            try:
                return self._read(words, tags, every)
            except ChangedError:
                if attempt + 1 == READ_AGAIN:
                    raise
                self._load()
        raise AssertionError

    def _read(self, words: Collection[str], tags: Collection[str], every: bool) -> list[AudienceRows]:
        packed = [one for one in self._states.values() if one.segments]
        blocks = _read_blocks(self._db, packed, words, tags)
        made = []
        for audience in sorted(self._states):
            own = self._fresh.get(audience)
            postings = [] if own is None else _list_postings(own.words, words, tags)
            if not (every or postings or audience in blocks):
                continue
            state = self._states[audience]
            made.append(AudienceRows(self._view(state, own), postings, blocks.get(audience, []), state.gone))
        return made

    def _view(self, state: AudienceState, own: _Fresh | None) -> Visible:
        table = self._table(state)
        if own is None:
            return Visible(state.audience, table, ())
        if own.view is None or own.view.table is not table:
            own.view = Visible(state.audience, table, tuple(own.entries.values()))
        return own.view

    def _table(self, state: AudienceState) -> Table:
        if not state.segments:
            return _EMPTY
        key = (state.audience, *(one.stamp for one in state.segments))
        with self._kept.lock:
            table = self._kept.tables.get(key)
            if table is not None:
                self._kept.tables.move_to_end(key)
                return table
        heads = _read_column(self._db, "head", state.segments)
        table = build_table([(one.segment_id, read_head(heads[one])) for one in state.segments])
        with self._kept.lock:
            for old in [each for each in self._kept.tables if each[0] == state.audience]:
                del self._kept.tables[old]
            self._kept.tables[key] = table
        return table


class AudienceRows(NamedTuple):
    """The rows of an audience, and where the words and tags asked for stand."""

    view: Visible
    postings: list[Posting]
    """Those of rows that are not packed."""
    blocks: list[Block]
    gone: Gone


def _list_postings(fresh: FreshWords, words: Collection[str], tags: Collection[str]) -> list[Posting]:
    """Return where words and tags stand in rows that are not packed."""
    made: list[Posting] = []
    for kind, terms in ((WORD, words), (TAG, tags)):
        found = ((term, fresh.rows(kind, term)) for term in terms)
        made += [Posting(kind, term, rows) for term, rows in found if rows]
    return made


# Statements


def _read_states(db: Database, audiences: Sequence[int]) -> dict[int, AudienceState]:
    """Return which segments, unpacked rows and removed rows there are."""
    states = {audience: AudienceState(audience) for audience in audiences}
    for part in chunks(states, _AT_ONCE):
        values: list[Any] = []
        texts = [each.text({"audiences": part}, values) for each in _state_parts(db.family)]
        for row in db.read_driver(statements.union(texts, db.family), values, source="the search index"):
            kind, audience, first, second, third = row
            if kind == _SEGMENT:
                states[audience].segments.append(Segment(audience, first, second))
            elif kind == _FRESH:
                states[audience].fresh[first, second] = third
            else:
                states[audience].gone.append((first, second, third))
    for state in states.values():
        state.segments.sort()
        state.gone.sort()
    return states


def _number(value: int) -> Any:
    return literal_column(str(value), Integer())


@lru_cache(maxsize=2)
def _state_parts(family: str) -> tuple[Part, ...]:
    s, f, g = search_segment.c, search_fresh.c, search_gone.c
    seen = bindparam("audiences", expanding=True, type_=ID)
    columns = (
        (_SEGMENT, s.audience_id, s.segment_id, s.stamp, null()),
        (_FRESH, f.audience_id, f.source, f.row_id, f.digest),
        (_GONE, g.audience_id, g.source, g.row_id, g.segment_id),
    )
    where = (
        (s.audience_id.in_(seen), s.segment_id > _number(0)),
        (f.audience_id.in_(seen),),
        (g.audience_id.in_(seen),),
    )
    return tuple(
        Part(select(*(c.label(f"c{n}") for n, c in enumerate((_number(kind), *rest)))).where(*which), family)
        for (kind, *rest), which in zip(columns, where, strict=True)
    )


def _read_column(db: Database, name: str, segments: Sequence[Segment]) -> dict[Segment, bytes]:
    """Return a packed column of segments."""
    by_place = {(one.audience_id, one.segment_id): one for one in segments}
    stored: dict[Segment, bytes] = {}
    for part in chunks(segments, _AT_ONCE):
        wanted = {"audiences": sorted({one.audience_id for one in part}), "stamps": [one.stamp for one in part]}
        rows = _column_part(name, db.family).read(db, wanted, "search_segment")
        stored |= {by_place[row[0], row[1]]: bytes(row[2]) for row in rows}
    if len(stored) < len(by_place):
        raise ChangedError("The search index changed while it was read.")
    return stored


@lru_cache(maxsize=4)
def _column_part(name: str, family: str) -> Part:
    s = search_segment.c
    of_audiences = s.audience_id.in_(bindparam("audiences", expanding=True, type_=ID))
    stamped = s.stamp.in_(bindparam("stamps", expanding=True, type_=ID))
    return Part(select(s.audience_id, s.segment_id, s[name]).where(of_audiences, stamped), family)


def _read_fresh(db: Database, places: Sequence[tuple[int, int, int]]) -> Iterator[Entry]:
    """Yield the content of rows that are not packed, each named by audience, source and id."""
    for part in chunks(places, _AT_ONCE):
        audiences, numbers, ids = (sorted(set(column)) for column in zip(*part, strict=True))
        wanted = {"audiences": audiences, "sources": numbers, "ids": ids}
        asked = set(part)
        for audience, source, row_id, content in _fresh_part(db.family).read(db, wanted, "search_fresh"):
            if (audience, source, row_id) in asked:
                yield decode(audience, source, row_id, content)


@lru_cache(maxsize=2)
def _fresh_part(family: str) -> Part:
    f = search_fresh.c
    these = (
        f.audience_id.in_(bindparam("audiences", expanding=True, type_=ID)),
        f.source.in_(bindparam("sources", expanding=True, type_=Integer())),
        f.row_id.in_(bindparam("ids", expanding=True, type_=ID)),
    )
    return Part(select(f.audience_id, f.source, f.row_id, f.content).where(*these), family)


def _read_blocks(
    db: Database, states: Sequence[AudienceState], words: Collection[str], tags: Collection[str]
) -> dict[int, list[Block]]:
    """Return where words and tags stand in the segments of audiences."""
    made: dict[int, list[Block]] = {}
    known = {state.audience: {one.segment_id for one in state.segments} for state in states}
    for kind, terms in ((WORD, words), (TAG, tags)):
        for audiences in chunks(known, _AT_ONCE) if terms else ():
            for keys in chunks(sorted(terms), _AT_ONCE):
                wanted = {"audiences": audiences, "keys": keys, "kind": kind}
                for audience, segment, *found in _blocks_part(db.family).read(db, wanted, "search_block"):
                    if segment in known[audience]:
                        term, postings = found
                        name = term if type(term) is str else from_key(term)
                        made.setdefault(audience, []).append((segment, kind, name, postings))
    return made


@lru_cache(maxsize=2)
def _blocks_part(family: str) -> Part:
    s, b = search_segment.c, search_block.c
    keys = bindparam("keys", expanding=True, type_=Key(255))
    of_segment = and_(
        b.segment_id == s.segment_id, b.audience_id == s.audience_id, b.kind == bindparam("kind", type_=Integer())
    )
    joined: Any = search_segment
    asked: Any = b.term.in_(keys)
    if family != "sqlite":  # given a list, servers read all words of a segment and compare
        rows = select(null().label("term")).union_all(select(keys)).subquery("asked")
        joined, asked = joined.join(rows, literal_column("1") == literal_column("1")), b.term == rows.c.term
    columns = (b.audience_id, b.segment_id, type_coerce(b.term, NullType()), type_coerce(b.postings, NullType()))
    found = select(*columns).select_from(joined.join(search_block, and_(of_segment, asked)))
    # Of the segments' numbers nothing is asked: SQLite would walk all blocks from there on. The first has no blocks.
    found = found.where(s.audience_id.in_(bindparam("audiences", expanding=True, type_=ID)))
    return Part(found.prefix_with("STRAIGHT_JOIN", dialect="mysql"), family, in_order=True)
