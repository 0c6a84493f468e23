"""What is known of the matching rows of an audience beside their words, as arrays, and the score of all of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from ..question.question import Question
from .reasons import on_days
from .relevance import FULL_MATCH, length_of
from .rows import PERSONA, Asked
from .weights import LONG_TURNS, SHORT_TURNS, WEIGHTS

if TYPE_CHECKING:
    from .all_rows import AudienceRows

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LENGTHS = np.array([length_of(n) for n in range(61)], np.float32)


class Places:
    """What is known of the rows of an audience beside their words."""

    def __init__(self, one: AudienceRows, asked: Asked, here: str) -> None:
        self.one: AudienceRows = one
        self._view = view = one.matches.view
        self.asked: Asked = asked
        self.of_thread: Any = shares_of_long(view.thread_means)
        self.persons: Any = persons_of(asked.question, asked.asker, view)
        self.nearness: Any = view.nearness(here, asked.asker)

    def session(self, session: Any) -> Any:
        """Return what sessions are worth; nothing where none of their rows matches."""
        one = self.one
        at = np.minimum(one.sessions.searchsorted(session), len(one.sessions) - 1)
        return np.where(one.sessions[at] == session, one.session_worth[at], np.float32(0))

    def session_of(self, at: Any) -> Any:
        """Return what the sessions of matching rows are worth, by their places among these."""
        return self.one.session_worth[self.one.session_of[at]]

    def long(self, index: Any) -> Any:
        """Return how far the turns of the rows' conversations are long ones."""
        return self.of_thread[self._view.thread[index]]

    def near(self, index: Any) -> Any:
        """Return how near rows stand to who asks."""
        return self.nearness[self._view.thread[index]]

    def score(self, index: Any, own: Any, context: Any, beside: Any, session: Any) -> Any:
        """Return the score of rows: their reasons, weighted as in `relevance.weigh`, as far as no text is read."""
        view, asked = self._view, self.asked
        thread = view.thread[index]
        long = self.of_thread[thread]

        def weigh(name: str) -> Any:
            weight = WEIGHTS[name]
            return weight.short + (weight.long - weight.short) * long

        is_chat = view.is_chat[index]
        words = np.minimum(view.words[index], 60)
        of_words = weigh("context") * context + (weigh("own") + weigh("turn") + weigh("share")) * own
        of_words += weigh("session") * session
        if beside is not None:
            of_words += weigh("beside") * beside
        others = np.where(is_chat, weigh("length") * _LENGTHS[np.maximum(words, 1)], 0.0)
        others += WEIGHTS["near"].short * self.nearness[thread]
        if self.persons is not None:
            others += np.where(is_chat, weigh("person") * self.persons[view.speaker[index]], 0.0)
        fitting = np.minimum(1.0, np.maximum(context, own) / FULL_MATCH)
        days = self._days(index, weigh) if asked.question.days else None
        if days is not None:
            fitting = np.where(days > 0, 1.0, fitting)
            others += days
        return of_words + fitting * others

    def _days(self, index: Any, weigh: Any) -> Any:
        """Return what the days asked for are worth: the rows of one moment are asked about once."""
        hours, inverse = np.unique(self._view.at_us[index] // 3_600_000_000, return_inverse=True)
        names = ("day", "days_after", "month")
        near = [on_days(self.asked.question.days, _EPOCH + timedelta(hours=int(hour))) for hour in hours]
        values = {name: np.array([each.get(name, 0.0) for each in near], np.float32)[inverse] for name in names}
        return sum(weigh(name) * values[name] for name in names)


def persons_of(question: Question, asker: str, view: Any) -> Any:
    """Return `people.person_of` of everybody who spoke in an audience; None where the question names nobody."""
    if question.people:
        fits = np.zeros(len(view.speakers), bool)
        for name in question.people:
            fits |= view.names == name
    elif question.self_person and asker:
        fits = view.keys == asker
    elif question.self_person:
        return np.where(view.roles == PERSONA, np.float32(-1), np.float32(0))
    elif question.other:
        fits = view.roles == PERSONA
    else:
        return None
    return np.where(fits, np.float32(1), np.float32(-1))


def shares_of_long(mean_words: Any) -> Any:
    """Return `weights.share_of_long` of many means."""
    return np.clip((mean_words - SHORT_TURNS) / (LONG_TURNS - SHORT_TURNS), 0.0, 1.0).astype(np.float32)
