"""Ranks every row that matches, over arrays: no row is read to be ranked.

In each audience the rows are scored by their own words and by where they stand; the LEADING of them are looked at again
together with the rows around them, and the best of all audiences come out, each with its reasons.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ...index.numbers import DAY, TAG, IndexTerm
from ..question.question import Question
from .days import are_inside, find_days
from .relevance import PASSAGE, SHORT_ROW, WHOLE, weigh
from .rows import PERSONA, Candidate, Kept, Place, RankingQuery
from .weights import K1, LEAST_CONTEXT, LONG_TURNS, SHORT_TURNS, B, rarity_weight

MOST_RANKED = 10_000
"""Matching rows of an audience that are ranked by where they stand: of more those that hold most of what is asked."""
LEADING = 200
"""Best rows by their own words that are looked at with what stands around them, in each audience."""
REACH = 6
"""Rows on either side of them that are looked at too; more where answers are looked for further away."""
BEST = 120
"""Rows that come out at most."""
FADE_BACK, FADE_ON = 150.0, 50.0
"""Words after which a word found earlier, or later, counts 1/e: an answer follows its question."""
MOST_LENGTH = 60
"""Words beyond which a longer text is no better."""
USUAL_LENGTH = 20
"""Words of a text that is neither favoured nor held back for its length: `Wow, cool!` seldom holds an answer."""
_LENGTHS = np.array([math.log(max(1, words) / USUAL_LENGTH) for words in range(MOST_LENGTH + 1)], np.float32)


@dataclass(eq=False)
class AudienceMatches:
    """What matches in one audience."""

    view: Any
    """Its rows (`index.visible.Visible`)."""
    postings: Any
    """Where the words and tags asked for stand (`index.visible.Postings`), of rows that may be read."""
    number: int = 0
    """Of the audience, among those of the search."""
    readable: Callable[[Any], Any] | None = None
    """Returns which of some rows may be read at all; None for all of them."""
    left_out: Any = None
    """Rows that may become no hits, in order; None for none."""


@dataclass(eq=False)
class AudienceRows:
    """The matching rows of an audience, in order, with what they match; and what is known of all its rows."""

    matches: AudienceMatches
    rows: Any
    groups: list[tuple[float, Any, Any] | None]
    """Of each group its worth, which of `rows` hold it, and how often; None for one that nothing is worth or holds."""
    own: Any
    """What the best passage of each row is worth, as if all that the row holds stood in one."""
    turn: Any
    """What each row is worth as a whole."""
    share: Any
    """The worth of the groups that a row holds, however often it does."""
    tags: Any
    """What the tags of each row are worth; part of the three above."""
    sessions: Any = None
    """Those that rows stand in, in order."""
    session_of: Any = None
    """Of each row the place of its session in `sessions`."""
    session_worth: Any = None
    """What each of `sessions` is worth."""
    long: Any = None
    """Of each conversation how far its turns are long ones."""
    near: Any = None
    """Of each conversation how near it stands to who asks."""
    persons: Any = None
    """Of each speaker `find_persons`."""

    def find(self, index: Any) -> tuple[Any, Any]:
        """Return the places in `rows` of rows, and which of these are there."""
        if not len(self.rows):
            return np.zeros(len(index), np.int64), np.zeros(len(index), bool)
        at = np.minimum(self.rows.searchsorted(index), len(self.rows) - 1)
        return at, self.rows[at] == index


class Ranked(NamedTuple):
    """One of the best rows."""

    score: float
    at_us: int
    source: int
    is_match: bool
    local: Local
    i: int
    """Its place there."""
    own: float
    """What its own words are worth."""

    @property
    def place(self) -> int:
        """Return where it stands, as `Candidate.place`."""
        return int(self.local.index[self.i]) + (self.local.audience.matches.number << 32)


@dataclass(frozen=True, slots=True)
class Ranking:
    """What came out."""

    best: Sequence[Ranked] = ()
    """Best first."""
    matching: Mapping[int, int] = field(default_factory=dict)
    """Source to how many rows match."""
    open: int = 0
    """How many of these are not left out."""
    audiences: Sequence[AudienceRows] = ()
    kept: Sequence[tuple[Ranked, Kept]] = ()
    """Rows that have a place among the first hits, wherever they rank."""


def rank_all(
    matches: Sequence[AudienceMatches],
    asked: RankingQuery,
    *,
    here: str = "",
    reach: int = 4,
    best: int = BEST,
    by_words: bool = False,
    offered: Sequence[Any] = (),
    newest: int = 0,
) -> Ranking:
    """Return the best rows, and how many match.

    Args:
        here: the conversation asked in.
        reach: rows around one that matches among which an answer is looked for; 0 for none.
        by_words: what the rows hold decides alone.
        offered: of each audience rows that are ranked though they match nothing, in order.
        newest: how many of the newest rows about the question come out beside the best.
    """
    audiences = [_match_rows(one, asked, offered[n] if offered else None) for n, one in enumerate(matches)]
    matching: Counter[int] = Counter()
    left_out = 0
    for one in audiences:
        matching.update(dict(enumerate(np.bincount(one.matches.view.source[one.rows]).tolist())))
        if one.matches.left_out is not None:
            left_out += int(np.count_nonzero(is_among(one.rows, one.matches.left_out)))
    if not by_words:
        most = max(MOST_RANKED, best)
        audiences = [_keep_best(one, most, offered[n] if offered else None) for n, one in enumerate(audiences)]
        _add_places(audiences, asked, here)
    best_rows: list[Ranked] = []
    kept: list[tuple[Ranked, Kept]] = []
    wanted = find_newest(audiences, newest) if newest and audiences else []
    for n, one in enumerate(audiences):
        leads = _choose_leads(one, asked, max(best, LEADING), by_words=by_words)
        mine = [row for number, row in wanted if number == n]
        leads = np.concatenate([leads, mine]).astype(np.int64)
        if len(leads):
            local = _list_words(one, leads) if by_words else look_around(one, leads, asked, reach)
            best_rows += local.list_best(best)
            kept += [(row, "newest") for row in local.list_rows(local.index.searchsorted(mine))]
    best_rows.sort(key=itemgetter(1), reverse=True)
    best_rows.sort(key=itemgetter(0), reverse=True)  # of one score the newest first
    counts = {source: n for source, n in matching.items() if n}
    if asked.question.people and not by_words and is_said_by_others(audiences):
        others = [row for row in best_rows if row.is_match and row.local.reasons["person"][row.i] < 0]
        kept += [(row, "others") for row in others[:MOST_OTHERS]]
    return Ranking(best_rows[:best], counts, matching.total() - left_out, audiences, kept)


MOST_OTHERS = 2
"""Hits that go to lines of others where a person is named who never said it."""
CLEARLY_MORE = 1.05
"""How much more of a question a line of somebody else must hold than every line of whom it names."""


def is_said_by_others(audiences: Sequence[AudienceRows]) -> bool:
    """Return whether somebody else said clearly more of what is asked than the people whom the question names."""
    best = {1: 0.0, -1: 0.0}
    for one in audiences:
        assert one.persons is not None
        about = np.where(one.matches.view.is_chat[one.rows], one.persons[one.matches.view.speaker[one.rows]], 0)
        for sign, most in best.items():
            best[sign] = max(most, float(one.share[about == sign].max(initial=0.0)))
    return best[-1] > CLEARLY_MORE * best[1]


FULL = 0.9
"""Share of what the fullest row holds from which a row is one of those that hold all of it."""


def find_newest(audiences: Sequence[AudienceRows], count: int) -> list[tuple[int, int]]:
    """Return the number of the audience and the row of the newest that match, of whom the question is about.

    Of rows newer than all that hold every word the one that holds most; where there is none, the newest of these.
    """
    columns: list[Any] = []
    for n, one in enumerate(audiences):
        view, left_out = one.matches.view, one.matches.left_out
        may = view.words[one.rows] <= WHOLE  # a longer text holds a word of anything
        if left_out is not None:
            may &= ~is_among(one.rows, left_out)
        if one.persons is not None:
            may &= ~view.is_chat[one.rows] | (one.persons[view.speaker[one.rows]] > 0)
        rows = one.rows[may]
        columns.append((np.full(len(rows), n), rows, one.share[may], view.at_us[rows]))
    numbers, rows, share, at_us = (np.concatenate(column) for column in zip(*columns, strict=True))
    found = list[tuple[int, int]]()
    for _ in range(min(count, len(rows))):
        is_full = share >= FULL * share.max()
        newer = at_us > at_us[is_full].max()
        chosen = np.lexsort((at_us, share * newer, newer))[-1] if newer.any() else np.lexsort((at_us, is_full))[-1]
        found.append((int(numbers[chosen]), int(rows[chosen])))
        share = np.where(np.arange(len(share)) == chosen, 0, share)
    return found


def build_candidates(
    chosen: Sequence[Ranked], note: Callable[[Candidate, Mapping[IndexTerm, int]], None]
) -> list[Candidate]:
    """Return rows as candidates, in the order given.

    Args:
        note: called with each, and with how often it holds each word, tag and phrase.
    """
    by_number: dict[int, Candidate] = {}
    by_local: dict[int, list[int]] = {}
    for n, each in enumerate(chosen):
        by_local.setdefault(id(each.local), []).append(n)
    for numbers in by_local.values():
        local, places = chosen[numbers[0]].local, [chosen[n].i for n in numbers]
        matches, index = local.audience.matches, local.index[places].tolist()
        candidates = local.build(places)
        by_number |= zip(numbers, candidates, strict=True)
        numbers_held = matches.postings.held_by(index, len(matches.view))
        for candidate, row in zip(candidates, index, strict=True):
            note(candidate, numbers_held[row])
    return [by_number[n] for n in range(len(chosen))]


def find_around(ranking: Ranking, asked: RankingQuery, wanted: Sequence[Place], reach: int) -> list[Candidate]:
    """Return rows found otherwise, and those within so many rows of them in their conversations, with their reasons."""
    candidates: list[Candidate] = []
    for one in ranking.audiences:
        leads = one.matches.view.find_rows(wanted)
        if not len(leads):
            continue
        local = look_around(one, leads, asked, reach)
        steps = np.abs(np.subtract.outer(local.index, leads))
        same_run = np.equal.outer(local.run, local.run[local.index.searchsorted(leads)])
        close = ((steps <= reach) & same_run).any(axis=1) & local.visible
        candidates += local.build(close.nonzero()[0].tolist())
    return candidates


def _first(score: Any, at_us: Any, most: int) -> Any:
    """Return the places of the best, at most so many, best first, of equal ones the newest."""
    places = None
    if most < len(score):
        places = (score >= np.partition(score, len(score) - most)[len(score) - most]).nonzero()[0]
        score, at_us = score[places], at_us[places]
    order = np.lexsort((-at_us, -score))[:most]
    return order if places is None else places[order]


def in_order(index: Any) -> Any:
    """Return the numbers of some rows in order, each once."""
    ordered = index.astype(np.int32)
    ordered.sort()
    is_new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return ordered[is_new].astype(np.int64)


def is_among(index: Any, rows: Any) -> Any:
    """Return which of some rows are among others, which are in order."""
    if not len(rows):
        return np.zeros(len(index), bool)
    return rows[np.minimum(rows.searchsorted(index), len(rows) - 1)] == index


def _saturate(times: Any, words: Any, mean: float) -> Any:
    held_back = K1 * (1 - B + B * words / max(mean, 1.0))
    return times * (K1 + 1) / (times + held_back)


# What the rows match themselves


def _match_rows(one: AudienceMatches, asked: RankingQuery, offered: Any = None) -> AudienceRows:
    view = one.view
    parts: list[list[tuple[Any, Any, float]]] = [[] for _ in asked.terms]
    for index_term, shares in asked.shares.items():
        rows, times = one.postings.of(index_term)
        for share in shares if len(rows) else ():
            if asked.terms[share.group].weight:
                chat = view.is_chat[rows] if share.chat_only else slice(None)
                parts[share.group].append((rows[chat], times[chat], share.factor))
    tagged = [(one.postings.of((TAG, term.text))[0], term) for term in asked.terms if term.kind == "tag"]
    listed = [np.zeros(0, np.int64) if offered is None else offered, *(rows for rows, _ in tagged)]
    matches = np.zeros(len(view), bool)
    matches[np.concatenate([*listed, *(rows for part in parts for rows, _, _ in part)])] = True
    every = matches.nonzero()[0]
    place = np.empty(len(view), np.int32)
    place[every] = np.arange(len(every), dtype=np.int32)
    own, turn, held, tags = (np.zeros(len(every), np.float32) for _ in range(4))
    words = view.words[every].astype(np.float32)
    passage, mean_passage = np.minimum(words, PASSAGE), min(PASSAGE, asked.mean_words)
    groups: list[tuple[float, Any, Any] | None] = []
    for worth, part in zip((term.weight for term in asked.terms), parts, strict=True):
        if not part:
            groups.append(None)
            continue
        # A row holds a word once, and may hold several words of a group.
        postings = [(place[rows], times.astype(np.float32) * np.float32(factor)) for rows, times, factor in part]
        at, times = postings[0]
        if len(postings) > 1:
            together = np.zeros(len(every), np.float32)
            for at, times in postings:
                together[at] += times
            at = together.nonzero()[0]
            times = together[at]
        groups.append((worth, at, times))
        turn[at] += worth * _saturate(times, words[at], asked.mean_words)
        own[at] += worth * _saturate(times, passage[at], mean_passage)
        held[at] += worth * np.minimum(times, np.float32(1))
    for rows, term in tagged:
        at = place[rows]
        group = groups[term.group]
        if group is not None:  # a row that holds the tag as a word too counts it once
            holds = np.zeros(len(every), bool)
            holds[group[1]] = True
            at = at[~holds[at]]
        tags[at] += np.float32(term.weight)
    own, turn, held = ((each + tags) / asked.total for each in (own, turn, held))
    return AudienceRows(one, every, groups, own, turn, held, tags / asked.total)


def _keep_best(one: AudienceRows, most: int, offered: Any) -> AudienceRows:
    """Return the rows that are worth most by what they hold, and those that are offered."""
    if len(one.rows) <= most:
        return one
    stays = one.turn >= np.partition(one.turn, -most)[-most]
    if offered is not None:
        stays |= is_among(one.rows, offered)
    place = stays.cumsum() - 1
    groups: list[tuple[float, Any, Any] | None] = [None] * len(one.groups)
    for number, group in enumerate(one.groups):
        if group is not None:
            weight, at, times = group
            kept = stays[at]
            groups[number] = (weight, place[at[kept]], times[kept])
    own, turn, share, tags = (each[stays] for each in (one.own, one.turn, one.share, one.tags))
    return AudienceRows(one.matches, one.rows[stays], groups, own, turn, share, tags)


def _add_places(audiences: Sequence[AudienceRows], asked: RankingQuery, here: str) -> None:
    """Add what conversations and speakers tell, and give every session what BM25 of all its rows is worth, among all
    sessions seen.
    """
    for one in audiences:
        view = one.matches.view
        shares = (view.thread_means - SHORT_TURNS) / (LONG_TURNS - SHORT_TURNS)
        one.long = shares.clip(0.0, 1.0).astype(np.float32)
        one.near = view.nearness(here, asked.asker)
        one.persons = find_persons(asked.question, asked.asker, view)
        session = view.session[one.rows]
        is_new = np.ones(len(session), bool)
        is_new[1:] = session[1:] != session[:-1]
        one.sessions, one.session_of = session[is_new], is_new.cumsum() - 1
        one.session_worth = np.zeros(len(one.sessions), np.float32)
    every = sum(one.matches.view.sessions for one in audiences)
    mean = sum(one.matches.view.word_count for one in audiences) / max(1, every)
    times: list[list[Any]] = []
    worth: list[float] = []
    for number in range(len(asked.terms)):
        times_in_session = [
            None if (group := one.groups[number]) is None
            else np.bincount(one.session_of[group[1]], weights=group[2], minlength=len(one.sessions))
            for one in audiences
        ]  # fmt: skip
        docs = sum(int(np.count_nonzero(each)) for each in times_in_session if each is not None)
        times.append(times_in_session)
        worth.append(rarity_weight(docs, every) if docs else 0.0)
    total = sum(worth) or 1.0
    for n, one in enumerate(audiences):
        size = one.matches.view.session_words[one.sessions]
        for of_word, counts in zip(worth, times, strict=True):
            if counts[n] is not None:
                there = counts[n].nonzero()[0]
                one.session_worth[there] += of_word * _saturate(counts[n][there], size[there], mean) / total


def find_persons(question: Question, asker: str, view: Any) -> Any:
    """Return for everybody who spoke in an audience 1 where the question is about them, -1 where it is about somebody
    else; None where it names nobody.
    """
    about, is_about, others = view.find_speakers("role", PERSONA), 1, -1
    if question.people:
        about = [n for name in question.people for n in view.find_speakers("name", name)]
    elif question.self_person and asker:
        # `Can you tell me when I ...` is about the one who asks, whatever else it says.
        about = view.find_speakers("key", asker)
    elif question.self_person:
        is_about, others = -1, 0
    elif not question.other:
        return None
    persons = np.full(len(view.speakers), others, np.float32)
    persons[about] = is_about
    return persons


def _list_reasons(
    one: AudienceRows, index: Any, asked: RankingQuery, held: Iterable[Any], session: Any
) -> dict[str, Any]:
    """Return the reasons of rows as far as no text is read and nothing around them is looked at."""
    view = one.matches.view
    is_chat, words = view.is_chat[index], np.clip(view.words[index], 1, MOST_LENGTH)
    own, turn, share = held
    reasons = {"context": own, "own": own, "turn": turn, "share": share, "session": session}
    reasons |= {"length": np.where(is_chat, _LENGTHS[words], np.float32(0)), "near": one.near[view.thread[index]]}
    if one.persons is not None:
        reasons["person"] = np.where(is_chat, one.persons[view.speaker[index]], np.float32(0))
    if asked.question.spans or asked.question.order:
        reasons |= find_days(asked.question, view.at_us[index])
    elif asked.question.days:
        about = np.concatenate([one.matches.postings.of((DAY, day))[0] for day in asked.question.days])
        reasons["coming"] = np.isin(index, about).astype(np.float32)
    return reasons


def _choose_leads(one: AudienceRows, asked: RankingQuery, most: int, *, by_words: bool) -> Any:
    """Return the best matching rows by what they hold and where they stand, in no order."""
    left_out, view = one.matches.left_out, one.matches.view
    at = np.arange(len(one.rows)) if left_out is None else (~is_among(one.rows, left_out)).nonzero()[0]
    if len(at) > most:
        rows, score = one.rows[at], one.turn[at]
        if not by_words:
            session = one.session_worth[one.session_of[at]]
            reasons = _list_reasons(one, rows, asked, (one.own[at], score, one.share[at]), session)
            score = sum(weigh(reasons, one.long[view.thread[rows]]).values())
        at = at[_first(score, view.at_us[rows], most)]
    return one.rows[at]


# What stands around them


@dataclass(eq=False)
class Local:
    """The rows of an audience that are looked at together with what stands around them."""

    audience: AudienceRows
    index: Any
    score: Any
    may_be_hit: Any
    is_match: Any
    visible: Any = None
    run: Any = None
    """Number of the stretch of rows that each is in, between which nothing else was said."""
    tags: Any = None
    reasons: Mapping[str, Any] = field(default_factory=dict)

    def list_best(self, most: int) -> list[Ranked]:
        """Return the best of the rows that may be hits."""
        view = self.audience.matches.view
        may = self.may_be_hit.nonzero()[0]
        return self.list_rows(may[_first(self.score[may], view.at_us[self.index[may]], most)])

    def list_rows(self, kept: Any) -> list[Ranked]:
        """Return the rows at these places."""
        view, index = self.audience.matches.view, self.index[kept]
        columns = (self.score[kept], view.at_us[index], view.source[index], self.is_match[kept])
        own = self.reasons["own"][kept] if self.reasons else np.zeros(len(kept))
        listed = zip(*(column.tolist() for column in columns), repeat(self), kept.tolist(), own.tolist(), strict=False)
        return [Ranked(*each) for each in listed]

    def build(self, places: Sequence[int]) -> list[Candidate]:
        """Return the rows at these places."""
        at = np.array(places, np.int64)
        one, index = self.audience, self.index[at]
        view, first, session = one.matches.view, one.matches.number << 32, one.matches.view.session[index].astype(int)
        long = np.zeros(len(at)) if one.long is None else one.long[view.thread[index]]
        tags = np.zeros(len(at)) if self.tags is None else self.tags[at]
        columns = (
            view.source[index], view.row_id[index], view.at_us[index], view.words[index],
            np.round(self.score[at].astype(np.float64), 6), ~self.is_match[at], index + first, session + first,
            view.session_start[session + 1] - view.session_start[session], long, tags,
        )  # fmt: skip
        names = list(self.reasons)
        values = np.array([self.reasons[name][at] for name in names], np.float64).T.tolist() or [()] * len(at)
        reasons = [dict(zip(names, row, strict=True)) for row in values]
        return [Candidate(*each) for each in zip(*(column.tolist() for column in columns), reasons, strict=True)]


def _list_words(one: AudienceRows, leads: Any) -> Local:
    """Return rows of which what they hold decides alone."""
    index = in_order(leads)
    at, is_match = one.find(index)
    return Local(one, index, one.turn[at], is_match, is_match)


def look_around(one: AudienceRows, leads: Any, asked: RankingQuery, reach: int) -> Local:
    """Return some rows with those around them, each with its reasons as far as no text is read."""
    view, left_out = one.matches.view, one.matches.left_out
    widest = max(REACH, reach) if reach else 0
    index = in_order(np.add.outer(leads, np.arange(-widest, widest + 1)).ravel())
    index = index[index.searchsorted(0) : index.searchsorted(len(view))]
    words, thread, session = view.words[index].astype(np.float32), view.thread[index], view.session[index]
    is_chat, touches = view.is_chat[index], np.zeros(len(index), bool)
    touches[1:] = (index[1:] - index[:-1] == 1) & (thread[1:] == thread[:-1]) & is_chat[1:] & is_chat[:-1]
    run, is_near = (~touches).cumsum(), touches.copy()
    is_near[1:] &= session[1:] == session[:-1]
    at, is_row = one.find(index)
    own, turn, share, tags = (_fill(each, at, is_row) for each in (one.own, one.turn, one.share, one.tags))
    visible = np.ones(len(index), bool) if left_out is None else ~is_among(index, left_out)
    is_match = is_row & visible
    if one.matches.readable is not None:
        visible &= one.matches.readable(index)
    of_session = np.minimum(one.sessions.searchsorted(session), max(0, len(one.sessions) - 1))
    is_known = one.sessions[of_session] == session if len(one.sessions) else is_row
    session_worth = _fill(one.session_worth, of_session, is_known)
    reasons = _list_reasons(one, index, asked, (own, turn, share), session_worth)
    contexts = _find_contexts(one, at, is_row, words, is_near, asked, max(REACH, reach)) + tags
    reasons["context"] = np.maximum(contexts, own)
    reasons["beside"] = _find_beside(own, words, is_near)
    may = is_match.copy()
    if asked.has_answers and reach:
        may |= (contexts >= LEAST_CONTEXT) & _stands_near(is_match, run, reach)
        if asked.question.spans:
            may |= are_inside(asked.question, view.at_us[index])
    score = sum(weigh(reasons, one.long[thread]).values())
    return Local(one, index, score, may & visible, is_match, visible, run, tags, reasons)


def _fill(values: Any, at: Any, there: Any) -> Any:
    """Return the values at these places, nothing where there is none."""
    return np.where(there, values[at], np.float32(0)) if len(values) else np.zeros(len(at), np.float32)


def _stands_near(is_match: Any, run: Any, reach: int) -> Any:
    """Return which rows stand within so many rows of one that matches."""
    near = is_match.copy()
    for step in range(1, min(reach, len(run) - 1) + 1):
        same = run[step:] == run[:-step]
        near[step:] |= is_match[:-step] & same
        near[:-step] |= is_match[step:] & same
    return near


def _find_contexts(
    one: AudienceRows, at: Any, is_row: Any, words: Any, is_near: Any, asked: RankingQuery, steps: int
) -> Any:
    """Return what the words of each row are worth together with those that reach it from so many rows around it."""
    count = len(words)
    place = np.full(len(one.rows), -1, np.int64)
    place[at[is_row]] = is_row.nonzero()[0]
    middle = words.cumsum() - words / 2
    run = (~is_near).cumsum()
    groups = [group for group in one.groups if group is not None]
    own = np.zeros((len(groups), count), np.float32)
    for line, (_, rows, times) in zip(own, groups, strict=True):
        to = place[rows]
        here = to >= 0
        line[to[here]] = _saturate(times[here], words[to[here]], asked.mean_words)
    reached = own.copy()
    for step in range(1, min(steps, count - 1) + 1):
        same = run[step:] == run[:-step]
        between = middle[step:] - middle[:-step]
        on, back = reached[:, step:], reached[:, :-step]
        np.maximum(on, own[:, :-step] * (same * np.exp(-between / FADE_BACK)), out=on)
        np.maximum(back, own[:, step:] * (same * np.exp(-between / FADE_ON)), out=back)
    total = np.zeros(count, np.float32)
    for (worth, _, _), line in zip(groups, reached, strict=True):
        total += worth * line
    return total / asked.total


def _find_beside(own: Any, words: Any, is_near: Any) -> Any:
    """Return what the better neighbour of each row is worth, as far as the row itself is short."""
    other = np.zeros(len(own), np.float32)
    if len(own) > 1:
        other[1:] = own[:-1] * is_near[1:]
        other[:-1] = np.maximum(other[:-1], own[1:] * is_near[1:])
    return other * np.exp(-np.maximum(words, 1) / SHORT_ROW)
