"""The frame of `context`: key order, caps, and recall that does not repeat what is visible."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.context.context import CONTEXT_KEYS, Caps, caps, drop_visible, order_context, visible_rows
from core.shapes import HistoryEntry, Hit, LeftOut


def hit(number: int, source: str = "chat_history", snippet: str = "") -> Hit:
    return {"source": source, "id": number, "timestamp": "", "snippet": snippet, "tags": []}  # type: ignore[typeddict-item]


@given(st.permutations([name for name, _ in CONTEXT_KEYS] + ["mood", "weather"]))
def test_p8_the_keys_stand_in_the_order_of_the_contract(names: list[str]) -> None:
    assert list(order_context(dict.fromkeys(names, "x"))) == [name for name, _ in CONTEXT_KEYS] + [
        name for name in names if name in ("mood", "weather")
    ]


def test_p8_bracketed_keys_are_there_only_when_there_is_something_in_them() -> None:
    always = {"history_current_chat": [], "history_recent": [], "thoughts": []}
    empty = {name: [] for name, _ in CONTEXT_KEYS}
    assert order_context({}) == always
    assert order_context(empty) == {**always, "memories": [], "tags_placeholder": []}
    assert order_context({"short_term": "", "relationship": None, "running_recap": "x"}) == {
        **always,
        "running_recap": "x",
    }


def test_p8_keys_of_the_host_are_as_given() -> None:
    assert order_context({"mood": None, "tags": []}) == {
        "history_current_chat": [],
        "history_recent": [],
        "thoughts": [],
        "mood": None,
        "tags": [],
    }


@pytest.mark.parametrize(
    ("verbosity", "lite", "memories"), [(10, False, 10), (3, False, 3), (0, False, 0), (10, True, 2), (1, True, 1)]
)
def test_p40_memories_are_capped_by_verbosity_and_lite_mode(verbosity: int, lite: bool, memories: int) -> None:
    assert caps(verbosity, lite).memories == memories


def test_p40_lite_mode_keeps_three_lines_and_two_thoughts() -> None:
    assert caps(10, True) == Caps(3, 3, 2, 2)
    assert caps(2, True) == Caps(2, 2, 2, 2)
    assert caps(10, False) == Caps(10, 10, 5, 10)
    assert caps(10, False, history=4, memories=12) == Caps(4, 10, 5, 12)
    assert caps(10, True, history=40, memories=1) == Caps(3, 3, 2, 1)


def test_p34_a_hit_that_is_visible_in_the_history_is_left_out() -> None:
    shown = [HistoryEntry("tg/1", "tea", row_id=1), HistoryEntry("tg/1", "live")]
    hits = [hit(1), hit(1, "memories"), hit(2, snippet="Live"), hit(3, snippet="other")]
    kept, left_out = drop_visible(hits, visible_rows(shown), {"live"}, lambda found: found["snippet"].lower() or None)
    assert [(found["source"], found["id"]) for found in kept] == [("memories", 1), ("chat_history", 3)]
    assert left_out == [LeftOut("memories", "visible", "1"), LeftOut("memories", "visible", "2")]


def test_p34_twelve_matches_three_visible_leave_five_others() -> None:
    kept, left_out = drop_visible([hit(n) for n in range(12)], {0, 3, 4}, (), lambda found: None)
    assert [found["id"] for found in kept[:5]] == [1, 2, 5, 6, 7]
    assert len(kept) + len(left_out) == 12
