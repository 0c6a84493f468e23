"""WhatsApp: the text file that a chat is exported as, of Android and iOS, also inside a zip archive."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple, TextIO

from ...errors import TransferError
from ...scope import Privacy
from ...text.folding import clean
from ..fields import TEXT_BYTES
from ..files import Member
from ..shapes import Fault, Left, Line, Read, Reading, Room, Speaker
from .whatsapp_words import AM, ATTACHED, ATTACHED_HERE, CHAT_NAMES, DELETED, EDITED, OMITTED, PM

_MARKS = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff]")
"""Marks of direction, which stand around names and numbers and belong to nobody's words."""
_SPACES = re.compile("[\u00a0\u2007-\u200a\u202f\u3000]")
_HALF = "|".join(sorted((re.escape(word) for word in {*AM, *PM}), key=len, reverse=True))
_HEAD = re.compile(
    r"(?P<open>\[)?\s*"
    r"(?P<a>\d{1,4})\s?(?P<sep>[./\-年년])\s?(?P<b>\d{1,2})\s?[./\-月월]\s?(?P<c>\d{1,4})\s?[.日일]?"
    r"(?P<comma>[,،、]?)\s*(?:klo|kl\.?|um|at|à|às|alle|ob|o|v)?\s*"
    rf"(?:(?P<before>{_HALF})\s*)?"
    r"(?P<hour>\d{1,2})[:.h](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?"
    rf"(?:\s*(?P<after>{_HALF}))?\s*(?:Uhr\s*)?"
    r"(?:(?P<close>\])\s*|\s*[-–—]\s|\s*,\s(?=[^:]{1,60}\s:\s)|:\s)",
    re.IGNORECASE,
)
_NOT_NAMES = re.compile('["“”„«»\n]')
_NAME_CHARS = 120
_LOOKED_AT = 60
_HEAD_CHARS = 72
"""No time is written longer."""
_LINE_CHARS = 1 << 20
_FOUNDED = 2009
_FEW = 4


class _Stamp(NamedTuple):
    """The numbers of a line's time, as written."""

    a: int
    b: int
    c: int
    hour: int
    minute: int
    second: int
    half: str


class _Style(NamedTuple):
    """How one file writes the beginning of a line."""

    in_brackets: bool
    separator: str


@dataclass(slots=True)
class _Dates:
    """What the dates of a whole file say about the order of their parts."""

    days: Counter[tuple[int, int, int]] = field(default_factory=Counter)
    following: list[tuple[int, int, int]] = field(default_factory=list)
    separator: str = ""

    def add(self, stamp: _Stamp) -> None:
        """Count a date; dates that follow each other are kept once."""
        day = stamp.a, stamp.b, stamp.c
        self.days[day] += 1
        if not self.following or self.following[-1] != day:
            self.following.append(day)


def fits(text: str) -> bool:
    """Return whether a text begins as a chat of this format."""
    return any(_parse(line) is not None for line in text.splitlines()[:_LOOKED_AT])


