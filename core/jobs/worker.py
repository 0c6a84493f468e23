"""A worker: runs operations of all personas in turn until it is stopped.

| End of the worker | Its current operation |
|---|---|
| `stop()`, called on SIGTERM or SIGINT | is completed |
| interrupted, as by a second signal | is returned to the queue at once |
| killed | can be claimed again when its lease ends; its effect is stored once |
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from queue import Empty, SimpleQueue
from typing import Any

from .. import llm
from ..access import external_rows, overview
from ..base import logs
from ..calls.call import GivenSettings
from ..calls.defaults import settings_for
from ..config import Settings
from ..database.engine import Database
from ..errors import ConfigError, ModelError, StoreError
from ..index import embeddings
from ..llm import embedder as embedders
from ..scope import use_scope
from ..shapes import OperationRun, RunState
from . import handlers, rules, table, table_claiming
from .handlers import Tools, operation_scope
from .table_claiming import Claim

POLL_SECONDS = 1.0
"""Pause after a round without operations, and the length of a round."""
LOOK_SECONDS = 10.0
"""Shortest time between two searches for due consolidations, and for rows that other programs inserted."""
TROUBLE_SECONDS = 5.0
"""Pause after a database error."""
LEASE_SECONDS = 600
"""Lease of an operation: longer than any answer of a slow model. A worker that does not renew it counts as dead."""
BUDGET_SECONDS = 3600.0
"""Longest wait before LLM_DAILY_CALLS is read again, in case it was raised."""
PRUNE_SECONDS = 600.0
"""Shortest time between two deletions of old operations."""
_FIRST_LOOK = 16
"""Number of operations in the first read. While no operation may begin, each further read takes eight times as many."""
_TRIES = 4
"""Number of reads after which a worker gives up, if other workers claim every operation first."""
EMBED_EVERY = timedelta(seconds=5)
"""Shortest time between two searches for rows without vectors, per database handle and persona."""


class Worker:
    """Runs the queued background operations of a database, and queues consolidations that are due.

    Args:
        db: the database.
        personas: work only for these personas; empty for all. They take turns, one operation each.
        settings: as in every function; None reads them for each operation, so that a change acts at once.
        model: the model to ask; None uses the model of the process, else of LLM_BASE_URL.
        on_done: called with the report of each operation, in the worker's thread.
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
        self._stops: SimpleQueue[None] = SimpleQueue()

    def stop(self) -> None:
        """Stop after the current operation; callable from any thread and from a signal handler."""
        self._stops.put(None)  # not an Event: a signal during its `wait` would wait for the lock of that `wait`

    def _wait(self, seconds: float) -> None:
        with suppress(Empty):
            self._stops.put(self._stops.get(timeout=seconds))

    def run(self, *, once: bool = False) -> int:
        """Run operations until `stop` is called; return the number of operations begun.

        Args:
            once: end when no operation may begin now, instead of waiting for new operations or retries.

        Raises:
            ConfigError: the address of the model's server is wrong; nothing is run.
            StoreError: the database failed, and `once` is set; else the worker logs the error and tries again.
        """
        begun = 0
        next_look = 0.0
        while self._stops.empty():
            try:
                settings, is_due = settings_for(self._settings), time.monotonic() >= next_look
                if is_due:
                    external_rows.index_all_rows(self._db)
                personas = self._only or overview.list_personas(self._db)
                if is_due:
                    for persona in personas:
                        handlers.load(handlers.QUEUE_DUE)(self._db, persona, settings)
                    next_look = time.monotonic() + LOOK_SECONDS
                queue_embedding(self._db, settings, personas)
                for persona in personas:
                    handlers.load(handlers.FOLLOW_SETTINGS)(self._db, persona, settings)
                done = self._round()
                begun += done
                prune_now_and_then(self._db, self._only)
            except StoreError as error:
                if once:
                    raise
                logs.warning("worker_waits", source=error.source, number=error.number)
                self._wait(TROUBLE_SECONDS)
                continue
            if not done and once:
                break
            if not done:
                self._wait(POLL_SECONDS)
        return begun

    def _round(self) -> int:
        """Run operations of each persona in turn for about a second, and return the number of operations."""
        llm.resolve(self._model, settings_for(self._settings), self._db)  # report a bad model before work is queued
        waiting = list(self._only) or table_claiming.read_personas(self._db)
        until = time.monotonic() + POLL_SECONDS
        begun = 0
        while waiting and time.monotonic() < until:
            for persona in tuple(waiting):
                if not self._stops.empty():
                    return begun
                report = run_next(self._db, persona, self._settings, self._model)
                if report is None:
                    waiting.remove(persona)
                    continue
                begun += 1
                if self._on_done is not None:
                    self._on_done(report)
        return begun


def prune_now_and_then(db: Database, personas: Sequence[str]) -> None:
    """Delete operations that ended long ago, of these personas or of all; at most once in PRUNE_SECONDS per handle."""
    before: dict[tuple[str, ...], datetime] = db.caches.setdefault(__name__, {})
    of, now = tuple(personas), db.clock()
    if of in before and now < before[of] + timedelta(seconds=PRUNE_SECONDS):
        return
    before[of] = now
    for persona in of or table_claiming.read_personas(db, working=False):
        while table.prune(db, persona):
            pass


