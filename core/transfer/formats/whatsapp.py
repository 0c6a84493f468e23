"""WhatsApp: the text file of an exported chat, from Android or iOS."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time
from itertools import pairwise
from typing import NamedTuple, TextIO

from ...base import resources
from ...database.rows import TEXT_BYTES
from ...errors import TransferError
from ...text.folding import clean
from ..fields import build_metadata
from ..files import Member
from ..shapes import Fault, Left, Line, Read, Reading, Room, Speaker

_PARTS = re.split(r"(?m)^# (\w+)$", resources.find("prompts/exports/whatsapp.txt").read_text(encoding="utf-8"))
_LISTS = {name: words.split("|") for name, words in zip(_PARTS[1::2], _PARTS[2::2], strict=True)}
_WORDS = {name: tuple(word.strip() for word in words) for name, words in _LISTS.items()}
"""Words that WhatsApp itself writes into exports, in many languages, by meaning."""
_EITHER = {name: "|".join(map(re.escape, words)) for name, words in _WORDS.items()}
AM, PM, DELETED = _WORDS["am"], _WORDS["pm"], frozenset(map(str.casefold, _WORDS["deleted"]))
_OMITTED = rf"[^<>\n]{{0,60}}(?:{_EITHER['omitted']})[^<>\n]{{0,60}}"
OMITTED = re.compile(rf"(?:<{_OMITTED}>|\u200e{_OMITTED})\s*", re.IGNORECASE)
"""Placeholder of a missing file: <Media omitted> on Android; a direction mark and `image omitted` on iOS."""
ATTACHED = re.compile(rf"(?im)^(?P<name>[^\n/\\<>:]{{1,256}}\.\w{{2,5}}) \((?:{_EITHER['attached']})\)")
"""Attachment on Android: a line begins with the file name, followed by a note that it is attached."""
ATTACHED_HERE = re.compile(r"\u200e<\u200e?[^<>:：\n]{2,30}[:：]\s?(?P<name>[^<>\n]+)>")
"""Attachment on iOS: a direction mark, followed by <attached: name>."""
EDITED = re.compile(rf"(?<!\s)\s*\u200e?<\u200e?(?:{_EITHER['edited']})\.?>\s*\Z", re.IGNORECASE)
CHAT_NAMES = re.compile(rf"(?:{_EITHER['named']})(?:\s+|\s*[-–:_]\s*)(?=\S)", re.IGNORECASE)

# Lines and their parts

_MARKS = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff]")
"""Direction marks, which WhatsApp puts around names and numbers."""
_SPACES = re.compile("[\u00a0\u2007-\u200a\u202f\u3000]")
HALVES = "|".join(sorted((re.escape(word) for word in {*AM, *PM}), key=len, reverse=True))
_HEAD = re.compile(
    r"(?P<open>\[)?\s*"
    r"(?P<a>\d{1,4})\s?(?P<sep>[./\-年년])\s?(?P<b>\d{1,2})\s?[./\-月월]\s?(?P<c>\d{1,4})\s?[.日일]?"
    r"(?P<comma>[,،、]?)\s*(?:klo|kl\.?|um|at|à|às|alle|ob|o|v)?\s*"
    rf"(?:(?P<before>{HALVES})\s*)?"
    r"(?P<hour>\d{1,2})[:.h](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?"
    rf"(?:\s*(?P<after>{HALVES}))?\s*(?:Uhr\s*)?"
    r"(?:(?P<close>\])\s*|\s*[-–—]\s|\s*,\s(?=[^:]{1,60}\s:\s)|:\s)",
    re.IGNORECASE,
)
_NOT_NAMES = re.compile('["“”„«»\n]')
_NAME_CHARS = 120
_LOOKED_AT = 60
_HEAD_CHARS = 72
_LINE_CHARS = 1 << 20
_FOUNDED = 2009
"""Year in which WhatsApp appeared; an earlier year must be of another calendar."""

Day = tuple[int, int, int]


class _Head(NamedTuple):
    in_brackets: bool
    separator: str
    day: Day
    clock: time | None

    def is_alike(self, other: _Head) -> bool:
        return self[:2] == other[:2]


class _Message(NamedTuple):
    number: int
    head: _Head | None
    text: str


def fits(text: str) -> bool:
    """Return whether one of the first lines begins with a date and time of WhatsApp."""
    return any(_parse(line) is not None for line in text.splitlines()[:_LOOKED_AT])


def read(members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    for member in members:
        yield from _read_chat(member, reading)


def _read_chat(member: Member, reading: Reading) -> Iterator[Read]:
    # 1. find out how the whole file writes times, and who speaks
    style: _Head | None = None
    days: list[Day] = []
    people: set[str] = set()
    broken: list[Fault] = []
    with member.guarded(broken) as stream:
        for line in iter_lines(stream):
            head, rest = _parse(line) or (None, "")
            if head is None or (style is not None and not style.is_alike(head)):
                continue
            style = style or head
            if not days or days[-1] != head.day:
                days.append(head.day)
            name, text = _split(rest)
            if name and not text.lstrip(" ").startswith("\u200e"):
                people.add(name)
    if style is None:
        yield Fault(member.name, "no line begins with a time as WhatsApp writes it")
        yield from broken
        return
    order = find_order(days, style.separator, reading.day_first)
    # 2. read line by line
    title = _title(member)
    room = Room(title.replace("/", "_") or "chat", title, "direct" if len(people) <= 2 else "restricted")
    before = datetime.min.replace(tzinfo=UTC)
    with member.guarded([]) as stream:
        for message in _read_messages(stream, style):
            done = _read_line(f"{member.name}: line {message.number}", message, room, order, reading, before)
            before = done.at if isinstance(done, Line) else before
            yield done
    yield from broken


# Lines


def iter_lines(text: TextIO) -> Iterator[str]:
    """Yield the lines of a file; a line of over a million characters is split."""
    return iter(lambda: text.readline(_LINE_CHARS), "")


def _parse(line: str) -> tuple[_Head, str] | None:
    """Split a line into (date and time, rest); None for a line that continues a message."""
    start = line.lstrip("\u200e\u200f\ufeff\u202a\u202c ")
    if not start or not (start[0] == "[" or start[0].isdecimal()):
        return None
    head = start[:_HEAD_CHARS]
    kept: Sequence[int] = range(len(head))
    plain = head
    if not head.isascii():
        head = _SPACES.sub(" ", head)
        kept = [at for at, char in enumerate(head) if not _MARKS.match(char)]
        plain = "".join(str(int(head[at])) if head[at].isdecimal() else head[at] for at in kept)
    match = _HEAD.match(plain)
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    end = kept[match.end()] if match.end() < len(kept) else len(head)
    while end > 0 and _MARKS.match(head[end - 1]):  # a mark before the text is part of the text
        end -= 1
    clock = read_clock(match["hour"], match["minute"], match["second"], match["before"] or match["after"])
    day = int(match["a"]), int(match["b"]), int(match["c"])
    return _Head(bool(match["open"]), match["sep"], day, clock), start[end:].rstrip("\r\n")


def read_clock(hour: str, minute: str, second: str | None, half: str | None) -> time | None:
    """Build a time of day, None if invalid; `half` is a word for a.m. or p.m., None on a 24-hour clock."""
    hours, half = int(hour), (half or "").lower()
    if half in PM and hours < 12:
        hours += 12
    elif half in AM and hours == 12:
        hours = 0
    try:
        return time(hours, int(minute), int(second or 0))
    except ValueError:
        return None


def _read_messages(stream: TextIO, style: _Head) -> Iterator[_Message]:
    begun: _Message | None = None
    further: list[str] = []
    chars = 0
    for number, line in enumerate(iter_lines(stream), 1):
        head, rest = _parse(line) or (None, "")
        if head is not None and style.is_alike(head):
            if begun is not None:
                yield begun._replace(text="\n".join([begun.text, *further]))
            begun, further, chars = _Message(number, head, rest), [], 0
        elif begun is None:
            if _MARKS.sub("", line).strip():
                yield _Message(number, None, line)
        elif chars <= TEXT_BYTES:  # longer names are refused when they are stored
            further.append(line.rstrip("\r\n"))
            chars += len(line)
    if begun is not None:
        yield begun._replace(text="\n".join([begun.text, *further]))


def _split(rest: str) -> tuple[str, str]:
    """Split the rest of a line into speaker and text; the speaker is "" for lines that WhatsApp itself wrote."""
    name, colon, words = rest.partition(": ")
    if not colon and rest.rstrip().endswith(":"):
        name, colon, words = rest.rstrip()[:-1], ":", ""
    shown = _SPACES.sub(" ", _MARKS.sub("", name)).strip().removeprefix("~").strip()
    if not colon or not shown or len(shown) > _NAME_CHARS or _NOT_NAMES.search(shown):
        return "", rest
    return shown, words


def _read_line(place: str, message: _Message, room: Room, order: str, reading: Reading, before: datetime) -> Read:
    if message.head is None:
        return Fault(place, "it stands before the first line that has a time")
    date = _date(message.head.day, order)
    if date is None or message.head.clock is None:
        return Fault(place, "its date is none in the order of day and month of this file, or of another calendar")
    local = datetime.combine(date, message.head.clock)
    name, words = _split(message.text)
    words = words.lstrip(" ")
    is_marked = words.startswith("\u200e")
    words, is_edited = EDITED.subn("", words)
    if _MARKS.sub("", words).strip("<>. ").casefold() in DELETED:
        return Left("deleted there")
    if OMITTED.fullmatch(words):
        return Left("pictures, voice or files without a word")
    files: list[dict[str, str]] = []

    def note_file(match: re.Match[str]) -> str:
        files.append({"name": _MARKS.sub("", match["name"]).strip()[:255]})
        return ""

    text = ATTACHED_HERE.sub(note_file, ATTACHED.sub(note_file, words))
    text = clean(_SPACES.sub(" ", _MARKS.sub("", text))).strip()
    if not text:
        return Left("pictures, voice or files without a word" if files else "blank")
    is_service = not name or (is_marked and not files)
    at = local.replace(tzinfo=reading.zone).astimezone(UTC)
    if at < before:  # in the hour that clocks repeat, the second time
        at = max(at, local.replace(tzinfo=reading.zone, fold=1).astimezone(UTC))
    return Line(
        place=place, room=room, text=text, at=at, speaker=Speaker(name, name) if name and not is_service else None,
        is_service=is_service, metadata=build_metadata(files),
        edited=at if is_edited else None, made_of=local.isoformat(),
    )  # fmt: skip


def _title(member: Member) -> str:
    """Return the chat's name from the name of the file; on iOS, from the name of the archive."""
    name = (member.folder or member.export) if member.stem in ("_chat", "chat") else member.stem
    name = re.sub(r"(?:\.txt|\.zip|\s\(\d+\)|\s\d)\Z", "", _MARKS.sub("", name).strip())
    return CHAT_NAMES.sub("", name).strip() or name


