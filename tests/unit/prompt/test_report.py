"""P60: the account of one call; what was found is what was kept and what was left out."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import StoreReadError
from core.prompt.report import MAX_MESSAGE_CHARS, Report
from core.prompt.rules_reduction import fit
from core.scope import Scope
from core.shapes import LeftOut

KEYS = [
    *("scope", "flags", "tags", "words", "expansion", "notes", "sections", "left_out", "shortened", "stages"),
    *("limit", "limit_tokens", "size", "tokens", "over_limit", "counter"),
]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_p60_keys_always_stand_in_one_order() -> None:
    report = Report()
    assert list(report.as_dict()) == KEYS
    report.extra = {"search": {"hits": 3}, "size": "never"}
    report.size = 7
    made = report.as_dict()
    assert list(made) == [*KEYS, "search"]
    assert made["size"] == 7


def test_p60_it_is_plain_json_and_names_the_scope() -> None:
    report = Report(Scope("iris", conversation="tg/1", participant="tg/7", server="s"))
    report.flags = {"UNIFIED_HISTORY": 0, "CONTEXT_VERBOSITY": 3, "X": {1}}
    report.tags, report.words, report.expansion = ["cat"], ["tofu"], ["pet"]
    report.note("a", "b", "a")
    made = report.as_dict()
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert made["scope"] == asdict(report.scope)  # type: ignore[arg-type]
    assert (made["scope"]["persona"], made["scope"]["conversation"]) == ("iris", "tg/1")
    assert list(made["flags"]) == ["CONTEXT_VERBOSITY", "UNIFIED_HISTORY", "X"]
    assert (made["tags"], made["words"], made["expansion"], made["notes"]) == (["cat"], ["tofu"], ["pet"], ["a", "b"])


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from(["visible", "cut", "echo"]), st.integers() | st.none())
    ),
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 9))),
)
def test_p60_kept_and_left_out_together_equal_found(lost: list[Any], kept: list[Any]) -> None:
    report = Report()
    report.leave_out_all([LeftOut(section, reason, str(row or "")) for section, reason, row in lost])
    for section, count in kept:
        report.keep(section, count)
    made = report.as_dict()
    for section, numbers in made["sections"].items():
        entries = sum(item["section"] == section for item in made["left_out"])
        assert numbers["found"] == numbers["kept"] + entries
        assert numbers["kept"] == dict(kept).get(section, 0)
    assert len(made["left_out"]) == len(lost)
    assert {item["section"] for item in made["left_out"]} <= set(made["sections"])
    assert all(list(item) == ["section", "reason", "id"] and isinstance(item["id"], str) for item in made["left_out"])


def test_p60_stages_have_times_and_errors() -> None:
    clock = Clock()
    report = Report(clock=clock)
    with report.stage("tags"):
        clock.now += 0.0015
    with pytest.raises(RuntimeError), report.stage("search"):
        clock.now += 0.25
        raise RuntimeError("boom")
    with report.stage("tags"):
        clock.now += 0.001
    with report.stage("inner"):
        clock.now -= 5
    report.fail("search", "ai_diary", StoreReadError("Table ai_diary cannot be read. Run migrate."))
    report.fail("hooks", "recon", ValueError("the canary sang"))
    made = report.as_dict()["stages"]
    assert [(stage["stage"], stage["ms"]) for stage in made] == [
        ("tags", 2.5),
        ("search", 250.0),
        ("inner", 0.0),
        ("hooks", 0.0),
    ]
    assert made[1]["errors"] == [
        {"source": "ai_diary", "error": "StoreReadError", "message": "Table ai_diary cannot be read. Run migrate."}
    ]
    assert made[3]["errors"] == [{"source": "recon", "error": "ValueError", "message": "ValueError"}]
    assert report.failed_sources == ("ai_diary", "recon")


def test_g26_no_text_of_foreign_errors_is_in_the_report() -> None:
    report = Report()
    report.fail("search", "x", KeyError("the canary sang"))
    report.fail("search", "y", StoreReadError("z" * 5000))
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
def test_p60_after_reduction_found_is_what_was_there(seed: int) -> None:
    rng = random.Random(seed)
    prompt = prompt_of(rng)
    report = Report()
    for section, value in prompt["context"].items():
        report.keep(section, len(value) if isinstance(value, list) else 1)
    report.leave_out_all([LeftOut("memories", "visible", "77"), LeftOut("history_recent", "private", "78")])
    limit = rng.randint(1, 500)
    fitted = fit(prompt, limit_chars=limit)
    report.reduced(fitted, limit=limit, counter="words", count=lambda text: len(text.split()))
    made = report.as_dict()
    for section, value in prompt["context"].items():
        before = len(value) if isinstance(value, list) else 1
        other = {"memories": 1, "history_recent": 1}.get(section, 0)
        assert made["sections"][section]["found"] == before + other, section
    left = fitted.prompt.get("context", {})
    for section, numbers in made["sections"].items():
        value = left.get(section, [])
        assert numbers["kept"] == (len(value) if isinstance(value, list) else 1)
        assert numbers["chars"] == (len(json.dumps(value)) if section in left else 0)
        assert numbers["tokens"] == (len(json.dumps(value).split()) if section in left else None)
    assert (made["limit"], made["size"], made["over_limit"]) == (limit, fitted.size, fitted.over_limit)
    assert (made["limit_tokens"], made["tokens"], made["counter"]) == (None, None, "words")


def test_p60_a_prompt_that_fits_leaves_nothing_out() -> None:
    prompt = prompt_of(random.Random(1))
    fitted = fit(prompt)
    report = Report()
    report.reduced(fitted)
    made = report.as_dict()
    assert made["left_out"] == []
    assert made["limit"] is None
    assert made["size"] == fitted.size
