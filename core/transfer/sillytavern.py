"""Format `sillytavern`: a chat of SillyTavern, one JSON object a line, the first one about the chat as a whole.

The first line holds {user_name, character_name, create_date, chat_metadata}, the others {name, is_user, is_system,
send_date, mes, swipes, swipe_id, extra}. One file is one conversation.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Any

from core.shapes import Role
from core.transfer.records import SPEAKER_BYTES, Ids, Problem, Read, Record, RefusedError, Skipped, key_of, text_of
from core.transfer.send_dates import read_time

_HEADER = frozenset({"user_name", "character_name", "create_date", "chat_metadata"})
_OWN_TYPES: dict[str, Role] = {"narrator": "narrator", "comment": "system"}
"""`extra.type` of messages that no participant said."""
_OTHER_ALTERNATIVES = "alternatives (swipes) that were not chosen there, left out"
_NO_TIME = "messages without send_date, given the time of the message before"


def fits(value: dict[str, Any]) -> bool:
    """Return whether an object is a line of this format.

    >>> fits({"user_name": "Ann", "character_name": "Iris"}), fits({"name": "Ann", "mes": "hi"}), fits({"text": "hi"})
    (True, True, False)
    """
    return is_header(value) or "mes" in value


def is_header(value: dict[str, Any]) -> bool:
    """Return whether an object is the line about the chat as a whole."""
    return "mes" not in value and bool(value.keys() & _HEADER)


class TavernReader:
    """Reads the format `sillytavern`.

    A message counts as the persona's when it is neither the user's nor the system's; one that was hidden in SillyTavern
    is imported hidden; the alternative chosen there is the text.
    """

    format = "sillytavern"

    def __init__(self, zone: tzinfo = UTC) -> None:
        self.notes: dict[str, int] = {}
        self._zone = zone
        self._ids = Ids()
        self._time: datetime | None = None
        self._names = {"user": "User", "persona": "Character"}

    def read(self, row: int, value: dict[str, Any]) -> Read:
        """Return the record of a row, or why there is none."""
        if is_header(value):
            return self._header(row, value)
        try:
            return self._message(row, value)
        except RefusedError as error:
            return Problem(row, str(error))

    def _header(self, row: int, value: dict[str, Any]) -> Skipped:
        self._time = read_time(value.get("create_date"), self._zone) or self._time
        for role, name in (("user", "user_name"), ("persona", "character_name")):
            said = value.get(name)
            if isinstance(said, str) and said.strip() and said != "unused":  # later versions write `unused`
                self._names[role] = said
        return Skipped(row, "header")

    def _message(self, row: int, value: dict[str, Any]) -> Read:
        text = self._text(value)
        if not text.strip():
            return Skipped(row, "empty")
        role, is_persona, hidden = _who(value)
        fallback = self._names["user" if role == "user" else "persona"]
        speaker = key_of(value.get("name"), "name", SPEAKER_BYTES) or fallback
        time = self._when(value.get("send_date"))
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
        )

    def _text(self, value: dict[str, Any]) -> str:
        swipes = value.get("swipes")
        chosen = value.get("swipe_id")
        if not isinstance(swipes, list):
            swipes = []
        if len(swipes) > 1:
            self._note(_OTHER_ALTERNATIVES, len(swipes) - 1)
        said = value.get("mes")
        if said is None and isinstance(chosen, int) and 0 <= chosen < len(swipes):
            said = swipes[chosen]
        return text_of(said, "mes")

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


def _who(value: dict[str, Any]) -> tuple[Role, bool, bool]:
    """Return `(role, whether it is the persona, whether it is hidden)`.

    Hiding a message in SillyTavern sets `is_system` on it; what the program itself says has a type in `extra`.

    >>> _who({"is_user": False}), _who({"is_user": True, "is_system": True})
    (('persona', True, False), ('user', False, True))
    >>> _who({"is_user": False, "is_system": False, "extra": {"type": "narrator"}})
    ('narrator', False, False)
    """
    for name in ("is_user", "is_system"):
        if not isinstance(value.get(name), (bool, int, type(None))):
            raise RefusedError(f"{name} is no switch, it must be true or false")
    extra = value.get("extra")
    kind = extra.get("type") if isinstance(extra, dict) else None
    hidden = bool(value.get("is_system"))
    if value.get("is_user"):
        return "user", False, hidden
    if isinstance(kind, str) and kind in _OWN_TYPES:
        return _OWN_TYPES[kind], False, hidden
    if hidden and kind:
        return "system", False, hidden
    return "persona", True, hidden
