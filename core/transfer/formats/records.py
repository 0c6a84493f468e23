"""This package's own JSON lines: {conversation, session, id, timestamp, speaker, speaker_id, text}."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ...errors import MessageError
from ...scope import KEY_BYTES, MESSAGE_ID_BYTES
from ..fields import SPEAKER_BYTES, key_of, read_time, text_of
from ..files import Member
from ..json_values import read_objects
from ..shapes import BLANK, Left, Line, Read, Reading, Room, Speaker

_FIELDS = frozenset({"conversation", "session", "id", "timestamp", "speaker", "speaker_id", "text"})
_OF_ITEMS = frozenset({"kind", "tier", "memory", "importance"})


def fits(value: dict[str, Any]) -> bool:
    """Return whether an object has the fields of a message in this format and is not a memory item."""
    if "text" not in value or (value.keys() & _OF_ITEMS and "speaker" not in value):
        return False
    return bool(value.keys() & {"speaker", "conversation", "timestamp"})


def read(members: Sequence[Member], reading: Reading) -> Iterator[Read]:
    """Yield the messages of every file; `session` and unknown fields become message metadata."""
    for member in members:
        yield from read_objects(member, partial(_message, member, reading))


def _message(member: Member, reading: Reading, row: int, value: dict[str, Any]) -> Line | Left:
    text = text_of(value.get("text"), "text")
    if not text.strip():
        return Left(BLANK)
    conversation = key_of(value.get("conversation"), "conversation", KEY_BYTES["conversation"])
    speaker = key_of(value.get("speaker"), "speaker", SPEAKER_BYTES)
    if not speaker.strip():
        raise MessageError("speaker is blank. A name is needed here")
    if value.get("timestamp") is None:
        raise MessageError("timestamp is missing")
    time = read_time(value["timestamp"], reading.zone)
    if time is None:
        raise MessageError("timestamp cannot be read, it must be ISO 8601 such as 2026-03-10T12:00:00Z")
    metadata = {name: field for name, field in value.items() if name not in _FIELDS}
    if value.get("session") is not None:
        metadata["session"] = value["session"]
    return Line(
        place=member.name, room=Room(conversation or member.stem, privacy="direct" if reading.private else "public"),
        text=text, at=time, metadata=metadata, row=row,
        speaker=Speaker(key_of(value.get("speaker_id"), "speaker_id", SPEAKER_BYTES) or speaker, speaker),
        id=key_of(value.get("id"), "id", MESSAGE_ID_BYTES),
    )  # fmt: skip