# Dates


def find_order(days: Sequence[Day], separator: str, day_first: bool | None) -> str:
    """Find the order of day, month and year in a file: dmy, mdy, ymd or ydm."""
    long = any(a > 99 or c > 99 for a, _, c in days)
    orders = ["ymd", "ydm"] if separator in ("年", "년") or any(a > 99 for a, _, _ in days) else ["dmy", "mdy"]
    if not long and orders[0] != "ymd":
        orders.append("ymd")
    latest = datetime.now(UTC).year + 1
    dates = {order: [_date(day, order) for day in days] for order in orders}
    wrong = {order: sum(date is None or date.year > latest for date in dates[order]) for order in orders}
    left = [order for order in orders if wrong[order] == min(wrong.values())]
    if "dmy" not in left or "mdy" not in left or all(a == b for a, b, _ in days):
        return left[0]
    if day_first is not None:
        return "dmy" if day_first else "mdy"
    if separator != "/" or any(c > 2400 for _, _, c in days):
        return "dmy"  # with dots or dashes, and in Thailand, the day comes first
    known = {order: [date for date in dates[order] if date is not None] for order in ("dmy", "mdy")}
    back = {order: sum(late < early for early, late in pairwise(each)) for order, each in known.items()}
    if back["dmy"] != back["mdy"]:
        return min(back, key=lambda order: back[order])
    raise TransferError(
        "Whether its dates begin with the day or with the month cannot be told from the file. "
        "Say --day-first or --month-first, in Python day_first=True or False."
    )


