"""A worker: does operations as long as it is let, of all personas in turn.

| how it ends | what becomes of the operation at hand |
|---|---|
| `stop()`, or SIGTERM or SIGINT once where `on_signals` was called | it is done to its end |
| a second signal | it is given back at once |
| killed, or its machine gone | it is free again when its lease ends; its effect is stored once all the same |

`run_operation` is the one place where every exception of a handler ends: the queue goes on whatever a handler does.
"""

from __future__ import annotations

import logging
import os
import random
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any

from .. import llm
from ..base import logs
from ..calls.call import GivenSettings
from ..calls.defaults import settings_for
from ..config import Settings
from ..database.engine import Database
from ..errors import ModelError, StoreError
from ..scope import use_scope
from ..shapes import OperationRun, RunState
from . import embedding, handlers, rules, table, table_claiming
from .rules import Turns, Waiting
from .table_claiming import Claim
from .tools import Effect, Tools, operation_scope

POLL_SECONDS = 1.0
"""Pause of a worker that found nothing to do."""
TROUBLE_SECONDS = 5.0
"""Pause of a worker whose database did not answer."""
LEASE_SECONDS = 600
"""A worker that says nothing for this long is taken for dead: longer than a slow model takes for an answer."""
BUDGET_SECONDS = 3600.0
"""Longest wait before LLM_DAILY_CALLS is looked at again: it may have been raised."""
PRUNE_SECONDS = 600.0
"""Old operations are removed this often."""
_FIRST_LOOK = 16
"""Operations looked at; eight times as many where none of them may begin."""
_LOOKS = 4
"""Looks at a queue whose operations all go to other workers, before this one turns to something else."""
_WIDEST = 32


class Worker:
    """Does the operations of a database.

    Args:
        db: the database.
        personas: only these; none for all there are. They take turns, one operation each.
        settings: as every function has them; without them they are read anew for each operation, so that a change acts.
        model: the model to ask; without one that of the process, else that of LLM_BASE_URL.
        on_done: called with what became of each operation, in the thread of the worker.
    """

    def __init__(
        self,
        db: Database,
        *,
        personas: Sequence[str] = (),
        settings: GivenSettings = None,
        model: Any = None,
        on_done: Callable[[OperationRun], None] | None = None,
    ) -> None:
        self._db = db
        self._only = tuple(personas)
        self._settings = settings
        self._model = model
        self._on_done = on_done
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
                embedding.queue_due(self._db, settings_for(self._settings), self._only)
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
        llm.resolve(self._model, settings_for(self._settings), self._db)  # told at once, not when something is queued
        waiting = list(self._only) or table_claiming.read_personas(self._db)
        until = time.monotonic() + POLL_SECONDS
        begun = 0
        while waiting and time.monotonic() < until:
            for persona in tuple(waiting):
                if self._stopped.is_set():
                    return begun
                if run_next(self._db, self._claimer, persona, self._settings, self._model, self._on_done) is None:
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
    """Remove what ended long ago, of these personas or of all, unless that was done by this handle a moment ago."""
    before: dict[tuple[str, ...], datetime] = db.caches.setdefault(__name__, {})
    of, now = tuple(personas), db.clock()
    if of in before and now < before[of] + timedelta(seconds=PRUNE_SECONDS):
        return
    before[of] = now
    for persona in of or table_claiming.read_personas(db, working=False):
        while table.prune(db, persona):
            pass


# One operation, from its claim to its end


