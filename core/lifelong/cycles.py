"""Cycles of consolidation, clean-up and deep consolidation: operations of the queue, run by a worker or in the call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Unpack

from .. import llm
from ..base import logs
from ..calls.call import Call, CallOptions
from ..config import Settings
from ..database.engine import Connection, Database
from ..database.ids import first_of
from ..database.stored_values import read_list
from ..errors import MessageError, ModelError, StoreError
from ..jobs import table as jobs_table
from ..jobs import table_claiming
from ..jobs.handlers import Effect, Tools, operation_call
from ..jobs.rules import UNREADABLE_ANSWER
from ..jobs.worker import LEASE_SECONDS, run_operation
from ..memories.shapes import Added, CycleResult
from ..messages.table import CONSOLIDATION
from ..scope import Scope
from ..shapes import Operation
from ..text.folding import clean
from . import consolidation, table_pruning, table_runs, table_windows
from . import rules_consolidation as rules
from .consolidation import DEEP_OPERATION, DISABLED
from .items import open_persona_call
from .pruning import read_limits
from .table_runs import Outcome

BUSY = "busy"


def consolidate_history(
    history_uid: str | None = None,
    limit_messages: int | None = None,
    *,
    model: Any = None,
    **options: Unpack[CallOptions],
) -> Added:
    """Make memory items from the oldest unconsolidated messages of one conversation.

    Without a model, sentences that ask to be remembered, or state a fact, a liking or a feeling, become items as they
    were said. Messages of people at privacy level partial or full are left out. If more messages wait than one call
    reads, the rest is queued.

    Args:
        history_uid: key of the conversation; by default the scope's conversation.
        limit_messages: maximum number of messages to read, 20 to 500; CONSOLIDATION_WINDOW by default.
        model: the model to ask; by default the model of `configure`, else the server of LLM_BASE_URL.

    Returns:
        The number of items stored, with `ids`, `merged`, and the `reason` if nothing was stored. A later call reads the
        messages again, unless `reason` is no_messages, privacy, or `unreadable` for a window of maximum size.

    Raises:
        MessageError: no conversation is named.
        StoreError: the run could not be recorded.

    >>> from prompt_engine import lifelong, open_database
    >>> db = open_database("sqlite://")
    >>> done = lifelong.consolidate_history("telegram/42", db=db)
    >>> done, done.reason
    (0, 'no_messages')
    """
    call = open_persona_call(history_uid=history_uid, **options)
    if call.scope.conversation is None:
        what = "history_uid is missing. Name the conversation, or pass a scope that has one."
        raise MessageError(what, fields=("history_uid",))
    most = rules.window(limit_messages, call.settings.consolidation_window)
    call = replace(call, settings=replace(call.settings, consolidation_window=most))
    outcome = _run_here(call, model, CONSOLIDATION, {"reason": "consolidate_history"})
    return Added(len(outcome.ids), ids=outcome.ids, merged=outcome.merged, reason=outcome.reason)


def trigger_memory_consolidation(
    reason: str = "by hand",
    history_uid: str | None = None,
    *,
    wait: bool = True,
    model: Any = None,
    **options: Unpack[CallOptions],
) -> CycleResult:
    """Archive expired session items, then consolidate one conversation, or all that have new messages.

    Args:
        reason: a note for the table consolidation_runs.
        history_uid: consolidate only this conversation, and archive none of its session items; None for all.
        wait: True runs the cycle before the call returns; False queues it for a worker.
        model: as for `consolidate_history`.

    Returns:
        What the cycle did; reason `busy` if another call or worker is consolidating the same messages.

    Raises:
        StoreError: the cycle could not begin.

    >>> from prompt_engine import lifelong, open_database
    >>> db = open_database("sqlite://")
    >>> lifelong.trigger_memory_consolidation("shutting down", db=db).reason
    'no_messages'
    >>> len(lifelong.trigger_memory_consolidation(wait=False, db=db).queued)
    1
    """
    call = open_persona_call(history_uid=history_uid, **options)
    if history_uid is None:
        call = replace(call, scope=replace(call.scope, conversation=None))
    if wait:
        return _run(call, model, str(reason))
    ids = call.db.transaction(lambda c: enqueue(c, call.db, call.scope, str(reason)), source="memory_jobs")
    return CycleResult(queued=tuple(ids))


def run_cycle(reason: str = "interval", *, model: Any = None, **options: Unpack[CallOptions]) -> CycleResult:
    """Run one cycle for a persona: clean up, then consolidate all conversations with new messages.

    This is `trigger_memory_consolidation` for the whole persona, with the same arguments, result and errors.

    >>> from prompt_engine import lifelong, open_database
    >>> lifelong.run_cycle(db=open_database("sqlite://")).reason
    'no_messages'
    """
    return trigger_memory_consolidation(reason, model=model, **options)


def deep_consolidation(
    history_uid: str | None = None, reason: str = "by hand", *, model: Any = None, **options: Unpack[CallOptions]
) -> CycleResult:
    """Prune long-term memory, then extract the facts of the newest messages again, tagged `deep`.

    A second run stores no duplicates. Arguments, result and errors are those of `trigger_memory_consolidation`.

    >>> from prompt_engine import lifelong, open_database
    >>> db = open_database("sqlite://")
    >>> added = lifelong.add_facts_with_meta([{"text": "Ann wore a hat", "importance": 0.1}], db=db)
    >>> done = lifelong.deep_consolidation(db=db, settings={"PRUNE_MODE": "any"})
    >>> done.deep, done.pruned
    (True, 1)
    """
    call = open_persona_call(history_uid=history_uid, **options)
    if history_uid is None:
        call = replace(call, scope=replace(call.scope, conversation=None))
    payload = {"reason": clean(str(reason))[:100], "prune": True}
    return _build_result(_run_here(call, model, DEEP_OPERATION, payload), deep=True)


def on_stream_end(
    history_uid: str | None = None, *, wait: bool = True, model: Any = None, **options: Unpack[CallOptions]
) -> CycleResult:
    """Report that a live stream ended: clean up, consolidate, and after every Nth stream consolidate deeply.

    N is DEEP_CONSOLIDATION_EVERY_N_STREAMS. The number of streams is stored, so a restart does not reset it.

    Args:
        history_uid: the conversation that ended; by default the scope's, else all conversations of the persona.
        wait: run the cycle in the call. False queues it for a worker; a cycle that cannot begin now is queued too.
        model: as for `consolidate_history`.

    Returns:
        What the cycle did. `deep`: whether this was an Nth stream. `queued`: operations queued instead. `reason`: why
        not all was stored; the stream is counted all the same, so do not report it again.

    Raises:
        StoreError: the stream was not counted.

    >>> from prompt_engine import lifelong, open_database
    >>> db = open_database("sqlite://")
    >>> [lifelong.on_stream_end("telegram/42", wait=False, db=db).deep for _ in range(5)]
    [False, False, False, False, True]
    """
    call = open_persona_call(history_uid=history_uid, **options)
    # 1. count the end, and queue what follows it
    due = call.db.transaction(lambda connection: _count_end(connection, call), source="memory_jobs")
    if not wait:
        return due
    # 2. run it. Nothing raises from here on: a host that repeated the call would count twice
    try:
        done = _run(call, model, "on_stream_end", deep=due.deep)
    except StoreError as error:
        logs.warning("cycle_not_begun", source=error.source, number=error.number)
        return replace(due, reason=type(error).__name__)
    return replace(due, reason=done.reason) if BUSY in done.reason.split(", ") else done


def _run(call: Call, model: Any, reason: str, *, deep: bool = False) -> CycleResult:
    """Consolidate the scope's conversation, or all conversations with new messages; `deep`: also deep consolidation."""
    payload = {"reason": clean(reason)[:100]}
    outcome = _run_here(call, model, CONSOLIDATION, payload)
    if outcome.reasons == (BUSY,):
        return CycleResult(reason=BUSY)
    if call.scope.conversation is None:
        for key in table_windows.read_waiting(call.db, call.persona):
            own = replace(call, scope=Scope(call.persona, key, destination=call.scope.destination))
            outcome += _run_here(own, model, CONSOLIDATION, payload)
    if deep:
        outcome += _run_here(call, model, DEEP_OPERATION, payload)
    return _build_result(outcome, deep)


