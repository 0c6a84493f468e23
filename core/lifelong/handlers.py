"""What a worker does for consolidation: the operations CONSOLIDATION and DEEP_CONSOLIDATION.

| operation | of | what it does |
|---|---|---|
| CONSOLIDATION | a conversation | consolidates its newest messages, or the range of rows its payload names |
| CONSOLIDATION | a persona | queues one for each conversation with new messages, archives expired session items |
| DEEP_CONSOLIDATION | either | prunes, and extracts the facts of the newest messages anew |

`jobs` finds these by name and imports them when the first such operation is run. Items, mark and the row of
consolidation_runs are stored in the transaction that marks the operation completed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..calls.call import Call
from ..database.engine import Connection
from ..jobs import table as jobs_table
from ..jobs.handlers import Effect, Tools, operation_call
from ..scope import Scope
from ..shapes import Operation
from . import consolidation, table_pruning, table_runs, table_windows
from .consolidation import OPERATION, Work
from .cycles import DISABLED
from .pruning import read_limits
from .table_runs import Outcome


def consolidate(operation: Operation, tools: Tools) -> Effect | None:
    """Return what stores the items of a conversation and moves its mark; for a persona what queues these."""
    call = operation_call(operation, tools)
    settings, key, most = call.settings, call.scope.conversation, call.settings.consolidation_window
    if not settings.enable_memories:
        return _store(operation, call, "consolidation", [], Outcome(reasons=(DISABLED,)))
    if key is None:
        table_pruning.archive_expired(call.db, call.persona, settings.session_ttl_sec)
        return _enqueue_each(operation, call)
    above, up_to = operation.payload.get("above"), operation.payload.get("up_to")
    is_range = isinstance(above, int) and isinstance(up_to, int)
    between: dict[str, Any] = {"above": above, "up_to": up_to} if is_range else {}
    window = table_windows.read(call.db, call.persona, key, most, **between)
    work = consolidation.prepare(call, window, tools.model, above=above if is_range else None)
    return _store(operation, call, "consolidation", [work])


def deepen(operation: Operation, tools: Tools) -> Effect | None:
    """Prune where PRUNE_BY_ITSELF says so, and return what stores the facts of the newest messages."""
    call = operation_call(operation, tools)
    settings, key, outcome = call.settings, call.scope.conversation, Outcome()
    if settings.prune_by_itself:
        pruned = table_pruning.prune(call.db, call.persona, read_limits(settings))  # done again, nothing is left
        outcome = Outcome(pruned=len(pruned))
    if not settings.enable_memories:
        return _store(operation, call, "deep", [], outcome + Outcome(reasons=(DISABLED,)))
    works = []
    for window in table_windows.read_newest(call.db, call.persona, key, consolidation.DEEP_WINDOW):
        own = replace(call, scope=Scope(call.persona, window.conversation))
        works.append(consolidation.prepare(own, window, tools.model, deep=True))
    return _store(operation, call, "deep", works, outcome)


def _read_reason(operation: Operation) -> str:
    return str(operation.payload.get("reason") or "queued")


def _enqueue_each(operation: Operation, call: Call) -> Effect | None:
    keys, payload = table_windows.read_waiting(call.db, call.persona), {"reason": _read_reason(operation)}

    def effect(connection: Connection) -> None:
        for key in keys:
            jobs_table.enqueue(
                connection, call.db, call.persona, OPERATION, conversation=key, payload=payload, once=True
            )

    return effect if keys else None


def _store(
    operation: Operation,
    call: Call,
    kind: str,
    works: Sequence[Work],
    before: Outcome = Outcome(),  # noqa: B008
) -> Effect:
    """Return what stores the items of windows, and records the run."""

    def effect(connection: Connection) -> None:
        outcome = before
        for work in works:
            is_new = work.is_usable and (work.window.last or work.is_deep)
            ids = consolidation.store(connection, call, work).ids if is_new else ()
            reasons = (work.reason,) if work.reason else ()
            outcome += Outcome(ids, messages=len(work.window.lines), reasons=reasons)
        key = call.scope.conversation
        table_runs.insert_run(connection, call.db, call.persona, kind, _read_reason(operation), key, outcome)

    return effect
