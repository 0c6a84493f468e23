"""Chats as plain text: LINE, and the Markdown that signal-export writes of Signal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ...text.folding import clean
from ..fields import build_metadata
from ..files import Member
from ..shapes import Fault, Left, Line, Read, Reading, Room, Speaker
from .whatsapp import AM, PM, UnclearError, find_order

_LOOKED_AT = 60
_WITHOUT_WORDS = "pictures, files or stickers without a word"


class _Said(NamedTuple):
    """One message of a text."""

    number: int
    at: datetime
    """As it is written, of the zone of the one who reads."""
    name: str
    """Blank for a line of the program."""
    text: str


def _lines(member: Member, said: Sequence[_Said], reading: Reading, title: str) -> Iterator[Read]:
    people = {each.name for each in said if each.name}
    room = Room(title.replace("/", "_") or "chat", title, "direct" if len(people) <= 2 else "restricted")
    for each in said:
        text, metadata = _without_marks(each.text)
        if not text.strip():
            yield Left(_WITHOUT_WORDS)
            continue
        yield Line(
            place=f"{member.name}: line {each.number}", room=room, text=clean(text).strip(),
            at=each.at.replace(tzinfo=reading.zone).astimezone(UTC), is_service=not each.name, metadata=metadata,
            speaker=Speaker(each.name, each.name) if each.name else None, made_of=each.at.isoformat(),
        )  # fmt: skip


def _without_marks(text: str) -> tuple[str, dict[str, Any]]:
    """Return what was said, and what a program writes into it: reactions, names of files, placeholders."""
    found = _REACTIONS.search(text)
    signs = [(each.rpartition(": ")[2], 1) for each in found["all"].split(", ")] if found else []
    text = _REACTIONS.sub("", text)
    files = [{"name": match["name"]} for match in _FILES.finditer(text)]
    return _PLACEHOLDER.sub("", _FILES.sub("", text)), build_metadata(files, signs)


_REACTIONS = re.compile(r"\n\(- (?P<all>[^\n]{1,2000}) -\)\s*\Z")
_FILES = re.compile(r"!?\[(?P<name>[^\[\]\n]{1,255})\]\(\.{1,2}/[^()\n]{1,500}\)[ ]{0,2}")
_PLACEHOLDER = re.compile(r"\s*\[[^\[\]\n]{2,30}\]\s*\Z|\A\(This message was deleted\)\Z")
"""A text that is nothing but a picture or sticker, and one that was deleted."""


# Signal

_SIGNAL = re.compile(r"\[(?P<at>\d{4}-\d\d-\d\d,? \d\d:\d\d(?::\d\d)?)\] (?P<name>[^:\n]{1,120}): ?(?P<text>.*)")


def is_signal(text: str, name: str) -> bool:
    """Return whether a text is a chat as signal-export writes it, with blank lines between the messages."""
    lines = text.splitlines()[:_LOOKED_AT]
    heads = [at for at, line in enumerate(lines) if _SIGNAL.match(line)]
    if not heads:
        return False
    are_apart = len(heads) > 1 and all(at == 0 or not lines[at - 1].strip() for at in heads)
    return are_apart or name.lower().endswith(".md")


def read_signal(members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    """Yield the messages of every chat; one file is one chat, named after its folder."""
    for member in members:
        said: list[_Said] = []
        faults: list[Fault] = []
        with member.guarded(faults) as stream:
            for number, line in enumerate(stream, 1):
                found = _SIGNAL.match(line.rstrip("\r\n"))
                at = _read_iso(found["at"]) if found else None
                if found and at is not None:
                    said.append(_Said(number, at, found["name"].strip(), found["text"]))
                elif said:
                    said[-1] = said[-1]._replace(text=f"{said[-1].text}\n{line.rstrip()}")
                elif line.strip():
                    yield Fault(f"{member.name}: line {number}", "it stands before the first message")
        said = [each._replace(text=each.text.rstrip()) for each in said]
        yield from _lines(member, said, reading, member.folder or member.stem)
        yield from faults


def _read_iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.replace(", ", " "))
    except ValueError:
        return None


# LINE

_DAY = re.compile(
    r"(?:(?P<weekday>[A-Z][a-z]{2}), )?(?P<a>\d{1,4})[./](?P<b>\d{1,2})[./](?P<c>\d{1,4})"
    r"(?: ?\(?[^\d\t]{1,12}\)?)?\s*\Z"
)
_HALF = "|".join(sorted(map(re.escape, {*AM, *PM}), key=len, reverse=True))
_SAID = re.compile(
    rf"(?:(?P<before>{_HALF})\s*)?(?P<hour>\d{{1,2}}):(?P<minute>\d\d)\s?(?P<after>{_HALF})?\t(?P<rest>.*)",
    re.IGNORECASE,
)
_TITLE = re.compile(
    r"\[LINE\]\s*(?:Chat history (?:with|in) (?P<en>.+)|[与與](?P<zh>.+?)的聊天[记記][录錄]"
    r"|(?P<ja>.+?)と?のトーク履歴|(?P<any>.+))"
)
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def is_line(text: str) -> bool:
    """Return whether a text is a chat as LINE writes it: lines with days, and messages set apart by tabs below them."""
    lines = text.removeprefix("\ufeff").splitlines()[:_LOOKED_AT]
    days = [at for at, line in enumerate(lines) if _DAY.match(line)]
    return bool(days) and any(_SAID.match(line) for line in lines[days[0] :])


def read_line(members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    """Yield the messages of every chat; one file is one chat."""
    for member in members:
        faults: list[Fault] = []
        with member.guarded(faults) as stream:
            lines = stream.read().removeprefix("\ufeff").splitlines()
        try:
            order = _find_order([found for line in lines if (found := _DAY.match(line))], reading.day_first)
        except UnclearError as error:
            yield Fault(member.name, str(error))
            continue
        found = _TITLE.match(lines[0]) if lines else None
        title = next((name.strip() for name in found.groups() if name), "") if found else ""
        yield from _lines(member, list(_read_days(lines, order)), reading, title or member.stem)
        yield from faults


def _find_order(days: Sequence[re.Match[str]], day_first: bool | None) -> str:
    """Return the order of day, month and year: by the days of the week, else as in a chat of WhatsApp."""
    votes = Counter(
        order
        for day in days
        for order in ("dmy", "mdy")
        if day["weekday"] in _WEEKDAYS and (date := _date(day, order)) and _WEEKDAYS[date.weekday()] == day["weekday"]
    )
    if votes and day_first is None:
        return votes.most_common(1)[0][0]
    numbers = [(int(day["a"]), int(day["b"]), int(day["c"])) for day in days]
    return find_order(Counter(numbers), numbers, "/", day_first)


def _date(day: re.Match[str], order: str) -> datetime | None:
    named = dict(zip(order, (int(day["a"]), int(day["b"]), int(day["c"])), strict=True))
    try:
        return datetime(named["y"], named["m"], named["d"])  # noqa: DTZ001 - the reader's zone is put in later
    except ValueError:
        return None


def _read_days(lines: Sequence[str], order: str) -> Iterator[_Said]:
    day: datetime | None = None
    said: _Said | None = None
    for number, line in enumerate(lines, 1):
        marked, message = _DAY.match(line), _SAID.match(line)
        if day is not None and message is not None and (at := _time(day, message)) is not None:
            if said is not None:
                yield _unquoted(said)
            name, tab, text = message["rest"].partition("\t")
            said = _Said(number, at, name.strip() if tab else "", text if tab else name)
        elif marked is not None and (date := _date(marked, order)) is not None:
            day = date
        elif said is not None:
            said = said._replace(text=f"{said.text}\n{line}")
    if said is not None:
        yield _unquoted(said)


def _time(day: datetime, found: re.Match[str]) -> datetime | None:
    hour, half = int(found["hour"]), (found["before"] or found["after"] or "").lower()
    if half in PM and hour < 12:
        hour += 12
    elif half in AM and hour == 12:
        hour = 0
    minute = int(found["minute"])
    return day.replace(hour=hour, minute=minute) if hour < 24 and minute < 60 else None


def _unquoted(said: _Said) -> _Said:
    """Return a message without the quotes that LINE puts around one of several lines."""
    text = said.text.rstrip()
    if "\n" in text and text.startswith('"') and text.endswith('"'):
        text = text[1:-1].replace('""', '"')
    return said._replace(text=text)
