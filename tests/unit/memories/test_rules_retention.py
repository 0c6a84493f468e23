"""How long items are kept (L8 to L10, L23, L24)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core.errors import MessageError
from core.memories.rules_retention import heuristic_importance, is_expired, prune_reasons, read_mode, session_ttl

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def test_l8_importance_grows_with_length_and_phrase() -> None:
    assert heuristic_importance("x" * 40, False) == 0.1
    assert heuristic_importance("x" * 200, False) == 0.5
    assert heuristic_importance("my name is " + "x" * 189, True) == 0.7
    assert heuristic_importance("my name is " + "x" * 389, True) == 1.0
    assert heuristic_importance("", False) == 0.1 and heuristic_importance("x" * 9000, True) == 1.0


def test_l9_an_item_has_expired_when_its_age_is_the_limit() -> None:
    def after(**age: float) -> bool:
        return is_expired(NOW - timedelta(**age), None, NOW, 604_800)

    assert [after(days=days) for days in (6.9, 7.0, 7.1)] == [False, True, True]
    assert not after(days=7, microseconds=-1)
    assert is_expired(NOW - 99 * DAY, NOW + DAY, NOW, 60) is False
    assert is_expired(NOW, NOW, NOW, 604_800) is True
    assert is_expired(None, None, NOW, 60) is False


def test_l10_the_time_to_live_of_a_call() -> None:
    assert session_ttl(0, 604_800) == session_ttl(None, 604_800) == (604_800, ())
    assert session_ttl(60, 1) == (60, ()) and session_ttl(61, 1) == (61, ())
    for low in (1, 59):
        seconds, notes = session_ttl(low, 604_800)
        assert seconds == 60 and str(low) in notes[0]
    for wrong in (-1, 315_360_001):
        with pytest.raises(MessageError, match="ttl_sec"):
            session_ttl(wrong, 604_800)


TABLE = [
    (31, 0.9, False, True, False),
    (1, 0.2, False, True, False),
    (1, 0.25, False, False, False),
    (31, 0.2, False, True, True),
    (30, 0.9, False, True, False),
    (31, 0.1, True, False, False),
]


@pytest.mark.parametrize(("days", "importance", "exempt", "by_any", "by_all"), TABLE)
def test_l23_what_is_pruned(days: float, importance: float, exempt: bool, by_any: bool, by_all: bool) -> None:
    def gone(mode: str, protect: float = 1.01) -> bool:
        reasons = prune_reasons(
            age=days * DAY,
            importance=importance,
            exempt=exempt,
            max_age_days=30,
            max_importance=0.25,
            mode=mode,  # type: ignore[arg-type]
            protect_importance=protect,
        )
        return bool(reasons)

    assert (gone("any"), gone("all")) == (by_any, by_all)
    if importance == 0.9:
        assert not gone("any", protect=0.9)


def test_l23_an_item_without_time_is_never_too_old() -> None:
    limits = {"exempt": False, "max_age_days": 30, "max_importance": 0.25, "protect_importance": 1.01}
    assert prune_reasons(age=None, importance=0.9, mode="any", **limits) == ()  # type: ignore[arg-type]
    assert prune_reasons(age=None, importance=0.1, mode="any", **limits) == ("importance",)  # type: ignore[arg-type]
    with pytest.raises(MessageError, match="any or all"):
        read_mode("both", "any")
