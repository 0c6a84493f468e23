"""Ranks every row that matches, over arrays: no row is read to be ranked.

In each audience the rows are scored by their own words and by where they stand; the LEADING of them are looked at again
together with the rows around them, and the best of all audiences come out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from .places import Places, shares_of_long
from .relevance import FADE_BACK, FADE_ON, LEAST_CONTEXT, SHORT_ROW
from .rows import Asked, Candidate
from .weights import K1, B, rarity_weight

LEADING = 200
"""Best rows by their own words that are looked at with what stands around them, in each audience."""
REACH = 6
"""Rows on either side of them that are looked at too; more where answers are looked for further away."""
BEST = 120
"""Rows that come out at most."""


class Term(NamedTuple):
    """What a known word or tag of what is asked counts."""

    group: int
    """Number of the group of texts it belongs to; -1 for a tag."""
    factor: float
    """What it counts: 1 for the whole word, less for letters inside it."""
    worth: float = 0.0
    """Of a tag."""
    chat_only: bool = False


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


class Ranked(NamedTuple):
    """One of the best rows."""

    score: float
    at_us: int
    source: int
    is_match: bool
    local: Local
    i: int
    """Its place there."""


_new_ranked: Callable[[Iterable[Any]], Ranked] = partial(tuple.__new__, Ranked)
"""A named tuple's own constructor is a frame of Python for each row."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What came out."""

    best: Sequence[Ranked] = ()
    """Best first."""
    matching: Mapping[int, int] = field(default_factory=dict)
    """Source to how many rows match."""
    open: int = 0
    """How many of these are not left out."""


def rank_all(
    found: Sequence[AudienceMatches],
    terms: Sequence[Sequence[Term]],
    asked: Asked,
    *,
    here: str = "",
    reach: int = 4,
    best: int = BEST,
    by_words: bool = False,
    offered: Sequence[Any] = (),
) -> Ranking:
    """Return the best rows, and how many match.

    Args:
        terms: what each number of the postings means.
        here: the conversation asked in.
        reach: rows around one that matches among which an answer is looked for; 0 for none.
        by_words: what the rows hold decides alone.
        offered: of each audience rows that are ranked though they match nothing, in order.
    """
    audiences = [_match_rows(one, terms, asked, offered[n] if offered else None) for n, one in enumerate(found)]
    matching: Counter[int] = Counter()
    left_out = 0
    for one in audiences:
        counts = np.bincount(one.matches.view.source[one.rows]).tolist()
        for source, count in enumerate(counts):
            matching[source] += count
        if one.matches.left_out is not None:
            left_out += int(np.count_nonzero(is_among(one.rows, one.matches.left_out)))
    if not by_words:
        _add_sessions(audiences, asked)
    made: list[Ranked] = []
    for one in audiences:
        local = _look_around(one, asked, here, reach, max(best, LEADING), by_words) if len(one.rows) else None
        if local is not None:
            made += local.list_best(best)
    made.sort(key=itemgetter(1), reverse=True)
    made.sort(key=itemgetter(0), reverse=True)  # of one score the newest first
    return Ranking(made[:best], {source: n for source, n in matching.items() if n}, matching.total() - left_out)


def build_candidates(chosen: Sequence[Ranked], note: Callable[[Candidate, Mapping[int, int]], None]) -> list[Candidate]:
    """Return rows as candidates, in the order given.

    Args:
        note: called with each, and with how often it holds each number of the postings.
    """
    made: dict[int, Candidate] = {}
    by_local: dict[int, list[int]] = {}
    for n, each in enumerate(chosen):
        by_local.setdefault(id(each.local), []).append(n)
    for numbers in by_local.values():
        local = chosen[numbers[0]].local
        matches = local.audience.matches
        candidates = local.build([chosen[n].i for n in numbers])
        made |= zip(numbers, candidates, strict=True)
        index = local.index[[chosen[n].i for n in numbers]].tolist()
        held = matches.postings.held_by(index, len(matches.view))
        for candidate, row in zip(candidates, index, strict=True):
            note(candidate, held[row])
    return [made[n] for n in range(len(chosen))]


def find_beside(leads: Sequence[Ranked], without: Sequence[Ranked]) -> list[Ranked]:
    """Return the rows right before and after some, among long turns: what these are worth depends on their texts."""
    taken = {(id(each.local), each.i) for each in without}
    made = []
    for lead in leads:
        for other in lead.local.beside(lead.i):
            if (id(lead.local), other) not in taken:
                taken.add((id(lead.local), other))
                made.append(lead._replace(i=other, is_match=False))
    return made


