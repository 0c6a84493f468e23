"""The operator's routes: items, imports and exports, pruning, consolidation, relationships, forgetting, metrics."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Path, Query, UploadFile
from starlette.responses import PlainTextResponse, StreamingResponse

from ... import forgetting, jobs, lifelong, memories, relationships
from ...access import overview
from ...base.wire_ids import LARGEST_ID
from ...errors import ItemNotFoundError
from ...jobs.rules import STATES
from ...lifelong import BulkResult, CycleResult
from ...memories.rules import DEFAULT_KIND, KINDS, TIERS
from ...relationships.rules import MOST_LISTED
from ...scope import Scope
from ...transfer.items import DEFAULT_LIMIT, ItemImport, export_items, import_items
from ...transfer.items.formats import MAX_BYTES, MAX_ITEMS, Syntax, too_large
from .. import answers, bodies
from ..access import AdminCall, WebContext
from ..errors import Refused, refuse_bad_values
from ..guard import require_operator

router: APIRouter = APIRouter(tags=["Operator"])

CHUNK_CHARS = 65_536
"""Number of characters after which a chunk is sent; a chunk for each item would cost a thread switch per item."""

_EXPORTED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": 'The file: {"items": [...]} as JSON or YAML, or with jsonl one item a line.',
        "content": {kind: {} for kind in ("application/json", "application/x-ndjson", "application/yaml")},
    }
}


@router.get("/memory/export", response_class=StreamingResponse, responses=_EXPORTED)
def export(
    admin: bodies.MemoryAdmin,
    kind: bodies.Kinds = None,
    fmt: Annotated[Syntax, Query(description="json, yaml, or jsonl (one item per line).")] = "json",
    limit: Annotated[int, Query(ge=1, le=MAX_ITEMS, description="Maximum number of items.")] = DEFAULT_LIMIT,
    after: Annotated[
        str | None,
        Query(max_length=80, description="Start after this item: its timestamp, a slash, its id.", examples=["/7"]),
    ] = None,
) -> StreamingResponse:
    """Send the persona's memory items as a file, oldest first, while they are read from the database."""
    with refuse_bad_values():
        exported = export_items(kind=kind, fmt=fmt, limit=limit, after=after, **admin.asking)
    parts = chunks(exported)
    first = next(parts, "")  # reading the first piece now turns an early failure into an error instead of a broken file
    attached = {"Content-Disposition": f'attachment; filename="memories.{fmt}"'}
    return StreamingResponse(itertools.chain([first], parts), media_type=exported.media_type, headers=attached)


def chunks(pieces: Iterable[str]) -> Iterator[str]:
    part = ""
    for piece in pieces:
        part += piece
        if len(part) >= CHUNK_CHARS:
            yield part
            part = ""
    if part:
        yield part


@router.post("/memory/import", name="import")
def import_file(
    admin: bodies.MemoryAdmin,
    file: Annotated[UploadFile, File(description="JSON, JSON lines or YAML; at most 20 MB.")],
    history_uid: Annotated[str | None, Query(max_length=512, description="Conversation key for all items.")] = None,
    default_kind: Annotated[str, Query(max_length=64, description="Kind for items that name none.")] = DEFAULT_KIND,
    fmt: Annotated[Syntax | None, Query(description="Format. Default: found from the content.")] = None,
    dry_run: bodies.DryRun = False,
) -> ItemImport:
    """Store the items of a file; a second import of it stores nothing. Invalid rows are listed, valid rows stored."""
    asking = admin.asking
    if history_uid:
        asking["scope"] = Scope(admin.scope.persona, history_uid)
    if (file.size or 0) > MAX_BYTES:
        raise Refused(413, str(too_large(MAX_BYTES)))
    return import_items(file.file, default_kind=default_kind, fmt=fmt, dry_run=dry_run, **asking)


MOST_SHOWN = 1000
"""Maximum number of pruned items listed in the response; further items are only counted."""


@router.post("/memory/prune_session_ttl")
def prune_session_ttl(
    admin: bodies.MemoryAdmin,
    ttl_sec: Annotated[int, Query(ge=0, le=315_360_000, description="0 means SESSION_TTL_SEC; 1 to 59 become 60.")] = 0,
    history_uid: Annotated[
        str | None, Query(max_length=512, description="Key of the active conversation, whose items are not archived.")
    ] = None,
) -> answers.PrunedAnswer:
    """Archive expired session items."""
    done = lifelong.prune_session_by_ttl(ttl_sec, history_uid, **admin.asking)
    items = [answers.PrunedItem(id=item, reasons=list(reasons)) for item, reasons in done.items[:MOST_SHOWN]]
    return answers.PrunedAnswer(pruned=int(done), notes=list(done.notes), items=items)


