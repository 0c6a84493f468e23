"""The index of the audiences that a search may see; parts that never change are read once and cached.

| read | when |
|---|---|
| the list of segments, unpacked rows and removed rows | at every search, one statement |
| the rows and words of a segment; the content of an unpacked row | once; a segment never changes |
| the postings of the search terms (blocks) | at every search, one statement for each kind |
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeVar

from sqlalchemy import ColumnElement, FromClause, Integer, and_, bindparam, literal_column, null, select, type_coerce
from sqlalchemy.types import NullType

from ..database import compiled
from ..database.compiled import CompiledStatement, chunks
from ..database.dialects import ID, Key
from ..database.engine import Database
from ..database.schema import search_block, search_fresh, search_gone, search_segment
from ..database.stored_values import from_key
from .entries import HELD
from .lexicon import FreshWords, Lexicon, SortedWords, merge_words
from .lru_cache import LruCache
from .segment import read_head, read_terms
from .shapes import DAY, TAG, WORD, Entry, IndexTerm, RowId
from .table import decode, is_place
from .visible import Block, Postings, Visible, add_fresh, build_table

READ_AGAIN = 3
"""Maximum number of attempts to load the index if it changes meanwhile."""
_SEGMENT, _FRESH, _GONE = range(3)
_AUDIENCES = bindparam("audiences", expanding=True, type_=ID)
T = TypeVar("T")


class ChangedError(ValueError):
    """The index changed between two reads."""


class Segment(NamedTuple):
    audience_id: int
    segment_id: int
    stamp: int
    """Random number that identifies this version of the segment."""


@dataclass(slots=True)
class AudienceState:
    audience: int
    segments: list[Segment] = field(default_factory=list)
    fresh: dict[RowId, int] = field(default_factory=dict)
    """Digest of the content of each unpacked row, by (source, id)."""
    gone: dict[RowId, int] = field(default_factory=dict)
    """Last segment that may hold each removed packed row, by (source, id)."""


@dataclass
class AudienceIndex:
    state: AudienceState
    words: Mapping[frozenset[Segment], SortedWords]
    """Words of the segments, in few parts; the key of a part is the set of its segments."""
    entries: Mapping[RowId, Entry]
    """Entries of the readable unpacked rows."""
    fresh: FreshWords
    view: Visible

    @cached_property
    def size(self) -> int:
        return self.view.size + self.view.table.size + sum(one.size for one in self.words.values())


class IndexState:
    """The index of some audiences at one moment."""

    def __init__(self, db: Database, audiences: Sequence[int]) -> None:
        self._db, self._audience_ids = db, audiences
        _retry(self._load)

    def _load(self) -> None:
        cache: LruCache[int, AudienceIndex] = self._db.caches.setdefault(HELD, LruCache())
        states = _read_states(self._db, self._audience_ids)
        kept = cache.list_held()
        changed = [state for audience, state in states.items() if audience not in kept or kept[audience].state != state]
        if changed:
            kept |= _load_changed(self._db, changed, kept)
        self.audiences: dict[int, AudienceIndex] = {audience: kept[audience] for audience in sorted(states)}
        cache.keep(self.audiences)
        indexes = self.audiences.values()
        self.lexicon: Lexicon = Lexicon([part for one in indexes for part in (*one.words.values(), one.fresh.words)])

    def count_rows(self, numbers: Collection[int]) -> tuple[int, int]:
        """Return how many rows the sources with these numbers have, and how many words these rows have."""
        sums = sum(one.view.source_sums[:, list(numbers)].sum(axis=1) for one in self.audiences.values())
        rows, words = sums if self.audiences else (0, 0)
        return int(rows), int(words)

    def read(self, terms: Iterable[IndexTerm], *, every: bool = False) -> list[tuple[Visible, Postings]]:
        """Return the audiences with rows that hold one of the terms (`every`: all audiences), each with postings."""
        numbers = {term: n for n, term in enumerate(terms)}
        blocks = _retry(lambda: _read_blocks(self._db, self.audiences, numbers), self._load)
        matches = []
        for audience, one in self.audiences.items():
            fresh = one.fresh.find(numbers)
            if every or fresh or audience in blocks:
                matches.append((one.view, one.view.read_postings(numbers, fresh, blocks.get(audience, ()))))
        return matches


def _retry(read: Callable[[], T], reload: Callable[[], None] = lambda: None) -> T:
    """Return the result of `read`; if the index changed meanwhile, call `reload` and read again."""
    for _ in range(READ_AGAIN - 1):
        try:
            return read()
        except ChangedError:
            reload()
    return read()


def _load_changed(
    db: Database, changed: Sequence[AudienceState], kept: Mapping[int, AudienceIndex]
) -> dict[int, AudienceIndex]:
    """Read the indexes of changed audiences and return them by id; unchanged parts come from `kept`."""
    unpacked: list[Segment] = []
    unread: list[tuple[int, int, int]] = []
    words: dict[int, dict[frozenset[Segment], SortedWords]] = {}
    for state in changed:
        before = kept.get(state.audience)
        if before is None or before.state.segments != state.segments:
            unpacked += state.segments
        old = {} if before is None else before.state.fresh
        unread += [(state.audience, *place) for place, digest in state.fresh.items() if old.get(place) != digest]
        old_words = {} if before is None else before.words
        words[state.audience] = {some: part for some, part in old_words.items() if some.issubset(state.segments)}
    of_parts = {one for parts in words.values() for some in parts for one in some}
    terms = _read_column(db, "terms", [one for state in changed for one in state.segments if one not in of_parts])
    heads = _read_column(db, "head", unpacked)
    contents = _read_fresh(db, unread)
    loaded = {}
    for state in changed:
        before = kept.get(state.audience)
        if before is not None and before.state.segments == state.segments:
            table = before.view.table
        else:
            table = build_table([(one.segment_id, read_head(heads[one])) for one in state.segments])
        entries = {} if before is None else before.entries
        own = {place: contents.get((state.audience, *place), entries.get(place)) for place in state.fresh}
        readable = {place: one for place, one in own.items() if one is not None}
        view = add_fresh(state.audience, table, tuple(readable.values()), state.gone)
        new_terms = {one: terms[one] for one in state.segments if one in terms}
        own_words = _add_words(words[state.audience], new_terms)
        loaded[state.audience] = AudienceIndex(state, own_words, readable, FreshWords(readable.values()), view)
    return loaded


def _add_words(
    parts: Mapping[frozenset[Segment], SortedWords], terms: Mapping[Segment, bytes]
) -> dict[frozenset[Segment], SortedWords]:
    """Return `parts` with a new part for the words in `terms`; parts up to twice its size are merged into it."""
    if not terms:
        return dict(parts)
    segments, new = frozenset(terms), [SortedWords(*read_terms(stored)) for stored in terms.values()]
    larger = {}
    for some, part in sorted(parts.items(), key=lambda one: one[1].size):
        if part.size > 2 * sum(one.size for one in new):
            larger[some] = part
        else:
            segments, new = segments | some, [*new, part]
    return {**larger, segments: merge_words(new)}


def _read_states(db: Database, audiences: Sequence[int]) -> dict[int, AudienceState]:
    states = {audience: AudienceState(audience) for audience in audiences}
    for part in chunks(states):
        values: list[object] = []
        texts = [each.text({"audiences": part}, values) for each in _state_parts(db.family)]
        for row in db.read(compiled.union(texts, db.family), values, source="the search index"):
            kind, audience, first, second, third = row
            if kind == _SEGMENT:
                states[audience].segments.append(Segment(audience, first, second))
            elif not is_place(first, second):
                continue
            elif kind == _FRESH:
                states[audience].fresh[first, second] = third
            elif type(third) is int:
                states[audience].gone[first, second] = third
    for state in states.values():
        state.segments.sort()
    return states


@lru_cache(maxsize=2)
def _state_parts(family: str) -> tuple[CompiledStatement, ...]:
    s, f, g = search_segment.c, search_fresh.c, search_gone.c
    columns = {
        _SEGMENT: (s.audience_id, s.segment_id, s.stamp, null()),
        _FRESH: (f.audience_id, f.source, f.row_id, f.digest),
        _GONE: (g.audience_id, g.source, g.row_id, g.segment_id),
    }
    parts = []
    for kind, own in columns.items():
        labelled = (c.label(f"c{n}") for n, c in enumerate((literal_column(str(kind), Integer()), *own)))
        part = select(*labelled).where(own[0].in_(_AUDIENCES))
        if kind == _SEGMENT:
            part = part.where(s.segment_id > literal_column("0", Integer()))
        parts.append(CompiledStatement(part, family))
    return tuple(parts)


def _read_column(db: Database, name: str, segments: Sequence[Segment]) -> dict[Segment, bytes]:
    by_place = {(one.audience_id, one.segment_id): one for one in segments}
    stored: dict[Segment, bytes] = {}
    for part in chunks(segments):
        wanted = {"audiences": sorted({one.audience_id for one in part}), "stamps": [one.stamp for one in part]}
        rows = db.read(_column_part(name, db.family), wanted, source="search_segment")
        stored |= {by_place[row[0], row[1]]: bytes(row[2]) for row in rows}
    if len(stored) < len(by_place):
        raise ChangedError("The search index changed while it was read.")
    return stored


@lru_cache(maxsize=4)
def _column_part(name: str, family: str) -> CompiledStatement:
    s = search_segment.c
    seen, stamped = s.audience_id.in_(_AUDIENCES), s.stamp.in_(bindparam("stamps", expanding=True, type_=ID))
    return CompiledStatement(select(s.audience_id, s.segment_id, s[name]).where(seen, stamped), family)


def _read_fresh(db: Database, places: Sequence[tuple[int, int, int]]) -> dict[tuple[int, int, int], Entry | None]:
    """Return the unpacked entries with these (audience, source, id); None for an entry that cannot be read."""
    entries: dict[tuple[int, int, int], Entry | None] = {}
    for part in chunks(places):
        audiences, numbers, ids = (sorted(set(column)) for column in zip(*part, strict=True))
        wanted = {"audiences": audiences, "sources": numbers, "ids": ids}
        asked = set(part)
        rows = db.read(_fresh_part(db.family), wanted, source="search_fresh")
        entries |= {place: decode(*row) for row in rows if (place := (row[0], row[1], row[2])) in asked}
    if len(entries) < len(places):
        raise ChangedError("The search index changed while it was read.")
    return entries


@lru_cache(maxsize=2)
def _fresh_part(family: str) -> CompiledStatement:
    f = search_fresh.c
    these = (
        f.audience_id.in_(_AUDIENCES),
        f.source.in_(bindparam("sources", expanding=True, type_=Integer())),
        f.row_id.in_(bindparam("ids", expanding=True, type_=ID)),
    )
    return CompiledStatement(select(f.audience_id, f.source, f.row_id, f.digest, f.content).where(*these), family)


def _read_blocks(
    db: Database, audiences: Mapping[int, AudienceIndex], numbers: Mapping[IndexTerm, int]
) -> dict[int, list[Block]]:
    blocks: dict[int, list[Block]] = {}
    segments = {
        audience: {one.segment_id for one in index.state.segments}
        for audience, index in audiences.items()
        if index.state.segments
    }
    for kind in (WORD, TAG, DAY):
        terms = sorted([term for of, term in numbers if of == kind])
        for some in chunks(segments) if terms else ():
            for keys in chunks(terms):
                wanted = {"audiences": some, "keys": keys, "kind": kind}
                rows = db.read(_blocks_part(db.family), wanted, source="search_block")
                for audience, segment, term, postings in rows:
                    if segment not in segments[audience]:  # the segment was merged meanwhile
                        raise ChangedError("The search index changed while it was read.")
                    number = numbers.get((kind, term if type(term) is str else from_key(term)))
                    if number is not None:
                        blocks.setdefault(audience, []).append((number, segment, postings))
    return blocks


@lru_cache(maxsize=2)
def _blocks_part(family: str) -> CompiledStatement:
    s, b = search_segment.c, search_block.c
    keys = bindparam("keys", expanding=True, type_=Key(255))
    of_kind = b.kind == bindparam("kind", type_=Integer())
    of_segment = and_(b.segment_id == s.segment_id, b.audience_id == s.audience_id, of_kind)
    joined: FromClause = search_segment
    asked: ColumnElement[bool] = b.term.in_(keys)
    if family != "sqlite":  # given a list, MySQL and MariaDB read all words of a segment and compare
        rows = select(null().label("term")).union_all(select(keys)).subquery("asked")
        joined, asked = joined.join(rows, literal_column("1") == literal_column("1")), b.term == rows.c.term
    columns = (b.audience_id, b.segment_id, type_coerce(b.term, NullType()), type_coerce(b.postings, NullType()))
    chosen = select(*columns).select_from(joined.join(search_block, and_(of_segment, asked)))
    # No condition on the segment number: SQLite would scan all later blocks. Segment 0 has no blocks.
    chosen = chosen.where(s.audience_id.in_(_AUDIENCES))
    return CompiledStatement(chosen.prefix_with("STRAIGHT_JOIN", dialect="mysql"), family, in_order=True)
