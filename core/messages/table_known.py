"""Stored messages by what an export calls them (table chat_history_cache): which are there, what they say,
their facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select, update

from ..database.dialects import Time
from ..database.readers import IDS, Reader, read_parts
from ..database.rows import read_object
from ..database.schema import chat_history_cache

_C = chat_history_cache.c
_COLUMNS = (
    _C.id, _C.message_id, _C.audience_id, _C.sender_id, _C.sender_name, _C.timestamp, _C.edited_at, _C.metadata,
    _C.content_hash,
)  # fmt: skip
_HERE = (_C.persona_id == bindparam("persona"), _C.interface_path == bindparam("conversation"))
_BY_ID = select(*_COLUMNS).where(*_HERE, _C.message_id.in_(IDS))
_SENDERS = select(_C.interface_path, _C.message_id, _C.sender_id).where(
    _C.persona_id == bindparam("persona"),
    _C.interface_path > bindparam("low"),
    _C.interface_path < bindparam("high"),
    _C.message_id.in_(IDS),
)
_BY_TIME = select(*_COLUMNS).where(*_HERE, _C.timestamp.in_(bindparam("ids", expanding=True, type_=Time())))
_QUOTED = select(_C.message_id, _C.sender_name, _C.message_text, _C.timestamp).where(*_HERE, _C.message_id.in_(IDS))


class KnownMessage(NamedTuple):
    """A message that is stored."""

    id: int
    message_id: str | None
    audience_id: int
    sender_id: str
    sender_name: str
    at: datetime
    edited_at: datetime | None
    metadata: Mapping[str, Any]
    digest: bytes


class StoredSender(NamedTuple):
    """Where a message of some id is stored, and who said it there."""

    conversation: str
    message_id: str
    sender_id: str


class Quoted(NamedTuple):
    """What a reply shows of the message it answers."""

    message_id: str
    sender_name: str
    text: str
    at: datetime


def read_by_ids(reader: Reader, persona: str, conversation: str, ids: Iterable[str]) -> dict[str, KnownMessage]:
    """Return those of a conversation's messages that are stored, by their id on the platform."""
    rows = read_parts(reader, _BY_ID, {"persona": persona, "conversation": conversation}, ids)
    return {row.message_id: _known(row) for row in rows}


def read_senders(reader: Reader, persona: str, interface: str, ids: Iterable[str]) -> list[StoredSender]:
    """Return who said the messages of these ids, in any conversation of an interface."""
    values = {"persona": persona, "low": f"{interface}/", "high": f"{interface}0"}
    return [StoredSender(*row) for row in read_parts(reader, _SENDERS, values, ids)]


def read_by_times(reader: Reader, persona: str, conversation: str, times: Iterable[datetime]) -> list[KnownMessage]:
    """Return what was said in a conversation at exactly these times, by time and id."""
    rows = read_parts(reader, _BY_TIME, {"persona": persona, "conversation": conversation}, times)
    return sorted(map(_known, rows), key=lambda each: (each.at, each.id))


def read_quoted(reader: Reader, persona: str, conversation: str, ids: Iterable[str]) -> dict[str, Quoted]:
    """Return what messages say that others answer, by their id on the platform."""
    rows = read_parts(reader, _QUOTED, {"persona": persona, "conversation": conversation}, ids)
    return {row[0]: Quoted(row[0], row.sender_name or "", row.message_text, row.timestamp) for row in rows}


def _known(row: Any) -> KnownMessage:
    return KnownMessage(
        row.id, row.message_id, row.audience_id, row.sender_id, row.sender_name or "", row.timestamp, row.edited_at,
        read_object(row.metadata) or {}, bytes(row.content_hash),
    )  # fmt: skip


def update_facts(
    connection: Connection, persona: str, row_id: int, message_id: str, metadata: Mapping[str, Any] | None
) -> None:
    """Give a message another id on its platform and other metadata."""
    values = {"message_id": message_id, "metadata": dict(metadata) if metadata else None}
    connection.execute(update(chat_history_cache).where(_C.persona_id == persona, _C.id == row_id).values(**values))
