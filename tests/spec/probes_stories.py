"""Probes of the flags of message recaps and of hiding."""

from __future__ import annotations

from typing import Any

from core import stories
from tests.spec.probes import probe
from tests.spec.stage import Stage, said
from tests.spec.story import Story


def _told(stage: Stage, role: str | None = None) -> Story:
    """Return a conversation of the stage with three recaps of four words, made anew for each value of a flag."""
    made = Story(stage, f"tg/told{getattr(stage, 'told', 0)}")
    stage.told = getattr(stage, "told", 0) + 1  # type: ignore[attr-defined]
    for n in range(3):
        (row,) = made.say(f"message {n} of the tale", role=role)
        made.set(row, "memory", f"so it went {n}")
    return made


@probe(0, 1)
def _recap_on_message(stage: Stage, value: Any) -> object:
    made = Story(stage, "tg/queued", recap_on_message=value)
    before = len(made.operations())
    made.say(f"hello {value}")
    return len(made.operations()) > before


@probe(0, 1)
def _enable_message_recaps(stage: Stage, value: Any) -> object:
    made = _told(stage)
    made.refresh()
    return "message_recaps" in stage.context("what", path=made.path, ENABLE_MESSAGE_RECAPS=value, CONTEXT_VERBOSITY=1)


@probe(1, 0)
def _include_user_messages(stage: Stage, value: Any) -> object:
    return _told(stage).included(INCLUDE_USER_MESSAGES=value)


@probe(1, 0)
def _include_system_messages(stage: Stage, value: Any) -> object:
    return _told(stage, "system").included(INCLUDE_SYSTEM_MESSAGES=value)


@probe(1, 0)
def _include_narrator_messages(stage: Stage, value: Any) -> object:
    return _told(stage, "narrator").included(INCLUDE_NARRATOR_MESSAGES=value)


@probe(0, 6)
def _message_length_threshold(stage: Stage, value: Any) -> object:
    return _told(stage).included(MESSAGE_LENGTH_THRESHOLD=value)


@probe(8, 4)
def _message_recap_context_limit(stage: Stage, value: Any) -> object:
    return _told(stage).included(MESSAGE_RECAP_CONTEXT_LIMIT=value)


@probe("percent", "absolute")
def _message_recap_context_type(stage: Stage, value: Any) -> object:
    return _told(stage).included(MESSAGE_RECAP_CONTEXT_LIMIT=10, MESSAGE_RECAP_CONTEXT_TYPE=value, CONTEXT_TOKENS=256)


@probe(8192, 300)
def _context_tokens(stage: Stage, value: Any) -> object:
    made = _told(stage)
    flags = {"MESSAGE_RECAP_CONTEXT_LIMIT": 2, "MESSAGE_RECAP_CONTEXT_TYPE": "percent", "CONTEXT_TOKENS": value}
    return made.included(**flags), made.call(stories.get_short_token_limit, **flags)


@probe(1, -1)
def _auto_hide_scene_count(stage: Stage, value: Any) -> object:
    made = _told(stage)
    made.set(made.messages[1], "scene_break", True)
    made.refresh(AUTO_HIDE_SCENE_COUNT=value)
    return said(stage.context("what", path=made.path)["history_current_chat"])
