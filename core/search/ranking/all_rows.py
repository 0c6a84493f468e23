"""Ranks every row that matches, over arrays: no row is read to be ranked.

`rank_all` gives each matching row of the audiences seen what its own words are worth, its session, who said it, when,
where and how long it is. Around the LEADING best of them the rows are looked at once more with what stands beside them:
words of neighbours, fading with the words between, and rows that match nothing and stand beside one that does. Of all
the best come out, for `search.ranking.scores` to read closely. Called by `search.candidates`; reads no database.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from .neighbours import FADE_BACK, FADE_ON, SHORT_ROW
from .people import PERSONA, Speaker, person_of
from .ranking import K1, B, rarity_weight
from .relevance import FULL_MATCH, LEAST_CONTEXT, length_of
from .rows import Asked
from .times import on_days
from .weights import WEIGHTS, share_of_long

LEADING = 600
"""Best rows by their own words that are looked at with what stands around them, in each audience."""
REACH = 6
"""Rows on either side of them that are looked at too."""
BEST = 120
"""Rows that come out at most."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LENGTHS = np.array([length_of(n) for n in range(61)], np.float32)


@dataclass(eq=False)
class Matches:
    """What matches in one audience."""

    view: Any
    """Its rows (`index.held.Visible`)."""
    index: Any
    """Row of each posting."""
    times: Any
    term: Any
    """Number of each posting's word or tag."""
    readable: Any = None
    """Which rows may be read at all; None for all of them."""


@dataclass(frozen=True, slots=True)
class Term:
    """A known word or tag of what is asked."""

    group: int
    """Number of the group of texts it belongs to; -1 for a tag."""
    factor: float
    """What it counts: 1 for the whole word, less for letters inside it."""
    worth: float = 0.0
    """Of a tag."""
    chat_only: bool = False


@dataclass(slots=True)
class RankedRow:
    """One of the best rows."""

    source: int
    row_id: int
    at_us: int
    words: int
    score: float
    is_match: bool
    session: float
    """What its session is worth."""
    long: float
    """How far the turns of its conversation are long ones."""
    near: float
    """How near it stands to who asks: 1 in the conversation asked in, less in others of the person."""
    run: int
    """Rows of one run stand next to each other, as far as they are here."""
    terms: dict[int, int] = field(default_factory=dict)
    """Number of each word or tag that it holds, with how often."""


@dataclass(eq=False)
class _Audience:
    matches: Matches
    groups: list[tuple[Any, Any]]
    """Of each group the rows that hold it, and how often."""
    own: Any
    tags: Any
    session: Any = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """What came out."""

    best: list[RankedRow] = field(default_factory=list)
    """Best first."""
    around: list[RankedRow] = field(default_factory=list)
    """Rows that stand around the first of them."""
    matching: Mapping[int, int] = field(default_factory=dict)
    """Source to how many rows match."""


def rank_all(
    found: Sequence[Matches],
    terms: Sequence[Term],
    asked: Asked,
    *,
    allowed: Mapping[int, Any] | None = None,
    here: str = "",
    reach: int = 4,
    near_rows: int = 16,
    best: int = BEST,
    by_words: bool = False,
) -> Ranking:
    """Return the best rows, those that stand around the first of them, and how many rows match.

    Args:
        found: what matches, audience by audience.
        terms: what the numbers of the postings mean.
        allowed: number of the audience in `found` to which of its rows may be read; all, where it is missing.
        here: the conversation asked in.
        reach: rows on either side of the best that are brought too; 0 where nothing is asked.
        near_rows: of how many of the best.
        by_words: what stands in the rows themselves decides alone.
    """
    audiences = [_read_audience(one, terms, asked) for one in found]
    matching: Counter[int] = Counter()
    for one in audiences:
        numbers, counts = np.unique(
            one.matches.view.take("source", np.flatnonzero((one.own > 0) | (one.tags > 0))), return_counts=True
        )
        matching.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
    _add_sessions(audiences, asked)
    made: list[tuple[float, int, int, _Local]] = []
    for n, one in enumerate(audiences):
        local = _look_around(
            one, asked, None if allowed is None else allowed.get(n), here, reach, max(best, LEADING), by_words
        )
        if local is None:
            continue
        order = np.lexsort((-local.at_us, -local.score))
        kept = order[local.may_be_hit[order]][:best]
        made += [(float(local.score[i]), int(local.at_us[i]), int(i), local) for i in kept.tolist()]
    made.sort(key=lambda each: (-each[0], -each[1]))
    chosen = made[:best]
    every = _rows_of([(local, i) for _, _, i, local in chosen])
    _tell_terms([(local, i) for _, _, i, local in chosen], every)
    taken = {(id(local), i) for _, _, i, local in chosen}
    beside: list[tuple[_Local, int]] = []
    leads = [(i, local) for _, _, i, local in chosen if reach and local.is_chat[i] and local.is_match[i]]
    for i, local in leads[:near_rows]:
        for other in local.around(i, reach):
            if (id(local), other) not in taken:
                taken.add((id(local), other))
                beside.append((local, other))
    around = _rows_of(beside)
    return Ranking(every, around, matching)


