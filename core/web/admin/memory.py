"""The operator's routes of memory items: whole files, pruning and consolidation, search, edits of one and of many."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from fastapi import APIRouter, File, Path, Query, UploadFile
from starlette.responses import StreamingResponse

from ... import lifelong
from ...base.wire_ids import LARGEST_ID
from ...config.flags import PruneMode
from ...errors import ItemNotFoundError
from ...lifelong import BulkResult, CycleResult
from ...memories.rules import DEFAULT_KIND
from ...scope import Scope
from ...transfer.items import DEFAULT_LIMIT, export_items, import_items
from ...transfer.items.formats import MAX_BYTES, MAX_ITEMS, Syntax, too_large
from ..access import AdminCall
from ..answers import (
    DeletedAnswer,
    ImportAnswer,
    ItemAnswer,
    ItemPageAnswer,
    PrunedAnswer,
    PrunedItem,
    PrunedItemsAnswer,
    VersionsAnswer,
)
from ..bodies import (
    NOT_FOUND,
    DryRun,
    EditBody,
    HistoryUid,
    IdsBody,
    ItemSearch,
    Kinds,
    MemoryAdmin,
    PinBody,
    Reason,
    RetagBody,
)
from ..errors import Refused, refuse_bad_values

router: APIRouter = APIRouter(tags=["Memory"])

CHUNK_CHARS = 65_536
"""What is sent at once: a piece of text an item would cost a change of threads each."""

_ITEMS = {
    "type": "object", "required": ["items"], "properties": {"items": {"type": "array", "items": {"type": "object"}}}
}  # fmt: skip
_EXPORTED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": 'The file: {"items": [...]}, or with jsonl one item a line.',
        "content": {
            "application/json": {"schema": _ITEMS},
            "application/x-ndjson": {"schema": {"type": "string"}},
        },
    }
}


@router.get("/memory/export", response_class=StreamingResponse, responses=_EXPORTED)
def export(
    admin: MemoryAdmin,
    kind: Kinds = None,
    fmt: Annotated[Syntax, Query(description="json, or jsonl for one item a line.")] = "json",
    limit: Annotated[int, Query(ge=1, le=MAX_ITEMS, description="Most items.")] = DEFAULT_LIMIT,
    after: Annotated[
        str | None,
        Query(max_length=80, description="Go on behind an item: its timestamp, a slash, its id.", examples=["/7"]),
    ] = None,
) -> StreamingResponse:
    """Return the persona's memory items as a file, oldest first, sent while it is read."""
    with refuse_bad_values():
        exported = export_items(kind=kind, fmt=fmt, limit=limit, after=after, **admin.asking)
    parts = chunks(exported)
    first = next(parts, "")  # what fails at once is an error, no file that breaks off
    attached = {"Content-Disposition": f'attachment; filename="memories.{fmt}"'}
    return StreamingResponse(itertools.chain([first], parts), media_type=exported.media_type, headers=attached)


