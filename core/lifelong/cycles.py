"""One cycle after another: consolidation, clean-up, deep consolidation, under the lease of a persona.

Called by `lifelong` and `lifelong.schedule`. A cycle whose model fails cleans up all the same; what went
wrong stands in its row of consolidation_runs.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..base import logs
from ..config import Settings
from ..database.engine import Database
from ..errors import StoreError
from ..jobs import table as jobs
from ..memories.rules_retention import PruneMode
from ..memories.shapes import Added, CycleResult
from ..scope import Scope
from . import consolidation
from . import rules_consolidation as rules
from . import table_claims as persona_claims
from . import table_pruning as pruning
from . import table_runs as runs
from . import table_windows as windows
from .consolidation import DEEP_OPERATION, OPERATION, Totals

if TYPE_CHECKING:
    from sqlalchemy import Connection

BUSY = "busy"
DISABLED = "disabled"


def once(db: Database, settings: Settings, scope: Scope, model: Any, limit: object) -> Added:
    """Consolidate one conversation; see `lifelong.consolidate_history`."""
    run_id = runs.begin(db, scope.persona, "consolidation", "consolidate_history", scope.conversation or "")
    totals = Totals()
    if not settings.enable_memories:
        totals.note(DISABLED)
    else:
        most = rules.window(limit, settings.consolidation_window)
        _guarded(totals, lambda: consolidation.consolidate(db, settings, scope, model, most, totals))
    _finish(db, scope.persona, run_id, totals, 0)
    return Added(len(totals.ids), ids=totals.ids, merged=totals.merged, reason=", ".join(totals.reasons))


def cycle(
    db: Database,
    settings: Settings,
    scope: Scope,
    model: Any,
    reason: str,
    *,
    shallow: bool = True,
    deep: bool = False,
) -> CycleResult:
    """Run one cycle of a persona: the scope's conversation, or all that have something new; then clean up.

    Args:
        shallow: consolidate what is new.
        deep: prune, and extract the facts of the newest messages anew.

    Returns:
        What it did; reason `busy`, and nothing done, while another process runs a cycle of the persona.
    """
    persona, token = scope.persona, secrets.token_hex(16)
    seconds = max(settings.job_lease_seconds, 3 * settings.llm_timeout_seconds)
    if not persona_claims.take(db, persona, token, seconds):
        return CycleResult(reason=BUSY)
    try:
        run_id = runs.begin(db, persona, "deep" if deep and not shallow else "cycle", reason, scope.conversation or "")
        totals, pruned = Totals(), 0

        def keep() -> None:
            persona_claims.take(db, persona, token, seconds)

        try:
            if shallow:
                _guarded(totals, lambda: _all(db, settings, scope, model, totals, keep))
        finally:
            pruned += _cleaned(db, settings, scope, totals)
            if deep:
                _guarded(totals, keep)
                pruned += _deep(db, settings, scope, model, totals)
            _guarded(totals, lambda: _finish(db, persona, run_id, totals, pruned))
        return CycleResult(
            len(totals.ids), pruned, totals.merged, totals.conversations, ", ".join(totals.reasons), deep, run_id
        )
    finally:
        with suppress(StoreError):  # it ends by itself
            persona_claims.release(db, persona, token)


def _guarded(totals: Totals, work: Any) -> None:
    """Run a step; what the database refuses is noted, and the steps after it run."""
    try:
        work()
    except StoreError as error:
        totals.note(type(error).__name__)
        logs.warning("consolidation_step_failed", source=error.source, number=error.number)


def _finish(db: Database, persona: str, run_id: int, totals: Totals, pruned: int) -> None:
    runs.finish(
        db,
        persona,
        run_id,
        window=totals.messages,
        added=len(totals.ids),
        pruned=pruned,
        error=", ".join(totals.reasons),
    )


def _all(db: Database, settings: Settings, scope: Scope, model: Any, totals: Totals, keep: Any) -> None:
    if not settings.enable_memories:
        totals.note(DISABLED)
        return
    keys = [scope.conversation] if scope.conversation is not None else windows.waiting(db, scope.persona)
    for key in keys:
        own = Scope(scope.persona, key, destination=scope.destination)
        most = settings.consolidation_window
        _guarded(totals, lambda own=own: consolidation.consolidate(db, settings, own, model, most, totals))  # noqa: B023
        keep()
    if not keys:
        totals.note("no_messages")


def _cleaned(db: Database, settings: Settings, scope: Scope, totals: Totals) -> int:
    """Archive the session items that have expired, those of the active conversation excepted."""
    gone: list[Any] = []
    _guarded(
        totals,
        lambda: gone.extend(
            pruning.archive_expired(db, scope.persona, settings.session_ttl_sec, active=scope.conversation)
        ),
    )
    return len(gone)


def limits_of(settings: Settings) -> pruning.Limits:
    """Return what long-term items are pruned by where the caller says nothing."""
    mode: PruneMode = settings.prune_mode
    return pruning.Limits(
        settings.prune_max_age_days, settings.prune_max_importance, mode, settings.prune_protect_importance
    )


def _deep(db: Database, settings: Settings, scope: Scope, model: Any, totals: Totals) -> int:
    """Prune, then extract anew, and return how many items were pruned."""
    gone: list[Any] = []
    _guarded(totals, lambda: gone.extend(pruning.prune(db, scope.persona, limits_of(settings))))
    if settings.enable_memories:
        most = settings.deep_consolidation_window
        _guarded(totals, lambda: consolidation.deepen(db, settings, scope, model, most, totals))
    else:
        totals.note(DISABLED)
    return len(gone)


def stream_end(
    db: Database, settings: Settings, scope: Scope, model: Any, *, wait: bool, conversation: str | None
) -> CycleResult:
    """Count the end of a stream and run what follows it; see `lifelong.on_stream_end`.

    Once the end is counted nothing raises: a host that repeated the call would count it twice. What cannot be run now
    is queued, and where not even that can be done the reason says so.
    """
    own = replace(scope, conversation=conversation)
    if not wait:
        return _queued(db, settings, own)
    number = db.transaction(
        lambda connection: persona_claims.count_stream(connection, db, own.persona), source="counters"
    )
    deep = rules.is_deep_end(number, settings.deep_consolidation_every_n_streams)
    try:
        done = cycle(db, settings, own, model, "on_stream_end", deep=deep)
        if done.reason != BUSY:
            return done
    except StoreError as error:
        logs.warning("cycle_not_begun", source=error.source, number=error.number)
        done = CycleResult(reason=type(error).__name__)
    try:
        ids = db.transaction(lambda connection: _enqueue(connection, db, own, deep), source="memory_jobs")
    except StoreError as error:
        logs.warning("cycle_not_queued", source=error.source, number=error.number)
        return replace(done, reason=type(error).__name__, deep=deep)
    return replace(done, queued=tuple(ids), deep=deep)


def _queued(db: Database, settings: Settings, scope: Scope) -> CycleResult:
    """Count the end of a stream and queue what follows it, in one transaction."""

    def work(connection: Connection) -> CycleResult:
        number = persona_claims.count_stream(connection, db, scope.persona)
        deep = rules.is_deep_end(number, settings.deep_consolidation_every_n_streams)
        return CycleResult(deep=deep, queued=tuple(_enqueue(connection, db, scope, deep)))

    return db.transaction(work, source="memory_jobs")


def _enqueue(connection: Connection, db: Database, scope: Scope, deep: bool) -> list[int]:
    made = []
    payload = {"reason": "on_stream_end"}
    first = jobs.enqueue(
        connection, db, scope.persona, OPERATION, conversation=scope.conversation, payload=payload, once=True
    )
    if first is not None:
        made.append(first)
    if deep:
        after = jobs.enqueue(connection, db, scope.persona, DEEP_OPERATION, payload=payload, depends_on=made)
        made += [after] if after is not None else []
    return made


def enqueue(db: Database, scope: Scope, reason: str) -> CycleResult:
    """Queue a cycle instead of running it."""
    ids = db.transaction(
        lambda connection: [
            each
            for each in [
                jobs.enqueue(
                    connection,
                    db,
                    scope.persona,
                    OPERATION,
                    conversation=scope.conversation,
                    payload={"reason": reason[:100]},
                    once=True,
                )
            ]
            if each is not None
        ],
        source="memory_jobs",
    )
    return CycleResult(queued=tuple(ids))
