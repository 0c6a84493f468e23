"""Memory items on their way out and in (table memories): read oldest first, stored where they are not there."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Integer, bindparam, func, or_, select

from ..access import table as audiences
from ..access import table_conversations as conversations
from ..database.bulk import chunks
from ..database.dialects import ID, Key, Time
from ..database.engine import Database, RollbackError
from ..database.ids import retry_duplicates
from ..database.schema import memories as table
from ..scope import Scope
from . import table as memories
from . import table_reading as item_rows
from .new_item import NewMemory

PART = 200
"""Rows read at once of each kind."""
_AT_ONCE = 500
_BEFORE_ALL = datetime(1, 1, 1, tzinfo=UTC)
_C = table.c

COLUMNS = (
    _C.id, _C.content, _C.kind, _C.tier, _C.importance, _C.tags, _C.emotion, _C.intensity, _C.emotion_state,
    _C.persona_id, _C.conversation_key, _C.participant_key, _C.timestamp, _C.expires_at, _C.pinned, _C.provenance,
    _C.source_message_ids, _C.author, _C.source, _C.scope, _C.response_text, _C.local_only, _C.quarantined, _C.metadata,
)  # fmt: skip


class Place(NamedTuple):
    """Where in the order of an export a row stands: oldest first, rows without time before all others."""

    at: datetime | None
    id: int

    @property
    def order(self) -> tuple[datetime, int]:
        """Return what places are compared by."""
        return (_BEFORE_ALL if self.at is None else self.at, self.id)


# Out


def kinds(db: Database, persona: str) -> list[str]:
    """Return the kinds of a persona's items."""
    return sorted(str(row[0]) for row in db.read(_KINDS, {"persona": persona}, source="memories"))


_KINDS = select(_C.kind).where(_C.persona_id == bindparam("persona")).distinct()


def oldest_first(
    db: Database,
    persona: str,
    wanted: Sequence[str],
    *,
    limit: int,
    session_ttl_seconds: int,
    after: Place | None = None,
    seen: Sequence[int] | None = None,
) -> Iterator[Any]:
    """Yield rows of `COLUMNS` that are neither archived, replaced nor expired; at most PART of a kind are held."""
    shared: dict[str, Any] = {"persona": persona, "rows": min(PART, limit)}
    shared |= item_rows.expiry_values(db, session_ttl_seconds, None)
    if seen is not None:
        shared["audiences"] = list(seen) or [0]
    streams = [_of_kind(db, {**shared, "kind": kind}, after or Place(None, -1)) for kind in wanted]
    woven = heapq.merge(*streams, key=lambda row: Place(row.timestamp, row.id).order)
    for count, row in enumerate(woven, 1):
        yield row
        if count >= limit:
            return


def _of_kind(db: Database, shared: Mapping[str, Any], after: Place) -> Iterator[Any]:
    place = after
    while True:
        asked = {**shared, "id": place.id} | ({} if place.at is None else {"at": place.at})
        rows = db.read(_part(place.at is not None, "audiences" in shared), asked, source="memories")
        yield from rows
        if len(rows) == shared["rows"]:
            place = Place(rows[-1].timestamp, rows[-1].id)
        elif place.at is None:
            place = Place(_BEFORE_ALL, -1)
        else:
            return


@lru_cache(maxsize=4)
def _part(timed: bool, seen: bool) -> Any:
    at = bindparam("at", type_=Time())
    where = [
        _C.persona_id == bindparam("persona", type_=Key(64)),
        _C.kind == bindparam("kind", type_=Key(20)),
        _C.archived_at.is_(None),
        _C.superseded_by.is_(None),
        item_rows.is_kept(),
    ]
    later = _C.id > bindparam("id", type_=ID)
    # `timestamp >=` beside the rest: the bare disjunction is no range to the servers' planners.
    where += [_C.timestamp >= at, or_(_C.timestamp > at, later)] if timed else [_C.timestamp.is_(None), later]
    if seen:
        where.append(_C.audience_id.in_(bindparam("audiences", expanding=True, type_=ID)))
    chosen = select(*COLUMNS).where(*where).order_by(*((_C.timestamp, _C.id) if timed else (_C.id,)))
    return chosen.limit(bindparam("rows", type_=Integer()))


# In


