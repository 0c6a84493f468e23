"""The operator's other routes: relationships, forgetting, metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import PlainTextResponse

from ... import forgetting, jobs, relationships
from ...jobs.rules import STATES
from ...lifelong import table_runs
from ...memories import table_figures
from ...memories.rules import KINDS, TIERS
from ...relationships.rules import MOST_LISTED
from ..answers import ForgottenAnswer, RelationshipAnswer, RelationshipChanged, RelationshipsAnswer
from ..bodies import Admin, DryRun, ForgetBody, RelationshipBody
from ..errors import Refused

router: APIRouter = APIRouter(tags=["Operation"])

UserId = Annotated[str, Query(min_length=1, max_length=255, description="interface/id", examples=["telegram_bot/u1"])]


@router.get("/relationship")
def get_relationship(admin: Admin, user_id: UserId) -> RelationshipAnswer:
    """Return how the persona stands to a person, faded up to now; zeros for an unknown one."""
    return RelationshipAnswer.model_validate(relationships.get(user_id, **admin.asking))


@router.get("/relationship/recent", name="recent")
def list_relationships(admin: Admin, limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 20) -> RelationshipsAnswer:
    """Return the persona's relationships, the newest interaction first."""
    recent = relationships.list_recent(limit, **admin.asking)
    return RelationshipsAnswer.model_validate({"relationships": recent})


@router.post("/relationship/update")
def update_relationship(admin: Admin, body: RelationshipBody) -> RelationshipChanged:
    """Add to affinity and trust of a person, or name them; it counts as no interaction."""
    done = relationships.adjust(
        body.user_id, body.affinity_delta, body.trust_delta, body.username, touch=False, **admin.asking
    )
    return RelationshipChanged.model_validate({**done.relationship, "stored": done.stored, "reason": done.reason})


@router.post("/forget")
def forget(admin: Admin, body: ForgetBody, dry_run: DryRun = False) -> ForgottenAnswer:
    """Delete everything of one participant, conversation or memory for good; nothing brings it back."""
    done = forgetting.forget(**body.model_dump(), dry_run=dry_run, **admin.asking)
    return ForgottenAnswer.model_validate(done.as_dict())


_TEXT = {"text/plain": {"schema": {"type": "string"}}}


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses={200: {"description": "Prometheus text.", "content": _TEXT}},
)
def metrics(admin: Admin) -> PlainTextResponse:
    """Return the numbers of one persona in the text form that Prometheus reads."""
    try:
        from prometheus_client import CollectorRegistry, Gauge, generate_latest  # noqa: PLC0415 - an extra of its own
    except ModuleNotFoundError:
        raise Refused(503, "Metrics need the extra `metrics`: pip install 'prompt-engine[metrics]'.") from None
    registry = CollectorRegistry()

    def add(name: str, text: str, labels: tuple[str, ...], rows: Mapping[tuple[str, ...], float]) -> None:
        gauge = Gauge(f"prompt_engine_{name}", text, labels, registry=registry)
        for values, number in sorted(rows.items()):
            (gauge.labels(*values) if labels else gauge).set(number)

    db, persona = admin.call.db, admin.call.persona
    items: Counter[tuple[str, ...]] = Counter({(kind, tier): 0 for kind in KINDS for tier in TIERS})
    for each in table_figures.count_kinds(db, persona):
        items[each.kind if each.kind in KINDS else "other", each.tier if each.tier in TIERS else "other"] += each.items
    add("memory_items", "Memory items that hold.", ("kind", "tier"), items)
    archived = table_figures.count_archived(db, persona)
    add("memory_items_archived", "Memory items that are archived or replaced.", (), {(): archived})
    operations: Counter[tuple[str, ...]] = Counter({(state,): 0 for state in STATES})
    for states in jobs.count_operations(**admin.asking).values():
        operations.update({(state,): number for state, number in states.items()})
    add("operations", "Operations of the queue.", ("state",), operations)
    run = next((row for row in table_runs.read_newest(db, persona, 20) if row.finished_at is not None), None)
    if run is not None:
        ended, kind = run.finished_at.timestamp(), (run.kind,)
        add("last_run_finished_timestamp_seconds", "When the last run ended.", ("kind",), {kind: ended})
        add("last_run_failed", "1 where the last run noted an error.", ("kind",), {kind: int(bool(run.error))})
    add("up", "1 while the database answers.", (), {(): 1})
    return PlainTextResponse(generate_latest(registry), media_type="text/plain; version=0.0.4; charset=utf-8")
