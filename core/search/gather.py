"""The rows of one round of a search: the best of all that match by the index, or the newest that match as written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from ..base import logs
from ..database import sources
from ..database.engine import Database
from ..database.sources import SourceTable
from ..errors import CoreError, StoreReadError
from ..index.entries import TAG
from ..text.question_words import self_words
from . import table
from .asked import build_asked, count_docs, with_people
from .query import Wanted
from .question.question import Question
from .ranking.rows import Asked, Candidate, Place, best_first, score_words, tier_then_newest
from .ranking.weights import rarity_weight
from .table import Rows, read_source
from .terms import Search

if TYPE_CHECKING:
    from .matches import Matches
    from .meaning import Meanings
    from .ranking.all_rows import Ranked, Ranking

CONTEXT_REACH = 4
"""Messages after one that fits, and half as many before it, that may hold an answer: a reply comes soon."""
NEAR_BEST = 16
"""Most rows that match nothing and stand beside one that does."""
LEAST_READ = 24
"""Best candidates that are read, in relevance mode."""
MOST_COMPARED = 100_000
"""Newest visible rows of a source that recency mode compares."""
MOST_FALLBACK = 20_000
"""Newest visible rows of a source that are compared where the index leads to fewer rows than are wanted."""
PLAIN_POOL = 200
"""Newest matching rows of a source that is not indexed, in the first round of relevance mode."""
_CHAT = sources.CHAT.number
T = TypeVar("T", Candidate, "Ranked")


@dataclass(slots=True, eq=False)
class Round:
    """One round of a search, filled step by step."""

    search: Search
    question: Question
    """What the message asks, but for whom it names."""
    depth: int = 0
    """How many rounds came before."""
    extra: int = 0
    """Rows to read beyond those that can become hits: some of these are left out."""
    copies: Sequence[Place] = ()
    """Messages that others read before stand for: no candidates any more."""
    candidates: Sequence[Candidate] = ()
    is_complete: bool = True
    """Every matching row is among the candidates; in recency mode, every one of the newest of each source."""
    cut: frozenset[int] = frozenset()
    """In recency mode, sources that may hold more matching rows than are among the candidates."""
    considered: Mapping[int, int] = field(default_factory=dict)
    """Source to the rows found."""
    errors: dict[int, StoreReadError] = field(default_factory=dict)
    """Sources that could not be read."""
    index_error: StoreReadError | ValueError | None = None
    """Why the search tables could not be read: the plain predicates were asked alone."""
    asked: Asked | None = None
    """What is asked, as the ranking sees it; None where no rows were ranked."""
    ranking: Ranking | None = None
    """What the index alone tells of the rows that match."""
    matches: Matches | None = None
    """What the index holds; None where it was not read."""
    newest_only: tuple[int, ...] = ()
    """Sources of which only the newest rows were compared (recency mode)."""
    meaning: Meanings | None = None
    """How near rows are to the message; None without an embedder, or where it failed."""
    meaning_error: CoreError | None = None
    """Why nothing is known about that: the words alone decide, in this round and those after it."""
    rows: Rows = field(default_factory=dict)
    """The rows themselves."""

    @property
    def most_read(self) -> int:
        """Return how many of the candidates are read at most."""
        return int((max(LEAST_READ, 3 * self.search.query.limit) + self.extra) * 4**self.depth)

    def count_matching(self) -> int:
        """Return how many candidates match by the index."""
        return len([c for c in self.candidates if c.matched or c.tags])


def gather(current: Round, db: Database) -> None:
    """Fill a round with its candidates: in relevance mode from the index, or by the plain predicates."""
    search = current.search
    if not search.viewer.audiences:
        return
    if search.query.ranking == "recency":
        _gather_newest(current, db)
        return
    error = search.index_error
    if error is None:
        from . import matches  # noqa: PLC0415 - loads numpy, which only a search needs

        left_out = [*_list_excluded(search), *current.copies]
        try:
            every = bool(current.question.days) or search.embedder is not None
            current.matches = matches.read_matches(search, left_out, every=every)
            _gather_best(current, current.matches)
            if not (current.candidates or current.depth):
                _offer_person(current)
            return
        except (StoreReadError, ValueError) as unread:
            error = unread
    logs.warning("search_index_unread", error=type(error).__name__, number=getattr(error, "number", None))
    current.index_error = error
    add_plain_matches(current, db, MOST_COMPARED)


def _list_excluded(search: Search) -> list[Place]:
    return [(sources.BY_NAME[name].number, row_id) for name, row_id in search.query.exclude.rows]


# From the index


def _gather_best(current: Round, found: Matches) -> None:
    """Fill a round with the best of all rows that match, and with what stands around them."""
    from .ranking import all_rows  # noqa: PLC0415 - as in `gather`

    search = current.search
    current.asked, ranked = rank_best(search, current.question, found, current.depth)
    current.ranking = ranked
    best = [each for each in ranked.best if each.is_match]
    others = [each for each in ranked.best if not each.is_match][:NEAR_BEST]
    chosen = _choose_read(best, current) if search.query.text and search.embedder is None else best
    candidates = all_rows.build_candidates([*chosen, *others], found.terms.note)
    by_day = bool(current.question.days)
    for c in candidates:
        c.is_offered = c.is_offered and by_day and not c.context
    current.candidates = [
        c for c in candidates if c.context or c.matched or c.tags or c.is_offered or search.is_proved_by_text
    ]
    current.is_complete = ranked.open <= len(best) and len(chosen) == len(best)
    if not search.query.text:
        score_by_words(current, current.candidates)
        _leave_read(current)
    current.considered = ranked.matching


def rank_best(search: Search, question: Question, found: Matches, depth: int = 0) -> tuple[Asked, Ranking]:
    """Return what is asked, and the best of all rows that match."""
    from . import matches  # noqa: PLC0415 - as in `gather`
    from .ranking import all_rows  # noqa: PLC0415

    names = set[str]().union(*(one.view.names_in(search.query.text) for one in found.audiences))
    asked = build_asked(search, question, names, found.docs)
    terms, by_words = [asked.terms.get(key, ()) for key in found.terms.keys], not search.query.text
    meant = [n for n, means in enumerate(terms) if means]
    seen = [one for one in found.audiences if any(one.postings.counts[n] for n in meant)]
    of_days: Sequence[Any] = ()
    if question.days:
        of_days = matches.rows_of_days(found.audiences, asked.days, is_all=not seen)
    if question.days or search.embedder is not None:
        seen = found.audiences
    ranking = all_rows.rank_all(
        seen,
        terms,
        asked,
        here=search.viewer.scope.conversation or "",
        reach=CONTEXT_REACH if asked.has_answers and not by_words else 0,
        best=all_rows.BEST * 8**depth,
        by_words=by_words,
        offered=of_days,
    )
    return asked, ranking


def _offer_person(current: Round) -> None:
    """Let a round whose words lead nowhere have what whom it is about last said of themselves."""
    search = current.search
    if search.index is None or not search.query.is_question or current.asked is None:
        return
    from . import matches  # noqa: PLC0415 - as in `gather`

    words = tuple(Wanted(word, True, False, terms={word: True}) for word in self_words(current.question.languages))
    found = matches.read_matches(replace(search, words=words), _list_excluded(search))
    names = set[str]().union(*(one.view.names_in(search.query.text) for one in found.audiences))
    question = with_people(current.question, search.query.text, names)
    if not (question.people or question.self_person):
        return
    rows = matches.rows_of_person(found.audiences, question, current.asked.asker)
    current.candidates = [Candidate(_CHAT, *row, is_offered=True) for row in rows]
    current.asked = replace(current.asked, question=question)
    current.considered = {_CHAT: len(rows)}


def _choose_read(ordered: Sequence[T], current: Round) -> list[T]:
    """Return the rows to read of those found, best first: the best, some of each source, and what fits best by its
    own words.
    """
    most, of_each = current.most_read, 2 + current.extra // 4
    own = max((each.own for each in ordered), default=0.0)
    kept, counts = [], Counter[int]()
    for n, each in enumerate(ordered):
        counts[each.source] += 1
        is_best = each.own == own > 0
        if n < most or counts[each.source] <= of_each or is_best:
            kept.append(each)
        own = 0.0 if is_best else own
    return kept


def _leave_read(current: Round) -> None:
    """Leave of the candidates those that are read."""
    ordered = best_first(c for c in current.candidates if not c.context)
    kept = _choose_read(ordered, current)
    current.candidates = [*kept, *(c for c in current.candidates if c.context)]
    current.is_complete = current.is_complete and len(kept) == len(ordered)


def leave_read_by_meaning(current: Round) -> None:
    """Leave of the candidates, once their meaning is known, those that are read."""
    if (meaning := current.meaning) is not None:
        most = max((c.score for c in current.candidates), default=0.0) or 1.0
        for c in current.candidates:
            c.score += most * meaning.of(c.source, c.id)
    _leave_read(current)


def score_by_words(current: Round, candidates: Sequence[Candidate]) -> None:
    """Score candidates by what they match themselves: all there is where no message tells more."""
    search, docs = current.search, {} if current.matches is None else current.matches.docs
    rows, mean = search.count_rows(search.query.numbers)
    worth = [rarity_weight(n, rows) for n in count_docs(search, docs)]
    tag_worth = {tag: rarity_weight(docs.get((TAG, tag), 0), rows) for tag in search.query.tags}
    for c in candidates:
        c.score = score_words(c, search.texts, worth, tag_worth, mean_words=mean)


# By the plain predicates


def add_plain_matches(current: Round, db: Database, most: int = MOST_FALLBACK) -> None:
    """Add the newest rows that match by the plain predicates to the candidates."""
    pool = max(current.search.query.pool, PLAIN_POOL) * 8**current.depth
    known = {c.key for c in current.candidates}
    rows = _read_newest(current, db, pool, most)
    current.considered = {**current.considered, **(counts := Counter(c.source for c in rows))}
    current.is_complete = current.is_complete and all(count < pool for count in counts.values())
    current.candidates = [*current.candidates, *(c for c in rows if c.key not in known)]
    score_by_words(current, current.candidates)
    _leave_read(current)


def _gather_newest(current: Round, db: Database) -> None:
    """Fill a round with the newest matching rows of each source, and with the rows themselves."""
    pool = current.search.query.pool * 4**current.depth
    current.candidates = tier_then_newest(_read_newest(current, db, pool, MOST_COMPARED))
    current.considered = considered = Counter(c.source for c in current.candidates)
    current.cut = frozenset(number for number, count in considered.items() if count >= pool)


def _read_newest(current: Round, db: Database, pool: int, most: int) -> list[Candidate]:
    """Return the newest rows of each source that match, at most `pool` of the newest `most`; the others' where one
    cannot be read.
    """
    search = current.search
    found: list[Candidate] = []
    for source in search.query.sources:
        try:
            since = _find_since(search, db, source, most)
            if since != search.query.since and most == MOST_COMPARED:
                current.newest_only += (source.number,)
            found += table.read_newest(db, search, source, since, pool, current.rows)
        except StoreReadError as error:
            note_unread(current, source.number, error)
    if current.errors and len(current.errors) == len(search.query.sources):
        raise next(iter(current.errors.values()))
    return found


def note_unread(current: Round, source: int, error: StoreReadError) -> None:
    """Note that a source could not be read; the others' hits come back."""
    logs.warning("source_unread", source=sources.BY_NUMBER[source].table.name, number=error.number)
    current.errors[source] = error


def _find_since(search: Search, db: Database, source: SourceTable, most: int) -> datetime | None:
    """Return the earliest time of a search of one source: of very many visible rows only the newest are compared."""
    since = search.query.since
    if search.index is not None and search.count_rows([source.number])[0] <= most:
        return since
    oldest = table.find_nth_newest(db, search, source, most)
    return since if oldest is None or (since is not None and oldest <= since) else oldest


# The rows


def read_rows(current: Round, db: Database) -> None:
    """Read the candidates, but where they came along."""
    search = current.search
    if search.query.ranking == "recency":
        return
    values = {
        "persona": search.viewer.scope.persona,
        "audiences": search.viewer.audiences,
        "here": search.viewer.scope.conversation or "",
        "now": db.clock(),
        "chars": search.chars,
    }
    ids: dict[int, dict[int, None]] = {}
    for c in current.candidates:
        if (c.source, c.id) not in current.rows:
            ids.setdefault(c.source, {})[c.id] = None
    for number in sorted(ids):
        try:
            current.rows |= read_source(db, number, list(ids[number]), values, search.viewer.scope.persona)
        except StoreReadError as error:
            note_unread(current, number, error)