class Done(NamedTuple):
    """What became of the items of one transaction."""

    stored: int
    duplicates: int
    private: frozenset[int] = frozenset()
    """Indexes of items that the privacy level of whom they are about forbids."""


class Known:
    """Which time each item of a file says the same as before it, so that equal ones are told apart by their number."""

    def __init__(self) -> None:
        self._seen: Counter[bytes] = Counter()

    def number(self, memory: NewMemory) -> int:
        """Return 1 for an item that was not seen yet, 2 for the second that says the same, and so on."""
        key = memory.digest[:16] + f"{memory.kind} {memory.tier}".encode()  # held for every item of a file
        self._seen[key] += 1
        return self._seen[key]


def same(memory: NewMemory) -> tuple[bytes, str, str]:
    """Return what two items that are the same have in common."""
    return memory.digest, memory.kind, memory.tier


@retry_duplicates
def store(
    db: Database, scope: Scope, items: Sequence[tuple[int, NewMemory]], *, privacy_default: str, dry_run: bool = False
) -> Done:
    """Store what is not there yet, in one transaction: an import that was cut off goes on where it was,
    whoever ran it.
    """
    ids = db.ids.take(len(items))

    def work(connection: Connection) -> Done:
        private = _private(connection, scope, items, privacy_default)
        if len(private) == len(items):
            return Done(0, 0, private)
        place = conversations.ensure(connection, db, scope, sender=scope.participant)
        audiences.lock(connection, scope.persona, place.audience_id)
        chosen = _new(_counts(connection, scope, place.audience_id, items), items, private)
        done = Done(len(chosen), len(items) - len(private) - len(chosen), private)
        if dry_run:
            raise RollbackError(done)
        memories.write(connection, db, scope, [(ids[i], items[i][1]) for i in chosen], place)
        return done

    def confirm(connection: Connection) -> Done | None:
        there = connection.execute(_THERE, {"persona": scope.persona, "low": ids[0], "high": ids[-1]}).scalar() or 0
        private = _private(connection, scope, items, privacy_default)
        return Done(there, len(items) - len(private) - there, private) if there else None

    return db.transaction(work, source="memories", confirm=confirm)


_THERE = select(func.count()).where(
    _C.persona_id == bindparam("persona"), _C.id >= bindparam("low", type_=ID), _C.id <= bindparam("high", type_=ID)
)


def _private(
    connection: Connection, scope: Scope, items: Sequence[tuple[int, NewMemory]], default: str
) -> frozenset[int]:
    tiers = {memory.tier for _, memory in items}
    closed = {tier for tier in tiers if memories.is_private(connection, scope, tier, default, False)}
    return frozenset(i for i, (_, memory) in enumerate(items) if memory.tier in closed)


def _counts(
    connection: Connection, scope: Scope, audience_id: int, items: Sequence[tuple[int, NewMemory]]
) -> Counter[tuple[bytes, str, str]]:
    """Return how many items are stored of each that say the same, those that are archived left out."""
    found: Counter[tuple[bytes, str, str]] = Counter()
    shared = {"persona": scope.persona, "audience": audience_id}
    if scope.participant:
        shared["participant"] = scope.participant
    for digests in chunks(sorted({memory.digest for _, memory in items}), _AT_ONCE):
        for row in connection.execute(_same(bool(scope.participant)), {**shared, "digests": digests}):
            found[bytes(row[0]), row[1], row[2]] += row[3]
    return found


@lru_cache(maxsize=2)
def _same(of_person: bool) -> Any:
    who = _C.participant_key == bindparam("participant") if of_person else _C.participant_key.is_(None)
    return (
        select(_C.content_hash, _C.kind, _C.tier, func.count())
        .where(
            _C.persona_id == bindparam("persona"),
            _C.audience_id == bindparam("audience"),
            _C.content_hash.in_(bindparam("digests", expanding=True)),
            who,
            _C.archived_at.is_(None),
            _C.superseded_by.is_(None),
        )
        .group_by(_C.content_hash, _C.kind, _C.tier)
    )


def _new(
    there: Mapping[tuple[bytes, str, str], int], items: Sequence[tuple[int, NewMemory]], private: frozenset[int]
) -> list[int]:
    """Return the indexes of the items that are not there yet."""
    have = Counter(there)
    chosen = []
    for i, (number, memory) in enumerate(items):
        if i not in private and have[same(memory)] < number:
            have[same(memory)] += 1
            chosen.append(i)
    return chosen
