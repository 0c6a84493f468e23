"""Rules for scene breaks: which positions are allowed, and which proposed breaks are used."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from ..base.wire_ids import find_id

BEFORE_ALL = -1
"""Index before the first message, used as the newest break if there is none."""

OFFSET = 8
"""Number of newest messages that cannot be a break, because their scene may continue."""

_NO_BREAK = ("", "false", "null", "none", "no")


class BreakLimits(NamedTuple):
    newest: int
    earlier: int = BEFORE_ALL
    """Index of the previous break; BEFORE_ALL without a break."""
    min_length: int = 10
    """Minimum number of messages of a scene (SCENE_MIN_LENGTH)."""

    @property
    def first(self) -> int:
        return self.earlier + self.min_length

    @property
    def last(self) -> int:
        """Return the highest index at which a break is allowed; the index is below `first` if no break is allowed."""
        return self.newest - OFFSET

    def allow(self, index: int) -> bool:
        return self.first <= index <= self.last


def read_break(answer: object, limits: BreakLimits, shown: Collection[int]) -> tuple[int | None, bool]:
    """Return (index in a model's `sceneBreakAt`, None for no break; whether the answer is usable)."""
    if answer is None or answer is False or (isinstance(answer, str) and answer.strip().lower() in _NO_BREAK):
        return None, True
    index = find_id(answer.strip() if isinstance(answer, str) else answer)
    if index is None or index not in shown or not limits.allow(index):
        return None, False
    return index, True


def find_pauses(times: Sequence[datetime | None], gap: timedelta, limits: BreakLimits) -> tuple[int, ...]:
    """Return the indexes of messages before a pause longer than `gap` where a scene may end, in ascending order."""
    breaks = []
    for index, (one, other) in enumerate(pairwise(times)):
        if one is not None and other is not None and other - one > gap and limits.allow(index):
            breaks.append(index)
            limits = limits._replace(earlier=index)
    return tuple(breaks)
