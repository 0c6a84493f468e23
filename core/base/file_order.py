"""The times of messages whose order is known: what is told of a file must stay in the order of the file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence


def settle_times(times: Sequence[int]) -> list[int]:
    """Return times that never fall, as many of those given as possible among them, each at its place."""
    kept = _longest_rising(times)
    settled: list[int] = []
    now = times[kept[0]] if kept else 0
    fitting = set(kept)
    for at, time in enumerate(times):
        now = time if at in fitting else now
        settled.append(now)
    return settled


def _longest_rising(times: Sequence[int]) -> list[int]:
    """Return the places of a longest part of the times that never falls, rising."""
    lowest: list[int] = []  # the lowest last time of such a part, by its length
    places: list[int] = []  # and where that stands
    before: list[int] = []
    for at, time in enumerate(times):
        length = bisect_right(lowest, time)
        before.append(places[length - 1] if length else -1)
        if length == len(lowest):
            lowest.append(time)
            places.append(at)
        else:
            lowest[length], places[length] = time, at
    found, at = [], places[-1] if places else -1
    while at >= 0:
        found.append(at)
        at = before[at]
    return found[::-1]
