"""Ranks every row that matches, over arrays: no row is read to be ranked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .matching_rows import AudienceRows, Matches, RankedRow, Term
from .neighbours import FADE_BACK, FADE_ON, SHORT_ROW
from .places import Places, shares_of_long
from .ranking import K1, B, rarity_weight
from .relevance import LEAST_CONTEXT
from .rows import Asked

LEADING = 600
"""Best rows by their own words that are looked at with what stands around them, in each audience."""
REACH = 6
"""Rows on either side of them that are looked at too; more where answers are looked for further away."""
BEST = 120
"""Rows that come out at most."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What came out."""

    best: list[RankedRow] = field(default_factory=list)
    """Best first."""
    beside: list[RankedRow] = field(default_factory=list)
    """Rows right before and after the first of them, among long turns: what these are worth depends on their texts."""
    matching: Mapping[int, int] = field(default_factory=dict)
    """Source to how many rows match."""
    open: int = 0
    """How many of these are not left out."""


def rank_all(
    found: Sequence[Matches],
    terms: Sequence[Sequence[Term]],
    asked: Asked,
    *,
    here: str = "",
    reach: int = 4,
    near_rows: int = 16,
    best: int = BEST,
    by_words: bool = False,
    offered: Sequence[Any] = (),
) -> Ranking:
    """Return the best rows, those right beside the first of them, and how many rows match.

    Args:
        offered: of each audience rows that are ranked though they match nothing, in order.
    """
    audiences = [_read_audience(one, terms, asked, offered[n] if offered else None) for n, one in enumerate(found)]
    matching: Counter[int] = Counter()
    left_out = 0
    for one in audiences:
        counts = np.bincount(one.matches.view.take("source", one.rows)).tolist()
        matching.update({source: count for source, count in enumerate(counts) if count})
        if one.matches.left_out is not None:
            left_out += int(np.count_nonzero(is_among(one.rows, one.matches.left_out)))
    if not by_words:
        _add_sessions(audiences, asked)
    made: list[tuple[float, int, int, _Local]] = []
    for one in audiences:
        local = _look_around(one, asked, here, reach, max(best, LEADING), by_words) if len(one.rows) else None
        if local is None:
            continue
        may = np.flatnonzero(local.may_be_hit)
        kept = may[_first(local.score[may], local.at_us[may], best)]
        made += [(float(local.score[i]), int(local.at_us[i]), int(i), local) for i in kept.tolist()]
    made.sort(key=lambda each: (-each[0], -each[1]))
    chosen = [(local, i) for _, _, i, local in made[:best]]
    every = _rows_of(chosen)
    _tell_terms(chosen, every, terms)
    taken = {(id(local), i) for local, i in chosen}
    beside: list[tuple[_Local, int]] = []
    leads = [(i, local) for local, i in chosen if reach and local.is_chat[i] and local.is_match[i]]
    for i, local in leads[:near_rows]:
        for other in local.beside(i):
            if (id(local), other) not in taken:
                taken.add((id(local), other))
                beside.append((local, other))
    return Ranking(every, _rows_of(beside), matching, matching.total() - left_out)


def stand_around(
    found: Sequence[Matches], here: str, asker: str, wanted: Sequence[tuple[int, int]], reach: int
) -> list[RankedRow]:
    """Return rows found otherwise, and those within so many rows of them in their conversations: where each stands."""
    made: list[RankedRow] = []
    for one in found:
        view = one.view
        index = view.find_rows(wanted)
        if not len(index):
            continue
        ranks = np.add.outer(view.rank(index), np.arange(-reach, reach + 1)).ravel()
        lead = np.repeat(index, 2 * reach + 1)
        inside = (ranks >= 0) & (ranks < len(view))
        around, lead = view.at_rank(ranks[inside]), lead[inside]
        beside = (view.take("thread", around) == view.take("thread", lead)) & view.is_chat(around)
        every = in_order(around[beside | (around == lead)])
        if one.readable is not None:
            every = every[one.readable(every)]
        thread, nothing = view.take("thread", every), np.zeros(len(every))
        long, near = shares_of_long(view.thread_means)[thread], view.nearness(here, asker)[thread]
        made += _rows_at(one, every, nothing, nothing > 0, nothing, long, near, nothing)
    return made