def stand_around(
    found: Sequence[AudienceMatches], here: str, asker: str, wanted: Sequence[tuple[int, int]], reach: int
) -> list[Candidate]:
    """Return rows found otherwise, and those within so many rows of them in their conversations: where each stands."""
    made: list[Candidate] = []
    for one in found:
        view = one.view
        index = view.find_rows(wanted)
        if not len(index):
            continue
        around = np.add.outer(index, np.arange(-reach, reach + 1)).ravel()
        lead = np.repeat(index, 2 * reach + 1)
        inside = (around >= 0) & (around < len(view))
        around, lead = around[inside], lead[inside]
        beside = (view.thread[around] == view.thread[lead]) & view.is_chat[around]
        every = in_order(around[beside | (around == lead)])
        if one.readable is not None:
            every = every[one.readable(every)]
        thread, nothing = view.thread[every], np.zeros(len(every))
        long, near = shares_of_long(view.thread_means)[thread], view.nearness(here, asker)[thread]
        made += _candidates_at(one, every, nothing, nothing == 0, nothing, long, near, nothing)
    return made


def _candidates_at(
    one: AudienceMatches, index: Any, score: Any, context: Any, session: Any, long: Any, near: Any, reached: Any
) -> list[Candidate]:
    """Return rows of an audience, given what each is worth and where it stands."""
    view, first = one.view, one.number << 32
    number = view.session[index].astype(np.int64)
    columns = (
        view.source[index], view.row_id[index], view.at_us[index],
        view.words[index].astype(np.int64), score, context, np.zeros(len(index), bool),
        index.astype(np.int64) + first, number + first, view.session_rows[number], session, long, near,
        reached,
    )  # fmt: skip
    return [Candidate(*each) for each in zip(*(column.tolist() for column in columns), strict=True)]


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


def _saturated(times: Any, words: Any, mean: float) -> Any:
    held_back = K1 * (1 - B + B * words / max(mean, 1.0))
    return times * (K1 + 1) / (times + held_back)


# What the rows match themselves


@dataclass(eq=False)
class AudienceRows:
    """The matching rows of an audience, in order, with what they match."""

    matches: AudienceMatches
    rows: Any
    groups: list[tuple[float, Any, Any] | None]
    """Of each group its worth, which of `rows` hold it, and how often; None for one that nothing is worth or holds."""
    own: Any
    tags: Any
    sessions: Any = None
    """Those that rows stand in, in order."""
    session_of: Any = None
    """Of each row the place of its session in `sessions`."""
    session_worth: Any = None
    """What each of `sessions` is worth."""

    def find(self, index: Any) -> tuple[Any, Any]:
        """Return the places in `rows` of rows, and which of these are there."""
        at = np.minimum(self.rows.searchsorted(index), len(self.rows) - 1)
        return at, self.rows[at] == index


def _match_rows(
    one: AudienceMatches, terms: Sequence[Sequence[Term]], asked: Asked, offered: Any = None
) -> AudienceRows:
    view = one.view
    parts: list[list[tuple[Any, Any, float]]] = [[] for _ in asked.worth]
    tagged: list[tuple[Any, float]] = []
    for number, meanings in enumerate(terms):
        rows, times = one.postings.of(number)
        for term in meanings if len(rows) else ():
            if term.group < 0:
                tagged.append((rows, term.worth))
            elif asked.worth[term.group]:
                chat = view.is_chat[rows] if term.chat_only else None
                parts[term.group].append(
                    (rows, times, term.factor) if chat is None else (rows[chat], times[chat], term.factor)
                )
    listed = [np.zeros(0, np.int64)]
    for part in parts:
        listed += [rows for rows, _, _ in part]
    listed += [] if offered is None else [offered]
    every = in_order(np.concatenate([*listed, *(rows for rows, _ in tagged)]))
    place = np.empty(len(view), np.int32)
    place[every] = np.arange(len(every), dtype=np.int32)
    own, tags = np.zeros(len(every), np.float32), np.zeros(len(every), np.float32)
    words = view.words[every].astype(np.float32)
    groups: list[tuple[float, Any, Any] | None] = []
    for worth, part in zip(asked.worth, parts, strict=True):
        if not part:
            groups.append(None)
            continue
        # A row holds a word once, and may hold several words of a group.
        held = [(place[rows], times.astype(np.float32) * np.float32(factor)) for rows, times, factor in part]
        at, times = held[0]
        if len(held) > 1:
            together = np.zeros(len(every), np.float32)
            for at, times in held:
                together[at] += times
            at = together.nonzero()[0]
            times = together[at]
        groups.append((worth, at, times))
        own[at] += worth * _saturated(times, words[at], asked.mean_words)
    for rows, worth in tagged:
        tags[place[rows]] += np.float32(worth)
    return AudienceRows(one, every, groups, own / asked.total, tags / asked.total)


