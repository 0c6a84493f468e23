"""Windows (batches) of unconsolidated messages, and the id up to which each conversation is consolidated."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, and_, exists, func, select, update

from ..base.groups import group
from ..database.compiled import IDS, read_parts
from ..database.engine import Database
from ..database.schema import chat_history_cache, conversations
from ..messages.table_lines import LINE, Line, build_line, in_order

_C, _K = chat_history_cache.c, conversations.c
_MOST_LOOKED_AT = 10_000
_IS_SAID = _C.role.not_in(("system", "narrator", "thought"))
_SAID = and_(_C.excluded == 0, _C.no_items == 0, _IS_SAID, func.trim(_C.message_text) != "")


@dataclass(frozen=True, slots=True)
class Window:
    conversation: str
    mark: int
    """Consolidation mark when the window was read; 0 if the conversation had no mark."""
    lines: tuple[Line, ...] = ()
    """Messages with their original text, oldest first."""
    last: int = 0
    """Row id to which the consolidation mark moves, which may be that of a blank message; 0 if the mark stays."""
    is_full: bool = False
    """Whether a second read returns the same messages: the window has its maximum size, or was read by row ids."""


def _select(persona: str, conversation: str | None, *where: Any, columns: Sequence[Any] = LINE) -> Select[Any]:
    """Return the SELECT of messages that can become items, in `conversation`, or everywhere if it is None."""
    here = () if conversation is None else (_C.interface_path == conversation,)
    return select(*columns).where(_C.persona_id == persona, *here, _SAID, *where)


def read(db: Database, persona: str, conversation: str, most: int) -> Window:
    """Return the oldest unconsolidated messages of a conversation that can become items (`_SAID`)."""
    mark = _read_mark(db, persona, conversation)
    here = (_C.persona_id == persona, _C.interface_path == conversation, _C.id > mark)
    last = db.read(select(func.max(_C.id)).where(*here))[0][0]
    if last is None:
        return Window(conversation, mark)
    rows = db.read(_select(persona, conversation, _C.id > mark, _C.id <= last).order_by(_C.id).limit(most))
    is_full = len(rows) == most
    return Window(conversation, mark, _in_order(rows), int(rows[-1].id if is_full else last), is_full)


def read_again(db: Database, persona: str, conversation: str, rows: Collection[int]) -> Window:
    """Return a window of those messages in `rows` that are consolidated already, to consolidate them once more."""
    mark = _read_mark(db, persona, conversation) if rows else 0
    chosen = _select(persona, conversation, _C.id.in_(IDS))
    lines = read_parts(db.read, chosen, {}, [row for row in rows if row <= mark])
    return Window(conversation, mark, _in_order(lines), is_full=True)


def _read_mark(db: Database, persona: str, conversation: str) -> int:
    here = (_K.persona_id == persona, _K.conversation_key == conversation)
    marks = db.read(select(_K.consolidated_to).where(*here))
    return int(marks[0][0] or 0) if marks else 0


def _in_order(rows: Iterable[Any]) -> tuple[Line, ...]:
    return tuple(in_order(map(build_line, rows)))


def read_newest(db: Database, persona: str, conversation: str | None, most: int) -> list[Window]:
    """Return the newest messages, by conversation: of `conversation`, or of the whole persona if it is None."""
    newest = [_C.id.desc()] if conversation is None else [_C.timestamp.desc(), _C.id.desc()]
    chosen = _select(persona, conversation).order_by(*newest).limit(most)
    by_key = group((row.interface_path, row) for row in db.read(chosen))
    return [Window(key, 0, _in_order(rows)) for key, rows in sorted(by_key.items())]


def read_waiting(db: Database, persona: str) -> list[str]:
    """Return the conversations with unconsolidated messages, in ascending order of their last message."""
    here = (_C.persona_id == _K.persona_id, _C.interface_path == _K.conversation_key)
    waiting = exists().where(*here, _C.id > func.coalesce(_K.consolidated_to, 0))
    chosen = select(_K.conversation_key).where(_K.persona_id == persona, waiting)
    return [row.conversation_key for row in db.read(chosen.order_by(_K.last_message_at, _K.conversation_key))]


def read_active(db: Database, persona: str, above: int) -> tuple[list[str], int]:
    """Return (conversations with messages above a row id, the highest row id read)."""
    chosen = select(_C.id, _C.interface_path).where(_C.persona_id == persona, _C.id > above)
    rows = db.read(chosen.order_by(_C.id).limit(_MOST_LOOKED_AT))
    return sorted({row.interface_path for row in rows}), int(rows[-1].id) if rows else above


def count_new(db: Database, persona: str, conversation: str, most: int, *, above: int = 0) -> tuple[int, int]:
    """Return (number of unconsolidated messages with ids over `above`, up to `most`; highest id, else the mark)."""
    mark = max(above, _read_mark(db, persona, conversation))
    newer = _select(persona, conversation, _C.id > mark, columns=(_C.id,))
    rows = db.read(newer.order_by(_C.timestamp.desc(), _C.id.desc()).limit(most))
    return len(rows), max((row.id for row in rows), default=mark)


def move_mark(connection: Connection, persona: str, window: Window) -> bool:
    """Record that messages up to `window.last` are consolidated; return False if another writer moved the mark."""
    stood = _K.consolidated_to == window.mark if window.mark else func.coalesce(_K.consolidated_to, 0) == 0
    here = (_K.persona_id == persona, _K.conversation_key == window.conversation)
    change = update(conversations).where(*here, stood).values(consolidated_to=window.last)
    return connection.execute(change).rowcount > 0


def are_there(connection: Connection, persona: str, window: Window, lines: Sequence[Line]) -> bool:
    """Return whether `lines` can still become items; a window that moves the mark must have exactly its own lines."""
    rows = [line.row_id for line in (window.lines if window.last else lines)]
    where = (_C.id > window.mark, _C.id <= window.last) if window.last else (_C.id.in_(rows),)
    count = _select(persona, window.conversation, *where, columns=(func.count(),))
    return int(connection.execute(count).scalar_one()) == len(rows)
