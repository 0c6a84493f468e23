"""S20, S23, S24: where a scene begins, which proposals of a break count, and pauses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stories.rules_scenes import BreakLimits, find_gap, judge, read_break

DAY = datetime(2026, 3, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("answer", "index", "verdict"),
    [
        (9, 9, ""),
        (8, None, "too_short"),
        (31, 31, ""),
        (32, None, "offset"),
        (40, None, "outside"),
        ("12", 12, ""),
        (12.5, None, "no_number"),
        (True, None, "no_number"),
        ("false", None, "none"),
        ("twelve", None, "no_number"),
        ("9" * 5000, None, "no_number"),
        ("１２", None, "no_number"),
    ],
)
def test_s23_what_counts_as_a_break_among_messages_0_to_39(answer: Any, index: int | None, verdict: str) -> None:
    assert read_break(answer, BreakLimits(newest=39), range(40)) == (index, verdict)


def test_s23_a_message_that_was_not_shown_ends_no_scene() -> None:
    assert read_break(20, BreakLimits(newest=39), [*range(20), *range(21, 40)]) == (None, "not_shown")


def test_s23_length_counts_from_the_break_before() -> None:
    limits = BreakLimits(newest=39, earlier=12)
    assert [judge(at, limits) for at in (12, 21, 22, 31)] == ["outside", "too_short", "", ""]


@given(st.integers(-5, 60), st.integers(-1, 50), st.integers(0, 50), st.integers(1, 20), st.integers(0, 20))
def test_s23_a_break_that_counts_lies_between_first_and_last(
    index: int, earlier: int, newest: int, min_length: int, offset: int
) -> None:
    limits = BreakLimits(newest, earlier, min_length, offset)
    assert (judge(index, limits) == "") == (limits.first <= index <= limits.last and index > earlier)


def _times(gap: timedelta, after: int = 20, count: int = 40) -> list[datetime | None]:
    return [DAY + timedelta(minutes=n) + (gap if n > after else timedelta()) for n in range(count)]


def test_s24_a_pause_of_7_hours_after_message_20_ends_a_scene_there() -> None:
    six = timedelta(hours=6)
    limits = BreakLimits(newest=39)
    assert find_gap(_times(timedelta(hours=7)), 0, six, limits, range(40)) == 20
    minute = timedelta(minutes=1)
    assert find_gap(_times(six - minute), 0, six, limits, range(40)) is None, "exactly 6 hours are not more than 6"
    assert find_gap(_times(six), 0, six, limits, range(40)) == 20
    assert find_gap(_times(six, 8), 0, six, limits, range(40)) is None, "no scene may end there"
    assert find_gap(_times(six, 20), 0, six, limits, range(20)) is None, "not asked about"


def test_s24_the_oldest_pause_comes_first_and_unknown_times_are_none() -> None:
    times = _times(timedelta(hours=7), 12)
    times = [t + timedelta(hours=7) if n > 25 and t else t for n, t in enumerate(times)]
    assert find_gap(times, 0, timedelta(hours=6), BreakLimits(newest=39), range(40)) == 12
    times[13] = None
    assert find_gap(times, 0, timedelta(hours=6), BreakLimits(newest=39), range(40)) == 25
    assert find_gap(times[20:], 20, timedelta(hours=6), BreakLimits(newest=39), range(40)) == 25, (
        "an index, not a position"
    )
