"""P61 to P63, S38 to S42: a prompt as messages, the running recap at its place among them, numbers for hosts."""

import json
from copy import deepcopy
from typing import Any

import pytest

from core import prompt_engine
from core.config import Settings
from core.context.injection import KEY, check_depth, from_number, to_number, to_numbers
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


def test_p61_one_user_message_for_each_part_that_is_not_empty() -> None:
    bare: dict[str, Any] = {
        "context": {"history_current_chat": [], "history_recent": [], "memories": [], "tags_placeholder": []},
        "input": {"payload": {"text": "hi"}},
        "instructions": "i",
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
    texts = [block["text"] for block in made["system"]]
    assert texts == ["You are Iris.\nAnswer in JSON.", '{"actions": {"message": {"brief": "b"}}}']
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


# The running recap at its place, once

LINES = ["h1", "h2", "h3"]


def prompt(lines: list[str] | None = None, **context: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"history_current_chat": LINES if lines is None else lines, "running_recap": "R", **context}
    return {"context": given, "input": {"payload": {"text": "u"}}, "instructions": "i", "actions": {}}


def shown(made: list[dict[str, Any]]) -> str:
    """Return what stands where: lines of the history, R, and the names of other parts."""
    found: list[str] = []
    for message in made:
        if message["content"] == "i":
            found.append("system")
            continue
        for key, value in json.loads(message["content"]).items():
            found += value if key == "history_current_chat" else [value if key == "running_recap" else key]
    return " ".join(found)


@pytest.mark.parametrize(("position", "depth", "order"), [
    ("in_chat", 2, "system saved_memories h1 h2 other R h3 thoughts input"),
    ("in_chat", 1, "system saved_memories h1 h2 h3 other R thoughts input"),
    ("in_chat", 0, "system saved_memories h1 h2 h3 other thoughts input R"),
    ("in_chat", 99, "system saved_memories R h1 h2 h3 other thoughts input"),
    ("before_prompt", 0, "system R saved_memories h1 h2 h3 other thoughts input"),
    ("in_prompt", 0, "system saved_memories R h1 h2 h3 other thoughts input"),
    ("after_prompt", 5, "system saved_memories h1 h2 h3 other thoughts R input"),
])  # fmt: skip
def test_s39_s42_the_depth_says_how_many_lines_of_the_chat_come_after(position: str, depth: int, order: str) -> None:
    given = prompt(saved_memories=["s"], thoughts=["t"], history_recent=["other line"])
    made = to_messages(given, injection={"position": position, "depth": depth, "role": "user"})
    assert shown(made).replace("history_recent", "other") == order
    assert json.dumps(made).count("running_recap") == 1
    anthropic: Any = to_messages(given, "anthropic", injection={"position": position, "depth": depth, "role": "user"})
    texts = [block["text"] for block in anthropic["messages"][0]["content"]]
    assert texts == [message["content"] for message in made if message["content"] != "i"]
    assert json.dumps(anthropic).count("running_recap") == 1


def test_s42_the_role_is_the_one_handed_in_and_the_place_before_the_message_where_no_history_is() -> None:
    for role in ("system", "user", "assistant"):
        made = to_messages(prompt(), injection={"position": "in_chat", "depth": 2, "role": role})
        assert [each["role"] for each in made] == ["system", "user", role, "user", "user"]
    assert shown(to_messages(prompt([]), injection={"position": "in_chat", "depth": 2})) == "system R input"
    with pytest.raises(ValueError, match="role is 'bot'"):
        to_messages(prompt(), injection={"role": "bot"})
    with pytest.raises(ValueError, match="before_prompt"):
        to_messages(prompt(), injection={"position": "middle"})


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
@pytest.mark.parametrize("position", ["before_prompt", "in_prompt", "in_chat", "after_prompt"])
def test_p71_the_system_message_is_always_the_first(position: str, role: str) -> None:
    made = to_messages(prompt(), injection={"position": position, "role": role})
    assert made[0]["role"] == "system"
    assert json.dumps(made).count("running_recap") == 1
    assert role in {each["role"] for each in made}


def test_s42_breakpoints_name_the_stable_messages() -> None:
    given = prompt(saved_memories=["s"])
    for position, points in (("in_chat", (0, 1)), ("before_prompt", (0, 2)), ("in_prompt", (0, 1))):
        made = to_messages(given, injection={"position": position, "depth": 1})
        assert made.breakpoints == points
        assert made[points[0]]["content"] == "i"
        assert "saved_memories" in made[points[1]]["content"]


def test_s42_the_door_takes_the_settings() -> None:
    given = prompt()
    assert shown(prompt_engine.to_messages(given, settings=Settings())) == "system h1 h2 R h3 input"
    assert shown(prompt_engine.to_messages(given, settings=Settings(scene_recap_depth=3))) == "system h1 R h2 h3 input"
    last = Settings(scene_recap_position="after_prompt", scene_recap_role="assistant")
    assert shown(prompt_engine.to_messages(given, settings=last)) == "system h1 h2 h3 R input"
    by_hand = prompt_engine.to_messages(given, injection={"position": "in_prompt", "depth": 2, "role": "assistant"})
    assert [each["role"] for each in by_hand] == ["system", "assistant", "user", "user"]


def test_a_message_that_also_holds_the_input_is_no_prefix_to_cache() -> None:
    assert to_messages(full(), "alternating").breakpoints == (0,)


def test_s38_s40_numbers_of_positions() -> None:
    assert [to_number(name) for name in ("in_prompt", "in_chat", "before_prompt", None)] == [0, 1, 2, -1]
    assert from_number(2, "seed") == "after_prompt"
    assert [from_number(n) for n in (0, 1, 2, -1)] == ["in_prompt", "in_chat", "before_prompt", None]
    assert [from_number(n, "seed") for n in (0, 1, -1)] == ["in_prompt", "in_chat", None]
    for wrong in (3, -2):
        with pytest.raises(ValueError, match="-1, 0, 1 or 2"):
            from_number(wrong)
    with pytest.raises(ValueError, match="'host' or 'seed'"):
        from_number(2, "other")
    with pytest.raises(ValueError, match="middle"):
        to_number("middle")
    with pytest.raises(ValueError, match="at least 0"):
        check_depth(-1)


def test_s40_roles_have_numbers_and_after_prompt_becomes_1_with_depth_1() -> None:
    made = {"key": KEY, "value": "x", "position": "after_prompt", "depth": 7, "scan": True, "role": "assistant"}
    assert to_numbers(made) == {"key": KEY, "value": "x", "position": 1, "depth": 1, "scan": True, "role": 2}
    assert [to_numbers({**made, "role": role})["role"] for role in ("system", "user")] == [0, 1]
    assert made["position"] == "after_prompt"
    assert to_numbers({**made, "position": "in_chat"})["depth"] == 7
    assert to_numbers({**made, "value": ""})["position"] == -1
