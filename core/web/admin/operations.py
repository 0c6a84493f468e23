"""The operator's other routes: relationships, the queue, quarantine, forgetting, why a prompt is so, metrics."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import PlainTextResponse

from ... import forgetting, jobs, privacy, relationships
from ...database.engine import Database
from ...jobs import table as jobs_table
from ...jobs.rules import STATES
from ...lifelong import table_runs
from ...memories import table_figures
from ...memories.rules import KINDS, TIERS
from ...prompt_engine import explain_json_prompt
from ...relationships.rules import MOST_LISTED as MOST_RELATIONSHIPS
from ...scope import Scope
from ...shapes import OperationState
from ...short_term import table as short_term_table
from ...text.strict_json import make_strict
from ..answers import (
    ExplainedAnswer,
    ForgottenAnswer,
    OperationChanged,
    OperationsAnswer,
    QuarantineAnswer,
    RelationshipAnswer,
    RelationshipChanged,
    RelationshipsAnswer,
    ReleasedAnswer,
)
from ..bodies import (
    NOT_FOUND,
    Admin,
    DryRun,
    ExplainBody,
    ForgetBody,
    Limit,
    OperationBody,
    RelationshipBody,
    ReleaseBody,
)
from ..context import AdminCall
from ..errors import Refused, refuse_bad_values

router: APIRouter = APIRouter(tags=["Operation"])

UserId = Annotated[str, Query(min_length=1, max_length=255, description="interface/id", examples=["telegram_bot/u1"])]


@router.get("/relationship")
def get_relationship(admin: Admin, user_id: UserId) -> RelationshipAnswer:
    """Return how the persona stands to a person, faded up to now; zeros for an unknown one."""
    return RelationshipAnswer.model_validate(relationships.get(user_id, **admin.asking))


@router.get("/relationship/recent", name="recent")
def list_relationships(
    admin: Admin, limit: Annotated[int, Query(ge=1, le=MOST_RELATIONSHIPS)] = 20
) -> RelationshipsAnswer:
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


# The queue

MOST_LISTED = 10_000


@router.get("/jobs", name="listed")
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


@router.post("/jobs/cancel", responses=NOT_FOUND)
def cancel(admin: Admin, body: OperationBody) -> OperationChanged:
    """Cancel an operation that has not ended; the result of a running one is dropped."""
    _check_operation(admin, body.id)
    done = bool(jobs.cancel([body.id], **admin.asking))
    return OperationChanged(id=body.id, changed=done, reason="" if done else "unchanged", notes=[])


@router.post("/jobs/retry", responses=NOT_FOUND)
def retry(admin: Admin, body: OperationBody) -> OperationChanged:
    """Put a failed operation back into the queue."""
    _check_operation(admin, body.id)
    done = jobs.retry_operation(body.id, **admin.asking)
    return OperationChanged(id=body.id, changed=done.stored, reason=done.reason, notes=list(done.notes))


def _check_operation(admin: AdminCall, operation: int) -> None:
    if not jobs_table.is_known(admin.call.db, admin.call.persona, operation):
        raise Refused(404, f"There is no operation {operation} here. GET /jobs lists those there are.")


# Quarantine and forgetting


@router.get("/quarantine", name="listed")
def list_quarantined(admin: Admin, limit: Annotated[int, Query(ge=1, le=10_000)] = 100) -> QuarantineAnswer:
    """Return what was flagged of the persona, newest first; read by nobody until it is released."""
    return QuarantineAnswer.model_validate({"items": privacy.list_quarantined(limit, **admin.asking)})


@router.post("/quarantine/release", responses=NOT_FOUND)
def release(admin: Admin, body: ReleaseBody) -> ReleasedAnswer:
    """Let a flagged row be found."""
    if not privacy.release(body.source, body.id, **admin.asking):
        raise Refused(404, f"There is no flagged row {body.id} in {body.source} here. GET /quarantine lists them.")
    return ReleasedAnswer(released=1)


@router.post("/forget")
def forget(admin: Admin, body: ForgetBody, dry_run: DryRun = False) -> ForgottenAnswer:
    """Delete everything of one participant, conversation or memory for good; nothing brings it back."""
    done = forgetting.forget(**body.model_dump(), dry_run=dry_run, **admin.asking)
    return ForgottenAnswer.model_validate(done.as_dict())


# Why

MESSAGE_ID = "why"


@router.post("/prompt/explain")
def explain(admin: Admin, body: ExplainBody) -> ExplainedAnswer:
    """Return the prompt a message would get and the report on it: what was found, kept, cut, left out and why."""
    prompt, report = explain_message(admin, body)
    return ExplainedAnswer(prompt=dict(make_strict(prompt)[0]), report=dict(make_strict(report)[0]))


def explain_message(
    admin: AdminCall, body: ExplainBody, build: Callable[..., tuple[Any, Any]] = explain_json_prompt
) -> tuple[Any, Any]:
    """Return the prompt a message would get, or with `explain_messages` its messages, and the report on it.

    Nothing is stored.
    """
    place, user_id = body.conversation, body.user_id
    who = (user_id or "").rpartition("/")[2]
    if user_id and place and "/" not in user_id:
        user_id = f"{place.partition('/')[0]}/{user_id}"
    message: dict[str, Any] = {
        "message_id": MESSAGE_ID,
        "date": admin.context.now(),
        "text": body.text,
        "from_user": {"id": who, "full_name": body.name or body.username or who, "username": body.username},
        "server_id": body.server,
        **({"interface_path": place} if place else {}),
    }
    with refuse_bad_values():
        return build(
            message,
            max_chars=body.max_chars,
            limit_tokens=body.limit_tokens,
            destination=body.destination,
            db=without_writing(admin.call.db),
            settings=admin.call.settings,
            scope=Scope(
                admin.call.persona, place or None, user_id or None, body.server, body.destination, body.privacy
            ),
        )


def without_writing(db: Database) -> Database:
    """Return a copy of the handle, on the same connections, that writes nothing and has caches of its own."""
    reading = copy.copy(db)
    reading.caches = {}
    reading.transaction = lambda *_, **__: None  # type: ignore[assignment, method-assign]
    return reading


# Numbers for Prometheus

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
    for name, (text, labels, number) in _describe_last_run(db, persona).items():
        add(f"last_run_{name}", text, ("kind",), {labels: number})
    counts = short_term_table.read_counts(db)
    used: dict[tuple[str, ...], float] = {(name,): counts[name] for name in short_term_table.COUNTED}
    add("short_term", "Reads and writes of short-term entries by this process, of all personas.", ("what",), used)
    repeats: dict[tuple[str, ...], float] = {(str(number or 0),): times for number, times in db.repeats.items()}
    text = "Reads and transactions of this process run again, by the number of the error; 0 is a lost connection."
    add("repeated", text, ("error",), repeats)
    add("up", "1 while the database answers.", (), {(): 1})
    return PlainTextResponse(generate_latest(registry), media_type="text/plain; version=0.0.4; charset=utf-8")


def _describe_last_run(db: Any, persona: str) -> dict[str, tuple[str, tuple[str, ...], Any]]:
    """Return what the last run that has ended came to; nothing where there was none."""
    run = next((row for row in table_runs.read_newest(db, persona, 20) if row.finished_at is not None), None)
    if run is None:
        return {}
    kind = (run.kind,)
    return {
        "finished_timestamp_seconds": ("When the last run ended.", kind, run.finished_at.timestamp()),
        "added": ("Items the last run added.", kind, run.items_added),
        "pruned": ("Items the last run archived.", kind, run.items_pruned),
        "failed": ("1 where the last run noted an error.", kind, int(bool(run.error))),
    }
