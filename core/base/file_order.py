"""The times of messages whose order is known: what is told of a file must stay in the order of the file.

Called by `transfer`. A conversation is ordered by time, so a time that does not fit its place gives way.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence


def settle_times(times: Sequence[int]) -> list[int]:
    """Return times that never fall, as many of those given as possible among them, each at its place.

    A time that does not fit gets that of the message before, those at the beginning that of the first that fits. So one
    message that was moved, or written by a clock gone wrong, does not change the times of the others.

    Args:
        times: of the messages in their order, in any unit.

    Returns:
        As many times, in the order given; equal to `times` when those never fall.

    >>> settle_times([10, 99, 20, 30]), settle_times([10, 20, 5, 30]), settle_times([7, 1, 2]), settle_times([])
    ([10, 10, 20, 30], [10, 20, 20, 30], [1, 1, 2], [])
    """
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
