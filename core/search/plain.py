"""Rows that match plain SQL conditions, newest first: all rows of recency mode, a fallback of relevance mode."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from ..database.bulk import chunks
from ..database.dialects import from_microseconds
from ..database.engine import Database
from ..database.sources import SourceTable
from ..errors import StoreReadError
from ..index.shapes import RowId
from . import table
from .rank import Ranked, Share, leave_best, weigh_alone
from .ranking.rows import Candidate, FoundRow
from .resolve import Search

if TYPE_CHECKING:
    from .holders import Holders

AT_ONCE = 256
"""Number of rows compared in one statement."""
MOST_COMPARED = 100_000
"""Maximum number of newest rows of a source compared in recency mode, or without the index."""
SLICE, SLICE_GROWTH = 2_000, 8
"""Number of newest rows of a source compared first, and the factor by which each next slice is larger."""
MOST_FALLBACK = 20_000
"""Maximum number of rows of a source compared, the newest first, if the index finds fewer rows than the limit."""


def add_newest(ranked: Ranked, db: Database, share: Share, most: int = MOST_FALLBACK) -> Ranked:
    """Return the candidates, and in addition the newest rows that match the plain predicates."""
    found, known = read_newest(ranked.search, db, share.plain_pool, most), {c.key for c in ranked.candidates}
    # The tier is set again from the texts: a short word matches only as a whole word.
    every = [*ranked.candidates, *(replace(c, tier=2) for c in found.candidates if c.key not in known)]
    alone = ranked.alone or weigh_alone(ranked.search, ranked.matches)
    candidates, is_whole = leave_best(every, share, alone)
    is_all = all(count < share.plain_pool for count in found.considered.values())
    return replace(
        ranked,
        candidates=candidates,
        is_complete=ranked.is_complete and is_all and is_whole,
        alone=alone,
        considered={**ranked.considered, **found.considered},
        rows={**ranked.rows, **found.rows},
        newest_only=found.newest_only if most == MOST_COMPARED else (),
        errors={**ranked.errors, **found.errors},
    )


def read_newest(search: Search, db: Database, pool: int, most: int) -> Ranked:
    """Return the newest matching rows of each source, at most `pool` of its newest `most`; skip unreadable sources."""
    found: list[Candidate] = []
    rows: dict[RowId, FoundRow] = {}
    errors: dict[int, StoreReadError] = {}
    newest_only: list[int] = []
    holders = _find_holders(search)
    for source in search.query.sources:
        try:
            if holders is None:
                mine, is_all = _read_slices(search, db, source, pool, most, rows)
            else:
                mine, is_all = _read_holders(db, source, pool, most, holders, rows)
        except StoreReadError as error:
            errors[source.number] = table.note_unread(source.number, error)
            continue
        found += mine
        newest_only += [] if is_all else [source.number]
    if errors and len(errors) == len(search.query.sources):
        raise next(iter(errors.values()))
    considered = Counter(c.source for c in found)
    return Ranked(search, found, considered=considered, rows=rows, newest_only=tuple(newest_only), errors=errors)


def _find_holders(search: Search) -> Holders | None:
    """Return the rows that can match; None if the index does not show them, so that every row is compared."""
    if search.index is None:
        return None
    from .holders import find_holders  # noqa: PLC0415 - loads numpy, which only a search needs

    try:
        return find_holders(search)
    except (StoreReadError, ValueError):
        return None


def _read_holders(
    db: Database, source: SourceTable, pool: int, most: int, holders: Holders, rows: dict[RowId, FoundRow]
) -> tuple[list[Candidate], bool]:
    """Return the newest `pool` matching rows of a source, and whether none of them can be missing.

    Rows that may hold both a tag and a keyword are compared first, then the others, newest first, until enough match.
    """
    search, may = holders.search, holders.list_rows(source, most)
    span = search.query.since, search.query.until
    found, newest = list[Candidate](), list[Candidate]()
    for ids in chunks(may.both, AT_ONCE):
        found += table.read_newest(db, search, source, span, AT_ONCE, rows, ids)
    others = iter(may.others)
    size = min(1 << pool.bit_length(), AT_ONCE)  # most of these rows do match
    while len(newest) < pool and (ids := list(islice(others, size))):
        newest += table.read_newest(db, search, source, span, pool - len(newest), rows, ids)
        size = AT_ONCE
    found = sorted([*found, *newest], key=lambda c: (c.tier, -c.at_us, -c.id))[:pool]
    is_full = len(found) >= pool and not (search.query.tags and search.query.keywords)
    return found, is_full or may.is_all


def _read_slices(
    search: Search, db: Database, source: SourceTable, pool: int, most: int, rows: dict[RowId, FoundRow]
) -> tuple[list[Candidate], bool]:
    """Return the newest `pool` matching rows of a source, and whether none of them can be missing.

    The newest rows are compared slice by slice until enough match. Without the index, or if tags and keywords are
    given, all rows are compared at once: a row that holds both comes first, whatever its age.
    """
    from .holders import find_nth_newest  # noqa: PLC0415 - loads numpy, which only a search needs

    query, found = search.query, list[Candidate]()
    has_tiers = bool(query.tags and query.keywords)
    size = most if has_tiers else min(SLICE, most)
    until = query.until
    while True:
        oldest_us = find_nth_newest(search, source, size)
        oldest = None if oldest_us is None else from_microseconds(oldest_us)
        is_last = oldest is None or (query.since is not None and oldest <= query.since)
        since = query.since if is_last else oldest
        if since is None or until is None or since < until:
            found += table.read_newest(db, search, source, (since, until), pool - len(found), rows)
            until = until if is_last else since
        is_full = not has_tiers and len(found) >= pool
        if is_last or is_full or size >= most:
            return found, is_last or is_full
        size = min(SLICE_GROWTH * size, most)
