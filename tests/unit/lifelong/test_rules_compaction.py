"""Many old items that become one (L25)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.lifelong.rules_compaction import Old, Summed, choose_sources, read_summary
from core.templates.refused import refused_patterns


def old(number: int, *tags: str, audience: int = 1, who: str | None = None, local: int = 0) -> Old:
    return Old(number, audience, who, local, tags, f"text {number}")


def test_l25_the_oldest_tag_comes_first() -> None:
    chosen = choose_sources([old(1, "b"), old(2, "a"), old(3, "a"), old(4, "a", "b")], 40)
    assert chosen is not None and (chosen.tag, [item.id for item in chosen.items]) == ("b", [1, 4])
    chosen = choose_sources([old(1, "b"), old(2, "a"), old(3, "a")], 40)
    assert chosen is not None and (chosen.tag, [item.id for item in chosen.items]) == ("a", [2, 3])
    chosen = choose_sources([old(n, "a") for n in range(50)], 40)
    assert chosen is not None and len(chosen.items) == 40 and chosen.items[0].id == 0
    assert choose_sources([old(1, "a"), old(2, "b"), old(3)], 40) is None


@pytest.mark.parametrize("other", [{"audience": 2}, {"who": "tg/ann"}, {"local": 1}])
def test_f15_audiences_people_and_machines_are_never_mixed(other: dict[str, Any]) -> None:
    assert choose_sources([old(1, "a"), old(2, "a", **other)], 40) is None


def test_l25_the_reply_names_its_sources() -> None:
    whole = {
        "summary": " Ann has cats. ",
        "tags": ["cat", 7],
        "feeling": "joy",
        "source_ids": [1, "2", 2],
        "confidence": 3,
    }
    assert read_summary(json.dumps(whole), {1, 2, 3}, patterns=()) == Summed(
        "Ann has cats.", ("cat",), "joy", (1, 2), 1.0
    )
    bare = {"summary": "x", "source_ids": [1]}
    assert read_summary(json.dumps(bare), {1}, patterns=()) == Summed("x", (), "", (1,), None)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"summary": "x", "source_ids": [1, 9]}, "source_ids"),
        ({"summary": "x", "source_ids": []}, "source_ids"),
        ({"summary": "x"}, "source_ids"),
        ({"summary": "x", "source_ids": [True]}, "source_ids"),
        ({"summary": "  ", "source_ids": [1]}, "empty"),
        ({"summary": None, "source_ids": [1]}, "empty"),
        ({"summary": "Error 500: internal", "source_ids": [1]}, "error_like"),
        ({"other": 1}, "unreadable"),
    ],
)
def test_l25_a_reply_that_cannot_be_used(given: Any, why: str) -> None:
    assert read_summary(json.dumps(given), {1, 2}, patterns=refused_patterns()) == why
