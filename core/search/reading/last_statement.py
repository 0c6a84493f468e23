"""The last round trip of a prompt: rows found by the search, lines of the history, sections, in one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Integer, bindparam, column, select, table

from ...audience.view import Recent, Viewer
from ...context.live import read_message
from ...database import sources, statements
from ...database.dialects import ID, Key, Time
from ...database.engine import Database
from ...database.row_shapes import KEY, NUMBER, OBJECT, TEXT, TEXT_LIST, TIME, Branch, Shape
from ...database.schema import ai_diary, chat_history_cache
from ...database.statements import Part, aside
from ...shapes import DiaryEntry, HistoryEntry, ReplyNote
from . import by_id, found_rows
from .by_id import RowsWanted
from .found_rows import FoundRow


class _Line(NamedTuple):
    id: int
    text: str | None
    sender_name: str | None
    hidden: int | None
    excluded: int | None
    metadata: dict[str, Any] | None
    role: str
    conversation: str
    sender_id: str | None
    message_id: str | None
    at: datetime | None


class _Entry(NamedTuple):
    id: int
    content: str | None
    personal_thought: str | None
    interaction_summary: str | None
    user_message: str | None
    local_only: int | None
    context_tags: list[str]
    involved_users: list[str]
    interface: str | None
    chat_id: str | None
    thread_id: str | None
    at: datetime | None


_CURRENT = Shape(
    10, _Line, text=TEXT, sender_name=TEXT, hidden=NUMBER, excluded=NUMBER,
    metadata=OBJECT, role=KEY, conversation=KEY, sender_id=KEY, message_id=KEY, at=TIME,
)  # fmt: skip
_RECENT = _CURRENT.numbered(11)
_DIARY = Shape(
    12, _Entry, content=TEXT, personal_thought=TEXT, interaction_summary=TEXT, user_message=TEXT, local_only=NUMBER,
    context_tags=TEXT_LIST, involved_users=TEXT_LIST, interface=KEY, chat_id=KEY, thread_id=KEY, at=TIME,
)  # fmt: skip
_SHAPES: tuple[Shape[Any], ...] = (*found_rows.SHAPES, _CURRENT, _RECENT, _DIARY)


@dataclass(frozen=True, slots=True)
class HistoryWanted:
    """Which lines to bring beside the rows of a search."""

    conversation: str | None = None
    current: int = 0
    """Newest rows of the conversation."""
    recent: tuple[Recent, ...] = ()
    recent_rows: int = 0
    """Newest rows of each other conversation."""
    recent_most: int = 1000
    """Newest rows of them all together."""
    diary_since: datetime | None = None
    """Diary entries from here on; None for none."""
    diary_rows: int = 200


@dataclass(frozen=True, slots=True)
class Brought:
    """What `read` brought."""

    rows: dict[tuple[int, int], FoundRow] = field(default_factory=dict)
    current: list[HistoryEntry] = field(default_factory=list)
    """Newest first, as read."""
    recent: list[HistoryEntry] = field(default_factory=list)
    diary: list[DiaryEntry] = field(default_factory=list)
    sections: dict[int, list[Any]] = field(default_factory=dict)
    """Number of a section's kind of rows to these rows (`Shape.rows_in`)."""


def read(
    db: Database,
    viewer: Viewer,
    rows: RowsWanted | None,
    history: HistoryWanted,
    sections: Sequence[Branch] = (),
) -> Brought:
    """Return rows, lines and sections in one round trip; nothing is asked when nothing is wanted."""
    if not viewer.audiences:  # what stands in none may still be there
        rows, history, sections = None, HistoryWanted(), [part for part in sections if part.of_persona]
    shared: dict[str, Any] = {
        "persona": viewer.scope.persona,
        "audiences": viewer.audiences,
        "local_only": int(viewer.sees_local_only),
        "now": db.clock(),
        "here": viewer.scope.conversation or "",
    }
    rows_by_kind = _read_rows(db, viewer, rows, history, sections, shared)
    titles = {r.key: r.title for r in history.recent}
    recent = sorted(_RECENT.rows_in(rows_by_kind), key=lambda row: (row.at is not None, row.at, row.id), reverse=True)
    return Brought(
        rows=found_rows.put_together(viewer.scope.persona, *(s.rows_in(rows_by_kind) for s in found_rows.SHAPES)),
        current=[_entry(row) for row in _CURRENT.rows_in(rows_by_kind)],
        recent=[_entry(row, titles.get(row.conversation, "")) for row in recent],
        diary=[_diary_entry(row) for row in _DIARY.rows_in(rows_by_kind)],
        sections={each.shape.number: list(each.shape.rows_in(rows_by_kind)) for each in sections},
    )


def _read_rows(
    db: Database,
    viewer: Viewer,
    rows: RowsWanted | None,
    history: HistoryWanted,
    sections: Sequence[Branch],
    shared: Mapping[str, Any],
) -> dict[int, list[Any]]:
    """Return what was asked for, by number of its kind."""
    values: list[Any] = []
    recent = [r.key for r in history.recent if viewer.sees_local_only or not r.local_only]
    named = _name_newest(recent, history, shared, db.family, values) if recent else ""
    branches = [] if rows is None else by_id.row_branches(rows, shared, db.family, values)
    if history.conversation is not None and history.current > 0:
        asked = {**shared, "conversation": history.conversation, "rows": history.current}
        branches.append(_lines(db.family).text(asked, values))
    if recent:
        branches.append(_newest_lines(db.family).text(shared, values))
    if history.diary_since is not None:
        asked = {**shared, "since": history.diary_since, "rows": history.diary_rows}
        branches.append(_diary_entries(db.family).text(asked, values))
    branches += [part.select(db.family).text({**shared, **part.values}, values) for part in sections]
    if not branches:
        return {}
    text = named + statements.union(branches, db.family)
    read = {shape.number: shape.read for shape in (*_SHAPES, *(each.shape for each in sections))}
    found: dict[int, list[Any]] = {}
    for row in db.read_driver(text, values, source="memories, diary, history and sections"):
        found.setdefault(row[0], []).append(found_rows.readable(row) if db.family == "sqlite" else row)
    return {number: [read[number](row) for row in rows] for number, rows in found.items()}


