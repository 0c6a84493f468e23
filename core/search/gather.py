"""The rows of one round of a search: the best of all that match by the index, or the newest that match as written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from ..base import logs
from ..database import sources
from ..database.engine import Database
from ..database.sources import SourceTable
from ..errors import CoreError, StoreReadError
from ..index.numbers import WORD
from ..text import times
from ..text.folding import fold
from ..text.question_words import asked_words, asks_about_person, is_question, list_phrases, self_words
from ..text.stems import stem
from ..text.time import Span, talk_words
from ..text.words import words
from . import table
from .question.people import named
from .question.question import Question, read_question
from .ranking.rows import Candidate, Kept, Place, RankingQuery, best_first, score_words, tier_then_newest
from .ranking.weights import INSIDE, rarity_weight
from .resolve import Search
from .table import Rows, read_source
from .terms import QueryTerm, count_rows, share_groups

if TYPE_CHECKING:
    from .likeness import Meanings
    from .matches import Matches
    from .ranking.all_rows import Ranked, Ranking

CONTEXT_REACH = 4
"""Messages after one that fits, and half as many before it, that may hold an answer: a reply comes soon."""
FEW_HITS = 20
"""Of so many hits one place is kept for the newest row about a question in the present, of more two."""
MOST_CORRECTED = 10
"""Best rows whose next line is read: it may take back what they say."""
NEAR_BEST = 16
"""Most rows that match nothing and stand beside one that does, where fewer hits are wanted."""
LEAST_READ = 24
"""Best candidates that are read, in relevance mode."""
LEAST_IN_ORDER = 72
"""The same where the first or last of them is asked for."""
MOST_COMPARED = 100_000
"""Newest visible rows of a source that recency mode compares."""
MOST_FALLBACK = 20_000
"""Newest visible rows of a source that are compared where the index leads to fewer rows than are wanted."""
MOST_OUTSIDE = 3
"""Hits from outside where nothing is stored in the span that is asked for."""
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
    asked: RankingQuery | None = None
    """What is asked, as the ranking sees it; None where no rows were ranked."""
    ranking: Ranking | None = None
    """What the index alone tells of the rows that match."""
    matches: Matches | None = None
    """What the index holds; None where it was not read."""
    newest_only: tuple[int, ...] = ()
    """Sources of which only the newest rows were compared (recency mode)."""
    missed: Sequence[Span] = ()
    """Spans that are asked for and in which nothing is stored."""
    meaning: Meanings | None = None
    """How near rows are to the message; None without an embedder, or where it failed."""
    meaning_error: CoreError | None = None
    """Why nothing is known about that: the words alone decide, in this round and those after it."""
    rows: Rows = field(default_factory=dict)
    """The rows themselves."""

    @property
    def most_read(self) -> int:
        """Return how many of the candidates are read at most."""
        least = LEAST_IN_ORDER if self.question.order else LEAST_READ
        return int((max(least, 3 * self.search.query.limit) + self.extra) * 4**self.depth)

    def count_matching(self) -> int:
        """Return how many candidates match by the index."""
        return len([c for c in self.candidates if c.matched])


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
            current.question = limit_question(search, current.question)
            asks_time = bool(current.question.spans or current.question.order)
            every = asks_time or search.embedder is not None or search.query.may_be_about_person
            question = current.question if current.question.is_limited or current.question.days else None
            current.matches = matches.read_matches(search, left_out, every=every, question=question)
            _gather_best(current, current.matches)
            if current.question.is_limited and not current.candidates and not current.depth:
                _leave_spans(current, matches.read_matches(search, left_out, every=every))
            if search.query.may_be_about_person and not current.depth:
                _add_statements(current, db, current.matches)
            if not (current.candidates or current.depth):
                _offer_person(current)
            return
        except (StoreReadError, ValueError) as unread:
            error = unread
    logs.warning("search_index_unread", error=type(error).__name__, number=getattr(error, "number", None))
    current.index_error = error
    add_plain_matches(current, db, MOST_COMPARED)


def limit_question(search: Search, question: Question) -> Question:
    """Return a question with whether its spans are a condition: of what others did people tell later, too."""
    if not (question.spans or question.order) or search.index is None:
        return question
    plans = question.is_request and bool(question.spans) and all(span.role == "about" for span in question.spans)
    if question.wants_duration or plans:  # `help me plan my next week` asks for more than what is known of that week
        return replace(question, order="")
    if not (question.self_person or question.other):
        names = {name for one in search.index.audiences.values() for name in one.view.names_in(search.query.text)}
        if named(search.query.text, names - {""}, question.languages):
            return replace(question, order="")
    return replace(question, is_limited=bool(question.spans))


def _leave_spans(current: Round, found: Matches) -> None:
    """Let a round that found nothing in the spans it asks for have a few rows from outside."""
    search, question = current.search, current.question
    current.missed = question.spans
    current.question = replace(question, spans=(), days=(), is_limited=False)
    if search.terms:
        current.search = replace(search, query=replace(search.query, limit=min(search.query.limit, MOST_OUTSIDE)))
        current.matches = found
        _gather_best(current, found)


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
    others = [each for each in ranked.best if not each.is_match]
    follows = {each.place + 1 for each in (*best[:MOST_CORRECTED], *(row for row, _ in ranked.kept))}
    following = [each for each in ranked.best if each.place in follows]
    others = [*others[: max(NEAR_BEST, search.query.limit)], *following]
    chosen = _choose_read(best, current) if search.query.text and search.embedder is None else best
    chosen = [*(row for row, _ in ranked.kept if row not in chosen), *chosen]
    candidates = all_rows.build_candidates(list(dict.fromkeys([*chosen, *others])), found.note)
    kept: dict[int, Kept] = {each.place: "correction" for each in following}
    kept |= {row.place: why for row, why in ranked.kept}
    by_day = bool(current.question.spans or current.question.order)
    for c in candidates:
        c.is_offered = c.is_offered and by_day and not c.context
        c.kept = kept.get(c.place, "")
    current.candidates = [c for c in candidates if c.context or c.matched or c.is_offered or search.is_proved_by_text]
    current.is_complete = ranked.open <= len(best) and len(chosen) == len(best)
    if not search.query.text:
        score_by_words(current, current.candidates)
        _leave_read(current)
    current.considered = ranked.matching


def rank_best(search: Search, question: Question, found: Matches, depth: int = 0) -> tuple[RankingQuery, Ranking]:
    """Return what is asked, and the best of all rows that match."""
    from . import matches  # noqa: PLC0415 - as in `gather`
    from .ranking import all_rows, days  # noqa: PLC0415

    asked = build_asked(search, question, found)
    by_words = not search.query.text
    talk = _list_talk(asked.languages) if question.spans or question.order else frozenset[str]()
    meant = [one for one, owners in found.owners.items() if any(_is_telling(search.terms[i], talk) for i in owners)]
    seen = [one for one in found.audiences if any(len(one.postings.of(each)[0]) for each in meant)]
    offered: Sequence[Any] = ()
    if question.spans and (days.are_short(question) or not seen or question.order):
        offered = matches.rows_inside(found.audiences, question)
    if question.order and not seen:
        offered = matches.rows_in_order(found.audiences, asked.asker if question.self_person else "", question.order)
    if question.spans or question.order or search.embedder is not None:
        seen = found.audiences
    ranking = all_rows.rank_all(
        seen,
        asked,
        here=search.viewer.scope.conversation or "",
        reach=CONTEXT_REACH if asked.has_answers and not by_words else 0,
        best=all_rows.BEST * 8**depth,
        newest=(1 if search.query.limit <= FEW_HITS else 2) if question.is_present and not by_words else 0,
        by_words=by_words,
        offered=offered,
    )
    return asked, ranking


def _is_telling(term: QueryTerm, talk: Collection[str]) -> bool:
    """Return whether a row that holds a term may be about what is asked."""
    return not talk or (term.kind != "minor" and term.text not in talk)


def _list_talk(languages: Sequence[str]) -> frozenset[str]:
    """Return words of talk and their stems: a row that holds nothing else of a question is no better than others."""
    said = {fold(word) for language in languages for word in talk_words(language)}
    return frozenset(said | {stem(word, languages) for word in said})


def _add_statements(current: Round, db: Database, found: Matches) -> None:
    """Add what a person told of themselves to the candidates, where the question is about the person as a whole."""
    from . import profile  # noqa: PLC0415 - as in `gather`

    search, asked = current.search, current.asked
    if asked is None or not asks_about_person(asked_words(search.query.text), asked.question.people, asked.languages):
        return
    keys = profile.list_keys(found.audiences, asked.question.people, asked.asker)
    known = {c.key: c for c in current.candidates}
    for one in profile.read_person(search, db, keys):
        place = one.row.source, one.row.id
        candidate = known.get(place) or Candidate(*place, one.row.at_us)
        candidate.is_offered, candidate.reasons["statement"] = True, one.worth
        known[place], current.rows[place] = candidate, one.row
    current.candidates = list(known.values())


def _offer_person(current: Round) -> None:
    """Let a round whose words lead nowhere have what whom it is about last said of themselves."""
    search = current.search
    if search.index is None or not search.query.is_question or current.asked is None:
        return
    if current.question.has_unread_time:  # what `I` last said is no answer to it
        return
    from . import matches  # noqa: PLC0415 - as in `gather`

    languages = current.question.languages
    terms = tuple(QueryTerm(word, "keyword", index_terms={(WORD, word): True}) for word in self_words(languages))
    found = matches.read_matches(replace(search, terms=terms), _list_excluded(search))
    question = _with_people(current.question, search, found)
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
    search, found = current.search, current.matches
    rows, mean = search.count_rows(search.query.numbers)
    alone = [replace(term, group=i) for i, term in enumerate(search.terms)]
    counts = [(int(term.kind != "tag"), True) for term in alone] if found is None else count_rows(alone, found.docs)
    terms = [replace(term, weight=rarity_weight(n, rows)) for term, (n, _) in zip(alone, counts, strict=True)]
    for c in candidates:
        c.score = score_words(c, terms, mean_words=mean)


# What is asked, as the ranking sees it


def question_of(search: Search, now: datetime) -> Question:
    """Return what the message asks; whom it names is told when it is known who spoke."""
    if not search.query.text or search.query.ranking != "relevance":
        return Question()
    zone, languages = times.zone(search.settings.timezone) or UTC, search.settings.languages
    question = read_question(search.query.text, now=now, zone=zone, speaker_names=(), languages=languages)
    if search.query.is_question:
        return question
    # `I meet Ann on Monday` names people and a day, and does not ask for what they said, or for what was said then.
    return Question(languages=question.languages)


def build_asked(search: Search, question: Question, found: Matches) -> RankingQuery:
    """Return what a search asks for: which words count, what each is worth, what the question tells."""
    question, languages = _with_people(question, search, found), search.settings.languages
    counts = count_rows(search.terms, found.docs)
    rows, mean_words = search.count_rows(search.query.numbers)
    weights = [rarity_weight(n, rows) if n else 0.0 for n, _ in counts]
    weighed = [replace(term, weight=weight) for term, weight in zip(search.terms, weights, strict=True)]
    terms = _leave_names(weighed, question, languages)
    most: dict[int, float] = {}
    for term, (_, is_whole) in zip(terms, counts, strict=True):
        most[term.group] = max(most.get(term.group, 0.0), term.weight if is_whole else INSIDE * term.weight)
    spoken = question.languages or tuple(languages)
    return RankingQuery(
        terms,
        max(sum(most.values()), 1e-9),
        mean_words,
        question,
        asker=search.viewer.scope.participant or "",
        has_answers=is_question(search.query.text, spoken),
        shares=share_groups(terms),
        languages=spoken,
        rarity=_rarity_in(search, rows) if question.is_limited else None,
    )


def _rarity_in(search: Search, rows: int) -> Callable[[str], float]:
    """Return what tells how rare a word is, 0 to 1."""
    assert search.index is not None
    lexicon, most = search.index.lexicon, rarity_weight(1, rows)
    return lambda word: rarity_weight(lexicon.rows(word) or rows, rows) / most


def _with_people(question: Question, search: Search, found: Matches) -> Question:
    """Return a question with whom of the speakers it names."""
    text = search.query.text
    names = {name for one in found.audiences for name in one.view.names_in(text) if name}
    return replace(question, people=named(text, names, question.languages)) if names else question


def _leave_names(terms: Sequence[QueryTerm], question: Question, languages: Sequence[str]) -> Sequence[QueryTerm]:
    """Return the terms without the weight of the names of speakers a question names, and of words that say `now`,
    where it asks for something else too.
    """
    parts = {part for name in question.people for part in words(name, 2)}
    if question.is_present:  # a line is no better for the word `now`
        parts |= {fold(word) for code in question.languages for word in list_phrases("now", code)}
    parts |= {stem(part, languages) for part in parts}
    texts = [term for term in terms if term.kind != "tag"]
    named_groups = {term.group for term in texts if fold(term.text) in parts}
    if not any(term.weight for term in texts if term.group not in named_groups):
        return terms
    texts = [replace(term, weight=0.0) if term.group in named_groups else term for term in texts]
    return [*texts, *terms[len(texts) :]]


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
