"""Fields of an export, read forgivingly: a value of another type counts as missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

from ...text.folding import clean
from ..send_dates import read_time
from .archive import Member
from .json_parts import BadPart, Part, Path, read_parts
from .values import Fault

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
            if isinstance(part.value, BadPart):
                yield Fault(f"{member.name}{_shown(part.path)}", part.value.reason)
            elif not part.path:
                yield Fault(member.name, "it holds neither a list nor an object")
            else:
                yield part
    yield from broken


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
