"""The rows to rank, as arrays: facts from the index, the terms in the rows, and the scores of the rows' own words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...index.numbers import Column, Flags, Floats, Ints, MatchRows, ViewRows, find_in, take
from ...index.shapes import TAG
from ...index.visible import Postings, Visible
from ..question import Question
from .rows import PERSONA, RankingQuery
from .weights import LONG_TURNS, PASSAGE, SHORT_TURNS, saturation


@dataclass(frozen=True, eq=False)
class AudienceMatches:
    view: Visible
    postings: Postings
    """Postings of the terms, only of readable rows."""
    number: int = 0
    """Position of the audience in the search."""
    readable: Callable[[ViewRows], Flags] | None = None
    """Returns flags of the rows that may be read; None if all may be read."""
    left_out: ViewRows | None = None
    """Rows that may not become hits, sorted; None if there are none."""

    def keep_readable(self, rows: ViewRows) -> ViewRows:
        return rows if self.readable is None or not len(rows) else ViewRows(rows[self.readable(rows)])

    def list_readable(self) -> ViewRows:
        """Return all rows that may be read, sorted."""
        return self.keep_readable(ViewRows(np.arange(len(self.view))))


class Seen(NamedTuple):
    """An audience with facts about its conversations and speakers."""

    matches: AudienceMatches
    first_thread: int
    """Number of the audience's first conversation, counted over all audiences."""
    first_session: int
    """Number of the audience's first session, counted over all audiences."""
    long: Floats
    """Scale of turn length in each conversation, from 0 (short turns) to 1 (long turns)."""
    near: Floats
    """Nearness of each conversation to the asker (`Visible.nearness`)."""
    person: Floats | None
    """For each speaker, 1, 0 or -1 (`find_persons`)."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Some rows of all audiences, sorted within each audience: one column for each fact."""

    starts: Ints
    """Position of the first row of each audience, followed by the number of rows."""
    audience: Ints
    """Position of each row's audience in the search."""
    row: Ints
    """Number of each row in its audience."""
    words: Floats
    at_us: Column
    source: Column
    is_chat: Flags
    thread: Column
    session: Column
    """Session of each row, numbered over all audiences like `thread`."""
    long: Floats
    near: Floats
    person: Floats | None
    """1 for rows of the person the question is about, -1 for rows of others; None if the question names nobody."""

    def __len__(self) -> int:
        return len(self.row)

    @property
    def places(self) -> Ints:
        """Return a number for each row, so that adjacent rows have consecutive numbers."""
        return (self.audience << 32) + self.row

    def rows_of(self, n: int) -> ViewRows:
        return ViewRows(self.row[self.starts[n] : self.starts[n + 1]])


def look_at(audiences: Sequence[AudienceMatches], query: RankingQuery) -> list[Seen]:
    seen, threads, sessions = [], 0, 0
    for one in audiences:
        view = one.view
        rows, words = view.thread_sums
        shares = (words / np.maximum(rows, 1) - SHORT_TURNS) / (LONG_TURNS - SHORT_TURNS)
        person = None if query.by_words else find_persons(query.question, query.asker, view)
        near = view.nearness(*("", ()) if query.by_words else (query.here, query.asker))
        long = shares.clip(0.0, 1.0).astype(np.float32)
        seen.append(Seen(one, threads, sessions, long, near, person))
        threads += len(view.threads)
        sessions += view.sessions
    return seen


def build_frame(seen: Sequence[Seen], rows: Sequence[ViewRows]) -> Frame:
    columns: list[list[NDArray[Any]]] = []
    for one, mine in zip(seen, rows, strict=True):
        view, thread = one.matches.view, one.matches.view.thread[mine]
        person: Floats = np.zeros(0, np.float32) if one.person is None else one.person[view.speaker[mine]]
        columns.append([
            np.full(len(mine), one.matches.number), mine, view.words[mine], view.at_us[mine], view.source[mine],
            view.is_chat[mine], thread + np.int64(one.first_thread), view.session[mine] + np.int64(one.first_session),
            one.long[thread], one.near[thread], person,
        ])  # fmt: skip
    audience, row, words, at_us, source, is_chat, thread, session, long, near, person = [
        parts[0] if len(parts) == 1 else np.concatenate(parts) for parts in zip(*columns, strict=True)
    ]
    starts = np.array([0, *map(len, rows)]).cumsum()
    told = np.where(is_chat, person, np.float32(0)) if seen[0].person is not None else None
    words = words.astype(np.float32)
    return Frame(starts, audience, row, words, at_us, source, is_chat, thread, session, long, near, told)


