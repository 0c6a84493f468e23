"""The label of a recalled memory: where it comes from and of which day, in words."""

from __future__ import annotations

from datetime import datetime, tzinfo

from ..text.folding import one_line
from ..text.times import parse_time
from .lines import local_time

SOURCE_WORDS = {"memories": "memories", "ai_diary": "diary", "chat_history": "chat history"}
"""Source of a hit to the words shown; any other source is shown by its own name without underscores."""


def label(source: str, timestamp: str | datetime | None, conversation: str | None, zone: tzinfo) -> str:
    """Return source and day of a hit in words.

    Args:
        source: source of the hit, known or not.
        timestamp: ISO 8601 text or an aware time; blank, None or unreadable leaves the day out.
        conversation: key or title of the conversation it comes from; blank or None leaves it out.
        zone: zone of the shown days (flag TIMEZONE).

    Returns:
        `recalled from <day> (<conversation>, <source>)`, `(<conversation>, <source>)` without a day, and the bare
        words of the source where neither day nor conversation is known.

    >>> from datetime import UTC
    >>> label("chat_history", "2026-09-19T12:00:00+00:00", "P", UTC), label("old_notes", "", "", UTC)
    ('recalled from 2026-09-19 (P, chat history)', 'old notes')
    """
    words = SOURCE_WORDS.get(source) or one_line(source).replace("_", " ").strip()
    place = one_line(conversation or "").strip()
    time = parse_time(timestamp) if timestamp else None
    if time is None and not place:
        return words
    where = f"({place}, {words})" if place else f"({words})"
    return where if time is None else f"recalled from {local_time(time, zone):%Y-%m-%d} {where}"
