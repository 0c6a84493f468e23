"""Export and import of memory items (table memories): read oldest first, store what is missing."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, bindparam, func, or_, select

from ..access import table as audiences
from ..access import table_conversations as conversations
from ..access.rules import is_own_chat
from ..calls.call import Call
from ..database.compiled import IDS, chunks, read_parts
from ..database.dialects import Time
from ..database.engine import Database, RollbackError
from ..database.ids import retry_duplicates
from ..database.rows import check_stored
from ..database.schema import memories as table
from ..database.sources import MEMORIES
from ..scope import Scope
from . import table as memories
from . import table_reading as item_rows
from .new_item import NewMemory

PART = 200
_C = table.c

COLUMNS = (*item_rows.COLUMNS, _C.response_text, _C.intensity, _C.emotion_state)


class ExportPosition(NamedTuple):
    """Position of a row in an export: oldest first, rows without time before all others."""

    at: datetime | None
    id: int


def kinds(db: Database, persona: str) -> list[str]:
    used = select(_C.kind).where(_C.persona_id == persona).distinct()
    return sorted(str(row[0]) for row in db.read(used, source="memories"))


def oldest_first(
    call: Call,
    wanted: Sequence[str],
    *,
    limit: int,
    after: ExportPosition | None,
    seen: Sequence[int] | None,
    participant: str | None,
) -> Iterator[Any]:
    """Yield rows of `COLUMNS` that are not archived, replaced or expired; at most PART whole rows are in memory."""
    db, persona = call.db, call.persona
    where = [_C.kind.in_(wanted), MEMORIES.visible, item_rows.is_kept(db.clock(), call.settings.session_ttl_sec)]
    if seen is not None:
        where.append(_C.audience_id.in_(seen))
    if participant is not None:
        where.append(_C.participant_key == participant)
    if after is not None:
        at = bindparam("at", after.at, type_=Time())
        later = [_C.timestamp > at, and_(_C.timestamp == at, _C.id > after.id)]
        where.append(or_(*later) if after.at else or_(_C.timestamp.is_not(None), _C.id > after.id))
    # Rows without a time come first: every server sorts NULL before all values.
    ordered = select(_C.id).where(_C.persona_id == persona, *where).order_by(_C.timestamp, _C.id).limit(limit)
    ids = [int(row.id) for row in db.read(ordered)]
    for part in chunks(ids, PART):
        rows = db.read(select(*COLUMNS).where(_C.persona_id == persona, _C.id.in_(part)))
        yield from sorted(rows, key=lambda row: part.index(row.id))


class Done(NamedTuple):
    stored: int
    duplicates: int
    private: frozenset[int] = frozenset()
    """Positions in `items` of the items that a person's privacy level forbids."""
    is_public: bool = False


def number_item(memory: NewMemory, seen: Counter[bytes]) -> int:
    """Count the item in `seen`, and return its number (from 1) among the file's equal items."""
    key = memory.digest[:16] + f"{memory.kind} {memory.tier} {memory.local_only}".encode()  # short: one per item
    seen[key] += 1
    return seen[key]


@retry_duplicates
def store(call: Call, items: Sequence[tuple[int, NewMemory]], *, dry_run: bool) -> Done:
    """Store each (number, item) of a file unless `number` equal items are stored: a repeated import adds nothing."""
    db, scope, default = call.db, call.scope, call.settings.privacy_default
    ids, tiers = db.ids.take(len(items)), {memory.tier for _, memory in items}

    def work(connection: Connection) -> Done:
        # An import is no message: unless the call says whose conversation it is, the first speaker decides that.
        is_known = scope.privacy is not None or is_own_chat(scope.conversation, scope.participant)
        placed = scope if is_known else replace(scope, participant=None)
        place = conversations.ensure(connection, db, placed, sender=placed.participant, is_greeting=not is_known)
        closed = {tier for tier in tiers if memories.is_private(connection, scope, tier, default, False)}
        private = frozenset(i for i, (_, memory) in enumerate(items) if memory.tier in closed)
        if len(private) == len(items):
            raise RollbackError(Done(0, 0, private))
        audiences.lock(connection, scope.persona, place.audience_id)
        counts = _count_stored(connection, scope, place.audience_id, {memory.digest for _, memory in items})
        new = []
        for i, (number, memory) in enumerate(items):
            same = memory.digest, memory.kind, memory.tier, bool(place.local_only or memory.local_only)
            if i not in private and counts[same] < number:
                counts[same] += 1
                new.append((ids[i], memory))
        is_public = place.facts is None or not place.facts.is_private
        done = Done(len(new), len(items) - len(private) - len(new), private, is_public)
        if dry_run:
            raise RollbackError(done)
        memories.write(connection, db, scope, new, place)
        return done

    return db.transaction(work, source="memories", confirm=check_stored(table, scope.persona, ids))


def _count_stored(
    connection: Connection, scope: Scope, audience_id: int, digests: Collection[bytes]
) -> Counter[tuple[bytes, str, str, bool]]:
    """Return how many active items are stored for each text, kind, tier and mark local_only."""
    counts: Counter[tuple[bytes, str, str, bool]] = Counter()
    same = (_C.content_hash, _C.kind, _C.tier, _C.local_only)
    stored = select(*same, func.count()).where(*memories.match_own(scope, audience_id))
    grouped = stored.where(_C.content_hash.in_(IDS)).group_by(*same)
    for row in read_parts(connection.execute, grouped, {}, digests):
        counts[bytes(row[0]), row[1], row[2], bool(row[3])] += row[4]
    return counts