def chunks(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the same text in parts of about CHUNK_CHARS."""
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
    admin: MemoryAdmin,
    file: Annotated[UploadFile, File(description="JSON or JSON lines; at most 20 MB.")],
    history_uid: Annotated[str | None, Query(max_length=512, description="Conversation every item is of.")] = None,
    default_kind: Annotated[str, Query(max_length=64, description="Kind of items that name none.")] = DEFAULT_KIND,
    fmt: Annotated[Syntax | None, Query(description="Without it, found out.")] = None,
    dry_run: DryRun = False,
) -> ImportAnswer:
    """Store the items of a file, each once; the same file again stores nothing. Bad rows are listed, others taken."""
    asking = admin.asking
    if history_uid:
        asking["scope"] = Scope(admin.call.persona, history_uid)
    if (file.size or 0) > MAX_BYTES:
        raise Refused(413, str(too_large(MAX_BYTES)))
    done = import_items(file.file, default_kind=default_kind, fmt=fmt, dry_run=dry_run, **asking)
    return ImportAnswer.model_validate(done.as_dict())


# Pruning and consolidation

MOST_SHOWN = 1000
"""Items that a pruning names; further ones are counted."""


@router.post("/memory/prune_session_ttl")
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


@router.post("/memory/prune_ltm")
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


@router.post("/memory/consolidate")
def consolidate(
    admin: MemoryAdmin,
    reason: Reason = "admin",
    history_uid: HistoryUid = None,
    wait: Annotated[bool, Query(description="Run it now; else put it into the queue for a worker.")] = True,
) -> CycleResult:
    """Make memory items of what was said since the last time, then archive what has expired."""
    return lifelong.trigger_memory_consolidation(
        reason, history_uid=history_uid, wait=wait, model=admin.context.model, **admin.asking
    )


@router.post("/memory/deep_consolidation")
def deep_consolidation(admin: MemoryAdmin, reason: Reason = "admin", history_uid: HistoryUid = None) -> CycleResult:
    """Prune long-term memory, then store the facts of the newest messages anew."""
    return lifelong.deep_consolidation(None, history_uid, reason, model=admin.context.model, **admin.asking)


# Items

EDITOR = "admin"
"""Who changed a text, in its history."""

OneId = Annotated[int, Path(ge=0, le=LARGEST_ID, description="Id of the item.")]


@router.get("/memory/search")
def search(admin: MemoryAdmin, asked: Annotated[ItemSearch, Query()]) -> ItemPageAnswer:
    """Return a page of the items that hold all words and filters, newest first, of all audiences of the persona."""
    return ItemPageAnswer.model_validate(lifelong.search_items(**asked.model_dump(), operator=True, **admin.asking))


@router.post("/memory/edit", responses=NOT_FOUND)
def edit(admin: MemoryAdmin, body: EditBody) -> ItemAnswer:
    """Give an item another text and return it; the former text goes to its history."""
    lifelong.edit_item(body.id, body.new_content, editor=EDITOR, operator=True, **admin.asking)
    return _read_item(admin, body.id)


@router.delete("/memory/delete/{id}", responses=NOT_FOUND)
def delete(admin: MemoryAdmin, id: OneId) -> DeletedAnswer:  # noqa: A002 - the documented name
    """Archive an item; `restore` brings it back."""
    done = lifelong.delete_items([id], operator=True, **admin.asking)
    if done.unknown:
        raise ItemNotFoundError(id)
    return DeletedAnswer(deleted=done.count)


@router.post("/memory/delete")
def delete_many(admin: MemoryAdmin, body: IdsBody) -> BulkResult:
    """Archive up to 1,000 items in one transaction."""
    return lifelong.delete_items(body.ids, operator=True, **admin.asking)


@router.post("/memory/restore")
def restore(admin: MemoryAdmin, body: IdsBody) -> BulkResult:
    """Bring up to 1,000 archived or replaced items back."""
    return lifelong.restore_items(body.ids, operator=True, **admin.asking)


@router.post("/memory/retag")
def retag(admin: MemoryAdmin, body: RetagBody) -> BulkResult:
    """Change the tags of up to 1,000 items in one transaction."""
    return lifelong.retag_items(body.ids, body.add, body.remove, body.tags, operator=True, **admin.asking)


@router.post("/memory/pin")
def pin(admin: MemoryAdmin, body: PinBody) -> BulkResult:
    """Pin up to 1,000 items, so that nothing prunes them, or let them go."""
    return lifelong.pin_items(body.ids, body.pinned, operator=True, **admin.asking)


@router.post("/memory/purge")
def purge(admin: MemoryAdmin, body: IdsBody) -> BulkResult:
    """Remove up to 1,000 items for good, with their former texts; nothing brings them back."""
    return lifelong.purge_items(body.ids, operator=True, **admin.asking)


@router.get("/memory/{id}", responses=NOT_FOUND)
def get(admin: MemoryAdmin, id: OneId) -> ItemAnswer:  # noqa: A002 - as above
    """Return one item, archived or not."""
    return _read_item(admin, id)


@router.get("/memory/{id}/history", responses=NOT_FOUND)
def history(admin: MemoryAdmin, id: OneId) -> VersionsAnswer:  # noqa: A002 - as above
    """Return every text an item has had, the first one first, the present one last."""
    versions = lifelong.get_item_history(id, operator=True, **admin.asking)
    return VersionsAnswer.model_validate({"versions": versions})


def _read_item(admin: AdminCall, row_id: int) -> ItemAnswer:
    return ItemAnswer.model_validate(lifelong.get_item(row_id, operator=True, **admin.asking))
