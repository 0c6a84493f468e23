"""Cycles of consolidation, clean-up and deep consolidation: in a call under the lease of a persona, or by a worker."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from ..base import logs
from ..calls.call import Call, GivenSettings
from ..database.engine import Connection, Database
from ..database.ids import retry_duplicates
from ..errors import MessageError, StoreError
from ..jobs import table as jobs_table
from ..jobs.handlers import Effect, Tools, operation_call
from ..jobs.rules import UNREADABLE_ANSWER
from ..jobs.worker import LEASE_SECONDS
from ..memories.shapes import Added, CycleResult
from ..scope import Scope
from ..shapes import Operation
from ..upkeep import leases
from . import consolidation, table_pruning, table_runs, table_windows
from . import rules_consolidation as rules
from .consolidation import DEEP_OPERATION, OPERATION
from .items import open_persona_call
from .pruning import read_limits
from .table_runs import Outcome

LEASE = "consolidation"
"""Whoever holds it runs a cycle of the persona."""
BUSY = "busy"


# Doors


def consolidate_history(
    history_uid: str | None = None,
    limit_messages: int | None = None,
    conf_uid: str | None = None,
    *,
    model: Any = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Added:
    """Make memory items of the messages of one conversation that were not consolidated yet, the oldest first.

    Without a model, sentences that ask to be remembered, tell facts, likings or feelings are kept as said. Messages of
    people at privacy level partial or full are left out. Where more wait than are read, the rest is queued.

    Args:
        history_uid: the conversation; the scope's by default.
        limit_messages: most messages read, within 20 to 500; CONSOLIDATION_WINDOW by default.
        conf_uid: the persona; the scope's by default.
        model: the model to ask; by default that of `configure`, else that of LLM_BASE_URL.

    Returns:
        The number of items stored, with `ids`, `merged`, and `reason` where nothing came of it; the messages are tried
        again unless it is no_messages or privacy.

    Raises:
        MessageError: no conversation is named.
        StoreError: the run could not be recorded.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.lifelong import consolidate_history
    >>> db = open_database("sqlite://")
    >>> done = consolidate_history("telegram/42", db=db)
    >>> done, done.reason
    (0, 'no_messages')
    """
    call = open_persona_call(db, settings, scope, conf_uid, history_uid)
    if call.scope.conversation is None:
        raise MessageError(
            "history_uid is missing. Name the conversation, or pass a scope that has one.", fields=("history_uid",)
        )
    started_at, most = call.db.clock(), rules.window(limit_messages, call.settings.consolidation_window)
    outcome = _guarded(consolidation.consolidate, call, model, most)
    _record_run(call, "consolidation", "consolidate_history", outcome, started_at)
    return Added(len(outcome.ids), ids=outcome.ids, merged=outcome.merged, reason=outcome.reason)


def trigger_memory_consolidation(
    reason: str = "by hand",
    conf_uid: str | None = None,
    history_uid: str | None = None,
    *,
    wait: bool = True,
    model: Any = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> CycleResult:
    """Consolidate the conversation named, or all that have something new, then archive what has expired.

    Args:
        reason: why, for the row of consolidation_runs.
        conf_uid: the persona; the scope's by default.
        history_uid: only this conversation, which counts as the active one; all of the persona by default.
        wait: run it in the call; else queue it for a worker.
        model: as for `consolidate_history`.

    Returns:
        What it did; reason `busy` while another process runs a cycle of the persona.

    Raises:
        StoreError: the cycle could not begin.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.lifelong import trigger_memory_consolidation
    >>> db = open_database("sqlite://")
    >>> trigger_memory_consolidation("shutting down", db=db).reason
    'no_messages'
    >>> len(trigger_memory_consolidation(wait=False, db=db).queued)
    1
    """
    call = open_persona_call(db, settings, scope, conf_uid)
    call = replace(call, scope=replace(call.scope, conversation=history_uid))
    if wait:
        return run(call, model, str(reason))
    job_id = call.db.transaction(
        lambda connection: _enqueue(connection, call, {"reason": str(reason)[:100]}), source="memory_jobs"
    )
    return CycleResult(queued=tuple(job_id))


def run_cycle(
    conf_uid: str | None = None,
    reason: str = "interval",
    *,
    model: Any = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> CycleResult:
    """Run one cycle of a persona, as the scheduler does: all conversations with something new, then clean up.

    It is `trigger_memory_consolidation` of the whole persona, with the same arguments, result and errors.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.lifelong import run_cycle
    >>> run_cycle(db=open_database("sqlite://")).reason
    'no_messages'
    """
    return trigger_memory_consolidation(reason, conf_uid, model=model, db=db, settings=settings, scope=scope)


def deep_consolidation(
    conf_uid: str | None = None,
    history_uid: str | None = None,
    reason: str = "by hand",
    *,
    model: Any = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> CycleResult:
    """Prune long-term memory, then store the facts of the newest messages anew, tagged `deep`.

    Done again, nothing is there twice. Arguments, result and errors are those of `trigger_memory_consolidation`.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.lifelong import add_facts_with_meta, deep_consolidation
    >>> db = open_database("sqlite://")
    >>> added = add_facts_with_meta([{"text": "Ann wore a hat", "importance": 0.1}], db=db)
    >>> done = deep_consolidation(db=db, settings={"PRUNE_MODE": "any"})
    >>> done.deep, done.pruned
    (True, 1)
    """
    call = open_persona_call(db, settings, scope, conf_uid)
    call = replace(call, scope=replace(call.scope, conversation=history_uid))
    return run(call, model, str(reason), shallow=False, deep=True, prune=True)


def on_stream_end(
    history_uid: str | None = None,
    conf_uid: str | None = None,
    *,
    wait: bool = True,
    model: Any = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> CycleResult:
    """Tell that a stream has ended: consolidate, clean up, and on every Nth end consolidate deeply.

    The number of ends is stored, so that a restart does not begin anew (DEEP_CONSOLIDATION_EVERY_N_STREAMS).

    Args:
        history_uid: the conversation that ended; the scope's by default, all of the persona where there is none.
        conf_uid: the persona; the scope's by default.
        wait: run it in the call; else, and where it cannot begin now, queue it for a worker.
        model: as for `consolidate_history`.

    Returns:
        What it did; `deep` tells whether it was an Nth end, `queued` which operations were queued instead. With a
        `reason` the cycle failed, and the end is counted all the same: do not tell it again.

    Raises:
        StoreError: the end was not counted.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.lifelong import on_stream_end
    >>> db = open_database("sqlite://")
    >>> [on_stream_end("telegram/42", wait=False, db=db).deep for _ in range(5)]
    [False, False, False, False, True]
    """
    call = open_persona_call(db, settings, scope, conf_uid, history_uid)
    # 1. count the end; without waiting, in one transaction with what is queued
    if not wait:
        return call.db.transaction(lambda c: _enqueue_end(c, call, _count_end(c, call)), source="memory_jobs")
    deep = call.db.transaction(lambda connection: _count_end(connection, call), source="counters")
    # 2. run what follows. Once the end is counted nothing raises: a host that repeated the call would count it twice.
    try:
        done = run(call, model, "on_stream_end", deep=deep)
        if done.reason != BUSY:
            return done
    except StoreError as error:
        logs.warning("cycle_not_begun", source=error.source, number=error.number)
        done = CycleResult(reason=type(error).__name__)
    # 3. what cannot be run now is queued
    try:
        queued = call.db.transaction(lambda connection: _enqueue_end(connection, call, deep), source="memory_jobs")
    except StoreError as error:
        logs.warning("cycle_not_queued", source=error.source, number=error.number)
        return replace(done, reason=type(error).__name__, deep=deep)
    return replace(queued, reason=done.reason)


# A cycle


def run(
    call: Call, model: Any, reason: str, *, shallow: bool = True, deep: bool = False, prune: bool = False
) -> CycleResult:
    """Run one cycle of a persona: the scope's conversation, or all that have something new; then clean up."""
    db, persona, token, started_at = call.db, call.persona, secrets.token_hex(16), call.db.clock()
    seconds = max(LEASE_SECONDS, 3 * call.settings.llm_timeout_seconds)

    def keep_lease() -> bool:
        return leases.acquire(db, persona, LEASE, token, seconds)

    if not keep_lease():
        return CycleResult(reason=BUSY)
    try:
        outcome = _guarded(_consolidate_new, call, model, keep_lease) if shallow else Outcome()
        outcome += _guarded(_archive_expired, call)
        if deep:
            if prune or call.settings.prune_by_itself:
                outcome += _guarded(_prune, call)
            outcome += _guarded(consolidation.deepen, call, model)
        outcome += _guarded(_record_run, call, "cycle" if shallow else "deep", reason, outcome, started_at)
        counts = len(outcome.ids), outcome.pruned, outcome.merged, outcome.conversations
        return CycleResult(*counts, outcome.reason, deep)
    finally:
        with suppress(StoreError):  # it ends by itself
            leases.release(db, persona, LEASE, token)