def _rows_at(
    one: Matches, index: Any, score: Any, is_match: Any, session: Any, long: Any, near: Any, context: Any
) -> list[RankedRow]:
    """Return rows of an audience, given what each is worth and where it stands."""
    view, first = one.view, one.number << 32
    number = view.take("session", index).astype(np.int64)
    columns = (
        view.take("source", index), view.take("row_id", index), view.take("at_us", index),
        view.take("words", index).astype(np.int64), score, is_match, session, long, near, context,
        view.rank(index).astype(np.int64) + first, number + first, view.session_rows[number],
    )  # fmt: skip
    return [RankedRow(*each) for each in zip(*(column.tolist() for column in columns), strict=True)]


def _first(score: Any, at_us: Any, most: int) -> Any:
    """Return the places of the best, at most so many, best first, of equal ones the newest."""
    places = None
    if most < len(score):
        places = np.flatnonzero(score >= np.partition(score, len(score) - most)[len(score) - most])
        score, at_us = score[places], at_us[places]
    order = np.lexsort((-at_us, -score))[:most]
    return order if places is None else places[order]


def in_order(index: Any) -> Any:
    """Return the numbers of some rows in order, each once."""
    ordered = np.sort(index.astype(np.int32))
    is_new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return ordered[is_new].astype(np.int64)


def is_among(index: Any, rows: Any) -> Any:
    """Return which of some rows are among others, which are in order."""
    if not len(rows):
        return np.zeros(len(index), bool)
    return rows[np.minimum(np.searchsorted(rows, index), len(rows) - 1)] == index


def _rows_of(chosen: Sequence[tuple[_Local, int]]) -> list[RankedRow]:
    of: dict[int, tuple[_Local, list[int]]] = {}
    for local, i in chosen:
        of.setdefault(id(local), (local, []))[1].append(i)
    made = {key: iter(local.rows(places)) for key, (local, places) in of.items()}
    return [next(made[id(local)]) for local, _ in chosen]


def _saturated(times: Any, words: Any, mean: float) -> Any:
    held_back = K1 * (1 - B + B * words / max(mean, 1.0))
    return times * (K1 + 1) / (times + held_back)


def _read_audience(one: Matches, terms: Sequence[Sequence[Term]], asked: Asked, offered: Any = None) -> AudienceRows:
    view = one.view
    parts: list[list[tuple[Any, Any, float]]] = [[] for _ in asked.worth]
    tagged: list[tuple[Any, float]] = []
    for number, meanings in enumerate(terms):
        rows, times = one.postings.of(number)
        for term in meanings if len(rows) else ():
            if term.group < 0:
                tagged.append((rows, term.worth))
            elif asked.worth[term.group]:
                chat = view.is_chat(rows) if term.chat_only else None
                parts[term.group].append(
                    (rows, times, term.factor) if chat is None else (rows[chat], times[chat], term.factor)
                )
    listed = [*(rows for part in parts for rows, _, _ in part), *(rows for rows, _ in tagged)]
    listed += [] if offered is None else [offered]
    every = in_order(np.concatenate([np.zeros(0, np.int64), *listed]))
    place = np.empty(len(view), np.int32)
    place[every] = np.arange(len(every), dtype=np.int32)
    own, tags = np.zeros(len(every), np.float32), np.zeros(len(every), np.float32)
    words = view.take("words", every).astype(np.float32)
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
            at = np.flatnonzero(together)
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
    mean = sum(one.matches.view.all_words for one in audiences) / every
    for one in audiences:
        # Rows lie by session, but for those that are not packed.
        session = one.matches.view.take("session", one.rows)
        order = np.argsort(session, kind="stable")
        in_order = session[order]
        is_new = np.ones(len(order), bool)
        is_new[1:] = in_order[1:] != in_order[:-1]
        one.sessions = in_order[is_new]
        one.session_of = np.empty(len(order), np.int64)
        one.session_of[order] = np.cumsum(is_new) - 1
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
                there = np.flatnonzero(held[n])
                value[there] += of_word * _saturated(held[n][there], size[there], mean) / total
        one.session_worth = value


