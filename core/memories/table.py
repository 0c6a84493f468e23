"""Writes memory items with their index rows and tags, and merges items with equal texts."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, or_, select, update

from ..access import table as audiences
from ..access import table_conversations as conversations
from ..access import table_participants as participants
from ..access import tombstones
from ..access.table_conversations import AudienceRow
from ..calls.call import Call
from ..database import rows
from ..database.compiled import IDS, read_parts
from ..database.engine import Database, RollbackError
from ..database.ids import retry_duplicates
from ..database.schema import memories
from ..database.sources import MEMORIES
from ..index import indexed
from ..scope import Scope
from ..shapes import WriteReason, WriteResult
from ..tags import table as tags
from ..text.hits import stored_tags
from .new_item import NewMemory
from .rules import INSTRUCTION, SAVED, Tier
from .shapes import Added
from .table_sources import join_sources

_C = memories.c
Check = Callable[[Connection, AudienceRow], WriteResult | None]
"""Function that returns None for an item to store, or the result for an item not to store, such as a duplicate."""


@retry_duplicates
def insert(call: Call, memory: NewMemory, *, row_id: int | None = None, check: Check | None = None) -> WriteResult:
    """Store one item in the scope, or return the reason why not. `check` runs first, with the audience locked.

    If `check` returns a result, nothing is stored and this is the result. Reason `privacy`: the speaker's level (with
    `check` but no speaker: PRIVACY_DEFAULT) forbids the item, or speaker or conversation were forgotten meanwhile.
    """
    db, scope, row_id = call.db, call.scope, row_id or call.db.ids.one()

    def work(connection: Connection) -> WriteResult:
        place = conversations.ensure(connection, db, scope, sender=scope.participant)
        # The level may be set while this waits.
        if is_private(connection, scope, memory.tier, call.settings.privacy_default, check is not None):
            raise RollbackError(build_result(memory, None, "privacy"))
        place = conversations.choose_place(connection, db, scope, place, memory.kind)
        if tombstones.is_late(db, scope.persona, row_id, people=(scope.participant,), conversation=scope.conversation):
            raise RollbackError(build_result(memory, None, "privacy"))
        if check is not None:
            audiences.lock(connection, scope.persona, place.audience_id)
            if (known := check(connection, place)) is not None:
                return known
        write(connection, db, scope, [(row_id, memory)], place)
        return build_result(memory, row_id)

    return db.transaction(work, source="memories", confirm=rows.check_stored(memories, scope.persona, [row_id]))


def build_result(memory: NewMemory, row_id: int | None, reason: WriteReason = "") -> WriteResult:
    return WriteResult(not reason, row_id, reason, dropped_tags=memory.dropped_tags, notes=memory.notes)


def insert_once(call: Call, memory: NewMemory, *, row_id: int, refused: Collection[bytes]) -> WriteResult:
    """Store an item like `insert` if its digest is not in `refused`; only renew the time of an equal stored item."""

    def check(connection: Connection, place: AudienceRow) -> WriteResult | None:
        db, scope, local = call.db, call.scope, bool(place.local_only or memory.local_only)
        equal = find_equal(connection, db, scope, place.audience_id, [memory.digest]).get((memory.digest, local))
        if equal is not None:
            renew(connection, db, scope.persona, equal, memory.at, memory.source_message_ids)
            return build_result(memory, equal, "duplicate")
        return build_result(memory, None, "refused") if memory.digest in refused else None

    return insert(call, memory, row_id=row_id, check=check)


def is_private(connection: Connection, scope: Scope, tier: Tier, default: str, of_person: bool) -> bool:
    """Return whether the speaker's level forbids an item of `tier`; `of_person` uses `default` without a speaker."""
    level = default if of_person else "none"
    if scope.participant:
        level = participants.known(connection, scope.persona, [scope.participant], default)[scope.participant].level
    return level == "full" or (level == "partial" and tier == "long_term")


_SAME_NAMES = (
    "content", "response_text", "author", "source", "emotion", "intensity", "emotion_state", "tier", "kind",
    "importance", "pinned", "source_message_ids", "provenance", "expires_at", "metadata",
)  # fmt: skip
"""Columns with the same name in `NewMemory`."""


def write(
    connection: Connection, db: Database, scope: Scope, ready: Sequence[tuple[int, NewMemory]], place: AudienceRow
) -> None:
    """Store items with their index rows and tags, in the caller's transaction, which has locked the audience."""
    now = db.clock()
    new = [
        {
            **{name: getattr(memory, name) for name in _SAME_NAMES},
            "id": row_id,
            "persona_id": scope.persona,
            "audience_id": place.audience_id,
            "conversation_key": scope.conversation,
            "participant_key": scope.participant,
            "timestamp": memory.at,
            "text_folded": memory.folded,
            "content_hash": memory.digest,
            "tags": list(memory.tags),
            "scope": memory.label,
            "local_only": int(place.local_only or memory.local_only),
            "created_at": now,
            "updated_at": now,
        }
        for row_id, memory in ready
    ]
    indexed.insert(connection, db, MEMORIES, new)


