"""Chats as plain text: LINE, and the Markdown that signal-export writes of Signal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ...text.folding import clean
from ..fields import build_metadata
from ..files import Member
from ..shapes import Fault, Left, Line, Read, Reading, Room, Speaker
from .whatsapp import HALVES, UnclearError, find_order, read_clock

_LOOKED_AT = 60


class _Message(NamedTuple):
    number: int
    """Of its first line."""
    at: datetime
    """As it is written, of the zone of the one who reads."""
    name: str
    """Blank for a line of the program."""
    text: str


def _lines(member: Member, messages: Sequence[_Message], reading: Reading, title: str) -> Iterator[Read]:
    people = {each.name for each in messages if each.name}
    room = Room(title.replace("/", "_") or "chat", title, "direct" if len(people) <= 2 else "restricted")
    for each in messages:
        text, metadata = _without_marks(each.text)
        if not text.strip():
            yield Left("pictures, files or stickers without a word")
            continue
        yield Line(
            place=f"{member.name}: line {each.number}", room=room, text=clean(text).strip(),
            at=each.at.replace(tzinfo=reading.zone).astimezone(UTC), is_service=not each.name, metadata=metadata,
            speaker=Speaker(each.name, each.name) if each.name else None, made_of=each.at.isoformat(),
        )  # fmt: skip


_REACTIONS = re.compile(r"\n\(- (?P<all>[^\n]{1,2000}) -\)\s*\Z")
_FILES = re.compile(r"!?\[(?P<name>[^\[\]\n]{1,255})\]\(\.{1,2}/[^()\n]{1,500}\)[ ]{0,2}")
_PLACEHOLDER = re.compile(r"\s*\[[^\[\]\n]{2,30}\]\s*\Z|\A\(This message was deleted\)\Z")
"""A text that is nothing but a picture or sticker, and one that was deleted."""


def _without_marks(text: str) -> tuple[str, dict[str, Any]]:
    """Return what was said, and what a program writes into it: reactions, names of files, placeholders."""
    reactions = _REACTIONS.search(text)
    signs = [(each.rpartition(": ")[2], 1) for each in reactions["all"].split(", ")] if reactions else []
    text = _REACTIONS.sub("", text)
    files = [{"name": match["name"]} for match in _FILES.finditer(text)]
    return _PLACEHOLDER.sub("", _FILES.sub("", text)), build_metadata(files, signs)


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
        messages: list[_Message] = []
        faults: list[Fault] = []
        with member.guarded(faults) as stream:
            for number, line in enumerate(stream, 1):
                message = _read_signal_line(number, line.rstrip("\r\n"))
                if message is not None:
                    messages.append(message)
                elif messages:
                    messages[-1] = messages[-1]._replace(text=f"{messages[-1].text}\n{line.rstrip()}")
                elif line.strip():
                    yield Fault(f"{member.name}: line {number}", "it stands before the first message")
        messages = [each._replace(text=each.text.rstrip()) for each in messages]
        yield from _lines(member, messages, reading, member.folder or member.stem)
        yield from faults


def _read_signal_line(number: int, line: str) -> _Message | None:
    if match := _SIGNAL.match(line):
        with suppress(ValueError):
            at = datetime.fromisoformat(match["at"].replace(", ", " "))
            return _Message(number, at, match["name"].strip(), match["text"])
    return None


# LINE

_DAY = re.compile(
    r"(?:(?P<weekday>[A-Z][a-z]{2}), )?(?P<a>\d{1,4})[./](?P<b>\d{1,2})[./](?P<c>\d{1,4})"
    r"(?: ?\(?[^\d\t]{1,12}\)?)?\s*\Z"
)
_SAID = re.compile(
    rf"(?:(?P<before>{HALVES})\s*)?(?P<hour>\d{{1,2}}):(?P<minute>\d\d)\s?(?P<after>{HALVES})?\t(?P<rest>.*)",
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
            order = _find_order([match for line in lines if (match := _DAY.match(line))], reading.day_first)
        except UnclearError as error:
            yield Fault(member.name, str(error))
            continue
        match = _TITLE.match(lines[0]) if lines else None
        title = next((name.strip() for name in match.groups() if name), "") if match else ""
        yield from _lines(member, list(_read_days(lines, order)), reading, title or member.stem)
        yield from faults


def _find_order(days: Sequence[re.Match[str]], day_first: bool | None) -> str:
    """Return the order of day, month and year: the one in which the weekdays beside them fit, else as for WhatsApp."""
    votes = Counter(
        order
        for day in days
        for order in ("dmy", "mdy")
        if day["weekday"] in _WEEKDAYS and (date := _date(day, order)) and _WEEKDAYS[date.weekday()] == day["weekday"]
    )
    if votes and day_first is None:
        return votes.most_common(1)[0][0]
    return find_order([(int(day["a"]), int(day["b"]), int(day["c"])) for day in days], "/", day_first)


def _date(day: re.Match[str], order: str) -> datetime | None:
    named = dict(zip(order, (int(day["a"]), int(day["b"]), int(day["c"])), strict=True))
    with suppress(ValueError):
        return datetime(named["y"], named["m"], named["d"])  # noqa: DTZ001 - the reader's zone is put in later
    return None


def _read_days(lines: Sequence[str], order: str) -> Iterator[_Message]:
    day: datetime | None = None
    begun: _Message | None = None
    for number, line in enumerate(lines, 1):
        match = _SAID.match(line) if day is not None else None
        clock = read_clock(match["hour"], match["minute"], None, match["before"] or match["after"]) if match else None
        if day is not None and match and clock is not None:
            if begun is not None:
                yield _unquoted(begun)
            name, tab, text = match["rest"].partition("\t")
            begun = _Message(number, datetime.combine(day, clock), name.strip() if tab else "", text if tab else name)
        elif (match := _DAY.match(line)) and (date := _date(match, order)) is not None:
            day = date
        elif begun is not None:
            begun = begun._replace(text=f"{begun.text}\n{line}")
    if begun is not None:
        yield _unquoted(begun)


def _unquoted(message: _Message) -> _Message:
    """Return a message without the quotes that LINE puts around one of several lines."""
    text = message.text.rstrip()
    if "\n" in text and text.startswith('"') and text.endswith('"'):
        text = text[1:-1].replace('""', '"')
    return message._replace(text=text)