@dataclass(eq=False)
class _Local:
    """The rows of an audience that are looked at together with what stands around them."""

    audience: AudienceRows
    index: Any
    at_us: Any
    is_chat: Any
    run: Any
    score: Any
    may_be_hit: Any
    is_match: Any
    session: Any
    long: Any
    near: Any
    visible: Any
    context: Any

    def rows(self, places: Sequence[int]) -> list[RankedRow]:
        """Return the rows at these places."""
        at = np.array(places, np.int64)
        score = np.round(self.score[at].astype(np.float64), 6)
        return _rows_at(
            self.audience.matches, self.index[at], score, self.is_match[at], self.session[at], self.long[at],
            self.near[at], self.context[at],
        )  # fmt: skip

    def beside(self, i: int) -> list[int]:
        """Return the rows right before and after one, where turns are long: a question, and what answers at length."""
        if not self.long[i]:
            return []
        near = [j for j in (i - 1, i + 1) if 0 <= j < len(self.index)]
        return [j for j in near if self.run[j] == self.run[i] and self.visible[j]]


def _look_around(one: AudienceRows, asked: Asked, here: str, reach: int, leading: int, by_words: bool) -> _Local | None:
    view, left_out = one.matches.view, one.matches.left_out
    places = None if by_words else Places(one, asked, here)
    at = np.arange(len(one.rows)) if left_out is None else np.flatnonzero(~is_among(one.rows, left_out))
    if not len(at):
        return None
    if len(at) > leading:
        words, rows = one.own[at] + one.tags[at], one.rows[at]
        quick = words if places is None else places.score(rows, words, words, None, places.session_of(at))
        at = at[_first(quick, view.take("at_us", rows), leading)]
    widest = max(REACH, reach) if reach and not by_words else 0
    ranks = in_order(np.add.outer(view.rank(one.rows[at]), np.arange(-widest, widest + 1)).ravel())
    ranks = ranks[np.searchsorted(ranks, 0) : np.searchsorted(ranks, len(view))]
    index = view.at_rank(ranks)
    words, at_us = view.take("words", index).astype(np.float32), view.take("at_us", index)
    is_chat = view.is_chat(index)
    session, thread = view.take("session", index), view.take("thread", index)
    touches = np.zeros(len(index), bool)
    touches[1:] = (np.diff(ranks) == 1) & (thread[1:] == thread[:-1]) & is_chat[1:] & is_chat[:-1]
    run = np.cumsum(~touches)
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
        return _Local(one, index, at_us, is_chat, run, words_alone, is_match & visible, is_match, nothing,
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
    return _Local(
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
    place[at[is_row]] = np.flatnonzero(is_row)
    middle = np.cumsum(words) - words / 2
    run = np.cumsum(~near)
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


def _tell_terms(
    chosen: Sequence[tuple[_Local, int]], rows: Sequence[RankedRow], terms: Sequence[Sequence[Term]]
) -> None:
    """Tell the best rows which words and tags they hold."""
    of: dict[int, tuple[AudienceRows, dict[int, RankedRow]]] = {}
    for (local, i), row in zip(chosen, rows, strict=True):
        of.setdefault(id(local.audience), (local.audience, {}))[1][int(local.index[i])] = row
    for audience, by_index in of.values():
        matches = audience.matches
        for index, held in matches.postings.held_by(list(by_index), len(matches.view)).items():
            by_index[index].terms = {number: times for number, times in held.items() if terms[number]}
