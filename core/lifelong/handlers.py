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

from ..calls.call import Call
from ..database.engine import Connection
from ..jobs import table as jobs_table
from ..jobs.tools import Effect, Tools, operation_call
from ..scope import Scope
from ..shapes import Operation
from . import consolidation, table_pruning, table_runs, table_windows
from .consolidation import OPERATION, Work
from .cycles import DISABLED
from .pruning import read_limits
from .table_runs import Counts


def consolidate(operation: Operation, tools: Tools) -> Effect | None:
    """Return what stores the items of a conversation and moves its mark; for a persona what queues these."""
    call, reason = operation_call(operation, tools), _reason(operation)
    settings, key = call.settings, call.scope.conversation
    if not settings.enable_memories:
        return _note(call, "consolidation", reason, Counts(error=DISABLED))
    if key is None:
        table_pruning.archive_expired(call.db, call.persona, settings.session_ttl_sec)
        return _enqueue_each(call, reason)
    above, up_to = operation.payload.get("above"), operation.payload.get("up_to")
    most = settings.consolidation_window
    if isinstance(above, int) and isinstance(up_to, int):
        window = table_windows.read_range(call.db, call.persona, key, above, up_to, most)
        work = replace(consolidation.prepare(call, window, tools.model), above=above)
    else:
        window = table_windows.read(call.db, call.persona, key, most)
        work = consolidation.prepare(call, window, tools.model)
    return _store(call, "consolidation", reason, [work])


def deepen(operation: Operation, tools: Tools) -> Effect | None:
    """Prune where PRUNE_BY_ITSELF says so, and return what stores the facts of the newest messages."""
    call, reason = operation_call(operation, tools), _reason(operation)
    settings, key = call.settings, call.scope.conversation
    pruned = 0
    if settings.prune_by_itself:
        pruned = len(table_pruning.prune(call.db, call.persona, read_limits(settings)))  # done again, nothing is left
    if not settings.enable_memories:
        return _note(call, "deep", reason, Counts(pruned=pruned, error=DISABLED))
    works = []
    for window in table_windows.read_newest(call.db, call.persona, key, consolidation.DEEP_WINDOW):
        own = replace(call, scope=Scope(call.persona, window.conversation))
        works.append(consolidation.prepare(own, window, tools.model, deep=True))
    return _store(call, "deep", reason, works, pruned)


def _reason(operation: Operation) -> str:
    return str(operation.payload.get("reason") or "queued")


def _enqueue_each(call: Call, reason: str) -> Effect | None:
    keys = table_windows.read_waiting(call.db, call.persona)

    def effect(connection: Connection) -> None:
        for key in keys:
            jobs_table.enqueue(
                connection, call.db, call.persona, OPERATION, conversation=key, payload={"reason": reason}, once=True
            )

    return effect if keys else None


def _store(call: Call, kind: str, reason: str, works: Sequence[Work], pruned: int = 0) -> Effect:
    ready = [(work, consolidation.new_items(call, work)) for work in works if work.is_usable]
    messages = sum(len(work.window.lines) for work in works)
    why = ", ".join(dict.fromkeys(work.reason for work in works if work.reason))

    def effect(connection: Connection) -> None:
        added = 0
        for work, items in ready:
            if work.window.last or not work.mark:
                added += len(consolidation.store(connection, call, work, items).ids)
        _note(call, kind, reason, Counts(messages, added, pruned, why))(connection)

    return effect


def _note(call: Call, kind: str, reason: str, counts: Counts) -> Effect:
    key = call.scope.conversation or ""
    return lambda connection: table_runs.insert_finished(connection, call.db, call.persona, kind, reason, key, counts)
