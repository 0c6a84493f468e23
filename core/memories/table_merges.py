"""Many items stored at once, each once: what says the same as an item there is joins it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update

from ..access import table as audiences
from ..access.table_conversations import Place
from ..database.bulk import chunks
from ..database.engine import Database
from ..database.rows import read_list, read_object
from ..database.schema import memories as table
from ..database.sources import MEMORIES
from ..index import indexed
from ..scope import Scope
from ..tags import table as tags
from ..text.hits import stored_tags
from . import table as memories
from .new_item import NewMemory
from .rules import INSTRUCTION, Merging, merge_items

_C = table.c
_COLUMNS = (
    _C.id, _C.content_hash, _C.text_folded, _C.tags, _C.importance, _C.tier, _C.pinned, _C.provenance, _C.kind,
    _C.source_message_ids, _C.metadata, _C.timestamp, _C.expires_at,
)  # fmt: skip
STILL = "saved"
"""Kind whose time is that of the request to save: it does not change when the same is said again."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of the items handed over."""

    ids: tuple[int, ...] = ()
    """Of those stored, in order."""
    joined: int = 0
    """How many joined an item there is, or one of their own number."""


def add(
    connection: Connection,
    db: Database,
    scope: Scope,
    new: Sequence[tuple[int, NewMemory]],
    place: Place,
) -> Stored:
    """Store items of one conversation and participant, and return which were new."""
    if not new:
        return Stored()
    audiences.lock(connection, scope.persona, place.audience_id)
    kept, doubles = _among_themselves(new)
    there = _there(connection, db, scope, place.audience_id, kept)
    fresh: list[tuple[int, NewMemory]] = []
    more_tags: Counter[str] = Counter()
    for row_id, memory in kept:
        double = there(memory)
        if double is None:
            fresh.append((row_id, memory))
        else:
            more_tags.update(_join(connection, db, scope.persona, double, memory))
    memories.write(connection, db, scope, fresh, place)
    tags.raise_uses(connection, db, scope.persona, more_tags)
    return Stored(tuple(row_id for row_id, _ in fresh), doubles + len(kept) - len(fresh))


def _among_themselves(
    new: Sequence[tuple[int, NewMemory]],
) -> tuple[list[tuple[int, NewMemory]], int]:
    """Return the items that say different things, each with what those that say the same bring, and how many joined."""
    kept: list[tuple[int, NewMemory]] = []
    for row_id, memory in new:
        at = _place_of(memory, kept)
        if at is None:
            kept.append((row_id, memory))
        else:
            kept[at] = (kept[at][0], _both(kept[at][1], memory))
    return kept, len(new) - len(kept)


def _place_of(memory: NewMemory, kept: Sequence[tuple[int, NewMemory]]) -> int | None:
    return next((at for at, (_, other) in enumerate(kept) if other.digest == memory.digest), None)


def _merging(memory: NewMemory) -> Merging:
    ids = memory.source_message_ids
    return Merging(
        memory.tags,
        memory.importance,
        memory.tier,
        memory.pinned,
        memory.provenance,
        tuple(ids) if isinstance(ids, list) else () if ids is None else (ids,),
        memory.metadata if isinstance(memory.metadata, dict) else {},
    )


def read_merging(row: Any) -> Merging:
    """Return what of a stored item counts when another one says the same."""
    return Merging(
        tuple(stored_tags(row.tags)),
        float(row.importance),
        row.tier,
        int(row.pinned),
        row.provenance or "",
        tuple(read_list(row.source_message_ids)),
        read_object(row.metadata) or {},
    )


def list_values(merged: Merging) -> dict[str, Any]:
    """Return column to value of what an item took over, but for its tags, which the search tables hold too."""
    return {
        "importance": merged.importance,
        "tier": merged.tier,
        "pinned": merged.pinned,
        "source_message_ids": list(merged.sources) or None,
        "metadata": dict(merged.metadata) or None,
    }


def _both(old: NewMemory, new: NewMemory) -> NewMemory:
    made = merge_items(_merging(old), _merging(new))
    return replace(
        old,
        tags=made.tags,
        importance=made.importance,
        tier=made.tier,
        pinned=made.pinned,
        source_message_ids=list(made.sources) or None,
        metadata=dict(made.metadata) or None,
        expires_at=_later(old.expires_at, new.expires_at) if made.tier == "session" else old.expires_at,
    )


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return None if one is None or other is None else max(one, other)


def _there(
    connection: Connection,
    db: Database,
    scope: Scope,
    audience_id: int,
    new: Iterable[tuple[int, NewMemory]],
) -> Callable[[NewMemory], int | None]:
    """Return a function that tells the item that says the same as another one."""
    where = [*memories.active(scope, audience_id, db.clock()), _C.kind != INSTRUCTION]  # made and ended elsewhere
    newest = (_C.timestamp.desc(), _C.id.desc())
    equal: dict[bytes, int] = {}
    for part in chunks(sorted({memory.digest for _, memory in new}), 500):
        chosen = select(_C.id, _C.content_hash).where(*where, _C.content_hash.in_(part)).order_by(*newest)
        for row in connection.execute(chosen):
            equal.setdefault(bytes(row.content_hash), row.id)
    return lambda memory: equal.get(memory.digest)


def _join(connection: Connection, db: Database, persona: str, row_id: int, memory: NewMemory) -> set[str]:
    """Let an item take over what another brings that says the same, and return the tags it did not have."""
    held = indexed.lock(connection, MEMORIES, persona, [row_id])
    row = connection.execute(select(*_COLUMNS).where(_C.persona_id == persona, _C.id == row_id)).one()
    old = read_merging(row)
    merged = merge_items(old, _merging(memory))
    at = row.timestamp
    if row.kind != STILL and (at is None or memory.at > at):
        at = memory.at
    values: dict[str, Any] = {
        **list_values(merged),
        "tags": list(merged.tags),
        "timestamp": at,
        "updated_at": db.clock(),
        "expires_at": None if merged.tier == "long_term" else _later(row.expires_at, memory.expires_at),
    }
    connection.execute(update(table).where(_C.persona_id == persona, _C.id == row_id).values(values))
    indexed.exchange(connection, db, MEMORIES, held, [replace(each, at=at, tags=merged.tags) for each in held])
    return set(merged.tags) - set(old.tags)


def present(connection: Connection, persona: str, ids: Sequence[int]) -> tuple[int, ...]:
    """Return which of these ids are those of items that are stored."""
    found: list[int] = []
    for part in chunks(sorted(ids), 500):
        chosen = select(_C.id).where(_C.persona_id == persona, _C.id.in_(part)).order_by(_C.id)
        found += connection.execute(chosen).scalars()
    return tuple(found)
