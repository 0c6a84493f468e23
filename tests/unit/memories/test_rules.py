"""What a memory item is made of, and two that say the same (L1 to L3, L7), and how long it is kept (L8, L10, L23)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import MessageError
from core.memories.rules import (
    KINDS,
    heuristic_importance,
    importance_of,
    kind_of,
    read_entry,
    read_id,
    read_ids,
    read_mode,
    read_number,
    read_share,
    session_ttl,
)


def test_l2_snake_case_and_other_letter_case_are_the_same_kind() -> None:
    assert kind_of("facts_about_user") == "FactsAboutUser"
    for kind in KINDS:
        snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in kind).strip("_")
        assert {kind_of(form) for form in (kind, kind.upper(), kind.lower(), snake, f" {snake.upper()} ")} == {kind}


@pytest.mark.parametrize(
    ("given", "near"),
    [("KeyFact", "KeyFacts"), ("fact_about_user", "FactsAboutUser"), ("emotion", "Emotions"), ("save", "saved")],
)
def test_l2_another_kind_is_refused_and_the_nearest_named(given: str, near: str) -> None:
    with pytest.raises(MessageError, match=f"Did you mean '{near}'") as caught:
        kind_of(given)
    assert caught.value.fields == ("kind",)


@pytest.mark.parametrize("given", ["", "xyzzy", "wish"])
def test_l2_what_is_no_kind_is_refused_with_the_list(given: object) -> None:
    with pytest.raises(MessageError, match="must be one of FactsAboutUser, PastEvents"):
        kind_of(given)
    assert kind_of("instruction", also=("instruction",)) == "instruction"


def test_l1_a_text_alone_has_the_kind_of_the_call() -> None:
    for text in ("a", {"content": "a"}):
        assert read_entry(text, "Mood") == {"content": "a", "kind": "Mood", "metadata": None}
    for blank in ("", "  ", None, {}, {"text": " "}, {"text": None, "content": ""}):
        assert read_entry(blank, "Mood") is None


def test_f3_an_entry_cannot_say_whose_it_is() -> None:
    entry = read_entry({"text": "a", "persona_id": "other", "audience_id": 7, "metadata": {"x": 1}}, "Mood")
    assert entry is not None and entry["metadata"] == {"x": 1, "persona_id": "other", "audience_id": 7}


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)))
def test_l3_importance_stays_within_its_bounds(value: object) -> None:
    assert 0 <= importance_of(value) <= 1


def test_l7_at_most_a_thousand_ids_each_once() -> None:
    assert read_ids([1, 1, 2, 999]) == (1, 2, 999)
    assert read_ids(range(1000)) == tuple(range(1000))
    with pytest.raises(MessageError, match="At most 1000"):
        read_ids(range(1001))
    for wrong in ("12", [-1], [2**63]):
        with pytest.raises(MessageError):
            read_ids(wrong)
    with pytest.raises(MessageError, match="id is of type str"):
        read_id("a secret text")


def test_l5_numbers_out_of_range_are_refused_with_the_range() -> None:
    assert read_number(None, "limit", 1, 500, 50) == 50
    for wrong in (0, 501):
        with pytest.raises(MessageError, match=r"limit is .* 1 to 500"):
            read_number(wrong, "limit", 1, 500, 50)
    assert read_share(None, "min_importance", None) is None
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(MessageError, match="min_importance"):
            read_share(wrong, "min_importance", None)


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