def _rows_of(chosen: Sequence[tuple[_Local, int]]) -> list[RankedRow]:
    of: dict[int, tuple[_Local, list[int]]] = {}
    for local, i in chosen:
        of.setdefault(id(local), (local, []))[1].append(i)
    made = {key: iter(local.rows(places)) for key, (local, places) in of.items()}
    return [next(made[id(local)]) for local, _ in chosen]


def _saturated(times: Any, words: Any, mean: float) -> Any:
    held_back = K1 * (1 - B + B * words / max(mean, 1.0))
    return times * (K1 + 1) / (times + held_back)


def _read_audience(one: Matches, terms: Sequence[Term], asked: Asked) -> _Audience:
    view = one.view
    own, tags = np.zeros(len(view), np.float32), np.zeros(len(view), np.float32)
    groups: list[tuple[Any, Any]] = []
    of_group = np.array([term.group for term in terms], np.int32)
    factor = np.array([term.factor for term in terms], np.float32)
    group, index = of_group[one.term], one.index
    words = None
    for number, worth in enumerate(asked.worth):
        mine = group == number
        rows, times = index[mine], one.times[mine].astype(np.float32) * factor[one.term[mine]]
        if len(rows) and len(np.unique(one.term[mine])) > 1:
            rows, inverse = np.unique(rows, return_inverse=True)
            times = np.bincount(inverse, weights=times).astype(np.float32)
        groups.append((rows, times))
        if len(rows) and worth:
            words = view.take("words", rows).astype(np.float32)
            own[rows] += worth * _saturated(times, words, asked.mean_words)
    mine = group < 0
    if mine.any():
        of_tag = np.array([term.worth for term in terms], np.float32)
        np.add.at(tags, index[mine], of_tag[one.term[mine]])
    return _Audience(one, groups, own / asked.total, tags / asked.total)


def _add_sessions(audiences: Sequence[_Audience], asked: Asked) -> None:
    """Give every session what BM25 of all its rows is worth, among all sessions seen."""
    every = sum(one.matches.view.sessions for one in audiences)
    if not every:
        return
    size = [one.matches.view.words_of_sessions() for one in audiences]
    mean = sum(float(words.sum()) for words in size) / every
    times: list[list[Any]] = []
    worth: list[float] = []
    for number, of_word in enumerate(asked.worth):
        held, docs = [], 0
        for one in audiences:
            rows, counts = one.groups[number]
            view = one.matches.view
            each = np.bincount(view.take("session", rows), weights=counts, minlength=view.sessions)
            docs += int(np.count_nonzero(each))
            held.append(each)
        times.append(held)
        worth.append(rarity_weight(docs, every) if docs and of_word else 0.0)
    total = sum(worth) or 1.0
    for n, one in enumerate(audiences):
        value = np.zeros(one.matches.view.sessions, np.float32)
        for of_word, held in zip(worth, times, strict=True):
            if of_word:
                there = np.flatnonzero(held[n])
                value[there] += of_word * _saturated(held[n][there], size[n][there], mean) / total
        one.session = value


