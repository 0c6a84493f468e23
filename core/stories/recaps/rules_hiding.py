"""Which messages of a story are hidden: those of scenes before the newest ones.

Called by `stories.recaps.refresh`. Messages are named by their index, their position in the conversation from 0.
"""

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
    """Return the index of the first message that is shown, None where nothing is to be changed.

    Args:
        breaks: indexes of the visible scene breaks, rising.
        count: newest scenes that stay, the one under way counted; 1 and 0 hide through the last break, below 0 is off.

    Returns:
        0 shows all: there are fewer breaks than `count`, or none.

    >>> breaks = (10, 30, 50, 70, 90)
    >>> [visible_start(breaks, count) for count in (2, 1, 0, 5, 6, -1)], visible_start((), 0)
    ([71, 91, 91, 11, 0, None], 0)
    """
    if count < 0:
        return None
    if not breaks or len(breaks) < count:
        return 0
    return breaks[len(breaks) - max(count, 1)] + 1


def plan(breaks: Sequence[int], count: int, hidden: Sequence[bool | None]) -> Plan:
    """Return the changes that hide everything before the newest scenes and show the rest.

    Args:
        breaks, count: as for `visible_start`.
        hidden: for every message of the conversation whether it is hidden now, oldest first; None where it came in
            hidden, which stays.

    >>> plan((1,), 1, [False, False, True, False])
    Plan(hide=((0, 1),), show=((2, 2),))
    >>> plan((1,), 1, [True, True, False, False])
    Plan(hide=(), show=())
    >>> plan((1,), 1, [None, False, True, None])
    Plan(hide=((1, 1),), show=((2, 2),))
    """
    start = visible_start(breaks, count)
    if start is None:
        return Plan()
    return Plan(
        ranges(at for at, is_hidden in enumerate(hidden[:start]) if is_hidden is False),
        ranges(at for at, is_hidden in enumerate(hidden[start:], start) if is_hidden),
    )


def last_hidden_scene(breaks: Sequence[int], hidden: Sequence[bool | None]) -> int | None:
    """Return the newest visible scene break up to which everything came in hidden: scenes hid that, nobody by hand.

    >>> last_hidden_scene((1, 3), [None, None, False, None, None]), last_hidden_scene((1,), [False, None])
    (1, None)
    """
    end = next((at for at, is_hidden in enumerate(hidden) if is_hidden is not None), len(hidden))
    return max((at for at in breaks if at < end), default=None)


def ranges(indexes: Iterable[int]) -> Ranges:
    """Return numbers as contiguous ranges in numeric order.

    >>> ranges({10, 2, 0, 1, 5, 6})
    ((0, 2), (5, 6), (10, 10))
    """
    found: list[tuple[int, int]] = []
    for index in sorted(set(indexes)):
        if found and index == found[-1][1] + 1:
            found[-1] = (found[-1][0], index)
        else:
            found.append((index, index))
    return tuple(found)
