"""The times that chat files hold, in the forms their programs have written over the years."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, tzinfo
from typing import Any

from ..text.times import parse_time

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONGEST = 64

_NAMED = re.compile(
    r"(?P<month>[A-Za-z]{3,9})\.?\s+(?P<day>\d{1,2}),?\s+(?P<year>\d{4})"
    r"(?:,?\s+(?:at\s+)?(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?\s*(?P<half>[AaPp]\.?[Mm]\.?)?)?"
)
_HUMANIZED = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})\s*@\s*(?P<hour>\d{1,2})h\s*(?P<minute>\d{1,2})m"
    r"\s*(?:(?P<second>\d{1,2})s)?\s*(?:(?P<milli>\d{1,3})ms)?"
)
_DIGITS = re.compile(r"\d{9,17}(?:\.\d{1,6})?")

_MILLISECONDS_FROM = 100_000_000_000
"""Numbers from here on count milliseconds: as seconds they would be after the year 5100, as milliseconds 1973."""


def read_time(value: Any, zone: tzinfo = UTC) -> datetime | None:
    """Return the moment a value of a chat file names, aware UTC, None when it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return _from_number(value) if abs(value) <= _GREATEST else None
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    text = value.strip()
    if _DIGITS.fullmatch(text):
        return _from_number(float(text))
    for form in (_HUMANIZED, _NAMED):
        match = form.fullmatch(text)
        if match:
            return _from_parts(match.groupdict(), zone)
    return _from_iso(text, zone)


_GREATEST = 1e15
"""No time in milliseconds is greater; a whole number of hundreds of digits is no float either."""


def _from_number(number: float) -> datetime | None:
    if not math.isfinite(number) or number <= 0:
        return None
    return parse_time(number / 1000 if number >= _MILLISECONDS_FROM else number)


def _from_parts(parts: dict[str, str | None], zone: tzinfo) -> datetime | None:
    month = parts["month"] or ""
    if month.isdigit():
        number = int(month)
    elif month[:3].lower() in _MONTHS:
        number = _MONTHS.index(month[:3].lower()) + 1
    else:
        return None
    hour = int(parts["hour"] or 0)
    half = (parts.get("half") or "").lower()
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    micro = int(parts.get("milli") or "0") * 1000
    try:
        day = datetime(int(parts["year"] or 0), number, int(parts["day"] or 0), hour, int(parts["minute"] or 0),
                       int(parts["second"] or 0), micro, tzinfo=zone)  # fmt: skip
    except ValueError:
        return None
    return parse_time(day)


def _from_iso(text: str, zone: tzinfo) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text[:-1] + "+00:00" if text[-1:] in ("Z", "z") else text)
    except ValueError:
        return None
    return parse_time(moment if moment.tzinfo else moment.replace(tzinfo=zone))