def _guarded(step: Callable[..., Outcome], *arguments: Any) -> Outcome:
    """Return what a step did; a failure of the database is an outcome too, and the steps after it run."""
    try:
        return step(*arguments)
    except StoreError as error:
        logs.warning("consolidation_step_failed", source=error.source, number=error.number)
        return Outcome(reasons=(type(error).__name__,))


def _consolidate_new(call: Call, model: Any, keep_lease: Callable[[], bool]) -> Outcome:
    here, outcome = call.scope.conversation, Outcome()
    keys = [here] if here is not None else table_windows.read_waiting(call.db, call.persona)
    for key in keys:
        own = replace(call, scope=Scope(call.persona, key, destination=call.scope.destination))
        outcome += _guarded(consolidation.consolidate, own, model, call.settings.consolidation_window)
        with suppress(StoreError):
            keep_lease()
    return outcome if keys else Outcome(reasons=("no_messages",))


def _archive_expired(call: Call) -> Outcome:
    active = call.scope.conversation
    items = table_pruning.archive_expired(call.db, call.persona, call.settings.session_ttl_sec, active=active)
    return Outcome(pruned=len(items))


def _prune(call: Call) -> Outcome:
    return Outcome(pruned=len(table_pruning.prune(call.db, call.persona, read_limits(call.settings))))


