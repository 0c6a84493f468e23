"""The search tables, written in the transaction of the row they stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Integer, bindparam, delete, select

from ..base import logs
from ..database import dialects, stored_values
from ..database.bulk import chunks, write_many
from ..database.dialects import Key
from ..database.schema import (
    search_count,
    search_fresh,
    search_stats,
    search_tag,
    search_term,
    search_vocab,
)
from ..database.statements import Part
from ..text.words import endings
from . import fresh_rows
from .entries import Entry
from .lookups import TAG, TERM_BYTES, UNLISTED, WORD

MANY_WRITTEN = 64
"""Rows of an audience, written at once, that are packed without postings of their own first."""
LOOKED_AFTER = 32
"""Rows written to an audience after which a process looks whether there is something to pack."""
MOST_AUDIENCES = 10_000
"""Audiences whose writes are counted."""
MANY = 100
"""From so many rows on their postings are deleted in the order they lie in."""


@lru_cache(maxsize=64)
def _statement(name: str, family: str) -> Any:
    made: dict[str, Any] = {
        "term": lambda: dialects.insert_ignore(search_term, family),
        "tag": lambda: dialects.insert_ignore(search_tag, family),
        "fresh": lambda: dialects.upsert(search_fresh, family, update=["at_us", "words", "local_only"]),
        "vocab": lambda: dialects.insert_ignore(search_vocab, family),
        "count": lambda: dialects.upsert(search_count, family, add=["docs"]),
        "stats": lambda: dialects.upsert(search_stats, family, add=["docs", "words"]),
    }
    return made[name]()


_TERM = ("audience_id", "term", "source", "at_us", "row_id", "tf", "words", "local_only")
_TAG = ("audience_id", "tag", "source", "at_us", "row_id", "local_only")
_FRESH = ("audience_id", "source", "row_id", "at_us", "words", "local_only")
_COUNT = ("audience_id", "kind", "term", "source", "docs")


def add(connection: Connection, family: str, entries: Iterable[Entry]) -> None:
    """Insert the index rows of `entries`, raise the counts, and make new words known."""
    every = list(entries)
    by_audience: dict[int, list[Entry]] = {}
    for entry_ in every:
        by_audience.setdefault(entry_.audience_id, []).append(entry_)
    if not by_audience:
        return
    many = {audience: some for audience, some in by_audience.items() if len(some) >= MANY_WRITTEN}
    few = [e for audience, some in by_audience.items() if audience not in many for e in some]
    insert_postings(connection, family, few)
    if many:
        from . import packing  # noqa: PLC0415 - loads numpy, which few writes need

        for audience in sorted(many):
            packing.pack_entries(connection, family, audience, many[audience])
    write_many(connection, _statement("count", family), _COUNT, _counts(every, family))
    stats = sorted((*k, *n) for k, n in _totals(every).items())
    write_many(connection, _statement("stats", family), ("audience_id", "source", "docs", "words"), stats)
    learn(connection, family, {t for e in every for t in e.terms})
    for audience in sorted(by_audience):
        if _is_due(audience, len(by_audience[audience])) and _is_enough(connection, audience, audience in many):
            _pack(connection, family, audience)


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


def add_postings(connection: Connection, family: str, entries: Iterable[Entry]) -> None:
    """Insert what is missing of the postings of `entries`, and make new words known; the counts stay as they are."""
    entries = list(entries)
    insert_postings(connection, family, entries)
    learn(connection, family, {t for e in entries for t in e.terms})


def insert_postings(connection: Connection, family: str, entries: Sequence[Entry]) -> None:
    """Insert what is missing of the postings of `entries`; words and counts stay as they are."""
    key = dialects.as_key
    terms = sorted(
        (e.audience_id, key(t, family), e.source, e.at_us, e.row_id, n, e.words, e.local_only)
        for e in entries
        for t, n in e.terms.items()
    )
    write_many(connection, _statement("term", family), _TERM, terms)
    fresh = sorted((e.audience_id, e.source, e.row_id, e.at_us, e.words, e.local_only) for e in entries)
    write_many(connection, _statement("fresh", family), _FRESH, fresh)
    tags = sorted(
        (e.audience_id, key(t, family), e.source, e.at_us, e.row_id, e.local_only) for e in entries for t in e.tags
    )
    if tags:
        write_many(connection, _statement("tag", family), _TAG, tags)


def remove(connection: Connection, family: str, entries: Iterable[Entry]) -> list[Entry]:
    """Delete the index rows of `entries` and lower the counts; words stay known until they are forgotten."""
    entries = list(entries)
    if not entries:
        return []
    fresh, unswept = _drop_fresh(connection, family, entries)
    own = fresh + unswept
    if family == "sqlite" and len(own) >= MANY:
        _drop_in_order(connection, own)
    else:
        for e in own:
            place = {"audience": e.audience_id, "source": e.source, "at": e.at_us, "row": e.row_id}
            for part in chunks(sorted(e.terms), 500):
                connection.execute(_DROP_TERM, {**place, "keys": part})
            for part in chunks(sorted(e.tags), 500):
                connection.execute(_DROP_TAG, {**place, "keys": part})
    counts = [(*place, -docs) for *place, docs in _counts(entries, family)]
    write_many(connection, _statement("count", family), _COUNT, counts)
    gone: dict[tuple[int, int], set[str]] = {}
    for audience, kind, term, _, _ in counts:
        gone.setdefault((audience, kind), set()).add(stored_values.from_key(term))
    for (audience, kind), terms in sorted(gone.items()):
        for part in chunks(sorted(terms), 500):
            connection.execute(_DROP_COUNT, {"audience": audience, "kind": kind, "keys": part})
    stats = sorted((*k, -n[0], -n[1]) for k, n in _totals(entries).items())
    write_many(connection, _statement("stats", family), ("audience_id", "source", "docs", "words"), stats)
    return fresh


def _drop_fresh(connection: Connection, family: str, entries: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Return those of the entries that are not packed, which are no longer listed, and those that are and may have
    postings left; note what is packed as gone from the segment that holds it."""
    places: dict[tuple[int, int], list[Entry]] = {}
    for e in entries:
        places.setdefault((e.audience_id, e.source), []).append(e)
    fresh: list[Entry] = []
    unswept: list[Entry] = []
    for (audience, source), some in sorted(places.items()):
        held = fresh_rows.find_fresh(connection, audience, source, [e.row_id for e in some])
        fresh += [e for e in some if e.row_id in held]
        packed = [e for e in some if e.row_id not in held]
        if packed and fresh_rows.note_gone(connection, family, audience, [(source, e.row_id) for e in packed]):
            unswept += packed
        fresh_rows.delete_fresh(connection, audience, source, held)
    return fresh, unswept


