"""The values that may be kept beside a message, and of which kind each is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ...base.hints import hint_name
from ...errors import MessageError
from ...search.rules_arguments import shown

Kind = Literal["text", "switch", "texts", "number", "object"]

KINDS: dict[str, Kind] = {
    "memory": "text",
    "include": "text",
    "prefill": "text",
    "reasoning": "text",
    "error": "text",
    "edited": "switch",
    "exclude": "switch",
    "scene_break": "switch",
    "scene_break_visible": "switch",
    "scene_break_name": "text",
    "scene_recap_memory": "text",
    "scene_recap_versions": "texts",
    "scene_recap_current_index": "number",
    "scene_recap_metadata": "object",
    "auto_scene_break_checked": "switch",
}
"""Key to kind, in the order in which `get_data` returns values."""

SCENE = frozenset(key for key in KINDS if key.startswith("scene_"))
"""Keys of the scene that ends with the message."""

IN_DATA = ("prefill", "reasoning", "error", "auto_scene_break_checked")
"""Keys kept in the JSON column of a recap; the others have columns."""

READABLE = (*KINDS, "stale", "provenance")
"""Keys that may be asked for; the last two are kept by the program alone."""

_WANTED = {
    "text": "a text or None",
    "switch": "True, False or None",
    "texts": "a list of texts or None",
    "number": "a whole number of at least 0, or None",
    "object": "an object (dict) or None",
}


def check_key(key: object, known: tuple[str, ...] = tuple(KINDS)) -> str:
    """Return the key, when it is one of those known."""
    if isinstance(key, str) and key in known:
        return key
    raise ValueError(
        f"{shown(key)} is no key of a message's data.{hint_name(key, known)} Known are {', '.join(known)}."
    )


def read_value(key: str, value: object) -> Any:
    """Return the value as it is kept; a switch that is off and None are the same: nothing is kept."""
    kind = KINDS[key]
    if value is None:
        return None
    if kind == "text" and isinstance(value, str):
        return value
    if kind == "switch" and isinstance(value, (bool, int)) and value in (0, 1):
        return True if value else None
    if kind == "texts" and isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return list(value)
    if kind == "number" and isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31:
        return value
    if kind == "object" and isinstance(value, Mapping):
        return dict(value)
    raise MessageError(f"{key} is of type {type(value).__name__}. It must be {_WANTED[kind]}.", fields=(key,))
