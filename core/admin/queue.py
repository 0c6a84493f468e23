"""The routes of the queue: what is to be done in the background, cancelling and trying again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from .. import jobs
from ..jobs import table_listing
from ..jobs.rules import STATES
from ..shapes import OperationState, WriteResult
from .answers import OperationChanged, OperationsAnswer
from .bodies import Admin, Limit, OperationBody, refusals
from .context import AdminCall
from .errors import Refused, refuse_bad_values

router: APIRouter = APIRouter(prefix="/jobs", tags=["Jobs"])

MOST_LISTED = 10_000


@router.get("", name="listed", responses=refusals())
def list_operations(
    admin: Admin,
    states: Annotated[list[OperationState] | None, Query(description="Only these; the parameter repeated.")] = None,
    types: Annotated[list[str] | None, Query(description="Only these types; the parameter repeated.")] = None,
    conversation: Annotated[str | None, Query(max_length=512)] = None,
    limit: Limit = 50,
    offset: Annotated[int, Query(ge=0, le=MOST_LISTED - 500, description="How many are passed over.")] = 0,
) -> OperationsAnswer:
    """Return the operations of the persona: running ones, those to come in the order of their turns, ended ones."""
    wanted = list(states or STATES)
    with refuse_bad_values():
        operations = jobs.list_operations(
            wanted, types or (), limit + offset, conversation=conversation, **admin.asking
        )
    total = None
    if conversation is None:
        total = sum(
            number
            for kind, each in jobs.count_operations(**admin.asking).items()
            for state, number in each.items()
            if state in wanted and (not types or kind in types)
        )
    return OperationsAnswer.model_validate({"operations": operations[offset:], "total": total})


@router.post("/cancel", responses=refusals(404))
def cancel(admin: Admin, body: OperationBody) -> OperationChanged:
    """Cancel an operation that has not ended; the result of a running one is dropped."""
    _check_operation(admin, body.id)
    return _build_changed(jobs.cancel(body.id, **admin.asking), body.id)


@router.post("/retry", responses=refusals(404))
def retry(admin: Admin, body: OperationBody) -> OperationChanged:
    """Put a failed operation back into the queue."""
    _check_operation(admin, body.id)
    return _build_changed(jobs.retry_operation(body.id, **admin.asking), body.id)


def _check_operation(admin: AdminCall, operation: int) -> None:
    if not table_listing.is_known(admin.call.db, admin.call.persona, operation):
        raise Refused(404, f"There is no operation {operation} here. GET /jobs lists those there are.")


def _build_changed(done: WriteResult, operation: int) -> OperationChanged:
    return OperationChanged(id=operation, changed=done.stored, reason=done.reason, notes=list(done.notes))
