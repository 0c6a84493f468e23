"""P60: the account of one call; what was found is what was kept and what was left out."""

from __future__ import annotations

import json

from core.errors import StoreReadError
from core.prompt.call import MAX_MESSAGE_CHARS, Report

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
