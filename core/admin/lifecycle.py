"""The routes of what becomes of items: pruning, consolidation, compaction, runs, health."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from .. import lifelong
from ..config.flags_lifelong import PruneMode
from ..lifelong import table_runs
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
from .bodies import DryRun, HistoryUid, Limit, MemoryAdmin, Reason, refusals

router: APIRouter = APIRouter(prefix="/memory", tags=["Consolidation and pruning"])

MOST_SHOWN = 1000
"""Items that a pruning names; further ones are counted."""


@router.post("/prune_session_ttl", responses=refusals())
def prune_session_ttl(
    admin: MemoryAdmin,
    ttl_sec: Annotated[int, Query(ge=0, le=315_360_000, description="0 is SESSION_TTL_SEC; 1 to 59 become 60.")] = 0,
    history_uid: Annotated[
        str | None, Query(max_length=512, description="The active conversation: its items stay.")
    ] = None,
) -> PrunedAnswer:
    """Archive the session items that have expired."""
    done = lifelong.prune_session_by_ttl(ttl_sec, history_uid, **admin.asking)
    return PrunedAnswer(pruned=int(done), notes=list(done.notes))


@router.post("/prune_ltm", responses=refusals())
def prune_ltm(
    admin: MemoryAdmin,
    max_age_days: Annotated[int | None, Query(ge=1, le=36_500, description="PRUNE_MAX_AGE_DAYS by default.")] = None,
    max_importance: Annotated[float | None, Query(ge=0, le=1, description="PRUNE_MAX_IMPORTANCE by default.")] = None,
    mode: Annotated[PruneMode | None, Query(description="any, or all; PRUNE_MODE by default.")] = None,
    dry_run: DryRun = False,
) -> PrunedItemsAnswer:
    """Archive the long-term items that are too old or too unimportant; pinned and saved ones stay."""
    done = lifelong.prune_ltm(None, max_age_days, max_importance, mode, dry_run=dry_run, **admin.asking)
    listed = [PrunedItem(id=item, reasons=list(reasons)) for item, reasons in done.items[:MOST_SHOWN]]
    return PrunedItemsAnswer(pruned=int(done), notes=list(done.notes), items=listed, dry_run=dry_run)


@router.post("/consolidate", responses=refusals())
def consolidate(
    admin: MemoryAdmin,
    reason: Reason = "admin",
    history_uid: HistoryUid = None,
    wait: Annotated[bool, Query(description="Run it now; else put it into the queue for a worker.")] = True,
) -> CycleAnswer:
    """Make memory items of what was said since the last time, then archive what has expired."""
    done = lifelong.trigger_memory_consolidation(
        reason, history_uid=history_uid, wait=wait, model=admin.context.model, **admin.asking
    )
    return CycleAnswer.model_validate(asdict(done))


@router.post("/deep_consolidation", responses=refusals())
def deep_consolidation(admin: MemoryAdmin, reason: Reason = "admin", history_uid: HistoryUid = None) -> CycleAnswer:
    """Prune long-term memory, then store the facts of the newest messages anew."""
    done = lifelong.deep_consolidation(None, history_uid, reason, model=admin.context.model, **admin.asking)
    return CycleAnswer.model_validate(asdict(done))


@router.post("/compact", responses=refusals())
def compact(
    admin: MemoryAdmin,
    min_age_days: Annotated[int, Query(ge=1, le=36_500)] = 30,
    batch: Annotated[int, Query(ge=2, le=200, description="Most items that become one.")] = 40,
    dry_run: DryRun = False,
) -> CompactedAnswer:
    """Let old items of one tag become one, by a model; call it again until reason is nothing_to_compact."""
    done = lifelong.compact(None, min_age_days, batch, dry_run=dry_run, model=admin.context.model, **admin.asking)
    return CompactedAnswer.model_validate(asdict(done))


@router.get("/runs", responses=refusals())
def runs(admin: MemoryAdmin, limit: Limit = 50) -> RunsAnswer:
    """Return the last runs of consolidation, deep consolidation and compaction, the newest first."""
    rows = table_runs.read_newest(admin.call.db, admin.call.persona, limit)
    return RunsAnswer(runs=[_build_run(row) for row in rows])


@router.get("/health", responses=refusals())
def health(
    admin: MemoryAdmin,
    index: Annotated[Literal["look", "skip"], Query(description="look: compare the search index too, which reads all "
                                                    "texts: about a minute for a million messages.")] = "skip",
) -> HealthAnswer:  # fmt: skip
    """Return how the memory of the persona is doing, in numbers; nothing is changed."""
    figures = lifelong.health(check_index=index == "look", **admin.asking)
    return HealthAnswer.model_validate({**figures, **({} if index == "look" else {"index_differences": None})})


def _build_run(row: Any) -> RunAnswer:
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
