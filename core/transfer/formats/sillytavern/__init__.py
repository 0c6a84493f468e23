"""SillyTavern: a chat of its folder `chats`, one JSON object a line, the first one about the chat as a whole.

The first line holds {user_name, character_name, create_date, chat_metadata}, the others {name, is_user, is_system,
send_date, mes, extra, swipes, swipe_id, swipe_info}. One file is one conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ...fields import SPEAKER_BYTES, RefusedError, key_of, read_time, said_type, text_of
from ...files import Member
from ...json_values import BadJson, JsonLine, read_lines
from ...shapes import BLANK, Ending, Fault, Header, Left, Line, Read, Reading, Room, Speaker
from . import header, json_text, lines

_HEADER = frozenset({"user_name", "character_name", "create_date", "chat_metadata"})
_NO_TIME = "messages without send_date, given the time of the message before"
_TOO_MUCH = "lines with over 4 MiB beside the texts, or nested over 100 deep: what has no column here was left out"
_FURTHER = "further headers, left out"


def fits(value: dict[str, Any]) -> bool:
    """Return whether an object is a line of this format."""
    return is_header(value) or "mes" in value


def is_header(value: dict[str, Any]) -> bool:
    """Return whether an object is the line about the chat as a whole."""
    return "mes" not in value and bool(value.keys() & _HEADER)


def read(members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    """Yield the messages of every chat, then what is kept of the chat as a whole."""
    for member in members:
        yield from _Chat(member, reading).read()


class _Chat:
    """One chat that is being read."""

    def __init__(self, member: Member, reading: Reading) -> None:
        privacy = "public" if reading.private is False else "direct"
        self._member = member
        self._reading = reading
        self._room = Room(member.stem, privacy=privacy, keeps_order=True)  # type: ignore[arg-type]
        self._header: Header | None = None
        self._time: datetime | None = None
        self._names = {"user": "User", "persona": "Character"}
        self._headers = 0
        self._before: list[str] = []

    def read(self) -> Iterator[Read]:
        """Yield the messages of the chat, and its ending."""
        for line in read_lines(self._member):
            if isinstance(line.value, BadJson):
                yield Fault(self._member.name, line.value.reason, line.row)
            elif not isinstance(line.value, dict):
                yield Fault(self._member.name, f"the row is {said_type(line.value)}, it must be an object", line.row)
            elif is_header(line.value):
                self._read_header(line)
            else:
                try:
                    yield self._message(line)
                except RefusedError as error:
                    yield Fault(self._member.name, str(error), line.row)
        yield Ending(self._room, self._header, list(self._before))

    def _read_header(self, line: JsonLine) -> None:
        self._headers += 1
        value = line.value
        if self._header is not None:
            self._reading.notes[_FURTHER] += 1
            return
        self._header = header.read(value, json_text.find_style(value, line.text))
        if json_text.keep(self._header.line) is None:
            self._reading.notes[_TOO_MUCH] += 1
        self._time = read_time(value.get("create_date"), self._reading.zone) or self._time
        for role, name in (("user", "user_name"), ("persona", "character_name")):
            said = value.get(name)
            if isinstance(said, str) and said.strip() and said != "unused":  # later versions write `unused`
                self._names[role] = said
                if role == "persona":
                    self._room = replace(self._room, character=said)

    def _message(self, line: JsonLine) -> Read:
        value = line.value
        style = json_text.find_style(value, line.text)
        text = self._text(value)
        if not text.strip():
            self._keep_blank(value, style)
            return Left(BLANK)
        role, is_persona, hidden = lines.read_role(value)
        fallback = self._names["user" if role == "user" else "persona"]
        name = key_of(value.get("name"), "name", SPEAKER_BYTES) or fallback
        time = self._when(value.get("send_date"))
        taken = lines.split_line(value, text)
        return Line(
            place=self._member.name, room=self._room, text=text, at=time,
            speaker=Speaker(name, name, is_assistant=is_persona),
            role=role, hidden=hidden, excluded=taken.excluded,
            metadata=self._metadata(taken.kept) | json_text.style_facts(style), beside=taken.beside, row=line.row,
            index=line.row - 1 - self._headers,
        )  # fmt: skip

    def _text(self, value: dict[str, Any]) -> str:
        said, swipes, chosen = value.get("mes"), value.get("swipes"), value.get("swipe_id")
        if said is None and isinstance(swipes, list) and isinstance(chosen, int) and 0 <= chosen < len(swipes):
            said = swipes[chosen]
        return lines.without_thoughts(text_of(said, "mes"), value)

    def _keep_blank(self, value: dict[str, Any], style: int) -> None:
        line = json_text.keep(value, style)
        room = json_text.KEPT_BYTES - sum(map(len, self._before))
        if line is None or len(line) > room:
            self._reading.notes[_TOO_MUCH] += 1
        else:
            self._before.append(line)

    def _metadata(self, kept: dict[str, Any]) -> dict[str, Any]:
        line, before = json_text.keep(kept), self._before
        self._before = []
        if line is None:
            self._reading.notes[_TOO_MUCH] += 1
        made: dict[str, Any] = {} if line is None else {json_text.KEY: line}
        return made | ({json_text.BEFORE: before} if before else {})

    def _when(self, value: Any) -> datetime:
        if value is None or value == "":
            if self._time is None:
                raise RefusedError("send_date is missing, and no row before it has a time")
            self._reading.notes[_NO_TIME] += 1
            return self._time
        time = read_time(value, self._reading.zone)
        if time is None:
            raise RefusedError("send_date cannot be read")
        self._time = time
        return time
