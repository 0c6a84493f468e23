"""SillyTavern chats (from its folder `chats`): one JSON object per line; the first line is a header.

The first line holds {user_name, character_name, create_date, chat_metadata}, the others {name, is_user, is_system,
send_date, mes, extra, swipes, swipe_id, swipe_info}. One file is one conversation.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ....errors import MessageError
from ....stories.rules_running import Version
from ...fields import SPEAKER_BYTES, key_of, read_time, text_of
from ...files import Member
from ...json_values import read_objects
from ...shapes import BLANK, Ending, Left, Line, Read, Reading, Room, Speaker
from . import header, json_text, lines
from .lines import Said

_HEADER = frozenset({"user_name", "character_name", "create_date", "chat_metadata"})
_NO_TIME = "messages without send_date, given the time of the message before"
_MOVED = "messages whose send_date does not fit their place, given the time of the message before"
_TOO_MUCH = "lines with over 4 MiB beside the texts, or nested over 100 deep: what has no column here was left out"
_FURTHER = "further headers, left out"


def fits(value: dict[str, Any]) -> bool:
    return "mes" in value or bool(value.keys() & _HEADER)


def read(members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    """Yield the messages of every chat, then the data of the whole chat."""
    for member in members:
        yield from _Chat(member, reading).read()


class _Chat:
    def __init__(self, member: Member, reading: Reading) -> None:
        self._member = member
        self._reading = reading
        self._room = Room(member.stem, privacy="public" if reading.private is False else "direct")
        self._header: dict[str, Any] | None = None
        self._versions: tuple[Version, ...] = ()
        self._current: int | None = None
        self._indexes: list[int] = []
        """Positions of the messages in the file, from 0; blank lines are counted, headers are not."""
        self._created: datetime | None = None
        self._time: datetime | None = None
        self._written = ""
        self._names = {"user": "User", "persona": "Character"}
        self._headers = 0
        self._before: list[str] = []

    def read(self) -> Iterator[Read]:
        yield from read_objects(self._member, self._read_line)
        versions = tuple(
            replace(version, prev_scene_index=self._own_index(version.prev_scene_index),
                    new_scene_index=self._own_index(version.new_scene_index))
            for version in self._versions
        )  # fmt: skip
        yield Ending(self._room, self._header, list(self._before), versions, self._current)

    def _read_line(self, row: int, value: dict[str, Any]) -> Read | None:
        if "mes" not in value and value.keys() & _HEADER:
            self._read_header(value)
            return None
        read = self._read_message(row, value)
        if isinstance(read, Line):
            self._indexes.append(row - 1 - self._headers)
        return read

    def _own_index(self, index: int) -> int:
        """Return the conversation's index of the newest message at or before an index of the file; -1 if none."""
        return bisect_right(self._indexes, index) - 1

    def _read_header(self, value: dict[str, Any]) -> None:
        self._headers += 1
        if self._header is not None:
            self._reading.notes[_FURTHER] += 1
            return
        self._header, self._versions, self._current = header.read(value)
        if json_text.keep(self._header) is None:
            self._reading.notes[_TOO_MUCH] += 1
        self._created = read_time(value.get("create_date"), self._reading.zone)
        for role, name in (("user", "user_name"), ("persona", "character_name")):
            shown = value.get(name)
            if isinstance(shown, str) and shown.strip() and shown != "unused":  # later versions write `unused`
                self._names[role] = shown
                if role == "persona":
                    self._room = replace(self._room, character=shown)

    def _read_message(self, row: int, value: dict[str, Any]) -> Read:
        text = self._text(value)
        if not text.strip():
            self._keep_blank(value)
            return Left(BLANK)
        role, is_persona, hidden = lines.read_role(value)
        name = key_of(value.get("name"), "name", SPEAKER_BYTES) or self._names["user" if role == "user" else "persona"]
        written, time = self._read_time(value.get("send_date"))
        message, kept = lines.split_line(value, Said(text, role, name, time, hidden, False, None))
        return Line(
            place=self._member.name, room=self._room, text=text, at=time, role=role, hidden=hidden,
            speaker=Speaker(name, name, is_assistant=is_persona), excluded=message.excluded, beside=message.beside,
            metadata=self._metadata(kept, message), row=row, made_of=written,
        )  # fmt: skip

    def _text(self, value: dict[str, Any]) -> str:
        text, swipes, chosen = value.get("mes"), value.get("swipes"), value.get("swipe_id")
        if text is None and isinstance(swipes, list) and isinstance(chosen, int) and 0 <= chosen < len(swipes):
            text = swipes[chosen]
        return lines.without_thoughts(text_of(text, "mes"), value)

    def _keep_blank(self, value: dict[str, Any]) -> None:
        line = json_text.keep(value)
        if line is None or len(line) > json_text.KEPT_BYTES - sum(map(len, self._before)):
            self._reading.notes[_TOO_MUCH] += 1
        else:
            self._before.append(line)

    def _metadata(self, kept: dict[str, Any], message: Said) -> dict[str, Any]:
        line, before = json_text.keep(kept), self._before
        self._before = []
        if line is None:
            self._reading.notes[_TOO_MUCH] += 1
        digest = None if line is None else message.digest()
        fields = {json_text.KEY: line, json_text.DIGEST: digest, json_text.BEFORE: before}
        return {name: value for name, value in fields.items() if value}

    def _read_time(self, value: Any) -> tuple[str, datetime]:
        """Return the time as written, and the time of the message: at least that of the message above."""
        before = self._time or self._created
        time = read_time(value, self._reading.zone)
        if time is None and value not in (None, ""):
            raise MessageError("send_date cannot be read")
        if time is not None:
            self._written = time.isoformat()
            if time.year <= datetime.now(UTC).year + 1 and (self._time is None or time >= self._time):
                self._time = time
                return self._written, time
        if before is None:
            raise MessageError("send_date is missing, and no row before it has a time")
        self._reading.notes[_NO_TIME if time is None else _MOVED] += 1
        return self._written, before