@router.post("/memory/consolidate")
def consolidate(
    admin: bodies.MemoryAdmin,
    reason: bodies.Reason = "admin",
    history_uid: bodies.HistoryUid = None,
    wait: Annotated[bool, Query(description="true: run now. false: queue for a worker.")] = True,
) -> CycleResult:
    """Archive expired items, then make memory items of new messages."""
    return lifelong.trigger_memory_consolidation(
        reason, history_uid=history_uid, wait=wait, model=admin.context.model, **admin.asking
    )


@router.post("/memory/deep_consolidation")
def deep_consolidation(
    admin: bodies.MemoryAdmin, reason: bodies.Reason = "admin", history_uid: bodies.HistoryUid = None
) -> CycleResult:
    """Prune long-term memory, then extract facts from the newest messages."""
    return lifelong.deep_consolidation(history_uid, reason, model=admin.context.model, **admin.asking)


OneId = Annotated[int, Path(ge=0, le=LARGEST_ID, description="Id of the item.")]


@router.get("/memory/search")
def search(admin: bodies.MemoryAdmin, asked: Annotated[bodies.ItemSearch, Query()]) -> lifelong.ItemPage:
    """Return a page of items that match all words and filters, newest first, from all audiences of the persona."""
    return lifelong.search_items(**asked.model_dump(), operator=True, **admin.asking)


@router.post("/memory/edit", responses=bodies.NOT_FOUND)
def edit(admin: bodies.MemoryAdmin, body: bodies.EditBody) -> lifelong.Item:
    """Change the text of an item and return the item; the former text goes to its history."""
    lifelong.edit_item(body.id, body.new_content, editor="admin", operator=True, **admin.asking)
    return get(admin, body.id)


@router.delete("/memory/delete/{id}", responses=bodies.NOT_FOUND)
def delete(admin: bodies.MemoryAdmin, id: OneId) -> answers.DeletedAnswer:  # noqa: A002 - the documented name
    """Archive an item; `restore` brings it back."""
    done = lifelong.delete_items([id], operator=True, **admin.asking)
    if done.unknown:
        raise ItemNotFoundError(id)
    return answers.DeletedAnswer(deleted=done.count)


@router.post("/memory/delete")
def delete_many(admin: bodies.MemoryAdmin, body: bodies.IdsBody) -> BulkResult:
    """Archive up to 1,000 items in one transaction."""
    return lifelong.delete_items(body.ids, operator=True, **admin.asking)


@router.post("/memory/restore")
def restore(admin: bodies.MemoryAdmin, body: bodies.IdsBody) -> BulkResult:
    """Restore up to 1,000 archived or replaced items."""
    return lifelong.restore_items(body.ids, operator=True, **admin.asking)


@router.post("/memory/retag")
def retag(admin: bodies.MemoryAdmin, body: bodies.RetagBody) -> BulkResult:
    """Change the tags of up to 1,000 items in one transaction."""
    return lifelong.retag_items(body.ids, body.add, body.remove, operator=True, **admin.asking)


@router.post("/memory/pin")
def pin(admin: bodies.MemoryAdmin, body: bodies.PinBody) -> BulkResult:
    """Pin up to 1,000 items, so that they are never pruned, or unpin them."""
    return lifelong.pin_items(body.ids, body.pinned, operator=True, **admin.asking)


@router.post("/memory/purge")
def purge(admin: bodies.MemoryAdmin, body: bodies.IdsBody) -> BulkResult:
    """Delete up to 1,000 items for good, with their former texts."""
    return lifelong.purge_items(body.ids, operator=True, **admin.asking)


@router.get("/memory/{id}", responses=bodies.NOT_FOUND)
def get(admin: bodies.MemoryAdmin, id: OneId) -> lifelong.Item:  # noqa: A002 - as above
    """Return one item, archived or not."""
    return lifelong.get_item(id, operator=True, **admin.asking)


@router.get("/memory/{id}/history", responses=bodies.NOT_FOUND)
def history(admin: bodies.MemoryAdmin, id: OneId) -> answers.VersionsAnswer:  # noqa: A002 - as above
    """Return every former text of an item, oldest first, and then its current text."""
    return answers.VersionsAnswer(versions=lifelong.get_item_history(id, operator=True, **admin.asking))


UserId = Annotated[str, Query(min_length=1, max_length=255, description="Person's key.", examples=["telegram_bot/u1"])]


@router.get("/relationship")
def get_relationship(admin: bodies.Admin, user_id: UserId) -> relationships.Relationship:
    """Return the relationship to a person, with values decayed until now; zeros for an unknown person."""
    return relationships.get(user_id, **admin.asking)