@dataclass(eq=False)
class _Local:
    """The rows of an audience that are looked at together with what stands around them."""

    audience: _Audience
    index: Any
    at_us: Any
    words: Any
    is_chat: Any
    run: Any
    score: Any
    may_be_hit: Any
    is_match: Any
    session: Any
    long: Any
    near: Any
    visible: Any

    def rows(self, places: Sequence[int]) -> list[RankedRow]:
        """Return the rows at these places."""
        at, view = np.array(places, np.int64), self.audience.matches.view
        index = self.index[at]
        columns = (
            view.take("source", index), view.take("row_id", index), self.at_us[at], self.words[at].astype(np.int64),
            np.round(self.score[at].astype(np.float64), 6), self.is_match[at], self.session[at], self.long[at],
            self.near[at], self.run[at],
        )  # fmt: skip
        return [RankedRow(*each) for each in zip(*(column.tolist() for column in columns), strict=True)]

    def around(self, i: int, reach: int) -> list[int]:
        """Return the rows of the same run within so many rows."""
        first, last = max(0, i - reach), min(len(self.index), i + reach + 1)
        return [j for j in range(first, last) if j != i and self.run[j] == self.run[i] and self.visible[j]]


def _look_around(
    one: _Audience, asked: Asked, allowed: Any, here: str, reach: int, leading: int, by_words: bool
) -> _Local | None:
    view = one.matches.view
    matching = (one.own > 0) | (one.tags > 0)
    if allowed is not None:
        matching &= allowed
    rows = np.flatnonzero(matching)
    if not len(rows):
        return None
    places = _Places(one, asked, here)
    if len(rows) > leading:
        words = one.own[rows] + one.tags[rows]
        quick = words if by_words else places.score(rows, words, words, None)
        rows = rows[np.lexsort((-view.take("at_us", rows), -quick))[:leading]]
    widest = REACH if reach and not by_words else 0
    ranks = np.unique(np.add.outer(view.rank(rows), np.arange(-widest, widest + 1)))
    ranks = ranks[(ranks >= 0) & (ranks < len(view))]
    index = view.at_rank(ranks)
    words = view.take("words", index).astype(np.float32)
    is_chat = view.is_chat(index)
    session, thread = view.take("session", index), view.take("thread", index)
    touches = np.zeros(len(index), bool)
    touches[1:] = (np.diff(ranks) == 1) & (thread[1:] == thread[:-1]) & is_chat[1:] & is_chat[:-1]
    near = touches.copy()
    near[1:] &= session[1:] == session[:-1]
    own = one.own[index]
    context = _contexts(one, index, words, near, asked) + one.tags[index]
    beside = _besides(own, words, near)
    readable = one.matches.readable
    visible = np.ones(len(index), bool) if allowed is None else allowed[index]
    if readable is not None:
        visible = visible & readable[index]
    is_match = matching[index]
    words_alone = own + one.tags[index]
    score = words_alone if by_words else places.score(index, words_alone, np.maximum(context, words_alone), beside)
    may = is_match.copy()
    if asked.has_answers and reach:
        may |= visible & (context >= LEAST_CONTEXT) & _stands_near(is_match, np.cumsum(~touches), reach)
        at_us = view.take("at_us", index)
        for since, until in asked.days:
            may |= visible & (at_us >= since) & (at_us < until)
    return _Local(
        one, index, view.take("at_us", index), words, is_chat, np.cumsum(~touches) + 1, score, may & visible, is_match,
        places.session(index), places.long(index), places.near(index), visible,
    )  # fmt: skip


def _stands_near(is_match: Any, run: Any, reach: int) -> Any:
    """Return which rows stand within so many rows of one that matches."""
    made = is_match.copy()
    for step in range(1, min(reach, len(run) - 1) + 1):
        same = run[step:] == run[:-step]
        made[step:] |= is_match[:-step] & same
        made[:-step] |= is_match[step:] & same
    return made


def _contexts(one: _Audience, index: Any, words: Any, near: Any, asked: Asked) -> Any:
    """Return what the words of each row are worth together with those that reach it from rows around it."""
    place = np.full(len(one.matches.view), -1, np.int32)
    place[index] = np.arange(len(index), dtype=np.int32)
    middle = np.cumsum(words) - words / 2
    run = np.cumsum(~near)
    total = np.zeros(len(index), np.float32)
    steps = []
    for step in range(1, min(REACH, len(index) - 1) + 1):
        same = run[step:] == run[:-step]
        between = middle[step:] - middle[:-step]
        steps.append((step, same * np.exp(-between / FADE_BACK), same * np.exp(-between / FADE_ON)))
    for number, (rows, times) in enumerate(one.groups):
        worth = asked.worth[number]
        if not (worth and len(rows)):
            continue
        at = place[rows]
        here = at >= 0
        held = np.zeros(len(index), np.float32)
        held[at[here]] = _saturated(times[here], words[at[here]], asked.mean_words)
        reached = held.copy()
        for step, back, on in steps:
            np.maximum(reached[step:], held[:-step] * back, out=reached[step:])
            np.maximum(reached[:-step], held[step:] * on, out=reached[:-step])
        total += worth * reached
    return total / asked.total


