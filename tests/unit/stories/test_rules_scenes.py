"""S20, S23, S24: where a scene begins, which proposals of a break count, and pauses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.stories.rules_scenes import BreakLimits, find_pauses, read_break

DAY = datetime(2026, 3, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("answer", "index", "is_usable"),
    [
        (9, 9, True),
        (8, None, False),
        (31, 31, True),
        (32, None, False),
        (40, None, False),
        ("12", 12, True),
        (12.5, None, False),
        (True, None, False),
        ("false", None, True),
        (None, None, True),
        ("twelve", None, False),
        ("9" * 5000, None, False),
        ("１２", None, False),
    ],
)
def test_s23_what_counts_as_a_break_among_messages_0_to_39(answer: Any, index: int | None, is_usable: bool) -> None:
    assert read_break(answer, BreakLimits(newest=39), range(40)) == (index, is_usable)


def test_s23_a_break_lies_on_a_message_shown_and_far_enough_from_the_one_before() -> None:
    assert read_break(20, BreakLimits(newest=39), [*range(20), *range(21, 40)]) == (None, False)
    limits = BreakLimits(newest=39, earlier=12)
    assert [limits.allow(at) for at in (12, 21, 22, 31)] == [False, False, True, True]


def _times(gap: timedelta, after: int = 20, count: int = 40) -> list[datetime | None]:
    return [DAY + timedelta(minutes=n) + (gap if n > after else timedelta()) for n in range(count)]


def test_s24_a_pause_of_7_hours_after_message_20_ends_a_scene_there() -> None:
    six, minute, limits = timedelta(hours=6), timedelta(minutes=1), BreakLimits(newest=39)
    assert find_pauses(_times(timedelta(hours=7)), six, limits) == (20,)
    assert find_pauses(_times(six - minute), six, limits) == (), "exactly 6 hours are not more than 6"
    assert find_pauses(_times(six), six, limits) == (20,)
    assert find_pauses(_times(six, 8), six, limits) == (), "no scene may end there"


def test_s24_each_pause_counts_from_the_one_before_and_unknown_times_are_none() -> None:
    times = _times(timedelta(hours=7), 12)
    times = [t + timedelta(hours=7) if n > 25 and t else t for n, t in enumerate(times)]
    assert find_pauses(times, timedelta(hours=6), BreakLimits(newest=39)) == (12, 25)
    assert find_pauses(times, timedelta(hours=6), BreakLimits(newest=39, min_length=20)) == (25,)
    times[13] = None
    assert find_pauses(times, timedelta(hours=6), BreakLimits(newest=39)) == (25,)