class Claimer:
    """Claims operations for one worker."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._name = f"{socket.gethostname()[:30]}:{os.getpid()}"
        self._width = 1

    def next(self, persona: str, types: Collection[str], *, lease_seconds: float) -> Claim | None:
        """Return the next operation of a persona, claimed; None when none may begin now."""
        most, looks = _FIRST_LOOK, 0
        while looks < _LOOKS:
            batch = table_claiming.read_next(self._db, persona, types, most)
            turns = rules.choose_turns(batch.waiting, batch.states)
            ended = self._end(persona, turns)
            if turns.ready:
                claimed = self._claim(persona, turns.ready, lease_seconds)
                if claimed is not None:
                    return claimed
                looks += 1
            elif not ended and batch.is_all:
                return None
            elif not ended:
                most *= 8
        return None

    def _end(self, persona: str, turns: Turns) -> int:
        """End what cannot begin any more, and return how many this worker ended."""
        ended = 0
        for each, dependency in turns.failed:
            ended += table.fail(self._db, persona, each, rules.error_text("DependencyFailed", str(dependency)))
        for each in turns.lost:
            ended += table.fail(self._db, persona, each, rules.error_text("WorkerLost"))
        return ended

    def _claim(self, persona: str, ready: Sequence[Waiting], lease_seconds: float) -> Claim | None:
        job_ids = [each.id for each in ready if each.priority == ready[0].priority]
        while job_ids:
            job_id = job_ids.pop(random.randrange(min(self._width, len(job_ids))))
            token = f"{self._name[:47]}:{secrets.token_hex(8)}"
            claimed = table_claiming.claim(self._db, persona, job_id, token, lease_seconds=lease_seconds)
            if claimed is not None:
                self._width = max(1, self._width - 1)
                return claimed
            self._width = min(self._width * 2, _WIDEST)
        return None


def run_next(
    db: Database,
    claimer: Claimer,
    persona: str,
    settings: GivenSettings,
    model: Any,
    on_done: Callable[[OperationRun], None] | None = None,
) -> OperationRun | None:
    """Do the next operation of a persona and return what became of it; None when none may begin now."""
    current = settings_for(settings)
    current_model = llm.resolve(model, current, db)
    claimed = claimer.next(persona, handlers.list_types(current), lease_seconds=LEASE_SECONDS)
    if claimed is None:
        return None
    report = run_operation(db, claimed, settings=current, model=current_model)
    if on_done is not None:
        on_done(report)
    return report


def run_operation(db: Database, claimed: Claim, *, settings: Settings, model: Any = None) -> OperationRun:
    """Do one operation with the model to ask, None for extracts, and return what became of it."""
    started = time.monotonic()
    operation = claimed.operation
    state: RunState
    error = ""
    try:
        tools = Tools(db, settings, model, db.clock())
        effect = _handle(claimed, tools)
        state = "completed" if table_claiming.complete(db, claimed, effect) else "dropped"
    except Exception as failure:  # noqa: BLE001 - whatever a handler does, the queue goes on and the reason is kept
        state, error = _note_failure(db, claimed, failure)
    except BaseException:
        with suppress(StoreError):  # its lease ends by itself
            table_claiming.give_back(db, claimed)
        raise
    after = handlers.find_after(operation.type) if state == "completed" else None
    if after is not None:
        after(operation, tools)
    seconds = round(time.monotonic() - started, 3)
    level = logging.INFO if state in ("completed", "dropped") else logging.WARNING
    logs.event(level, "operation", id=operation.id, type=operation.type, state=state, seconds=seconds, error=error)
    return OperationRun(operation.id, operation.type, operation.persona, operation.conversation, state, seconds, error)


def _handle(claimed: Claim, tools: Tools) -> Effect | None:
    """Return the effect of an operation's handler, which runs in the operation's own scope."""
    operation = claimed.operation
    handle = handlers.find(operation.type)
    with use_scope(operation_scope(operation)), keep_lease(tools.db, claimed, LEASE_SECONDS):
        return handle(operation, tools)


@contextmanager
def keep_lease(db: Database, claimed: Claim, lease_seconds: float) -> Iterator[None]:
    """Keep the lease of a claim in the background for the time of the block, by beginning it anew every third of it."""
    done = threading.Event()

    def renew() -> None:
        while not done.wait(lease_seconds / 3):
            try:
                if not table_claiming.renew_lease(db, claimed, lease_seconds=lease_seconds):
                    return
            except StoreError as error:
                logs.warning("lease_not_renewed", id=claimed.operation.id, source=error.source, number=error.number)

    thread = threading.Thread(target=renew, name="prompt-engine-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _note_failure(db: Database, claimed: Claim, failure: Exception) -> tuple[RunState, str]:
    """Write what a failure means, and return the state and what is kept of the reason."""
    operation = claimed.operation
    kinds = [each.__name__ for each in type(failure).__mro__]
    reason, number, asked, cause = "", None, 0.0, ""
    if isinstance(failure, ModelError):
        reason, number, asked = failure.reason, failure.status, failure.retry_after_seconds or 0.0
        cause = failure.error if reason == "error" else ""  # the other reasons say it all
    elif isinstance(failure, StoreError):
        reason, number = failure.source, failure.number
    error = rules.error_text(kinds[0], reason, number, cause)
    logs.logger.debug("operation_failed id=%r", operation.id, exc_info=failure)
    if reason == "budget":  # no try was made
        until = db.clock() + timedelta(seconds=min(asked, BUDGET_SECONDS))
        return ("retrying" if table_claiming.put_off(db, claimed, error, until, is_try=False) else "dropped"), error
    if rules.verdict(kinds, reason) == "fail" or operation.tries >= rules.MAX_TRIES:
        return ("failed" if table_claiming.give_up(db, claimed, error) else "dropped"), error
    until = db.clock() + timedelta(seconds=rules.wait_seconds(operation.tries, asked))
    return ("retrying" if table_claiming.put_off(db, claimed, error, until) else "dropped"), error
