"""The parts of free search that need no database: attempts and their times, words, merging (T41, T44)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from core.base import hooks
from core.errors import ScopeError, StoreReadError
from core.search import Chosen, free_search
from core.search.ranking.ranking import Candidate
from core.search.reading.found_rows import FoundRow
from core.shapes import Hit


class Time:
    """A clock that moves when somebody sleeps or an attempt uses up its time; stands for the module `time`."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    """Replace the time of the module."""
    made = Time()
    monkeypatch.setattr(free_search, "time", made)
    return made


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch, clock: Time) -> list[float]:
    """Let every attempt take all the time it is given; the list holds how long that was."""
    given: list[float] = []

    def hang(work: Callable[[], Any], arguments: Mapping[str, Any], *, timeout_seconds: float, name: str) -> Any:
        given.append(timeout_seconds)
        clock.now += timeout_seconds
        raise hooks.HookTimeout(name, timeout_seconds)

    monkeypatch.setattr(hooks, "call", hang)
    return given


def test_t41_two_attempts_of_ten_seconds_half_a_second_apart(allowed: list[float], clock: Time) -> None:
    """The longest a free search can take is 20.5 seconds."""
    with pytest.raises(hooks.HookTimeout):
        free_search._attempted(lambda: None)
    assert allowed == [10.0, 10.0]
    assert clock.slept == [0.5]


def test_t44_the_action_ends_after_fifteen_seconds_in_all(allowed: list[float], clock: Time) -> None:
    """The second attempt gets what the first left."""
    with pytest.raises(hooks.HookTimeout):
        free_search._attempted(lambda: None, free_search.ACTION_SECONDS)
    assert allowed == [10.0, 4.5]
    assert clock.now == 1015.0


def test_t41_the_first_answer_counts(clock: Time) -> None:
    """Nothing is asked twice without need."""
    calls: list[int] = []

    def fail_once() -> str:
        calls.append(1)
        if len(calls) == 1:
            raise StoreReadError("memories could not be read")
        return "found"

    assert free_search._attempted(fail_once) == "found"
    assert free_search._attempted(lambda: "at once") == "at once"
    assert clock.slept == [0.5]


def test_t41_what_is_no_failure_of_reading_is_raised_at_once(clock: Time) -> None:
    """A wrong argument is wrong the second time too."""

    def wrong() -> None:
        raise ScopeError("persona is ''")

    with pytest.raises(ScopeError):
        free_search._attempted(wrong)
    assert clock.slept == []


def test_t41_words_stand_between_white_space() -> None:
    """Any Unicode white space parts words; nothing else does."""
    assert free_search._words(" O'B\u3000100%\n\tx\x00y ") == ["O'B", "100%", "xy"]
    assert free_search._words(None) == free_search._words(" \n") == []
    with pytest.raises(TypeError, match="query is of type list"):
        free_search._words(["cat"])


def test_t44_a_result_has_the_smallest_id_and_its_source() -> None:
    """Rows 7 and 9 with one text: id 7, the time of 9."""
    shown: Hit = {
        "source": "ai_diary",
        "id": 9,
        "timestamp": "2026-03-10T12:09:00+00:00",
        "snippet": "t",
        "tags": ["a"],
    }
    row = FoundRow(1, 9, 9, ("t",), "", None, None, "", "", None)
    newest = Chosen(shown, Candidate(1, 9, 9), row, 1)
    merged = free_search._merged(newest, [Candidate(1, 9, 9), Candidate(0, 7, 7)])
    assert merged == {**shown, "source": "memories", "id": 7}
    assert shown["id"] == 9
    assert free_search._merged(newest, []) == shown
