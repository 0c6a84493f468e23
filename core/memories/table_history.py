"""Where an item comes from: the texts it had before (table item_history), the messages it was made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from ..base.wire_ids import find_id
from ..database import rows
from ..database.bulk import chunks
from ..database.dialects import ID, Key
from ..database.engine import Database
from ..database.schema import chat_history_cache, item_history

_C, _M = item_history.c, chat_history_cache.c
NAME_CHARS = 100
MOST_SOURCES = 40
"""Messages that are read of one item."""
MOST_ID = 2**63


# Former texts


class OldText(NamedTuple):
    """One text an item had."""

    item_id: int
    text: str
    reason: str
    changed_by: str
    at: datetime | None


def insert_texts(
    connection: Connection,
    db: Database,
    persona: str,
    changes: Iterable[tuple[int, str, str]],
    *,
    changed_by: str,
    now: datetime,
) -> None:
    """Keep what items said before a change, within the transaction that makes it."""
    listed = list(changes)
    entries = [
        {
            "id": row_id,
            "persona_id": persona,
            "item_id": item_id,
            "old_text": text,
            "reason": reason[:NAME_CHARS],
            "changed_by": changed_by[:NAME_CHARS],
            "changed_at": now,
        }
        for row_id, (item_id, text, reason) in zip(db.ids.take(len(listed)), listed, strict=True)
    ]
    rows.insert_rows(connection, item_history, entries)


_TEXTS_OF = (
    select(_C.item_id, _C.old_text, _C.reason, _C.changed_by, _C.changed_at)
    .where(
        _C.persona_id == bindparam("persona"),
        _C.item_id.in_(bindparam("ids", expanding=True)),
    )
    .order_by(_C.id)
)


def read_texts(db: Database, persona: str, ids: Sequence[int]) -> list[OldText]:
    """Return the texts that items had, in the order they were changed."""
    texts: list[OldText] = []
    for part in chunks(sorted(set(ids)), 500):
        values = {"persona": persona, "ids": part}
        texts += [OldText(*row) for row in db.read(_TEXTS_OF, values, source="item_history")]
    return texts


# Messages


class SourceLine(NamedTuple):
    """One message."""

    id: int
    conversation: str
    sender: str
    text: str
    at: datetime | None


def read_sources(db: Database, persona: str, ids: Iterable[object]) -> list[SourceLine]:
    """Return the messages of these ids, oldest first, then by id; at most MOST_SOURCES, those not there left out."""
    wanted = [row_id for each in ids if (row_id := find_id(each)) is not None and 0 < row_id < MOST_ID]
    if not wanted:
        return []
    rows = db.read(_LINES, {"persona": persona, "ids": wanted[:MOST_SOURCES]}, source="chat_history_cache")
    return [
        SourceLine(
            int(row.id),
            row.interface_path,
            row.sender_name or (persona if row.role == "persona" else row.sender_id or ""),
            row.message_text,
            row.timestamp,
        )
        for row in rows
    ]


_LINES = (
    select(_M.id, _M.interface_path, _M.sender_name, _M.sender_id, _M.role, _M.message_text, _M.timestamp)
    .where(
        _M.persona_id == bindparam("persona", type_=Key(64)),
        _M.id.in_(bindparam("ids", expanding=True, type_=ID)),
    )
    .order_by(_M.timestamp, _M.id)
)
