"""Template filters: how numbers, times and long texts are shown. Pure."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from ....access.rules import show_key
from ....text.times import parse_time
from ....text.times import zone as find_zone

FOLDED_CHARS = 320
"""Length in characters above which a text is shown folded."""


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


def exact(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def near(at: datetime, zone: str) -> str:
    """Format a time to the minute in a zone, for browsers without scripts."""
    return f"{at.astimezone(find_zone(zone) or UTC):%Y-%m-%d %H:%M}"


def archive_reason(item: Mapping[str, Any]) -> str:
    if item["superseded_by"] is not None:
        return "ended by a message" if item["archived_at"] else "replaced by another"
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


FILTERS: Mapping[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (shorten, number, parse_time, exact, near, archive_reason, as_json, words_of, plural, show_key)
}
