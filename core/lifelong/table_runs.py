"""What cycles of consolidation and deep consolidation did (table consolidation_runs)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Integer, bindparam, delete, insert, select, update

from ..database import rows
from ..database.engine import Database
from ..database.ids import retry_duplicates
from ..database.schema import consolidation_runs

KEPT_DAYS = 180
_R = consolidation_runs.c


@dataclass(frozen=True, slots=True)
class Counts:
    """What a run came to."""

    window: int = 0
    """Messages looked at, or items."""
    added: int = 0
    pruned: int = 0
    error: str = ""
    """Why nothing came of it, or of a part; a word or class, never a text."""

    def columns(self, now: datetime) -> dict[str, Any]:
        """Return the columns of a run that is over."""
        return {
            "window_size": self.window,
            "items_added": self.added,
            "items_pruned": self.pruned,
            "error": self.error[:500] or None,
            "finished_at": now,
        }


def _new_row(db: Database, persona: str, kind: str, reason: str, conversation: str) -> dict[str, Any]:
    return {
        "id": db.ids.one(),
        "persona_id": persona,
        "kind": kind,
        "conversation_key": conversation,
        "reason": reason[:100],
        "started_at": db.clock(),
    }


@retry_duplicates
def begin(db: Database, persona: str, kind: str, reason: str, conversation: str = "") -> int:
    """Note that a run has begun and return its id; runs of long ago go."""
    row = _new_row(db, persona, kind, reason, conversation)
    oldest = select(_R.id).where(_R.persona_id == persona).order_by(_R.id).limit(1)

    def work(connection: Connection) -> int:
        first = connection.execute(oldest).scalar()
        if first is not None:
            _forget(connection, persona, row["started_at"] - timedelta(days=KEPT_DAYS), first)
        connection.execute(insert(consolidation_runs).values(row))
        return int(row["id"])

    confirm = rows.confirm_row(consolidation_runs, persona, row["id"], int(row["id"]))
    return db.transaction(work, source="consolidation_runs", confirm=confirm)


def _forget(connection: Connection, persona: str, before: datetime, first: int) -> None:
    is_old = (_R.persona_id == persona, _R.id == first, _R.started_at < before)
    if connection.execute(select(_R.id).where(*is_old)).first() is not None:
        connection.execute(delete(consolidation_runs).where(_R.persona_id == persona, _R.started_at < before))


def finish(db: Database, persona: str, run_id: int, counts: Counts) -> None:
    """Note what a run came to."""
    change = (
        update(consolidation_runs).where(_R.persona_id == persona, _R.id == run_id).values(counts.columns(db.clock()))
    )
    db.idempotent_transaction(lambda connection: connection.execute(change).rowcount, source="consolidation_runs")


def insert_finished(
    connection: Connection, db: Database, persona: str, kind: str, reason: str, conversation: str, counts: Counts
) -> None:
    """Note a run that is over, in the caller's transaction."""
    row = _new_row(db, persona, kind, reason, conversation)
    connection.execute(insert(consolidation_runs).values({**row, **counts.columns(row["started_at"])}))


def read_newest(db: Database, persona: str, most: int) -> list[Any]:
    """Return the newest runs of a persona, the last one first."""
    return list(db.read(_NEWEST, {"persona": persona, "most": most}, source="consolidation_runs"))


_NEWEST = (
    select(*consolidation_runs.columns)
    .where(_R.persona_id == bindparam("persona"))
    .order_by(_R.id.desc())
    .limit(bindparam("most", type_=Integer()))
)