def _name_newest(
    conversations: Sequence[str], history: HistoryWanted, shared: Mapping[str, Any], family: str, into: list[Any]
) -> str:
    """Return what finds the newest lines of all these conversations; most of the newest of each are older than they."""
    each = {**shared, "rows": history.recent_rows}
    ids = [_ids(family).text({**each, "conversation": key}, into) for key in conversations]
    newest = _newest(family).text({"most": history.recent_most}, into)
    return f"WITH of_each AS ({statements.union(ids, family)}), newest AS ({newest}) "


_OF_EACH, _NEWEST = table("of_each", column("id"), column("at")), table("newest", column("id"))


@lru_cache(maxsize=2)
def _ids(family: str) -> Part:
    c = chat_history_cache.c
    return _newest_of([c.id, c.timestamp.label("at")], family)


@lru_cache(maxsize=2)
def _newest(family: str) -> Part:
    newest = select(_OF_EACH.c.id).order_by(_OF_EACH.c.at.desc(), _OF_EACH.c.id.desc())
    return Part(newest.limit(bindparam("most", type_=Integer())), family)


@lru_cache(maxsize=2)
def _newest_lines(family: str) -> Part:
    c = chat_history_cache.c
    lines = select(*_line_columns(_RECENT)).select_from(_NEWEST.join(chat_history_cache, c.id == _NEWEST.c.id))
    lines = lines.where(aside(c.persona_id, family) == bindparam("persona", type_=Key(64)))
    return Part(lines.prefix_with("STRAIGHT_JOIN", dialect="mysql"), family, in_order=True)


@lru_cache(maxsize=2)
def _lines(family: str) -> Part:
    return _newest_of(_line_columns(_CURRENT), family)


def _line_columns(shape: Shape[_Line]) -> list[Any]:
    c = chat_history_cache.c
    return shape.columns(
        id=c.id,
        text=c.message_text,
        sender_name=c.sender_name,
        hidden=c.hidden,
        excluded=c.excluded,
        metadata=c.metadata,
        role=c.role,
        conversation=c.interface_path,
        sender_id=c.sender_id,
        message_id=c.message_id,
        at=c.timestamp,
    )


def _newest_of(columns: Sequence[Any], family: str) -> Part:
    """Return the statement that brings the newest lines of one conversation."""
    c = chat_history_cache.c
    where = [
        c.persona_id == bindparam("persona", type_=Key(64)),
        c.interface_path == bindparam("conversation", type_=Key(512)),
        c.audience_id.in_(bindparam("audiences", expanding=True, type_=ID)),
        sources.open_to(sources.CHAT),
    ]
    newest = select(*columns).where(*where).order_by(c.timestamp.desc(), c.id.desc())
    return Part(newest.limit(bindparam("rows", type_=Integer())), family)


@lru_cache(maxsize=2)
def _diary_entries(family: str) -> Part:
    d = ai_diary.c
    columns = _DIARY.columns(
        id=d.id,
        content=d.content,
        personal_thought=d.personal_thought,
        interaction_summary=d.interaction_summary,
        user_message=d.user_message,
        local_only=d.local_only,
        context_tags=d.context_tags,
        involved_users=d.involved_users,
        interface=d.interface,
        chat_id=d.chat_id,
        thread_id=d.thread_id,
        at=d.timestamp,
    )
    where = [
        d.persona_id == bindparam("persona", type_=Key(64)),
        d.audience_id.in_(bindparam("audiences", expanding=True, type_=ID)),
        sources.AI_DIARY.findable,
        sources.open_to(sources.AI_DIARY),
        d.timestamp >= bindparam("since", type_=Time()),
    ]
    newest = select(*columns).where(*where).order_by(d.timestamp.desc(), d.id.desc())
    return Part(newest.limit(bindparam("rows", type_=Integer())), family)


def _entry(row: _Line, title: str = "") -> HistoryEntry:
    return HistoryEntry(
        conversation=row.conversation,
        text=row.text or "",
        sender_id=row.sender_id or "",
        sender_name=row.sender_name or "",
        message_id=row.message_id,
        time=row.at,
        row_id=row.id,
        role=row.role,  # type: ignore[arg-type]
        reply=_reply(row.metadata),
        title=title,
        hidden=bool(row.hidden),
        excluded=bool(row.excluded),
    )


def _reply(metadata: Mapping[str, Any] | None) -> ReplyNote | None:
    """Return whom a stored message replies to: hosts keep it in its metadata as they hand it over live."""
    if not metadata or not ("reply_to" in metadata or "reply_to_message" in metadata):
        return None
    told = read_message({**metadata, "text": ""}, "", 0)
    return told.reply if told is not None else None


def _diary_entry(row: _Entry) -> DiaryEntry:
    return DiaryEntry(
        id=row.id,
        timestamp=row.at,
        content=row.content or "",
        personal_thought=row.personal_thought or "",
        interaction_summary=row.interaction_summary or "",
        user_message=row.user_message or "",
        context_tags=tuple(row.context_tags),
        involved_users=tuple(row.involved_users),
        interface=row.interface or "",
        chat_id=row.chat_id or "",
        thread_id=row.thread_id or "",
        local_only=bool(row.local_only),
    )
