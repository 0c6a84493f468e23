"""How long items are kept (L8 to L10, L23, L24)."""

from __future__ import annotations

import pytest

from core.errors import MessageError
from core.memories.rules_retention import heuristic_importance, read_mode, session_ttl


def test_l8_importance_grows_with_length_and_phrase() -> None:
    assert heuristic_importance("x" * 40, False) == 0.1
    assert heuristic_importance("x" * 200, False) == 0.5
    assert heuristic_importance("my name is " + "x" * 189, True) == 0.7
    assert heuristic_importance("my name is " + "x" * 389, True) == 1.0
    assert heuristic_importance("", False) == 0.1 and heuristic_importance("x" * 9000, True) == 1.0


def test_l10_the_time_to_live_of_a_call() -> None:
    assert session_ttl(0, 604_800) == session_ttl(None, 604_800) == (604_800, ())
    assert session_ttl(60, 1) == (60, ()) and session_ttl(61, 1) == (61, ())
    for low in (1, 59):
        seconds, notes = session_ttl(low, 604_800)
        assert seconds == 60 and str(low) in notes[0]
    for wrong in (-1, 315_360_001):
        with pytest.raises(MessageError, match="ttl_sec"):
            session_ttl(wrong, 604_800)


def test_l23_another_mode_is_refused() -> None:
    with pytest.raises(MessageError, match="any or all"):
        read_mode("both", "any")
