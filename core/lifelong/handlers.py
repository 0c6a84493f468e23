"""What a worker does for consolidation: the operations CONSOLIDATION and DEEP_CONSOLIDATION.

| operation | of | what it does |
|---|---|---|
| CONSOLIDATION | a conversation | consolidates its next messages |
| CONSOLIDATION | a persona | queues one for each conversation with new messages, archives expired session items |
| DEEP_CONSOLIDATION | either | prunes, and extracts the facts of the newest messages anew |

`jobs` finds these by name and imports them when the first such operation is run. They store as they go: the mark of
the conversation, and items that join those that say the same, make a repeated operation harmless.
"""

from __future__ import annotations

from ..calls.call import Call
from ..database.engine import Connection
from ..jobs import table as jobs_table
from ..jobs.handlers import Effect, Tools, operation_call
from ..shapes import Operation
from . import consolidation, table_pruning, table_runs, table_windows
from .consolidation import OPERATION
from .pruning import read_limits
from .table_runs import Outcome


def consolidate(operation: Operation, tools: Tools) -> Effect | None:
    """Store the items of a conversation, and return what records it; for a persona what queues these."""
    call = operation_call(operation, tools)
    if call.scope.conversation is None:
        table_pruning.archive_expired(call.db, call.persona, call.settings.session_ttl_sec)
        return _enqueue_each(operation, call)
    outcome = consolidation.consolidate(call, tools.model, call.settings.consolidation_window, retries=True)
    return _record(operation, call, "consolidation", outcome)


def deepen(operation: Operation, tools: Tools) -> Effect | None:
    """Prune where PRUNE_BY_ITSELF says so, store the facts of the newest messages, and return what records it."""
    call, outcome = operation_call(operation, tools), Outcome()
    if call.settings.prune_by_itself:
        outcome += Outcome(pruned=len(table_pruning.prune(call.db, call.persona, read_limits(call.settings))))
    outcome += consolidation.deepen(call, tools.model, retries=True)
    return _record(operation, call, "deep", outcome)


def _read_reason(operation: Operation) -> str:
    return str(operation.payload.get("reason") or "queued")


def _enqueue_each(operation: Operation, call: Call) -> Effect | None:
    keys = table_windows.read_waiting(call.db, call.persona) if call.settings.enable_memories else []
    payload = {"reason": _read_reason(operation)}

    def effect(connection: Connection) -> None:
        for key in keys:
            jobs_table.enqueue(
                connection, call.db, call.persona, OPERATION, conversation=key, payload=payload, once=True
            )

    return effect if keys else None


def _record(operation: Operation, call: Call, kind: str, outcome: Outcome) -> Effect:
    key, reason = call.scope.conversation, _read_reason(operation)
    return lambda connection: table_runs.insert_run(connection, call.db, call.persona, kind, reason, key, outcome)
