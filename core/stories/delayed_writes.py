"""Changes that can be worked out again, kept back for a moment and written together."""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from ..audience import table_conversations
from ..base import logs
from ..database.engine import Connection, Database
from ..errors import CoreError
from ..messages import table_hidden, table_recaps
from ..messages.table_hidden import Place

MOST_SECONDS = 5.0
"""Longest a change waits for the end of its burst."""
_NAME = __name__
_RETRY_SECONDS = 5.0
_making = threading.Lock()


class Debounce:
    """The time of the next write: a pause after the last change, at the latest MOST_SECONDS after the first."""

    __slots__ = ("_first", "due")

    def __init__(self) -> None:
        self._first: float | None = None
        self.due: float | None = None
        """Time of the next write; None while nothing is to be written."""

    def note(self, now: float, pause_seconds: float) -> None:
        """Take note of a change."""
        if self._first is None:
            self._first = now
        self.due = min(now + pause_seconds, self._first + max(MOST_SECONDS, pause_seconds))

    def is_due(self, now: float) -> bool:
        """Return whether it is time to write."""
        return self.due is not None and now >= self.due

    def reset(self) -> None:
        """Begin anew: everything is written."""
        self._first = self.due = None


@dataclass(slots=True)
class Pending:
    """What is to be written for one conversation."""

    include: dict[int, str | None] = field(default_factory=dict)
    """Message row to `include`."""
    last_hidden: Place | None = None
    """The newest message to be hidden; None hides nothing. Counts where `hides`."""
    hides: bool = False
    recap_counts: dict[int, int] = field(default_factory=dict)
    text_counts: dict[int, int] = field(default_factory=dict)
    counter: str = ""
    """Name of the counter both are from."""

    def add(self, later: Pending) -> None:
        """Take over what was noted after this."""
        self.include |= later.include
        if later.hides:
            self.last_hidden, self.hides = later.last_hidden, True
        if later.counter and later.counter != self.counter:
            self.recap_counts, self.text_counts, self.counter = {}, {}, later.counter
        self.recap_counts |= later.recap_counts
        self.text_counts |= later.text_counts

    def __bool__(self) -> bool:
        return bool(self.include or self.hides or self.recap_counts or self.text_counts)

    def write(self, connection: Connection, persona: str, conversation: str) -> None:
        """Write it within a transaction, which holds the conversation first as operations do."""
        table_conversations.find(connection, persona, conversation, lock=True)
        by_value: dict[str | None, list[int]] = {}
        for row_id, value in self.include.items():
            by_value.setdefault(value, []).append(row_id)
        for value in sorted(by_value, key=lambda v: (v is not None, v)):
            table_recaps.set_include(connection, persona, by_value[value], value)
        if self.hides:
            table_hidden.update_hidden(connection, persona, conversation, self.last_hidden)
        for counts, of_recaps in ((self.recap_counts, True), (self.text_counts, False)):
            table_recaps.note_counts(connection, persona, self.counter, counts, of_recaps=of_recaps)


_Key = tuple[str, str]
"""Persona and conversation."""


class Saver:
    """What one handle keeps back."""

    def __init__(self, db: Database, *, clock: Callable[[], float] = time.monotonic, timed: bool = True) -> None:
        self._db = db
        self._clock = clock
        self._timed = timed
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._waiting: dict[_Key, Pending] = {}
        self._under_way: dict[_Key, Pending] = {}
        self._burst = Debounce()
        self._thread: threading.Thread | None = None
        self.writes: int = 0
        """Transactions written so far."""

    def note(self, persona: str, conversation: str, change: Pending, pause_seconds: float) -> None:
        """Keep a change; without a pause it is written before this returns."""
        if not change:
            return
        with self._changed:
            self._waiting.setdefault((persona, conversation), Pending()).add(change)
            self._burst.note(self._clock(), pause_seconds)
            if self._timed and pause_seconds > 0:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="prompt-engine-saving", daemon=True)
                    self._thread.start()
                self._changed.notify_all()
        if pause_seconds <= 0:
            self.flush()

    def pending(self, persona: str, conversation: str) -> Pending:
        """Return what is not written yet of a conversation, for reads to lay over what is stored."""
        made = Pending()
        with self._changed:
            for held in (self._under_way, self._waiting):
                found = held.get((persona, conversation))
                if found is not None:
                    made.add(found)
        return made

    def forget(self, persona: str, conversation: str, rows: Collection[int] | None = None) -> None:
        """Drop what is kept of a conversation, or of some of its messages, that is gone or written otherwise."""
        with self._changed:
            if rows is None:
                self._waiting.pop((persona, conversation), None)
                return
            kept = self._waiting.get((persona, conversation))
            if kept is not None:
                for row_id in rows:
                    for part in (kept.include, kept.recap_counts, kept.text_counts):
                        part.pop(row_id, None)

    def poll(self) -> bool:
        """Write if it is time; return whether something was written."""
        with self._changed:
            is_due = self._burst.is_due(self._clock())
        return is_due and self.flush()

    def flush(self) -> bool:
        """Write everything in one transaction and return whether there was something."""
        with self._db.held(self._writing) as held:
            if not held:
                return False
            with self._changed:
                ready = {key: change for key, change in self._waiting.items() if change}
                self._waiting, self._under_way = {}, ready
                self._burst.reset()
            left = self._write_all(ready)
            with self._changed:
                self._under_way = {}
                if left:
                    self._put_back(left)
        return len(left) < len(ready)

    def _write_all(self, ready: Mapping[_Key, Pending]) -> dict[_Key, Pending]:
        """Write and return what could not be written; one conversation that cannot be does not hold up the others."""
        failed = self._tried(ready)
        if failed and len(ready) > 1:
            return {key: change for key, change in ready.items() if self._tried({key: change})}
        return dict(ready) if failed else {}

    def _tried(self, ready: Mapping[_Key, Pending]) -> bool:
        """Write in one transaction and return whether it failed."""
        if not ready:
            return False
        try:
            self._db.transaction(lambda connection: self._write(connection, ready), source="message_recaps")
        except CoreError as error:
            logs.warning("derived_data_not_saved", error=type(error).__name__, conversations=len(ready))
            return True
        self.writes += 1
        return False

    def _write(self, connection: Connection, ready: Mapping[_Key, Pending]) -> None:
        for persona, conversation in sorted(ready):
            ready[persona, conversation].write(connection, persona, conversation)

    def _put_back(self, ready: Mapping[_Key, Pending]) -> None:
        newer, self._waiting = self._waiting, dict(ready)
        for key, change in newer.items():
            self._waiting.setdefault(key, Pending()).add(change)
        self._burst.note(self._clock(), _RETRY_SECONDS)

    def _run(self) -> None:
        """Write whenever it is time, and end when nothing is left."""
        while True:
            with self._changed:
                due = self._burst.due
                if due is None:
                    self._thread = None
                    return
                left = due - self._clock()
                if left > 0:
                    self._changed.wait(left)
                    continue
            self.flush()


def get_saver(db: Database) -> Saver:
    """Return what keeps the changes of a handle back, made at first use."""
    found: Saver | None = db.caches.get(_NAME)
    if found is None:
        with _making:
            found = db.caches.get(_NAME)
            if found is None:
                found = db.caches[_NAME] = Saver(db)
                db.kept_back.append(found.flush)
                atexit.register(_at_exit, weakref.ref(found))
    return found


def _at_exit(held: weakref.ref[Saver]) -> None:
    saver = held()
    if saver is not None:
        saver.flush()
