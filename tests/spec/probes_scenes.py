"""Probes of the flags of scenes and of the running recap."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from core import jobs, stories
from core.config import Settings
from core.prompt_engine import to_messages
from tests.spec.probes import Probe, probe, register
from tests.spec.stage import HERE, Stage
from tests.spec.story_stage import StoryStage

_number = 0


def _own(stage: Stage) -> StoryStage:
    """Return a persona of its own: the two values of a flag must not meet each other's rows."""
    global _number
    _number += 1
    return StoryStage(stage.db, f"{stage.persona}-{_number}")


def _detected(**flags: Any) -> Probe:
    """Return a probe that shows where pauses end scenes: after messages 14 and 29 of 40."""
    (name,) = flags

    def shown(stage: Stage, value: Any) -> object:
        own = _own(stage)
        for n, start in enumerate((90, 60, 30)):
            own.tell(15 if n < 2 else 10, start=timedelta(hours=start))
        jobs.enqueue_operation("SCENE_DETECTION", conversation=HERE, **own.given)
        own.run(**{name.lower(): value})
        return [each["last_index"] for each in stories.list_scenes(HERE, **own.given)]

    return shown


register("SCENE_MIN_LENGTH", 10, 20, _detected(SCENE_MIN_LENGTH=0))
register("SCENE_GAP_HOURS", 6, 100, _detected(SCENE_GAP_HOURS=0))


def _recapped(own: StoryStage, count: int = 3) -> list[int]:
    rows = own.tell(10 * count)
    for n in range(1, count + 1):
        stories.add_scene_break(rows[10 * n - 1], recap=False, **own.given)
        off = own.with_flags(running_scene_recap_auto_generate=False)
        stories.set_scene_recap(rows[10 * n - 1], f"Scene {n} of many.", **off)
    return rows


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
        settings = Settings(**{name.lower(): value})
        made = stories.get_running_recap_injection(HERE, **own.with_flags(**{name.lower(): value}))
        messages = to_messages(own.prompt(), settings=settings)
        return made, [message["content"][:20] for message in messages]

    return shown


register("SCENE_RECAP_POSITION", "in_chat", "before_prompt", _placed("SCENE_RECAP_POSITION"))
register("SCENE_RECAP_DEPTH", 2, 0, _placed("SCENE_RECAP_DEPTH"))
register("SCENE_RECAP_ROLE", "system", "user", _placed("SCENE_RECAP_ROLE"))
register("SCENE_RECAP_SCAN", 0, 1, _placed("SCENE_RECAP_SCAN"))
