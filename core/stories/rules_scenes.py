"""Where a scene begins and ends, and which proposals of a scene break count."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

BEFORE_ALL = -1
"""Index before the first message: that of the newest break where there is none."""

OFFSET = 8
"""Newest messages among which no break is proposed: their scene may go on."""

_NO_BREAK = ("", "false", "null", "none", "no")
_MOST_DIGITS = 12


class BreakLimits(NamedTuple):
    """What a scene break has to keep to."""

    newest: int
    """Index of the newest message."""
    earlier: int = BEFORE_ALL
    """Index of the break before; BEFORE_ALL where there is none."""
    min_length: int = 10
    """SCENE_MIN_LENGTH."""

    @property
    def first(self) -> int:
        """Return the lowest index a break may have."""
        return self.earlier + self.min_length

    @property
    def last(self) -> int:
        """Return the highest index a break may have; below `first` where none may."""
        return self.newest - OFFSET

    def allow(self, index: int) -> bool:
        """Return whether a scene may end with this message."""
        return self.first <= index <= self.last


def read_break(answer: object, limits: BreakLimits, shown: Collection[int]) -> tuple[int | None, bool]:
    """Return the index that a model's `sceneBreakAt` proposes, None for none, and whether the answer can be used.

    It must be a whole number, the index of a message that the model saw, and keep to the limits.
    """
    if answer is None or answer is False or (isinstance(answer, str) and answer.strip().lower() in _NO_BREAK):
        return None, True
    index = _whole(answer)
    if index is None or index not in shown or not limits.allow(index):
        return None, False
    return index, True


def _whole(value: object) -> int | None:
    """Return a whole number, also one written in digits; None for everything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    text = value.strip() if isinstance(value, str) else ""
    digits = text.removeprefix("-")
    is_plain = digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS
    return int(text) if is_plain else None


def find_pauses(times: Sequence[datetime | None], gap: timedelta, limits: BreakLimits) -> tuple[int, ...]:
    """Return the indexes of messages after which more time than `gap` passes and a scene may end, rising."""
    breaks = []
    for index, (one, other) in enumerate(pairwise(times)):
        if one is not None and other is not None and other - one > gap and limits.allow(index):
            breaks.append(index)
            limits = limits._replace(earlier=index)
    return tuple(breaks)
