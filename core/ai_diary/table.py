"""Reads and writes diary entries (table ai_diary)."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

from sqlalchemy import Connection, func, or_, select

from ..access import table_conversations, table_participants, tombstones
from ..access.rules import check_key, mark_participant, split_key
from ..access.view import Viewer
from ..calls.call import Call
from ..database import rows
from ..database.compiled import AT_ONCE, IDS, chunks, read_parts
from ..database.dialects import json_has_text
from ..database.engine import Database, RollbackError
from ..database.ids import retry_duplicates
from ..database.schema import ai_diary, chat_history_cache, conversations, participants
from ..database.sources import AI_DIARY
from ..index import entries as index_entries
from ..index import indexed
from ..scope import Scope
from ..shapes import DiaryEntry, WriteResult
from ..text.hits import stored_tags

_C = ai_diary.c
_ALL = 2**31 - 1
_NAME_BYTES = 255


@dataclass(frozen=True, slots=True)
class NewEntry(DiaryEntry):
    """An entry to store; `interface` is the host's name for it, which is stored in short form."""

    source_message_ids: tuple[int | str, ...] = ()


@retry_duplicates
def insert_entry(call: Call, entry: NewEntry, *, row_id: int) -> tuple[int, Sequence[str]] | None:
    """Store an entry; return (id, notes on what was left out), or None if it may not be kept."""
    db, scope = call.db, call.scope

    def work(connection: Connection) -> tuple[int, Sequence[str]]:
        own = _find_scope(connection, scope, entry)
        place = table_conversations.ensure(connection, db, own, sender=own.participant)
        default, person = call.settings.privacy_default, place.facts and place.facts.direct_person
        kept, keys, notes = _drop_private(connection, scope, entry, default)
        known = table_participants.known(connection, scope.persona, [person] if person else [], default)
        if _is_late(db, own, entry, row_id) or any(one.level == "full" for one in known.values()):
            raise RollbackError(None)
        row = asdict(kept)
        if own.conversation is not None:  # so that reads of the conversation find it
            row["interface"], row["chat_id"], row["thread_id"] = split_key(own.conversation)
        row["interface"] = rows.short_interface(row["interface"])
        row |= index_entries.derive_columns([row[name] for name in index_entries.DIARY_TEXTS])
        row |= {name: row[name] or None for name in (*index_entries.DIARY_TEXTS[1:], "source_message_ids")}
        row |= {name: list(value) for name, value in row.items() if isinstance(value, tuple)}
        rows.check_size(row["text_folded"], "the entry's texts in their folded form")
        row |= {"id": row_id, "persona_id": scope.persona, "audience_id": place.audience_id}
        row |= {"local_only": int(place.local_only or kept.local_only), "participant_keys": keys or None}
        indexed.insert(connection, db, AI_DIARY, [row])
        return row_id, notes

    return db.transaction(work, source="ai_diary", confirm=rows.check_stored(ai_diary, scope.persona, [row_id]))


def _is_late(db: Database, scope: Scope, entry: NewEntry, row_id: int) -> bool:
    """Return whether a person or the conversation of an entry was forgotten after its id `row_id` was made."""
    interface = split_key(scope.conversation)[0] if scope.conversation else entry.interface
    named = [key for name in entry.involved_users for key in (name, f"{interface}/{name}")]
    people = (scope.participant, *named)
    return tombstones.is_late(db, scope.persona, row_id, people=people, conversation=scope.conversation)


def _find_scope(connection: Connection, scope: Scope, entry: NewEntry) -> Scope:
    """Return the scope of the entry: `scope`, with the entry's conversation if `scope` has no conversation."""
    if scope.conversation is not None or not entry.interface or not entry.chat_id:
        return scope
    c = conversations.c
    where = [c.persona_id == scope.persona, c.chat_id == entry.chat_id, c.thread_id == entry.thread_id]
    if scope.server or scope.no_server:
        where.append(c.server_id.in_(("", scope.server)))
    fitting = select(c.conversation_key, c.interface, c.is_private).where(*where)
    short = rows.short_interface(entry.interface)
    matches = [r for r in connection.execute(fitting) if rows.short_interface(r.interface) == short]
    if matches:
        best = min(matches, key=lambda r: (not r.is_private, r.interface != entry.interface, r.conversation_key))
        return replace(scope, conversation=best.conversation_key)
    key = check_key("/".join(filter(None, (entry.interface, entry.chat_id, entry.thread_id))))
    return replace(scope, conversation=table_conversations.resolve_key(connection.execute, scope, key))


