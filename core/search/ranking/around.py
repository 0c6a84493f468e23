"""The best rows with their neighbours: an answer follows its question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...index.numbers import Flags, Floats, Ints, LocalRows, MatchRows, ViewRows, put_in_order
from .days import are_inside
from .frame import Frame, Seen, build_frame, choose_best
from .own_words import HeldWords
from .reasons import SessionScores, find_fitting, find_open, list_reasons, weigh
from .rows import RankingQuery
from .weights import LEAST_CONTEXT, SHORT_ROW, saturation

REACH = 6
"""Minimum number of rows on either side of the best that are included as neighbours."""
FADE_BACK, FADE_ON = 150.0, 50.0
"""Distance in words at which a word of an earlier or a later row fades to 1/e: an answer follows its question."""


@dataclass(frozen=True, eq=False)
class Around:
    """The best rows of all audiences and their neighbours."""

    frame: Frame
    score: Floats
    is_match: Flags
    may_be_hit: Flags
    visible: Flags
    """Rows that may be read and are not left out."""
    run: Ints
    """Number of the run of adjacent messages that each row belongs to."""
    tags: Floats
    reasons: Mapping[str, Floats] = field(default_factory=dict)

    def list_best(self, most: int) -> LocalRows:
        """Return the best of the rows that may be hits, best first; of equal ones, the newest first."""
        may = self.may_be_hit.nonzero()[0]
        return LocalRows(may[choose_best(self.score[may], self.frame.at_us[may], most)])

    def find(self, n: int, rows: ViewRows) -> LocalRows:
        """Return the positions of these rows of an audience; all of them must be included."""
        return LocalRows(self.frame.starts[n] + self.frame.rows_of(n).searchsorted(rows))

    def list_own(self, rows: LocalRows) -> list[float]:
        """Return the scores of the rows' own words."""
        own: list[float] = self.reasons["own"][rows].tolist() if self.reasons else [0.0] * len(rows)
        return own


def list_words(seen: Sequence[Seen], held: HeldWords, leads: Sequence[ViewRows]) -> Around:
    """Return the rows scored by their own words alone."""
    frame = build_frame(seen, [put_in_order(rows) for rows in leads])
    at, is_match = _find_held(held, frame)
    nothing = np.zeros(len(frame), np.float32)
    return Around(frame, held.turn[at], is_match, is_match, is_match, np.zeros(len(frame), np.int64), nothing)


def look_around(
    seen: Sequence[Seen],
    held: HeldWords,
    sessions: SessionScores,
    leads: Sequence[ViewRows],
    query: RankingQuery,
    reach: int,
) -> Around:
    """Return rows of each audience with their neighbours, and the reasons that need no text."""
    widest = max(REACH, reach) if reach else 0
    frame = build_frame(seen, [_widen(one, rows, widest) for one, rows in zip(seen, leads, strict=True)])
    touches: Flags = np.zeros(len(frame), bool)
    is_next, is_chat = frame.row[1:] - frame.row[:-1] == 1, frame.is_chat[1:] & frame.is_chat[:-1]
    touches[1:] = is_next & (frame.thread[1:] == frame.thread[:-1]) & is_chat
    is_near = touches.copy()
    is_near[1:] &= frame.session[1:] == frame.session[:-1]
    at, is_row = _find_held(held, frame)
    own, turn, share, tags = (_fill(each, at, is_row) for each in (held.own, held.turn, held.share, held.tags))
    is_open = find_open(seen, [frame.rows_of(n) for n in range(len(seen))])
    visible = is_open.copy()
    for n, one in enumerate(seen):
        if one.matches.readable is not None:
            visible[frame.starts[n] : frame.starts[n + 1]] &= one.matches.readable(frame.rows_of(n))
    is_match, run = is_row & is_open, (~touches).cumsum()
    reasons = list_reasons(seen, frame, query, own, turn, share, sessions.find(frame.session))
    contexts = _find_contexts(held, frame, at, is_row, is_near, query, max(REACH, reach)) + tags
    reasons["context"] = np.maximum(contexts, own)
    reasons["beside"] = _find_beside(own, frame.words, is_near)
    may = is_match.copy()
    if query.has_answers and reach:
        may |= (contexts >= LEAST_CONTEXT) & _stands_near(is_match, run, reach)
        if query.question.spans:
            may |= are_inside(query.question, frame.at_us)
    score = sum(weigh(reasons, find_fitting(reasons), frame.long).values(), np.zeros(1, np.float32))
    return Around(frame, score, is_match, may & visible, visible, run, tags, reasons)


