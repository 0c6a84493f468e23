"""Which messages of a story are hidden: those of scenes before the newest ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

Ranges = tuple[tuple[int, int], ...]
"""First and last index of each stretch, rising."""


class Plan(NamedTuple):
    """What is to be changed; both empty when all is as it should be."""

    hide: Ranges = ()
    show: Ranges = ()


def visible_start(breaks: Sequence[int], count: int) -> int | None:
    """Return the index of the first message that is shown, None where nothing is to be changed."""
    if count < 0:
        return None
    if not breaks or len(breaks) < count:
        return 0
    return breaks[len(breaks) - max(count, 1)] + 1


def plan(breaks: Sequence[int], count: int, hidden: Sequence[bool | None]) -> Plan:
    """Return the changes that hide everything before the newest scenes and show the rest."""
    start = visible_start(breaks, count)
    if start is None:
        return Plan()
    return Plan(
        ranges(at for at, is_hidden in enumerate(hidden[:start]) if is_hidden is False),
        ranges(at for at, is_hidden in enumerate(hidden[start:], start) if is_hidden),
    )


def last_hidden_scene(breaks: Sequence[int], hidden: Sequence[bool | None]) -> int | None:
    """Return the newest visible scene break up to which everything came in hidden: scenes hid that, nobody by hand."""
    end = next((at for at, is_hidden in enumerate(hidden) if is_hidden is not None), len(hidden))
    return max((at for at in breaks if at < end), default=None)


def ranges(indexes: Iterable[int]) -> Ranges:
    """Return numbers as contiguous ranges in numeric order."""
    found: list[tuple[int, int]] = []
    for index in sorted(set(indexes)):
        if found and index == found[-1][1] + 1:
            found[-1] = (found[-1][0], index)
        else:
            found.append((index, index))
    return tuple(found)
