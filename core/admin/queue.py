"""The routes of the queue: what is to be done in the background, cancelling and trying again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from .. import jobs
from ..jobs import table_listing as jobs_listing
from ..jobs.rules import STATES
from ..shapes import OperationState, WriteResult
from .answers import ClearedAnswer, OperationChanged, OperationCounts, OperationsAnswer
from .bodies import ConfUid, Here, Limit, OperationBody, says
from .context import AdminContext
from .errors import Refused, refusing

router = APIRouter(prefix="/jobs", tags=["Jobs"])

MOST_LISTED = 10_000


@router.get("", responses=says())
def listed(
    context: Here,
    conf_uid: ConfUid = "default",
    states: Annotated[list[OperationState] | None, Query(description="Only these; the parameter repeated.")] = None,
    types: Annotated[list[str] | None, Query(description="Only these types; the parameter repeated.")] = None,
    conversation: Annotated[str | None, Query(max_length=512)] = None,
    limit: Limit = 50,
    offset: Annotated[int, Query(ge=0, le=MOST_LISTED - 500, description="How many are passed over.")] = 0,
) -> OperationsAnswer:
    """Return the operations of the persona: running ones, those to come in the order of their turns, ended ones."""
    given = context.asking(conf_uid)
    wanted = list(states or STATES)
    with refusing():
        found = jobs.list_operations(wanted, types or (), limit + offset, conversation=conversation, **given)
    total = None
    if conversation is None:
        counts = jobs.count_operations(**given)
        total = sum(
            number
            for kind, each in counts.items()
            for state, number in each.items()
            if state in wanted and (not types or kind in types)
        )
    return OperationsAnswer.model_validate({"operations": found[offset:], "total": total})


@router.get("/counts", responses=says())
def counts(context: Here, conf_uid: ConfUid = "default") -> OperationCounts:
    """Return how many operations of each type are in which state."""
    return OperationCounts(counts=jobs.count_operations(**context.asking(conf_uid)))


@router.post("/cancel", responses=says(404))
def cancel(context: Here, body: OperationBody, conf_uid: ConfUid = "default") -> OperationChanged:
    """Cancel an operation that has not ended; the result of a running one is dropped."""
    _must_be_there(context, conf_uid, body.id)
    return _changed(jobs.cancel(body.id, **context.asking(conf_uid)), body.id)


@router.post("/retry", responses=says(404))
def retry(context: Here, body: OperationBody, conf_uid: ConfUid = "default") -> OperationChanged:
    """Put a failed operation back into the queue."""
    _must_be_there(context, conf_uid, body.id)
    return _changed(jobs.retry_operation(body.id, **context.asking(conf_uid)), body.id)


@router.post("/clear", responses=says())
def clear(context: Here, conf_uid: ConfUid = "default") -> ClearedAnswer:
    """Cancel every operation of the persona that has not ended."""
    return ClearedAnswer(cancelled=jobs.clear_queue(**context.asking(conf_uid)))


def _must_be_there(context: AdminContext, conf_uid: str, operation: int) -> None:
    if not jobs_listing.is_there(context.database(), context.scope(conf_uid).persona, operation):
        raise Refused(404, f"There is no operation {operation} here. GET /jobs lists those there are.")


def _changed(done: WriteResult, operation: int) -> OperationChanged:
    return OperationChanged(id=operation, changed=done.stored, reason=done.reason, notes=list(done.notes))
