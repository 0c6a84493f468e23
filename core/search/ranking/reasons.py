"""Ranking reasons of matching rows that do not depend on neighbours, and the rows that are best by them."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...index.numbers import Column, Flags, Floats, MatchRows, ViewRows, is_among, take
from . import weights
from .days import choose_ends, find_coming, find_days
from .frame import Frame, HeldWords, Seen, choose_best
from .rows import RankingQuery

_LENGTHS = np.array([math.log(max(1, n) / weights.USUAL_LENGTH) for n in range(weights.MOST_LENGTH + 1)], np.float32)

MOST_RANKED = 10_000
"""Maximum number of matching rows of an audience that are ranked by all reasons: those with the best own words."""
CLEARLY_MORE = 1.05
"""Factor by which a row of somebody else must match better than all rows of the named person to be placed first."""
FULL = 0.9
"""A row counts as complete if its share of the terms is at least this fraction of the best row's share."""


class SessionScores(NamedTuple):
    """Scores of those sessions (stretches of talk) that contain matching rows."""

    numbers: Column
    """Session numbers, sorted."""
    worth: Floats

    def find(self, session: Column) -> Floats:
        """Return the score of each session; 0 for a session without matching rows."""
        if not len(self.numbers):
            return np.zeros(len(session), np.float32)
        at = np.minimum(self.numbers.searchsorted(session), len(self.numbers) - 1)
        return np.where(self.numbers[at] == session, self.worth[at], np.float32(0))


def find_fitting(reasons: Mapping[str, Floats]) -> Floats:
    """Return each row's factor, 0 to 1, for the reasons outside OF_WORDS: 1 if its word score reaches FULL_MATCH."""
    match = np.maximum(reasons.get("context", np.float32(0)), reasons.get("own", np.float32(0)))
    if "meaning" in reasons:
        match = np.maximum(match, weights.LIKE * reasons["meaning"])
    fitting: Floats = np.minimum(1.0, match / weights.FULL_MATCH)
    for name in ("day", "month", "statement"):
        if name in reasons:
            fitting = np.where(reasons[name] > 0, 1.0, fitting)
    return fitting


def weigh(
    reasons: Mapping[str, Floats], fitting: Floats, long: Floats, *, by_meaning: bool = False
) -> dict[str, Floats]:
    """Return how much each reason adds to each row's score; `fitting`: see `find_fitting`, `long`: see `Frame.long`."""
    by_name = weights.WEIGHTS | weights.BY_MEANING if by_meaning else weights.WEIGHTS
    share = float(long[0]) if len(long) and (long == long[0]).all() else None
    parts = {}
    for name, value in reasons.items():
        weight = weights.between(by_name[name], long) if share is None else weights.between(by_name[name], share)
        if share is None or weight:
            parts[name] = weight * value if name in weights.OF_WORDS else weight * value * fitting
    return parts


def keep_fullest(held: HeldWords, most: int, offered: Sequence[ViewRows]) -> HeldWords:
    """Keep, of each audience, the `most` rows that score best by their own words, and the rows `offered`."""
    if all(len(rows) <= most for rows in held.rows):
        return held
    stays: list[Flags] = []
    for n, rows in enumerate(held.rows):
        turn = held.turn[held.starts[n] : held.starts[n + 1]]
        mine: Flags = np.ones(len(rows), bool)
        if len(rows) > most:
            mine = turn >= np.partition(turn, -most)[-most]
            if offered:
                mine |= is_among(rows, offered[n])
        stays.append(mine)
    return held.keep(np.concatenate(stays))


def weigh_sessions(seen: Sequence[Seen], held: HeldWords, frame: Frame) -> SessionScores:
    """Return the BM25 score of each session, whose rows are scored as one text."""
    is_new = np.ones(len(frame), bool)
    is_new[1:] = frame.session[1:] != frame.session[:-1]
    numbers, session_of = frame.session[is_new], is_new.cumsum() - 1
    worth = np.zeros(len(numbers), np.float32)
    every = sum(one.matches.view.sessions for one in seen)
    mean = sum(int(one.matches.view.thread_sums[1].sum()) for one in seen) / max(1, every)
    ends = numbers.searchsorted([*(one.first_session for one in seen[1:]), every])
    parts = zip(seen, np.split(numbers, ends), strict=False)
    sizes = np.concatenate([one.matches.view.session_words[mine - one.first_session] for one, mine in parts])
    times = [np.bincount(session_of[hits.rows], hits.times, len(numbers)) for hits in held.groups.values()]
    rows_of = [counts.nonzero()[0] for counts in times]
    rarities = [weights.rarity_weight(len(there), every) if len(there) else 0.0 for there in rows_of]
    total = sum(rarities) or 1.0
    for weight, counts, there in zip(rarities, times, rows_of, strict=True):
        worth[there] += weight * weights.saturation(counts[there].astype(np.float64), sizes[there], mean) / total
    return SessionScores(numbers, worth)


