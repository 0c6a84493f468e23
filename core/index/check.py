"""Compares the search tables with the rows they stand for."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Integer, bindparam, func, select

from ..database.bulk import chunks
from ..database.dialects import ID, Key
from ..database.engine import Database
from ..database.schema import (
    search_count,
    search_fresh,
    search_stats,
    search_tag,
    search_term,
    search_vocab,
)
from ..text.words import endings
from .differences import Difference, Kind
from .entries import RANGE, Entry, Progress, all_entries
from .fresh_rows import is_counted
from .lookups import TAG, UNLISTED, WORD

PAGE = 20_000
"""Words summed up at once."""
AT_ONCE = 1_000_000
"""Most postings held to be compared one by one."""
_P, _Q = 100_003, 99_991
MOST_TIMES = 255
"""A segment counts a word in a row up to this."""
_64_BITS = 2**64 - 1
_SHIFT = 2**62
"""Added to a time, so that it is never negative: what is left of a negative number is not the same everywhere."""


class Place(NamedTuple):
    """What postings are summed up by."""

    audience: int
    key: str
    source: int


class _Posting(NamedTuple):
    at_us: int
    row_id: int
    times: int
    words: int
    local_only: int


def _sign(entry: Entry, kind: int) -> int:
    """Return a number that tells the postings of rows apart well enough for a sum to notice a change."""
    mixed = (entry.row_id % _P) * ((entry.at_us + _SHIFT) % _Q) + 19 * entry.local_only
    return mixed + 17 * entry.words if kind == WORD else mixed


def packed_sign(entry: Entry) -> int:
    """Return a number that tells what a segment holds of a row from nearly everything else it could hold."""
    terms = sum(hash((WORD, term)) * min(n, MOST_TIMES) for term, n in entry.terms.items())
    tags = sum(hash((TAG, tag)) for tag in set(entry.tags))
    return (terms + tags + hash((entry.at_us, entry.words, entry.local_only))) & _64_BITS


_TABLES: tuple[tuple[int, Any, str], ...] = ((WORD, search_term, "term"), (TAG, search_tag, "tag"))


# What rows give


def _postings(entry: Entry, kind: int) -> Iterator[tuple[Place, _Posting]]:
    if kind == WORD:
        for term, times in entry.terms.items():
            posting = _Posting(entry.at_us, entry.row_id, times, entry.words, entry.local_only)
            yield Place(entry.audience_id, term, entry.source), posting
    else:
        for tag in entry.tags:
            posting = _Posting(entry.at_us, entry.row_id, 0, 0, entry.local_only)
            yield Place(entry.audience_id, tag, entry.source), posting


# Summing up


_Sums = dict[tuple[str, int], list[int]]
"""(key, source) to the number of postings and the sum of their signs."""


@dataclass(slots=True)
class _Given:
    """What the rows give, by kind, audience and place: how many postings, and the sum of their signs."""

    places: tuple[dict[int, _Sums], dict[int, _Sums]]
    """Of rows that are not packed."""
    docs: tuple[dict[int, dict[tuple[str, int], int]], dict[int, dict[tuple[str, int], int]]]
    """In how many rows each word or tag stands."""
    fresh: dict[tuple[int, int], tuple[int, int]]
    """Source and id of rows that are not packed to audience and time."""
    packed: dict[tuple[int, int], tuple[int, int]]
    """Source and id of packed rows to audience and sign."""
    totals: dict[tuple[int, int], list[int]]
    """(audience, source) to rows and words."""


def _summed(entries: Iterable[Entry], packed: Container[tuple[int, int, int]]) -> _Given:
    made = _Given(({}, {}), ({}, {}), {}, {}, {})
    for entry in entries:
        place, is_packed = (entry.source, entry.row_id), (entry.audience_id, entry.source, entry.row_id) in packed
        if is_packed:
            made.packed[place] = (entry.audience_id, packed_sign(entry))
        else:
            made.fresh[place] = (entry.audience_id, entry.at_us)
        total = made.totals.setdefault((entry.audience_id, entry.source), [0, 0])
        total[0] += 1
        total[1] += entry.words
        for kind, keys in ((WORD, entry.terms.items()), (TAG, ((tag, 0) for tag in entry.tags))):
            places = made.places[kind].setdefault(entry.audience_id, {})
            sign = _sign(entry, kind)
            docs = made.docs[kind].setdefault(entry.audience_id, {})
            for key, times in keys:
                docs[key, entry.source] = docs.get((key, entry.source), 0) + 1
                if is_packed:
                    continue
                found = places.get((key, entry.source))
                if found is None:
                    places[key, entry.source] = [1, sign + 13 * times]
                else:
                    found[0] += 1
                    found[1] += sign + 13 * times
    return made


@lru_cache(maxsize=2)
def _page(kind: int) -> Any:
    """Return the statement that sums up the postings of an audience, word by word, from one on."""
    _, table, name = _TABLES[kind]
    c, key = table.c, table.c[name]
    sign = (c.row_id % _P) * ((c.at_us + _SHIFT) % _Q) + 19 * c.local_only
    if kind == WORD:
        sign = sign + 13 * c.tf + 17 * c.words
    return (
        select(key, c.source, func.count(), func.sum(sign))
        .where(c.audience_id == bindparam("audience", type_=ID), key >= bindparam("low", type_=Key(255)))
        .where(is_counted(table))
        .group_by(key, c.source)
        .order_by(key, c.source)
        .limit(bindparam("most", type_=Integer()))
    )


def _pages(db: Database, kind: int, audience: int) -> Iterator[_Sums]:
    """Yield the postings of an audience summed up by place, in pages that hold every source of their words."""
    _, table, _ = _TABLES[kind]
    low, page = "", _page(kind)
    while True:
        asked = {"audience": audience, "low": low, "most": PAGE}
        rows = db.read(page, asked, source=table.name)
        last = rows[-1][0] if len(rows) == PAGE else None
        yield {(r[0], r[1]): [int(r[2]), int(r[3])] for r in rows if r[0] != last}
        if last is None:
            return
        low = last


def _stored_counts(db: Database, kind: int, audience: int) -> dict[tuple[str, int], int]:
    n = search_count.c
    asked = select(n.term, n.source, n.docs).where(n.audience_id == bindparam("audience"), n.kind == kind)
    rows = db.read(asked, {"audience": audience}, source="search_count")
    return {(r[0], r[1]): r[2] for r in rows if r[2]}


# Comparing


def differences(db: Database, progress: Progress | None = None) -> Iterator[Difference]:
    """Yield every place where the search tables are not what the rows give; nothing is changed."""
    tell = progress or _quiet
    from . import check_packed  # noqa: PLC0415 - loads numpy

    packed = check_packed.read_packed(db, tell)
    given = _summed(all_entries(db, tell), packed.rows)
    yield from check_packed.compare(packed, given.packed)
    yield from _fresh_rows(db, given.fresh)
    audiences = _audiences(db, given)
    for kind, table, _ in _TABLES:
        unequal: dict[Place, int] = {}
        counts: list[Difference] = []
        for done, audience in enumerate(audiences, 1):
            own = given.places[kind].get(audience, {})
            _compare_audience(db, kind, audience, own, given.docs[kind].get(audience, {}), unequal, counts)
            tell(table.name, done, len(audiences))
        yield from _one_by_one(db, kind, unequal, packed.rows, tell)
        yield from counts
    yield from _totals(db, given.totals)
    yield from _unknown_words(db)


def _quiet(_what: str, _done: int, _total: int) -> None:
    """Tell nobody."""


def _audiences(db: Database, given: _Given) -> list[int]:
    found = {audience for audience, _ in given.totals}
    for table in (search_stats, search_count, search_term, search_tag):
        c = table.c.audience_id
        found.update(r[0] for r in db.read(select(c).distinct(), source=table.name))
    return sorted(found)


def _compare_audience(
    db: Database,
    kind: int,
    audience: int,
    given: _Sums,
    docs_given: Mapping[tuple[str, int], int],
    unequal: dict[Place, int],
    counts: list[Difference],
) -> None:
    """Note the places that differ, with how many postings they concern, and the counts that are wrong."""
    there: set[tuple[str, int]] = set()
    for page in _pages(db, kind, audience):
        for place, found in page.items():
            there.add(place)
            wanted = given.get(place, [0, 0])
            if found != wanted:
                unequal[Place(audience, *place)] = found[0] + wanted[0]
    unequal |= {Place(audience, *place): docs for place, (docs, _) in given.items() if place not in there}
    stored = _stored_counts(db, kind, audience)
    wrong = [p for p in docs_given.keys() | stored.keys() if docs_given.get(p, 0) != stored.get(p, 0)]
    table = _TABLES[kind][1].name
    counts += [Difference("count", table, audience, key, source) for key, source in sorted(wrong)]


def _one_by_one(
    db: Database, kind: int, unequal: Mapping[Place, int], packed: Container[tuple[int, int, int]], tell: Progress
) -> Iterator[Difference]:
    """Yield the postings that differ in these places; of very many places, some at a time."""
    part: dict[Place, int] = {}
    for place in sorted(unequal):
        part[place] = unequal[place]
        if sum(part.values()) >= AT_ONCE:
            yield from _of_places(db, kind, part.keys(), packed, tell)
            part = {}
    if part:
        yield from _of_places(db, kind, part.keys(), packed, tell)


def _fresh_rows(db: Database, given: Mapping[tuple[int, int], tuple[int, int]]) -> Iterator[Difference]:
    """Yield rows that are neither packed nor listed to be, and those that are listed and are not there."""
    f = search_fresh.c
    stored = {
        (row[1], row[2]): (row[0], row[3])
        for row in db.read(select(f.audience_id, f.source, f.row_id, f.at_us), source="search_fresh")
    }
    for place in sorted(given.keys() | stored.keys()):
        if stored.get(place) != given.get(place):
            kind: Kind = "missing" if place not in stored else "extra" if place not in given else "stale"
            audience, at_us = stored.get(place) or given[place]
            yield Difference(kind, "search_fresh", audience, "", place[0], place[1], at_us)


def _of_places(
    db: Database, kind: int, asked: Iterable[Place], packed: Container[tuple[int, int, int]], tell: Progress
) -> Iterator[Difference]:
    table = _TABLES[kind][1].name
    given: dict[Place, set[_Posting]] = {place: set() for place in asked}
    for entry in all_entries(db, tell):
        if (entry.audience_id, entry.source, entry.row_id) in packed:
            continue
        for place, posting in _postings(entry, kind):
            if place in given:
                given[place].add(posting)
    for place, wanted in given.items():
        there = set(_stored(db, kind, place))
        at = {(p.at_us, p.row_id) for p in there}
        needed = {(p.at_us, p.row_id) for p in wanted}
        listed = [("missing" if (p.at_us, p.row_id) not in at else "stale", p) for p in wanted - there]
        listed += [("extra", p) for p in there if (p.at_us, p.row_id) not in needed]
        for found, p in sorted(listed):
            yield Difference(found, table, place.audience, place.key, place.source, p.row_id, p.at_us)  # type: ignore[arg-type]


def _stored(db: Database, kind: int, place: Place) -> Iterator[_Posting]:
    _, table, name = _TABLES[kind]
    c = table.c
    more = (c.tf, c.words) if kind == WORD else ()
    asked = select(c.at_us, c.row_id, c.local_only, *more).where(
        c.audience_id == bindparam("audience", type_=ID),
        c[name] == bindparam("key", type_=Key(255)),
        c.source == bindparam("source", type_=Integer()),
        is_counted(table),
    )
    for row in db.read(asked, place._asdict(), source=table.name):
        times, words = (row[3], row[4]) if kind == WORD else (0, 0)
        yield _Posting(row[0], row[1], times, words, row[2])


def _totals(db: Database, given: Mapping[tuple[int, int], Sequence[int]]) -> Iterator[Difference]:
    s = search_stats.c
    rows = db.read(select(s.audience_id, s.source, s.docs, s.words), source="search_stats")
    stored = {(r[0], r[1]): (int(r[2]), int(r[3])) for r in rows}
    for place in sorted(given.keys() | stored.keys()):
        if tuple(given.get(place, (0, 0))) != stored.get(place, (0, 0)):
            yield Difference("total", "search_stats", place[0], "", place[1])


def _unknown_words(db: Database) -> Iterator[Difference]:
    """Yield words of postings that search_vocab does not know, and words that it does not know by all endings."""
    v, n = search_vocab.c, search_count.c
    known = select(v.term).where(v.head == 1, v.part == n.term, v.term == n.term)
    unknown = select(n.audience_id, n.term, n.source).where(n.kind == WORD, n.docs > 0, ~known.exists())
    for audience, term, number in db.read(unknown, source="search_vocab"):
        if term != UNLISTED:
            yield Difference("word", "search_vocab", audience, term, number)
    words = [r[0] for r in db.read(select(v.term).where(v.head == 1), source="search_vocab")]
    stored = db.read(select(func.count()).where(v.head == 0), source="search_vocab")[0][0]
    if stored != sum(len(endings(word)) for word in words):
        for part in chunks(sorted(words), RANGE):
            yield from _without_endings(db, part)


def _without_endings(db: Database, words: Sequence[str]) -> Iterator[Difference]:
    v = search_vocab.c
    missing = {(ending, word) for word in words for ending in endings(word)}
    asked = select(v.part, v.term).where(v.head == 0, v.part.in_(bindparam("parts", expanding=True, type_=Key(160))))
    for parts in chunks(sorted({ending for ending, _ in missing}), 5000):
        missing.difference_update((r[0], r[1]) for r in db.read(asked, {"parts": parts}, source="search_vocab"))
    for word in sorted({word for _, word in missing}):
        yield Difference("word", "search_vocab", 0, word, 0)