def match_own(scope: Scope, audience_id: int) -> tuple[Any, ...]:
    return (
        _C.persona_id == scope.persona,
        _C.audience_id == audience_id,
        _C.participant_key == scope.participant if scope.participant else _C.participant_key.is_(None),
        MEMORIES.visible,
    )


def find_equal(
    connection: Connection,
    db: Database,
    scope: Scope,
    audience_id: int,
    digests: Collection[bytes],
    *,
    instructions: bool = True,
) -> dict[tuple[bytes, bool], int]:
    """Return, by (digest, local_only), the id of the newest active item of this audience and participant."""
    where = [*match_own(scope, audience_id), or_(_C.expires_at.is_(None), _C.expires_at > db.clock())]
    if not instructions:
        where.append(_C.kind != INSTRUCTION)
    equal: dict[tuple[bytes, bool], int] = {}
    # no ORDER BY: SQLite would read all memories of the audience in order of time, not the few with these digests
    chosen = select(_C.timestamp, _C.id, _C.content_hash, _C.local_only).where(*where, _C.content_hash.in_(IDS))
    rows = read_parts(connection.execute, chosen, {}, digests)
    for row in sorted(rows, key=lambda row: (row.timestamp is not None, row[:2])):
        equal[bytes(row.content_hash), bool(row.local_only)] = int(row.id)
    return equal


def insert_each_once(
    connection: Connection, db: Database, scope: Scope, new: Sequence[tuple[int, NewMemory]], place: AudienceRow
) -> Added:
    """Store items of one conversation and person; merge an item into a stored item with equal text and local_only."""
    audiences.lock(connection, scope.persona, place.audience_id)
    digests = [memory.digest for _, memory in new]
    # `table_instructions` merges instructions.
    equal = find_equal(connection, db, scope, place.audience_id, digests, instructions=False)
    fresh: list[tuple[int, NewMemory]] = []
    joining: list[tuple[int, NewMemory]] = []
    for row_id, memory in new:
        known = equal.setdefault((memory.digest, bool(place.local_only or memory.local_only)), row_id)
        (fresh if known == row_id else joining).append((known, memory))
    write(connection, db, scope, fresh, place)
    more_tags: Counter[str] = Counter()
    for known, memory in joining:
        more_tags.update(_join(connection, db, scope.persona, known, memory))
    tags.raise_uses(connection, db, scope.persona, more_tags)
    return Added(len(fresh), ids=(row_id for row_id, _ in fresh), merged=len(joining))


def _join(connection: Connection, db: Database, persona: str, row_id: int, memory: NewMemory) -> set[str]:
    """Merge `memory` into the stored item `row_id`, which has the same text; return the tags that this item gains."""
    held = indexed.lock(connection, MEMORIES, persona, [row_id])
    mine = (_C.persona_id == persona, _C.id == row_id)
    row = connection.execute(select(*_JOINED).where(*mine)).one()
    values = merge_values(row, memory)
    connection.execute(update(memories).where(*mine).values({**values, "updated_at": db.clock()}))
    new = [replace(each, at=values["timestamp"], tags=tuple(values["tags"])) for each in held]
    indexed.exchange(connection, db, MEMORIES, held, new)
    return set(values["tags"]) - set(stored_tags(row.tags))


_JOINED = (
    _C.tags, _C.importance, _C.tier, _C.pinned, _C.kind, _C.source_message_ids, _C.metadata,
    _C.timestamp, _C.expires_at,
)  # fmt: skip


def merge_values(old: Any, new: NewMemory) -> dict[str, Any]:
    """Return the columns of item `old` after the equal `new` is merged into it; a saved memory keeps its time."""
    tier = "session" if old.tier == new.tier == "session" else "long_term"
    expiries = (old.expires_at, new.expires_at)
    is_newer = old.timestamp is None or (old.kind != SAVED and new.at > old.timestamp)
    return {
        "tags": list(dict.fromkeys((*stored_tags(old.tags), *new.tags))),
        "importance": max(float(old.importance), new.importance),
        "tier": tier,
        "pinned": max(int(old.pinned), new.pinned),
        "source_message_ids": join_sources(rows.read_list(old.source_message_ids), new.source_message_ids),
        "metadata": {**(new.metadata or {}), **(rows.read_object(old.metadata) or {})} or None,
        "timestamp": new.at if is_newer else old.timestamp,
        "expires_at": None if None in expiries else max(expiries),
    }


def renew(
    connection: Connection, db: Database, persona: str, row_id: int, at: datetime, sources: object = None
) -> None:
    """Set an item's time to `at` if that is later; add `sources` if the item already has sources."""
    old = indexed.lock(connection, MEMORIES, persona, [row_id])
    at = max([at, *(each.at for each in old if each.at is not None)])
    values: dict[str, Any] = {"timestamp": at, "updated_at": db.clock()}
    mine = (_C.persona_id == persona, _C.id == row_id)
    held = rows.read_list(connection.execute(select(_C.source_message_ids).where(*mine)).scalar()) if sources else []
    if held:  # an item without sources stays so: deleting this message must not delete it
        values["source_message_ids"] = join_sources(held, sources)
    connection.execute(update(memories).where(*mine).values(values))
    indexed.exchange(connection, db, MEMORIES, old, [replace(each, at=at) for each in old])
