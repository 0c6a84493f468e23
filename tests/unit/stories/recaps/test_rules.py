"""S10 to S15: which recaps take part and which fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stories.recaps.rules import (
    Candidate,
    Message,
    Rules,
    choose,
    concatenate,
    corrected,
    left_out,
    limit_tokens,
)

STRICT = Rules(user=False, system=False, narrator=False, threshold=10, disabled={"bob"})
ALL: dict[str, Any] = {"is_program": True, "is_excluded": True, "sender_id": "bob", "tokens": 1}


def test_s10_the_first_rule_that_holds_is_named() -> None:
    """One message per rule, each matching every later one too."""
    found = [
        left_out(Message("user", **ALL), STRICT),
        left_out(Message("user", **ALL | {"is_program": False}), STRICT),
        *(
            left_out(Message(role, **ALL | {"is_program": False, "is_excluded": False}), STRICT)
            for role in ("user", "thought", "system", "narrator", "persona")
        ),
        left_out(Message("persona", tokens=9), STRICT),
        left_out(Message("persona", tokens=10), STRICT),
    ]
    assert found == ["program", "excluded", "user", "thought", "system", "narrator", "disabled", "short", ""]


def test_s10_switches_and_the_threshold() -> None:
    for role in ("user", "system", "narrator", "persona"):
        assert left_out(Message(role), Rules()) == ""
    assert left_out(Message("thought"), Rules()) == "thought"
    assert [left_out(Message(tokens=n), Rules(threshold=10)) for n in (9, 10, 11)] == ["short", "", ""]
    assert left_out(Message(tokens=None), Rules()) == ""
    for character in ({"sender_id": "bob"}, {"sender_name": "bob"}, {"is_disabled": True}):
        assert left_out(Message("persona", **character), Rules(disabled={"bob"})) == "disabled"
    assert left_out(Message("persona"), Rules(disabled={""})) == ""


def recaps(*tokens: int) -> list[Candidate]:
    """Return recaps newest first; the first has the highest row id."""
    return [Candidate(len(tokens) - at, n) for at, n in enumerate(tokens)]


@pytest.mark.parametrize(
    ("limit", "kept"), [(10, (4, 3)), (8, (4, 3)), (0, ()), (12, (4, 3, 2)), (13, (4, 3, 2, 1)), (3, ())]
)
def test_s11_the_walk_stops_at_the_limit(limit: int, kept: tuple[int, ...]) -> None:
    """A shorter one behind the first that does not fit stays out: no gaps in what is told."""
    assert choose(recaps(4, 4, 4, 1), limit) == kept


def test_s11_nothing_is_read_behind_the_one_that_does_not_fit() -> None:
    def walked() -> Iterator[Candidate]:
        yield from recaps(4, 4, 4)
        raise AssertionError("read too far")

    assert choose(walked(), 10) == (3, 2)


def test_s13_separators_count_between_recaps() -> None:
    assert choose(recaps(4, 4), 8, separator_tokens=1) == (2,)
    assert choose(recaps(4, 4), 9, separator_tokens=1) == (2, 1)
    assert choose(recaps(4), 4, separator_tokens=9) == (1,)


def test_s15_the_correction_multiplies_the_whole_rounded_up() -> None:
    assert choose(recaps(4, 4), 8, factor=1.1) == (2,)
    assert choose(recaps(4, 4), 9, factor=1.1) == (2, 1)
    assert [corrected(100, 1.35), corrected(100, 1.0), corrected(3, 0.5), corrected(0, 3)] == [135, 100, 2, 0]
    # 100 * 1.1 is 110.00000000000001 in binary
    assert [corrected(100, 1.1), corrected(20, 1.15)] == [110, 23]


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(0, 300), st.integers(0, 3))
def test_s11_what_is_chosen_fits_and_the_next_would_not(tokens: list[int], limit: int, separator: int) -> None:
    rows = recaps(*tokens)
    chosen = choose(rows, limit, separator_tokens=separator)
    assert list(chosen) == [each.row_id for each in rows[: len(chosen)]]
    size = sum(tokens[: len(chosen)]) + separator * max(0, len(chosen) - 1)
    assert size <= limit
    if limit and len(chosen) < len(rows):
        assert size + tokens[len(chosen)] + (separator if chosen else 0) > limit


def test_s12_recaps_are_told_oldest_first_one_a_line() -> None:
    assert concatenate(["one", "two", "three"]) == "one\ntwo\nthree"
    assert concatenate(["one\n\n two ", "", "three\r\nfour"]) == "one two\nthree four"


def test_s14_the_limit_is_a_share_rounded_down_or_a_number() -> None:
    assert [limit_tokens(n, "percent", 8192) for n in (10, 0, 100, 15)] == [819, 0, 8192, 1228]
    assert limit_tokens(500, "absolute", 8192) == 500


def test_g18_more_than_a_hundred_percent_is_the_default() -> None:
    assert limit_tokens(500, "percent", 8192) == 819
