"""P60: the account of one call; what was found is what was kept and what was left out."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from core.errors import StoreReadError
from core.prompt.fit import Space, fit
from core.prompt.report import MAX_MESSAGE_CHARS, Report
from core.shapes import LeftOut

KEYS = [
    *("limit", "limit_tokens", "size", "tokens", "over_limit", "counter"),
    *("sections", "left_out", "errors", "notes", "search"),
]


def test_p60_keys_always_stand_in_one_order_and_are_plain_json() -> None:
    report = Report()
    report.search = {"hits": 3, "x": {1}}
    report.note("a", "b", "a")
    made = report.as_dict()
    assert list(made) == KEYS
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert made["notes"] == ["a", "b"]


def test_g26_no_text_of_foreign_errors_is_in_the_report() -> None:
    report = Report()
    report.fail("x", KeyError("the canary sang"))
    report.fail("y", StoreReadError("z" * 5000))
    text = json.dumps(report.as_dict())
    assert "canary" not in text
    assert "z" * MAX_MESSAGE_CHARS in text
    assert "z" * (MAX_MESSAGE_CHARS + 1) not in text


def prompt_of(rng: random.Random) -> dict[str, Any]:
    return {
        "context": {
            "history_current_chat": [f"c{n}" for n in range(rng.randint(0, 9))],
            "history_recent": [f"r{n}" for n in range(rng.randint(0, 9))],
            "thoughts": ["t"] * rng.randint(0, 3),
            "memories": [{"source": "memories", "id": n} for n in range(rng.randint(0, 9))],
            "running_recap": "so far",
            "relationship": {"affinity": 1},
        },
        "input": "hi",
        "instructions": "i",
    }


@pytest.mark.parametrize("seed", range(40))
def test_p60_after_fitting_found_is_what_was_there(seed: int) -> None:
    rng = random.Random(seed)
    prompt = prompt_of(rng)
    report = Report()
    report.leave_out([LeftOut("memories", "visible", "77"), LeftOut("history_recent", "private", "78")])
    space = Space(rng.randint(1, 500), None, lambda text: len(text.split()))
    fitted = fit(prompt, space)
    report.add_prompt(fitted, space, "words")
    made = report.as_dict()
    left = fitted.prompt.get("context", {})
    for section, value in prompt["context"].items():
        before = len(value) if isinstance(value, list) else 1
        other = {"memories": 1, "history_recent": 1}.get(section, 0)
        if before + other:
            assert made["sections"][section]["found"] == before + other, section
        shown = left.get(section, [])
        assert made["sections"].get(section, {"kept": 0})["kept"] == (len(shown) if isinstance(shown, list) else 1)
    assert (made["limit"], made["size"], made["over_limit"]) == (space.limit_chars, fitted.size, fitted.over_limit)
    assert (made["limit_tokens"], made["counter"]) == (None, "words")
    assert made["tokens"] == len(json.dumps(fitted.prompt).split())
