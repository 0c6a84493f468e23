"""What cycles of consolidation, deep consolidation and compaction did (table consolidation_runs)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Integer, bindparam, delete, insert, select, update

from ..database.engine import Database
from ..database.schema_lifelong import consolidation_runs

KINDS = ("cycle", "consolidation", "deep", "compaction")
KEPT_DAYS = 180
_R = consolidation_runs.c


def begin(db: Database, persona: str, kind: str, reason: str, conversation: str = "") -> int:
    """Note that a run has begun and return its id; runs of long ago go.

    Raises:
        StoreWriteError: nothing was stored.
    """
    row_id, now = db.ids.one(), db.clock()
    row = {
        "id": row_id,
        "persona_id": persona,
        "kind": kind,
        "conversation_key": conversation,
        "reason": reason[:100],
        "started_at": now,
    }
    old = select(_R.id).where(_R.persona_id == persona).order_by(_R.id).limit(1)

    def work(connection: Connection) -> int:
        first = connection.execute(old).scalar()
        if first is not None:
            _forget(connection, persona, now - timedelta(days=KEPT_DAYS), first)
        connection.execute(insert(consolidation_runs).values(row))
        return row_id

    def confirm(connection: Connection) -> int | None:
        there = select(_R.id).where(_R.persona_id == persona, _R.id == row_id)
        return connection.execute(there).scalar()

    return db.transaction(work, source="consolidation_runs", confirm=confirm)


def _forget(connection: Connection, persona: str, before: Any, first: int) -> None:
    is_old = (_R.persona_id == persona, _R.id == first, _R.started_at < before)
    if connection.execute(select(_R.id).where(*is_old)).first() is not None:
        connection.execute(delete(consolidation_runs).where(_R.persona_id == persona, _R.started_at < before))


def finish(
    db: Database, persona: str, run_id: int, *, window: int = 0, added: int = 0, pruned: int = 0, error: str = ""
) -> None:
    """Note what a run came to.

    Args:
        window: messages looked at, or items.
        error: why nothing came of it, or of a part; a word or class, never a text.
    """
    change = (
        update(consolidation_runs)
        .where(_R.persona_id == persona, _R.id == run_id)
        .values(
            window_size=window,
            items_added=added,
            items_pruned=pruned,
            error=error[:500] or None,
            finished_at=db.clock(),
        )
    )
    db.transaction(
        lambda connection: connection.execute(change).rowcount, source="consolidation_runs", confirm=lambda _: None
    )


def note(
    connection: Connection,
    db: Database,
    persona: str,
    kind: str,
    reason: str,
    conversation: str,
    *,
    window: int,
    added: int,
    pruned: int,
    error: str,
) -> None:
    """Note a run that is over, in the caller's transaction."""
    now = db.clock()
    row = {
        "id": db.ids.one(),
        "persona_id": persona,
        "kind": kind,
        "conversation_key": conversation,
        "reason": reason[:100],
        "window_size": window,
        "items_added": added,
        "items_pruned": pruned,
        "started_at": now,
        "finished_at": now,
        "error": error[:500] or None,
    }
    connection.execute(insert(consolidation_runs).values(row))


def listed(db: Database, persona: str, most: int) -> list[Any]:
    """Return the newest runs of a persona, the last one first.

    Raises:
        StoreReadError: nothing could be read.
    """
    return list(db.read(_LISTED, {"persona": persona, "most": most}, source="consolidation_runs"))


_LISTED = (
    select(*consolidation_runs.columns)
    .where(_R.persona_id == bindparam("persona"))
    .order_by(_R.id.desc())
    .limit(bindparam("most", type_=Integer()))
)
