"""Logs of IRC by irssi, WeeChat, ZNC and HexChat: a message a line, its day beside it, above it or in the name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import TextIO

from ...text.folding import clean
from ..fields import read_time
from ..files import Member
from ..shapes import Fault, Left, Line, Read, Reading, Room, Speaker
from .whatsapp import iter_lines

_LINE = re.compile(
    r"(?:(?P<day>\d{4}-\d\d-\d\d|[A-Z][a-z]{2} [ \d]\d) )?(?P<open>\[)?(?P<clock>\d\d:\d\d(?::\d\d)?)(?(open)\])\s{1,2}"
    r"(?:<[~&@%+ ]?(?P<nick>[^<>\s]{1,64})>\s(?P<said>.*)"
    r"|(?P<service>-!-|\*{3}|-->|<--|--|=!=|-[^\s-]{1,64}-)\s(?P<notice>.*)"
    r"|\*\s(?P<doer>[^\s*]{1,64}) (?P<act>.*)"
    r"|[~&@%+]?(?P<tabbed>[^\t<>* ]{1,64})\t(?P<words>.*))\s*\Z"
)
_DAY = re.compile(r"(?:--- (?:Log opened|Day changed)|\*{4} BEGIN LOGGING AT) \w{3} (?P<month>\w{3}) +(?P<day>\d{1,2}) "
                  r"(?:[\d:]+ )?(?P<year>\d{4})")  # fmt: skip
_NAMED = re.compile(r"[._ -]?(?P<year>\d{4})-?(?P<month>\d\d)-?(?P<day>\d\d)\Z")
_EVENT = re.compile(r"(?:\([^()]*\) )?(?:has (?:joined|left|quit)|is now known as|sets mode|has changed the topic)\b")
_LOOKED_AT = 60


def fits(text: str) -> bool:
    lines = [_LINE.match(line) or _DAY.match(line) for line in text.splitlines()[:_LOOKED_AT]]
    return any(match and (match.re is _DAY or match["nick"] or (match["day"] and match["tabbed"])) for match in lines)


def read(members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    for member in members:
        faults: list[Fault] = []
        name = _NAMED.sub("", member.stem.removesuffix(".weechatlog")) or member.folder or member.stem
        with member.guarded(faults) as stream:
            yield from _read_lines(member, stream, Room(name.replace("/", "_"), name), reading)
        yield from faults


def _read_lines(member: Member, stream: TextIO, room: Room, reading: Reading) -> Iterator[Read]:
    named = _NAMED.search(member.stem)
    day = f"{named['year']}-{named['month']}-{named['day']}" if named else ""
    for number, line in enumerate(iter_lines(stream), 1):
        place, match = f"{member.name}: line {number}", _LINE.match(line)
        if (mark := _DAY.match(line)) and (at := read_time(f"{mark['month']} {mark['day']}, {mark['year']}")):
            day = at.date().isoformat()
        elif match is None:
            if line.strip():
                yield Left("lines of another form")
        else:
            yield _read_line(place, match, _date_of(match["day"] or "", day), room, reading)


def _date_of(written: str, day: str) -> str:
    """Return the date beside a line, else the one above it; without a year the one from that on."""
    if not written or written[0].isdigit():
        return written or day
    at = read_time(f"{written}, {day[:4] or date.today().year}")  # noqa: DTZ011 - a year alone
    return "" if at is None else at.date().isoformat()


def _read_line(place: str, match: re.Match[str], day: str, room: Room, reading: Reading) -> Read:
    written = f"{day}T{match['clock']}"
    at = read_time(written, reading.zone)
    if at is None:
        return Fault(
            place, "no day is known for its time: neither beside it, nor above it, nor in the name of the file"
        )
    name = match["nick"] or match["tabbed"] or match["doer"] or ""
    text = match["said"] or match["words"] or ""
    is_service = bool(match["service"]) or bool(match["doer"] and _EVENT.match(match["act"]))
    if is_service or match["doer"]:
        text = match["notice"] or f"{name} {match['act']}"
    if not text.strip():
        return Left("blank")
    speaker = None if is_service else Speaker(name, name)
    return Line(place, room, clean(text).strip(), at, speaker, made_of=written, is_service=is_service)
