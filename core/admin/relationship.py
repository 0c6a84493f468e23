"""The routes of relationships: one, the last ones, and what an operator changes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from .. import relationships
from ..relationships.rules import MOST_LISTED
from .answers import RelationshipAnswer, RelationshipChanged, RelationshipsAnswer
from .bodies import Admin, RelationshipBody, refusals

router: APIRouter = APIRouter(prefix="/relationship", tags=["Relationships"])

UserId = Annotated[str, Query(min_length=1, max_length=255, description="interface/id", examples=["telegram_bot/u1"])]


@router.get("", responses=refusals())
def get(admin: Admin, user_id: UserId) -> RelationshipAnswer:
    """Return how the persona stands to a person, faded up to now; zeros for an unknown one."""
    return RelationshipAnswer.model_validate(relationships.get(user_id, **admin.asking))


@router.get("/recent", name="recent", responses=refusals())
def list_recent(admin: Admin, limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 20) -> RelationshipsAnswer:
    """Return the persona's relationships, the newest interaction first."""
    recent = relationships.list_recent(limit, **admin.asking)
    return RelationshipsAnswer.model_validate({"relationships": recent})


@router.post("/update", responses=refusals())
def update(admin: Admin, body: RelationshipBody) -> RelationshipChanged:
    """Add to affinity and trust of a person, or name them; it counts as no interaction."""
    done = relationships.adjust(
        body.user_id,
        body.affinity_delta,
        body.trust_delta,
        body.username,
        touch=False,
        **admin.asking,
    )
    return RelationshipChanged.model_validate({**done.relationship, "stored": done.stored, "reason": done.reason})