def parse_times(texts: Sequence[str], reading: Reading) -> dict[str, datetime]:
    """Return the time of each text such as `01.02.2026 20:00`; one order of day and month is chosen for all of them."""
    heads = {text: line[0] for text in texts if (line := _parse(f"[{text}]") or _parse(f"[{text} 0:00]"))}
    if not heads:
        return {}
    style = next(iter(heads.values()))
    alike = {text: head for text, head in heads.items() if style.is_alike(head)}
    separator = "." if style.separator == "." else "/"  # with dashes, the month may come first
    order = find_order([head.day for head in alike.values()], separator, reading.day_first)
    days = ((text, _date(head.day, order), head.clock) for text, head in alike.items())
    local = {text: datetime.combine(day, clock, reading.zone) for text, day, clock in days if day and clock is not None}
    return {text: at.astimezone(UTC) for text, at in local.items()}


def _date(day: Day, order: str) -> datetime | None:
    named = dict(zip(order, day, strict=True))
    year = named["y"] + (2000 if named["y"] < 100 else 0)
    if year > 2400:  # Buddhist calendar of phones in Thailand
        year -= 543
    if year < _FOUNDED:
        return None
    try:
        return datetime(year, named["m"], named["d"])  # noqa: DTZ001 - the reader's zone is put in later
    except ValueError:
        return None
