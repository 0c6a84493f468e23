"""A message put into a body (R15): every other byte stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.api.proxy import rules_answer, rules_splice

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.lists(VALUES, min_size=1, max_size=5), st.dictionaries(st.text(max_size=5), VALUES), st.data())
def test_r15_a_message_is_put_in_and_nothing_else_changes(messages: list[Any], more: dict[str, Any], data: Any) -> None:
    indent = data.draw(st.sampled_from([None, 1]))
    text = json.dumps({**more, "messages": messages}, ensure_ascii=data.draw(st.booleans()), indent=indent)
    at = data.draw(st.integers(0, len(messages) - 1))
    found = rules_splice.find_members(text)["messages"]
    assert found.value == messages and json.loads(text[found.start : found.end]) == messages
    made = rules_splice.insert_message(text, found.start, at, {"role": "user", "content": "x"})
    put_in = '{"role":"user","content":"x"},'
    assert made.replace(put_in, "", 1) == text or put_in in text
    wanted = [*messages[:at], {"role": "user", "content": "x"}, *messages[at:]]
    assert json.loads(made)["messages"] == wanted


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"a"}', '{"a":1,}', '{"a":1}x', '{"a":1 "b":2}', "{a:1}", '"x"', "nul"]
)
def test_r15_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        rules_splice.find_members(text)


def test_r15_an_answer_is_read_however_it_is_cut() -> None:
    events = b"".join(
        b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\r\n\r\n"
        for text in ("Grü", "ße, ", "🍰")
    )
    whole = b": hello\r\n\r\n" + events + b"data: [DONE]\r\n\r\n"
    for size in (1, 2, 3, 7, 1000):
        reader = rules_answer.AnswerReader("text/event-stream; charset=utf-8")
        for start in range(0, len(whole), size):
            reader.feed(whole[start : start + size])
        assert reader.text() == "Grüße, 🍰", size
    cut = rules_answer.AnswerReader("text/event-stream")
    cut.feed(events)
    assert cut.text() is None


@pytest.mark.parametrize("content", [b"", b"[]", b'{"error": {}}', b'{"choices": []}', b'{"choices": [7]}', b"\xff"])
def test_r15_what_is_no_answer_is_none(content: bytes) -> None:
    for kind in ("application/json", "text/event-stream"):
        reader = rules_answer.AnswerReader(kind)
        reader.feed(content)
        assert reader.text() is None
