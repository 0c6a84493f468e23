"""P61 to P63, S38 to S42: a prompt as messages, the running recap at its place among them, numbers for hosts."""

import json
from typing import Any

import pytest

from core import prompt_engine
from core.config import Settings
from core.context.context import order_context
from core.context.injection import KEY, check_depth, from_number, to_number, to_numbers
from core.prompt.messages import Messages, to_messages

CONTEXT: dict[str, Any] = order_context({
    "history_current_chat": ['[2026-03-10 12:00] Ann: "tofu 0"'], "tags_placeholder": [],
    "memories": [{"source": "memories", "id": 1, "timestamp": "", "snippet": "tofu", "tags": ["tofu"]}],
    "short_term": [{"channel": "tofu", "age": "1 h", "summary": "tofu"}],
    "recent_conversations": [{"title": "tofu", "time": "", "summary": "tofu"}],
    "relationship": {"affinity": 0, "trust": 0, "interactions": 0},
    **{name: ["tofu"] for name in ("history_recent", "thoughts", "ai_diary", "saved_memories")},
    **dict.fromkeys(("message_recaps", "running_recap", "weather"), "tofu"),
})  # fmt: skip
FULL = {"context": CONTEXT, "input": {"type": "message", "payload": {"text": "tofu", "timestamp": "0"}},
        "instructions": "You are Iris.\nAnswer in JSON.", "__pre_reduction_size": 500,
        "actions": {"message": {"brief": "b"}}}  # fmt: skip


def test_p61_the_parts_stand_in_their_order() -> None:
    messages = to_messages(FULL)
    assert [message["role"] for message in messages] == ["system", "user", "user", "user", "user"]
    assert messages[0]["content"] == 'You are Iris.\nAnswer in JSON.\n\n{"actions": {"message": {"brief": "b"}}}'
    assert [" ".join(json.loads(message["content"])) for message in messages[1:]] == [
        "recent_conversations saved_memories running_recap weather", "history_current_chat history_recent",
        "thoughts memories ai_diary short_term relationship message_recaps", "input",
    ]  # fmt: skip
    assert isinstance(messages, Messages) and messages.breakpoints == (0, 1)
    assert json.loads(json.dumps(messages)) == list(messages)


def test_p61_one_user_message_for_each_part_that_is_not_empty() -> None:
    empty: dict[str, Any] = {"history_current_chat": [], "history_recent": [], "memories": [], "tags_placeholder": []}
    reduced: dict[str, Any] = {"input": {"payload": {"text": "hi"}}, "instructions": "i", "actions": {}}
    bare, given = {"context": empty, **reduced}, '{"input": {"payload": {"text": "hi"}}}'
    assert to_messages(bare) == [{"role": "system", "content": "i"}, {"role": "user", "content": given}]
    assert to_messages(bare).breakpoints == (0,)
    assert len(to_messages({**bare, "context": {**empty, "history_recent": ["a"]}})) == 3
    assert to_messages(reduced) == to_messages(bare) and [message["role"] for message in to_messages({})] == ["system"]


def test_p62_anthropic_blocks_and_marks_and_no_unknown_dialect() -> None:
    made = to_messages(FULL, "anthropic")
    assert list(made) == ["system", "messages"]
    texts = [block["text"] for block in made["system"]]
    assert texts == ["You are Iris.\nAnswer in JSON.", '{"actions": {"message": {"brief": "b"}}}']
    (message,) = made["messages"]
    blocks = [*made["system"], *message["content"]]
    assert message["role"] == "user" and {block["type"] for block in message["content"]} == {"text"}
    assert [block["text"] for block in message["content"]] == [part["content"] for part in to_messages(FULL)[1:]]
    marks = [block["cache_control"] for block in blocks if "cache_control" in block]
    assert marks == [{"type": "ephemeral"}] * len(marks) and 0 < len(marks) <= 4
    assert "cache_control" not in blocks[-1] and "cache_control" not in message["content"][1]
    assert all(block["text"] for block in blocks)
    for dialect in ("", "OpenAI", "gemini", None, 3):
        with pytest.raises(ValueError, match="'openai', 'alternating' or 'anthropic'"):
            to_messages(FULL, dialect)  # type: ignore[call-overload]


# The running recap at its place, once

LINES = ["h1", "h2", "h3"]


def prompt(lines: list[str] | None = None, **context: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"history_current_chat": LINES if lines is None else lines, "running_recap": "R", **context}
    return {"context": given, "input": {"payload": {"text": "u"}}, "instructions": "i", "actions": {}}


def shown(made: list[dict[str, Any]]) -> str:
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
    assert shown(made).replace("history_recent", "other") == order and json.dumps(made).count("running_recap") == 1
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
    assert made[0]["role"] == "system" and role in {each["role"] for each in made}
    assert json.dumps(made).count("running_recap") == 1


def test_s42_breakpoints_name_the_stable_messages_and_the_door_takes_the_settings() -> None:
    given = prompt(saved_memories=["s"])
    for position, points in (("in_chat", (0, 1)), ("before_prompt", (0, 2)), ("in_prompt", (0, 1))):
        made = to_messages(given, injection={"position": position, "depth": 1})
        assert made.breakpoints == points
        assert made[points[0]]["content"] == "i" and "saved_memories" in made[points[1]]["content"]
    # a message that also holds the input is no prefix to cache
    assert to_messages(FULL, "alternating").breakpoints == (0,)
    given = prompt()
    assert shown(prompt_engine.to_messages(given, settings=Settings())) == "system h1 h2 R h3 input"
    assert shown(prompt_engine.to_messages(given, settings=Settings(scene_recap_depth=3))) == "system h1 R h2 h3 input"
    last = Settings(scene_recap_position="after_prompt", scene_recap_role="assistant")
    assert shown(prompt_engine.to_messages(given, settings=last)) == "system h1 h2 h3 R input"
    by_hand = prompt_engine.to_messages(given, injection={"position": "in_prompt", "depth": 2, "role": "assistant"})
    assert [each["role"] for each in by_hand] == ["system", "assistant", "user", "user"]


def test_s38_s40_numbers_of_positions_and_roles() -> None:
    assert [to_number(name) for name in ("in_prompt", "in_chat", "before_prompt", None)] == [0, 1, 2, -1]
    assert from_number(2, "seed") == "after_prompt"
    assert [from_number(n) for n in (0, 1, 2, -1)] == ["in_prompt", "in_chat", "before_prompt", None]
    assert [from_number(n, "seed") for n in (0, 1, -1)] == ["in_prompt", "in_chat", None]
    for refused, wrong, said in ((from_number, (3,), "-1, 0, 1 or 2"), (from_number, (-2,), "-1, 0, 1 or 2"),
                                 (from_number, (2, "other"), "'host' or 'seed'"), (to_number, ("middle",), "middle"),
                                 (check_depth, (-1,), "at least 0")):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            refused(*wrong)  # type: ignore[operator]
    # roles have numbers too, and `after_prompt` becomes 1 with depth 1
    made = {"key": KEY, "value": "x", "position": "after_prompt", "depth": 7, "scan": True, "role": "assistant"}
    assert to_numbers(made) == {"key": KEY, "value": "x", "position": 1, "depth": 1, "scan": True, "role": 2}
    assert [to_numbers({**made, "role": role})["role"] for role in ("system", "user")] == [0, 1]
    assert made["position"] == "after_prompt" and to_numbers({**made, "position": "in_chat"})["depth"] == 7
    assert to_numbers({**made, "value": ""})["position"] == -1
