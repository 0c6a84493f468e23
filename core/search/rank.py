"""Second stage of a search: rank the matching rows by the index, and return the best as candidates, unread."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache, partial
from itertools import islice
from typing import Any

import numpy as np

from ..access.view import Viewer
from ..base.groups import group
from ..database import sources
from ..database.dialects import from_microseconds
from ..database.engine import Database
from ..errors import CoreError, StoreReadError
from ..index.entries import calendar_of
from ..index.lexicon import Lexicon
from ..index.numbers import Floats, LocalRows, ViewRows, take
from ..index.shapes import DAY, WORD, RowId
from ..index.state import IndexState
from ..index.visible import Visible
from ..text import question_words, times
from ..text.folding import fold
from ..text.stems import stem
from ..text.time import Span, name_words, name_yearly, names_talk, talk_words
from ..text.words import list_terms, stop_words, words
from . import match, profile
from .changes import find_changes, is_task
from .match import Matches
from .question import Question, find_called, find_spoken, named, read_question
from .ranking import days, ranking
from .ranking.frame import keep_spoken
from .ranking.ranking import Ranking
from .ranking.relevance import Near
from .ranking.rows import CHAT, FILLING, FILLING_LAST, Candidate, FoundRow, Kept, RankingQuery, WordScorer, newest_first
from .ranking.weights import EARLIER, INSIDE, LEAST_CONTEXT, LEAST_REFERRED, WEIGHTS, rarity_weight
from .resolve import Search
from .table import Errors, Rows, read_rows, read_values
from .terms import QueryTerm, count_alone, count_rows, share_groups

CONTEXT_REACH = 4
"""Number of messages before and after a match that may hold the answer."""
FEW_HITS = 20
"""Number of requested hits up to which a question about now keeps one place for the newest match; above it, two."""
MOST_OF_PERSON = 3
"""Maximum number of messages, of all people asked about together, that may be hits if nothing else matches."""
MOST_PLANS, MOST_STATES = 12, 2
"""Number of best rows whose later changes are looked up: if limited to a time, or tasks; other rows."""
MOST_OF_SPAN = 1_000
"""Maximum number of rows, the newest, that are read for a question that names only a span, or in another zone."""
MOST_TELLING = 3
"""Number of a row's rarest terms whose rarity is averaged."""
NEAR_BEST = 16
"""Minimum number of neighbours of matches that are read."""
MOST_CORRECTED = 10
"""Number of best rows whose next message is read, since it may correct them."""
BEST = 120
"""Maximum number of rows that the ranking of the first round returns."""
LEAST_READ = 24
"""Minimum number of candidates read in relevance mode."""
LEAST_IN_ORDER = 72
"""Minimum number of candidates read if the question asks for the first or last of something."""
ZONE_STEPS = tuple(timedelta(sign * step) for step in (0, 1, 2, 7, 28, 29, 30, 31, 365, 366) for sign in (-1, 1))
"""Differences between what words such as `tomorrow`, `Friday` and `the 4th` may mean in two time zones."""
PLAIN_POOL = 200
"""Minimum number of matching rows of a source read by plain SQL in the first round, in relevance mode."""


