"""Conversations that end: closed, the messages they end with, what waits to be summarised, rows that follow."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Integer, and_, bindparam, func, or_, select, update

from ..database.bulk import chunks
from ..database.dialects import Time
from ..database.engine import Database
from ..database.rows import read_object
from ..database.schema import chat_history_cache, conversations, memory_jobs
from ..jobs import rules as jobs_rules
from ..messages import new_message
from ..messages.new_message import NewMessage
from ..messages.table_batches import Seen
from ..scope import Scope
from .rules_summaries import Line

OPERATION = "CONVERSATION_SUMMARY"
_C, _K, _J = chat_history_cache.c, conversations.c, memory_jobs.c
_HERE = and_(_C.persona_id == bindparam("persona"), _C.interface_path == bindparam("conversation"))
_NOT_SAID = ("system", "narrator", "thought")


def close_conversation(connection: Connection, persona: str, conversation: str, now: datetime) -> bool:
    """Mark a conversation closed; False where it is not known or closed already. The caller holds it."""
    change = update(conversations).where(
        _K.persona_id == persona, _K.conversation_key == conversation, _K.status != "closed"
    )
    return bool(connection.execute(change.values(status="closed", closed_at=now)).rowcount)


def is_closed(connection: Connection, persona: str, conversation: str, at: datetime) -> bool:
    """Return whether a conversation was closed at exactly this moment."""
    same = select(_K.id).where(_K.persona_id == persona, _K.conversation_key == conversation, _K.closed_at == at)
    return connection.execute(same).first() is not None


# What was said

LINE_COLUMNS = (
    _C.id, _C.message_text, _C.sender_name, _C.participant_key, _C.triggered_by, _C.role, _C.timestamp,
    _C.message_id, _C.sender_id,
)  # fmt: skip


def build_line(row: Any) -> Line:
    """Return a row of `LINE_COLUMNS`."""
    return Line(
        row.message_text,
        row.sender_name or "",
        row.participant_key,
        row.triggered_by,
        row.role == "persona",
        row.timestamp,
        row.message_id,
        row.sender_id or "",
        row.id,
    )


_SAID = and_(_C.excluded == 0, _C.role.not_in(_NOT_SAID))
_LAST = select(*LINE_COLUMNS).where(_HERE, _SAID).order_by(_C.timestamp.desc(), _C.id.desc()).limit(1)
_ROW = select(_C.timestamp).where(_C.persona_id == bindparam("persona"), _C.id == bindparam("last"))
_UP_TO = (
    select(*LINE_COLUMNS)
    .where(
        _HERE,
        _SAID,
        or_(
            _C.timestamp < bindparam("at", type_=Time()),
            and_(_C.timestamp == bindparam("at", type_=Time()), _C.id <= bindparam("last")),
        ),
    )
    .order_by(_C.timestamp.desc(), _C.id.desc())
    .limit(bindparam("most", type_=Integer()))
)
_BY_ID = select(*LINE_COLUMNS).where(_HERE, _C.id.in_(bindparam("ids", expanding=True))).order_by(_C.timestamp, _C.id)


def find_last_line(connection: Connection, persona: str, conversation: str) -> Line | None:
    """Return the newest message that somebody said, None where there is none."""
    row = connection.execute(_LAST, {"persona": persona, "conversation": conversation}).first()
    return None if row is None else build_line(row)


def read_lines_up_to(db: Database, persona: str, conversation: str, last: int, most: int) -> list[Line]:
    """Return the newest messages up to one of the conversation, oldest first; none where that one is gone."""
    ends = db.read(_ROW, {"persona": persona, "last": last}, source="chat_history_cache")
    if not ends:
        return []
    values = {"persona": persona, "conversation": conversation, "last": last, "at": ends[0].timestamp, "most": most}
    rows = db.read(_UP_TO, values, source="chat_history_cache")
    return [build_line(row) for row in reversed(rows)]


def read_lines(db: Database, persona: str, conversation: str, ids: Sequence[int]) -> dict[int, Line]:
    """Return the messages of these rows that are there, by id."""
    lines: dict[int, Line] = {}
    for part in chunks(sorted(set(ids)), 500):
        values = {"persona": persona, "conversation": conversation, "ids": part}
        lines |= {row.id: build_line(row) for row in db.read(_BY_ID, values, source="chat_history_cache")}
    return lines


def are_stored(connection: Connection, persona: str, ids: Collection[int]) -> bool:
    """Return whether all these messages are still stored."""
    wanted = sorted(set(ids))
    count = 0
    for part in chunks(wanted, 500):
        there = select(func.count()).where(_C.persona_id == persona, _C.id.in_(part))
        count += int(connection.execute(there).scalar_one())
    return count == len(wanted)


def find_stored_rows(connection: Connection, scope: Scope, lines: Sequence[Line], now: datetime) -> list[int | None]:
    """Return for each message handed in the row it is stored in, None for one that is not."""
    read = [(at, _message(scope, line, now)) for at, line in enumerate(lines)]
    known = [(at, message) for at, message in read if message is not None]
    rows: list[int | None] = [None] * len(lines)
    if known:
        seen = Seen.read(connection, scope.persona, scope.conversation or "", [message for _, message in known])
        for at, message in known:
            rows[at] = seen.double_of(message)
    return rows


def _message(scope: Scope, line: Line, now: datetime) -> NewMessage | None:
    return new_message.read_message(
        scope,
        scope.conversation,
        line.text,
        now=now,
        sender_name=line.who[: new_message.NAME_CHARS],
        sender_id="self" if line.is_persona else line.sender_id,
        timestamp=line.at,
        message_id=line.message_id,
        role="persona" if line.is_persona else "user",
    )


# What waits

_OPEN = select(_J.payload).where(
    _J.persona_id == bindparam("persona"),
    _J.conversation_key == bindparam("conversation"),
    _J.type == OPERATION,
    _J.status.in_(jobs_rules.OPEN),
)


def read_waiting(connection: Connection, persona: str, conversation: str) -> list[Mapping[str, Any]]:
    """Return the payloads of summaries of a conversation that are still to be made; the caller holds it."""
    texts = connection.execute(_OPEN, {"persona": persona, "conversation": conversation}).scalars()
    return [payload for text in texts if (payload := read_object(text)) is not None]