def _build_result(outcome: Outcome, deep: bool) -> CycleResult:
    counts = len(outcome.ids), outcome.pruned, outcome.merged, outcome.conversations
    return CycleResult(*counts, outcome.reason, deep)


def _run_here(call: Call, model: Any, kind: str, payload: dict[str, Any]) -> Outcome:
    """Queue an operation, run it at once in this call and return its outcome; if it fails, a worker retries it."""
    db, settings = call.db, replace(call.settings, prompt_destination=call.destination)
    chosen_model = llm.resolve(model, settings, db)
    types = (CONSOLIDATION, DEEP_OPERATION)
    claimed = table_claiming.begin(db, call.persona, kind, types, call.scope.conversation, payload, LEASE_SECONDS)
    if claimed is None:
        return Outcome(reasons=(BUSY,))
    steps: list[Outcome] = []
    done = run_operation(db, claimed, settings=settings, model=chosen_model, results=steps)
    outcome = sum(steps, Outcome())
    if done.state != "completed" and not outcome.reason.startswith("model_"):
        outcome += Outcome(reasons=(done.error.partition(":")[0] or done.state,))
    return outcome


def _count_end(connection: Connection, call: Call) -> CycleResult:
    """Count an ended live stream, and queue a consolidation; after every Nth stream also a deep consolidation."""
    number = table_runs.count_stream(connection, call.db, call.persona)
    deep = number % (call.settings.deep_consolidation_every_n_streams or 5) == 0
    ids = enqueue(connection, call.db, call.scope, "on_stream_end")
    if deep:
        payload, key = {"reason": "on_stream_end"}, call.scope.conversation
        after = jobs_table.enqueue(
            connection, call.db, call.persona, DEEP_OPERATION, conversation=key, payload=payload, depends_on=ids
        )
        ids += [after] if after is not None else []
    return CycleResult(deep=deep, queued=tuple(ids))