@dataclass(frozen=True, slots=True)
class Round:
    """State at the beginning of a search round (`rounds`), and the numbers of rows that its stages may pass on."""

    search: Search
    question: Question
    """Question of the message, without the people it names."""
    depth: int = 0
    """Number of rounds before this one."""
    extra: int = 0
    """Number of additional rows to load, since the caller leaves some rows out."""
    copies: Sequence[RowId] = ()
    """Copies of messages that earlier rounds loaded; the copies are not candidates."""
    missed: Sequence[Span] = ()
    """Spans of the question in which nothing is stored."""

    @property
    def best(self) -> int:
        """Return the maximum number of rows that the ranking returns."""
        return int(max(BEST, self.search.query.limit * 6 // 5) * 8**self.depth)

    @property
    def most_read(self) -> int:
        """Return the maximum number of candidates that are read in relevance mode."""
        least = LEAST_IN_ORDER if self.question.order else LEAST_READ
        return int((max(least, 3 * self.search.query.limit) + self.extra) * 4**self.depth)

    @property
    def of_each(self) -> int:
        """Return how many best candidates of each source are read, even if other sources' candidates score higher."""
        return 2 + self.extra // 4

    @property
    def plain_pool(self) -> int:
        """Return how many of the newest matching rows of a source plain SQL loads, in relevance mode."""
        return int(max(self.search.query.pool, PLAIN_POOL) * 8**self.depth)


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """The candidates of a round; `search.read` adds their texts and similarities."""

    round: Round
    candidates: Sequence[Candidate] = ()
    is_complete: bool = True
    """Whether all matching rows are candidates; in recency mode, whether the newest rows of each source are."""
    considered: Mapping[int, int] = field(default_factory=dict)
    """Number of rows found, by source."""
    query: RankingQuery | None = None
    """Query of the ranking; None if no rows were ranked."""
    matches: Matches | None = None
    """Matches in the index; None if it was not read."""
    ranking: Ranking | None = None
    """Ranking of the matches from index data alone."""
    alone: WordScorer | None = None
    """Scorer by terms alone, used if the search has no message."""
    rows: Rows = field(default_factory=dict)
    newest_only: tuple[int, ...] = ()
    """Sources with too many matching rows: only the newest were compared."""
    errors: Errors = field(default_factory=dict)
    asked: Floats | None = None
    """Vector of the message, reused by deeper rounds; None without an embedder, or if it failed."""
    near: Near | None = None
    """Similarities of the rows to the message; None if no vectors were compared."""
    meaning_error: CoreError | None = None
    """Error that made similarities unavailable: only words count, in this and later rounds."""
    index_error: StoreReadError | ValueError | None = None
    """Error reading the index, after which only plain SQL predicates were used."""

    @property
    def search(self) -> Search:
        return self.round.search

    @property
    def has_keyword(self) -> bool:
        """Return whether any of the candidates contains a keyword of the question."""
        return any(not self.search.keyword_ids.isdisjoint(c.matched) for c in self.candidates)

    @property
    def matching(self) -> int:
        """Return the number of candidates that match in the index."""
        return len([c for c in self.candidates if c.matched])


def list_excluded(search: Search) -> list[RowId]:
    return [(sources.BY_NAME[name].number, row_id) for name, row_id in search.query.exclude.rows]


def rank(current: Round, found: Matches) -> Ranked:
    """Return the best matching rows and their neighbours."""
    query, ranking = rank_best(current, found)
    candidates, is_complete = _list_candidates(current, found, ranking)
    alone = None
    if not current.search.query.text:
        alone = weigh_alone(current.search, found)
        candidates, is_whole = leave_best(candidates, current, alone)
        is_complete = is_complete and is_whole
    return Ranked(current, candidates, is_complete, ranking.considered, query, found, ranking, alone)


def rank_best(current: Round, found: Matches) -> tuple[RankingQuery, Ranking]:
    search, question = current.search, current.question
    query, is_of_time = build_query(search, question, found), bool(question.spans or question.order)
    talk = _list_talk(tuple(query.languages)) if is_of_time else frozenset[str]()
    if is_of_time:  # the name of a speaker is no subject: `What has Ann done since May?`
        talk |= _list_name_parts(query.question, query.languages)
        talk |= _list_times(question.languages)
    # Terms of the subject of the question.
    telling = {i for i, t in enumerate(search.terms) if not talk or (t.kind != "minor" and t.text not in talk)}
    meant = [one for one, owners in found.owners.items() if not telling.isdisjoint(owners)]
    seen = [one for one in found.audiences if any(len(one.postings.find(each)[0]) for each in meant)]
    offered: Sequence[ViewRows] = ()
    every = found.audiences
    if is_of_time and not seen and query.question.people:  # `What did Ann say last week?`
        every = keep_spoken(every, "name", query.question.people)
    elif is_of_time and not seen and _asks_for_own_words(current):  # `What did I say last week?`
        every = keep_spoken(every, "key", query.asker)
    if question.spans and (days.are_short(question) or not seen or question.order):
        offered = days.list_inside(every, question)
    if question.order and not seen:
        offered = days.list_in_order(every, query)
    audiences = every if is_of_time or search.embedder is not None else seen
    return query, ranking.rank_rows(audiences, query, offered, current.best)


def _asks_for_own_words(current: Round) -> bool:
    """Return whether a question asks what the asker said: it speaks of nobody else, and has a word such as `said`."""
    question, words = current.question, question_words.asked_words(current.search.query.text)
    if not question.self_person or question.other or question_words.holds(words, "subjects", question.languages):
        return False
    return names_talk(words, question.languages)


@lru_cache(maxsize=16)
def _list_talk(languages: tuple[str, ...]) -> frozenset[str]:
    """Return words about talking (`said`, `told`), stop words and their stems: a question is not about them."""
    said = {fold(word) for language in languages for word in talk_words(language) | stop_words(language)}
    return frozenset(said | {stem(word, languages) for word in said})


@lru_cache(maxsize=16)
def _list_times(languages: tuple[str, ...]) -> frozenset[str]:
    """Return the words that name a time, such as `week`."""
    return frozenset(fold(word) for language in languages for word in name_words(language))


@lru_cache(maxsize=16)
def _list_now(spoken: tuple[str, ...], languages: tuple[str, ...]) -> frozenset[str]:
    """Return words such as `now` in the spoken languages, and their stems in `languages`."""
    now = {fold(word) for language in spoken for word in question_words.list_phrases("now", language)}
    return frozenset(now | {stem(word, languages) for word in now})


def _list_candidates(current: Round, found: Matches, ranked: Ranking) -> tuple[list[Candidate], bool]:
    """Return (rows to read, as candidates; whether these are all rows that match)."""
    search, question, around = current.search, current.question, ranked.around
    if around is None:
        return [], True
    is_match = around.is_match[ranked.best]
    best, others = take(ranked.best, is_match), take(ranked.best, ~is_match)
    chosen: list[int] = best.tolist()
    if search.query.text and search.embedder is None:
        chosen = [chosen[n] for n in choose_read(around.frame.source[best].tolist(), around.list_own(best), current)]
    why: dict[int, Kept] = {row: reason for rows, reason in ranked.kept for row in rows.tolist()}
    following: list[int] = []
    if search.query.text:
        places, thread = around.frame.places, around.frame.thread
        corrected = np.concatenate([best[:MOST_CORRECTED], *(rows for rows, _ in ranked.kept)])
        after = np.minimum(corrected + 1, len(places) - 1)
        follows = (places[after] == places[corrected] + 1) & (thread[after] == thread[corrected])
        next_rows = set(after[follows].tolist())
        following = [row for row in ranked.best.tolist() if row in next_rows]
    chosen = [*(row for row in why if row not in chosen), *chosen]
    near = others[: max(NEAR_BEST, search.query.limit)].tolist()
    listed = LocalRows(np.array(list(dict.fromkeys([*chosen, *near, *following])), np.int64))
    why = {**dict.fromkeys(following, "correction"), **why}
    offers = bool(question.spans or question.order)
    candidates = ranking.build_candidates(ranked.seen, around, listed, found.read_held, why, offers=offers)
    may_match = search.is_proved_by_text
    candidates = [c for c in candidates if c.context or c.matched or c.is_offered or may_match]
    return candidates, ranked.open <= len(best) and len(chosen) == len(best)


def choose_read(sources_of: Sequence[int], own_of: Sequence[float], current: Round) -> list[int]:
    """Return positions of rows to load: the best, a few of each source, and the row with the top score in `own_of`."""
    own, most_read, of_each = max(own_of, default=0.0), current.most_read, current.of_each
    kept, counts = [], Counter[int]()
    for n, (source, mine) in enumerate(zip(sources_of, own_of, strict=True)):
        counts[source] += 1
        is_best = mine == own > 0
        if n < most_read or counts[source] <= of_each or is_best:
            kept.append(n)
        own = 0.0 if is_best else own
    return kept


def leave_best(
    candidates: Sequence[Candidate], current: Round, alone: WordScorer | None = None
) -> tuple[list[Candidate], bool]:
    """Return (the best candidates, by the scorer `alone` if given, else by their scores; whether these are all)."""
    ordered = newest_first(c for c in candidates if not c.context)
    ordered.sort(key=lambda c: (-(c.score if alone is None else alone.score(c.matched, c.words)), c.tier))
    kept = choose_read([c.source for c in ordered], [c.own for c in ordered], current)
    return [*(ordered[n] for n in kept), *(c for c in candidates if c.context)], len(kept) == len(ordered)


def weigh_alone(search: Search, found: Matches | None) -> WordScorer:
    """Return a scorer that weighs each term by its own rarity, not by that of its group."""
    rows, mean = search.count_rows(search.query.numbers)
    counts = [
        int(term.kind != "tag") if found is None else count_alone(term, lambda one: found.docs.get(one, 0))
        for term in search.terms
    ]
    return WordScorer(search.terms, [rarity_weight(n, rows) for n in counts], mean)


# Rows without a match that are offered as answers


def add_statements(ranked: Ranked, db: Database) -> Ranked:
    """Add the statements of the person asked about; if they are few, also the messages with the rarest words."""
    search, query, found = ranked.search, ranked.query, ranked.matches
    if query is None or found is None:
        return ranked
    words, people = question_words.asked_words(search.query.text), query.question.people
    asked = (words, question_words.leave_now(words, query.languages))
    if not any(question_words.asks_about_person(each, people, question_words.ABOUT) for each in asked):
        return ranked
    views = [one.view for one in found.audiences]
    keys = {view.speakers[n].key for view in views for n in view.find_speakers("name", people)} - {""}
    worth = [(one.row, one.worth) for one in profile.read_person(search, db, keys if people else query.asker)]
    if len(worth) < search.query.limit:
        about = replace(query, question=replace(query.question, self_person=not people, other=False))
        said = match.match(replace(search, terms=()), list_excluded(search), every=True)
        worth += _list_telling_rows(search, about, said, profile.MOST_READ, profile.LINE / 2, db)
    return _offer_rows(ranked, worth)


def add_telling(ranked: Ranked, db: Database) -> Ranked:
    """If no candidate has a keyword in a long named time, add the messages of that time with the rarest words."""
    query, found, is_all_read = ranked.query, ranked.matches, ranked.is_complete and not ranked.round.depth
    if is_all_read or ranked.has_keyword or ranked.round.question.order or query is None or found is None:
        return ranked
    return _offer_rows(ranked, _list_telling_rows(ranked.search, query, found, MOST_OF_SPAN, profile.LINE, db))


def _offer_rows(ranked: Ranked, worth: Sequence[tuple[FoundRow, float]], kept: Kept = "") -> Ranked:
    """Add rows to the candidates, each with its value as the ranking reason `statement`, or marked `kept`."""
    if not worth:
        return ranked
    known, rows, excluded = {c.key: c for c in ranked.candidates}, dict(ranked.rows), list_excluded(ranked.search)
    for row, value in worth:
        if (key := (row.source, row.id)) not in excluded:
            c = known.get(key) or Candidate(*key, row.at_us)
            reasons = c.reasons if kept else {"statement": value, **c.reasons}
            score = c.score + WEIGHTS["statement"].short * value
            known[key] = replace(c, is_offered=True, reasons=reasons, score=score, kept=kept or c.kept)
            rows[key] = row
    return replace(ranked, candidates=list(known.values()), rows=rows)


def add_changes(ranked: Ranked, db: Database) -> Ranked:
    """Add to the candidates messages that move, cancel or end what the best candidates say."""
    search, question = ranked.search, ranked.round.question
    if search.index is None or ranked.round.missed:
        return ranked
    best = (row for c in ranked.candidates if not c.context and (row := ranked.rows.get(c.key)) is not None)
    said = [*islice(best, MOST_PLANS)]
    if not question.is_limited:
        states = MOST_STATES if question.is_present else 0
        said = [*said[:states], *filter(is_task, said[states:])]
    if not said:
        return ranked
    values = read_values(search.viewer, db, search.chars, search.searched_chars)
    found = find_changes(db, search.index, said, values, search.query.languages, partial(match.read_bounds, search))
    return _offer_changes(ranked, found)


def keep_changes(ranked: Ranked, before: Ranked) -> Ranked:
    """Add to the candidates the changes found by the previous round, `before`."""
    found = group((c.changes, before.rows[c.key]) for c in before.candidates if c.changes is not None)
    return _offer_changes(ranked, found)


def _offer_changes(ranked: Ranked, found: Mapping[RowId, Sequence[FoundRow]]) -> Ranked:
    """Add messages to the candidates; `found` has the messages that change each row, better rows first."""
    pairs = [(row, key) for key, rows in found.items() for row in rows]
    if not pairs:
        return ranked
    changed = {(row.source, row.id): key for row, key in reversed(pairs)}
    ranked = _offer_rows(ranked, [(row, 0.0) for row, _ in pairs], "newest")
    candidates = [
        replace(c, changes=changed[c.key], context=False, tier=2) if c.key in changed else c for c in ranked.candidates
    ]
    return replace(ranked, candidates=candidates)


def _list_telling_rows(
    search: Search, query: RankingQuery, said: Matches, most: int, weight: float, db: Database
) -> list[tuple[FoundRow, float]]:
    """Return, with values, the messages with the rarest words among the `most` newest of the people asked about."""
    if search.index is None:
        return []
    ids = [(CHAT, row_id) for row_id, _ in match.list_rows_of_person(said, query, most)]
    read, _ = read_rows(db, ids, read_values(search.viewer, db, search.chars, search.searched_chars))
    found, (count, _) = list(read.values()), search.count_rows(search.query.numbers)
    telling = _weigh_texts(search.index.lexicon, count, [list_terms(row.folded) for row in found])
    best = sorted(zip(found, telling, strict=True), key=lambda each: (-each[1], -each[0].at_us))
    return [(row, weight * value) for row, value in best[: search.query.limit]]


def is_by_name_alone(ranked: Ranked) -> bool:
    """Return whether the rows match a question only by the name of the person that it is about."""
    search, query, found = ranked.search, ranked.query, ranked.matches
    if query is None or found is None or not query.question.people:
        return False
    parts = _list_name_parts(query.question, search.query.languages)
    others = (term for term in search.terms if term.kind == "tag" or term.text not in parts)
    return not any(count_alone(term, lambda one: found.docs.get(one, 0)) for term in others)


def offer_person(ranked: Ranked) -> Ranked:
    """Add to the candidates the latest messages of the person asked about, preferably with words such as `I`."""
    search, query, question = ranked.search, ranked.query, ranked.round.question
    is_unread = question.has_unread_time  # the asker's last statements are no answer
    if search.index is None or not search.query.is_question or query is None or is_unread:
        return ranked
    words_of_self = question_words.self_words(question.languages)
    terms = tuple(QueryTerm(word, "keyword", index_terms={(WORD, word): True}) for word in words_of_self)
    found = match.match(replace(search, terms=terms), list_excluded(search), every=True)
    query = replace(query, question=_with_people(question, search, found))
    if not (query.question.people or query.question.self_person):
        return ranked
    newest = match.list_rows_of_person(found, query, MOST_OF_PERSON, is_matching=True)
    if query.question.people and not newest:
        newest = match.list_rows_of_person(found, query, MOST_OF_PERSON)
    candidates = _add_messages(ranked.candidates, newest)
    added = len(candidates) - len(ranked.candidates)
    considered = {**ranked.considered, CHAT: ranked.considered.get(CHAT, 0) + added}
    return replace(ranked, candidates=candidates, query=query, considered=considered)


def keep_person(ranked: Ranked) -> Ranked:
    """If no line of the people asked about matches, keep two of their lines: those near matches, else the newest."""
    query, found, question = ranked.query, ranked.matches, ranked.round.question
    if query is None or found is None or not query.question.people or question.is_limited or question.order:
        return ranked
    own = [c for c in ranked.candidates if c.is_offered or c.reasons.get("person", 0.0) > 0.0]
    if [c for c in own if c.matched or c.is_offered]:
        return ranked
    if not own:
        said = match.match(replace(ranked.search, terms=()), list_excluded(ranked.search), every=True)
        own = _add_messages((), match.list_rows_of_person(said, query, ranking.MOST_OTHERS))
    kept = {c.key: replace(c, kept="person") for c in own[: ranking.MOST_OTHERS]}
    return replace(ranked, candidates=list({**{c.key: c for c in ranked.candidates}, **kept}.values()))


def fill_with_person(ranked: Ranked) -> Ranked:
    """Fill the candidates up to the limit of hits: with the newest messages of the people that the question is about,
    then with the newest messages of the asker's conversations.

    `Where do I work?` shares no word with `First day at the bakery!`.
    """
    search, query, found = ranked.search, ranked.query, ranked.matches
    is_full = len(ranked.candidates) >= search.query.limit
    if is_full or query is None or found is None or not search.query.may_fill:
        return ranked
    question = query.question
    if ranked.round.missed or question.is_limited or question.order or question.has_unread_time:
        return ranked
    words = question_words.asked_words(search.query.text)
    if question_words.begins_with(words, "request", question.languages):  # `Can you tell me a joke?`
        return ranked
    said = match.match(replace(search, terms=()), list_excluded(search), every=True)
    query, most = replace(query, question=_with_people(question, search, said)), search.query.limit + ranked.round.extra
    filled = _add_messages(ranked.candidates, match.list_rows_of_person(said, query, most), FILLING)
    if len(filled) < most:
        here = match.list_rows_of_person(said, replace(query, question=Question()), most)
        filled = _add_messages(filled, here, FILLING_LAST)
    return replace(ranked, candidates=filled[:most], query=query)


def _add_messages(candidates: Sequence[Candidate], rows: Iterable[tuple[int, int]], tier: int = 2) -> list[Candidate]:
    """Add messages, each (id, time), to the candidates unless they are candidates already."""
    known = {c.key for c in candidates}
    offered = (Candidate(CHAT, *row, is_offered=True, tier=tier) for row in rows if (CHAT, row[0]) not in known)
    return [*candidates, *offered]


# The query of the ranking


def question_of(search: Search, now: datetime) -> Question:
    """Parse the question of the message, without the people it names, since the speakers are not loaded yet."""
    text, languages = search.query.text, search.query.languages
    if not text or search.query.ranking != "relevance":
        return Question()
    # `I meet Ann on Monday` names a person and a day, but asks neither for Ann's words nor for the words of that day.
    if not search.query.is_question:
        return Question(languages=find_spoken(text, languages)[0])
    question = read_question(text, now=now, zone=times.zone(search.settings.timezone) or UTC, languages=languages)
    return question if search.query.reads_times else replace(question, spans=(), days=(), is_hint=False)


def find_moved(index: IndexState, days: Sequence[str], viewer: Viewer, db: Database, zone: str) -> dict[RowId, Any]:
    """Return, for rows near `days` with another date in `zone` than in the index's zone, the days named in `zone`."""
    calendar, said_at = calendar_of(db), dict[RowId, datetime]()
    ours, theirs = (times.zone(each) or UTC for each in (calendar.zone, zone))
    if ours == theirs:
        return {}
    near = {date.fromisoformat(day) + step for day in days if len(day) == 10 and day < "9998" for step in ZONE_STEPS}
    names = {name for each in near for name in (*f"{each} {each:%G-W%V %Y-%m %Y}".split(), *name_yearly(each))}
    for view, postings in index.read([(DAY, name) for name in names]) if names else ():
        rows = np.unique(postings.rows)
        columns = (column[rows].tolist() for column in (view.source, view.row_id, view.at_us))
        for source, row_id, at_us in zip(*columns, strict=True):
            at = from_microseconds(at_us)
            if at is not None and at.astimezone(ours).date() != at.astimezone(theirs).date():
                said_at[source, row_id] = at
    read, _ = read_rows(db, sorted(said_at, key=said_at.__getitem__)[-MOST_OF_SPAN:], read_values(viewer, db, 1))
    return {key: calendar._replace(zone=zone).find_places(row.folded, said_at[key]) for key, row in read.items()}


def build_query(search: Search, question: Question, found: Matches) -> RankingQuery:
    question, languages = _with_people(question, search, found), search.query.languages
    shares = share_groups(search.terms, found.owners)
    counts = count_rows(search.terms, shares, found.docs)
    rows, mean_words = search.count_rows(search.query.numbers)
    every = [rarity_weight(n, rows) if n else 0.0 for n, _ in counts]
    every = [EARLIER * n if t.text in search.query.earlier else n for t, n in zip(search.terms, every, strict=True)]
    weights = _leave_names(search.terms, every, question, languages)
    most: dict[int, float] = {}
    for term, weight, (_, is_whole) in zip(search.terms, weights, counts, strict=True):
        most[term.group] = max(most.get(term.group, 0.0), weight if is_whole else INSIDE * weight)
    spoken, by_words = question.languages or tuple(languages), not search.query.text
    has_answers = question_words.is_question(search.query.text, spoken)
    return RankingQuery(
        search.terms,
        weights,
        max(sum(most.values()), 1e-9),
        mean_words,
        question,
        asker=search.viewer.identities,
        here=search.viewer.scope.conversation or "",
        reach=CONTEXT_REACH if has_answers and not by_words else 0,
        least_context=LEAST_REFERRED if search.query.earlier else LEAST_CONTEXT,
        by_words=by_words,
        newest=(1 if search.query.limit <= FEW_HITS else 2) if question.is_present and not by_words else 0,
        has_answers=has_answers,
        shares=shares,
        languages=spoken,
        weigh_texts=partial(_weigh_texts, search.index.lexicon, rows) if search.index and question.is_limited else None,
    )


def _weigh_texts(lexicon: Lexicon, rows: int, texts: Sequence[Collection[str]]) -> list[float]:
    """Return how informative each text is among `rows` rows, 0 to 1: the mean rarity of its rarest terms."""
    counts, most = lexicon.count_rows({term for terms in texts for term in terms}), rarity_weight(1, rows)
    fewest = (sorted([counts[term] or rows for term in set(terms)])[:MOST_TELLING] for terms in texts)
    return [sum(rarity_weight(docs, rows) / most for docs in few) / MOST_TELLING for few in fewest]


def limit_question(search: Search, question: Question) -> Question:
    """Return the question, limited to its spans unless it is about a third person, whom others may mention later."""
    if not (question.spans or question.order) or search.index is None:
        return question
    if question.is_hint:
        return replace(question, order="")
    views = [one.view for one in search.index.audiences.values()]
    people = frozenset() if question.self_person or question.other else _find_people(question, search, views)
    if people - find_called(search.query.text, people, question.languages):
        return replace(question, order="") if question.spans else question
    return replace(question, is_limited=bool(question.spans))


def _find_people(question: Question, search: Search, views: Iterable[Visible]) -> frozenset[str]:
    text = search.query.text
    names = {name for view in views for name in view.names_in(text) if name}
    return named(text, names, question.languages)


def _with_people(question: Question, search: Search, found: Matches) -> Question:
    people = _find_people(question, search, [one.view for one in found.audiences])
    called = find_called(search.query.text, people, question.languages)
    return replace(question, people=people - called, called=called)


def _list_name_parts(question: Question, languages: Sequence[str]) -> frozenset[str]:
    """Return the words of the names of the people asked about, and their stems."""
    parts = {part for name in question.people | question.called for part in words(name, 2)}
    return frozenset(parts | {stem(part, languages) for part in parts})


def _leave_names(
    terms: Sequence[QueryTerm], weights: Sequence[float], question: Question, languages: Sequence[str]
) -> Sequence[float]:
    """Set the weights of speaker names and of words such as `now` to 0, unless only tags would keep a weight."""
    parts = _list_name_parts(question, languages)
    if question.is_present:  # the word `now` does not make a row better
        parts |= _list_now(question.languages, tuple(languages))
    if question.beside:  # nor `week` in `the week after the flood`
        parts |= _list_times(question.languages)
    words_of = {i: term for i, term in enumerate(terms) if term.kind != "tag"}
    groups = {term.group for term in words_of.values() if term.text in parts}
    left = [0.0 if i in words_of and terms[i].group in groups else weight for i, weight in enumerate(weights)]
    return left if any(left[i] for i in words_of) else weights
