"""The routes of what becomes of items: pruning, consolidation, compaction, runs, health."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from .. import lifelong
from ..config.flags_lifelong import PruneMode
from ..lifelong import table_runs as store
from ..text.times import iso_text
from .answers import (
    CompactedAnswer,
    CycleAnswer,
    HealthAnswer,
    PrunedAnswer,
    PrunedItem,
    PrunedItemsAnswer,
    RunAnswer,
    RunsAnswer,
)
from .bodies import ConfUid, DryRun, HistoryUid, Limit, Memory, Reason, says

router = APIRouter(prefix="/memory", tags=["Consolidation and pruning"])

MOST_SHOWN = 1000
"""Items that a pruning names; further ones are counted."""


@router.post("/prune_session_ttl", responses=says())
def prune_session_ttl(
    context: Memory,
    conf_uid: ConfUid = "default",
    ttl_sec: Annotated[int, Query(ge=0, le=315_360_000, description="0 is SESSION_TTL_SEC; 1 to 59 become 60.")] = 0,
    history_uid: Annotated[
        str | None, Query(max_length=512, description="The active conversation: its items stay.")
    ] = None,
) -> PrunedAnswer:
    """Archive the session items that have expired."""
    done = lifelong.prune_session_by_ttl(ttl_sec, history_uid, **context.asking(conf_uid))
    return PrunedAnswer(pruned=int(done), notes=list(done.notes))


@router.post("/prune_ltm", responses=says())
def prune_ltm(
    context: Memory,
    conf_uid: ConfUid = "default",
    max_age_days: Annotated[int | None, Query(ge=1, le=36_500, description="PRUNE_MAX_AGE_DAYS by default.")] = None,
    max_importance: Annotated[float | None, Query(ge=0, le=1, description="PRUNE_MAX_IMPORTANCE by default.")] = None,
    mode: Annotated[PruneMode | None, Query(description="any, or all; PRUNE_MODE by default.")] = None,
    dry_run: DryRun = False,
) -> PrunedItemsAnswer:
    """Archive the long-term items that are too old or too unimportant; pinned and saved ones stay."""
    given = context.asking(conf_uid)
    done = lifelong.prune_ltm(None, max_age_days, max_importance, mode, dry_run=dry_run, **given)
    listed = [PrunedItem(id=item, reasons=list(reasons)) for item, reasons in done.items[:MOST_SHOWN]]
    return PrunedItemsAnswer(pruned=int(done), notes=list(done.notes), items=listed, dry_run=dry_run)


@router.post("/consolidate", responses=says())
def consolidate(
    context: Memory,
    conf_uid: ConfUid = "default",
    reason: Reason = "admin",
    history_uid: HistoryUid = None,
    wait: Annotated[bool, Query(description="Run it now; else put it into the queue for a worker.")] = True,
) -> CycleAnswer:
    """Make memory items of what was said since the last time, then archive what has expired."""
    given = context.asking(conf_uid)
    return _cycle(
        lifelong.trigger_memory_consolidation(reason, history_uid=history_uid, wait=wait, model=context.model, **given)
    )


@router.post("/deep_consolidation", responses=says())
def deep_consolidation(
    context: Memory, conf_uid: ConfUid = "default", reason: Reason = "admin", history_uid: HistoryUid = None
) -> CycleAnswer:
    """Prune long-term memory, then store the facts of the newest messages anew."""
    given = context.asking(conf_uid)
    return _cycle(lifelong.deep_consolidation(None, history_uid, reason, model=context.model, **given))


@router.post("/compact", responses=says())
def compact(
    context: Memory,
    conf_uid: ConfUid = "default",
    min_age_days: Annotated[int, Query(ge=1, le=36_500)] = 30,
    batch: Annotated[int, Query(ge=2, le=200, description="Most items that become one.")] = 40,
    dry_run: DryRun = False,
) -> CompactedAnswer:
    """Let old items of one tag become one, by a model; call it again until reason is nothing_to_compact."""
    given = context.asking(conf_uid)
    done = lifelong.compact(None, min_age_days, batch, dry_run=dry_run, model=context.model, **given)
    return CompactedAnswer(
        archived=done.archived,
        id=done.id,
        tag=done.tag,
        sources=list(done.sources),
        reason=done.reason,
        run_id=done.run_id,
    )


@router.get("/runs", responses=says())
def runs(context: Memory, conf_uid: ConfUid = "default", limit: Limit = 50) -> RunsAnswer:
    """Return the last runs of consolidation, deep consolidation and compaction, the newest first."""
    persona = context.scope(conf_uid).persona
    return RunsAnswer(runs=[_run(row) for row in store.read_newest(context.database(), persona, limit)])


@router.get("/health", responses=says())
def health(
    context: Memory,
    conf_uid: ConfUid = "default",
    index: Annotated[Literal["look", "skip"], Query(description="look: compare the search index too, which reads all "
                                                    "texts: about a minute for a million messages.")] = "skip",
) -> HealthAnswer:  # fmt: skip
    """Return how the memory of the persona is doing, in numbers; nothing is changed."""
    found = lifelong.health(check_index=index == "look", **context.asking(conf_uid))
    return HealthAnswer.model_validate({**found, **({} if index == "look" else {"index_differences": None})})


def _cycle(done: lifelong.CycleResult) -> CycleAnswer:
    return CycleAnswer(
        stored=done.stored,
        pruned=done.pruned,
        merged=done.merged,
        conversations=done.conversations,
        reason=done.reason,
        deep=done.deep,
        run_id=done.run_id,
        queued=list(done.queued),
    )


def _run(row: Any) -> RunAnswer:
    return RunAnswer(
        id=row.id,
        kind=row.kind,
        reason=row.reason or "",
        conversation=row.conversation_key or "",
        window=row.window_size,
        added=row.items_added,
        pruned=row.items_pruned,
        error=row.error or "",
        started_at=iso_text(row.started_at),
        finished_at=iso_text(row.finished_at),
    )
