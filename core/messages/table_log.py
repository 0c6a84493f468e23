"""The log of a conversation as an operator reads it, page by page, with the recap that lies on each message."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import and_, or_, select

from ..database.engine import Database
from ..database.schema import chat_history_cache, message_recaps
from .table_recaps import OWN

_C, _R = chat_history_cache.c, message_recaps.c


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
_LINES = select(
    _C.id, _C.sender_name, _C.sender_id, _C.participant_key, _C.role, _C.message_text, _C.timestamp, _C.edited_at,
    _C.hidden, _C.excluded, _R.memory, _R.stale, _R.provenance,
).select_from(chat_history_cache.outerjoin(message_recaps, _RECAP))  # fmt: skip


def read_log(db: Database, persona: str, conversation: str, limit: int, before: int | None = None) -> list[LoggedLine]:
    """Return messages of a conversation, the newest of them last."""
    mine = (_C.persona_id == persona, _C.interface_path == conversation)
    chosen = _LINES.where(*mine).order_by(_C.timestamp.desc(), _C.id.desc()).limit(limit)
    if before is not None:
        found = db.read(select(_C.timestamp).where(*mine, _C.id == before), source=chat_history_cache.name)
        if not found:
            return []
        at = found[0][0]
        chosen = chosen.where(or_(_C.timestamp < at, and_(_C.timestamp == at, _C.id < before)))
    return [_line(row) for row in reversed(db.read(chosen, source=chat_history_cache.name))]


def _line(row: Any) -> LoggedLine:
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
