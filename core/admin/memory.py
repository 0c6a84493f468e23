"""The routes of memory items: search, one item, its history, edits of one and of many."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from .. import lifelong
from ..base.wire_ids import LARGEST_ID
from ..errors import ItemNotFoundError
from ..memories.rules import Tier
from . import archive_reasons
from .answers import (
    BulkAnswer,
    BulkDeletedAnswer,
    DeletedAnswer,
    ItemPageAnswer,
    OneItemAnswer,
    VersionsAnswer,
)
from .bodies import (
    EditBody,
    IdsBody,
    Kinds,
    Limit,
    MemoryAdmin,
    Offset,
    PinBody,
    RetagBody,
    refusals,
    split_commas,
)
from .context import AdminCall

router: APIRouter = APIRouter(prefix="/memory", tags=["Memory items"])

EDITOR = "admin"
"""Who changed a text, in its history."""

OneId = Annotated[int, Path(ge=0, le=LARGEST_ID, description="Id of the item.")]


@router.get("/search", responses=refusals())
def search(
    admin: MemoryAdmin,
    q: Annotated[str, Query(max_length=10_000, description="Words; each must stand in the text. Blank lists.")] = "",
    kinds: Kinds = None,
    tier: Annotated[Tier | None, Query(description="session or long_term.")] = None,
    conversation: Annotated[str | None, Query(max_length=512, description="Conversation key.")] = None,
    min_importance: Annotated[float | None, Query(ge=0, le=1)] = None,
    since: Annotated[str | None, Query(max_length=64, description="The earliest time, ISO 8601.")] = None,
    until: Annotated[str | None, Query(max_length=64, description="The latest time, ISO 8601.")] = None,
    tags: Annotated[list[str] | None, Query(description="All of these; the parameter repeated.")] = None,
    archived: Annotated[
        bool, Query(description="Those deleted, pruned or replaced, in place of those that hold.")
    ] = False,
    limit: Limit = 50,
    offset: Offset = 0,
) -> ItemPageAnswer:
    """Return a page of the items that hold all words and filters, newest first, of all audiences of the persona."""
    page = lifelong.search_items(
        q,
        split_commas(kinds),
        tier,
        conversation=conversation,
        min_importance=min_importance,
        since=since,
        until=until,
        tags=tags,
        limit=limit,
        offset=offset,
        archived=archived,
        operator=True,
        **admin.asking,
    )
    return ItemPageAnswer.model_validate(page)


@router.post("/edit", responses=refusals(404))
def edit(admin: MemoryAdmin, body: EditBody) -> OneItemAnswer:
    """Give an item another text and return it; the former text goes to its history."""
    lifelong.edit_item(body.id, body.new_content, editor=EDITOR, operator=True, **admin.asking)
    return _read_item(admin, body.id)


@router.delete("/delete/{id}", responses=refusals(404))
def delete(admin: MemoryAdmin, id: OneId) -> DeletedAnswer:  # noqa: A002 - the documented name
    """Archive an item; `restore` brings it back."""
    done = lifelong.delete_items([id], operator=True, **admin.asking)
    if done.unknown:
        raise ItemNotFoundError(id)
    return DeletedAnswer(deleted=done.count)


@router.post("/delete", responses=refusals())
def delete_many(admin: MemoryAdmin, body: IdsBody) -> BulkDeletedAnswer:
    """Archive up to 1,000 items in one transaction."""
    done = lifelong.delete_items(body.ids, operator=True, **admin.asking)
    return BulkDeletedAnswer(deleted=done.count, count=done.count, unknown=list(done.unknown))


@router.post("/restore", responses=refusals())
def restore(admin: MemoryAdmin, body: IdsBody) -> BulkAnswer:
    """Bring up to 1,000 archived or replaced items back."""
    return _build_bulk(lifelong.restore_items(body.ids, operator=True, **admin.asking))


@router.post("/retag", responses=refusals())
def retag(admin: MemoryAdmin, body: RetagBody) -> BulkAnswer:
    """Change the tags of up to 1,000 items in one transaction."""
    return _build_bulk(lifelong.retag_items(body.ids, body.add, body.remove, body.tags, operator=True, **admin.asking))


@router.post("/pin", responses=refusals())
def pin(admin: MemoryAdmin, body: PinBody) -> BulkAnswer:
    """Pin up to 1,000 items, so that nothing prunes them, or let them go."""
    return _build_bulk(lifelong.pin_items(body.ids, body.pinned, operator=True, **admin.asking))


@router.post("/purge", responses=refusals())
def purge(admin: MemoryAdmin, body: IdsBody) -> BulkAnswer:
    """Remove up to 1,000 items for good, with their former texts; nothing brings them back."""
    return _build_bulk(lifelong.purge_items(body.ids, operator=True, **admin.asking))


@router.get("/{id}", responses=refusals(404))
def get(admin: MemoryAdmin, id: OneId) -> OneItemAnswer:  # noqa: A002 - as above
    """Return one item, archived or not; of one in the archive also why it went, where that is known."""
    return _read_item(admin, id)


@router.get("/{id}/history", responses=refusals(404))
def history(admin: MemoryAdmin, id: OneId) -> VersionsAnswer:  # noqa: A002 - as above
    """Return every text an item has had, the first one first, the present one last."""
    versions = lifelong.get_item_history(id, operator=True, **admin.asking)
    return VersionsAnswer.model_validate({"versions": versions})


def _read_item(admin: AdminCall, row_id: int) -> OneItemAnswer:
    asking = {"operator": True, **admin.asking}
    item = lifelong.get_item(row_id, **asking)
    former = archive_reasons.find_reasons(admin.call.db, item["persona"], [item]).get(item["id"])
    return OneItemAnswer.model_validate({**item, "former": former and former._asdict()})


def _build_bulk(done: lifelong.BulkResult) -> BulkAnswer:
    return BulkAnswer(count=done.count, unknown=list(done.unknown))
