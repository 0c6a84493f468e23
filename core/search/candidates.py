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
from ..index.limits import Limits
from ..index.lookups import Wanted
from .gathered import Gathered
from .query import Query
from .question.question import Question
from .ranking import ranking
from .ranking.ranking import Candidate
from .reading import plain as search_plain
from .terms import FOLDED_CHARS, Search

MOST_COMPARED = 100_000
"""Newest visible rows of a source that recency mode compares."""
MOST_FALLBACK = 20_000
"""Newest visible rows of a source that are compared where the index leads to fewer rows than are wanted."""
PLAIN_POOL = 200
"""Newest matching rows of a source that is not indexed, in the first round of relevance mode."""


def gather_candidates(
    search: Search,
    db: Database,
    question: Question,
    depth: int = 0,
    *,
    copies: Sequence[tuple[int, int]] = (),
) -> Gathered:
    """Return the candidates: in relevance mode from the index, or by the plain predicates where it cannot be read."""
    if not search.viewer.audiences:
        return Gathered()
    if search.query.ranking == "recency":
        return gather_newest(search, db, depth)
    error = search.index_error
    if error is None:
        from . import best_rows, matches  # noqa: PLC0415 - load numpy, which only a search needs

        try:
            found = matches.read_matches(search, search.query.numbers, every=bool(question.days))
            gathered = best_rows.gather_best(search, question, found, depth, copies)
            return gathered if gathered.candidates or depth else best_rows.offer_person(search, question, gathered)
        except (StoreReadError, ValueError) as unread:
            error = unread
    logs.warning("search_index_unread", error=type(error).__name__, number=getattr(error, "number", None))
    return replace(_gather_plainly(search, db, depth), index_error=error)


def add_plain_matches(search: Search, db: Database, gathered: Gathered, depth: int) -> Gathered:
    """Return the candidates with the newest rows that hold a keyword by the plain predicate alone."""
    plain = _gather_plainly(search, db, depth, MOST_FALLBACK)
    known = {(c.source, c.id) for c in gathered.candidates}
    more = [c for c in plain.candidates if (c.source, c.id) not in known]
    considered = {**gathered.considered, **plain.considered}
    complete = gathered.complete and plain.complete
    candidates = [*gathered.candidates, *more]
    return replace(gathered, candidates=candidates, complete=complete, considered=considered, errors=plain.errors)


def _gather_plainly(search: Search, db: Database, depth: int, most: int = MOST_COMPARED) -> Gathered:
    """Return the newest rows that match by the plain predicates."""
    pool = max(search.query.pool, PLAIN_POOL) * 8**depth
    found: list[Candidate] = []
    considered: dict[int, int] = {}
    errors: dict[int, StoreReadError] = {}
    for source in search.query.sources:
        limits = _newest_limits(search, db, source, most)
        asked = ask_plainly(search.query, source, search.words, limits)
        try:
            rows = search_plain.search(db, replace(asked, audiences=search.viewer.audiences, pool=pool))
        except StoreReadError as error:
            log_unread(source.number, error)
            errors[source.number] = error
        else:
            found += rows
            considered[source.number] = len(rows)
    if errors and len(errors) == len(search.query.sources):
        raise next(iter(errors.values()))
    complete = all(count < pool for count in considered.values())
    return Gathered(found, complete, considered=considered, errors=errors)


def log_unread(source: int, error: StoreReadError) -> None:
    """Log that a source could not be read; the others' hits come back."""
    logs.warning("source_unread", source=sources.BY_NUMBER[source].table.name, number=error.number)


def gather_newest(search: Search, db: Database, depth: int) -> Gathered:
    """Return the newest matching rows of each source by the plain predicates alone, in one statement."""
    limits = {source.number: _newest_limits(search, db, source, MOST_COMPARED) for source in search.query.sources}
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


def _newest_limits(search: Search, db: Database, source: SourceTable, most: int) -> Limits:
    """Return the limits of a search of one source: of very many visible rows only the newest are compared."""
    if search.viewer.visible_rows(source.number) <= most:
        return search.limits
    oldest = search_plain.find_nth_newest(db, source, search.limits.persona, search.viewer.audiences, most)
    if oldest is None or oldest <= search.limits.since_us:
        return search.limits
    return replace(search.limits, since_us=oldest)


def ask_plainly(query: Query, source: SourceTable, words: Sequence[Wanted], limits: Limits) -> search_plain.Question:
    """Return what a search asks of one source by the plain predicates."""
    without = sorted(row_id for name, row_id in query.exclude.rows if name == source.name)
    asked = search_plain.question(source, query.tags, words, limits)
    return replace(asked, pool=query.pool, without_rows=tuple(without))
