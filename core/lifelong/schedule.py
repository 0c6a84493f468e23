"""The scheduler: cycles of consolidation at their time, without anybody asking."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Self

from ..access import external_rows
from ..base import logs
from ..calls.call import Call, GivenSettings
from ..calls.defaults import settings_for
from ..config import Settings
from ..database.engine import Database
from ..database.ids import first_of
from ..errors import StoreError
from ..memories.shapes import CycleResult
from ..scope import Scope
from . import cycles, table_runs, table_windows
from .cycles import BUSY

POLL_SECONDS = 10.0
"""Pause between two looks."""
LOOK_BACK = timedelta(days=1)
"""The first look is for conversations something was stored in no longer ago than this."""
INTERVAL, MESSAGES = "interval", "messages"


class Scheduler:
    """Runs cycles of consolidation when they are due.

    Args:
        db: the database.
        personas: only these; none for all something was said to.
        settings: as every function has them; without them they are read anew at each look, so that a change acts.
        model: the model to ask; without one that of the process, else that of LLM_BASE_URL, else extracts are made.
        on_done: called with persona and result of each cycle, in the thread of the scheduler.
    """

    def __init__(
        self,
        db: Database,
        *,
        personas: Sequence[str] = (),
        settings: GivenSettings = None,
        model: Any = None,
        on_done: Callable[[str, CycleResult], None] | None = None,
    ) -> None:
        self._db = db
        self._only = tuple(personas)
        self._settings = settings
        self._model = model
        self._on_done = on_done
        self._seen: dict[str, int] = {}
        """Persona to the newest message row looked at."""
        self._tried: dict[tuple[str, str], int] = {}
        """Persona and conversation to the newest message of the last cycle, so that one that failed is not run again
        at every look."""
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def tick(self) -> list[CycleResult]:
        """Look once, run the cycles that are due, and return what they did; [] where none is.

        Raises:
            StoreError: the database did not answer.
        """
        external_rows.index_all_rows(self._db)
        done: list[CycleResult] = []
        for persona in self._only or table_runs.read_personas(self._db):
            settings = settings_for(self._settings)
            if table_runs.begin_interval(self._db, persona, settings.memory_consolidation_interval_sec):
                done += self._run(settings, Scope(persona), INTERVAL)
            for key in self._full(settings, persona):
                done += self._run(settings, Scope(persona, key), MESSAGES)
        return done

    def _run(self, settings: Settings, scope: Scope, reason: str) -> list[CycleResult]:
        result = cycles.run(Call(self._db, settings, scope), self._model, reason)
        if result.reason == BUSY:
            return []
        if self._on_done is not None:
            self._on_done(scope.persona, result)
        return [result]

    def _full(self, settings: Settings, persona: str) -> list[str]:
        """Return the conversations with enough new messages; each is named once for these."""
        most = settings.consolidate_every_n_messages
        if not most:
            return []
        seen = self._seen.get(persona, first_of(self._db.clock() - LOOK_BACK))
        keys, self._seen[persona] = table_windows.read_active(self._db, persona, seen)
        keys_due = []
        for key in keys:
            tried = self._tried.get((persona, key), 0)
            count, newest = table_windows.count_new(self._db, persona, key, most, above=tried)
            if count >= most:
                self._tried[persona, key] = newest
                keys_due.append(key)
        return keys_due

    # In a thread

    def run(self) -> None:
        """Look again and again until `stop`; a database that does not answer is asked again at the next look."""
        while not self._stopped.is_set():
            try:
                self.tick()
            except StoreError as error:
                logs.warning("scheduler_waits", source=error.source, number=error.number)
            self._stopped.wait(POLL_SECONDS)

    def start(self) -> Self:
        if self._thread is None:
            self._stopped.clear()
            self._thread = threading.Thread(target=self.run, name="prompt-engine-scheduler", daemon=True)
            self._thread.start()
        return self

    def stop(self) -> None:
        """Stop after the cycle at hand, and wait for it."""
        self._stopped.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
