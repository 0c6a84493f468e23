"""Messages as recaps of scenes are made of them, and whether a text may be made of them now."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, select

from ..audience import table_participants as participants
from ..database import readers
from ..database.bulk import chunks
from ..database.readers import Reader
from ..database.rows import read_object
from ..database.schema import chat_history_cache

_AT_ONCE = 500
_C = chat_history_cache.c


@dataclass(frozen=True, slots=True)
class Line:
    """A message of a scene as it is shown to a model."""

    row_id: int
    role: str
    sender_id: str
    sender_name: str
    text: str
    at: datetime | None
    excluded: bool
    metadata: Mapping[str, Any]
    tokens: int | None
    """Of its text, by `counter`; None where it was never counted."""
    counter: str
    participant: str | None = None
    """Who said it; None for the persona and where nobody knows."""
    triggered_by: str | None = None
    """Whose turn a line of the persona answers."""


_LINES = select(
    _C.id, _C.role, _C.sender_id, _C.sender_name, _C.message_text, _C.timestamp, _C.excluded, _C.metadata,
    _C.token_count, _C.token_counter, _C.participant_key, _C.triggered_by,
).where(_C.persona_id == bindparam("persona"), _C.id.in_(bindparam("ids", expanding=True)))  # fmt: skip


def lines(read: Reader, persona: str, rows: Collection[int]) -> list[Line]:
    """Return messages with their texts, in the order the conversation has them."""
    found: list[Any] = []
    for part in chunks(sorted(rows), _AT_ONCE):
        found += read(_LINES, {"persona": persona, "ids": part})
    found.sort(key=lambda r: (r.timestamp is not None, r.timestamp, r.id))
    return [
        Line(
            r.id, r.role, r.sender_id or "", r.sender_name or "", r.message_text, r.timestamp, bool(r.excluded),
            read_object(r.metadata) or {}, r.token_count, r.token_counter or "", r.participant_key, r.triggered_by,
        )
        for r in found
    ]  # fmt: skip


def open_lines(connection: Connection, persona: str, lines: Sequence[Line], default: str) -> list[Line]:
    """Return the lines a text may be made of now: not those of people at level full, nor answers to them.

    Args:
        default: PRIVACY_DEFAULT, the level of people not known and of lines nobody knows who said.
    """
    names = {name for line in lines for name in (line.participant, line.triggered_by) if name}
    silent = {name for name, known in participants.known(connection, persona, names, default).items()
              if known.level == "full"} if names else set()  # fmt: skip
    nobody = default == "full"
    return [
        line
        for line in lines
        if not {line.participant, line.triggered_by} & silent
        and (line.participant or line.role != "user" or not nobody)
    ]


def are_as_read(connection: Connection, persona: str, read: Sequence[Line], default: str) -> bool:
    """Return whether all these messages are still stored, say what they said, and may be kept."""
    now = {line.row_id: line for line in lines(readers.on(connection), persona, [line.row_id for line in read])}
    same = all(line.row_id in now and now[line.row_id].text == line.text for line in read)
    return same and len(open_lines(connection, persona, read, default)) == len(read)


_TIMES = select(_C.id, _C.timestamp).where(
    _C.persona_id == bindparam("persona"), _C.id.in_(bindparam("ids", expanding=True))
)


def times(read: Reader, persona: str, rows: Collection[int]) -> dict[int, datetime | None]:
    """Return message row to when it was said."""
    found: dict[int, datetime | None] = {}
    for part in chunks(sorted(rows), _AT_ONCE):
        found |= {r.id: r.timestamp for r in read(_TIMES, {"persona": persona, "ids": part})}
    return found
