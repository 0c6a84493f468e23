"""Run a search in rounds: each is deeper than the last, while there are too few hits and more rows may match.

Only this module decides how deep a round is, which copies it leaves out, and when words are widened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..base import logs
from ..database.engine import Database
from ..errors import StoreReadError
from ..index.shapes import RowId
from . import match, plain, rank
from .choose import Drop, Selection, choose_hits
from .match import Matches
from .rank import Ranked, Round, Share
from .ranking import days
from .read import Read, read_by_meaning, read_rows
from .resolve import Search, widen
from .table import find_copies

MOST_ROUNDS = 12
BEST = 120
"""Maximum number of rows that the ranking of the first round returns."""
LEAST_READ = 24
"""Minimum number of candidates read in relevance mode."""
LEAST_IN_ORDER = 72
"""Minimum number of candidates read if the question asks for the first or last."""
MOST_OUTSIDE = 3
"""Maximum number of hits from outside the spans of a question if nothing is stored in them."""
PLAIN_POOL = 200
"""Minimum pool of matching rows of a source in the first round without the index (relevance mode)."""


def find_share(current: Round) -> Share:
    """Return how many rows go from stage to stage in a round."""
    query, depth = current.search.query, current.depth
    least = LEAST_IN_ORDER if current.question.order else LEAST_READ
    most_read = int((max(least, 3 * query.limit) + current.extra) * 4**depth)
    plain_pool = max(query.pool, PLAIN_POOL) * 8**depth
    return Share(BEST * 8**depth, most_read, 2 + current.extra // 4, plain_pool)


def start(search: Search, db: Database, before: Selection | None = None, *, extra: int = 0) -> Read:
    """Return the rows read in the next round.

    Args:
        before: selection of the round before.
        extra: how many more rows to read, since the caller leaves some out.
    """
    if before is None:
        current = Round(search, rank.question_of(search, db.clock()), extra=extra)
    else:
        last = before.read.round
        copies = [*last.copies, *find_copies(db, search.viewer.scope.persona, before.repeated)]
        current = replace(last, depth=last.depth + 1, copies=copies)
    current, ranked = _rank_wide(current, db)
    if search.embedder is None or search.query.ranking != "relevance":
        return read_rows(ranked, db, current)
    return read_by_meaning(ranked, db, current, find_share(current), None if before is None else before.read)


def _rank_wide(current: Round, db: Database) -> tuple[Round, Ranked]:
    """Return the candidates of a round; if there are few, also those with a keyword inside a word."""
    (current, ranked), query = _rank(current, db), current.search.query
    if query.ranking == "relevance" and current.depth == 0 and ranked.matching < query.enough:
        wider = widen(current.search, is_empty=not ranked.matching)
        if wider is not None:
            current, ranked = _rank(replace(current, search=wider), db)
    is_by_index = query.ranking == "relevance" and ranked.index_error is None
    if is_by_index and not query.text and ranked.matching < query.enough:
        ranked = plain.add_newest(ranked, db, find_share(current))
    return current, ranked


def _rank(current: Round, db: Database) -> tuple[Round, Ranked]:
    """Return the round and its candidates: in relevance mode from the index, else by the plain predicates."""
    search = current.search
    if not search.viewer.audiences:
        return current, Ranked(search)
    if search.query.ranking == "recency":
        return current, plain.read_newest(search, db, search.query.pool, plain.MOST_COMPARED)
    error = search.index_error
    if error is None:
        try:
            return _rank_by_index(replace(current, question=rank.limit_question(search, current.question)), db)
        except (StoreReadError, ValueError) as unread:
            error = unread
    logs.warning("search_index_unread", error=type(error).__name__, number=getattr(error, "number", None))
    ranked = Ranked(search, index_error=error)
    return current, plain.add_newest(ranked, db, find_share(current), plain.MOST_COMPARED)


def _rank_by_index(current: Round, db: Database) -> tuple[Round, Ranked]:
    begun, search, question, is_first = current, current.search, current.question, not current.depth
    every = bool(question.spans or question.order or search.embedder is not None or search.query.may_be_about_person)
    asked = question if question.is_limited or question.days else None
    left_out = [*rank.list_excluded(search), *current.copies]
    found = match.match(search, left_out, every=every, question=asked)
    ranked = rank.rank(search, question, found, find_share(current))
    if question.is_limited and is_first and not ranked.candidates:
        current, ranked = _leave_spans(current, ranked, match.match(search, left_out, every=every))
    if question.beside:
        current, ranked = _look_beside(begun, current, ranked, found, left_out)
    if search.query.may_be_about_person and is_first:
        ranked = rank.add_statements(ranked, db)
    if is_first and (not ranked.candidates or rank.is_by_name_alone(ranked)):
        ranked = rank.offer_person(ranked, current.question)
    return current, ranked


def _leave_spans(current: Round, ranked: Ranked, found: Matches) -> tuple[Round, Ranked]:
    """Return a few rows from outside the spans of a question, since none were found in them."""
    question = replace(current.question, spans=(), days=(), is_limited=False)
    current = replace(current, question=question, missed=current.question.spans)
    if not current.search.terms:
        return current, ranked
    if any(span.role == "said" for span in current.missed):  # for plans, all rows that help may be hits
        query = replace(current.search.query, limit=min(current.search.query.limit, MOST_OUTSIDE))
        current = replace(current, search=replace(current.search, query=query))
    return current, rank.rank(current.search, question, found, find_share(current))


def _look_beside(
    begun: Round, current: Round, ranked: Ranked, found: Matches, left_out: Sequence[RowId]
) -> tuple[Round, Ranked]:
    """Return the rows beside the event that a question names; the given ones if no row is clearly about the event.

    Args:
        begun: the round before the spans of its question were given up.
    """
    span = days.find_span_beside(found.audiences, ranked.candidates, begun.question.beside)
    if span is None:
        return current, ranked
    question = replace(begun.question, beside="", spans=(span,), is_limited=True)
    there = replace(current, search=replace(begun.search, terms=()), question=question)  # its words name the event
    found = match.match(there.search, left_out, every=True, question=question)
    beside = rank.rank(there.search, question, found, find_share(current))
    return (there, beside) if beside.candidates else (current, ranked)


def run(search: Search, db: Database, drop: Drop | None = None, after: Selection | None = None) -> Selection:
    """Return the hits of a search, after as many rounds as needed."""
    selection = after
    while True:
        read = start(search, db, selection)
        selection = choose_hits(read, drop)
        if selection.is_done or read.round.depth + 1 >= MOST_ROUNDS:
            return selection
