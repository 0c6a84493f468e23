"""Format `sillytavern`: a chat of SillyTavern, one JSON object a line, the first one about the chat as a whole.

The first line holds {user_name, character_name, create_date, chat_metadata}, the others {name, is_user, is_system,
send_date, mes, extra, swipes, swipe_id, swipe_info}. One file is one conversation.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Any

from ..records import (
    SPEAKER_BYTES,
    Header,
    Ids,
    Problem,
    Read,
    Record,
    RefusedError,
    Skipped,
    key_of,
    text_of,
)
from ..send_dates import read_time
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


class TavernReader:
    """Reads the format `sillytavern`."""

    format = "sillytavern"
    keeps_order = True
    text = ""

    def __init__(self, zone: tzinfo = UTC) -> None:
        self.notes: dict[str, int] = {}
        self.header: Header | None = None
        self._zone = zone
        self._ids = Ids(anywhere=True)
        self._time: datetime | None = None
        self._names = {"user": "User", "persona": "Character"}
        self._headers = 0
        self._before: list[str] = []

    def read(self, row: int, value: dict[str, Any]) -> Read:
        """Return the record of a row, or why there is none."""
        if is_header(value):
            return self._header(row, value)
        try:
            return self._message(row, value)
        except RefusedError as error:
            return Problem(row, str(error))

    def after(self) -> list[str]:
        """Return the lines behind the last message that hold none, as they are kept."""
        return list(self._before)

    def _header(self, row: int, value: dict[str, Any]) -> Skipped:
        self._headers += 1
        if self.header is not None:
            self._note(_FURTHER, 1)
            return Skipped(row, "header")
        self.header = header.read(value, json_text.find_style(value, self.text))
        if json_text.keep(self.header.line) is None:
            self._note(_TOO_MUCH, 1)
        self._time = read_time(value.get("create_date"), self._zone) or self._time
        for role, name in (("user", "user_name"), ("persona", "character_name")):
            said = value.get(name)
            if isinstance(said, str) and said.strip() and said != "unused":  # later versions write `unused`
                self._names[role] = said
        return Skipped(row, "header")

    def _message(self, row: int, value: dict[str, Any]) -> Read:
        text = self._text(value)
        if not text.strip():
            self._keep_blank(value)
            return Skipped(row, "empty")
        role, is_persona, hidden = lines.who(value)
        fallback = self._names["user" if role == "user" else "persona"]
        speaker = key_of(value.get("name"), "name", SPEAKER_BYTES) or fallback
        time = self._when(value.get("send_date"))
        taken = lines.take(value, text)
        return Record(
            row=row,
            conversation="",
            speaker=speaker,
            text=text,
            time=time,
            message_id=self._ids.make(time, speaker, role, text),
            role=role,
            is_persona=is_persona,
            hidden=hidden,
            excluded=taken.excluded,
            metadata=self._metadata(taken.kept) | json_text.style_facts(json_text.find_style(value, self.text)),
            beside=taken.beside,
            index=row - 1 - self._headers,
        )

    def _text(self, value: dict[str, Any]) -> str:
        said, swipes, chosen = value.get("mes"), value.get("swipes"), value.get("swipe_id")
        if said is None and isinstance(swipes, list) and isinstance(chosen, int) and 0 <= chosen < len(swipes):
            said = swipes[chosen]
        return lines.without_thoughts(text_of(said, "mes"), value)

    def _keep_blank(self, value: dict[str, Any]) -> None:
        line = json_text.keep(value, json_text.find_style(value, self.text))
        room = json_text.KEPT_BYTES - sum(map(len, self._before))
        if line is None or len(line) > room:
            self._note(_TOO_MUCH, 1)
        else:
            self._before.append(line)

    def _metadata(self, kept: dict[str, Any]) -> dict[str, Any]:
        line, before = json_text.keep(kept), self._before
        self._before = []
        if line is None:
            self._note(_TOO_MUCH, 1)
        made: dict[str, Any] = {} if line is None else {json_text.KEY: line}
        return made | ({json_text.BEFORE: before} if before else {})

    def _when(self, value: Any) -> datetime:
        if value is None or value == "":
            if self._time is None:
                raise RefusedError("send_date is missing, and no row before it has a time")
            self._note(_NO_TIME, 1)
            return self._time
        time = read_time(value, self._zone)
        if time is None:
            raise RefusedError("send_date cannot be read")
        self._time = time
        return time

    def _note(self, text: str, count: int) -> None:
        self.notes[text] = self.notes.get(text, 0) + count
