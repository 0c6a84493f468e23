"""The last round trip of a prompt: rows found by the search, lines of the history, sections, in one statement.

Every branch has the thirteen columns of `search_read.row_branches`; the first names what the row is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, bindparam, literal_column, null, select, type_coerce
from sqlalchemy.types import NullType

from ...audience.view import Recent, Viewer
from ...context.live import read_message
from ...database import section_parts, sources, statements
from ...database.dialects import ID, Key, Time, from_key, read_time
from ...database.engine import Database
from ...database.rows import read_object, read_texts
from ...database.schema import ai_diary, chat_history_cache
from ...database.section_parts import SectionPart, SectionRow
from ...database.statements import Part
from ...shapes import DiaryEntry, HistoryEntry, ReplyNote
from . import by_id as search_read
from . import found_rows
from .by_id import RowsWanted
from .found_rows import FoundRow

CURRENT, RECENT, DIARY = 10, 11, 12


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
    sections: dict[int, list[SectionRow]] = field(default_factory=dict)
    """Number of a part to its rows."""


def read(
    db: Database,
    viewer: Viewer,
    rows: RowsWanted | None,
    history: HistoryWanted,
    sections: Sequence[SectionPart] = (),
) -> Brought:
    """Return rows, lines and sections in one round trip; nothing is asked when nothing is wanted.

    Raises:
        StoreReadError: nothing could be read.
    """
    if not viewer.audiences:  # what stands in none may still be there
        rows, history, sections = None, HistoryWanted(), [part for part in sections if part.of_persona]
    shared: dict[str, Any] = {
        "persona": viewer.scope.persona,
        "audiences": viewer.audiences,
        "local_only": int(viewer.sees_local_only),
        "now": db.clock(),
        "here": viewer.scope.conversation or "",
    }
    titles = {r.key: r.title for r in history.recent}
    found = _asked(db, viewer, rows, history, sections, shared)
    brought, is_whole = _sorted_out(found, titles, history.recent_most)
    if not is_whole:
        found = _asked(db, viewer, rows, history, sections, shared, whole=False)
        brought, _ = _sorted_out(found, titles, history.recent_most)
    return brought


def _asked(
    db: Database,
    viewer: Viewer,
    rows: RowsWanted | None,
    history: HistoryWanted,
    sections: Sequence[SectionPart],
    shared: Mapping[str, Any],
    *,
    whole: bool = True,
) -> Sequence[Any]:
    values: list[Any] = []
    recent = [r for r in history.recent if viewer.sees_local_only or not r.local_only]
    found_rows = search_read.RowBranches()
    if rows is not None:
        alone = not (history.conversation or recent or history.diary_since or sections)
        found_rows = search_read.row_branches(rows, shared, db.family, values, alone=alone, whole=whole)
    branches = list(found_rows.branches)
    if history.conversation is not None and history.current > 0:
        asked = {**shared, "conversation": history.conversation, "rows": history.current}
        branches.append(_lines(CURRENT, db.family).text(asked, values))
    for one in recent:
        asked = {**shared, "conversation": one.key, "rows": history.recent_rows}
        branches.append(_lines(RECENT, db.family).text(asked, values))
    if history.diary_since is not None:
        asked = {**shared, "since": history.diary_since, "rows": history.diary_rows}
        branches.append(_diary(db.family).text(asked, values))
    branches += [part.select(db.family).text({**shared, **part.values}, values) for part in sections]
    if not branches:
        return ()
    text = statements.union(branches, db.family)
    text = f"WITH {found_rows.named} {text}" if found_rows.named else text
    found = db.read_driver(text, values, source="memories, diary, history and sections")
    return [_readable(row) for row in found] if db.family == "sqlite" else found


def _readable(row: Any) -> Any:
    """Return a row whose texts are texts: a column of SQLite keeps bytes that somebody put there by hand."""
    for value in row[2:7]:
        if isinstance(value, bytes):
            return (*row[:2], *(from_key(v) if isinstance(v, bytes) else v for v in row[2:7]), *row[7:])
    return row


def _raw(column: Any) -> Any:
    return type_coerce(column, NullType())


_RAW_NAMES = ("tags", "digest", "conversation", "sender", "message", "at")


@lru_cache(maxsize=4)
def _lines(part: int, family: str) -> Part:
    c = chat_history_cache.c
    raw = (c.metadata, c.role, c.interface_path, c.sender_id, c.message_id, c.timestamp)
    columns = [
        literal_column(str(part), Integer()).label("source"),
        c.id,
        c.message_text.label("text0"),
        c.sender_name.label("text1"),
        null().label("text2"),
        null().label("text3"),
        (c.hidden + 2 * c.excluded).label("folded"),
        *(_raw(x).label(n) for x, n in zip(raw, _RAW_NAMES, strict=True)),
    ]
    where = [
        c.persona_id == bindparam("persona", type_=Key(64)),
        c.interface_path == bindparam("conversation", type_=Key(512)),
        c.audience_id.in_(bindparam("audiences", expanding=True, type_=ID)),
        sources.open_to(sources.CHAT),
    ]
    newest = select(*columns).where(*where).order_by(c.timestamp.desc(), c.id.desc())
    return Part(newest.limit(bindparam("rows", type_=Integer())), family)


@lru_cache(maxsize=2)
def _diary(family: str) -> Part:
    d = ai_diary.c
    raw = (d.context_tags, d.interface, d.chat_id, d.involved_users, d.thread_id, d.timestamp)
    columns = [
        literal_column(str(DIARY), Integer()).label("source"),
        d.id,
        d.content.label("text0"),
        d.personal_thought.label("text1"),
        d.interaction_summary.label("text2"),
        d.user_message.label("text3"),
        d.local_only.label("folded"),
        *(_raw(x).label(n) for x, n in zip(raw, _RAW_NAMES, strict=True)),
    ]
    where = [
        d.persona_id == bindparam("persona", type_=Key(64)),
        d.audience_id.in_(bindparam("audiences", expanding=True, type_=ID)),
        sources.AI_DIARY.findable,
        sources.open_to(sources.AI_DIARY),
        d.timestamp >= bindparam("since", type_=Time()),
    ]
    newest = select(*columns).where(*where).order_by(d.timestamp.desc(), d.id.desc())
    return Part(newest.limit(bindparam("rows", type_=Integer())), family)


def _sorted_out(found: Sequence[Any], titles: Mapping[str, str], recent_most: int) -> tuple[Brought, bool]:
    """Return what was brought, and whether it is all there."""
    made = Brought()
    taken = found_rows.Found(made.rows)
    recent: list[Any] = []
    for row in found:
        if len(row) < found_rows.COLUMNS:
            taken.take(row)
        elif row[0] == CURRENT:
            made.current.append(_entry(row, ""))
        elif row[0] == RECENT:
            recent.append(row)
        elif row[0] == DIARY:
            made.diary.append(_diary_entry(row))
        elif row[0] >= section_parts.FIRST:
            made.sections.setdefault(row[0], []).append(SectionRow(*row))
        else:
            taken.take(row)
    timed = [(read_time(row[12]), row) for row in recent]
    timed.sort(key=lambda pair: (pair[0] is not None, pair[0], pair[1][1]), reverse=True)
    made.recent.extend(_entry(row, titles.get(from_key(row[9]), "")) for _, row in timed[:recent_most])
    return made, taken.is_whole


def _entry(row: Any, title: str) -> HistoryEntry:
    marks = int(row[6] or 0)
    metadata = read_object(row[7])
    return HistoryEntry(
        conversation=from_key(row[9]),
        text=row[2] or "",
        sender_id=from_key(row[10]) if row[10] is not None else "",
        sender_name=row[3] or "",
        message_id=from_key(row[11]) if row[11] is not None else None,
        time=read_time(row[12]),
        row_id=row[1],
        role=from_key(row[8]),  # type: ignore[arg-type]
        reply=_reply(metadata),
        title=title,
        hidden=bool(marks & 1),
        excluded=bool(marks & 2),
    )


def _reply(metadata: Mapping[str, Any] | None) -> ReplyNote | None:
    """Return whom a stored message replies to: hosts keep it in its metadata as they hand it over live."""
    if not metadata or not ("reply_to" in metadata or "reply_to_message" in metadata):
        return None
    told = read_message({**metadata, "text": ""}, "", 0)
    return told.reply if told is not None else None


def _diary_entry(row: Any) -> DiaryEntry:
    return DiaryEntry(
        id=row[1],
        timestamp=read_time(row[12]),
        content=row[2] or "",
        personal_thought=row[3] or "",
        interaction_summary=row[4] or "",
        user_message=row[5] or "",
        context_tags=tuple(read_texts(row[7])),
        involved_users=tuple(read_texts(row[10])),
        interface=from_key(row[8] or ""),
        chat_id=from_key(row[9] or ""),
        thread_id=from_key(row[11] or ""),
        local_only=bool(int(row[6] or 0)),
    )
