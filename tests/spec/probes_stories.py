"""Probes of the flags of stories: message recaps, scenes, the running recap, hiding."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

from core import jobs, stories
from core.config import Settings
from core.prompt_engine import to_messages
from tests.spec.probes import Probe, probe, register
from tests.spec.stage import HERE, Stage, said
from tests.spec.story import Story

_numbers = itertools.count(1)


def _own(stage: Stage, **flags: Any) -> Story:
    """Return a persona of its own: the two values of a flag must not meet each other's rows."""
    return Story(stage.db, f"{stage.persona}-{next(_numbers)}", **flags)


def _told(stage: Stage, role: str | None = None) -> Story:
    """Return a conversation with three recaps of four words."""
    own = _own(stage)
    for n in range(3):
        (row,) = own.write(f"message {n} of the tale", role=role)
        own.set(row, "memory", f"so it went {n}")
    return own


# Message recaps


@probe(0, 1)
def _recap_on_message(stage: Stage, value: Any) -> object:
    own = _own(stage, recap_on_message=value)
    own.write("hello")
    return len(own.operations())


@probe(0, 1)
def _enable_message_recaps(stage: Stage, value: Any) -> object:
    own = _told(stage)
    own.refresh()
    return "message_recaps" in own.context("what", ENABLE_MESSAGE_RECAPS=value, CONTEXT_VERBOSITY=1)


def _included(name: str, role: str | None = None, **flags: Any) -> Probe:
    """Return a probe that shows which recaps are included."""
    return lambda stage, value: _told(stage, role).included(**{**flags, name: value})


register("INCLUDE_USER_MESSAGES", 1, 0, _included("INCLUDE_USER_MESSAGES"))
register("INCLUDE_SYSTEM_MESSAGES", 1, 0, _included("INCLUDE_SYSTEM_MESSAGES", "system"))
register("INCLUDE_NARRATOR_MESSAGES", 1, 0, _included("INCLUDE_NARRATOR_MESSAGES", "narrator"))
register("MESSAGE_LENGTH_THRESHOLD", 0, 6, _included("MESSAGE_LENGTH_THRESHOLD"))
register("MESSAGE_RECAP_CONTEXT_LIMIT", 8, 4, _included("MESSAGE_RECAP_CONTEXT_LIMIT"))
_OF_256 = _included("MESSAGE_RECAP_CONTEXT_TYPE", MESSAGE_RECAP_CONTEXT_LIMIT=10, CONTEXT_TOKENS=256)
register("MESSAGE_RECAP_CONTEXT_TYPE", "percent", "absolute", _OF_256)


@probe(8192, 300)
def _context_tokens(stage: Stage, value: Any) -> object:
    own = _told(stage)
    flags = {"MESSAGE_RECAP_CONTEXT_LIMIT": 2, "MESSAGE_RECAP_CONTEXT_TYPE": "percent", "CONTEXT_TOKENS": value}
    return own.included(**flags), own.call(stories.get_short_token_limit, **flags)


@probe(1, -1)
def _auto_hide_scene_count(stage: Stage, value: Any) -> object:
    own = _told(stage)
    own.set(own.messages[1], "scene_break", True)
    own.refresh(AUTO_HIDE_SCENE_COUNT=value)
    return said(own.context("what")["history_current_chat"])


# Scenes and the running recap


def _detected(name: str) -> Probe:
    """Return a probe that shows where pauses end scenes: after messages 14 and 29 of 40."""

    def shown(stage: Stage, value: Any) -> object:
        own = _own(stage)
        for n, start in enumerate((90, 60, 30)):
            own.tell(15 if n < 2 else 10, start=timedelta(hours=start))
        jobs.enqueue_operation("SCENE_DETECTION", conversation=HERE, **own.given)
        own.run(**{name: value})
        return [each["last_index"] for each in stories.list_scenes(HERE, **own.given)]

    return shown


register("SCENE_MIN_LENGTH", 10, 20, _detected("SCENE_MIN_LENGTH"))
register("SCENE_GAP_HOURS", 6, 100, _detected("SCENE_GAP_HOURS"))


@probe(1, 0)
def _running_scene_recap_auto_generate(stage: Stage, value: Any) -> object:
    own = _own(stage)
    stories.add_scene_break(own.tell(12)[10], **own.given)
    own.run(running_scene_recap_auto_generate=bool(value))
    return len(own.storage()["versions"])


@probe(15, 1)
def _running_recap_context_limit(stage: Stage, value: Any) -> object:
    own = _own(stage)
    own.add("\n".join(f"line {n} of a long story" for n in range(100)))
    return own.context(RUNNING_RECAP_CONTEXT_LIMIT=value)["running_recap"]


@probe(1, 0)
def _enable_running_recap(stage: Stage, value: Any) -> object:
    own = _own(stage)
    own.add("x")
    return "running_recap" in own.context(ENABLE_RUNNING_RECAP=value)


def _placed(name: str) -> Probe:
    """Return a probe that shows injection and messages of a prompt with a running recap."""

    def shown(stage: Stage, value: Any) -> object:
        own = _own(stage)
        own.tell(4)
        own.add("x")
        made = stories.get_running_recap_injection(HERE, **own.with_flags(**{name: value}))
        messages = to_messages(own.prompt(), settings=Settings(**{name.lower(): value}))
        return made, [message["content"][:20] for message in messages]

    return shown


register("SCENE_RECAP_POSITION", "in_chat", "before_prompt", _placed("SCENE_RECAP_POSITION"))
register("SCENE_RECAP_DEPTH", 2, 0, _placed("SCENE_RECAP_DEPTH"))
register("SCENE_RECAP_ROLE", "system", "user", _placed("SCENE_RECAP_ROLE"))
register("SCENE_RECAP_SCAN", 0, 1, _placed("SCENE_RECAP_SCAN"))