def read(members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    """Yield the lines of every file."""
    for member in members:
        try:
            yield from _chat(member, reading)
        except UnclearError as error:
            if len(members) == 1:
                raise TransferError(str(error)) from None
            yield Fault(member.name, str(error))


class UnclearError(Exception):
    """The order of day and month cannot be found."""


def _chat(member: Member, reading: Reading) -> Iterator[Read]:
    # 1. the whole file for how it writes times, and who speaks
    style: _Style | None = None
    dates, people = _Dates(), set[str]()
    broken: list[Fault] = []
    with member.guarded(broken) as text:
        for line in _each_line(text):
            parsed = _parse(line)
            if parsed is None or (style is not None and parsed.style != style):
                continue
            style = style or parsed.style
            dates.separator = parsed.style.separator
            dates.add(parsed.stamp)
            name, said = _split(parsed.rest)
            if name and not said.lstrip(" ").startswith("\u200e"):
                people.add(name)
    if style is None:
        yield Fault(member.name, "no line begins with a time as WhatsApp writes it")
        yield from broken
        return
    order = find_order(dates.days, dates.following, dates.separator, reading.day_first)
    # 2. line by line
    title = _title(member)
    privacy: Privacy = "direct" if len(people) <= 2 else "restricted"
    room = Room(title.replace("/", "_") or "chat", title, privacy)
    with member.guarded([]) as text:
        for number, block in _blocks(text, style):
            yield from _message(f"{member.name}: line {number}", block, room, order, reading)
    yield from broken


# Lines


def _each_line(text: TextIO) -> Iterator[str]:
    """Yield the lines of a file; one of over a million characters in parts, so that it is never held whole."""
    return iter(lambda: text.readline(_LINE_CHARS), "")


class _Parsed(NamedTuple):
    style: _Style
    stamp: _Stamp
    rest: str
    """What stands behind the time, marks of direction in it."""


def _parse(line: str) -> _Parsed | None:
    """Return what a line begins with, None for one that goes on."""
    start = line.lstrip("\u200e\u200f\ufeff\u202a\u202c ")
    if not start or not (start[0] == "[" or start[0].isdecimal()):
        return None
    head = start[:_HEAD_CHARS]
    kept: Sequence[int] = range(len(head))
    if head.isascii():
        plain = head
    else:
        head = _SPACES.sub(" ", head)
        kept = [at for at, char in enumerate(head) if not _MARKS.match(char)]
        plain = "".join(_digit(head[at]) for at in kept)
    found = _HEAD.match(plain)
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    end = kept[found.end()] if found.end() < len(kept) else len(head)
    while end > 0 and _MARKS.match(head[end - 1]):  # a mark before the text belongs to it
        end -= 1
    half = (found["before"] or found["after"] or "").lower()
    a, b, c, hour, minute = (int(found[name]) for name in ("a", "b", "c", "hour", "minute"))
    stamp = _Stamp(a, b, c, hour, minute, int(found["second"] or 0), half)
    return _Parsed(_Style(bool(found["open"]), found["sep"]), stamp, start[end:].rstrip("\r\n"))


def _digit(char: str) -> str:
    return str(int(char)) if char.isdecimal() and not char.isascii() else char


def _blocks(text: TextIO, style: _Style) -> Iterator[tuple[int, _Parsed | str]]:
    """Yield messages with the lines that go on, and the number of their first line; text before the first as it is."""
    begun: _Parsed | None = None
    further: list[str] = []
    at = chars = 0
    for number, line in enumerate(_each_line(text), 1):
        parsed = _parse(line)
        if parsed is None or parsed.style != style:
            if begun is not None and chars <= TEXT_BYTES:  # what is longer is refused where it is stored
                further.append(line.rstrip("\r\n"))
                chars += len(line)
            elif _MARKS.sub("", line).strip():
                yield number, line
            continue
        if begun is not None:
            yield at, begun._replace(rest="\n".join([begun.rest, *further]))
        begun, further, at, chars = parsed, [], number, 0
    if begun is not None:
        yield at, begun._replace(rest="\n".join([begun.rest, *further]))


def _split(rest: str) -> tuple[str, str]:
    """Return who said it and what; the name is blank for lines of the program."""
    name, colon, said = rest.partition(": ")
    if not colon and rest.rstrip().endswith(":"):
        name, colon, said = rest.rstrip()[:-1], ":", ""
    shown = _SPACES.sub(" ", _MARKS.sub("", name)).strip().removeprefix("~").strip()
    if not colon or not shown or len(shown) > _NAME_CHARS or _NOT_NAMES.search(shown):
        return "", rest
    return shown, said


def _message(place: str, block: _Parsed | str, room: Room, order: str, reading: Reading) -> Iterator[Read]:
    if isinstance(block, str):
        yield Fault(place, "it stands before the first line that has a time")
        return
    name, said = _split(block.rest)
    local = _local(block.stamp, order)
    if local is None:
        yield Fault(place, "its date is none in the order of day and month of this file")
        return
    metadata: dict[str, Any] = {}
    is_marked = said.lstrip(" ").startswith("\u200e")
    said, is_edited = EDITED.subn("", said)
    files: list[dict[str, str]] = []

    def note_file(found: re.Match[str]) -> str:
        files.append({"name": _MARKS.sub("", found["name"]).strip()[:255]})
        return ""

    said = ATTACHED.sub(note_file, ATTACHED_HERE.sub(note_file, said))
    text = clean(_SPACES.sub(" ", _MARKS.sub("", said))).strip()
    bare = text.strip("<>. ").casefold()
    if bare in OMITTED or (files and not text):
        yield Left("pictures, voice or files without a word")
        return
    if bare in DELETED:
        yield Left("deleted there")
        return
    if not text:
        yield Left("blank")
        return
    if files:
        metadata["attachments"] = files
    is_service = not name or (is_marked and not files)
    yield Line(
        place=place, room=room, text=text, at=local.replace(tzinfo=reading.zone).astimezone(UTC),
        speaker=Speaker(name, name) if name and not is_service else None, is_service=is_service, metadata=metadata,
        edited=local.replace(tzinfo=reading.zone).astimezone(UTC) if is_edited else None, made_of=local.isoformat(),
    )  # fmt: skip


def _title(member: Member) -> str:
    """Return the name of the chat, from that of the file or, on iOS, of the archive it lies in."""
    name = member.stem
    if name in ("_chat", "chat"):
        name = member.folder or member.export
    name = re.sub(r"(?:\.txt|\.zip|\s\(\d+\)|\s\d)\Z", "", _MARKS.sub("", name).strip())
    return CHAT_NAMES.sub("", name).strip() or name


# Dates


def find_order(
    days: Counter[tuple[int, int, int]],
    following: Sequence[tuple[int, int, int]],
    separator: str,
    day_first: bool | None,
) -> str:
    """Return in which order a file writes its dates: dmy, mdy, ymd or ydm."""
    long = any(a > 99 or c > 99 for a, _, c in days)
    orders = ["ymd", "ydm"] if separator in ("年", "년") or any(a > 99 for a, _, _ in days) else ["dmy", "mdy"]
    if not long and orders[0] != "ymd":
        orders.append("ymd")
    wrong = {order: sum(n for day, n in days.items() if not _is_possible(day, order)) for order in orders}
    fewest = min(wrong.values())
    left = [order for order in orders if wrong[order] == fewest]
    if "dmy" not in left or "mdy" not in left or all(a == b for a, b, _ in days):
        return left[0]
    if day_first is not None:
        return "dmy" if day_first else "mdy"
    if separator != "/" or any(_calendar(c) for _, _, c in days):
        return "dmy"  # who writes the month first counts years as in Rome
    back = {order: _steps_back(following, order) for order in ("dmy", "mdy")}
    if back["dmy"] != back["mdy"]:
        return min(back, key=lambda order: back[order])
    firsts, seconds = {a for a, _, _ in days}, {b for _, b, _ in days}
    if min(len(firsts), len(seconds)) == 1 and max(len(firsts), len(seconds)) >= _FEW:
        return "dmy" if len(firsts) > len(seconds) else "mdy"  # many days of one month, and not one day of many months
    raise UnclearError(
        "Whether its dates begin with the day or with the month cannot be told from the file. "
        "Say --day-first or --month-first."
    )


def _calendar(year: int) -> Callable[[int, int, int], datetime] | None:
    """Return what reads a date of the calendar that counts such years now, None for the Gregorian one."""
    if year > 2400:
        return lambda year, month, day: datetime(year - 543, month, day)  # noqa: DTZ001 - as below
    if 1380 <= year < 1425:
        return _from_persian
    return _from_islamic if 1425 <= year < 1480 else None


def _from_persian(year: int, month: int, day: int) -> datetime:
    """Return the day of a date of the Persian calendar, whose leap years repeat every 33 years in this age."""
    past = year - 979
    leap_days = past // 33 * 8 + (past % 33 + 3) // 4
    is_leap = (past + 1) // 33 * 8 + ((past + 1) % 33 + 3) // 4 > leap_days
    longest = 31 if month <= 6 else 30 if month <= 11 or is_leap else 29
    if month not in range(1, 13) or day not in range(1, longest + 1):
        raise ValueError("no such day")
    months = 31 * min(month - 1, 6) + 30 * max(month - 7, 0)
    return datetime(1600, 3, 20) + timedelta(365 * past + leap_days + months + day - 1)  # noqa: DTZ001 - as below


def _from_islamic(year: int, month: int, day: int) -> datetime:
    """Return the day of a date of the Islamic calendar as it is computed; where it is observed it may be a day off."""
    if not 1 <= month <= 12 or not 1 <= day <= 30:
        raise ValueError("no such day")
    days = (year - 1) * 354 + (11 * year + 3) // 30 + (59 * (month - 1) + 1) // 2 + day - 1
    return datetime(622, 7, 19) + timedelta(days)  # noqa: DTZ001 - as below


def _is_possible(day: tuple[int, int, int], order: str) -> bool:
    """Return whether a date can be one; a year of two digits must be one in which the program existed."""
    date = _date(day, order)
    if date is None:
        return False
    return max(day) > 99 or _FOUNDED <= date.year <= datetime.now(UTC).year + 1


def _date(day: tuple[int, int, int], order: str) -> datetime | None:
    named = dict(zip(order, day, strict=True))
    year = named["y"]
    year += 2000 if year < 100 else 0
    calendar = _calendar(year)
    try:
        if calendar is not None:
            return calendar(year, named["m"], named["d"])
        return datetime(year, named["m"], named["d"])  # noqa: DTZ001 - of the phone, whose zone the caller knows
    except ValueError:
        return None


def _steps_back(following: Sequence[tuple[int, int, int]], order: str) -> int:
    """Return how often a date lies before the one above it."""
    dates = [date for date in (_date(day, order) for day in following) if date is not None]
    return sum(1 for early, late in pairwise(dates) if late < early)


def _local(stamp: _Stamp, order: str) -> datetime | None:
    """Return a line's time as its phone wrote it, None where it is none."""
    date = _date((stamp.a, stamp.b, stamp.c), order)
    hour = stamp.hour
    if stamp.half in PM and hour < 12:
        hour += 12
    elif stamp.half in AM and hour == 12:
        hour = 0
    if date is None or hour > 23 or stamp.minute > 59 or stamp.second > 59:
        return None
    return date.replace(hour=hour, minute=stamp.minute, second=stamp.second)