def _add_sessions(audiences: Sequence[AudienceRows], asked: Asked) -> None:
    """Give every session what BM25 of all its rows is worth, among all sessions seen."""
    every = sum(one.matches.view.sessions for one in audiences)
    if not every:
        return
    mean = sum(float(one.matches.view.session_words.sum()) for one in audiences) / every
    for one in audiences:
        session = one.matches.view.session[one.rows]
        is_new = np.ones(len(session), bool)
        is_new[1:] = session[1:] != session[:-1]
        one.sessions, one.session_of = session[is_new], is_new.cumsum() - 1
    times: list[list[Any]] = []
    worth: list[float] = []
    for number, of_word in enumerate(asked.worth):
        held, docs = [], 0
        for one in audiences:
            group = one.groups[number]
            each: Any = None
            if group is not None:
                each = np.bincount(one.session_of[group[1]], weights=group[2], minlength=len(one.sessions))
                docs += int(np.count_nonzero(each))
            held.append(each)
        times.append(held)
        worth.append(rarity_weight(docs, every) if docs and of_word else 0.0)
    total = sum(worth) or 1.0
    for n, one in enumerate(audiences):
        value = np.zeros(len(one.sessions), np.float32)
        size = one.matches.view.session_words[one.sessions]
        for of_word, held in zip(worth, times, strict=True):
            if of_word and held[n] is not None:
                there = held[n].nonzero()[0]
                value[there] += of_word * _saturated(held[n][there], size[there], mean) / total
        one.session_worth = value


# What stands around them


@dataclass(eq=False)
class Local:
    """The rows of an audience that are looked at together with what stands around them."""

    audience: AudienceRows
    index: Any
    at_us: Any
    is_chat: Any
    run: Any
    """Number of the stretch of rows that each is in, between which nothing else was said."""
    score: Any
    may_be_hit: Any
    is_match: Any
    session: Any
    long: Any
    near: Any
    visible: Any
    context: Any

    def list_best(self, most: int) -> list[Ranked]:
        """Return the best of the rows that may be hits."""
        may = self.may_be_hit.nonzero()[0]
        kept = may[_first(self.score[may], self.at_us[may], most)]
        source = self.audience.matches.view.source[self.index[kept]]
        columns = (self.score[kept], self.at_us[kept], source, self.is_match[kept])
        listed = zip(*(column.tolist() for column in columns), repeat(self), kept.tolist(), strict=False)
        return list(map(_new_ranked, listed))

    def build(self, places: Sequence[int]) -> list[Candidate]:
        """Return the rows at these places."""
        at = np.array(places, np.int64)
        score = np.round(self.score[at].astype(np.float64), 6)
        return _candidates_at(
            self.audience.matches, self.index[at], score, ~self.is_match[at], self.session[at], self.long[at],
            self.near[at], self.context[at],
        )  # fmt: skip

    def beside(self, i: int) -> list[int]:
        """Return the rows right before and after one, where turns are long: a question, and what answers at length."""
        if not self.long[i]:
            return []
        near = [j for j in (i - 1, i + 1) if 0 <= j < len(self.index)]
        return [j for j in near if self.run[j] == self.run[i] and self.visible[j]]


