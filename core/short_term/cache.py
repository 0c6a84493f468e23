"""Texts of short-term entries held in this process, and what has been counted of reading and writing them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from ..database.engine import Database
from .shapes import Item

_NAME = "short_term"

Stamp = tuple[int, Any, Any]
"""Version, last_updated and summary_updated_at as stored: a row brought back from a backup differs in one of them."""


@dataclass(frozen=True, slots=True)
class Texts:
    """What an entry holds beside what every read asks the table for."""

    stamp: Stamp
    items: tuple[Item, ...]
    summary: str
    server: str
    server_name: str
    channel_name: str
    parent_channel: str | None
    turns: int


@dataclass(slots=True)
class Counts:
    """What has been counted since the handle was opened."""

    hits: int = 0
    misses: int = 0
    stores: int = 0
    invalidations: int = 0
    expirations: int = 0
    errors: int = 0


@dataclass(slots=True)
class TextCache:
    """Texts by persona and row, the least recently used first; safe to share between threads."""

    counts: Counts = field(default_factory=Counts)
    _texts: OrderedDict[tuple[str, int], Texts] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add_counts(self, **more: int) -> None:
        """Add to the counts."""
        with self._lock:
            for name, number in more.items():
                setattr(self.counts, name, getattr(self.counts, name) + number)

    def find_texts(self, persona: str, row_id: int, stamp: Stamp) -> Texts | None:
        """Return the texts of this version of a row, None where they are not held."""
        with self._lock:
            texts = self._texts.get((persona, row_id))
            if texts is None or texts.stamp != stamp:
                return None
            self._texts.move_to_end((persona, row_id))
            return texts

    def hold_texts(self, persona: str, row_id: int, texts: Texts, most: int) -> None:
        """Hold the texts of a row, and at most `most` rows."""
        with self._lock:
            self._texts[persona, row_id] = texts
            self._texts.move_to_end((persona, row_id))
            while len(self._texts) > most:
                self._texts.popitem(last=False)

    def drop_persona(self, persona: str) -> None:
        """Forget all texts of a persona."""
        with self._lock:
            for key in [key for key in self._texts if key[0] == persona]:
                del self._texts[key]

    def __len__(self) -> int:
        return len(self._texts)


def open_cache(db: Database) -> TextCache:
    """Return the texts held for this handle."""
    cache: TextCache = db.caches.setdefault(_NAME, TextCache())
    return cache


without_handle: TextCache = TextCache()
"""Counts the turns that were lost before there was a database to count them with."""
