"""Memory items: stored with their index rows and tags, found again when the same is said, forgotten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, bindparam, or_, select, update

from ..access import table as audiences
from ..access import table_conversations as conversations
from ..access import table_participants as participants
from ..access import tombstones
from ..access.view import Viewer, is_seen
from ..database import rows
from ..database.dialects import Time
from ..database.engine import Database, RollbackError
from ..database.ids import retry_duplicates
from ..database.schema import memories
from ..database.sources import MEMORIES
from ..index import entries as index_entries
from ..index import indexed
from ..index import table as search_index
from ..scope import Scope
from ..shapes import WriteResult
from ..tags import table as tags
from .new_item import NewMemory, Provenance, Tier, read
from .table_sources import join_sources

_C = memories.c


# Writing


@retry_duplicates
def insert(
    db: Database,
    scope: Scope,
    memory: NewMemory,
    *,
    privacy_default: str,
    row_id: int | None = None,
) -> WriteResult:
    """Store one item in the scope, or say that privacy forbids it."""
    row_id = row_id or db.ids.one()

    def work(connection: Connection) -> WriteResult:
        if is_private(connection, scope, memory.tier, privacy_default, False):
            return _result(memory, None, "privacy")
        place = conversations.ensure(connection, db, scope, sender=scope.participant)
        place = conversations.choose_place(connection, db, scope, place, memory.kind)
        refuse_late(db, scope, row_id, _result(memory, None, "privacy"))
        write(connection, db, scope, [(row_id, memory)], place)
        return _result(memory, row_id)

    return db.transaction(
        work, source="memories", confirm=rows.confirm_row(memories, scope.persona, row_id, _result(memory, row_id))
    )


@retry_duplicates
def capture(
    db: Database,
    scope: Scope,
    memory: NewMemory,
    *,
    privacy_default: str,
    refused: Collection[bytes] = (),
    row_id: int | None = None,
) -> WriteResult:
    """Store what a person said, once: said again, the item there is gets the new time."""
    row_id = row_id or db.ids.one()

    def work(connection: Connection) -> WriteResult:
        if is_private(connection, scope, memory.tier, privacy_default, True):
            return _result(memory, None, "privacy")
        place = conversations.ensure(connection, db, scope, sender=scope.participant)
        place = conversations.choose_place(connection, db, scope, place, memory.kind)
        refuse_late(db, scope, row_id, _result(memory, None, "privacy"))
        audiences.lock(connection, scope.persona, place.audience_id)
        double = _double(connection, db, scope, place.audience_id, memory)
        if double is not None:
            renew(connection, db, scope.persona, double, memory.at, memory.source_message_ids)
            return _result(memory, double, "duplicate")
        if memory.digest in refused:
            return _result(memory, None, "refused")
        write(connection, db, scope, [(row_id, memory)], place)
        return _result(memory, row_id)

    return db.transaction(
        work, source="memories", confirm=rows.confirm_row(memories, scope.persona, row_id, _result(memory, row_id))
    )


def _result(memory: NewMemory, row_id: int | None, reason: Any = "") -> WriteResult:
    return WriteResult(reason == "", row_id, reason, dropped_tags=memory.dropped_tags, notes=memory.notes)


def refuse_late(db: Database, scope: Scope, row_id: int, result: WriteResult) -> None:
    """Refuse an item that was begun before its person or conversation was forgotten; the caller holds the latter."""
    if tombstones.is_late(db, scope.persona, row_id, people=(scope.participant,), conversation=scope.conversation):
        raise RollbackError(result)


def is_private(connection: Connection, scope: Scope, tier: Tier, default: str, of_person: bool) -> bool:
    """Return whether the level of who is speaking forbids the item: full all, partial what is kept for long."""
    if scope.participant:
        level = participants.known(connection, scope.persona, [scope.participant], default)[scope.participant].level
    else:
        level = default if of_person else "none"
    return level == "full" or (level == "partial" and tier == "long_term")


def write(
    connection: Connection,
    db: Database,
    scope: Scope,
    ready: Sequence[tuple[int, NewMemory]],
    place: conversations.Place,
) -> None:
    """Store items with their index rows and tags, in the caller's transaction, which holds the place."""
    now = db.clock()
    rows.insert_rows(connection, memories, [_row(scope, row_id, m, place, now) for row_id, m in ready])
    entries = [
        index_entries.entry(
            MEMORIES.number,
            row_id,
            place.audience_id,
            m.at,
            m.folded,
            m.tags,
            int(place.local_only or m.local_only),
            index_entries.place_of(MEMORIES.number, scope.conversation, m.author, scope.participant, m.label),
        )
        for row_id, m in ready
        if not m.quarantined
    ]
    search_index.add(connection, db.family, entries)
    tags.raise_uses(connection, db, scope.persona, Counter(tag for _, m in ready for tag in m.tags))


