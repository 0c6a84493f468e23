"""Reads the stored rows of a prompt that need no search: history lines and the rows of its sections."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache, partial
from typing import Any

from sqlalchemy import Integer, bindparam, column, select, table

from ..access.view import Recent, Viewer
from ..database import compiled, sources
from ..database.compiled import FIRST, KEY, Branch, CompiledStatement, Shape, hide_from_index
from ..database.dialects import ID, Key, Time
from ..database.engine import Database
from ..database.schema import ai_diary, chat_history_cache
from ..database.stored_values import read_object
from ..shapes import DiaryEntry, HistoryEntry
from .live import note_reply

_C, _D = chat_history_cache.c, ai_diary.c
_PERSONA, _AUDIENCES = bindparam("persona", type_=Key(64)), bindparam("audiences", expanding=True, type_=ID)
Guard = Callable[[str, Callable[[], Any], Any], Any]
_OF_EACH, _NEWEST = table("of_each", column("id"), column("at")), table("newest", column("id"))


@dataclass(frozen=True, slots=True)
class HistoryWanted:
    conversation: str | None = None
    current: int = 0
    """Maximum number of rows of the current conversation; the newest are read."""
    recent: Sequence[Recent] = ()
    recent_rows: int = 0
    """Maximum number of rows of each other conversation; the newest are read."""
    recent_most: int = 1000
    """Maximum number of rows of all other conversations together; the newest are read."""


@dataclass(frozen=True, slots=True)
class StoredLines:
    current: list[HistoryEntry] = field(default_factory=list)
    """Lines of the current conversation, newest first, as read."""
    recent: list[HistoryEntry] = field(default_factory=list)
    sections: dict[int, list[Any]] = field(default_factory=dict)
    """Rows by kind number of a section (`Shape.rows_in`)."""
    wanted: HistoryWanted = field(default_factory=HistoryWanted)
    is_from_host: bool = False
    """Whether the hook `history` gave the lines; then no older lines are loaded from the database."""


def read(
    db: Database, viewer: Viewer, wanted: HistoryWanted, guard: Guard, sections: Sequence[Branch] = ()
) -> StoredLines:
    """Read history lines and rows of sections in one statement; `guard` gives a default for a failed read."""
    history = wanted
    if not viewer.audiences:  # rows that belong to no audience may still exist
        history, sections = HistoryWanted(), [part for part in sections if part.of_persona]
    shared = viewer.bound | {"now": db.clock(), "here": viewer.scope.conversation or ""}
    recent = guard(chat_history_cache.name, lambda: _read_recent(db, history, shared), [])
    if history.conversation is not None and history.current > 0:
        values = {"conversation": history.conversation, "rows": history.current}
        sections = [*sections, Branch(LINES, _newest_of_chat, values, chat_history_cache.name)]
    rows = _read_sections(db, sections, shared, guard)
    return StoredLines(_sort_newest_first(rows.get(LINES.number, ())), recent, rows, wanted)


def _read_sections(
    db: Database, sections: Sequence[Branch], shared: Mapping[str, Any], guard: Guard
) -> dict[int, list[Any]]:
    """Return the rows of all sections, read in one statement; if this statement fails, in one for each section."""
    rows: dict[int, list[Any]] | None = guard("sections", lambda: _read_branches(db, sections, shared), None)
    if rows is not None:
        return rows
    rows = {}
    for part in sections:
        rows |= guard(part.source, partial(_read_branches, db, [part], shared), {})
    return rows


def _read_branches(db: Database, sections: Sequence[Branch], shared: Mapping[str, Any]) -> dict[int, list[Any]]:
    if not sections:
        return {}
    values: list[Any] = []
    texts = [part.select(db.family).text({**shared, **part.values}, values) for part in sections]
    found: dict[int, list[Any]] = {part.shape.number: [] for part in sections}
    read = {part.shape.number: part.shape.read for part in sections}
    for row in db.read(compiled.union(texts, db.family), values, source="sections"):
        found[row[0]].append(read[row[0]](row))
    return found


def _build_line(*row: Any) -> HistoryEntry:
    row_id, text, name, hidden, excluded, metadata, role, conversation, sender, message_id, at = row
    return HistoryEntry(
        conversation=conversation,
        text=text or "",
        sender_id=sender or "",
        sender_name=name or "",
        message_id=message_id,
        time=at,
        row_id=row_id,
        role=role,
        reply=note_reply(read_object(metadata)) if metadata and "reply_to" in metadata else None,
        hidden=hidden or 0,
        excluded=bool(excluded),
    )


LINES = Shape(
    FIRST + 61, _build_line, _C.id, text=_C.message_text, name=_C.sender_name, hidden=_C.hidden, excluded=_C.excluded,
    metadata=(KEY, _C.metadata), role=_C.role, conversation=_C.interface_path, sender=_C.sender_id,
    message_id=_C.message_id, at=_C.timestamp,
)  # fmt: skip


def _read_recent(db: Database, history: HistoryWanted, shared: Mapping[str, Any]) -> list[HistoryEntry]:
    """Return the newest lines of other conversations; ids are loaded first, since most rows are dropped again."""
    if not (chats := history.recent):
        return []
    values: list[Any] = []
    each = {**shared, "rows": history.recent_rows}
    ids = [_newest_of_chat(db.family, ids_only=True).text({**each, "conversation": chat.key}, values) for chat in chats]
    newest = _newest(db.family).text({"most": history.recent_most}, values)
    wanted = _newest_lines(db.family).text(shared, values)
    text = f"WITH of_each AS ({compiled.union(ids, db.family)}), newest AS ({newest}) {wanted}"
    titles = {chat.key: chat.title for chat in chats if chat.title}
    found = [LINES.read(row) for row in db.read(text, values, source=chat_history_cache.name)]
    lines = (replace(line, title=title) if (title := titles.get(line.conversation)) else line for line in found)
    return _sort_newest_first(lines)


def _sort_newest_first(lines: Iterable[HistoryEntry]) -> list[HistoryEntry]:
    return sorted(lines, key=lambda line: (line.time is not None, line.time, line.row_id), reverse=True)


@lru_cache(maxsize=2)
def _newest(family: str) -> CompiledStatement:
    newest = select(_OF_EACH.c.id).order_by(_OF_EACH.c.at.desc(), _OF_EACH.c.id.desc())
    return CompiledStatement(newest.limit(bindparam("most", type_=Integer())), family)


@lru_cache(maxsize=2)
def _newest_lines(family: str) -> CompiledStatement:
    lines = select(*LINES.columns).select_from(_NEWEST.join(chat_history_cache, _C.id == _NEWEST.c.id))
    lines = lines.where(hide_from_index(_C.persona_id, family) == _PERSONA)
    return CompiledStatement(lines.prefix_with("STRAIGHT_JOIN", dialect="mysql"), family, in_order=True)


@lru_cache(maxsize=4)
def _newest_of_chat(family: str, *, ids_only: bool = False) -> CompiledStatement:
    columns = [_C.id, _C.timestamp.label("at")] if ids_only else LINES.columns
    here = (_C.persona_id == _PERSONA, _C.interface_path == bindparam("conversation", type_=Key(512)))
    lines = select(*columns).where(*here, _C.audience_id.in_(_AUDIENCES), sources.open_to(sources.CHAT))
    newest = lines.order_by(_C.timestamp.desc(), _C.id.desc())
    return CompiledStatement(newest.limit(bindparam("rows", type_=Integer())), family)


def _build_entry(row_id: int, at: datetime | None, *texts: str | None) -> DiaryEntry:
    content, thought, summary = (text or "" for text in texts)
    return DiaryEntry(row_id, at, content, thought, summary)


DIARY = Shape(
    FIRST + 60, _build_entry, _D.id, at=_D.timestamp, content=_D.content, thought=_D.personal_thought,
    summary=_D.interaction_summary,
)  # fmt: skip
DIARY_ROWS = 200


@lru_cache(maxsize=2)
def select_diary(family: str) -> CompiledStatement:
    seen = (_D.persona_id == _PERSONA, _D.audience_id.in_(_AUDIENCES), sources.open_to(sources.AI_DIARY))
    since = _D.timestamp >= bindparam("since", type_=Time())
    entries = select(*DIARY.columns).where(*seen, sources.AI_DIARY.findable, since)
    newest = entries.order_by(_D.timestamp.desc(), _D.id.desc())
    return CompiledStatement(newest.limit(DIARY_ROWS), family)