def _drop_private(
    connection: Connection, scope: Scope, entry: NewEntry, default: str
) -> tuple[NewEntry, list[str], list[str]]:
    """Return (entry without private parts; involved people's keys, as digests at level full, for forgetting; notes)."""
    closed = _find_closed_names(connection, scope, entry, default)
    named = {*(key for matches in closed.values() for key in matches), *filter(None, [scope.participant])}
    known = table_participants.known(connection, scope.persona, named, default)
    keys = sorted(mark_participant(key) if known[key].level == "full" else key for key in named)
    if not closed:
        return entry, keys, []
    left = tuple(name for name in entry.involved_users if name not in closed)
    count = len(entry.involved_users) - len(left)
    notes = [f"privacy: {count} involved users were left out"] if count else []
    notes += ["privacy: user_message was left out"] if entry.user_message else []
    return replace(entry, involved_users=left, user_message=""), keys, notes


def _find_closed_names(connection: Connection, scope: Scope, entry: NewEntry, default: str) -> dict[str, list[str]]:
    """Return, by involved name, the participant keys of people at level partial or full; name "" is the speaker."""
    interface = split_key(scope.conversation)[0] if scope.conversation else entry.interface
    names = [name for name in entry.involved_users if len(name.encode("utf-8")) <= _NAME_BYTES]
    keys = {name: {name, f"{interface}/{name}"} for name in names}
    for part in chunks(sorted(keys)):
        for name, key in _read_names(connection, scope.persona, part, default):
            if name in keys:  # servers ignore blanks at the end of a name; here names are compared exactly
                keys[name].add(key)
    wanted = {scope.participant or "", *(key for matches in keys.values() for key in matches)}
    fitting = [key for key in wanted if key and len(key.encode("utf-8")) <= _NAME_BYTES]
    known = table_participants.known(connection, scope.persona, fitting, default)
    speaker = bool(scope.participant) and known[scope.participant or ""].level != "none"
    closed: dict[str, list[str]] = {"": []} if speaker else {}
    for name, matches in keys.items():
        stored = [key for key in matches if key in known and known[key].display_name is not None]
        unknown = not stored and (speaker or default != "none")
        if unknown or any(known[key].level != "none" for key in stored):
            closed[name] = stored or [key for key in matches if key == name and "/" in name]
    return closed


def _read_names(connection: Connection, persona: str, names: Sequence[str], default: str) -> Iterable[tuple[str, str]]:
    """Return `(name, participant key)` of people with these names, even if their privacy level removed the name."""
    p, c = participants.c, chat_history_cache.c
    now = select(p.display_name, p.participant_key).where(p.persona_id == persona, p.display_name.in_(names))
    level = table_participants.strictest_rank(p.participant_key)
    closed = func.coalesce(level, table_participants.LEVELS.index(default) + 1) > 1
    nameless = select(p.participant_key).where(p.persona_id == persona, p.display_name == "", closed)
    keys = connection.execute(nameless).scalars().all()
    theirs = (c.persona_id == persona, c.participant_key.in_(IDS), c.sender_name.in_(names))
    before = select(c.sender_name, c.participant_key).where(*theirs).distinct()
    yield from (tuple(row) for row in connection.execute(now))
    yield from (tuple(row) for row in read_parts(connection.execute, before, {}, keys))


def archive_entries(db: Database, persona: str, days: float) -> int:
    now = db.clock()
    return _set_archived(db, persona, now, _C.archived_at.is_(None), _C.timestamp <= now - timedelta(days=days))


def unarchive_entries(db: Database, persona: str, ids: Iterable[int] | None) -> int:
    chosen = () if ids is None else (_C.id.in_(sorted(set(ids))),)
    return _set_archived(db, persona, None, _C.archived_at.is_not(None), *chosen)


def _set_archived(db: Database, persona: str, at: datetime | None, *where: Any) -> int:
    chosen = select(_C.id).where(_C.persona_id == persona, *where)

    def work(connection: Connection) -> int:
        ids = connection.execute(chosen).scalars().all()
        return indexed.set_columns(connection, db, AI_DIARY, persona, ids, archived_at=at)

    return db.idempotent_transaction(work, source="ai_diary")


