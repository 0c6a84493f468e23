"""A worker: does operations as long as it is let, of all personas in turn.

| how it ends | what becomes of the operation at hand |
|---|---|
| `stop()`, or SIGTERM or SIGINT once where `on_signals` was called | it is done to its end |
| a second signal | it is given back at once |
| killed, or its machine gone | it is free again when its lease ends; its effect is stored once all the same |
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from .. import llm
from ..base import logs
from ..calls.defaults import settings_for
from ..config import Settings
from ..database.engine import Database
from ..errors import StoreError
from ..shapes import OperationRun
from . import embedding, handlers
from . import execution as running
from . import table as jobs
from . import table_claiming as jobs_claiming
from .claims import Claimer

POLL_SECONDS = 1.0
"""Pause of a worker that found nothing to do."""
TROUBLE_SECONDS = 5.0
"""Pause of a worker whose database did not answer."""
PRUNE_SECONDS = 600.0
"""Old operations are removed this often."""


class Worker:
    """Does the operations of a database.

    Args:
        db: the database.
        personas: only these; none for all there are. They take turns, one operation each.
        settings: as every door has them; without them they are read anew for each operation, so that a change acts.
        model: the model to ask; without one that of the process, else that of LLM_BASE_URL.
        told: called with what became of each operation, in the thread of the worker.
    """

    def __init__(
        self,
        db: Database,
        *,
        personas: Sequence[str] = (),
        settings: Settings | Mapping[str, object] | None = None,
        model: Any = None,
        told: Callable[[OperationRun], None] | None = None,
    ) -> None:
        self._db = db
        self._only = tuple(personas)
        self._settings = settings
        self._model = model
        self._told = told
        self._claimer = Claimer(db)
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Let the worker end after the operation at hand; from any thread."""
        self._stopped.set()

    def run(self, *, once: bool = False) -> int:
        """Do operations until `stop`, and return how many were begun.

        Args:
            once: end as soon as none may begin now, instead of waiting for more; those that wait for their next try
                are left.

        Raises:
            ConfigError: the model's server is named wrongly; what waits is left as it is.
            StoreError: with `once`, the database did not answer. Without, the worker logs it and tries again.
        """
        begun = 0
        while not self._stopped.is_set():
            try:
                embedding.queue_due(self._db, settings_for(self._settings, self._db), self._only)
                done = self._round()
                begun += done
                prune_now_and_then(self._db, self._only)
            except StoreError as error:
                if once:
                    raise
                logs.warning("worker_waits", source=error.source, number=error.number)
                self._stopped.wait(TROUBLE_SECONDS)
                continue
            if not done and once:
                break
            if not done:
                self._stopped.wait(POLL_SECONDS)
        return begun

    def _round(self) -> int:
        """Do operations of each persona in turn for a second or so, and return how many."""
        llm.resolve(self._model, settings_for(self._settings, self._db))  # told at once, not when something is queued
        waiting = list(self._only) or jobs_claiming.personas(self._db)
        until = time.monotonic() + POLL_SECONDS
        begun = 0
        while waiting and time.monotonic() < until:
            for persona in tuple(waiting):
                if self._stopped.is_set():
                    return begun
                if one(self._db, self._claimer, persona, self._settings, self._model, self._told) is None:
                    waiting.remove(persona)
                else:
                    begun += 1
        return begun

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Let SIGTERM and SIGINT stop the worker for the time of the block; the second one interrupts it.

        Only for the main thread of a process.
        """

        def ask(number: int, frame: Any) -> None:  # noqa: ARG001 - the interface of signals
            if self._stopped.is_set():
                raise KeyboardInterrupt
            self._stopped.set()

        before = {each: signal.signal(each, ask) for each in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


def prune_now_and_then(db: Database, personas: Sequence[str] = ()) -> None:
    """Remove what ended long ago, of these personas or of all, unless that was done by this handle a moment ago.

    Raises:
        StoreError: the database did not answer.
    """
    before: dict[tuple[str, ...], datetime] = db.caches.setdefault(__name__, {})
    of, now = tuple(personas), db.clock()
    if of in before and now < before[of] + timedelta(seconds=PRUNE_SECONDS):
        return
    before[of] = now
    for persona in of or jobs_claiming.personas(db, working=False):
        while jobs.prune(db, persona):
            pass


def one(
    db: Database,
    claimer: Claimer,
    persona: str,
    settings: Settings | Mapping[str, object] | None,
    model: Any,
    told: Callable[[OperationRun], None] | None = None,
) -> OperationRun | None:
    """Do the next operation of a persona and return what became of it; None when none may begin now.

    Raises:
        ConfigError: the model's server is named wrongly; nothing was begun, so that no operation fails of it.
        StoreError: the database could not be asked, or what became of the operation not be written.
    """
    known = settings_for(settings, db)
    asked = llm.resolve(model, known)
    claimed = claimer.next(
        persona, handlers.known(), lease_seconds=known.job_lease_seconds, max_tries=known.job_max_tries
    )
    if claimed is None:
        return None
    done = running.run(db, claimed, settings=known, model=asked)
    if told is not None:
        told(done)
    return done