def _besides(own: Any, words: Any, near: Any) -> Any:
    """Return what the better neighbour of each row is worth, as far as the row itself is short."""
    other = np.zeros(len(own), np.float32)
    if len(own) > 1:
        other[1:] = own[:-1] * near[1:]
        other[:-1] = np.maximum(other[:-1], own[1:] * near[1:])
    return other * np.exp(-np.maximum(words, 1) / SHORT_ROW)


class _Places:
    """What is known of the rows of an audience beside their words."""

    def __init__(self, one: _Audience, asked: Asked, here: str) -> None:
        self.view, self.asked, self.of_session = one.matches.view, asked, one.session
        view = self.view
        self.of_thread = np.array([share_of_long(mean) for mean in view.thread_means()], np.float32)
        question = asked.question
        names_somebody = question.people or question.self_person or question.other
        self.persons = None
        if names_somebody:
            speakers = [Speaker(who.name, who.key, who.role if who.role == PERSONA else "") for who in view.speakers]
            self.persons = np.array([person_of(question, asked.asker, who) for who in speakers], np.float32)
        self.nearness = view.nearness(here, asked.asker)

    def session(self, index: Any) -> Any:
        return self.of_session[self.view.take("session", index)]

    def long(self, index: Any) -> Any:
        return self.of_thread[self.view.take("thread", index)]

    def near(self, index: Any) -> Any:
        return self.nearness[self.view.take("thread", index)]

    def score(self, index: Any, own: Any, context: Any, beside: Any) -> Any:
        """Return the score of rows: their reasons, weighted as in `relevance.weigh`, as far as no text is read."""
        view, asked = self.view, self.asked
        long = self.long(index)

        def weigh(name: str) -> Any:
            weight = WEIGHTS[name]
            return weight.short + (weight.long - weight.short) * long

        is_chat = view.is_chat(index)
        words = np.minimum(view.take("words", index), 60)
        of_words = weigh("context") * context + (weigh("own") + weigh("turn") + weigh("share")) * own
        of_words += weigh("session") * self.session(index)
        if beside is not None:
            of_words += weigh("beside") * beside
        others = np.where(is_chat, weigh("length") * _LENGTHS[np.maximum(words, 1)], 0.0)
        others += WEIGHTS["near"].short * self.near(index)
        if self.persons is not None:
            others += np.where(is_chat, weigh("person") * self.persons[view.take("speaker", index)], 0.0)
        fitting = np.minimum(1.0, np.maximum(context, own) / FULL_MATCH)
        days = self._days(index, weigh) if asked.question.days else None
        if days is not None:
            fitting = np.where(days > 0, 1.0, fitting)
            others += days
        return of_words + fitting * others

    def _days(self, index: Any, weigh: Any) -> Any:
        """Return what the days asked for are worth: the rows of one moment are asked about once."""
        hours, inverse = np.unique(self.view.take("at_us", index) // 3_600_000_000, return_inverse=True)
        names = ("day", "days_after", "month")
        near = [on_days(self.asked.question.days, _EPOCH + timedelta(hours=int(hour))) for hour in hours]
        values = {name: np.array([each.get(name, 0.0) for each in near], np.float32)[inverse] for name in names}
        return sum(weigh(name) * values[name] for name in names)


def _tell_terms(chosen: Sequence[tuple[_Local, int]], rows: Sequence[RankedRow]) -> None:
    """Tell the best rows which words and tags they hold."""
    of: dict[int, tuple[_Audience, dict[int, RankedRow]]] = {}
    for (local, i), row in zip(chosen, rows, strict=True):
        of.setdefault(id(local.audience), (local.audience, {}))[1][int(local.index[i])] = row
    for audience, by_index in of.values():
        matches = audience.matches
        wanted = np.zeros(len(matches.view), bool)
        wanted[list(by_index)] = True
        mine = np.flatnonzero(wanted[matches.index])
        columns = (matches.index[mine].tolist(), matches.term[mine].tolist(), matches.times[mine].tolist())
        for index, term, times in zip(*columns, strict=True):
            by_index[index].terms[term] = times
