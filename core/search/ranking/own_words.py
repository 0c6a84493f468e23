"""The terms of matching rows, and the score of the rows' own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...index.numbers import Column, Flags, Floats, Ints, MatchRows, ViewRows, find_in, take
from ...index.shapes import TAG
from .frame import AudienceMatches
from .rows import RankingQuery
from .weights import PASSAGE, saturation


class GroupHits(NamedTuple):
    """Rows that hold a group of terms."""

    weight: float
    rows: MatchRows
    times: Floats
    """Number of times each row holds it; letters inside other words count less than one."""


@dataclass(frozen=True, eq=False)
class HeldWords:
    """The terms of the matching rows, one audience after another."""

    rows: Sequence[ViewRows]
    """Matching rows of each audience, sorted."""
    starts: Ints
    """Position of the first row of each audience, followed by the number of rows."""
    groups: Mapping[int, GroupHits]
    """Hits of each group with a weight, by group id."""
    own: Floats
    """Score of the best passage of each row, as if all its terms were in one passage."""
    turn: Floats
    """Score of each row as a whole."""
    share: Floats
    """Sum of the weights of the groups that a row holds, whatever the number of times."""
    tags: Floats
    """Score of the tags of each row, which is part of `own`, `turn` and `share`."""

    def __len__(self) -> int:
        return len(self.turn)

    def find(self, n: int, rows: ViewRows) -> tuple[MatchRows, Flags]:
        """Return the match numbers of rows of an audience, and which of the rows match."""
        at, is_there = find_in(self.rows[n], rows)
        return MatchRows(at + self.starts[n]), is_there

    def keep(self, which: Flags) -> HeldWords:
        place = which.cumsum() - 1
        groups = {}
        for group, hits in self.groups.items():
            kept = which[hits.rows]
            rows = take(hits.rows, kept)
            groups[group] = GroupHits(hits.weight, MatchRows(place[rows]), hits.times[kept])
        parts = [which[a:b] for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]
        rows_kept = [take(rows, part) for rows, part in zip(self.rows, parts, strict=True)]
        own, turn, share, tags = (each[which] for each in (self.own, self.turn, self.share, self.tags))
        starts = np.cumsum([0, *(len(rows) for rows in rows_kept)])
        return replace(self, rows=rows_kept, starts=starts, groups=groups, own=own, turn=turn, share=share, tags=tags)


class _Found(NamedTuple):
    """The matching rows of one audience, and their terms."""

    rows: ViewRows
    words: Floats
    groups: Mapping[int, tuple[Ints, Floats]]
    tags: Floats


def read_words(
    audiences: Sequence[AudienceMatches], query: RankingQuery, offered: Sequence[ViewRows] = ()
) -> HeldWords:
    """Return the terms of matching rows and of rows that are offered without a match."""
    found = [_read_audience(one, query, offered[n] if offered else None) for n, one in enumerate(audiences)]
    starts = np.cumsum([0, *(len(one.rows) for one in found)])
    words = _join([one.words for one in found])
    passage, mean_passage = np.minimum(words, PASSAGE), min(PASSAGE, query.mean_words)
    own: Floats
    turn: Floats
    share: Floats
    own, turn, share = (np.zeros(len(words), np.float32) for _ in range(3))
    groups = {}
    for group in sorted({group for one in found for group in one.groups}):
        here = [(start, one.groups[group]) for start, one in zip(starts, found, strict=False) if group in one.groups]
        rows = MatchRows(np.concatenate([at + start for start, (at, _) in here]))
        times, weight = _join([times for _, (_, times) in here]), query.weights[group]
        groups[group] = GroupHits(weight, rows, times)
        turn[rows] += weight * saturation(times, words[rows], query.mean_words)
        own[rows] += weight * saturation(times, passage[rows], mean_passage)
        share[rows] += weight * np.minimum(times, np.float32(1))
    tags = _join([one.tags for one in found])
    own, turn, share = ((each + tags) / query.total for each in (own, turn, share))
    return HeldWords([one.rows for one in found], starts, groups, own, turn, share, tags / query.total)


def _join(parts: Sequence[Floats]) -> Floats:
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.float32), *parts])


def _read_audience(one: AudienceMatches, query: RankingQuery, offered: ViewRows | None) -> _Found:
    view = one.view
    parts: dict[int, list[tuple[ViewRows, Column, float]]] = {}
    for index_term, shares in query.shares.items():
        rows, times = one.postings.find(index_term)
        for share in shares if len(rows) else ():
            if query.weights[share.group]:
                chat = view.is_chat[rows] if share.chat_only else slice(None)
                mine = ViewRows(rows[chat]), times[chat], share.factor
                parts.setdefault(share.group, []).append(mine)
    tagged = [
        (one.postings.find((TAG, term.text))[0], term.group, weight)
        for term, weight in zip(query.terms, query.weights, strict=True)
        if term.kind == "tag"
    ]
    listed = [np.zeros(0, np.int64) if offered is None else offered, *(rows for rows, _, _ in tagged)]
    matches = np.zeros(len(view), bool)
    matches[np.concatenate([*listed, *(rows for part in parts.values() for rows, _, _ in part)])] = True
    every = ViewRows(matches.nonzero()[0])
    place = np.empty(len(view), np.int32)
    place[every] = np.arange(len(every), dtype=np.int32)
    groups = {group: _add_up(part, place, len(every)) for group, part in parts.items()}
    tags = np.zeros(len(every), np.float32)
    for rows, group, weight in tagged:
        at = place[rows]
        if group in groups:  # a tag that the row also holds as a word counts once
            holds = np.zeros(len(every), bool)
            holds[groups[group][0]] = True
            at = at[~holds[at]]
        tags[at] += np.float32(weight)
    return _Found(every, view.words[every].astype(np.float32), groups, tags)


def _add_up(part: Sequence[tuple[ViewRows, Column, float]], place: Column, count: int) -> tuple[Ints, Floats]:
    """Return the positions of the rows that hold a group, and the number of times, summed over its words."""
    postings = [(place[rows], times.astype(np.float32) * np.float32(factor)) for rows, times, factor in part]
    if len(postings) == 1:
        return postings[0][0].astype(np.int64), postings[0][1]
    together = np.zeros(count, np.float32)
    for at, times in postings:
        together[at] += times
    held = together.nonzero()[0]
    return held, together[held]
