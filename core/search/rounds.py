"""Run a search in rounds: each is deeper than the last, while there are too few hits and more rows may match.

Only this module decides how deep a round is, which copies it leaves out, and when words are widened.
"""

from collections.abc import Sequence
from dataclasses import replace

from ..base import logs
from ..database.engine import Database
from ..errors import StoreReadError
from ..index.shapes import RowId
from ..text.time import Span
from . import match, plain, rank
from .choose import Drop, Selection, choose_hits
from .match import Matches
from .rank import Ranked, Round
from .ranking import days
from .read import read_by_meaning, read_rows
from .resolve import Search, widen
from .table import find_copies

MOST_ROUNDS = 12
MOST_EARLIER = 2
"""Number of matches before a span of weeks that are added if nothing in the span matches."""
MOST_OUTSIDE = 3
"""Maximum number of hits from outside the spans of a question if nothing is stored in them."""


def start(search: Search, db: Database, before: Selection | None = None, *, extra: int = 0) -> Ranked:
    """Load the rows of the round after `before`, and `extra` more rows, since the caller may leave some rows out."""
    if before is None:
        current = Round(search, rank.question_of(search, search.query.now or db.clock()), extra=extra)
    else:
        last = before.read.round
        copies = [*last.copies, *find_copies(db, search.viewer.scope.persona, before.repeated)]
        current = replace(last, depth=last.depth + 1, copies=copies)
    ranked = _rank_wide(current, db)
    if search.embedder is None or search.query.ranking != "relevance":
        ranked = read_rows(ranked, db)
    else:
        ranked = read_by_meaning(ranked, db, None if before is None else before.read)
    return rank.add_changes(ranked, db) if before is None else rank.keep_changes(ranked, before.read)


def _rank_wide(current: Round, db: Database) -> Ranked:
    """Return the candidates of a round; if they are few, also rows with words that contain a keyword."""
    ranked, query = _rank(current, db), current.search.query
    if query.ranking == "relevance" and current.depth == 0 and ranked.matching < query.enough:
        wider = widen(ranked.search, is_empty=not ranked.matching)
        if wider is not None:
            ranked = _rank(replace(ranked.round, search=wider), db)
    is_by_index = query.ranking == "relevance" and ranked.index_error is None
    if is_by_index and not query.text and ranked.matching < query.enough:
        ranked = plain.add_newest(ranked, db)
    return ranked


def _rank(current: Round, db: Database) -> Ranked:
    """Return the candidates: in relevance mode from the index, else by plain SQL conditions."""
    search = current.search
    if not search.viewer.audiences:
        return Ranked(current)
    if search.query.ranking == "recency":
        return plain.read_newest(current, db, search.query.pool, plain.MOST_COMPARED)
    error = search.index_error
    if error is None:
        try:
            return _rank_by_index(replace(current, question=rank.limit_question(search, current.question)), db)
        except (StoreReadError, ValueError) as unread:
            error = unread
    logs.warning("search_index_unread", error=type(error).__name__, number=getattr(error, "number", None))
    return plain.add_newest(Ranked(current, index_error=error), db, plain.MOST_COMPARED)


def _rank_by_index(current: Round, db: Database) -> Ranked:
    search, question, is_first = current.search, current.question, not current.depth
    if is_first and question.days and search.index is not None:
        moved = rank.find_moved(search.index, question.days, search.viewer, db, search.settings.timezone)
        question = replace(question, moved=moved)
    every = bool(question.spans or question.order or search.embedder is not None or search.query.may_be_about_person)
    asked = question if question.is_limited or question.days else None
    left_out = [*rank.list_excluded(search), *current.copies]
    found = match.match(search, left_out, every=every, question=asked)
    ranked = rank.rank(replace(current, question=question), found)
    if question.is_limited and is_first:
        if ranked.candidates:
            ranked = _add_earlier(ranked, left_out)
        else:
            ranked = _leave_spans(ranked, match.match(search, left_out, every=every))
    if ranked.round.question.is_limited:
        ranked = rank.add_telling(ranked, db)
    if question.beside:
        ranked = _look_beside(ranked, found, left_out)
    if search.query.may_be_about_person and is_first:
        ranked = rank.add_statements(ranked, db)
    if is_first and (not ranked.candidates or rank.is_by_name_alone(ranked)):
        ranked = rank.offer_person(ranked)
    ranked = rank.keep_person(ranked)
    return rank.fill_with_person(ranked) if is_first else ranked


def _leave_spans(ranked: Ranked, found: Matches) -> Ranked:
    """If no row was found in the times that a question names, return a few rows from outside them."""
    missed = ranked.round.question.spans
    question = replace(ranked.round.question, spans=(), days=(), is_limited=False)
    current = replace(ranked.round, question=question, missed=missed)
    if not current.search.terms:
        return replace(ranked, round=current)
    if any(span.role == "said" for span in missed):  # for plans, all rows that help may be hits
        query = replace(current.search.query, limit=min(current.search.query.limit, MOST_OUTSIDE))
        current = replace(current, search=replace(current.search, query=query))
    return rank.rank(current, found)


def _add_earlier(ranked: Ranked, left_out: Sequence[RowId]) -> Ranked:
    """If no keyword matches in a named time of weeks (`my rent in June`), add the newest matches before that time."""
    current, keywords = ranked.round, ranked.search.keyword_ids
    starts = [span.start for span in current.question.spans if span.role == "said" and span.start is not None]
    if ranked.has_keyword or days.are_short(current.question) or not starts or not keywords:
        return ranked
    question = replace(current.question, spans=(Span(None, min(starts)),), days=())
    search = current.search
    earlier = rank.rank(replace(current, question=question), match.match(search, left_out, question=question))
    matching = [c for c in earlier.candidates if c.matched]  # of kinds, too: `moved` for `Where did I live in June?`
    matching.sort(key=lambda c: (keywords.isdisjoint(c.matched), -c.at_us))
    known = {c.key for c in ranked.candidates}
    return replace(ranked, candidates=[*ranked.candidates, *(c for c in matching[:MOST_EARLIER] if c.key not in known)])


def _look_beside(ranked: Ranked, found: Matches, left_out: Sequence[RowId]) -> Ranked:
    """Return rows before, after or since the event that a question names; `ranked` if no row is clearly about it."""
    current = ranked.round
    span = days.find_span_beside(found.audiences, ranked.candidates, current.question.beside)
    if span is None:
        return ranked
    question = replace(current.question, beside="", spans=(span,), is_limited=True)
    search = replace(current.search, terms=())  # its words name the event
    found = match.match(search, left_out, every=True, question=question)
    beside = rank.rank(replace(current, search=search, question=question), found)
    return beside if beside.candidates else ranked


def run(search: Search, db: Database, drop: Drop | None = None, after: Selection | None = None) -> Selection:
    """Return the hits of a search, after as many rounds as needed."""
    selection = after
    while True:
        read = start(search, db, selection)
        selection = choose_hits(read, drop)
        if selection.is_done or read.round.depth + 1 >= MOST_ROUNDS:
            return selection
