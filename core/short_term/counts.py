"""What has been counted of reading and writing short-term entries since the handle was opened."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from ..database.engine import Database

_NAME = "short_term"


@dataclass(slots=True)
class Counts:
    """Counts of one handle; safe to share between threads."""

    hits: int = 0
    """Reads that found an entry."""
    misses: int = 0
    """Reads that found none."""
    stores: int = 0
    invalidations: int = 0
    expirations: int = 0
    errors: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, name: str, number: int = 1) -> None:
        """Add to a count."""
        with self._lock:
            setattr(self, name, getattr(self, name) + number)


COUNTED = ("hits", "misses", "stores", "invalidations", "expirations", "errors")


def counts_for(db: Database) -> Counts:
    """Return the counts of a handle."""
    counts: Counts = db.caches.setdefault(_NAME, Counts())
    return counts


without_handle: Counts = Counts()
"""Counts the turns that were lost before there was a database to count them with."""
