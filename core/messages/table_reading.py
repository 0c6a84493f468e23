"""Reading what was said (table chat_history_cache): the newest of one conversation, of a level, over conversations;
a whole conversation a page at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Integer, and_, bindparam, func, or_, select

from ..access.rules import plain_key
from ..database.dialects import Key, Time
from ..database.engine import Database
from ..database.readers import Reader
from ..database.rows import read_object
from ..database.schema import chat_history_cache, conversations, message_recaps
from ..errors import MessageError
from ..scope import KEY_BYTES, key_text
from .new_message import MESSAGE_ID_BYTES, PERSONA_ROLES
from .table_recaps import OWN

_C = chat_history_cache.c
_COLUMNS = (
    _C.id, _C.interface_path, _C.role, _C.sender_name, _C.sender_id, _C.message_text, _C.timestamp, _C.hidden,
    _C.excluded, _C.metadata,
)  # fmt: skip


class Line(NamedTuple):
    """A stored message as the log gives it."""

    id: int
    conversation: str
    sender_name: str
    sender_id: str
    role: str
    text: str
    at: datetime | None
    hidden: bool
    excluded: bool
    metadata: dict[str, Any] | None


def _line(row: Any) -> Line:
    return Line(
        row.id, row.interface_path, row.sender_name or "", row.sender_id or "", row.role, row.message_text,
        row.timestamp, bool(row.hidden), bool(row.excluded), read_object(row.metadata),
    )  # fmt: skip


class Stats(NamedTuple):
    """How much of the log is visible."""

    messages: int
    conversations: int
    oldest: datetime | None
    newest: datetime | None


def _where(level: bool, anywhere: bool, local: bool) -> list[Any]:
    where: list[Any] = [_C.persona_id == bindparam("persona")]
    if not anywhere:
        here: Any = _C.interface_path == bindparam("conversation")
        low, high = bindparam("low", type_=Key(520)), bindparam("high", type_=Key(520))
        below = and_(_C.interface_path >= low, _C.interface_path < high)
        where.append(or_(here, below) if level else here)
    where.append(_C.audience_id.in_(bindparam("audiences", expanding=True)))
    if not local:
        k = conversations.c
        # A value for each row, not EXISTS: MariaDB makes a list of all conversations out of that.
        closed = select(k.local_only).where(k.persona_id == _C.persona_id, k.conversation_key == _C.interface_path)
        where.append(func.coalesce(closed.scalar_subquery(), 0) == 0)
    return where


@lru_cache(maxsize=16)
def _newest(level: bool, anywhere: bool, local: bool) -> Any:
    limit = bindparam("most", type_=Integer())
    chosen = select(*_COLUMNS).where(*_where(level, anywhere, local))
    return chosen.order_by(_C.timestamp.desc(), _C.id.desc()).limit(limit)


def read_newest(
    db: Database,
    persona: str,
    audiences: Sequence[int],
    limit: int,
    *,
    conversation: str | None = None,
    level: bool = False,
    local: bool = False,
) -> list[Line]:
    """Return the newest visible messages, oldest of them first; of one instant the one stored first stands first."""
    room = plain_key(conversation or "")
    values = {"persona": persona, "most": limit, "conversation": conversation, "low": f"{room}/", "high": f"{room}0"}
    statement = _newest(level and conversation is not None, conversation is None, local)
    # Over all conversations each audience is walked by itself, along its index, to its newest rows.
    parts = [[each] for each in audiences] if conversation is None and len(audiences) <= 8 else [list(audiences)]
    rows: list[Any] = []
    for part in parts:
        rows += db.read(statement, {**values, "audiences": part}, source="chat_history_cache")
    lines = [_line(row) for row in rows]
    lines.sort(key=lambda line: (line.at is not None, line.at, line.id))
    return lines[-limit:]


@lru_cache(maxsize=2)
def _stats(local: bool) -> Any:
    paths = func.count(_C.interface_path.distinct())
    return select(func.count(), paths, func.min(_C.timestamp), func.max(_C.timestamp)).where(
        *_where(False, True, local)
    )


def read_stats(db: Database, persona: str, audiences: Sequence[int], *, local: bool = False) -> Stats:
    """Return how many messages are visible, in how many conversations, the oldest and newest time."""
    values = {"persona": persona, "audiences": list(audiences)}
    return Stats(*db.read(_stats(local), values, source="chat_history_cache")[0])


_ONE = select(_C.id, _C.interface_path, _C.timestamp).where(_C.persona_id == bindparam("persona"))
_BY_ROW = _ONE.where(_C.id == bindparam("id"))
_BY_MESSAGE = _ONE.where(_C.interface_path == bindparam("conversation"), _C.message_id == bindparam("message_id"))
_QUOTED = select(_C.message_text, _C.sender_name, _C.sender_id, _C.timestamp, _C.role).where(
    _C.persona_id == bindparam("persona"), _C.id == bindparam("id")
)


def find_message(db: Database, persona: str, conversation: str, message_id: str) -> Any:
    """Return id, interface_path and timestamp of the message a platform knows by this id, None where there is none."""
    values = {"persona": persona, "conversation": conversation, "message_id": message_id}
    return next(iter(db.read(_BY_MESSAGE, values, source="chat_history_cache")), None)


def find_named(db: Database, persona: str, message: object, interface_path: object) -> tuple[int, str] | None:
    """Return `(row id, conversation)` of the message a host names, None where there is none."""
    if interface_path is not None:
        key = key_text(interface_path, "interface_path", KEY_BYTES["conversation"], required=True)
        row = find_message(db, persona, key, key_text(message, "message_id", MESSAGE_ID_BYTES))
    elif isinstance(message, bool) or not isinstance(message, int):
        raise MessageError.of_type(
            "message",
            message,
            "the row id that saving returned, or the platform's message id together with interface_path",
        )
    else:
        values = {"persona": persona, "id": message if 0 <= message < 2**63 else -1}
        row = next(iter(db.read(_BY_ROW, values, source="chat_history_cache")), None)
    return None if row is None else (row.id, row.interface_path)


def find_quoted(db: Database, persona: str, conversation: object, message_id: object) -> dict[str, str] | None:
    """Return text, username and timestamp of the message the host knows by this id; None where there is none."""
    place = find_named(db, persona, message_id, conversation)
    if place is None:
        return None
    for row in db.read(_QUOTED, {"persona": persona, "id": place[0]}, source="chat_history_cache"):
        return {
            "text": row.message_text,
            "username": row.sender_name or row.sender_id,
            "timestamp": row.timestamp.isoformat() if row.timestamp else "",
            "role": "persona" if row.role in PERSONA_ROLES else "user",
        }
    return None


# Every message of a conversation, a page at a time, for an export; hidden and excluded ones too


PAGE = 100
"""Messages read at once: few, since each may hold megabytes."""

_HERE = (
    _C.persona_id == bindparam("persona"),
    _C.interface_path == bindparam("conversation"),
    _C.audience_id.in_(bindparam("audiences", expanding=True)),
)
_AT: Any = bindparam("at", type_=Time())
_AFTER = and_(_C.timestamp >= _AT, or_(_C.timestamp > _AT, and_(_C.timestamp == _AT, _C.id > bindparam("row"))))
_IN_ORDER = (_C.timestamp, _C.id)
_FIRST = select(*_COLUMNS).where(*_HERE).order_by(*_IN_ORDER).limit(PAGE)
_METADATA = select(_C.id, _C.timestamp, _C.metadata).where(*_HERE).order_by(*_IN_ORDER).limit(PAGE)


def _pages(
    read: Reader, persona: str, conversation: str, audiences: Collection[int], statement: Any
) -> Iterator[list[Any]]:
    values: dict[str, Any] = {"persona": persona, "conversation": conversation, "audiences": sorted(audiences)}
    following = statement.where(_AFTER)
    while page := read(statement, values):
        yield list(page)
        if len(page) < PAGE:
            return
        statement, values = following, {**values, "at": page[-1].timestamp, "row": page[-1].id}


def read_pages(read: Reader, persona: str, conversation: str, audiences: Collection[int]) -> Iterator[list[Line]]:
    """Yield the messages of a conversation in pages, oldest first."""
    for page in _pages(read, persona, conversation, audiences, _FIRST):
        yield [_line(row) for row in page]


def read_metadata(
    read: Reader, persona: str, conversation: str, audiences: Collection[int]
) -> Iterator[dict[str, Any] | None]:
    """Yield the metadata of the messages of a conversation, oldest first."""
    for page in _pages(read, persona, conversation, audiences, _METADATA):
        for r in page:
            yield read_object(r.metadata)


# The log as an operator reads it, page by page, with the recap that lies on each message

_R = message_recaps.c


class LoggedLine(NamedTuple):
    """One message."""

    id: int
    sender: str
    """As they were called then; blank where nobody was named."""
    participant: str
    """Key of who said it; blank where that is not known."""
    role: str
    """user, persona, system, narrator or thought."""
    text: str
    at: datetime
    edited_at: datetime | None
    is_hidden: bool
    """A recap stands for it: prompts leave it out of the lines."""
    is_excluded: bool
    """It was taken out of every prompt by hand."""
    recap: str
    """Blank where none was made."""
    recap_is_stale: bool
    """The message was changed after its recap was made."""
    recap_provenance: str


_RECAP = and_(_R.persona_id == _C.persona_id, _R.message_row == _C.id, _R.alternative == OWN)
_LOG = select(
    _C.id, _C.sender_name, _C.sender_id, _C.participant_key, _C.role, _C.message_text, _C.timestamp, _C.edited_at,
    _C.hidden, _C.excluded, _R.memory, _R.stale, _R.provenance,
).select_from(chat_history_cache.outerjoin(message_recaps, _RECAP))  # fmt: skip


def read_log(db: Database, persona: str, conversation: str, limit: int, before: int | None = None) -> list[LoggedLine]:
    """Return messages of a conversation, the newest of them last."""
    mine = (_C.persona_id == persona, _C.interface_path == conversation)
    chosen = _LOG.where(*mine).order_by(_C.timestamp.desc(), _C.id.desc()).limit(limit)
    if before is not None:
        rows = db.read(select(_C.timestamp).where(*mine, _C.id == before), source=chat_history_cache.name)
        if not rows:
            return []
        at = rows[0][0]
        chosen = chosen.where(or_(_C.timestamp < at, and_(_C.timestamp == at, _C.id < before)))
    return [_log_line(row) for row in reversed(db.read(chosen, source=chat_history_cache.name))]


def _log_line(row: Any) -> LoggedLine:
    return LoggedLine(
        int(row.id),
        row.sender_name or row.sender_id or "",
        row.participant_key or "",
        row.role or "",
        row.message_text,
        row.timestamp,
        row.edited_at,
        bool(row.hidden),
        bool(row.excluded),
        row.memory or "",
        bool(row.stale),
        row.provenance or "",
    )
