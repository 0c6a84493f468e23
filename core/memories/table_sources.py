"""The messages a memory item was made of (table chat_history_cache), for an operator to look at.

Called by `admin.pages.memory`. What a host named its own way (a text, an id of another program) is not found here.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select

from ..database.dialects import ID, Key
from ..database.engine import Database
from ..database.schema import chat_history_cache

MOST = 40
"""Messages that are read of one item."""
MOST_ID = 2**63

_C = chat_history_cache.c


class SourceLine(NamedTuple):
    """One message."""

    id: int
    conversation: str
    sender: str
    text: str
    at: datetime | None


def lines(db: Database, persona: str, ids: Iterable[object]) -> list[SourceLine]:
    """Return the messages of these ids, oldest first, then by id; at most MOST, those there are none of left out.

    Raises:
        StoreReadError: nothing could be read.
    """
    wanted = [each for each in ids if isinstance(each, int) and not isinstance(each, bool) and 0 < each < MOST_ID]
    if not wanted:
        return []
    rows = db.read(_LINES, {"persona": persona, "ids": wanted[:MOST]}, source="chat_history_cache")
    return [_line(row) for row in rows]


def _line(row: Any) -> SourceLine:
    sender = row.sender_name or row.sender_id or ""
    return SourceLine(int(row.id), row.interface_path, sender, row.message_text, row.timestamp)


_LINES = (
    select(_C.id, _C.interface_path, _C.sender_name, _C.sender_id, _C.message_text, _C.timestamp)
    .where(
        _C.persona_id == bindparam("persona", type_=Key(64)),
        _C.id.in_(bindparam("ids", expanding=True, type_=ID)),
    )
    .order_by(_C.timestamp, _C.id)
)
