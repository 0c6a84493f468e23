"""What the hook `context` adds to a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..context.context import OWN_KEYS
from ..text.folding import clean
from ..text.host_values import as_text

DROPPED_KEYS = frozenset({"latest_diary_entries", "diary_entries", "diary", "chat_history", "current_chat_history"})
"""Keys that would repeat what the prompt holds in its own sections."""

PERSONA_KEY = "persona"

_SHOWN_CHARS = 64


def merge_host_context(context: Mapping[str, Any], given: Any) -> tuple[dict[str, Any], str, tuple[str, ...]]:
    """Return `(context, persona text, notes)`: the context with the host's keys after its own."""
    merged, persona, notes = dict(context), "", []
    if given is not None and not isinstance(given, Mapping):
        notes.append(f"hook context: {type(given).__name__} is no dict and is left out")
    for key, value in given.items() if isinstance(given, Mapping) else ():
        shown = (
            f"hook context: {clean(key)[:_SHOWN_CHARS]!r}"
            if isinstance(key, str)
            else "hook context: a key that is no text"
        )
        if key == PERSONA_KEY:
            text, note = as_text(value)
            persona = text or ""
            notes += [f"{shown} {note}"] if note else []
        elif key in DROPPED_KEYS:
            notes.append(f"{shown} repeats a section of the prompt and is left out")
        elif key in OWN_KEYS:
            notes.append(f"{shown} has the name of a section and is left out")
        elif key in merged:
            notes.append(f"{shown} is there already and is left out")
        elif not _is_empty(value):
            merged[key] = value
    return merged, persona, tuple(notes)


def _is_empty(value: Any) -> bool:
    """Return whether there is nothing in it; 0 and False are something."""
    return value is None or (isinstance(value, (str, bytes, Mapping, list, tuple, set, frozenset)) and not value)
