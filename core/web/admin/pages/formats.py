"""How values are shown on the page: numbers, times, long texts, what each kind and reason means. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from ....access.rules import show_key

FOLDED_CHARS = 320
"""Longest text that is shown unfolded."""

KIND_NAMES: Mapping[str, str] = {
    "FactsAboutUser": "Facts about a person",
    "PastEvents": "Past events",
    "SelfBeliefs": "Beliefs about itself",
    "Objectives": "Objectives",
    "KeyFacts": "Key facts",
    "Emotions": "Emotions",
    "Mood": "Mood",
    "chat": "Kept from a chat",
    "saved": "Saved on request",
    "instruction": "Standing instruction",
    "": "Unsorted",
}
PROVENANCES: Mapping[str, str] = {
    "host": "the application stored it",
    "model": "a model wrote it",
    "extract": "kept as it was said, without a model",
    "manual": "written by hand",
    "import": "from a file",
}
PRIVACY_NAMES: Mapping[str, str] = {
    "": "as by default",
    "none": "everything may be kept",
    "partial": "nothing for the long term",
    "full": "not to be remembered",
}
TIER_NAMES: Mapping[str, str] = {"long_term": "Long term", "session": "Session"}

SECTION_NAMES: Mapping[str, str] = {
    "history_current_chat": "Lines of this conversation",
    "history_recent": "Lines of other conversations",
    "thoughts": "Diary and thoughts",
    "ai_diary": "Diary",
    "tags_placeholder": "Tags",
    "standing_wishes": "Standing instructions",
    "short_term": "Said elsewhere a moment ago",
}
"""Sections whose name says it badly."""

LEFT_OUT: Mapping[str, str] = {
    "duplicate": "it says what another item in the prompt says",
    "visible": "it can be read in the history of the prompt already",
    "echo": "it is an echo of what the persona was shown",
    "private": "whoever asks may not see it",
    "privacy": "a person asked not to be remembered",
    "expired": "it has expired",
    "destination": "it may go into a local prompt alone",
    "limit": "its list was full",
    "blank": "it has no text",
    "hidden": "it was hidden",
    "noise": "it says nothing",
    "invalid": "it cannot be read",
    "cut": "the prompt would have been too large",
}

REASONS: Mapping[str, str] = {
    "own": "words of its own",
    "turn": "words of the turn it stands in",
    "share": "its best passage",
    "context": "words in and around it",
    "session": "the session it belongs to",
    "beside": "a better one beside it",
    "person": "who said it",
    "near": "said here, or where you take part",
    "first": "it tells of the one who asks",
    "length": "its length",
    "time": "it names a time",
    "number": "it names a number",
    "day": "the day that is asked for",
    "days_after": "the days after the one asked for",
    "month": "the month that is asked for",
    "meaning": "what it means",
    "meaning_near": "what it and the turns around it mean",
    "meaning_after": "what the turn after it means",
}
"""Reasons of `search.ranking.weights`, as people read them."""


def shorten(text: str, most: int = FOLDED_CHARS) -> str:
    if len(text) <= most:
        return text
    lead = text[:most]
    space = max(lead.rfind(" "), lead.rfind("\n"))
    return lead[:space] if space > most // 2 else lead


def number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}".rstrip("0").rstrip(".")


def moment(value: str | datetime | None) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if value is None:
        return None
    return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


def exact(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def near(at: datetime, zone: str) -> str:
    """Return a time to the minute in a zone, for whoever runs no script."""
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}"


def archive_reason(item: Mapping[str, Any]) -> str:
    if item["superseded_by"] is not None:
        return "replaced by another"
    if not item["archived_at"]:
        return ""
    is_expired = item["tier"] == "session" and "" < item["expires_at"] <= item["archived_at"]
    return "expired" if is_expired else "deleted or pruned"


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def words_of(name: str) -> str:
    return re.sub(r"[_\s]+", " ", name).strip().capitalize()


def plural(count: int, one: str, many: str = "") -> str:
    return f"{number(count)} {one if count == 1 else many or one + 's'}"


def filters() -> dict[str, Any]:
    return {
        "shorten": shorten,
        "number": number,
        "moment": moment,
        "exact": exact,
        "near": near,
        "kind_name": lambda kind: KIND_NAMES.get(kind, kind),
        "archive_reason": archive_reason,
        "provenance_name": lambda provenance: PROVENANCES.get(provenance, provenance or "not known"),
        "privacy_name": lambda level: PRIVACY_NAMES.get(level, level),
        "as_json": as_json,
        "words_of": words_of,
        "section_name": lambda name: SECTION_NAMES.get(name, words_of(name)),
        "plural": plural,
        "shown_key": show_key,
    }
