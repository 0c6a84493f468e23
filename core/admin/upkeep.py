"""The routes of upkeep: what the screening hook has flagged, and forgetting for good."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from .. import forgetting, privacy
from .answers import ForgottenAnswer, QuarantineAnswer, ReleasedAnswer
from .bodies import Admin, DryRun, ForgetBody, ReleaseBody, refusals
from .errors import Refused

router: APIRouter = APIRouter(tags=["Upkeep"])


@router.get("/quarantine", name="listed", responses=refusals())
def list_quarantined(admin: Admin, limit: Annotated[int, Query(ge=1, le=10_000)] = 100) -> QuarantineAnswer:
    """Return what was flagged of the persona, newest first; read by nobody until it is released."""
    return QuarantineAnswer.model_validate({"items": privacy.list_quarantined(limit, **admin.asking)})


@router.post("/quarantine/release", responses=refusals(404))
def release(admin: Admin, body: ReleaseBody) -> ReleasedAnswer:
    """Let a flagged row be found."""
    if not privacy.release(body.source, body.id, **admin.asking):
        raise Refused(404, f"There is no flagged row {body.id} in {body.source} here. GET /quarantine lists them.")
    return ReleasedAnswer(released=1)


@router.post("/forget", responses=refusals())
def forget(admin: Admin, body: ForgetBody, dry_run: DryRun = False) -> ForgottenAnswer:
    """Delete everything of one participant, conversation or memory for good; nothing brings it back."""
    done = forgetting.forget(
        participant=body.participant,
        conversation=body.conversation,
        memory=body.memory,
        dry_run=dry_run,
        **admin.asking,
    )
    return ForgottenAnswer.model_validate(done.as_dict())
