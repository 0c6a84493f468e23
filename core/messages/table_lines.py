"""Reads messages (table chat_history_cache): the newest, those with given ids, or a whole conversation."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, bindparam, func, literal, or_, select, update

from ..access import table_participants
from ..access.rules import plain_key
from ..base.wire_ids import find_id, find_whole
from ..database.compiled import IDS, Reader, read_parts
from ..database.dialects import Key
from ..database.engine import Database
from ..database.rows import read_object
from ..database.schema import chat_history_cache, conversations, message_recaps
from ..database.sources import WITHDRAWN
from ..errors import MessageError
from ..scope import KEY_BYTES, MESSAGE_ID_BYTES, key_text
from ..shapes import Line as Line
from ..text.times import iso_text
from .new_message import PERSONA_ROLES

OWN = -1
"""Alternative number of the recap of a message's current text; other alternatives use their own number."""
PAGE = 100
"""Number of messages of a conversation read at once: few, since each may hold megabytes."""
IMPORTED = frozenset({"imported", "sillytavern"})
"""Metadata keys that mark a message as imported; each imported message has one of these keys."""
_C, _K, _R = chat_history_cache.c, conversations.c, message_recaps.c
_OWN_RECAP = and_(_R.persona_id == _C.persona_id, _R.message_row == _C.id, _R.alternative == OWN)
WITH_RECAP = chat_history_cache.outerjoin(message_recaps, _OWN_RECAP)
_PERSONA = _C.persona_id == bindparam("persona")
_HERE = (_PERSONA, _C.interface_path == bindparam("conversation"))
_THESE = (_PERSONA, _C.id.in_(IDS))
_SEEN = _C.audience_id.in_(bindparam("audiences", expanding=True))

_COLUMNS = (
    _C.id, _C.interface_path, _C.message_id, _C.audience_id, _C.timestamp, _C.edited_at, _C.role, _C.sender_id,
    _C.sender_name, _C.participant_key, _C.triggered_by, _C.hidden, _C.excluded, _C.metadata, _C.content_hash,
)  # fmt: skip
FACTS = (*_COLUMNS, literal("").label("message_text"))
"""Columns for `build_line` except the message's text, which may have megabytes."""
LINE = (*_COLUMNS, _C.message_text)


def build_line(row: Any) -> Line:
    """Make a message from a row whose first columns are `FACTS` (without text) or `LINE`."""
    (row_id, conversation, message_id, audience, at, edited, role, sender_id, name, participant, triggered_by,
     hidden, excluded, metadata, digest, text) = row[: len(FACTS)]  # fmt: skip
    return Line(
        row_id, conversation, message_id, audience, at, edited, role, sender_id or "", name or "", participant,
        triggered_by, bool(hidden), bool(excluded), read_object(metadata) or {}, bytes(digest or b""), text,
        hidden >= WITHDRAWN,
    )  # fmt: skip


