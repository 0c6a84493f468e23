"""The order of the context keys, the maximum numbers of items, and memories that a host passes in."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..shapes import SOURCES, Hit
from ..text.folding import clean
from ..text.hits import known_name
from ..text.host_values import all_items
from ..text.times import iso_text, parse_time

CURRENT, RECENT, MEMORIES = "history_current_chat", "history_recent", "memories"
INJECTED = "running_recap"
"""Key of the running recap. In chat messages, `injection` gives the position of the recap."""
CONTEXT_KEYS: tuple[tuple[str, str], ...] = (
    (CURRENT, "always"),
    (RECENT, "always"),
    ("thoughts", "always"),
    ("memory_gap", "filled"),
    (MEMORIES, "given"),
    ("upcoming", "filled"),
    ("tags_placeholder", "given"),
    ("ai_diary", "filled"),
    ("short_term", "filled"),
    ("recent_conversations", "filled"),
    ("standing_wishes", "filled"),
    ("saved_memories", "filled"),
    ("relationship", "filled"),
    ("message_recaps", "filled"),
    ("running_recap", "filled"),
)
"""The context keys in order, and when each is present.

always: even if it is empty or was not given. given: if its switch is on, even if empty. filled: only if
it has content. The host's keys come after all of these.
"""

OWN_KEYS = frozenset(name for name, _ in CONTEXT_KEYS)

LITE_HISTORY, LITE_MEMORIES, LITE_SAVED, LITE_RECENT = 3, 2, 10, 2
"""Maximum number of lines per list, memories, saved memories and recent conversations with PROMPT_LITE_MODE."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Maximum number of items of each kind in a prompt."""

    history: int
    """Maximum number of lines of history_current_chat."""
    recent: int
    """Maximum number of lines of history_recent."""
    memories: int


def is_empty(value: object) -> bool:
    """Return whether a section is empty: None or an empty text, list or dict. 0 and False are not empty."""
    return value is None or (isinstance(value, (str, list, dict, bytes, Collection)) and len(value) == 0)


def order_context(parts: Mapping[str, Any]) -> dict[str, Any]:
    ordered: dict[str, Any] = {}
    for name, when in CONTEXT_KEYS:
        value = parts.get(name)
        if when == "always" or (name in parts and (when == "given" or not is_empty(value))):
            ordered[name] = [] if value is None else value
    ordered.update((name, value) for name, value in parts.items() if name not in OWN_KEYS)
    return ordered


def read_hits(given: Any) -> tuple[list[Hit], int]:
    """Read the memories that a host passes in; return `(valid hits, number of invalid memories)`."""
    hits: list[Hit] = []
    is_one = isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable)
    items = [] if given is None else [given] if is_one else all_items(given, "memories")
    for item in items:
        text = item.get("snippet") if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping) or not isinstance(text, str):
            continue
        row, tags = item.get("id"), item.get("tags")
        hit: Hit = {
            "source": item["source"] if item.get("source") in SOURCES else "memories",
            "id": row if isinstance(row, int) and not isinstance(row, bool) else 0,
            "timestamp": iso_text(parse_time(item.get("timestamp"))),
            "snippet": clean(text),
            "tags": [clean(tag) for tag in tags if isinstance(tag, str)] if isinstance(tags, (list, tuple)) else [],
        }
        if isinstance(speaker := item.get("speaker"), str) and (name := known_name(clean(speaker))):
            hit["speaker"] = name
        hits.append(hit)
    return hits, len(items) - len(hits)
