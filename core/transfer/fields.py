"""Read fields of chat files. An optional field of a wrong type counts as missing; a required field raises."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

from ..database import rows
from ..errors import MessageError
from ..scope import key_text
from ..text.folding import clean
from ..text.replies import strip_thoughts
from ..text.times import parse_time

SPEAKER_BYTES = 191
"""Maximum number of bytes of a speaker's id: a key `interface/speaker` has at most 255, an interface 64."""


def field_at(value: Any, path: str, missing: Any = None) -> Any:
    """Return the value at a path such as `a.b`, or `missing`; for a list on the path, its first element is used."""
    for step in path.split("."):
        value = value[0] if isinstance(value, list) and value else value
        if not isinstance(value, Mapping) or step not in value:
            return missing
        value = value[step]
    return value


def text_at(value: Any, *names: str) -> str:
    """Return the first non-blank text among the named fields, or ""."""
    for name in names:
        field = field_at(value, name)
        if isinstance(field, str) and field.strip():
            return clean(field)
    return ""


def id_at(value: Any, *names: str) -> str:
    for name in names:
        field = field_at(value, name)
        if isinstance(field, int) and not isinstance(field, bool) and abs(field) < 10**100:
            return str(field)
        if isinstance(field, str) and field.strip():
            return clean(field).strip()
    return ""


def dict_at(value: Any, name: str) -> Mapping[str, Any]:
    """Return the object in the field `name` of `value`; {} if the field holds no object."""
    field = field_at(value, name)
    return field if isinstance(field, Mapping) else {}


def list_at(value: Any, name: str) -> list[Any]:
    field = field_at(value, name)
    return field if isinstance(field, list) else []


def time_at(value: Any, *names: str, zone: tzinfo = UTC) -> datetime | None:
    times = (read_time(field_at(value, name), zone) for name in names)
    return next((time for time in times if time is not None), None)


def files_of(value: Any, *names: str) -> list[dict[str, str]]:
    """Return the attached files named in these fields, as message metadata lists them."""
    files = [file for name in names for file in list_at(value, name)]
    own = ("file_name", "fileName", "name", "title", "filename")
    shown = [file if isinstance(file, str) else text_at(file, *own) for file in files]
    return [{"name": clean(name)[:255]} for name in shown if name]


def count_at(value: Any, *lists: str) -> int:
    """Return how many people reacted: field `count`, else the length of the longest of the fields `lists`, else 1."""
    count = field_at(value, "count")
    if isinstance(count, int) and not isinstance(count, bool) and count > 0:
        return count
    return max((len(list_at(value, name)) for name in lists), default=0) or 1


def build_metadata(
    files: list[dict[str, str]], reactions: Iterable[tuple[str, int]] = (), **more: Any
) -> dict[str, Any]:
    """Build the metadata of a message, without empty values."""
    counts: Counter[str] = Counter()
    for sign, count in reactions:
        counts[sign[:64] or "?"] += count
    signs = [{"emoji": sign, "count": count} for sign, count in counts.items()]
    values = {"attachments": files[:50], "reactions": signs[:50], **more}
    return {name: value for name, value in values.items() if value}


_CALLS = re.compile(
    r"(?:\s*(?><(?P<mark>tool_calls?|function_calls?|tool_response)\b[^<>]{0,200}>.*?</(?P=mark)>|"
    r"<function=.*?</function>|\[TOOL_CALLS\].*))+\s*\Z",
    re.DOTALL,
)


def said_without_thoughts(text: str) -> str:
    """Remove the model's thoughts from an answer's text; "" if the answer holds only tool calls."""
    spoken = strip_thoughts(text)
    if _CALLS.match(spoken):
        return ""
    return text if spoken == text.strip() else spoken


def text_of(value: Any, name: str) -> str:
    if value is None:
        raise MessageError(f"{name} is missing")
    return rows.text(value, name)


def key_of(value: Any, name: str, limit_bytes: int) -> str:
    """Return the id or name in the field `name`, cut to `limit_bytes`; None becomes "", a number becomes digits."""
    return key_text("" if value is None else value, name, limit_bytes)


# Times


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONGEST = 64

_NAMED = re.compile(
    r"(?:\w+, )?(?P<month>[A-Za-z]{3,9})\.?\s+(?P<day>\d{1,2}),?\s+(?P<year>\d{4})"
    r"(?:,?\s+(?:at\s+)?(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?\s*(?P<half>[AaPp]\.?[Mm]\.?)?)?"
    r"(?P<utc> UTC)?"
)
_HUMANIZED = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})\s*@\s*(?P<hour>\d{1,2})h\s*(?P<minute>\d{1,2})m"
    r"\s*(?:(?P<second>\d{1,2})s)?\s*(?:(?P<milli>\d{1,3})ms)?"
)
_DIGITS = re.compile(r"\d{9,17}(?:\.\d{1,6})?")
_GREATEST = 1e20


def read_time(value: Any, zone: tzinfo = UTC) -> datetime | None:
    """Parse a time of a chat file into an aware datetime in UTC; None if it cannot be parsed."""
    if isinstance(value, (int, float)):
        return parse_time(value) if 0 < value <= _GREATEST else None
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    text = value.strip()
    if _DIGITS.fullmatch(text):
        return read_time(float(text))
    if match := _HUMANIZED.fullmatch(text) or _NAMED.fullmatch(text):
        return _from_parts(match.groupdict(), zone)
    try:
        moment = datetime.fromisoformat(text[:-1] + "+00:00" if text[-1:] in ("Z", "z") else text)
    except ValueError:
        return None
    return parse_time(moment if moment.tzinfo else moment.replace(tzinfo=zone))


def _from_parts(parts: dict[str, str | None], zone: tzinfo) -> datetime | None:
    zone = UTC if parts.get("utc") else zone
    month, half = parts["month"] or "", (parts.get("half") or "").lower()
    hour, minute, second = (int(parts[name] or 0) for name in ("hour", "minute", "second"))
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    try:
        number = int(month) if month.isdigit() else _MONTHS.index(month[:3].lower()) + 1
        micro = int(parts.get("milli") or 0) * 1000
        day = int(parts["year"] or 0), number, int(parts["day"] or 0)
        return parse_time(datetime(*day, hour, minute, second, micro, tzinfo=zone))
    except ValueError:  # the text names an impossible month, day or hour
        return None
