"""Windows in words and the payload of the memory_search action (rules T42, T43, T45)."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.search.rules_windows import ActionRequest, check_action_payload, time_window

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


def day(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-{text}").replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("given_window", "since", "until"),
    [
        ("yesterday", "03-08 12:00", "03-10 12:00"),
        ("last week", "02-28 12:00", "03-10 12:00"),
        ("3 days", "03-06 21:36", "03-10 12:00"),
        ("10 hours", "03-10 00:00", "03-10 12:00"),
        ("5h", "03-10 06:00", "03-10 12:00"),
        ("2d", "03-08 02:24", "03-10 12:00"),
        ("30m", "03-10 11:24", "03-10 12:00"),
        ("1w", "03-02 02:24:00".replace("02:24:00", "02:24"), "03-10 12:00"),
        ("1 week", "03-02 02:24", "03-10 12:00"),
        ("30 minutes", "03-10 11:24", "03-10 12:00"),
        ("  Last   WEEK ", "02-28 12:00", "03-10 12:00"),
        ("2026-03-01/2026-03-05", "03-01 00:00", "03-06 00:00"),
        ("2026-03-01T10:00:00Z/2026-03-05T11:00", "03-01 10:00", "03-05 11:00"),
        ({"start": "2026-03-01", "end": "2026-03-05"}, "03-01 00:00", "03-06 00:00"),
        ({"start": "2026-03-01"}, "03-01 00:00", "03-10 12:00"),
        ({"duration": "3 days"}, "03-06 21:36", "03-10 12:00"),
        ({"start": "2026-03-10", "end": None}, "03-10 00:00", "03-10 12:00"),
    ],
)
def test_t43_the_table(given_window: object, since: str, until: str) -> None:
    assert time_window(given_window, NOW, UTC) == (day(since), day(until))


def test_t43_open_sides() -> None:
    assert time_window(None, NOW, UTC) == (None, None)
    assert time_window({"end": "2026-03-05"}, NOW, UTC) == (None, day("03-06 00:00"))


def test_t43_dates_alone_are_days_of_the_zone() -> None:
    """The day the clocks change has 23 hours."""
    rome: tzinfo = ZoneInfo("Europe/Rome")
    assert time_window("2026-03-01/2026-03-05", NOW, rome) == (day("02-28 23:00"), day("03-05 23:00"))
    late = datetime(2026, 4, 10, tzinfo=UTC)
    assert time_window("2026-03-29/2026-03-29", late, rome) == (day("03-28 23:00"), day("03-29 22:00"))


@pytest.mark.parametrize(
    "value",
    [
        "0 days",
        "-1d",
        "soon",
        "2026-03-05/2026-03-01",
        {"start": "2026-03-11"},
        "",
        "/",
        "2026-03-01/",
        "3",
        "3 moons",
        "1.5.2 days",
        "999999999 weeks",
        "99999999999 days",
        "2026-02-30/2026-03-01",
        "9999-12-31/9999-12-31",
        {},
        {"start": "soon"},
        {"begin": "2026-03-01"},
        {"duration": "0h"},
        {"duration": 3},
        {"duration": "3 days", "start": "2026-03-01"},
        7,
        True,
        ["yesterday"],
        "x" * 1_000_000,
    ],
)
def test_t43_other_windows_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="time_window") as raised:
        time_window(value, NOW, UTC)
    assert len(str(raised.value)) < 500


def test_t43_the_refusal_names_the_accepted_forms() -> None:
    with pytest.raises(ValueError, match=r"'soon'.*yesterday.*last week.*3 days.*5h.*start/end.*duration"):
        time_window("soon", NOW, UTC)


@given(st.text() | st.integers() | st.dictionaries(st.sampled_from(["start", "end", "duration"]), st.text()))
def test_t43_a_window_is_in_order_or_refused(value: Any) -> None:
    try:
        since, until = time_window(value, NOW, UTC)
    except ValueError:
        return
    assert since is None or until is None or since <= until


def errors(payload: object) -> list[str]:
    return check_action_payload(payload, NOW, UTC)[1]


def test_t42_a_good_payload_is_read_whole() -> None:
    request, found = check_action_payload(
        {
            "mode": "tags",
            "tags": [" Food ", None],
            "keywords": "tofu",
            "query": " where? ",
            "max_results": 7,
            "time_window": "yesterday",
            "random": True,
        },
        NOW,
        UTC,
    )
    assert found == []
    assert request == ActionRequest("tags", ("food",), ("tofu",), "where?", 7, day("03-08 12:00"), NOW, True)


def test_t42_every_error_comes_at_once() -> None:
    assert len(errors({"mode": "x", "max_results": 0})) == 2
    assert len(errors({"mode": "tags"})) == 1
    assert len(errors({"mode": "tags", "tags": [" "], "keywords": []})) == 1
    assert errors({"mode": "free", "time_window": "yesterday"}) == []
    assert len(errors({"mode": "free"})) == 1
    everything = {
        "mode": 7,
        "tags": [["x"]],
        "keywords": [["y"]],
        "query": 7,
        "max_results": 51,
        "time_window": "soon",
        "random": "maybe",
        "moods": 1,
    }
    assert len(errors(everything)) == 8


def test_t42_results_are_1_to_50_and_10_by_default() -> None:
    def results(value: object) -> int:
        request, found = check_action_payload({"tags": ["a"], "max_results": value}, NOW, UTC)
        assert found == []
        return request.max_results

    assert [results(value) for value in (None, 1, 50, "7", 7.0)] == [10, 1, 50, 7, 7]
    for value in (0, 51, -1, True, "x", 1.5, float("nan"), float("inf"), [], 10**400):
        assert len(errors({"tags": ["a"], "max_results": value})) == 1


def test_t42_without_a_mode_the_payload_tells() -> None:
    assert check_action_payload({"query": "x"}, NOW, UTC)[0].mode == "free"
    assert check_action_payload({"query": "x", "tags": ["a"]}, NOW, UTC)[0].mode == "tags"
    assert len(errors({})) == 1


def test_t42_a_payload_that_is_no_object_is_one_error() -> None:
    for payload in (None, 7, "x", [], True):
        assert len(errors(payload)) == 1


def test_t42_what_was_dropped_is_noted() -> None:
    request, found = check_action_payload({"keywords": ["k" * 500]}, NOW, UTC)
    assert found == []
    assert "500" in request.notes[0]


def test_t45_a_payload_cannot_name_whose_memories_are_read() -> None:
    """The scope is that of the conversation that asked."""
    for key in ("persona_id", "persona", "participant", "audience", "scope", "conversation"):
        found = errors({"tags": ["a"], key: "other"})
        assert len(found) == 1
        assert repr(key) in found[0]
    assert "max_results" in errors({"tags": ["a"], "max_result": 5})[0]
    assert len(errors({"tags": ["a"], 7: 1})) == 1
