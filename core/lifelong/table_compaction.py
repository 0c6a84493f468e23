"""Old items and the one that takes their place (tables memories, archived_memories)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Integer, bindparam, func, insert, select

from ..audience import table_participants as participants
from ..audience.table_conversations import Place
from ..database.bulk import chunks
from ..database.dialects import ID, Key, Time
from ..database.engine import Database
from ..database.rows import read_list
from ..database.schema import memories as table
from ..database.schema_lifelong import archived_memories
from ..database.sources import MEMORIES
from ..errors import StoreWriteError
from ..index import indexed
from ..memories import new_item as memory_input
from ..memories import table as memories
from ..memories.new_item import NewMemory
from ..memories.rules import DEFAULT_KIND
from ..memories.rules_retention import KEPT_KINDS
from ..scope import Scope
from ..tags.rules import stored_form
from ..text.hits import stored_tags
from .rules_compaction import Chosen, Old, Summed

MOST_LOOKED_AT = 5000
"""Oldest items a tag is looked for among."""
BY = "compaction"
_C, _A = table.c, archived_memories.c


class NotTheSameError(StoreWriteError):
    """What was read back is not what was stored, or the sources changed meanwhile."""


_OLD = (
    select(
        _C.id, _C.audience_id, _C.participant_key, _C.local_only, _C.tags, _C.content, _C.kind, _C.importance,
        _C.content_hash,
    )
    .where(
        _C.persona_id == bindparam("persona", type_=Key(64)),
        _C.tier == "long_term",
        _C.archived_at.is_(None),
        _C.superseded_by.is_(None),
        _C.quarantined == 0,
        _C.pinned == 0,
        _C.kind.not_in(KEPT_KINDS),
        _C.local_only <= bindparam("local_only", type_=Integer()),
        _C.timestamp <= bindparam("before", type_=Time()),
    )
    .order_by(_C.timestamp, _C.id)
    .limit(bindparam("most", type_=Integer()))
)  # fmt: skip


def candidates(db: Database, persona: str, before: datetime, *, privacy_default: str, local: bool) -> list[Old]:
    """Return the oldest items with tags that may be compacted, oldest first.

    Args:
        before: only items of this time or earlier.
        local: items marked local_only too: the model is on this machine.

    Raises:
        StoreReadError: nothing could be read.
    """
    values = {"persona": persona, "before": before, "most": MOST_LOOKED_AT, "local_only": int(local)}
    rows = db.read(_OLD, values, source="memories")
    people = {row.participant_key for row in rows if row.participant_key}
    with db.connection(source="participants") as connection:
        levels = participants.known(connection, persona, people, privacy_default) if people else {}
    made = []
    for row in rows:
        tags = tuple(stored_tags(row.tags))
        if tags and (not row.participant_key or levels[row.participant_key].level == "none"):
            digest = bytes(row.content_hash or b"")
            made.append(
                Old(
                    row.id,
                    row.audience_id,
                    row.participant_key,
                    int(row.local_only),
                    tags,
                    row.content,
                    row.kind or "",
                    float(row.importance),
                    digest,
                )
            )
    return made


_HELD = (
    select(
        _C.id, _C.content_hash, _C.conversation_key, _C.source_message_ids, _C.pinned, _C.archived_at,
        _C.superseded_by, _C.participant_key, _C.audience_id,
    )
    .where(_C.persona_id == bindparam("persona"), _C.id.in_(bindparam("ids", expanding=True, type_=ID)))
    .order_by(_C.id)
    .with_for_update()
)  # fmt: skip


def replace_by(db: Database, persona: str, chosen: Chosen, summed: Summed, *, model: str, privacy_default: str) -> int:
    """Store what many items became, read it back, archive them, and return the id of the new item.

    Raises:
        StoreWriteError: nothing was changed: the sources changed meanwhile, or what was read back differs.
    """
    taken = [item for item in chosen.items if item.id in set(summed.sources)]
    row_id, archived_id = db.ids.take(2)

    def work(connection: Connection) -> int:
        held = list(connection.execute(_HELD, {"persona": persona, "ids": sorted(summed.sources)}))
        _check_sources(connection, persona, held, taken, privacy_default)
        memory, scope, place = _new(db, persona, chosen, taken, summed, held)
        memories.write(connection, db, scope, [(row_id, memory)], place)
        _read_back(connection, persona, row_id, memory)
        note = _note(db, persona, archived_id, row_id, chosen, taken, summed, model)
        note["compaction_level"] = 1 + _level(connection, persona, [item.id for item in taken])
        connection.execute(insert(archived_memories).values(note))
        now = db.clock()
        gone = {"archived_at": now, "superseded_by": row_id, "updated_at": now}
        indexed.set_hidden(connection, db, MEMORIES, persona, [item.id for item in taken], **gone)
        return row_id

    def confirm(connection: Connection) -> int | None:
        return connection.execute(select(_C.id).where(_C.persona_id == persona, _C.id == row_id)).scalar()

    return db.transaction(work, source="memories", confirm=confirm)


def _check_sources(
    connection: Connection, persona: str, held: list[Any], taken: list[Old], privacy_default: str
) -> None:
    """Refuse where a source is not what was shown to the model any more, or may not be used now."""
    now = {row.id: row for row in held}
    for item in taken:
        row = now.get(item.id)
        if row is None or row.archived_at is not None or row.superseded_by is not None or row.pinned:
            raise NotTheSameError("A source is gone, archived or pinned meanwhile.", source="memories")
        if bytes(row.content_hash or b"") != item.digest or row.audience_id != item.audience_id:
            raise NotTheSameError("A source was changed meanwhile.", source="memories")
    people = {item.participant for item in taken if item.participant}
    levels = participants.known(connection, persona, people, privacy_default) if people else {}
    if any(each.level != "none" for each in levels.values()):
        raise NotTheSameError("A privacy level was set meanwhile.", source="participants")


def _new(
    db: Database, persona: str, chosen: Chosen, taken: list[Old], summed: Summed, held: list[Any]
) -> tuple[NewMemory, Scope, Place]:
    """Return the item, whose it is and where it belongs: where its sources do."""
    first = taken[0]
    keys = {row.conversation_key for row in held}
    kinds = {item.kind for item in taken}
    messages = list(dict.fromkeys(each for row in held for each in read_list(row.source_message_ids)))
    tags, _ = stored_form([chosen.tag, *summed.tags])
    memory = memory_input.read(
        summed.summary,
        now=db.clock(),
        author="synth",
        source=BY,
        tags=tags,
        kind=next(iter(kinds)) if len(kinds) == 1 else DEFAULT_KIND,
        importance=max(item.importance for item in taken),
        provenance="model",
        local_only=bool(first.local_only),
        source_message_ids=messages or None,
        emotion=summed.feeling[:50] or None,
    )
    assert memory is not None
    scope = Scope(persona, next(iter(keys)) if len(keys) == 1 else None, first.participant)
    return memory, scope, Place(first.audience_id, bool(first.local_only))


def _read_back(connection: Connection, persona: str, row_id: int, memory: NewMemory) -> None:
    """Refuse where the stored item is not what was to be stored."""
    row = connection.execute(
        select(_C.content, _C.tags, _C.content_hash).where(_C.persona_id == persona, _C.id == row_id)
    ).first()
    same = row is not None and row.content == memory.content and bytes(row.content_hash) == memory.digest
    if row is None or not same or stored_tags(row.tags) != list(memory.tags):
        raise NotTheSameError("The summary read back is not the one that was stored.", source="memories")


def _note(
    db: Database,
    persona: str,
    archived_id: int,
    row_id: int,
    chosen: Chosen,
    taken: list[Old],
    summed: Summed,
    model: str,
) -> dict[str, Any]:
    return {
        "id": archived_id,
        "persona_id": persona,
        "audience_id": taken[0].audience_id,
        "tag": [chosen.tag],
        "summary": summed.summary,
        "source_ids": [item.id for item in taken],
        "source_count": len(taken),
        "llm_model": model[:100],
        "confidence": summed.confidence,
        "total_source_chars": sum(len(item.text) for item in taken),
        "summary_chars": len(summed.summary),
        "created_by": BY,
        "created_at": db.clock(),
        "memory_id": row_id,
    }


def _level(connection: Connection, persona: str, ids: list[int]) -> int:
    """Return how many times the most compacted of these items was compacted."""
    most = 0
    for part in chunks(ids, 500):
        found = select(func.max(_A.compaction_level)).where(_A.persona_id == persona, _A.memory_id.in_(part))
        most = max(most, int(connection.execute(found).scalar() or 0))
    return most
