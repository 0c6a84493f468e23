"""Which rows of an audience were said within the spans a question names, or are about a day in them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from ...index.numbers import DAY
from ..question.question import Question

_DAY_US = 86_400_000_000
A_DAY_OR_TWO = 3 * _DAY_US
"""Shorter spans are days, longer ones months or years."""
EVE, SOON = _DAY_US, 8 * _DAY_US
"""How long before a day, and after it, people speak of it."""
AFTER_MONTH = 10 * _DAY_US
"""How long after a month people speak of it; that is worth half."""
_ALWAYS = 2**62
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SHORT_US = 8 * _DAY_US
"""Of spans up to here all rows are offered, of longer ones where nothing matches."""


def find_inside(question: Question, view: Any, postings: Any) -> Any:
    """Return for each row of an audience whether it was said within a span, or is about a day in one."""
    inside = are_inside(question, view.at_us)
    for day in question.days:
        inside[postings.of((DAY, day))[0]] = True
    return inside


def _in_us(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def list_ranges(question: Question) -> list[tuple[int, int]]:
    """Return the spans of which it matters when a row was said, in microseconds."""
    return [
        (
            -_ALWAYS if span.start is None else _in_us(span.start),
            _ALWAYS if span.end is None else _in_us(span.end),
        )
        for span in question.spans
        if span.role == "said"
    ]


def are_inside(question: Question, at_us: Any) -> Any:
    """Return which times lie within a span."""
    inside = np.zeros(len(at_us), bool)
    for since, until in list_ranges(question):
        inside |= (at_us >= since) & (at_us < until)
    return inside


def find_days(question: Question, at_us: Any) -> dict[str, Any]:
    """Return the reasons `day`, `days_after` and `month` of rows said at these times, each 0 to 1.

    Where nothing else is asked for than what was said in the spans, every row is of the day.
    """
    if question.is_limited or question.order:
        return {"day": np.ones(len(at_us), np.float32)}
    day, after, month = (np.zeros(len(at_us), np.float32) for _ in range(3))
    for since, until in list_ranges(question):
        inside = (at_us >= since) & (at_us < until)
        if until - since < A_DAY_OR_TWO:
            day[inside] = 1.0
            after[(at_us >= since - EVE) & (at_us < until + SOON)] = 1.0
        else:
            month[(at_us >= until) & (at_us < until + AFTER_MONTH) & (month == 0)] = 0.5
            month[inside] = 1.0
    after[day > 0] = 0.0
    return {"day": day, "days_after": after, "month": month}


def are_short(question: Question) -> bool:
    """Return whether the spans are so short that all of them is asked for."""
    longest = SHORT_US if question.is_limited else A_DAY_OR_TWO
    return all(until - since <= longest for since, until in list_ranges(question))
