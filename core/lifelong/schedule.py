"""Decides when consolidation is due: after an interval for a persona, after a number of messages for a conversation."""

from __future__ import annotations

from datetime import timedelta

from ..config import Settings
from ..database.engine import Database
from ..database.ids import first_of
from ..scope import Scope
from . import cycles, table_runs, table_windows

LOOK_BACK = timedelta(days=1)
"""The first look of a process covers conversations with messages of this time."""


def queue_due(db: Database, persona: str, settings: Settings) -> None:
    scopes = [(Scope(persona, key), "messages") for key in _full(db, persona, settings.consolidate_every_n_messages)]
    if table_runs.begin_interval(db, persona, settings.memory_consolidation_interval_sec):
        scopes.insert(0, (Scope(persona), "interval"))
    for scope, reason in scopes:
        db.transaction(lambda c, own=scope, why=reason: cycles.enqueue(c, db, own, why), source="memory_jobs")  # type: ignore[misc]


def _full(db: Database, persona: str, most: int) -> list[str]:
    """Return the conversations with enough new messages; each batch of messages is reported once."""
    if not most:
        return []
    newest_seen: dict[str, int] = db.caches.setdefault(__name__, {})
    newest_tried: dict[tuple[str, str], int] = db.caches.setdefault(f"{__name__}.tried", {})
    seen = newest_seen.get(persona, first_of(db.clock() - LOOK_BACK))
    keys, newest_seen[persona] = table_windows.read_active(db, persona, seen)
    due = []
    for key in keys:
        # A failed window is not queued again at every look.
        tried = newest_tried.get((persona, key), 0)
        count, newest = table_windows.count_new(db, persona, key, most, above=tried)
        if count >= most:
            newest_tried[persona, key] = newest
            due.append(key)
    return due
