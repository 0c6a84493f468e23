"""Tables of the application of seed 004, dumped as JSON: the rows of `memories` as items.

Its database itself is taken over whole by `prompt-engine db migrate`, the chat and the diary too.
"""

from __future__ import annotations

from typing import Any

from .rows import Row, uid_of

OTHERS = frozenset({
    "ai_diary", "chat_history_cache", "tags", "tag_aliases", "tag_links", "archived_memories", "config", "recent_chats",
})  # fmt: skip
"""Tables that hold no memory items."""
_NAMES = {"content": "text"}
_UNUSED = frozenset({"content_hash", "text_folded", "audience_id", "persona_id"})


def fits(entry: Any) -> bool:
    """Return whether a value is a row of the table `memories`.

    >>> fits({"id": 1, "content": "a", "author": "synth", "scope": "general"}), fits({"text": "a"})
    (True, False)
    """
    return isinstance(entry, dict) and "content" in entry and bool(entry.keys() & {"author", "scope", "emotion_state"})


def row(number: int, entry: dict[str, Any]) -> Row:
    """Return the row of a memory. Those that were put away or replaced are not taken.

    >>> row(1, {"id": 7, "content": "a", "author": "synth", "tags": '["x"]', "scope": "general"}).value
    {'text': 'a', 'author': 'synth', 'tags': '["x"]', 'scope': 'general'}
    >>> row(2, {"id": 8, "content": "a", "archived_at": "2026-03-10"}).reason
    'archived'
    """
    told = uid_of(entry.get("id"))
    if entry.get("archived_at") or entry.get("superseded_by"):
        return Row(number, told, None, "archived")
    left = {name: value for name, value in entry.items() if name not in _UNUSED and value is not None}
    return Row(number, told, {_NAMES.get(name, name): value for name, value in left.items() if name != "id"})


def other(number: int, table: str, entry: Any) -> Row:
    """Return the row of another table, which is not taken.

    >>> other(1, "ai_diary", {"id": 3}).reason
    'a row of ai_diary, which is no memory: take the database over with `prompt-engine db migrate`'
    """
    why = f"a row of {table}, which is no memory: take the database over with `prompt-engine db migrate`"
    return Row(number, uid_of(entry.get("id")) if isinstance(entry, dict) else None, None, why)