def find_persons(question: Question, asker: Collection[str], view: Visible) -> Floats | None:
    """Return 1 for each speaker that the question is about, -1 for others, 0 if unknown; None if about nobody."""
    about, is_about, others = view.find_speakers("role", [PERSONA]), 1, -1
    if question.people:
        about = view.find_speakers("name", question.people)
    elif question.self_person and asker:
        # `Can you tell me when I ...` is about the asker, although it says `you`.
        about = view.find_speakers("key", asker)
    elif question.self_person:
        is_about, others = -1, 0
    elif not question.other:
        return None
    persons = np.full(len(view.speakers), others, np.float32)
    persons[about] = is_about
    return persons


def keep_spoken(
    audiences: Sequence[AudienceMatches], kind: Literal["name", "key"], people: Collection[str]
) -> Sequence[AudienceMatches]:
    """Limit the audiences to messages of people with these names or keys; if there are none, return them unchanged."""
    kept = []
    for one in audiences:
        spoken = one.view.is_chat & np.isin(one.view.speaker, one.view.find_speakers(kind, people))
        readable = partial(_flag_both, one.readable, spoken)
        kept.append(replace(one, postings=one.postings.keep(spoken[one.postings.rows]), readable=readable))
    return kept if any(len(one.list_readable()) for one in kept) else audiences


def _flag_both(readable: Callable[[ViewRows], Flags] | None, spoken: Flags, rows: ViewRows) -> Flags:
    return spoken[rows] if readable is None else spoken[rows] & readable(rows)


def choose_best(score: Floats, at_us: Column, most: int) -> Ints:
    """Return the positions of the `most` highest scores, highest first; equal scores are ordered newest first."""
    places = None
    if most < len(score):
        places = (score >= np.partition(score, len(score) - most)[len(score) - most]).nonzero()[0]
        score, at_us = score[places], at_us[places]
    order = np.lexsort((-at_us, -score))[:most]
    return order if places is None else places[order]


# The terms of matching rows


class GroupHits(NamedTuple):
    weight: float
    rows: MatchRows
    times: Floats
    """How often each row contains a term of the group; a match inside another word counts less than 1."""


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
    """Score of the best passage of each row, assuming that one passage has all terms of the row."""
    turn: Floats
    """Score of the whole text of each row."""
    share: Floats
    """Sum of the weights of the groups that a row holds, each counted once."""
    tags: Floats
    """Score of the tags of each row, which is part of `own`, `turn` and `share`."""

    def __len__(self) -> int:
        return len(self.turn)

    def find(self, n: int, rows: ViewRows) -> tuple[MatchRows, Flags]:
        """Return the positions of rows of audience `n` among all matching rows, and flags of the rows that match."""
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
    rows: ViewRows
    words: Floats
    groups: Mapping[int, tuple[Ints, Floats]]
    tags: Floats


def read_words(audiences: Sequence[AudienceMatches], query: RankingQuery, offered: Sequence[ViewRows]) -> HeldWords:
    """Return the terms of matching rows and of `offered` rows, which need no match."""
    found = [_read_audience(one, query, offered[n] if offered else None) for n, one in enumerate(audiences)]
    starts = np.array([0, *[len(one.rows) for one in found]]).cumsum()
    words = _join([one.words for one in found])
    passage, mean_passage = np.minimum(words, PASSAGE), min(PASSAGE, query.mean_words)
    own: Floats
    turn: Floats
    share: Floats
    own, turn, share = np.zeros((3, len(words)), np.float32)
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
    own, turn, share = [(each + tags) / query.total for each in (own, turn, share)]
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
    listed = [np.zeros(0, np.int64) if offered is None else offered, *[rows for rows, _, _ in tagged]]
    matches = np.zeros(len(view), bool)
    matches[np.concatenate([*listed, *[rows for part in parts.values() for rows, _, _ in part]])] = True
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
    """Return (positions of the rows that contain a group's words, how often each row contains any of them)."""
    at = np.concatenate([place[rows] for rows, _, _ in part])
    times = np.concatenate([times * np.float32(factor) for _, times, factor in part])
    if len(part) == 1:
        return at.astype(np.int64), times
    together = np.bincount(at, times, count).astype(np.float32)
    held = together.nonzero()[0]
    return held, together[held]