def enqueue(connection: Connection, db: Database, scope: Scope, reason: str) -> list[int]:
    """Queue a consolidation unless one is waiting already; return its id in a list, or []."""
    key, payload = scope.conversation, {"reason": clean(reason)[:100]}
    job = jobs_table.enqueue(connection, db, scope.persona, CONSOLIDATION, conversation=key, payload=payload, once=True)
    return [] if job is None else [job]


# These operations store while they run. Repeating one is harmless: the mark of the conversation moves with the items,
# and equal items are merged.


def handle_consolidation(operation: Operation, tools: Tools) -> Effect:
    """Archive expired items; consolidate the conversation, and `rows` again, or queue all that have new messages."""
    call = operation_call(operation, tools)
    cleaned = _archive_expired(call)
    if call.scope.conversation is not None:
        rows = [row for row in read_list(operation.payload.get("rows")) if isinstance(row, int)]
        return _finish(operation, tools, "consolidation", cleaned, partial(consolidation.consolidate, rows=rows))
    keys = table_windows.read_waiting(call.db, call.persona) if call.settings.enable_memories else []
    reasons = () if keys else ("no_messages",) if call.settings.enable_memories else (DISABLED,)
    record = _finish(operation, tools, "cycle", cleaned, lambda *_: Outcome(reasons=reasons))

    def store(connection: Connection) -> None:
        if reasons or cleaned.pruned:
            record(connection)
        for key in keys:
            enqueue(connection, call.db, Scope(call.persona, key), _read_reason(operation))

    return store


def handle_deep_consolidation(operation: Operation, tools: Tools) -> Effect:
    """Archive expired items, prune if settings or payload ask for it, and extract the newest messages' facts again."""
    call = operation_call(operation, tools)
    pruned = _archive_expired(call)
    if call.settings.prune_by_itself or operation.payload.get("prune") is True:
        pruned += Outcome(pruned=len(table_pruning.prune(call.db, call.persona, read_limits(call.settings))))
    return _finish(operation, tools, "deep", pruned, consolidation.deepen)


def _archive_expired(call: Call) -> Outcome:
    active = call.scope.conversation
    items = table_pruning.archive_expired(call.db, call.persona, call.settings.session_ttl_sec, active=active)
    return Outcome(pruned=len(items))


def _finish(
    operation: Operation, tools: Tools, kind: str, before: Outcome, consolidate: Callable[[Call, Any], Outcome]
) -> Effect:
    """Run `consolidate`, append `before` plus its outcome to `tools.results`; return a function to record the run."""

    call = operation_call(operation, tools)

    def record(connection: Connection) -> None:
        table_runs.insert_run(connection, call, kind, _read_reason(operation), outcome, tools.now)

    try:
        outcome = before + consolidate(call, tools.model)
    except ModelError as error:
        outcome = before + Outcome(conversations=1, reasons=(f"model_{error.reason}",))
        tools.results.append(outcome)
        tools.db.idempotent_transaction(record, source="consolidation_runs")
        raise
    tools.results.append(outcome)
    tools.notes.extend([UNREADABLE_ANSWER] if "unreadable" in outcome.reasons else [])
    return record


def _read_reason(operation: Operation) -> str:
    return str(operation.payload.get("reason") or "queued")


def queue_due(db: Database, persona: str, settings: Settings) -> None:
    """Queue consolidation for a persona after each interval, and for conversations with enough new messages."""
    scopes = [(Scope(persona, key), "messages") for key in _full(db, persona, settings.consolidate_every_n_messages)]
    if table_runs.begin_interval(db, persona, settings.memory_consolidation_interval_sec):
        scopes.insert(0, (Scope(persona), "interval"))
    for scope, reason in scopes:
        db.transaction(lambda c, own=scope, why=reason: enqueue(c, db, own, why), source="memory_jobs")  # type: ignore[misc]


def _full(db: Database, persona: str, most: int) -> list[str]:
    """Return the conversations that got `most` unconsolidated messages since this process last returned them."""
    if not most:
        return []
    newest_seen: dict[str, int] = db.caches.setdefault(__name__, {})
    newest_tried: dict[tuple[str, str], int] = db.caches.setdefault(f"{__name__}.tried", {})
    seen = newest_seen.get(persona, first_of(db.clock() - timedelta(days=1)))  # at the first check: of one day
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
