"""S48: messages stay in the order of their file, whatever times they have."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from core.transfer.survey import settle_times

TIMES = st.lists(st.integers(0, 12), max_size=30)


@given(TIMES)
def test_s48_settled_times_never_fall_and_settle_once(times: list[int]) -> None:
    """The order of a conversation is by time; what is in order already stays as it is."""
    settled = settle_times(times)
    assert len(settled) == len(times)
    assert all(one <= other for one, other in pairwise(settled))
    assert settle_times(settled) == settled
    assert set(settled) <= set(times)
    if times == sorted(times):
        assert settled == times


@given(st.lists(st.integers(0, 100), min_size=4, max_size=10, unique=True).map(sorted), st.data())
def test_s48_one_wrong_time_changes_no_other(times: list[int], data: st.DataObject) -> None:
    """A clock gone wrong for one message, or a message put in between later, costs that message's time alone."""
    at = data.draw(st.integers(2, len(times) - 2))
    wrong = data.draw(st.sampled_from([-5, 1000]))
    settled = settle_times([*times[:at], wrong, *times[at:]])
    kept = [*settled[:at], *settled[at + 1 :]]
    changed = sum(one != other for one, other in zip(kept, times, strict=True))
    assert changed == 0


def test_s48_as_many_times_as_possible_are_kept() -> None:
    """The longest part that never falls is kept, the others take the time before them."""
    assert settle_times([5, 1, 2, 3, 2, 9]) == [1, 1, 2, 2, 2, 9]
    assert settle_times([3, 2, 1]) == [1, 1, 1]
    assert settle_times([1, 9, 9, 2]) == [1, 9, 9, 9]