def list_reasons(
    seen: Sequence[Seen], frame: Frame, query: RankingQuery, own: Floats, turn: Floats, share: Floats, session: Floats
) -> dict[str, Floats]:
    """Return the ranking reasons that need neither texts nor neighbours, with a value for each row."""
    length = _LENGTHS[np.clip(frame.words, 1, weights.MOST_LENGTH).astype(np.int64)]
    reasons = {"context": own, "own": own, "turn": turn, "share": share, "session": session}
    reasons |= {"length": np.where(frame.is_chat, length, np.float32(0)), "near": frame.near}
    if frame.person is not None:
        reasons["person"] = frame.person
    question = query.question
    if question.spans or question.order:
        reasons |= find_days(question, frame.at_us)
    elif question.days:
        reasons["coming"] = find_coming(question, seen, frame)
    return reasons


def find_open(seen: Sequence[Seen], rows: Sequence[ViewRows]) -> Flags:
    """Return which of these rows may become hits, as the caller did not exclude them."""
    parts = [
        np.ones(len(mine), bool) if one.matches.left_out is None else ~is_among(mine, one.matches.left_out)
        for one, mine in zip(seen, rows, strict=True)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def choose_leads(
    held: HeldWords, is_open: Flags, at_us: Column, most: int, reasons: Mapping[str, Floats], long: Floats
) -> list[ViewRows]:
    """Return, by audience and unsorted, the matching rows that are best by their words and `reasons`."""
    score = held.turn
    if reasons and any(len(rows) > most for rows in held.rows):
        score = sum(weigh(reasons, find_fitting(reasons), long).values(), np.zeros(1, np.float32))
    leads = []
    for n, rows in enumerate(held.rows):
        first = held.starts[n]
        at = first + is_open[first : held.starts[n + 1]].nonzero()[0]
        if len(at) > most:
            at = at[choose_best(score[at], at_us[at], most)]
        leads.append(take(rows, at - first))
    return leads


def find_newest(held: HeldWords, frame: Frame, is_open: Flags, count: int) -> MatchRows:
    """Return the `count` newest matching rows of the person that the question is about.

    A row is complete if its share of terms is at least FULL of the best. Rows newer than all complete rows are chosen,
    best share first; if there are none, the newest complete row.
    """
    may = is_open & (frame.words <= weights.WHOLE)  # a longer text holds some word of any question
    rows = (may & _are_of_person(frame)).nonzero()[0]
    share, at_us = held.share[rows], frame.at_us[rows]
    found = []
    for _ in range(min(count, len(rows))):
        is_full = share >= FULL * share.max()
        newer = at_us > at_us[is_full].max()
        chosen = np.lexsort((at_us, share * newer, newer))[-1] if newer.any() else np.lexsort((at_us, is_full))[-1]
        found.append(chosen)
        share = np.where(np.arange(len(share)) == chosen, 0, share)
    return MatchRows(rows[found] if found else rows[:0])


def find_in_order(held: HeldWords, frame: Frame, is_open: Flags, order: str) -> MatchRows:
    """Return the first or last rows that match nearly as well as the best, if possible of the person asked about."""
    is_full = is_open & (held.own >= weights.FULL_SHARE * held.own.max(initial=0.0))
    of_person = is_full & _are_of_person(frame)
    rows = (of_person if of_person.any() else is_full).nonzero()[0]
    return MatchRows(rows[choose_ends(frame.at_us[rows], order)])


def _are_of_person(frame: Frame) -> Flags:
    """Return which rows may be of the person asked about: that person's messages, all memories and diary entries."""
    return np.ones(len(frame), bool) if frame.person is None else ~frame.is_chat | (frame.person > 0)


def is_said_by_others(held: HeldWords, frame: Frame) -> bool:
    """Return whether a row of somebody else matches clearly better than all rows of the named people."""
    if frame.person is None:
        return False
    about, others = (float(held.share[frame.person == sign].max(initial=0.0)) for sign in (1, -1))
    return others > CLEARLY_MORE * about
