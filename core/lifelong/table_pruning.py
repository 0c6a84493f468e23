"""Archives expired session items and old or unimportant long-term items (table memories)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, and_, bindparam, or_, select

from ..config.flags import PruneMode
from ..database.engine import Database
from ..database.schema import conversations, memories
from ..database.sources import MEMORIES
from ..index import indexed
from ..memories.rules import KEPT_KINDS

BATCH = 500
ACTIVE_MINUTES = 30
"""Age in minutes up to which a conversation's last message keeps it active: a short pause does not end a talk."""
_C, _T = memories.c, conversations.c


@dataclass(frozen=True, slots=True)
class Limits:
    max_age_days: float
    max_importance: float
    mode: PruneMode
    protect_importance: float


def _holds(persona: str) -> tuple[Any, ...]:
    return _C.persona_id == persona, MEMORIES.visible, _C.pinned == 0, _C.kind.not_in(KEPT_KINDS)


def archive_expired(
    db: Database, persona: str, ttl_seconds: int, *, given: bool = False, active: str | None = None
) -> list[tuple[int, tuple[str, ...]]]:
    """Archive the expired session items, except those of active conversations; return (id, reasons) of each."""
    now = db.clock()
    by_age = _C.timestamp <= now - timedelta(seconds=ttl_seconds)
    by_expiry = _C.expires_at <= now
    when = or_(by_expiry, by_age if given else and_(_C.expires_at.is_(None), by_age))
    elsewhere = [] if active is None else [or_(_C.conversation_key.is_(None), _C.conversation_key != active)]
    spoken = select(_T.id).where(
        _T.persona_id == persona,
        _T.conversation_key == _C.conversation_key,
        _T.last_message_at > now - timedelta(minutes=ACTIVE_MINUTES),
    )
    where = and_(*_holds(persona), _C.tier == "session", when, *elsewhere, ~spoken.exists())
    return [(row.id, ("expired",)) for row in _archived(db, persona, where)]


def prune(db: Database, persona: str, limits: Limits, *, dry_run: bool = False) -> list[tuple[int, tuple[str, ...]]]:
    now, pruned = db.clock(), []
    old = _C.timestamp <= now - timedelta(days=limits.max_age_days)
    low = _C.importance < limits.max_importance
    which = and_(old, low) if limits.mode == "all" else or_(old, low)
    where = and_(*_holds(persona), _C.tier == "long_term", _C.importance < limits.protect_importance, which)
    for row in _archived(db, persona, where, dry_run=dry_run):
        is_old = row.timestamp is not None and now - row.timestamp >= timedelta(days=limits.max_age_days)
        is_low = float(row.importance) < limits.max_importance
        pruned.append((row.id, (*(["age"] if is_old else []), *(["importance"] if is_low else []))))
    return pruned


def _archived(db: Database, persona: str, where: Any, *, dry_run: bool = False) -> Iterator[Any]:
    """Archive the items that match a condition in batches, and yield them; a dry run yields them without archiving."""
    later = select(_C.id, _C.timestamp, _C.importance).where(where, _C.id > bindparam("above")).order_by(_C.id)
    later, above = later.limit(BATCH), {"above": -1}

    def archive_batch(connection: Connection) -> Sequence[Any]:
        rows = connection.execute(later.with_for_update(), above).all()
        now, ids = db.clock(), [row.id for row in rows]
        indexed.set_columns(connection, db, MEMORIES, persona, ids, archived_at=now, updated_at=now)
        return rows

    while batch := db.read(later, above) if dry_run else db.idempotent_transaction(archive_batch, source="memories"):
        yield from batch
        above["above"] = batch[-1].id
