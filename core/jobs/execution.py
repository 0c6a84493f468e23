"""One operation from its claim to its end: the handler, the effect, and what is kept of a failure.

This is the one place where every exception of a handler ends: the queue goes on whatever a handler does.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

from ..base import logs
from ..config import Settings
from ..database.engine import Database
from ..errors import ModelError, StoreError
from ..scope import use_scope
from ..shapes import OperationRun, RunState
from . import handlers, rules
from . import table_claiming as jobs_claiming
from .table_claiming import Claim
from .tools import Effect, Tools, operation_scope


def run(db: Database, claimed: Claim, *, settings: Settings, model: Any = None) -> OperationRun:
    """Do one operation with the model to ask, None for extracts, and return what became of it.

    Its effect is stored together with the mark that it is completed, while the claim still holds: once, or not at all.

    Raises:
        StoreError: what became of it could not be written; it is free again when its lease ends.
    """
    started = time.monotonic()
    operation = claimed.operation
    state: RunState
    error = ""
    try:
        effect = _handled(db, claimed, settings, model)
        state = "completed" if jobs_claiming.complete(db, claimed, effect) else "dropped"
    except Exception as failure:  # noqa: BLE001 - whatever a handler does, the queue goes on and the reason is kept
        state, error = _failed(db, claimed, failure, settings.job_max_tries)
    except BaseException:
        with suppress(StoreError):  # its lease ends by itself
            jobs_claiming.give_back(db, claimed)
        raise
    seconds = round(time.monotonic() - started, 3)
    level = logging.INFO if state in ("completed", "dropped") else logging.WARNING
    logs.event(level, "operation", id=operation.id, type=operation.type, state=state, seconds=seconds, error=error)
    return OperationRun(operation.id, operation.type, operation.persona, operation.conversation, state, seconds, error)


def _handled(db: Database, claimed: Claim, settings: Settings, model: Any) -> Effect | None:
    """Return the effect of an operation's handler, which runs in the operation's own scope."""
    operation = claimed.operation
    handle = handlers.find(operation.type)
    tools = Tools(db, settings, model, db.clock())
    with use_scope(operation_scope(operation)), kept(db, claimed, settings.job_lease_seconds):
        return handle(operation, tools)


@contextmanager
def kept(db: Database, claimed: Claim, lease_seconds: float) -> Iterator[None]:
    """Keep the lease of a claim in the background for the time of the block, by beginning it anew every third of it."""
    done = threading.Event()

    def renew() -> None:
        while not done.wait(lease_seconds / 3):
            try:
                if not jobs_claiming.keep(db, claimed, lease_seconds=lease_seconds):
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


def _failed(db: Database, claimed: Claim, failure: Exception, max_tries: int) -> tuple[RunState, str]:
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
    if rules.verdict(kinds, reason) == "fail" or rules.is_last(operation.tries, max_tries):
        return ("failed" if jobs_claiming.give_up(db, claimed, error) else "dropped"), error
    until = db.clock() + timedelta(seconds=rules.wait_seconds(operation.tries, asked))
    return ("retrying" if jobs_claiming.put_off(db, claimed, error, until) else "dropped"), error