def _match_seen(viewer: Viewer, audiences: Sequence[int]) -> tuple[Any, ...]:
    """Return the SQL conditions for entries of these audiences of the viewer."""
    return AI_DIARY.findable, _C.local_only <= int(viewer.sees_local_only), _C.audience_id.in_(audiences)


def edit_entry(db: Database, viewer: Viewer, row_id: int, text: str) -> WriteResult:
    """Replace all texts of a visible entry by `text`; reason `unchanged` without an id if it is not found."""
    persona = viewer.scope.persona
    texts = dict.fromkeys(index_entries.DIARY_TEXTS, "") | {"content": text}
    values: dict[str, Any] = {name: value or None for name, value in texts.items()}
    values |= index_entries.derive_columns(list(texts.values()))
    seen = _match_seen(viewer, viewer.audiences)
    visible = select(_C.id).where(_C.persona_id == persona, _C.id == row_id, *seen)
    rows.check_size(values["text_folded"], "the entry's text in its folded form")

    def work(connection: Connection) -> WriteResult:
        is_there = indexed.lock(connection, AI_DIARY, persona, [row_id])
        if not is_there or connection.execute(visible).first() is None:
            return WriteResult(False, None, "unchanged")
        indexed.set_columns(connection, db, AI_DIARY, persona, [row_id], **values)
        return WriteResult(True, row_id)

    return db.idempotent_transaction(work, source="ai_diary")


def archive_entry(db: Database, viewer: Viewer, row_id: int) -> bool:
    seen = _match_seen(viewer, viewer.audiences)
    return _set_archived(db, viewer.scope.persona, db.clock(), _C.id == row_id, *seen) > 0


_COLUMNS = tuple(_C[column.name] for column in fields(DiaryEntry))


def read_newest(
    db: Database,
    viewer: Viewer,
    *,
    most: int,
    since: datetime | None = None,
    tags: Sequence[str] = (),
    person: str | None = None,
) -> list[DiaryEntry]:
    """Return visible entries, newest first, ties by the higher id."""
    where: list[Any] = [_C.persona_id == viewer.scope.persona]
    if since is not None:
        where.append(_C.timestamp > since)
    if tags:
        where.append(or_(*(json_has_text(_C.context_tags, tag) for tag in tags)))
    if person is not None:
        where.append(json_has_text(_C.involved_users, person))
    newest = select(*_COLUMNS).where(*where).order_by(_C.timestamp.desc(), _C.id.desc()).limit(most)
    # A few audiences are read one by one along the index; a single query would sort all entries.
    parts = list(chunks(viewer.audiences, 1 if len(viewer.audiences) <= 8 else AT_ONCE))
    entries = [_read_entry(row) for part in parts for row in db.read(newest.where(*_match_seen(viewer, part)))]
    entries.sort(key=lambda e: (e.timestamp is not None, e.timestamp, e.id), reverse=True)
    return entries[:most]


def read_recent(db: Database, viewer: Viewer, *, days: float, max_chars: int | None) -> list[DiaryEntry]:
    since = db.clock() - timedelta(days=days)
    if max_chars is None:
        return read_newest(db, viewer, most=_ALL, since=since)
    # Every entry has at least one character, so at most this many fit.
    entries = read_newest(db, viewer, most=min(max_chars + 1, _ALL), since=since)
    sizes = accumulate(sum(len(getattr(entry, name)) for name in index_entries.DIARY_TEXTS) for entry in entries)
    return [entry for entry, size in zip(entries, sizes, strict=True) if size <= max_chars]


def _read_entry(row: Any) -> DiaryEntry:
    return DiaryEntry(
        id=row.id,
        timestamp=row.timestamp,
        **{name: getattr(row, name) or "" for name in (*index_entries.DIARY_TEXTS, "chat_id", "thread_id")},
        emotions=tuple(rows.read_list(row.emotions)),
        context_tags=tuple(stored_tags(row.context_tags)),
        involved_users=tuple(rows.read_texts(row.involved_users)),
        interface=row.interface or "unknown",
        local_only=bool(row.local_only),
    )
