"""What a model wants changed in a list of saved memories (C15, C16, F33)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.conversations.rules_rewrites import MERGED, ImpossibleError, Rewrite, one_line, read_rewrite

ITEMS = ["I like tea", "I live in Rome", "My cat is Tofu", "I work at night", "Ada is my sister"]


def answer(*operations: Any) -> str:
    return "Here you are:\n```json\n" + json.dumps({"operations": list(operations)}) + "\n```"


def done(reply: str, items: list[str] | None = None) -> Rewrite:
    return read_rewrite(reply, ITEMS if items is None else items, most_chars=100, patterns=(r"(?i)^error\b",))


@pytest.mark.parametrize("breaks", ["\n", "\r\n", "\r", "\v", "\x1c", "\x85", "\u2028", "\n\n \n"])
def test_c11_inner_line_breaks_become_spaces(breaks: str) -> None:
    """C31 stands on it: no memory can be two lines of the Markdown file."""
    made = one_line(f"  I like{breaks}tea \n")
    assert made.split() == ["I", "like", "tea"] and made.splitlines() == [made]


def test_c15_operations_are_read() -> None:
    replaced = {"op": "replace", "item": 2, "text": "I live in\nParis"}
    dropped = {"op": "drop", "item": "4", "reason": "not any more"}
    made = done(answer({"op": "keep", "item": 1}, replaced, dropped, {"op": "add", "text": "I like cheese"}))
    assert made == Rewrite(((1, "I live in Paris"),), ((3, "not any more"),), ("I like cheese",))


def test_c15_nothing_is_stored_twice() -> None:
    same = {"op": "add", "text": "i like  TEA"}
    assert done(answer(same, {"op": "add", "text": "new"}, {"op": "add", "text": "NEW"})) == Rewrite(added=("new",))
    itself, other = ({"op": "replace", "item": n, "text": "i like tea"} for n in (1, 2))
    assert done(answer(itself, other)) == Rewrite(dropped=((1, MERGED),))


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "cannot be read"),
        ("I would keep them all.", "cannot be read"),
        ('{"operations": "none"}', "cannot be read"),
        (answer(), "changes nothing"),
        (answer({"op": "keep", "item": 1}), "changes nothing"),
        (answer({"op": "add", "text": "I like tea"}), "changes nothing"),
        (answer({"op": "replace", "item": 6, "text": "x"}), "not on the list"),
        (answer({"op": "replace", "item": 0, "text": "x"}), "not on the list"),
        (answer({"op": "replace", "item": True, "text": "x"}), "not on the list"),
        (answer({"op": "drop", "item": 10**30, "reason": "x"}), "not on the list"),
        (answer({"op": "drop", "item": 1}), "without a reason"),
        (answer({"op": "drop", "item": 1, "reason": "a"}, {"op": "keep", "item": 1}), "twice"),
        (answer(*({"op": "drop", "item": n, "reason": "old"} for n in range(1, 6))), "drops everything"),
        (answer({"op": "replace", "item": 1, "text": " \n"}), "blank"),
        (answer({"op": "add"}), "blank"),
        (answer({"op": "add", "text": "x" * 101}), "too long"),
        (answer({"op": "add", "text": "Error 429: too many requests"}), "looks like an error"),
        (answer("drop 1"), "no object"),
        (answer({"op": "forget", "item": 1}), "none of"),
    ],
)
def test_c16_an_impossible_answer_is_refused_as_a_whole(reply: str, why: str) -> None:
    with pytest.raises(ImpossibleError, match=why) as caught:
        done(reply)
    assert not any(item in str(caught.value) for item in ITEMS)