@router.get("/relationship/recent", name="recent")
def list_relationships(
    admin: bodies.Admin, limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 20
) -> answers.RelationshipsAnswer:
    """Return the persona's relationships, newest interaction first."""
    return answers.RelationshipsAnswer(relationships=relationships.list_recent(limit, **admin.asking))


@router.post("/relationship/update")
def update_relationship(admin: bodies.Admin, body: bodies.RelationshipBody) -> answers.RelationshipChanged:
    """Change affinity, trust or name of a person; the change does not count as an interaction."""
    done = relationships.adjust(
        body.user_id, body.affinity_delta, body.trust_delta, body.username, touch=False, **admin.asking
    )
    return {**done.relationship, "stored": done.stored, "reason": done.reason}


@router.post("/forget")
def forget(admin: bodies.Admin, body: bodies.ForgetBody, dry_run: bodies.DryRun = False) -> answers.ForgottenAnswer:
    """Delete everything of one participant, conversation, server or memory for good."""
    target, asking, persona = body.model_dump(exclude_none=True), admin.asking, admin.scope.persona
    if body.conversation is not None:
        server = overview.choose_server(admin.db, persona, body.conversation, target.pop("server", ""))
        asking["scope"] = Scope(persona, server=server)
    identities = [each.key for each in overview.read_identities(admin.db, persona, body.participant or "")]
    done = forgetting.forget(**target, dry_run=dry_run, **asking)
    ((kind, key),) = target.items()
    person: dict[str, Any] = {"identities": identities, "is_known": bool(done.total), "option": "conf_uid="}
    notes = overview.list_notes(admin.db, persona, kind, str(key), **person)
    return answers.ForgottenAnswer(persona=persona, notes=notes, **done.as_dict())


_TEXT = {"text/plain": {"schema": {"type": "string"}}}


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses={
        200: {"description": "Prometheus text.", "content": _TEXT},
        404: {**bodies.REFUSALS[401], "description": "The persona may be mistyped."},
    },
)
def metrics(
    context: Annotated[WebContext, Depends(require_operator)], conf_uid: bodies.ConfUid | None = None
) -> PlainTextResponse:
    """Return the metrics of one persona, by default PERSONA_ID, in Prometheus text format."""
    admin = AdminCall(context, conf_uid or context.values().persona_id)
    if conf_uid and (names := overview.name_other_personas(admin.db, conf_uid)):
        raise Refused(404, f"Nothing is stored of the persona {conf_uid!r}, but of {names}. Correct conf_uid.")
    try:
        from prometheus_client import CollectorRegistry, Gauge, generate_latest  # noqa: PLC0415 - an extra of its own
    except ModuleNotFoundError:
        raise Refused(503, "Metrics need the extra `metrics`: pip install 'prompt-engine[metrics]'.") from None
    registry = CollectorRegistry()

    def add(name: str, text: str, labels: tuple[str, ...], rows: Mapping[tuple[str, ...], float]) -> None:
        gauge = Gauge(f"prompt_engine_{name}", text, labels, registry=registry)
        for values, number in sorted(rows.items()):
            (gauge.labels(*values) if labels else gauge).set(number)

    db, persona = admin.db, admin.scope.persona
    items: Counter[tuple[str, ...]] = Counter({(kind, tier): 0 for kind in KINDS for tier in TIERS})
    for each in memories.count_kinds(db, persona):
        items[each.kind if each.kind in KINDS else "other", each.tier if each.tier in TIERS else "other"] += each.items
    add("memory_items", "Memory items that hold.", ("kind", "tier"), items)
    archived = memories.count_archived(db, persona)
    add("memory_items_archived", "Memory items that are archived or replaced.", (), {(): archived})
    operations: Counter[tuple[str, ...]] = Counter({(state,): 0 for state in STATES})
    for states in jobs.count_operations(**admin.asking).values():
        operations.update({(state,): number for state, number in states.items()})
    add("operations", "Operations of the queue.", ("state",), operations)
    run = next((row for row in lifelong.read_runs(db, persona, 20) if row.finished_at is not None), None)
    if run is not None:
        ended, kind = run.finished_at.timestamp(), (run.kind,)
        add("last_run_finished_timestamp_seconds", "When the last run ended.", ("kind",), {kind: ended})
        add("last_run_failed", "1 where the last run noted an error.", ("kind",), {kind: int(bool(run.error))})
    add("up", "1 while the database answers; without it the answer is 503.", (), {(): 1})
    return PlainTextResponse(generate_latest(registry), media_type="text/plain; version=0.0.4; charset=utf-8")