def _drop_in_order(connection: Connection, entries: Iterable[Entry]) -> None:
    """Delete the postings of many rows in the order they lie in."""
    places = [(e, (e.source, e.at_us, e.row_id)) for e in entries]
    terms = sorted((e.audience_id, term, *place) for e, place in places for term in e.terms)
    write_many(connection, _DROP_ONE_TERM, ("audience", "key", "source", "at", "row"), terms)
    tags = sorted((e.audience_id, tag, *place) for e, place in places for tag in e.tags)
    if tags:
        write_many(connection, _DROP_ONE_TAG, ("audience", "key", "source", "at", "row"), tags)


def _drop_one(table: Any, key: Any) -> Any:
    return delete(table).where(
        table.c.audience_id == bindparam("audience"),
        key == bindparam("key"),
        table.c.source == bindparam("source"),
        table.c.at_us == bindparam("at"),
        table.c.row_id == bindparam("row"),
    )


_DROP_ONE_TERM = _drop_one(search_term, search_term.c.term)
_DROP_ONE_TAG = _drop_one(search_tag, search_tag.c.tag)


def _is_due(audience: int, count: int) -> bool:
    """Return whether to look for something to pack: after every LOOKED_AFTER rows of it that this process wrote."""
    written = _written.get(audience, 0) + count
    if len(_written) > MOST_AUDIENCES:
        _written.clear()
    _written[audience] = written if written < LOOKED_AFTER else 0
    return written >= LOOKED_AFTER


