"""Fields of a chat file: read forgivingly, a value of another type counts as missing, or refused with a reason."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any, NamedTuple

from ..errors import MessageError
from ..scope import key_text
from ..text.folding import clean
from ..text.replies import strip_thoughts
from ..text.times import parse_time
from .files import Member
from .json_values import BadJson, Part, Path, read_parts
from .shapes import Fault

MESSAGE_ID_BYTES = 191
SPEAKER_BYTES = 191
"""A participant's key is `interface/speaker` in 255 bytes; this leaves room for every interface name (64 bytes)."""
TEXT_BYTES = 16_777_215
"""Most UTF-8 bytes of a text that is stored."""

_NANOSECONDS_FROM = 10**17
_MICROSECONDS_FROM = 10**14


def opens(path: Path) -> bool:
    """Return whether the value at a path of a document is read part by part."""
    match path:
        case () | ("messages" | "conversations" | "chats" | "left_chats",):
            return True
        case ("chats" | "left_chats", "list"):
            return True
        case ("chats" | "left_chats", "list", int()) | ("chats" | "left_chats", "list", int(), "messages"):
            return True
    return False


def each_part(member: Member) -> Iterator[Part | Fault]:
    """Yield the parts of a JSON file; what is wrong in it as a fault, in its place."""
    broken: list[Fault] = []
    with member.guarded(broken) as text:
        for part in read_parts(text, opens):
            if isinstance(part.value, BadJson):
                yield Fault(f"{member.name}{_shown(part.path)}", part.value.reason)
            elif not part.path:
                yield Fault(member.name, "it holds neither a list nor an object")
            else:
                yield part
    yield from broken


class Message(NamedTuple):
    """One message of a chat in a JSON document."""

    place: str
    head: dict[str, Any]
    """The fields of its chat beside the messages, as far as they are read: the same object for all of a chat."""
    value: Any


def each_message(member: Member) -> Iterator[Message | Fault]:
    """Yield the messages of a JSON file that is a list of them, one chat, or a list of chats."""
    chat: Path | None = None
    head: dict[str, Any] = {}
    for part in each_part(member):
        if isinstance(part, Fault):
            yield part
            continue
        above = part.path[:3] if part.path[0] in ("chats", "left_chats") else ()
        if above != chat:
            chat, head = above, {}
        match part.path[len(above) :]:
            case (*_, int(number)):
                where = f" {above[0]} {int(above[2]) + 1}" if above else ""
                yield Message(f"{member.name}:{where} message {number + 1}", head, part.value)
            case ("messages",):
                yield Fault(member.name, "messages is no list")
            case (name, *_):
                head[str(name)] = part.value


def _shown(path: Path) -> str:
    """Return a path for people; positions count from 1."""
    steps = [str(step + 1) if isinstance(step, int) else str(step)[:40] for step in path]
    return f": {' '.join(steps)}" if steps else ""


def text_at(value: Any, *names: str) -> str:
    """Return the first of the named fields that holds a text with something in it; blank where none does."""
    if isinstance(value, Mapping):
        for name in names:
            found = value.get(name)
            if isinstance(found, str) and found.strip():
                return clean(found)
    return ""


def id_at(value: Any, *names: str) -> str:
    """Return the first of the named ids, a number in decimal; blank where none is there."""
    if isinstance(value, Mapping):
        for name in names:
            found = value.get(name)
            if isinstance(found, int) and not isinstance(found, bool) and abs(found) < 10**100:
                return str(found)
            if isinstance(found, str) and found.strip():
                return clean(found).strip()
    return ""


def dict_at(value: Any, name: str) -> Mapping[str, Any]:
    """Return the object of that name, an empty one where there is none."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def list_at(value: Any, name: str) -> list[Any]:
    """Return the list of that name, an empty one where there is none."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, list) else []


def time_at(value: Any, *names: str, zone: tzinfo = UTC) -> datetime | None:
    """Return the first of the named times that can be read, in seconds, milliseconds and the like, or ISO 8601."""
    if not isinstance(value, Mapping):
        return None
    for name in names:
        found = value.get(name)
        if isinstance(found, (int, float)) and not isinstance(found, bool) and found >= _MICROSECONDS_FROM:
            found = found / (10**9 if found >= _NANOSECONDS_FROM else 10**6)
        made = read_time(found, zone)
        if made is not None:
            return made
    return None


def files_of(value: Any, *names: str) -> list[dict[str, str]]:
    """Return names of the files that are attached, for the metadata."""
    made = []
    for name in names:
        for each in list_at(value, name):
            shown = (
                each if isinstance(each, str) else text_at(each, "file_name", "fileName", "name", "title", "filename")
            )
            if shown:
                made.append({"name": clean(shown)[:255]})
    return made[:50]


def count_at(value: Any, *lists: str) -> int:
    """Return the number under `count`, else the length of the first of the named lists; at least 1."""
    count = value.get("count") if isinstance(value, Mapping) else None
    if isinstance(count, int) and not isinstance(count, bool) and count > 0:
        return count
    return max((len(list_at(value, name)) for name in lists), default=0) or 1


def build_metadata(
    files: list[dict[str, str]], reactions: Iterable[tuple[str, int]] = (), **more: Any
) -> dict[str, Any]:
    """Return the metadata of a message: its files, counts of reactions and more, where there are any."""
    counts: Counter[str] = Counter()
    for sign, count in reactions:
        counts[sign[:64] or "?"] += count
    signs = [{"emoji": sign, "count": count} for sign, count in counts.items()]
    held = {"attachments": files[:50], "reactions": signs[:50], **more}
    return {name: value for name, value in held.items() if value}


# Fields that are needed


def said_without_thoughts(text: str) -> str:
    """Return a text of the persona without its thoughts; one without any as it is, white space around it too."""
    said = strip_thoughts(text)
    return text if said == text.strip() else said


class RefusedError(ValueError):
    """A field cannot be used; its text is the reason."""


def text_of(value: Any, name: str) -> str:
    """Return a message's text."""
    if not isinstance(value, str):
        raise RefusedError(f"{name} is {said_type(value)}, it must be a text")
    made = clean(value)
    if len(made) * 4 > TEXT_BYTES and len(made.encode("utf-8")) > TEXT_BYTES:
        raise RefusedError(f"{name} is larger than {TEXT_BYTES} bytes")
    return made


def key_of(value: Any, name: str, limit_bytes: int) -> str:
    """Return an id or a name as it stands in the file; None is blank, a number is written in decimal."""
    if value is None:
        value = ""
    try:
        return key_text(value, name, limit_bytes)
    except MessageError as error:
        raise RefusedError(str(error).rstrip(".")) from None


def said_type(value: Any) -> str:
    """Return the JSON name of a value's type, for people."""
    names = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "an object",
    }
    return "missing" if value is None else names.get(type(value), type(value).__name__)


# Times


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
