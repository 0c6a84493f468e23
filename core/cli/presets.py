"""What kinds of hosts turn on: flags for a config.yaml, and what else must run beside the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..config import FLAGS
from ..config.docs import write_yaml_value


class Preset(NamedTuple):
    """Flags of a kind of host."""

    about: str
    flags: Mapping[str, object]
    needs: tuple[str, ...]
    """What else must run or be set."""


_WORKER = "A worker for summaries and recaps: prompt-engine worker --schedule"
_MODEL = "A model: LLM_BASE_URL, LLM_MODEL, and LLM_API_KEY as a variable; without one texts are made of what was said."

PRESETS: Mapping[str, Preset] = {
    "bot": Preset(
        "a bot in communities: several channels, several people",
        {"UNIFIED_HISTORY": False, "RECORD_WISHES": True, "ENABLE_SHORT_TERM": True, "PRIVATE_STAYS_PRIVATE": True},
        (_MODEL, _WORKER, "Pass the server and whether a channel is private with each message."),
    ),
    "role-play": Preset(
        "long stories with few people",
        {
            "UNIFIED_HISTORY": False, "ENABLE_RUNNING_RECAP": True, "AUTO_HIDE_SCENE_COUNT": 2,
            "ENABLE_SHORT_TERM": False, "RECORD_WISHES": False,
        },
        (_MODEL, "A worker for recaps of scenes: prompt-engine worker"),
    ),
    "companion": Preset(
        "one person who talks to one persona for years",
        {"UNIFIED_HISTORY": True, "ENABLE_SAVED_MEMORY": True, "RECORD_WISHES": True, "ENABLE_RELATIONSHIP": True,
         "ENABLE_RECENT_CONVERSATIONS": True, "MEMORY_ITEMS": 15, "SNIPPET_CHARS": 800},
        (_MODEL, _WORKER, "Room, where answers are long: MAX_PROMPT_CHARS of 16000 or more, or none."),
    ),
    "vtuber": Preset(
        "a streamer: what is old or matters little is pruned by itself",
        {
            "PRUNE_MAX_AGE_DAYS": 30, "PRUNE_MODE": "any", "PRUNE_BY_ITSELF": True, "ENABLE_RELATIONSHIP": True,
        },
        (_MODEL, _WORKER, "Call prompt_engine.lifelong.on_stream_end when a stream ends."),
    ),
    "notes": Preset(
        "notes to be searched, no conversation around them",
        {
            "ENABLE_SHORT_TERM": False, "ENABLE_RELATIONSHIP": False, "RECORD_WISHES": False, "ENABLE_AI_DIARY": False,
            "ENABLE_RUNNING_RECAP": False,
        },
        ("Nothing else: prompt-engine remember stores, prompt-engine search finds.",),
    ),
}  # fmt: skip


def preset_yaml(name: str, chosen: Preset) -> str:
    """Return a config.yaml with the flags of a preset, each with what it does."""
    lines = [f"# Preset {name}: {chosen.about}.", *(f"# Needed beside: {need}" for need in chosen.needs)]
    for flag, value in chosen.flags.items():
        lines += ["", f"# {FLAGS[flag].help}", f"{flag}: {write_yaml_value(value)}"]
    return "\n".join(lines) + "\n"