def queue_embedding(db: Database, settings: Settings, personas: Sequence[str], *, now: bool = False) -> None:
    """Queue EMBED for each persona with rows without vectors; `now` checks even if EMBED_EVERY has not passed."""
    embedder = embedders.resolve(None, settings)
    if embedder is None:
        return
    try:
        model = embedders.check(embedder)
    except ConfigError as error:
        logs.warning("embedder_unusable", flag=error.flag)
        return
    before: dict[str, datetime] = db.caches.setdefault(f"{__name__}.embedding", {})
    moment = db.clock()
    local = embedders.is_local(embedder) or settings.prompt_destination == "local"
    for persona in personas:
        if not now and persona in before and moment < before[persona] + EMBED_EVERY:
            continue
        before[persona] = moment
        if embeddings.next_batch(db, persona, model, 1, local=local).rows:
            db.transaction(
                lambda c, whose=persona: table.enqueue(c, db, whose, handlers.EMBED, priority="LOW", once=True),  # type: ignore[misc]
                source="memory_jobs",
            )


# One operation, from its claim to its end


def claim_next(db: Database, persona: str, types: Collection[str], *, lease_seconds: float) -> Claim | None:
    """Claim and return the next operation of a persona; None if no operation may begin now."""
    most, tries = _FIRST_LOOK, 0
    while tries < _TRIES:
        turns = table_claiming.read_turns(db, persona, types, most)
        ended = table.end(db, persona, turns.lost, "failed", error="WorkerLost") if turns.lost else 0
        for each, dependency in turns.failed:
            error = rules.error_text("DependencyFailed", str(dependency))
            ended += table.end(db, persona, [each], "failed", error=error)
        for waiting in turns.ready:
            claimed = table_claiming.claim(db, persona, waiting.id, lease_seconds=lease_seconds)
            if claimed is not None:
                return claimed
        if not ended and not turns.ready and turns.total < most:
            return None
        tries += bool(turns.ready)
        most *= 1 if ended or turns.ready else 8
    return None


def run_next(db: Database, persona: str, settings: GivenSettings, model: Any) -> OperationRun | None:
    """Run the next operation of a persona and return its report; None if no operation may begin now."""
    current = settings_for(settings)
    current_model = llm.resolve(model, current, db)
    claimed = claim_next(db, persona, handlers.list_types(current), lease_seconds=LEASE_SECONDS)
    return None if claimed is None else run_operation(db, claimed, settings=current, model=current_model)


def run_operation(
    db: Database, claimed: Claim, *, settings: Settings, model: Any = None, results: list[Any] | None = None
) -> OperationRun:
    """Run one operation and return its report; the handler appends its results to `results`, for a waiting caller."""
    started = time.monotonic()
    operation = claimed.operation
    state: RunState
    error, wait = "", 0.0
    try:
        tools = Tools(db, settings, model, db.clock(), results=[] if results is None else results)
        handle = handlers.load(handlers.HANDLERS[operation.type])
        with use_scope(operation_scope(operation)), keep_lease(db, claimed, LEASE_SECONDS):
            effect = handle(operation, tools)
        if model is None and settings.llm_base_url.strip() and operation.type in handlers.ASKING:
            tools.notes.append(rules.error_text("NoModel", "LLM_MODEL is not set"))
        error = "; ".join(dict.fromkeys(tools.notes))[: rules.ERROR_CHARS]
        state = "completed" if table_claiming.settle(db, claimed, "completed", effect, error=error) else "dropped"
    except Exception as failure:  # noqa: BLE001 - the queue continues, and the reason is stored
        state, error, wait = _note_failure(db, claimed, failure)
    except BaseException:
        with suppress(StoreError):  # the operation is claimed again when its lease expires
            table_claiming.settle(db, claimed, "pending", is_try=False)
        raise
    if state == "completed" and operation.type in handlers.AFTER:
        handlers.load(handlers.AFTER[operation.type])(operation, tools)
    seconds = round(time.monotonic() - started, 3)
    level = logging.INFO if state in ("completed", "dropped") else logging.WARNING
    logs.event(level, "operation", id=operation.id, type=operation.type, state=state, seconds=seconds, error=error)
    whose = (operation.persona, operation.conversation)
    return OperationRun(operation.id, operation.type, *whose, state, seconds, error, wait)


@contextmanager
def keep_lease(db: Database, claimed: Claim, lease_seconds: float) -> Iterator[None]:
    """Renew the claim in a thread, three times per `lease_seconds`, while the block runs."""
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


def _note_failure(db: Database, claimed: Claim, failure: Exception) -> tuple[RunState, str, float]:
    """Store a failure; return the new state of the operation, the stored reason and the seconds until a retry."""
    operation = claimed.operation
    reason, number, asked, cause = "", None, 0.0, ""
    if isinstance(failure, ModelError):
        reason, number, asked = failure.reason, failure.status, failure.retry_after_seconds or 0.0
        cause = failure.error if reason == "error" else ""  # failures with another reason need no cause
    elif isinstance(failure, StoreError):
        reason, number = failure.source, failure.number
    error = rules.error_text(type(failure).__name__, reason, number, cause)
    logs.logger.debug("operation_failed id=%r", operation.id, exc_info=failure)
    is_try = reason != "budget"
    if is_try and (rules.is_final(failure) or operation.tries >= rules.MAX_TRIES):
        is_held = table_claiming.settle(db, claimed, "failed", error=error)
        return "failed" if is_held else "dropped", error, 0.0
    wait = rules.wait_seconds(operation.tries, asked) if is_try else min(asked, BUDGET_SECONDS)
    until = db.clock() + timedelta(seconds=wait)
    is_held = table_claiming.settle(db, claimed, "retrying", error=error, until=until, is_try=is_try)
    return "retrying" if is_held else "dropped", error, wait
