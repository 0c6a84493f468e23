"""S39, S42: the running recap at its place among the messages of a prompt, once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core import prompt_engine
from core.config import Settings
from core.prompt.messages import to_messages

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


@pytest.mark.parametrize(
    ("position", "depth", "order"),
    [
        ("in_chat", 2, "system saved_memories h1 h2 other R h3 thoughts input"),
        ("in_chat", 1, "system saved_memories h1 h2 h3 other R thoughts input"),
        ("in_chat", 0, "system saved_memories h1 h2 h3 other thoughts input R"),
        ("in_chat", 99, "system saved_memories R h1 h2 h3 other thoughts input"),
        ("before_prompt", 0, "system R saved_memories h1 h2 h3 other thoughts input"),
        ("in_prompt", 0, "system saved_memories R h1 h2 h3 other thoughts input"),
        ("after_prompt", 5, "system saved_memories h1 h2 h3 other thoughts R input"),
    ],
)
def test_s39_s42_the_depth_says_how_many_lines_of_the_chat_come_after(position: str, depth: int, order: str) -> None:
    given = prompt(saved_memories=["s"], thoughts=["t"], history_recent=["other line"])
    made = to_messages(given, injection={"position": position, "depth": depth, "role": "user"})
    assert shown(made).replace("history_recent", "other") == order
    assert json.dumps(made).count("running_recap") == 1
    anthropic: Any = to_messages(given, "anthropic", injection={"position": position, "depth": depth, "role": "user"})
    texts = [block["text"] for block in anthropic["messages"][0]["content"]]
    assert texts == [message["content"] for message in made if message["content"] != "i"]
    assert json.dumps(anthropic).count("running_recap") == 1


def test_s42_without_history_it_stands_before_the_new_message() -> None:
    made = to_messages(prompt([]), injection={"position": "in_chat", "depth": 2})
    assert shown(made) == "system R input"


def test_s42_without_a_recap_nothing_changes() -> None:
    given = prompt()
    del given["context"]["running_recap"]
    assert to_messages(given, injection={"position": "before_prompt"}) == to_messages(given)


def test_s42_the_role_is_the_one_handed_in() -> None:
    for role in ("system", "user", "assistant"):
        made = to_messages(prompt(), injection={"position": "in_chat", "depth": 2, "role": role})
        assert [each["role"] for each in made] == ["system", "user", role, "user", "user"]
    with pytest.raises(ValueError, match="role is 'bot'"):
        to_messages(prompt(), injection={"role": "bot"})
    with pytest.raises(ValueError, match="before_prompt"):
        to_messages(prompt(), injection={"position": "middle"})


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
@pytest.mark.parametrize("style", ["data", "chat"])
@pytest.mark.parametrize("position", ["before_prompt", "in_prompt", "in_chat", "after_prompt"])
def test_p71_the_system_message_is_always_the_first(position: str, style: str, role: str) -> None:
    """A server refuses a list in which any other message stands before it."""
    made = to_messages(prompt(), style=style, injection={"position": position, "role": role})
    assert made[0]["role"] == "system"
    assert json.dumps(made).count("running_recap") == 1


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