def _is_enough(connection: Connection, audience: int, has_new_segment: bool) -> bool:
    """Return whether as many rows of an audience wait as are packed together, or as many segments as are merged."""
    if has_new_segment:
        from . import packing  # noqa: PLC0415 - as in `add`

        return bool(packing.choose_merge(packing.list_segments(connection, audience)))
    waiting = connection.execute(_WAITING, {"audience": audience, "most": fresh_rows.PACK_FROM})
    return len(waiting.scalars().all()) >= fresh_rows.PACK_FROM


_written: dict[int, int] = {}
_WAITING = (
    select(search_fresh.c.row_id)
    .where(search_fresh.c.audience_id == bindparam("audience"))
    .limit(bindparam("most", type_=Integer()))
)


def _drop(table: Any, key: Any) -> Any:
    return delete(table).where(
        table.c.audience_id == bindparam("audience"),
        key.in_(bindparam("keys", expanding=True)),
        table.c.source == bindparam("source"),
        table.c.at_us == bindparam("at"),
        table.c.row_id == bindparam("row"),
    )


_DROP_TERM = _drop(search_term, search_term.c.term)
_DROP_TAG = _drop(search_tag, search_tag.c.tag)
_DROP_COUNT = delete(search_count).where(
    search_count.c.audience_id == bindparam("audience"),
    search_count.c.kind == bindparam("kind"),
    search_count.c.term.in_(bindparam("keys", expanding=True)),
    search_count.c.docs <= 0,
)


def _counts(entries: Iterable[Entry], family: str) -> list[tuple[int, int, Any, int, int]]:
    """Return in how many of the entries each word and tag stands, in the order of `search_count`."""
    counts: dict[tuple[int, int, int], Counter[str]] = {}
    for e in entries:
        for kind, keys in ((WORD, e.terms.keys()), (TAG, e.tags)):
            if keys:
                counts.setdefault((e.audience_id, kind, e.source), Counter()).update(keys)
    as_key = dialects.as_key
    return sorted(
        (audience, kind, as_key(key, family), source, docs)
        for (audience, kind, source), found in counts.items()
        for key, docs in found.items()
    )


def _totals(entries: Iterable[Entry]) -> dict[tuple[int, int], tuple[int, int]]:
    totals: dict[tuple[int, int], tuple[int, int]] = {}
    for e in entries:
        docs, words = totals.get((e.audience_id, e.source), (0, 0))
        totals[e.audience_id, e.source] = (docs + 1, words + e.words)
    return totals


def learn(connection: Connection, family: str, terms: set[str]) -> None:
    """Make words known to `search_vocab`: each under itself and under every ending of it."""
    unknown = terms - {UNLISTED}
    for part in chunks(sorted(unknown), 500):
        unknown.difference_update(
            map(stored_values.from_key, _known(family).run(connection, {"terms": part}).scalars())
        )
    teach(connection, family, sorted(unknown))


def teach(connection: Connection, family: str, words: Iterable[str]) -> None:
    """Insert what is missing of the words and their endings into `search_vocab`."""
    key = dialects.as_key
    missing = [(t, key(t, family)) for t in words]
    ready = [(0, key(ending, family), term) for t, term in missing for ending in endings(t)]
    ready += [(1, term, term) for _, term in missing]
    ready.sort(key=None if family == "sqlite" else _backwards)
    write_many(connection, _statement("vocab", family), ("head", "part", "term"), ready)


def _backwards(row: tuple[int, Any, Any]) -> tuple[Any, Any, int]:
    head, part, term = row
    return part[::-1], term, head


@lru_cache(maxsize=2)
def _known(family: str) -> Part:
    v = search_vocab.c
    terms = bindparam("terms", expanding=True, type_=Key(TERM_BYTES))
    return Part(select(v.part).where(v.head == 1, v.part.in_(terms), v.part == v.term), family)
