"""The record of consolidation runs (table consolidation_runs), and their counters (table counters)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from ..calls.call import Call
from ..database.dialects import EPOCH, insert_ignore, upsert
from ..database.engine import Database
from ..database.ids import first_of
from ..database.schema import consolidation_runs, counters

TICK = "consolidation_tick"
"""Counter with the start of the current interval, in seconds since 1970."""
STREAMS = "stream_end"
_R, _C = consolidation_runs.c, counters.c


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a consolidation step; outcomes can be added."""

    ids: tuple[int, ...] = ()
    merged: int = 0
    messages: int = 0
    conversations: int = 0
    pruned: int = 0
    reasons: tuple[str, ...] = ()
    """Why the step stored nothing, or not everything: reason words or exception class names, never a message's text."""

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    @property
    def reason(self) -> str:
        return ", ".join(dict.fromkeys(self.reasons))


def insert_run(connection: Connection, call: Call, kind: str, reason: str, outcome: Outcome, started: datetime) -> None:
    """Record a finished run and delete old records, in the caller's transaction."""
    db, persona, now = call.db, call.persona, call.db.clock()
    row = {
        "id": db.ids.one(),
        "persona_id": persona,
        "kind": kind,
        "conversation_key": call.scope.conversation or "",
        "reason": reason[:100],
        "window_size": outcome.messages,
        "items_added": len(outcome.ids),
        "items_pruned": outcome.pruned,
        "error": outcome.reason[:500] or None,
        "started_at": started,
        "finished_at": now,
    }
    oldest = first_of(now - timedelta(days=180))
    connection.execute(delete(consolidation_runs).where(_R.persona_id == persona, _R.id < oldest))
    connection.execute(insert(consolidation_runs).values(row))


def read_runs(db: Database, persona: str, most: int) -> list[Any]:
    latest = select(*consolidation_runs.columns).where(_R.persona_id == persona).order_by(_R.id.desc()).limit(most)
    return list(db.read(latest))


def begin_interval(db: Database, persona: str, interval_seconds: int) -> bool:
    """If the persona's interval is over, begin the next interval and return True; else return False."""
    now = int((db.clock() - EPOCH) // timedelta(seconds=1))
    mine = (_C.persona_id == persona, _C.name == TICK)
    began = db.read(select(_C.value).where(*mine), source="counters")
    if began and began[0].value > now - interval_seconds:
        return False

    def work(connection: Connection) -> bool:
        is_due = (*mine, _C.value <= now - interval_seconds)
        if connection.execute(update(counters).where(*is_due).values(value=now)).rowcount > 0:
            return True
        connection.execute(insert_ignore(counters, db.family), {"persona_id": persona, "name": TICK, "value": now})
        return False

    # If the answer to the commit was lost, the second try finds the interval begun and reports False.
    return db.idempotent_transaction(work, source="counters")


def count_stream(connection: Connection, db: Database, persona: str) -> int:
    """Count one more ended live stream, and return the new count."""
    row = {"persona_id": persona, "name": STREAMS, "value": 1}
    connection.execute(upsert(counters, db.family, add=["value"]), row)
    chosen = select(_C.value).where(_C.persona_id == persona, _C.name == STREAMS)
    return int(connection.execute(chosen).scalar_one())
