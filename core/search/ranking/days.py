"""Which rows of an audience were said within the spans a question names, or are about a day in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...database.dialects import microseconds
from ...index.numbers import DAY
from ..question.question import Question

_DAY_US = 86_400_000_000
SHORT_US = 8 * _DAY_US
"""Of spans up to here all rows are offered, of longer ones where nothing matches."""


def find_inside(question: Question, view: Any, postings: Any) -> Any:
    """Return for each row of an audience whether it was said within a span, or is about a day in one."""
    inside = np.zeros(len(view), bool)
    for span in question.spans:
        if span.role == "said":
            within = np.ones(len(view), bool)
            if span.start is not None:
                within &= view.at_us >= microseconds(span.start)
            if span.end is not None:
                within &= view.at_us < microseconds(span.end)
            inside |= within
    for day in question.days:
        inside[postings.of((DAY, day))[0]] = True
    return inside


def are_short(question: Question) -> bool:
    """Return whether the spans are so short that all of them is asked for."""
    return all(
        span.start is not None
        and span.end is not None
        and microseconds(span.end) - microseconds(span.start) <= SHORT_US
        for span in question.spans
    )
