"""Runs the look-ups of a search: the second round trip. What each SELECT is stands in `index.postings`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..database import statements
from ..database.bulk import chunks
from ..database.dialects import from_key, like_pattern, microseconds, read_time
from ..database.engine import Database
from .lookups import Lookup
from .postings import BETWEEN, NO_MATCH, Limits, Shape, part_of, shape_of

MOST_BRANCHES = 96
"""Most branches of one statement; more are read in several."""

Posting = tuple[int, str, int, int, int, int, int]
"""One row found: number of the look-up, key (blank where it is not told), source, microseconds, row id, times, words.

A plain tuple: a search reads hundreds of them.
"""


@dataclass(frozen=True, slots=True)
class Read:
    """What the look-ups brought."""

    postings: list[Posting]
    full: bool
    """A look-up came back with as many rows as it may: there may be more."""


def read(db: Database, lookups: Sequence[Lookup], texts: Sequence[str], limits: Limits) -> Read:
    """Return the postings of all look-ups, in one round trip for up to MOST_BRANCHES of them.

    Args:
        lookups: from the plans in `search.ranking`.
        texts: the texts looked for, by the indexes of the look-ups.
        limits: what holds for all.

    Raises:
        StoreReadError: nothing could be read.
    """
    found: list[Posting] = []
    for part in chunks(enumerate(lookups), MOST_BRANCHES):
        found += _read_part(db, part, texts, limits)
    counts = Counter(p[0] for p in found)
    full = any(x.limit is not None and counts[n] >= x.limit for n, x in enumerate(lookups))
    return Read(found, full)


def _read_part(
    db: Database, lookups: Sequence[tuple[int, Lookup]], texts: Sequence[str], limits: Limits
) -> list[Posting]:
    packed = db.family == "mysql" and not any(lookup.distinct or lookup.kind == "walk" for _, lookup in lookups)
    rows = _asked(db, lookups, texts, limits, packed=packed)
    if packed:
        found = [_unpacked(*row) for row in rows]
        if None not in found:
            return [posting for some in found if some is not None for posting in some]
        rows = _asked(db, lookups, texts, limits, packed=False)
    keys: dict[Any, str] = {}
    made: list[Posting] = []
    for number, raw, source, at, row_id, times, words in rows:
        if at is None:  # a walk
            made.append((number, "", source, microseconds(read_time(raw and from_key(raw))), row_id, 1, 0))
            continue
        key = keys.get(raw)
        if key is None:
            key = keys[raw] = "" if raw is None else from_key(raw)
        # A union of numbers and NULLs comes as Decimal from some servers.
        made.append((number, key, source, int(at), row_id, int(times or 1), int(words or 0)))
    return made


def _asked(
    db: Database, lookups: Sequence[tuple[int, Lookup]], texts: Sequence[str], limits: Limits, *, packed: bool
) -> Sequence[Any]:
    shared = limits.values()
    values: list[Any] = []
    branches = []
    for number, lookup in lookups:
        shape = shape_of(lookup, limits)._replace(packed=packed)
        own = {**shared, **_values(number, shape, lookup, texts)}
        if lookup.between is not None:
            own["since_us"] = max(lookup.between[0], limits.since_us)
            own["until_us"] = min(lookup.between[1], limits.until_us)
        branches.append(part_of(shape, db.family).text(own, values))
    return db.read_driver(statements.union(branches, db.family), values, source="the search index")


def _unpacked(size: Any, packed: bytes | str | None) -> list[Posting] | None:
    """Return the postings of a branch; None where the text is not whole: servers cut it at a length of their own.

    Args:
        size: of all postings in bytes, each with what stands behind it.

    >>> _unpacked(34, b"0 2 7 1 1 9 tea\\n0 2 8 2 0 9 a tea"), _unpacked(34, b"0 2 7 1 1 9 tea\\n0 2 8 2 0 9 a")
    ([(0, 'tea', 2, 7, 1, 1, 9), (0, 'a tea', 2, 8, 2, 1, 9)], None)
    """
    if packed is None:
        return [] if size is None else None
    data = packed if isinstance(packed, bytes) else packed.encode("utf-8")
    lines = [line.split(" ", 6) for line in from_key(data).split(BETWEEN)]
    if len(data) + len(BETWEEN) != int(size) or any(len(line) < 7 for line in lines):
        return None
    return [
        (int(number), key, int(source), int(at), int(row_id), int(times) or 1, int(words))
        for number, source, at, row_id, times, words, key in lines
    ]


def _values(number: int, shape: Shape, lookup: Lookup, texts: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "i": number,
        "audiences": lookup.audiences,
        "keys": lookup.keys,
        "source": shape.source,
        "sources": lookup.sources,
        "limit": lookup.limit,
        "scan": lookup.scan,
        **{f"also_{n}": key for n, key in enumerate(lookup.also)},
    }
    for g, (group, places) in enumerate(zip(lookup.groups, shape.groups, strict=True)):
        for n in range(places):
            values[f"like{g}_{n}"] = like_pattern(texts[group[n]]) if n < len(group) else NO_MATCH
    return values
