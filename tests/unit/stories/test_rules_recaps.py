"""S3, S10 to S15, S35: values beside a message, which recaps take part and fit, what is hidden."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config import Settings
from core.errors import MessageError
from core.messages.table_lines import Line
from core.stories.refresh import left_out
from core.stories.rules_recaps import choose, concatenate, limit_tokens, plan_hiding, ranges, read_value

STRICT = Settings(
    include_user_messages=False, include_system_messages=False, include_narrator_messages=False,
    message_length_threshold=10,
)  # fmt: skip
ALL: dict[str, Any] = {"program": True, "excluded": True, "sender_id": "bob"}


def line(role: str = "user", *, program: bool = False, disabled: bool = False, **more: Any) -> Line:
    """Return a message as the rules see it."""
    fields: dict[str, Any] = dict.fromkeys(each.name for each in dataclasses.fields(Line))
    metadata = {"program_message": program, "disabled": disabled}
    return Line(**{**fields, "role": role, "excluded": False, "metadata": metadata, **more})


def test_s10_the_first_rule_that_holds_is_named() -> None:
    """One message per rule, each matching every later one too."""
    messages = [line("user", **ALL), line("user", **ALL | {"program": False})]
    messages += [line(role, sender_id="bob") for role in ("user", "thought", "system", "narrator", "persona")]
    reasons = [left_out(each, STRICT, {"bob"}, 1) for each in messages]
    reasons += [left_out(line("persona"), STRICT, {"bob"}, tokens) for tokens in (9, 10)]
    assert reasons == ["program", "excluded", "user", "thought", "system", "narrator", "disabled", "short", ""]


def recaps(*tokens: int) -> list[tuple[int, int]]:
    """Return recaps newest first; the first has the highest row id."""
    return [(len(tokens) - at, n) for at, n in enumerate(tokens)]


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(0, 300), st.integers(0, 3))
def test_s11_what_is_chosen_fits_and_the_next_would_not(tokens: list[int], limit: int, separator: int) -> None:
    rows = recaps(*tokens)
    chosen = choose(rows, limit, separator_tokens=separator)
    assert list(chosen) == [row_id for row_id, _ in rows[: len(chosen)]]
    size = sum(tokens[: len(chosen)]) + separator * max(0, len(chosen) - 1)
    assert size <= limit
    if limit and len(chosen) < len(rows):
        assert size + tokens[len(chosen)] + (separator if chosen else 0) > limit


def test_s12_recaps_are_told_oldest_first_one_a_line() -> None:
    assert concatenate(["one", "two", "three"]) == "one\ntwo\nthree"
    assert concatenate(["one\n\n two ", "", "three\r\nfour"]) == "one two\nthree four"


def test_g18_more_than_a_hundred_percent_is_the_default() -> None:
    assert limit_tokens(500, "percent", 8192) == 819


def test_s3_values_are_of_their_kind() -> None:
    kept = [("edited", False, None), ("exclude", 1, True), ("scene_recap_versions", ("A", "B"), ["A", "B"])]
    assert [read_value(key, value) for key, value, _ in kept] == [as_kept for _, _, as_kept in kept]


@pytest.mark.parametrize(
    ("key", "value"),
    [("memory", 3), ("exclude", 2), ("scene_recap_versions", ["A", 2]), ("scene_recap_current_index", -1),
     ("scene_recap_metadata", ["a"])],
)  # fmt: skip
def test_s3_another_kind_is_refused_without_repeating_the_value(key: str, value: Any) -> None:
    with pytest.raises(MessageError, match=f"^{key} is of type {type(value).__name__}.") as raised:
        read_value(key, value)
    assert raised.value.fields == (key,)


def test_s35_ranges_are_in_numeric_order_and_of_changes_alone() -> None:
    """As text 10 stands before 2."""
    assert ranges({0, 1, 2, 5, 6, 10}) == [(0, 2), (5, 6), (10, 10)]
    hidden = [True, False, True, False, True, False, None]
    assert plan_hiding(4, hidden) == {"hide": [(1, 1), (3, 3)], "show": [(4, 4)]}
    assert plan_hiding(4, [True] * 4 + [False, False, None]) == {"hide": [], "show": []}, "a second run"
