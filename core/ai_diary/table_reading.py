"""Reading the diary (table ai_diary): newest entries of what a scope sees, by days, tags or people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, bindparam, or_, select

from ..database import rows
from ..database.bulk import chunks
from ..database.dialects import Time, json_has_text
from ..database.engine import Database
from ..database.schema import ai_diary
from ..database.sources import AI_DIARY
from ..index import indexed
from ..shapes import DiaryEntry
from ..text.hits import stored_tags

_C = ai_diary.c
_WALK = 200
"""Entries read first where the room for them is not known beforehand."""
_ALL = 2**31 - 1
_AUDIENCES_AT_ONCE = 500
_FEW = 8

_COLUMNS = (
    _C.id,
    _C.timestamp,
    _C.content,
    _C.personal_thought,
    _C.interaction_summary,
    _C.user_message,
    _C.emotions,
    _C.context_tags,
    _C.involved_users,
    _C.interface,
    _C.chat_id,
    _C.thread_id,
    _C.local_only,
)


@lru_cache(maxsize=128)
def _newest(since: bool, local: bool, column: str, wanted: int) -> Any:
    """Entries that may be read, newest first: neither archived nor quarantined."""
    made = select(*_COLUMNS).where(
        _C.persona_id == bindparam("persona"),
        _C.audience_id.in_(bindparam("audiences", expanding=True)),
        AI_DIARY.findable,
    )
    if since:
        made = made.where(_C.timestamp > bindparam("since", type_=Time()))
    if not local:
        made = made.where(_C.local_only == 0)
    if wanted:
        holds = [json_has_text(_C[column], bindparam(f"wanted{n}")) for n in range(wanted)]
        made = made.where(or_(*holds))
    ordered = made.order_by(_C.timestamp.desc(), _C.id.desc())
    return ordered.limit(bindparam("most", type_=Integer())).offset(bindparam("skip", type_=Integer()))


def newest(
    db: Database,
    persona: str,
    audiences: Sequence[int],
    *,
    most: int,
    since: datetime | None = None,
    skip: int = 0,
    local: bool = False,
    tags: Sequence[str] = (),
    person: str | None = None,
) -> list[DiaryEntry]:
    """Return visible entries, newest first, ties by the greater id.

    Args:
        audiences: those the scope sees.
        since: entries of exactly this time are too old.
        tags: in normal form; an entry with one of them. None given: all.
        person: exact name among involved_users.

    Raises:
        StoreReadError: nothing could be read.
    """
    wanted = [person] if person is not None else list(tags)
    column = "involved_users" if person is not None else "context_tags"
    values: dict[str, Any] = {"persona": persona, "most": most + skip, "skip": 0, "since": since}
    values |= {f"wanted{n}": text for n, text in enumerate(wanted)}
    if since is None:
        del values["since"]
    statement = _newest(since is not None, local, column, len(wanted))
    # Each of few audiences is walked by itself, along its index, to its newest entries; in one query all were sorted.
    few = len(audiences) <= _FEW
    parts = [[a] for a in audiences] if few else list(chunks(audiences, _AUDIENCES_AT_ONCE))
    if len(parts) == 1:
        values |= {"most": most, "skip": skip}
    found = [
        _entry(row) for part in parts for row in db.read(statement, {**values, "audiences": part}, source="ai_diary")
    ]
    if len(parts) <= 1:
        return found
    found.sort(key=lambda e: (e.timestamp is not None, e.timestamp, e.id), reverse=True)
    return found[skip : skip + most]


def recent(
    db: Database,
    persona: str,
    audiences: Sequence[int],
    *,
    days: float,
    max_chars: int | None,
    local: bool = False,
) -> list[DiaryEntry]:
    """Return the entries of the last days, newest first, whole ones up to the first that does not fit."""
    since = db.clock() - timedelta(days=days)
    found: list[DiaryEntry] = []
    room, most = max_chars, _WALK if max_chars is not None else _ALL
    while True:
        part = newest(db, persona, audiences, most=most, since=since, skip=len(found), local=local)
        for entry in part:
            if room is not None:
                room -= size_of(entry)
                if room < 0:
                    return found
            found.append(entry)
        if len(part) < most:
            return found
        most *= 2  # what is skipped is read again by the server, so the parts grow


def size_of(entry: DiaryEntry) -> int:
    """Return the characters of an entry's four texts.

    >>> size_of(DiaryEntry(1, None, "abc", "de"))
    5
    """
    return sum(len(getattr(entry, name)) for name in indexed.DIARY_TEXTS)


def _entry(row: Any) -> DiaryEntry:
    return DiaryEntry(
        id=row.id,
        timestamp=row.timestamp,
        content=row.content or "",
        personal_thought=row.personal_thought or "",
        interaction_summary=row.interaction_summary or "",
        user_message=row.user_message or "",
        emotions=tuple(rows.read_list(row.emotions)),
        context_tags=tuple(stored_tags(row.context_tags)),
        involved_users=tuple(rows.read_texts(row.involved_users)),
        interface=row.interface or "unknown",
        chat_id=row.chat_id or "",
        thread_id=row.thread_id or "",
        local_only=bool(row.local_only),
    )
