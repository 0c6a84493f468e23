"""Exports of mem0: what its `get_all` gives, or a list of its memories."""

from __future__ import annotations

from typing import Any

from .rows import Row, uid_of

_READ = frozenset({"memory", "created_at", "categories", "expiration_date", "metadata"})


def fits(entry: Any) -> bool:
    """Return whether a value is a memory of mem0.

    >>> fits({"id": "1", "memory": "Ann likes tea"}), fits({"text": "Ann likes tea"})
    (True, False)
    """
    return isinstance(entry, dict) and "memory" in entry and "text" not in entry


def row(number: int, entry: dict[str, Any]) -> Row:
    """Return the row of a memory: its categories are tags, whose it is and all else is kept in the metadata.

    >>> row(1, {"memory": "Ann likes tea", "user_id": "ann", "categories": ["food"], "score": None}).value
    {'text': 'Ann likes tea', 'tags': ['food'], 'metadata': {'user_id': 'ann'}}
    """
    made: dict[str, Any] = {"text": entry["memory"]}
    if isinstance(entry.get("categories"), list):
        made["tags"] = [tag for tag in entry["categories"] if isinstance(tag, str)]
    times = {"timestamp": entry.get("created_at"), "expires_at": entry.get("expiration_date")}
    made |= {name: value for name, value in times.items() if value is not None}
    told = entry.get("metadata")
    kept = dict(told) if isinstance(told, dict) else {} if told is None else {"metadata": told}
    for name, value in entry.items():
        if name not in _READ and value is not None:
            kept.setdefault(name, value)
    if kept:
        made["metadata"] = kept
    return Row(number, uid_of(entry.get("id")), made)


def relation(number: int) -> Row:
    """Return the row of a relation between two names, which is no memory.

    >>> relation(1).reason
    'a relation, which is no memory'
    """
    return Row(number, None, None, "a relation, which is no memory")
