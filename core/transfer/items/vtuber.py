"""Exports of the application of seed 003, an Open-LLM-VTuber with a memory: {items: [{id, text, metadata}]}.

Kind, importance, tags and time stand in the metadata of an item. Its YAML comes inside JSON: {format: yaml, data: ...}.
"""

from __future__ import annotations

import json
from typing import Any

from .rows import Row, uid_of

_KINDS = {
    "user": "FactsAboutUser",
    "self": "SelfBeliefs",
    "thirdparty": "KeyFacts",
    "sessionevent": "PastEvents",
    "objectivetemp": "Objectives",
}
"""Kinds of its versions that are not ours."""
_SESSION = frozenset({"sessionevent", "objectivetemp"})
_LIFTED = ("kind", "importance", "tags", "timestamp", "is_session")


def fits(entry: Any) -> bool:
    """Return whether a value is an item of that application.

    >>> fits({"text": "a", "metadata": {"kind": "chat", "conf_uid": "x"}}), fits({"text": "a", "tier": "session"})
    (True, False)
    """
    if not isinstance(entry, dict) or "tier" in entry or not isinstance(entry.get("metadata"), dict):
        return False
    told = entry["metadata"].keys()
    return "text" in entry and bool(told & {"conf_uid", "history_uid", "is_session"} or {"kind"} & told - entry.keys())


def is_wrapped(value: Any, format_name: Any) -> bool:
    """Return whether a document's `data` is its YAML.

    >>> is_wrapped("items: []", "yaml"), is_wrapped({}, "yaml")
    (True, False)
    """
    return isinstance(value, str) and format_name == "yaml"


def row(number: int, entry: dict[str, Any]) -> Row:
    """Return the row of an item.

    >>> told = {"conf_uid": "iris", "kind": "objective_temp", "importance": 0.7, "tags": '["a", "b"]'}
    >>> made = row(1, {"id": "iris:h:0", "text": "win", "kind": "objective_temp", "metadata": told}).value
    >>> made["kind"], made["tier"], made["tags"], made["metadata"]
    ('Objectives', 'session', ['a', 'b'], {'conf_uid': 'iris'})
    """
    told = entry["metadata"]
    made = {name: value for name, value in entry.items() if name not in ("metadata", "id", "score")}
    for name in ("kind", "importance", "timestamp"):
        if made.get(name) is None and told.get(name) is not None:
            made[name] = told[name]
    kind = made.get("kind")
    form = "".join(char for char in kind.lower() if char.isalnum()) if isinstance(kind, str) else ""
    if told.get("is_session") is True or form in _SESSION:
        made["tier"] = "session"
    made["kind"] = _KINDS.get(form, kind)
    if not made.get("timestamp"):
        made.pop("timestamp", None)
    made["tags"] = _tags(made.get("tags", told.get("tags")))
    kept = {name: value for name, value in told.items() if name not in _LIFTED}
    if kept:
        made["metadata"] = kept
    return Row(number, uid_of(entry.get("id")), made)


def _tags(value: Any) -> Any:
    """Return the tags, which its store keeps as JSON or with commas where it can keep no list.

    >>> _tags("a, b"), _tags('["a"]'), _tags(None), _tags(["a"])
    (['a', 'b'], ['a'], [], ['a'])
    """
    if not isinstance(value, str):
        return value or []
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, list):
        return [tag for tag in found if isinstance(tag, str)]
    return [tag.strip() for tag in value.split(",") if tag.strip()]
