"""Probes of the flags of conversations and of their Markdown files."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from core.config import Settings
from core.conversations import (
    add_recent_conversation,
    add_saved_memory,
    export_markdown,
    get_user_memory_prompt,
    list_recent_conversations,
    memory_tools,
)
from tests.spec.probes import probe
from tests.spec.stage import HERE, NOW, Stage


def _call(stage: Stage, **flags: Any) -> dict[str, Any]:
    return {"db": stage.db, "settings": Settings(**flags), "scope": stage.scope(HERE)}


def _talks(stage: Stage, most: int, **flags: Any) -> None:
    for n in range(most):
        given = [{"text": f"talk number {n}", "sender_id": "ann", "timestamp": NOW - timedelta(minutes=n)}]
        scope = stage.scope(f"tg/talk{n}")
        add_recent_conversation(given, wait=True, db=stage.db, settings=Settings(**flags), scope=scope)


@probe(1, 0)
def _enable_recent_conversations(stage: Stage, value: Any) -> object:
    return (
        add_recent_conversation(["hello"], wait=True, **_call(stage, enable_recent_conversations=bool(value))).reason
        == "disabled"
    )


@probe(12, 10)
def _max_recent_conversations(stage: Stage, value: Any) -> object:
    _talks(stage, 12, max_recent_conversations=value)
    return len(list_recent_conversations(**_call(stage, max_recent_conversations=value)))


@probe(1, 0)
def _enable_saved_memory(stage: Stage, value: Any) -> object:
    return add_saved_memory("I like quince", **_call(stage, enable_saved_memory=bool(value))).reason == "disabled"


@probe(6000, 20)
def _saved_chars(stage: Stage, value: Any) -> object:
    for n in range(3):
        add_saved_memory(f"saved number {n}", db=stage.db, settings=Settings(), scope=stage.scope(HERE))
    return len(stage.context("hello", SAVED_CHARS=value)["saved_memories"])


@probe((), ("weather",))
def _enabled_tool_ids(stage: Stage, value: Any) -> object:
    return len(memory_tools(**_call(stage, enabled_tool_ids=value)))


@probe("agent", "project")
def _memory_mode(stage: Stage, value: Any) -> object:
    add_saved_memory("I like quince", **_call(stage))
    return get_user_memory_prompt(**_call(stage, memory_mode=value)) is None


@probe("memory", "mine")
def _memory_folder_name(stage: Stage, value: Any) -> object:
    folder = stage.folder / value  # type: ignore[attr-defined]
    done = export_markdown(db=stage.db, settings=Settings(memory_folder_name=str(folder)), scope=stage.scope(HERE))
    return done.folder
