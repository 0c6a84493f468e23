"""The routes of what becomes of items: pruning and consolidation."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from .. import lifelong
from ..config.flags_lifelong import PruneMode
from .answers import CycleAnswer, PrunedAnswer, PrunedItem, PrunedItemsAnswer
from .bodies import DryRun, HistoryUid, MemoryAdmin, Reason, refusals

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
