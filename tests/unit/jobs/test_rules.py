"""S43 to S46: turns, waits and what a failure means."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.jobs import rules as jobs
from core.jobs.rules import Waiting

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def waiting(number: int, priority: str = "NORMAL", *depends_on: int, **more: object) -> Waiting:
    """Return an operation queued `number` seconds after noon."""
    made = Waiting(
        number, "RECAP", jobs.number_of(priority), NOON + timedelta(seconds=number), depends_on, "pending", 0, 0
    )
    return made._replace(**more)


def test_s43_high_before_normal_before_low_then_older_first() -> None:
    """Queued N1, H1, N2, H2: H1, H2, N1, N2; of one instant the smaller id."""
    queue = [waiting(1), waiting(2, "HIGH"), waiting(3), waiting(4, "HIGH"), waiting(0, "LOW")]
    for order in (queue, queue[::-1]):
        assert [each.id for each in jobs.choose_turns(order, {}, 0).ready] == [2, 4, 1, 3, 0]
    twins = [waiting(9, created_at=NOON), waiting(8, created_at=NOON)]
    assert [each.id for each in jobs.choose_turns(twins, {}, 0).ready] == [8, 9]


@pytest.mark.parametrize(
    ("states", "ready", "failed"),
    [
        ({}, True, ()),
        ({1: "completed", 2: "completed"}, True, ()),
        ({2: "completed"}, True, ()),
        ({1: "pending"}, False, ()),
        ({1: "in_progress", 2: "completed"}, False, ()),
        ({1: "retrying"}, False, ()),
        ({1: "failed", 2: "pending"}, False, ((5, 1),)),
        ({1: "completed", 2: "cancelled"}, False, ((5, 2),)),
    ],
)
def test_s43_an_operation_waits_for_those_it_depends_on(
    states: dict[int, str], ready: bool, failed: tuple[tuple[int, int], ...]
) -> None:
    """An unknown one counts as done; one that failed for good, or was cancelled, fails it."""
    found = jobs.choose_turns([waiting(5, "NORMAL", 1, 2)], states, 0)
    assert (bool(found.ready), found.failed) == (ready, failed)


def test_s44_what_was_put_in_before_the_queue_was_cleared_is_outdated() -> None:
    """Whatever else is true of it."""
    old, new = waiting(1, "HIGH", 7, queue_version=0), waiting(2, queue_version=1)
    found = jobs.choose_turns([old, new], {7: "failed"}, 1)
    assert (found.outdated, found.failed, found.ready) == ((1,), (), (new,))


def test_s45_a_lost_operation_is_ready_again_until_its_last_try() -> None:
    again, last = (waiting(n, status="in_progress", tries=n) for n in (7, 8))
    assert jobs.choose_turns([again, last], {}, 0, 8) == jobs.Turns((again,), (), (), (8,))
    assert len(jobs.choose_turns([again, last], {}, 0, 0).ready) == 2, "0 never gives up"
    assert len(jobs.choose_turns([waiting(9, status="retrying", tries=9)], {}, 0, 8).ready) == 1, (
        "a limit that was lowered"
    )


def test_s46_waits_double_up_to_five_minutes() -> None:
    assert [jobs.wait_seconds(tries) for tries in range(1, 8)] == [10, 20, 40, 80, 160, 300, 300]
    assert jobs.wait_seconds(10**6) == 300


@given(st.integers(0, 10**9), st.floats(0, 1e12))
def test_s46_waits_never_shrink_and_end_within_an_hour(tries: int, asked: float) -> None:
    wait = jobs.wait_seconds(tries, asked)
    assert 10 <= wait <= 3600 and wait <= jobs.wait_seconds(tries + 1, asked) and wait >= min(asked, 3600)


@pytest.mark.parametrize(
    ("kinds", "reason", "expected"),
    [
        (["ModelError", "CoreError"], "auth", "fail"),
        (["ModelError", "CoreError"], "timeout", "retry"),
        (["ModelError", "CoreError"], "empty", "retry"),
        (["StoreWriteError", "StoreError", "CoreError"], "auth", "retry"),
        (["MessageError", "CoreError"], "", "fail"),
        (["ConfigError", "CoreError"], "", "fail"),
        (["KeyError", "LookupError"], "", "retry"),
    ],
)
def test_s46_what_a_failure_means(kinds: list[str], reason: str, expected: str) -> None:
    """Authorisation errors fail at once, as does what a person has to mend first."""
    assert jobs.verdict(kinds, reason) == expected


def test_s46_the_error_is_short() -> None:
    assert len(jobs.error_text("E" * 400, "r" * 400, 1205)) == jobs.ERROR_CHARS


def test_s43_priorities_are_three() -> None:
    assert [jobs.name_of(jobs.number_of(name)) for name in jobs.PRIORITIES] == ["HIGH", "NORMAL", "LOW"]
    with pytest.raises(ValueError, match="'high'"):
        jobs.number_of("high")