def _row(scope: Scope, row_id: int, memory: NewMemory, place: conversations.Place, now: datetime) -> dict[str, Any]:
    return {
        "id": row_id,
        "persona_id": scope.persona,
        "audience_id": place.audience_id,
        "timestamp": memory.at,
        "content": memory.content,
        "text_folded": memory.folded,
        "response_text": memory.response_text,
        "author": memory.author,
        "source": memory.source,
        "tags": list(memory.tags),
        "scope": memory.label,
        "emotion": memory.emotion,
        "intensity": memory.intensity,
        "emotion_state": memory.emotion_state,
        "tier": memory.tier,
        "kind": memory.kind,
        "importance": memory.importance,
        "pinned": memory.pinned,
        "local_only": int(place.local_only or memory.local_only),
        "quarantined": memory.quarantined,
        "conversation_key": scope.conversation,
        "participant_key": scope.participant,
        "source_message_ids": memory.source_message_ids,
        "provenance": memory.provenance,
        "expires_at": memory.expires_at,
        "metadata": memory.metadata,
        "content_hash": memory.digest,
        "created_at": now,
        "updated_at": now,
    }


# Said again


def active(scope: Scope, audience_id: int, now: datetime) -> list[Any]:
    """Items of an audience and participant that are read: not archived, superseded, expired or quarantined."""
    return [
        _C.persona_id == scope.persona,
        _C.audience_id == audience_id,
        _C.participant_key == scope.participant if scope.participant else _C.participant_key.is_(None),
        _C.archived_at.is_(None),
        _C.superseded_by.is_(None),
        _C.quarantined == 0,
        or_(_C.expires_at.is_(None), _C.expires_at > bindparam("now", now, type_=Time())),
    ]


def _double(connection: Connection, db: Database, scope: Scope, audience_id: int, memory: NewMemory) -> int | None:
    """Return the id of the item that says the same, the newest of several; None where there is none."""
    where = active(scope, audience_id, db.clock())
    newest = (_C.timestamp.desc(), _C.id.desc())
    same = select(_C.id).where(*where, _C.content_hash == memory.digest).order_by(*newest).limit(1)
    found: int | None = connection.execute(same).scalar()
    return found


def change_visible(
    db: Database,
    viewer: Viewer,
    kind: str,
    row_id: int,
    change: Callable[[Connection, Any], WriteResult],
    *,
    archived: bool,
    note: str,
) -> WriteResult:
    """Change an item that the viewer sees, in a transaction that holds it; `unchanged` where there is none."""
    values = {"persona": viewer.scope.persona, "id": row_id, "kind": kind}

    def work(connection: Connection) -> WriteResult:
        place = connection.execute(_PLACE, values).first() if archived else None
        if place is not None:
            audiences.lock(connection, viewer.scope.persona, place.audience_id)
        row: Any = connection.execute(_ONE, values).first()
        is_there = is_seen(row, viewer.audiences, viewer.sees_local_only)
        if not is_there or archived is (row.archived_at is None and row.superseded_by is None):
            return WriteResult(False, None, "unchanged", notes=(note,))
        return change(connection, row)

    return db.idempotent_transaction(work, source="memories")


_ITS_ID = and_(_C.persona_id == bindparam("persona"), _C.id == bindparam("id"), _C.kind == bindparam("kind"))
_PLACE = select(_C.audience_id).where(_ITS_ID)
_ONE = select(
    _C.id, _C.content, _C.metadata, _C.timestamp, _C.participant_key, _C.archived_at, _C.superseded_by,
    _C.audience_id, _C.local_only, _C.conversation_key, _C.content_hash,
).where(_ITS_ID, _C.quarantined == 0).with_for_update()  # fmt: skip


def renew(
    connection: Connection, db: Database, persona: str, row_id: int, at: datetime, sources: object = None
) -> None:
    """Give an item a new time, its index rows too, in the caller's transaction."""
    old = indexed.lock(connection, MEMORIES, persona, [row_id])
    values: dict[str, Any] = {"timestamp": at, "updated_at": db.clock()}
    if sources:
        held = connection.execute(_SOURCES, {"persona": persona, "id": row_id}).scalar()
        # One that is nobody's message's stays so: it holds whatever becomes of this one.
        values |= {"source_message_ids": join_sources(rows.read_list(held), sources)} if rows.read_list(held) else {}
    connection.execute(update(memories).where(_C.persona_id == persona, _C.id == row_id).values(values))
    indexed.exchange(connection, db, MEMORIES, old, [replace(each, at=at) for each in old])


_SOURCES = select(_C.source_message_ids).where(_C.persona_id == bindparam("persona"), _C.id == bindparam("id"))
"""The messages an item stands on."""


def remove(db: Database, persona: str, ids: Iterable[int]) -> int:
    """Delete items with their index rows, lower the uses of their tags, and return how many there were."""
    wanted = sorted(set(ids))

    def work(connection: Connection) -> int:
        return indexed.remove(connection, db, MEMORIES, persona, wanted)

    return db.idempotent_transaction(work, source="memories")


__all__ = ["NewMemory", "Provenance", "Tier", "active", "capture", "change_visible", "insert", "is_private",
           "read", "remove", "renew", "write"]  # fmt: skip