def _widen(one: Seen, rows: ViewRows, widest: int) -> ViewRows:
    """Return the rows of an audience within `widest` rows of the given ones."""
    wide = put_in_order(ViewRows(np.add.outer(rows, np.arange(-widest, widest + 1)).ravel()))
    return ViewRows(wide[wide.searchsorted(0) : wide.searchsorted(len(one.matches.view))])


def _find_held(held: HeldWords, frame: Frame) -> tuple[MatchRows, Flags]:
    """Return the match numbers of rows, and which rows match."""
    found = [held.find(n, frame.rows_of(n)) for n in range(len(held.rows))]
    at, is_there = (np.concatenate(each) for each in zip(*found, strict=True))
    return MatchRows(np.minimum(at, max(0, len(held) - 1))), is_there


def _fill(values: Floats, at: MatchRows, is_there: Flags) -> Floats:
    """Return the values at these positions; 0 for a row that does not match."""
    return np.where(is_there, values[at], np.float32(0)) if len(values) else np.zeros(len(at), np.float32)


def _stands_near(is_match: Flags, run: Ints, reach: int) -> Flags:
    """Return which rows are within `reach` rows of a match."""
    near = is_match.copy()
    for step in range(1, min(reach, len(run) - 1) + 1):
        same = run[step:] == run[:-step]
        near[step:] |= is_match[:-step] & same
        near[:-step] |= is_match[step:] & same
    return near


def _find_contexts(
    held: HeldWords, frame: Frame, at: MatchRows, is_row: Flags, is_near: Flags, query: RankingQuery, steps: int
) -> Floats:
    """Return each row's score with the faded words of `steps` neighbours on either side."""
    count, words = len(frame), frame.words
    place = np.full(len(held), -1, np.int64)
    place[at[is_row]] = is_row.nonzero()[0]
    middle = words.cumsum() - words / 2
    run = (~is_near).cumsum()
    own = np.zeros((len(held.groups), count), np.float32)
    for line, hits in zip(own, held.groups.values(), strict=True):
        to = place[hits.rows]
        here = to >= 0
        line[to[here]] = saturation(hits.times[here], words[to[here]], query.mean_words)
    reached = own.copy()
    for step in range(1, min(steps, count - 1) + 1):
        same = run[step:] == run[:-step]
        between = middle[step:] - middle[:-step]
        on, back = reached[:, step:], reached[:, :-step]
        np.maximum(on, own[:, :-step] * (same * np.exp(-between / FADE_BACK)), out=on)
        np.maximum(back, own[:, step:] * (same * np.exp(-between / FADE_ON)), out=back)
    total = np.zeros(count, np.float32)
    for hits, line in zip(held.groups.values(), reached, strict=True):
        total += hits.weight * line
    return total / np.float32(query.total)


def _find_beside(own: Floats, words: Floats, is_near: Flags) -> Floats:
    """Return the score of each row's better neighbour, faded by the length of the row."""
    other = np.zeros(len(own), np.float32)
    if len(own) > 1:
        other[1:] = own[:-1] * is_near[1:]
        other[:-1] = np.maximum(other[:-1], own[1:] * is_near[1:])
    beside: Floats = other * np.exp(-np.maximum(words, 1) / np.float32(SHORT_ROW))
    return beside