def in_order(lines: Iterable[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (line.at is not None, line.at, line.row_id))


_FACTS_OF = select(*FACTS).where(*_THESE)
_LINES_OF = select(*LINE).where(*_THESE)
_BY_ID = select(*LINE).where(*_HERE, _C.message_id.in_(IDS))


def read_lines(read: Reader, persona: str, rows: Collection[int], *, with_text: bool = True) -> list[Line]:
    """Return the stored messages with these row ids, in the order of the conversation."""
    statement = _LINES_OF if with_text else _FACTS_OF
    return in_order([build_line(row) for row in read_parts(read, statement, {"persona": persona}, rows)])


def find_facts(read: Reader, persona: str, row_id: int) -> Line | None:
    """Return the message with this row id, but without its text; None if no message has this row id."""
    return next(iter(read_lines(read, persona, [row_id], with_text=False)), None)


def hold_line(connection: Connection, persona: str, row_id: int) -> Line | None:
    """Lock the message with this row id until the transaction ends, and return it; None if no message has it."""
    row = connection.execute(_LINES_OF.with_for_update(), {"persona": persona, "ids": [row_id]}).first()
    return None if row is None else build_line(row)


def read_texts(read: Reader, persona: str, rows: Collection[int]) -> dict[int, str]:
    return {line.row_id: line.text for line in read_lines(read, persona, rows)}


def read_by_ids(read: Reader, persona: str, conversation: str, ids: Iterable[str]) -> dict[str, Line]:
    """Return a conversation's messages with these platform ids, by id."""
    rows = read_parts(read, _BY_ID, {"persona": persona, "conversation": conversation}, ids)
    return {row.message_id: build_line(row) for row in rows}


def read_said(
    read: Reader, persona: str, conversation: str, digests: Iterable[bytes], first: datetime, last: datetime
) -> list[Line]:
    """Return a conversation's messages from `first` to `last` whose text has one of these hashes, without texts."""
    here = (_C.persona_id == persona, _C.interface_path == conversation, _C.timestamp.between(first, last))
    chosen = select(*FACTS).where(*here, _C.content_hash.in_(IDS))
    return [build_line(row) for row in read_parts(read, chosen, {}, digests)]


def update_facts(
    connection: Connection, persona: str, row_id: int, message_id: str, metadata: Mapping[str, Any] | None
) -> None:
    values = {"message_id": message_id, "metadata": dict(metadata) if metadata else None}
    connection.execute(update(chat_history_cache).where(_C.persona_id == persona, _C.id == row_id).values(**values))


def find_message(db: Database, persona: str, conversation: str, message_id: str) -> Line | None:
    return read_by_ids(db.read, persona, conversation, [message_id]).get(message_id)


def find_message_or_row(db: Database, persona: str, conversation: str, named: str) -> Line | None:
    """Return the conversation's message whose platform id, else row id, is `named`; None if no message has this id."""
    line, number = find_message(db, persona, conversation, named), find_id(named)
    if line is None and number is not None:
        line = find_facts(db.read, persona, number)
    return line if line is not None and line.conversation == conversation else None


def find_named(db: Database, persona: str, message: object, interface_path: object) -> tuple[int, str] | None:
    """Return `(row id, conversation)` of the message named by the host, None if it is not stored."""
    if interface_path is not None:
        key = key_text(interface_path, "interface_path", KEY_BYTES["conversation"], required=True)
        line = find_message(db, persona, key, key_text(message, "message_id", MESSAGE_ID_BYTES))
    elif (number := find_whole(message)) is None:
        raise MessageError.of_type(
            "message",
            message,
            "the row id that saving returned, or the platform's message id together with interface_path",
        )
    else:
        line = find_facts(db.read, persona, number if 0 <= number < 2**63 else -1)
    return None if line is None else (line.row_id, line.conversation)


def find_quoted(db: Database, persona: str, conversation: object, message_id: object) -> dict[str, str] | None:
    """Return text, sender, timestamp and role of the message with this platform id; None if unknown or withdrawn."""
    key = key_text(conversation, "interface_path", KEY_BYTES["conversation"], required=True)
    line = find_message(db, persona, key, key_text(message_id, "message_id", MESSAGE_ID_BYTES))
    if line is None or line.is_withdrawn:
        return None
    return {
        "text": line.text,
        "username": line.sender_name or line.sender_id,
        "sender_id": line.sender_id,
        "timestamp": iso_text(line.at),
        "role": "persona" if line.role in PERSONA_ROLES else "user",
    }


def _where(level: bool, anywhere: bool, local: bool, withdrawn: bool = False) -> list[Any]:
    where: list[Any] = [_PERSONA, _SEEN, _C.hidden <= WITHDRAWN if withdrawn else _C.hidden < WITHDRAWN]
    if not anywhere:
        here: Any = _C.interface_path == bindparam("conversation")
        low, high = bindparam("low", type_=Key(520)), bindparam("high", type_=Key(520))
        below = and_(_C.interface_path >= low, _C.interface_path < high)
        where.append(or_(here, below) if level else here)
    if not local:
        # A value for each row instead of EXISTS, which MariaDB turns into a list of all conversations.
        closed = select(_K.local_only).where(_K.persona_id == _C.persona_id, _K.conversation_key == _C.interface_path)
        where.append(func.coalesce(closed.scalar_subquery(), 0) == 0)
    return where


def read_newest(
    db: Database,
    persona: str,
    audiences: Sequence[int],
    limit: int,
    *,
    conversation: str | None = None,
    level: bool = False,
    local: bool = False,
    withdrawn: bool = False,
) -> list[Line]:
    """Return the newest messages, oldest first; `level` adds threads, `local` messages of local_only chats."""
    room = plain_key(conversation or "")
    values = {"persona": persona, "conversation": conversation, "low": f"{room}/", "high": f"{room}0"}
    where = _where(level and conversation is not None, conversation is None, local, withdrawn)
    statement = select(*LINE).where(*where).order_by(_C.timestamp.desc(), _C.id.desc()).limit(limit)
    # Without a conversation, each audience's newest rows are read along its index.
    parts = [[each] for each in audiences] if conversation is None and len(audiences) <= 8 else [list(audiences)]
    lines: list[Line] = []
    for part in parts:
        rows = db.read(statement, {**values, "audiences": part}, source="chat_history_cache")
        lines += [build_line(row) for row in rows]
    return in_order(lines)[-limit:]


def read_stats(db: Database, persona: str, audiences: Sequence[int], *, local: bool = False) -> Any:
    """Return the number of visible messages, the number of their conversations, and the oldest and newest time."""
    columns = (func.count(), func.count(_C.interface_path.distinct()), func.min(_C.timestamp), func.max(_C.timestamp))
    chosen = select(*columns).where(*_where(False, True, local))
    return db.read(chosen, {"persona": persona, "audiences": list(audiences)}, source="chat_history_cache")[0]


def read_pages(
    read: Reader, persona: str, conversation: str, audiences: Collection[int], *, with_text: bool = True
) -> Iterator[list[Line]]:
    """Yield a conversation's messages in `audiences` in pages, oldest first, including hidden and excluded messages."""
    here = (_C.persona_id == persona, _C.interface_path == conversation, _C.audience_id.in_(sorted(audiences)))
    chosen = select(*(LINE if with_text else FACTS)).where(*here).order_by(_C.timestamp, _C.id).limit(PAGE)
    page = [build_line(row) for row in read(chosen, {})]
    while page:
        yield page
        if len(page) < PAGE:
            return
        at, row_id = page[-1].at, page[-1].row_id
        after = or_(_C.timestamp.is_not(None), _C.id > row_id)  # rows without a time come first
        if at is not None:
            after = and_(_C.timestamp >= at, or_(_C.timestamp > at, _C.id > row_id))
        page = [build_line(row) for row in read(chosen.where(after), {})]


def read_order(read: Reader, persona: str, conversation: str) -> tuple[int, ...]:
    """Return the row ids of a conversation's messages, oldest first; the read touches an index only."""
    here = (_C.persona_id == persona, _C.interface_path == conversation)
    return tuple(r.id for r in read(select(_C.id).where(*here).order_by(_C.timestamp, _C.id), {}))


def is_open(connection: Connection, persona: str, line: Line, default: str) -> bool:
    """Return whether privacy levels allow a recap of a message; `default` is the level of people without a level."""
    return bool(table_participants.keep_allowed(connection, persona, [line], default))


def are_as_read(connection: Connection, persona: str, lines: Iterable[Line]) -> bool:
    """Return whether all messages of `lines` that have a row id are still stored with the same texts."""
    texts = {line.row_id: line.text for line in lines if line.row_id}
    return read_texts(connection.execute, persona, texts) == texts
