"""S34, S35: what is hidden, as contiguous ranges of changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stories.recaps.rules import HideRanges, plan_hiding, ranges


@pytest.mark.parametrize("count", [-1, 0, 1, 3])
def test_s34_without_breaks_nothing_is_hidden(count: int) -> None:
    assert plan_hiding((), count, [False] * 100) == HideRanges()
    assert plan_hiding((), count, [True] * 3).show == (((0, 2),) if count >= 0 else ())


def test_s34_a_break_on_the_last_message_hides_all() -> None:
    assert plan_hiding((2,), 1, [False] * 3) == HideRanges(hide=((0, 2),))


def test_s35_ranges_are_in_numeric_order() -> None:
    """As text 10 stands before 2."""
    assert ranges({0, 1, 2, 5, 6, 10}) == ((0, 2), (5, 6), (10, 10))
    assert ranges([]) == ()


def test_s35_only_changes_are_planned() -> None:
    hidden = [True, False, True, False, True, False]
    assert plan_hiding((3,), 1, hidden) == HideRanges(hide=((1, 1), (3, 3)), show=((4, 4),))


@given(st.sets(st.integers(0, 40)), st.integers(-1, 8), st.lists(st.booleans(), min_size=41, max_size=41))
def test_s35_a_second_run_changes_nothing(breaks: set[int], count: int, hidden: list[bool]) -> None:
    made = plan_hiding(sorted(breaks), count, hidden)
    after = list(hidden)
    for wanted, parts in ((True, made.hide), (False, made.show)):
        for first, last in parts:
            assert all(after[at] != wanted for at in range(first, last + 1))
            after[first : last + 1] = [wanted] * (last - first + 1)
    assert plan_hiding(sorted(breaks), count, after) == HideRanges()
