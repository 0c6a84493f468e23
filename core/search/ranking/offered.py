"""Rows that are offered to a question though they match none of its words: those of a day, or of a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..question.question import Question
from .all_rows import AudienceMatches
from .places import persons_of
from .times import A_DAY_OR_TWO

MOST_OF_DAYS = 400
"""Rows of the days asked for that are ranked, of many the longest."""
MOST_OF_PERSON = 3
"""Rows of a person that are offered, the newest."""
_DAY_US = 86_400_000_000
_WEEK = 8


def rows_of_days(found: Sequence[AudienceMatches], asked: Sequence[tuple[int, int]], *, is_all: bool) -> list[Any]:
    """Return the rows said on the days asked for, in each audience, in order.

    Args:
        asked: spans in microseconds.
        is_all: nothing else was found, so that the rows of a week are offered too.
    """
    longest = (_WEEK if is_all else A_DAY_OR_TWO.days) * _DAY_US
    days = [(since, until) for since, until in asked if until - since <= longest]
    return [_longest(one.view, _rows_between(one, days)) for one in found]


def _rows_between(one: AudienceMatches, days: Sequence[tuple[int, int]]) -> Any:
    view = one.view
    every = np.arange(len(view) if days else 0)
    at_us = view.take("at_us", every)
    held = np.zeros(len(every), bool)
    for since, until in days:
        held |= (at_us >= since) & (at_us < until)
    return _keep_readable(one, held.nonzero()[0])


def _keep_readable(one: AudienceMatches, index: Any) -> Any:
    return index if one.readable is None or not len(index) else index[one.readable(index)]


def _longest(view: Any, index: Any) -> Any:
    if len(index) <= MOST_OF_DAYS:
        return index
    return np.sort(index[np.argsort(-view.take("words", index).astype(np.int64), kind="stable")[:MOST_OF_DAYS]])


def rows_of_person(found: Sequence[AudienceMatches], question: Question, asker: str) -> list[tuple[int, int]]:
    """Return the newest messages of whom a question is about among rows that match, as id and time."""
    made: list[tuple[int, int]] = []
    for one in found:
        view = one.view
        persons = persons_of(question, asker, view)
        index = _keep_readable(one, np.unique(one.postings.index))
        if persons is None or not len(index):
            continue
        index = index[view.is_chat(index) & (persons[view.take("speaker", index)] > 0)]
        if one.left_out is not None:
            index = np.setdiff1d(index, one.left_out)
        columns = (view.take(name, index).tolist() for name in ("row_id", "at_us"))
        made += zip(*columns, strict=True)
    return sorted(made, key=lambda row: -row[1])[:MOST_OF_PERSON]
