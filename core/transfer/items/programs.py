"""Items as other programs export them, in the words of `rows`."""

from __future__ import annotations

import json
from typing import Any

from .rows import Row, uid_of

_READ_OF_MEM0 = frozenset({"memory", "created_at", "categories", "expiration_date", "metadata"})


def is_mem0(entry: Any) -> bool:
    """Return whether a value is a memory of mem0."""
    return isinstance(entry, dict) and "memory" in entry and "text" not in entry


def read_mem0(number: int, entry: dict[str, Any]) -> Row:
    """Return the row of a memory: its categories are tags, whose it is and all else is kept in the metadata."""
    made: dict[str, Any] = {"text": entry["memory"]}
    if isinstance(entry.get("categories"), list):
        made["tags"] = [tag for tag in entry["categories"] if isinstance(tag, str)]
    times = {"timestamp": entry.get("created_at"), "expires_at": entry.get("expiration_date")}
    made |= {name: value for name, value in times.items() if value is not None}
    told = entry.get("metadata")
    kept = dict(told) if isinstance(told, dict) else {} if told is None else {"metadata": told}
    for name, value in entry.items():
        if name not in _READ_OF_MEM0 and value is not None:
            kept.setdefault(name, value)
    if kept:
        made["metadata"] = kept
    return Row(number, uid_of(entry.get("id")), made)


def refuse_relation(number: int) -> Row:
    """Return the row of a relation between two names, which is no memory."""
    return Row(number, None, None, "a relation, which is no memory")


# The application of seed 003

_VTUBER_KINDS = {
    "user": "FactsAboutUser",
    "self": "SelfBeliefs",
    "thirdparty": "KeyFacts",
    "sessionevent": "PastEvents",
    "objectivetemp": "Objectives",
}
"""Kinds of its versions that are not ours."""
_SESSION = frozenset({"sessionevent", "objectivetemp"})
_LIFTED = ("kind", "importance", "tags", "timestamp", "is_session")


def is_vtuber(entry: Any) -> bool:
    """Return whether a value is an item of that application."""
    if not isinstance(entry, dict) or "tier" in entry or not isinstance(entry.get("metadata"), dict):
        return False
    told = entry["metadata"].keys()
    return "text" in entry and bool(told & {"conf_uid", "history_uid", "is_session"} or {"kind"} & told - entry.keys())


def is_wrapped_vtuber(value: Any, format_name: Any) -> bool:
    """Return whether a document's `data` is its YAML."""
    return isinstance(value, str) and format_name == "yaml"


def read_vtuber(number: int, entry: dict[str, Any]) -> Row:
    """Return the row of an item."""
    told = entry["metadata"]
    made = {name: value for name, value in entry.items() if name not in ("metadata", "id", "score")}
    for name in ("kind", "importance", "timestamp"):
        if made.get(name) is None and told.get(name) is not None:
            made[name] = told[name]
    kind = made.get("kind")
    form = "".join(char for char in kind.lower() if char.isalnum()) if isinstance(kind, str) else ""
    if told.get("is_session") is True or form in _SESSION:
        made["tier"] = "session"
    made["kind"] = _VTUBER_KINDS.get(form, kind)
    if not made.get("timestamp"):
        made.pop("timestamp", None)
    made["tags"] = _read_tags(made.get("tags", told.get("tags")))
    kept = {name: value for name, value in told.items() if name not in _LIFTED}
    if kept:
        made["metadata"] = kept
    return Row(number, uid_of(entry.get("id")), made)


def _read_tags(value: Any) -> Any:
    """Return the tags, which its store keeps as JSON or with commas where it can keep no list."""
    if not isinstance(value, str):
        return value or []
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, list):
        return [tag for tag in found if isinstance(tag, str)]
    return [tag.strip() for tag in value.split(",") if tag.strip()]


# The application of seed 004

OTHER_TABLES = frozenset({
    "ai_diary", "chat_history_cache", "tags", "tag_aliases", "tag_links", "archived_memories", "config", "recent_chats",
})  # fmt: skip
"""Tables that hold no memory items."""
_UNUSED_COLUMNS = frozenset({"id", "content_hash", "text_folded", "audience_id", "persona_id"})


def is_synth(entry: Any) -> bool:
    """Return whether a value is a row of the table `memories`."""
    return isinstance(entry, dict) and "content" in entry and bool(entry.keys() & {"author", "scope", "emotion_state"})


def read_synth(number: int, entry: dict[str, Any]) -> Row:
    """Return the row of a memory."""
    told = uid_of(entry.get("id"))
    if entry.get("archived_at") or entry.get("superseded_by"):
        return Row(number, told, None, "archived")
    left = {name: value for name, value in entry.items() if name not in _UNUSED_COLUMNS and value is not None}
    return Row(number, told, {"text" if name == "content" else name: value for name, value in left.items()})


def refuse_other_table(number: int, table: str, entry: Any) -> Row:
    """Return the row of another table, which is not taken."""
    why = f"a row of {table}, which is no memory: `prompt-engine import --from URL` reads the whole database"
    return Row(number, uid_of(entry.get("id")) if isinstance(entry, dict) else None, None, why)
