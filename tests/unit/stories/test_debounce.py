"""S6: when changes that come in bursts are written, on a clock of the test's own."""

from __future__ import annotations

from collections.abc import Sequence

from core.stories.delayed_writes import Debounce


def written(changes: Sequence[float], pause: float, until: float) -> list[float]:
    """Return the times of the writes, looking every hundredth of a second as a timer would."""
    burst, found, waiting = Debounce(), list[float](), sorted(changes)
    for tick in range(int(until * 100) + 1):
        now = tick / 100
        while waiting and waiting[0] <= now:
            burst.note(waiting.pop(0), pause)
        if burst.is_due(now):
            found.append(now)
            burst.reset()
    return found


def test_s6_a_burst_is_one_write_a_pause_after_its_last_change() -> None:
    assert written([n * 0.018 for n in range(50)], 1.0, 10) == [1.89]


def test_s6_a_burst_without_end_is_written_every_five_seconds() -> None:
    assert written([n / 2 for n in range(20)], 1.0, 20) == [5.0, 10.5]
    assert len(written([n / 2 for n in range(21)], 1.0, 20)) == 2


def test_s6_without_changes_nothing_is_written() -> None:
    assert written([], 1.0, 10) == []
    assert Debounce().due is None


def test_s6_a_longer_pause_is_kept() -> None:
    assert written([0.0, 1.0], 10.0, 30) == [10.0]
    assert written([0.0], 0.0, 1) == [0.0]