def _look_around(one: AudienceRows, asked: Asked, here: str, reach: int, leading: int, by_words: bool) -> Local | None:
    view, left_out = one.matches.view, one.matches.left_out
    places = None if by_words else Places(one, asked, here)
    at = np.arange(len(one.rows)) if left_out is None else (~is_among(one.rows, left_out)).nonzero()[0]
    if not len(at):
        return None
    if len(at) > leading:
        words, rows = one.own[at] + one.tags[at], one.rows[at]
        quick = words if places is None else places.score(rows, words, words, None, places.session_of(at))
        at = at[_first(quick, view.at_us[rows], leading)]
    widest = max(REACH, reach) if reach and not by_words else 0
    index = in_order(np.add.outer(one.rows[at], np.arange(-widest, widest + 1)).ravel())
    index = index[index.searchsorted(0) : index.searchsorted(len(view))]
    words, at_us = view.words[index].astype(np.float32), view.at_us[index]
    is_chat = view.is_chat[index]
    session, thread = view.session[index], view.thread[index]
    touches = np.zeros(len(index), bool)
    touches[1:] = (index[1:] - index[:-1] == 1) & (thread[1:] == thread[:-1]) & is_chat[1:] & is_chat[:-1]
    run = (~touches).cumsum()
    near = touches.copy()
    near[1:] &= session[1:] == session[:-1]
    at, is_row = one.find(index)
    own, tags = np.where(is_row, one.own[at], np.float32(0)), np.where(is_row, one.tags[at], np.float32(0))
    visible = np.ones(len(index), bool) if left_out is None else ~is_among(index, left_out)
    is_match = is_row & visible
    if one.matches.readable is not None:
        visible &= one.matches.readable(index)
    words_alone = own + tags
    if places is None:
        nothing = np.zeros(len(index), np.float32)
        return Local(one, index, at_us, is_chat, run, words_alone, is_match & visible, is_match, nothing,
                     nothing, nothing, visible, words_alone)  # fmt: skip
    context = _contexts(one, index, words, near, asked, max(REACH, reach)) + tags
    beside = _besides(own, words, near)
    of_session = places.session(session)
    score = places.score(index, words_alone, np.maximum(context, words_alone), beside, of_session)
    may = is_match.copy()
    if asked.has_answers and reach:
        may |= visible & (context >= LEAST_CONTEXT) & _stands_near(is_match, run, reach)
        for since, until in asked.days:
            may |= visible & (at_us >= since) & (at_us < until)
    return Local(
        one, index, at_us, is_chat, run, score, may & visible, is_match, of_session, places.long(index),
        places.near(index), visible, context,
    )  # fmt: skip


def _stands_near(is_match: Any, run: Any, reach: int) -> Any:
    """Return which rows stand within so many rows of one that matches."""
    made = is_match.copy()
    for step in range(1, min(reach, len(run) - 1) + 1):
        same = run[step:] == run[:-step]
        made[step:] |= is_match[:-step] & same
        made[:-step] |= is_match[step:] & same
    return made


def _contexts(one: AudienceRows, index: Any, words: Any, near: Any, asked: Asked, steps: int) -> Any:
    """Return what the words of each row are worth together with those that reach it from so many rows around it."""
    at, is_row = one.find(index)
    place = np.full(len(one.rows), -1, np.int64)
    place[at[is_row]] = is_row.nonzero()[0]
    middle = words.cumsum() - words / 2
    run = (~near).cumsum()
    groups = [group for group in one.groups if group is not None]
    held = np.zeros((len(groups), len(index)), np.float32)
    for line, (_, rows, times) in zip(held, groups, strict=True):
        at = place[rows]
        here = at >= 0
        line[at[here]] = _saturated(times[here], words[at[here]], asked.mean_words)
    reached = held.copy()
    for step in range(1, min(steps, len(index) - 1) + 1):
        same = run[step:] == run[:-step]
        between = middle[step:] - middle[:-step]
        on, back = reached[:, step:], reached[:, :-step]
        np.maximum(on, held[:, :-step] * (same * np.exp(-between / FADE_BACK)), out=on)
        np.maximum(back, held[:, step:] * (same * np.exp(-between / FADE_ON)), out=back)
    total = np.zeros(len(index), np.float32)
    for (worth, _, _), line in zip(groups, reached, strict=True):
        total += worth * line
    return total / asked.total


def _besides(own: Any, words: Any, near: Any) -> Any:
    """Return what the better neighbour of each row is worth, as far as the row itself is short."""
    other = np.zeros(len(own), np.float32)
    if len(own) > 1:
        other[1:] = own[:-1] * near[1:]
        other[:-1] = np.maximum(other[:-1], own[1:] * near[1:])
    return other * np.exp(-np.maximum(words, 1) / SHORT_ROW)
