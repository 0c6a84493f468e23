"""S43 to S46: turns, waits and what a failure means."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core.jobs import rules as jobs
from core.jobs.rules import Waiting

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def waiting(number: int, priority: str = "NORMAL", *depends_on: int, **more: object) -> Waiting:
    """Return an operation queued `number` seconds after noon."""
    made = Waiting(
        number, "RECAP", jobs.number_of(priority), NOON + timedelta(seconds=number), depends_on, "pending", 0
    )
    return made._replace(**more)


@pytest.mark.parametrize(
    ("states", "ready", "failed"),
    [
        ({}, True, ()),
        ({1: "completed", 2: "completed"}, True, ()),
        ({1: "pending"}, False, ()),
        ({1: "in_progress", 2: "completed"}, False, ()),
        ({1: "failed", 2: "pending"}, False, ((5, 1),)),
        ({1: "completed", 2: "cancelled"}, False, ((5, 2),)),
    ],
)
def test_s43_an_operation_waits_for_those_it_depends_on(
    states: dict[int, str], ready: bool, failed: tuple[tuple[int, int], ...]
) -> None:
    """An unknown one counts as done; one that failed for good, or was cancelled, fails it."""
    found = jobs.choose_turns([waiting(5, "NORMAL", 1, 2)], states)
    assert (bool(found.ready), found.failed) == (ready, failed)


def test_s45_a_lost_operation_is_ready_again_until_its_last_try() -> None:
    again, last = (waiting(n, status="in_progress", tries=n) for n in (7, 8))
    assert jobs.choose_turns([again, last], {}) == jobs.Turns((again,), (), (8,))


def test_s46_waits_double_up_to_five_minutes() -> None:
    assert [jobs.wait_seconds(tries) for tries in range(1, 8)] == [10, 20, 40, 80, 160, 300, 300]
    assert jobs.wait_seconds(10**6) == 300


@pytest.mark.parametrize(
    ("kinds", "reason", "expected"),
    [
        (["ModelError", "CoreError"], "auth", "fail"),
        (["ModelError", "CoreError"], "timeout", "retry"),
        (["StoreWriteError", "StoreError", "CoreError"], "auth", "retry"),
        (["MessageError", "CoreError"], "", "fail"),
        (["KeyError", "LookupError"], "", "retry"),
    ],
)
def test_s46_what_a_failure_means(kinds: list[str], reason: str, expected: str) -> None:
    """Authorisation errors fail at once, as does what a person has to mend first."""
    assert jobs.verdict(kinds, reason) == expected


def test_s46_the_error_is_short() -> None:
    assert len(jobs.error_text("E" * 400, "r" * 400, 1205)) == jobs.ERROR_CHARS
