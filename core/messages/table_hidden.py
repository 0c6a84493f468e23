"""Reads and writes which messages of a conversation are hidden (chat_history_cache.hidden)."""

from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, or_, select, union, update

from ..database.compiled import Reader
from ..database.dialects import upsert
from ..database.engine import Database
from ..database.schema import chat_history_cache, counters, message_recaps, scenes

_C, _S = chat_history_cache.c, scenes.c
_MARK = "story_settings"
"""Row of `counters` with the digest of the settings at the last refresh of a persona's stories."""
SHOWN, BY_SCENES, AT_SOURCE = 0, 1, 2
"""Values of `hidden`: shown, hidden by its scene (may change), hidden when it was saved (stays)."""


class MessagePosition(NamedTuple):
    at: datetime
    row_id: int
    hidden: bool | None = None
    """Whether a scene hides the message; None for a message that was saved hidden, or withdrawn."""


def read_breaks(read: Reader, persona: str, conversation: str, newest: int | None = None) -> list[MessagePosition]:
    """Return the positions of visible scene breaks, oldest first: all, or only the last `newest` breaks."""
    joined = scenes.join(chat_history_cache, and_(_C.persona_id == _S.persona_id, _C.id == _S.break_row))
    shown = (_S.persona_id == persona, _S.conversation_key == conversation, _S.visible == 1)
    breaks = select(_C.timestamp, _C.id).select_from(joined).where(*shown)
    rows = read(breaks.order_by(_C.timestamp.desc(), _C.id.desc()).limit(newest), {})
    return [MessagePosition(*row) for row in reversed(list(rows))]


def read_rows(read: Reader, persona: str, conversation: str) -> list[MessagePosition]:
    """Return every message of a conversation, oldest first; the position in the list is the message's index."""
    here = (_C.persona_id == persona, _C.interface_path == conversation)
    rows = read(select(_C.timestamp, _C.id, _C.hidden).where(*here).order_by(_C.timestamp, _C.id), {})
    return [MessagePosition(at, row_id, None if hidden >= AT_SOURCE else bool(hidden)) for at, row_id, hidden in rows]


def _up_to(place: MessagePosition) -> Any:
    return or_(_C.timestamp < place.at, and_(_C.timestamp == place.at, _C.id <= place.row_id))


def _after(place: MessagePosition) -> Any:
    return or_(_C.timestamp > place.at, and_(_C.timestamp == place.at, _C.id > place.row_id))


def is_misplaced(read: Reader, persona: str, conversation: str, last_hidden: MessagePosition | None) -> bool:
    """Return whether a message up to `last_hidden` is shown, or a later message is hidden by scenes."""
    wrong: Any = _C.hidden == BY_SCENES
    if last_hidden is not None:
        wrong = or_(and_(_C.hidden == SHOWN, _up_to(last_hidden)), and_(wrong, _after(last_hidden)))
    rows = select(_C.id).where(_C.persona_id == persona, _C.interface_path == conversation, wrong)
    return any(True for _ in read(rows.limit(1), {}))


def update_hidden(connection: Connection, persona: str, conversation: str, last_hidden: MessagePosition | None) -> int:
    """Hide the messages up to `last_hidden` and show later ones; return the number of changed rows."""
    if last_hidden is None:
        return _set(connection, persona, conversation, BY_SCENES, SHOWN)
    hidden = _set(connection, persona, conversation, SHOWN, BY_SCENES, _up_to(last_hidden))
    return hidden + _set(connection, persona, conversation, BY_SCENES, SHOWN, _after(last_hidden))


def give_to_scenes(connection: Connection, persona: str, conversation: str, last_hidden: MessagePosition) -> None:
    """Mark imported hidden messages up to a position as hidden BY_SCENES, so that a refresh may show them again."""
    _set(connection, persona, conversation, AT_SOURCE, BY_SCENES, _up_to(last_hidden))


def _set(connection: Connection, persona: str, conversation: str, old: int, new: int, *where: Any) -> int:
    mine = (_C.persona_id == persona, _C.interface_path == conversation, _C.hidden == old)
    return connection.execute(update(chat_history_cache).where(*mine, *where).values(hidden=new)).rowcount


def set_excluded(connection: Connection, persona: str, row_id: int, *, excluded: bool) -> bool:
    stmt = update(chat_history_cache).where(_C.persona_id == persona, _C.id == row_id, _C.excluded != int(excluded))
    return connection.execute(stmt.values(excluded=int(excluded))).rowcount > 0


def clear_excluded(connection: Connection, persona: str, conversation: str) -> int:
    mine = (_C.persona_id == persona, _C.interface_path == conversation, _C.excluded != 0)
    return connection.execute(update(chat_history_cache).where(*mine).values(excluded=0)).rowcount


def read_digest(db: Database, persona: str) -> int | None:
    """Return the hash of the settings of the last refresh of a persona's stories; None if there was no refresh."""
    c = counters.c
    rows = db.read(select(c.value).where(c.persona_id == persona, c.name == _MARK), source=counters.name)
    return int(rows[0].value) if rows else None


def write_digest(connection: Connection, db: Database, persona: str, digest: int) -> None:
    values = {"persona_id": persona, "name": _MARK, "value": digest}
    connection.execute(upsert(counters, db.family, ("value",)), values)


def read_stories(db: Database, persona: str) -> list[str]:
    """Return the conversations of a persona that have scenes or recaps."""
    parts = (select(t.c.conversation_key).where(t.c.persona_id == persona) for t in (scenes, message_recaps))
    return sorted(str(row[0]) for row in db.read(union(*parts), source=scenes.name))
