"""Candidates of a search: from the search tables, and from the rows themselves where these are not indexed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ..base import logs
from ..database import sources
from ..database.engine import Database
from ..database.sources import SourceTable
from ..errors import StoreReadError
from ..index.lookups import Wanted
from ..index.postings import Limits
from .gathered import Gathered, list_excluded
from .query import Query
from .question.question import Question
from .ranking import ranking
from .ranking.ranking import Candidate
from .reading import plain as search_plain
from .terms import FOLDED_CHARS, Search

MOST_COMPARED = 100_000
"""Newest visible rows of a source that recency mode compares."""
PLAIN_POOL = 200
"""Newest matching rows of a source that is not indexed, in the first round of relevance mode."""

Found = dict[tuple[int, int], Candidate]


def gather_candidates(
    search: Search,
    db: Database,
    question: Question,
    depth: int = 0,
    *,
    copies: Sequence[tuple[int, int]] = (),
    use_index: bool = True,
) -> Gathered:
    """Return the candidates; what is not indexed yet is asked by the plain predicates."""
    viewer = search.viewer
    if not viewer.audiences:
        return Gathered()
    if search.query.ranking == "recency":
        return gather_newest(search, db, depth)
    indexed = [s for s in search.query.sources if use_index and s.number in viewer.ready]
    plain = [s for s in search.query.sources if s not in indexed or s.number in viewer.waiting]
    made, found = Gathered(), Found()
    index_error: StoreReadError | ValueError | None = None
    if indexed:
        try:
            made = _indexed(search, db, question, [s.number for s in indexed], depth, copies)
            found = {(c.source, c.id): c for c in made.candidates}
        except (StoreReadError, ValueError) as error:
            logs.warning("search_index_unread", error=type(error).__name__, number=getattr(error, "number", None))
            use_index, plain = False, list(search.query.sources)
            index_error = error
    complete, errors = made.complete, dict[int, StoreReadError]()
    for source in plain:
        try:
            rows, is_all = _plain(search, db, source, depth, only_waiting=use_index and source.number in viewer.ready)
        except StoreReadError as error:
            log_unread(source.number, error)
            errors[source.number] = error
        else:
            for candidate in rows:
                found.setdefault((candidate.source, candidate.id), candidate)
            complete &= is_all
    if errors and len(errors) == len(search.query.sources):
        raise next(iter(errors.values()))
    by_source: dict[int, list[Candidate]] = {}
    for candidate in found.values():
        by_source.setdefault(candidate.source, []).append(candidate)
    candidates = [candidate for number in sorted(by_source) for candidate in by_source[number]]
    considered = {number: max(len(rows), made.considered.get(number, 0)) for number, rows in by_source.items()}
    return replace(
        made, candidates=candidates, complete=complete, considered=considered, errors=errors,
        index_error=index_error,
    )  # fmt: skip


def log_unread(source: int, error: StoreReadError) -> None:
    """Log that a source could not be read; the others' hits come back."""
    logs.warning("source_unread", source=sources.BY_NUMBER[source].table.name, number=error.number)


def _plain(
    search: Search, db: Database, source: SourceTable, depth: int, *, only_waiting: bool
) -> tuple[Sequence[Candidate], bool]:
    """Return the rows of a source that its index does not hold, and whether these are all that match."""
    pool = max(search.query.pool, PLAIN_POOL) * 8**depth
    asked = search_plain.question(source, search.query.tags, search.words, search.limits)
    asked = replace(
        asked,
        audiences=search.viewer.audiences,
        pool=pool,
        without_rows=tuple(list_excluded(search, source.number)),
        ids=search.viewer.waiting.get(source.number) if only_waiting else None,
    )
    rows = search_plain.search(db, asked)
    return rows, len(rows) < pool


def gather_newest(search: Search, db: Database, depth: int) -> Gathered:
    """Return the newest matching rows of each source by the plain predicates alone, in one statement."""
    limits = {source.number: _newest_limits(search, db, source) for source in search.query.sources}
    asked = [ask_plainly(search.query, source, search.words, limits[source.number]) for source in search.query.sources]
    pool = search.query.pool * 4**depth
    asked = [replace(one, audiences=search.viewer.audiences, pool=pool) for one in asked]
    persona, errors = search.viewer.scope.persona, dict[int, StoreReadError]()
    try:
        found, rows = search_plain.read_newest(db, persona, asked, search.chars, FOLDED_CHARS)
    except StoreReadError:
        found, rows = [], {}
        for one in asked:
            try:
                candidates, read = search_plain.read_newest(db, persona, [one], search.chars, FOLDED_CHARS)
            except StoreReadError as error:
                log_unread(one.source.number, error)
                errors[one.source.number] = error
            else:
                found += candidates
                rows |= read
        if len(errors) == len(asked):
            raise
    considered = Counter(c.source for c in found)
    cut = frozenset(number for number, count in considered.items() if count >= pool)
    newest_only = tuple(n for n, one in limits.items() if one != search.limits)
    return Gathered(
        ranking.tier_then_newest(found),
        cut=cut,
        considered=considered,
        errors=errors,
        rows=rows,
        newest_only=newest_only,
    )


def _newest_limits(search: Search, db: Database, source: SourceTable) -> Limits:
    """Return the limits of a search of one source: of very many visible rows only the newest are compared."""
    if search.viewer.visible_rows(source.number) <= MOST_COMPARED:
        return search.limits
    oldest = search_plain.find_nth_newest(db, source, search.limits.persona, search.viewer.audiences, MOST_COMPARED)
    if oldest is None or oldest <= search.limits.since_us:
        return search.limits
    return replace(search.limits, since_us=oldest)


def ask_plainly(query: Query, source: SourceTable, words: Sequence[Wanted], limits: Limits) -> search_plain.Question:
    """Return what a search asks of one source by the plain predicates."""
    without = sorted(row_id for name, row_id in query.exclude.rows if name == source.name)
    asked = search_plain.question(source, query.tags, words, limits)
    return replace(asked, pool=query.pool, without_rows=tuple(without))


def _indexed(
    search: Search,
    db: Database,
    question: Question,
    numbers: Sequence[int],
    depth: int,
    copies: Sequence[tuple[int, int]],
) -> Gathered:
    """Return the rows that the search tables lead to."""
    from . import best_rows, matches  # noqa: PLC0415 - load numpy, which only a search needs

    read = matches.read_matches(search, db, numbers)
    made = best_rows.gather_best(search, db, question, read, numbers, depth, copies)
    return replace(made, left_aside=read.left_aside)
