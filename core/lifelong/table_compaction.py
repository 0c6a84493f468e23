"""Old items and the one that takes their place (tables memories, archived_memories)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Integer, bindparam, func, insert, select

from ..audience import table_participants as participants
from ..audience.table_conversations import Place
from ..database import rows as database_rows
from ..database.bulk import chunks
from ..database.dialects import ID, Key, Time
from ..database.engine import Database
from ..database.rows import read_list
from ..database.schema import memories as table
from ..database.schema_lifelong import archived_memories
from ..database.sources import MEMORIES
from ..errors import StoreWriteError
from ..index import indexed
from ..memories import new_item
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


def read_candidates(db: Database, persona: str, before: datetime, *, privacy_default: str, local: bool) -> list[Old]:
    """Return the oldest items with tags that may be compacted, oldest first."""
    values = {"persona": persona, "before": before, "most": MOST_LOOKED_AT, "local_only": int(local)}
    rows = db.read(_OLD, values, source="memories")
    people = {row.participant_key for row in rows if row.participant_key}
    with db.connection(source="participants") as connection:
        levels = participants.known(connection, persona, people, privacy_default) if people else {}
    return [
        Old(
            row.id,
            row.audience_id,
            row.participant_key,
            int(row.local_only),
            tuple(tags),
            row.content,
            row.kind or "",
            float(row.importance),
            bytes(row.content_hash or b""),
        )
        for row in rows
        if (tags := stored_tags(row.tags)) and (not row.participant_key or levels[row.participant_key].level == "none")
    ]


_HELD = (
    select(
        _C.id, _C.content_hash, _C.conversation_key, _C.source_message_ids, _C.pinned, _C.archived_at,
        _C.superseded_by, _C.participant_key, _C.audience_id,
    )
    .where(_C.persona_id == bindparam("persona"), _C.id.in_(bindparam("ids", expanding=True, type_=ID)))
    .order_by(_C.id)
    .with_for_update()
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Replacement:
    """What many items become, as a model summed them up."""

    persona: str
    chosen: Chosen
    summed: Summed
    model: str
    privacy_default: str

    @property
    def sources(self) -> list[Old]:
        """Return the items that are replaced: of those shown to the model, the ones it names."""
        return [item for item in self.chosen.items if item.id in set(self.summed.sources)]


def store(db: Database, new: Replacement) -> int:
    """Store what many items became, read it back, archive them, and return the id of the new item."""
    persona, sources = new.persona, new.sources
    row_id, archived_id = db.ids.take(2)

    def work(connection: Connection) -> int:
        rows = list(connection.execute(_HELD, {"persona": persona, "ids": sorted(new.summed.sources)}))
        _check_sources(connection, new, rows)
        memory, scope, place = _new_item(db, new, rows)
        memories.write(connection, db, scope, [(row_id, memory)], place)
        _read_back(connection, persona, row_id, memory)
        note = _note(db, new, archived_id, row_id)
        note["compaction_level"] = 1 + _level(connection, persona, [item.id for item in sources])
        connection.execute(insert(archived_memories).values(note))
        now = db.clock()
        values = {"archived_at": now, "superseded_by": row_id, "updated_at": now}
        indexed.set_hidden(connection, db, MEMORIES, persona, [item.id for item in sources], **values)
        return row_id

    return db.transaction(work, source="memories", confirm=database_rows.confirm_row(table, persona, row_id, row_id))


def _check_sources(connection: Connection, new: Replacement, rows: list[Any]) -> None:
    """Refuse where a source is not what was shown to the model any more, or may not be used now."""
    row_of = {row.id: row for row in rows}
    for item in new.sources:
        row = row_of.get(item.id)
        if row is None or row.archived_at is not None or row.superseded_by is not None or row.pinned:
            raise NotTheSameError("A source is gone, archived or pinned meanwhile.", source="memories")
        if bytes(row.content_hash or b"") != item.digest or row.audience_id != item.audience_id:
            raise NotTheSameError("A source was changed meanwhile.", source="memories")
    people = {item.participant for item in new.sources if item.participant}
    levels = participants.known(connection, new.persona, people, new.privacy_default) if people else {}
    if any(each.level != "none" for each in levels.values()):
        raise NotTheSameError("A privacy level was set meanwhile.", source="participants")


def _new_item(db: Database, new: Replacement, rows: list[Any]) -> tuple[NewMemory, Scope, Place]:
    """Return the item, whose it is and where it belongs: where its sources do."""
    first = new.sources[0]
    keys = {row.conversation_key for row in rows}
    kinds = {item.kind for item in new.sources}
    messages = list(dict.fromkeys(each for row in rows for each in read_list(row.source_message_ids)))
    tags, _ = stored_form([new.chosen.tag, *new.summed.tags])
    memory = new_item.read(
        new.summed.summary,
        now=db.clock(),
        author="synth",
        source=BY,
        tags=tags,
        kind=next(iter(kinds)) if len(kinds) == 1 else DEFAULT_KIND,
        importance=max(item.importance for item in new.sources),
        provenance="model",
        local_only=bool(first.local_only),
        source_message_ids=messages or None,
        emotion=new.summed.feeling[:50] or None,
    )
    assert memory is not None
    scope = Scope(new.persona, next(iter(keys)) if len(keys) == 1 else None, first.participant)
    return memory, scope, Place(first.audience_id, bool(first.local_only))


def _read_back(connection: Connection, persona: str, row_id: int, memory: NewMemory) -> None:
    """Refuse where the stored item is not what was to be stored."""
    row = connection.execute(
        select(_C.content, _C.tags, _C.content_hash).where(_C.persona_id == persona, _C.id == row_id)
    ).first()
    same = row is not None and row.content == memory.content and bytes(row.content_hash) == memory.digest
    if row is None or not same or stored_tags(row.tags) != list(memory.tags):
        raise NotTheSameError("The summary read back is not the one that was stored.", source="memories")


def _note(db: Database, new: Replacement, archived_id: int, row_id: int) -> dict[str, Any]:
    """Return the row of archived_memories."""
    sources = new.sources
    return {
        "id": archived_id,
        "persona_id": new.persona,
        "audience_id": sources[0].audience_id,
        "tag": [new.chosen.tag],
        "summary": new.summed.summary,
        "source_ids": [item.id for item in sources],
        "source_count": len(sources),
        "llm_model": new.model[:100],
        "confidence": new.summed.confidence,
        "total_source_chars": sum(len(item.text) for item in sources),
        "summary_chars": len(new.summed.summary),
        "created_by": BY,
        "created_at": db.clock(),
        "memory_id": row_id,
    }


def _level(connection: Connection, persona: str, ids: list[int]) -> int:
    """Return how many times the most compacted of these items was compacted."""
    highest = 0
    for part in chunks(ids, 500):
        chosen = select(func.max(_A.compaction_level)).where(_A.persona_id == persona, _A.memory_id.in_(part))
        highest = max(highest, int(connection.execute(chosen).scalar() or 0))
    return highest
