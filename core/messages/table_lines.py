"""Messages and conversations as stories read them: what decides about a message, its text, its position."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Integer, bindparam, select

from ..access import table_participants
from ..database.dialects import Time
from ..database.readers import IDS, Reader, read_parts, reader_in
from ..database.rows import read_object
from ..database.schema import chat_history_cache, conversations

AT_ONCE = 500
"""Messages named in one statement."""

_C = chat_history_cache.c
_K = conversations.c
_HERE = (_C.persona_id == bindparam("persona"), _C.interface_path == bindparam("conversation"))
_THESE = (_C.persona_id == bindparam("persona"), _C.id.in_(IDS))


@dataclass(frozen=True, slots=True)
class StoryPlace:
    """A stored conversation."""

    id: int
    audience_id: int
    stories_off: bool
    local_only: bool


_PLACE = select(_K.id, _K.audience_id, _K.stories_off, _K.local_only).where(
    _K.persona_id == bindparam("persona"), _K.conversation_key == bindparam("conversation")
)


def find_place(read: Reader, persona: str, conversation: str) -> StoryPlace | None:
    """Return a stored conversation, None where there is none."""
    for r in read(_PLACE, {"persona": persona, "conversation": conversation}):
        return StoryPlace(r.id, r.audience_id, bool(r.stories_off), bool(r.local_only))
    return None


@dataclass(frozen=True, slots=True)
class Line:
    """A message as stories are made of it."""

    row_id: int
    conversation: str
    at: datetime | None
    role: str
    sender_id: str
    sender_name: str
    excluded: bool
    metadata: Mapping[str, Any]
    text: str = ""
    """Blank where only what decides about the message was read."""
    participant: str | None = None
    """Who said it; None for the persona and where nobody knows. Read with the text."""
    triggered_by: str | None = None
    """Whose turn a line of the persona answers. Read with the text."""


FACTS = (_C.id, _C.interface_path, _C.timestamp, _C.role, _C.sender_id, _C.sender_name, _C.excluded, _C.metadata)
"""Columns `build_line` needs: all but the text, which may hold megabytes."""
_FACTS = select(*FACTS).where(_C.persona_id == bindparam("persona"), _C.id == bindparam("id"))
_LINES = select(*FACTS, _C.message_text, _C.participant_key, _C.triggered_by).where(*_THESE)


def build_line(r: Any, **more: Any) -> Line:
    """Return the message of a row that has the columns `FACTS`."""
    return Line(
        r.id, r.interface_path, r.timestamp, r.role, r.sender_id or "", r.sender_name or "", bool(r.excluded),
        read_object(r.metadata) or {}, **more,
    )  # fmt: skip


def find_facts(read: Reader, persona: str, row_id: int) -> Line | None:
    """Return a message without its text, None where there is none."""
    return next((build_line(r) for r in read(_FACTS, {"persona": persona, "id": row_id})), None)


def read_lines(read: Reader, persona: str, rows: Collection[int]) -> list[Line]:
    """Return messages with their texts, in the order the conversation has them."""
    stored = read_parts(read, _LINES, {"persona": persona}, rows)
    stored.sort(key=lambda r: (r.timestamp is not None, r.timestamp, r.id))
    return [
        build_line(r, text=r.message_text, participant=r.participant_key, triggered_by=r.triggered_by) for r in stored
    ]


_PEOPLE = (
    select(_C.participant_key, _C.sender_id, _C.sender_name, _C.role)
    .where(*_HERE)
    .where(_C.timestamp <= bindparam("at", type_=Time()))
    .order_by(_C.timestamp.desc(), _C.id.desc())
    .limit(bindparam("most", type_=Integer()))
)
PEOPLE_AMONG = 200
"""Messages that are looked at for who speaks in a conversation."""


def has_several_people(read: Reader, persona: str, line: Line) -> bool:
    """Return whether more than one person spoke in the message's conversation lately, up to the message."""
    if line.at is None:
        return False
    here = {"persona": persona, "conversation": line.conversation, "at": line.at, "most": PEOPLE_AMONG}
    return len({r.participant_key or r.sender_id or r.sender_name for r in read(_PEOPLE, here) if r.role == "user"}) > 1


_TEXTS = select(_C.id, _C.message_text).where(*_THESE)


def read_texts(read: Reader, persona: str, rows: Collection[int]) -> dict[int, str]:
    """Return message row to the message's text."""
    return {r.id: r.message_text for r in read_parts(read, _TEXTS, {"persona": persona}, rows)}


_TIMES = select(_C.id, _C.timestamp).where(*_THESE)


def read_times(read: Reader, persona: str, rows: Collection[int]) -> dict[int, datetime | None]:
    """Return message row to when it was said; those that are gone are not in it."""
    return {r.id: r.timestamp for r in read_parts(read, _TIMES, {"persona": persona}, rows)}


_ORDER = select(_C.id).where(*_HERE).order_by(_C.timestamp, _C.id)


def read_order(read: Reader, persona: str, conversation: str) -> tuple[int, ...]:
    """Return the messages of a conversation, oldest first: a message's index is its position. Of the index alone."""
    return tuple(r.id for r in read(_ORDER, {"persona": persona, "conversation": conversation}))


def choose_open(connection: Connection, persona: str, lines: Sequence[Line], default: str) -> list[Line]:
    """Return the lines a text may be made of now: not those of people at level full, nor answers to them."""
    names = {name for line in lines for name in (line.participant, line.triggered_by) if name}
    levels = table_participants.known(connection, persona, names, default) if names else {}
    silent = {name for name, person in levels.items() if person.level == "full"}
    return [
        line
        for line in lines
        if not {line.participant, line.triggered_by} & silent
        and (line.participant or line.role != "user" or default != "full")
    ]


def are_as_read(connection: Connection, persona: str, lines: Sequence[Line], default: str) -> bool:
    """Return whether all these messages are still stored, say what they said, and may be kept."""
    now = read_texts(reader_in(connection), persona, [line.row_id for line in lines])
    same = all(now.get(line.row_id) == line.text for line in lines)
    return same and len(choose_open(connection, persona, lines, default)) == len(lines)
