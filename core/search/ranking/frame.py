"""The rows of a ranking as arrays of facts from the index."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...index.numbers import Column, Flags, Floats, Ints, ViewRows
from ...index.visible import Postings, Visible
from ..question.question import Question
from .rows import PERSONA, RankingQuery
from .weights import LONG_TURNS, SHORT_TURNS


@dataclass(frozen=True, eq=False)
class AudienceMatches:
    """The matches in one audience."""

    view: Visible
    """All rows of the audience."""
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
    """Number of its first conversation, counted over all audiences."""
    first_session: int
    """Number of its first session, counted over all audiences."""
    long: Floats
    """Scale of turn length in each conversation, from 0 for short turns to 1 for long ones."""
    near: Floats
    """Nearness of each conversation to the asker."""
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
    """1 for rows of the person the question is about, -1 for rows of others; None if it names nobody."""

    def __len__(self) -> int:
        return len(self.row)

    @property
    def places(self) -> Ints:
        """Return the place of each row; adjacent rows have consecutive places."""
        return (self.audience << 32) + self.row

    def rows_of(self, n: int) -> ViewRows:
        return ViewRows(self.row[self.starts[n] : self.starts[n + 1]])


def look_at(audiences: Sequence[AudienceMatches], query: RankingQuery) -> list[Seen]:
    """Return audiences with facts about their conversations and speakers."""
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
    """Return the columns of facts about the chosen rows of each audience."""
    columns: list[list[NDArray[Any]]] = []
    for one, mine in zip(seen, rows, strict=True):
        view, thread = one.matches.view, one.matches.view.thread[mine]
        person: Floats = np.zeros(0, np.float32) if one.person is None else one.person[view.speaker[mine]]
        columns.append([
            np.full(len(mine), one.matches.number), mine, view.words[mine], view.at_us[mine], view.source[mine],
            view.is_chat[mine], thread + np.int64(one.first_thread), view.session[mine] + np.int64(one.first_session),
            one.long[thread], one.near[thread], person,
        ])  # fmt: skip
    audience, row, words, at_us, source, is_chat, thread, session, long, near, person = (
        parts[0] if len(parts) == 1 else np.concatenate(parts) for parts in zip(*columns, strict=True)
    )
    starts = np.cumsum([0, *(len(mine) for mine in rows)])
    told = np.where(is_chat, person, np.float32(0)) if seen[0].person is not None else None
    words = words.astype(np.float32)
    return Frame(starts, audience, row, words, at_us, source, is_chat, thread, session, long, near, told)


def find_persons(question: Question, asker: Collection[str], view: Visible) -> Floats | None:
    """Return, for each speaker, 1 if the question is about them, -1 if about somebody else, 0 if it is unknown.

    Return None if the question is about nobody.
    """
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


def choose_best(score: Floats, at_us: Column, most: int) -> Ints:
    """Return the positions of the `most` best scores, best first; of equal scores, the newest first."""
    places = None
    if most < len(score):
        places = (score >= np.partition(score, len(score) - most)[len(score) - most]).nonzero()[0]
        score, at_us = score[places], at_us[places]
    order = np.lexsort((-at_us, -score))[:most]
    return order if places is None else places[order]
