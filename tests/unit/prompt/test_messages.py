"""P61 to P63: a prompt as messages; the roles follow from the sections, never from a text."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from core.prompt.messages import Messages, to_messages


def full(text: str = "tofu", turn: int = 0) -> dict[str, Any]:
    return {
        "context": {
            "history_current_chat": [f'[2026-03-10 12:00] Ann: "{text} {turn}"'],
            "history_recent": [text],
            "thoughts": [text],
            "memories": [{"source": "memories", "id": 1, "timestamp": "", "snippet": text, "tags": [text]}],
            "tags_placeholder": [],
            "ai_diary": [text],
            "short_term": [{"channel": text, "age": "1 h", "summary": text}],
            "recent_conversations": [{"title": text, "time": "", "summary": text}],
            "saved_memories": [text],
            "relationship": {"affinity": 0, "trust": 0, "interactions": turn},
            "message_recaps": text,
            "running_recap": text,
            "weather": text,
        },
        "input": {"type": "message", "payload": {"text": text, "timestamp": str(turn)}},
        "instructions": "You are Iris.\nAnswer in JSON.",
        "__pre_reduction_size": 500 + turn,
        "actions": {"message": {"brief": "b"}},
    }


def test_p61_the_parts_stand_in_their_order() -> None:
    messages = to_messages(full())
    assert isinstance(messages, Messages)
    assert [message["role"] for message in messages] == ["system", "user", "user", "user", "user"]
    assert messages[0]["content"] == ('You are Iris.\nAnswer in JSON.\n\n{"actions": {"message": {"brief": "b"}}}')
    parts = [list(json.loads(message["content"])) for message in messages[1:]]
    assert parts == [
        ["recent_conversations", "saved_memories", "running_recap", "weather"],
        ["history_current_chat", "history_recent"],
        [*("thoughts", "memories", "ai_diary", "short_term"), *("relationship", "message_recaps")],
        ["input"],
    ]
    assert messages.breakpoints == (0, 1)
    assert json.loads(json.dumps(messages)) == list(messages)


def test_p61_the_values_are_the_prompts_own() -> None:
    prompt = full()
    before = deepcopy(prompt)
    messages = to_messages(prompt)
    seen: dict[str, Any] = {}
    for message in messages[1:]:
        seen |= json.loads(message["content"])
    assert seen.pop("input") == prompt["input"]
    assert seen == {key: value for key, value in prompt["context"].items() if key != "tags_placeholder"}
    assert prompt == before


def test_p61_one_user_message_for_each_part_that_is_not_empty() -> None:
    bare: dict[str, Any] = {
        "context": {
            "history_current_chat": [],
            "history_recent": [],
            "thoughts": [],
            "memories": [],
            "tags_placeholder": [],
        },
        "input": {"payload": {"text": "hi"}},
        "instructions": "i",
        "__pre_reduction_size": None,
        "actions": {},
    }
    assert to_messages(bare) == [
        {"role": "system", "content": "i"},
        {"role": "user", "content": '{"input": {"payload": {"text": "hi"}}}'},
    ]
    assert to_messages(bare).breakpoints == (0,)
    with_history = deepcopy(bare)
    with_history["context"]["history_recent"] = ["a"]
    assert len(to_messages(with_history)) == 3
    reduced = {key: value for key, value in bare.items() if key != "context"}
    assert to_messages(reduced) == to_messages(bare)
    assert [message["role"] for message in to_messages({})] == ["system"]


def test_p62_anthropic_blocks_and_marks() -> None:
    made = to_messages(full(), "anthropic")
    assert list(made) == ["system", "messages"]
    assert [block["text"] for block in made["system"]] == [
        "You are Iris.\nAnswer in JSON.",
        '{"actions": {"message": {"brief": "b"}}}',
    ]
    (message,) = made["messages"]
    assert message["role"] == "user"
    assert {block["type"] for block in message["content"]} == {"text"}
    openai = to_messages(full())
    assert [block["text"] for block in message["content"]] == [part["content"] for part in openai[1:]]
    blocks = [*made["system"], *message["content"]]
    marks = [block["cache_control"] for block in blocks if "cache_control" in block]
    assert marks == [{"type": "ephemeral"}] * len(marks)
    assert 0 < len(marks) <= 4
    assert "cache_control" not in blocks[-1]
    assert "cache_control" not in message["content"][1]
    assert all(block["text"] for block in blocks)


@pytest.mark.parametrize("dialect", ["", "OpenAI", "gemini", None, 3])
def test_p62_an_unknown_dialect_is_refused_naming_them(dialect: Any) -> None:
    with pytest.raises(ValueError, match="'openai', 'alternating' or 'anthropic'"):
        to_messages(full(), dialect)