@retry_duplicates
def _record_run(call: Call, kind: str, reason: str, outcome: Outcome, started_at: datetime) -> Outcome:
    db, persona, key = call.db, call.persona, call.scope.conversation

    def work(connection: Connection) -> None:
        table_runs.insert_run(connection, db, persona, kind, reason, key, outcome, started_at=started_at)

    # Where the answer to the commit is lost, the run is recorded or not: nothing depends on it.
    db.transaction(work, source="consolidation_runs", confirm=lambda _: None)
    return Outcome()


# Queueing


def _count_end(connection: Connection, call: Call) -> bool:
    """Count the end of a stream, and return whether deep consolidation follows it."""
    number = table_runs.count_stream(connection, call.db, call.persona)
    return number % (call.settings.deep_consolidation_every_n_streams or 5) == 0


def _enqueue_end(connection: Connection, call: Call, deep: bool) -> CycleResult:
    payload = {"reason": "on_stream_end"}
    ids = _enqueue(connection, call, payload)
    if deep:
        after = jobs_table.enqueue(connection, call.db, call.persona, DEEP_OPERATION, payload=payload, depends_on=ids)
        ids += [after] if after is not None else []
    return CycleResult(deep=deep, queued=tuple(ids))


def _enqueue(connection: Connection, call: Call, payload: dict[str, str]) -> list[int]:
    """Queue a consolidation, unless one waits already; return its id, if there is one."""
    key = call.scope.conversation
    job_id = jobs_table.enqueue(
        connection, call.db, call.persona, OPERATION, conversation=key, payload=payload, once=True
    )
    return [] if job_id is None else [job_id]


# What a worker does. It stores as it goes: the mark of the conversation, and items that join those that say the same,
# make a repeated operation harmless.


def handle_consolidation(operation: Operation, tools: Tools) -> Effect | None:
    """Consolidate a conversation, and return what records it; for a persona what queues one for each conversation."""
    call, payload = operation_call(operation, tools), {"reason": _read_reason(operation)}
    if call.scope.conversation is not None:
        outcome = consolidation.consolidate(call, tools.model, call.settings.consolidation_window, retries=True)
        return _record(operation, tools, call, "consolidation", outcome)
    _archive_expired(call)
    keys = table_windows.read_waiting(call.db, call.persona) if call.settings.enable_memories else []

    def enqueue_each(connection: Connection) -> None:
        for key in keys:
            _enqueue(connection, replace(call, scope=Scope(call.persona, key)), payload)

    return enqueue_each


def handle_deep_consolidation(operation: Operation, tools: Tools) -> Effect:
    """Prune where PRUNE_BY_ITSELF says so, store the facts of the newest messages, and return what records it."""
    call = operation_call(operation, tools)
    outcome = _prune(call) if call.settings.prune_by_itself else Outcome()
    outcome += consolidation.deepen(call, tools.model, retries=True)
    return _record(operation, tools, call, "deep", outcome)


def _read_reason(operation: Operation) -> str:
    return str(operation.payload.get("reason") or "queued")


def _record(operation: Operation, tools: Tools, call: Call, kind: str, outcome: Outcome) -> Effect:
    key, reason = call.scope.conversation, _read_reason(operation)
    tools.notes.extend([UNREADABLE_ANSWER] if "unreadable" in outcome.reasons else [])
    return lambda connection: table_runs.insert_run(connection, call.db, call.persona, kind, reason, key, outcome)
