"""Read times from hosts into aware UTC, and the local time of day shown to the model."""

import math
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from ..base.hints import shown
from ..base.patterns import lazy_pattern

ZONE_CHARS = 100
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9998, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
"""End of the last year but one, so that the local time of every zone exists."""

_ISO_CHARS = 64

_SECONDS = lazy_pattern(r"[+-]?\d{9,20}(\.\d{1,12})?")
"""Seconds since 1970 as text, as some platforms send them. Fewer digits are a date (`20260310`) or invalid."""

_UNITS = ((10**17, 10**9), (10**14, 10**6), (10**11, 10**3))
"""Smallest number read as ns, µs or ms, and units per second: 10**11 read as seconds would be the year 5100."""

_DAY_PARTS = ((4, "night"), (7, "early_morning"), (12, "morning"), (18, "afternoon"), (22, "evening"), (24, "night"))
"""(end hour, exclusive; name of the time of day)."""
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def read_time(value: Any) -> tuple[datetime | None, bool]:
    """Return `(moment, clamped)`: an aware UTC time from 1970 to 9998, or None if the value is not a time."""
    if isinstance(value, bool):
        return None, False
    if isinstance(value, (int, float)):
        return _from_seconds(value)
    if isinstance(value, str):
        if len(value) > _ISO_CHARS:
            return None, False
        text = value.strip()
        if _SECONDS.fullmatch(text):  # first: `fromisoformat` reads 1734120512056 as the year 1734
            return _from_seconds(float(text))
        try:
            value = datetime.fromisoformat(text[:-1] + "+00:00" if text[-1:] in ("Z", "z") else text)
        except ValueError:
            return None, False
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time.min)
    return _in_utc(value) if isinstance(value, datetime) else (None, False)


def iso_text(moment: datetime | None) -> str:
    return moment.isoformat() if moment is not None else ""


def parse_time(value: Any) -> datetime | None:
    """Return the moment as aware UTC, clamped to 1970 to 9998; None if the value is not a time."""
    return read_time(value)[0]


def read_time_or_now(value: object, name: str, now: datetime, notes: list[str]) -> datetime:
    """Parse a time; return `now` if it is missing or unreadable. Each change adds a note to `notes`."""
    if value is None:
        return now
    moment, clamped = read_time(value)
    if moment is None or clamped:
        used = "now" if moment is None else "the nearest time in it"
        notes.append(f"{name} {'cannot be read' if moment is None else 'lies outside 1970 to 9998'}; {used} is used")
    return moment or now


def _from_seconds(seconds: float) -> tuple[datetime | None, bool]:
    if isinstance(seconds, float) and not math.isfinite(seconds):
        return None, False
    if seconds < 0:
        return EARLIEST, True
    try:
        unit = next((unit for least, unit in _UNITS if seconds >= least), 1)
        return _clamped(EARLIEST + timedelta(seconds=seconds / unit))
    except OverflowError:
        return LATEST, True


def _in_utc(moment: datetime) -> tuple[datetime | None, bool]:
    if moment.tzinfo is None or moment.tzinfo is UTC:
        return _clamped(moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment)
    try:
        return _clamped(moment.astimezone(UTC))
    except OverflowError:  # the first or last hours of the calendar in a zone other than UTC
        return (EARLIEST if moment.year < EARLIEST.year else LATEST), True
    except (ValueError, TypeError, AttributeError, LookupError):  # a zone object of the host that raises
        return None, False


def _clamped(moment: datetime) -> tuple[datetime, bool]:
    inside = min(max(moment, EARLIEST), LATEST)
    return inside, inside != moment


@lru_cache(maxsize=256)
def zone(name: str) -> tzinfo | None:
    """Return the zone with this IANA name (UTC for ""), or None if the name is unknown."""
    if name in ("", "UTC"):
        return UTC
    if len(name) > ZONE_CHARS:  # each slash imports another package, and hundreds raise RecursionError
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; not a zone name; a folder such as `Europe`
        return None


def local_time(moment: datetime, zone_name: Any) -> tuple[dict[str, Any], str | None]:
    """Return `({weekday, local_time, local_hour, time_of_day}, note)` of an aware moment in a zone."""
    note = None
    found = zone(zone_name or "") if zone_name is None or isinstance(zone_name, str) else None
    if found is None:
        found, note = UTC, f"time zone {shown(zone_name)} is unknown, UTC is used"
    local = moment.astimezone(found)
    part = next(name for end, name in _DAY_PARTS if local.hour < end)
    day = _WEEKDAYS[local.weekday()]
    return {"weekday": day, "local_time": f"{local:%H:%M}", "local_hour": local.hour, "time_of_day": part}, note


# Pauses that end a session of a conversation

MINUTE = 60_000_000
LEAST_GAP, MOST_GAP = 30 * MINUTE, 6 * 60 * MINUTE
"""Pause up to which a session never ends, and above which it always ends; in microseconds."""
USUAL_STEPS = 20
"""Between LEAST_GAP and MOST_GAP, a pause of this many times the median pause between messages ends a session."""
