"""Format `records`: one JSON object a line, {conversation, session, id, timestamp, speaker, text}."""

from __future__ import annotations

from datetime import UTC, tzinfo
from typing import Any

from ..scope import KEY_BYTES
from .records import (
    MESSAGE_ID_BYTES,
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
from .send_dates import read_time

_FIELDS = frozenset({"conversation", "session", "id", "timestamp", "speaker", "text"})


def fits(value: dict[str, Any]) -> bool:
    """Return whether an object is one of this format."""
    return "text" in value and bool(value.keys() & {"speaker", "conversation", "timestamp"})


class RecordReader:
    """Reads the format `records`. Unknown fields are kept in the message's metadata, `session` with them."""

    format = "records"
    keeps_order = False
    header: Header | None = None
    text = ""

    def __init__(self, zone: tzinfo = UTC) -> None:
        self.notes: dict[str, int] = {}
        self._zone = zone
        self._ids = Ids()

    def read(self, row: int, value: dict[str, Any]) -> Read:
        """Return the record of a row, or why there is none."""
        try:
            return self._read(row, value)
        except RefusedError as error:
            return Problem(row, str(error))

    def after(self) -> list[str]:
        """Return nothing: all lines hold messages."""
        return []

    def _read(self, row: int, value: dict[str, Any]) -> Read:
        text = text_of(value.get("text"), "text")
        if not text.strip():
            return Skipped(row, "empty")
        conversation = key_of(value.get("conversation"), "conversation", KEY_BYTES["conversation"])
        speaker = key_of(value.get("speaker"), "speaker", SPEAKER_BYTES)
        if not speaker.strip():
            raise RefusedError("speaker is blank. A name is needed here")
        if value.get("timestamp") is None:
            raise RefusedError("timestamp is missing")
        time = read_time(value["timestamp"], self._zone)
        if time is None:
            raise RefusedError("timestamp cannot be read, it must be ISO 8601 such as 2026-03-10T12:00:00Z")
        message_id = key_of(value.get("id"), "id", MESSAGE_ID_BYTES)
        metadata = {name: held for name, held in value.items() if name not in _FIELDS}
        if value.get("session") is not None:
            metadata["session"] = value["session"]
        return Record(
            row=row,
            conversation=conversation,
            speaker=speaker,
            text=text,
            time=time,
            message_id=message_id or self._ids.make(time, conversation, speaker, text),
            metadata=metadata,
        )
