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

from dataclasses import replace
from typing import TYPE_CHECKING

from ..config import Settings
from ..database.engine import Database
from ..jobs import table as jobs
from ..jobs.tools import Effect, Tools, operation_scope
from ..scope import Scope
from ..shapes import Operation
from . import consolidation
from . import table_pruning as pruning
from . import table_runs as runs
from . import table_windows as windows
from .consolidation import OPERATION, Work
from .cycles import DISABLED, limits_of

if TYPE_CHECKING:
    from sqlalchemy import Connection


def consolidate(operation: Operation, tools: Tools) -> Effect | None:
    """Return what stores the items of a conversation and moves its mark; for a persona what queues these.

    Raises:
        ModelError: the model failed, and is asked again later.
        StoreError: nothing could be read; or, when its effect runs, something changed meanwhile.
    """
    db, settings, scope = tools.db, tools.settings, operation_scope(operation)
    reason = str(operation.payload.get("reason") or "queued")
    if not settings.enable_memories:
        return _recorded(db, scope, "consolidation", reason, [], DISABLED)
    if scope.conversation is None:
        pruning.archive_expired(db, scope.persona, settings.session_ttl_sec)
        return _one_each(db, scope, reason)
    above, up_to = operation.payload.get("above"), operation.payload.get("up_to")
    most = settings.consolidation_window
    if isinstance(above, int) and isinstance(up_to, int):
        window = windows.read_range(db, scope.persona, scope.conversation, above, up_to, most)
        work = consolidation.prepare(db, settings, scope, window, tools.model)
        work = replace(work, above=above)
    else:
        window = windows.read(db, scope.persona, scope.conversation, most)
        work = consolidation.prepare(db, settings, scope, window, tools.model)
    return _effect(db, settings, scope, "consolidation", reason, [work])


def deepen(operation: Operation, tools: Tools) -> Effect | None:
    """Prune, and return what stores the facts of the newest messages.

    Raises:
        ModelError, StoreError: as `consolidate`.
    """
    db, settings, scope = tools.db, tools.settings, operation_scope(operation)
    reason = str(operation.payload.get("reason") or "queued")
    gone = pruning.prune(db, scope.persona, limits_of(settings))  # done again, there is nothing left to prune
    if not settings.enable_memories:
        return _recorded(db, scope, "deep", reason, [], DISABLED, pruned=len(gone))
    made = []
    for window in windows.newest(db, scope.persona, scope.conversation, settings.deep_consolidation_window):
        own = Scope(scope.persona, window.conversation)
        made.append(consolidation.prepare(db, settings, own, window, tools.model, deep=True))
    return _effect(db, settings, scope, "deep", reason, made, pruned=len(gone))


def _one_each(db: Database, scope: Scope, reason: str) -> Effect | None:
    keys = windows.waiting(db, scope.persona)

    def effect(connection: Connection) -> None:
        for key in keys:
            jobs.enqueue(
                connection, db, scope.persona, OPERATION, conversation=key, payload={"reason": reason}, once=True
            )

    return effect if keys else None


def _effect(
    db: Database, settings: Settings, scope: Scope, kind: str, reason: str, made: list[Work], *, pruned: int = 0
) -> Effect:
    ready = [(work, consolidation.new_items(db, settings, work)) for work in made if work.is_usable]

    def effect(connection: Connection) -> None:
        added = 0
        for work, items in ready:
            if work.window.last or not work.mark:
                added += len(consolidation.store(connection, db, settings, work, items).ids)
        why = ", ".join(dict.fromkeys(work.reason for work in made if work.reason))
        _recorded(db, scope, kind, reason, made, why, added=added, pruned=pruned)(connection)

    return effect


def _recorded(
    db: Database,
    scope: Scope,
    kind: str,
    reason: str,
    made: list[Work],
    error: str,
    *,
    added: int = 0,
    pruned: int = 0,
) -> Effect:
    window = sum(len(work.window.lines) for work in made)
    return lambda connection: runs.note(
        connection,
        db,
        scope.persona,
        kind,
        reason,
        scope.conversation or "",
        window=window,
        added=added,
        pruned=pruned,
        error=error,
    )
