"""The routes of memory items: search, one item, its history, edits of one and of many."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from .. import lifelong
from ..errors import ItemNotFoundError
from ..memories.rules import Tier
from . import archive_reasons as former
from .answers import (
    BulkAnswer,
    BulkDeletedAnswer,
    DeletedAnswer,
    ItemPageAnswer,
    OneItemAnswer,
    VersionsAnswer,
)
from .bodies import (
    LARGEST_ID,
    ConfUid,
    EditBody,
    IdsBody,
    Kinds,
    Limit,
    Memory,
    Offset,
    PinBody,
    RetagBody,
    says,
    split,
)

router = APIRouter(prefix="/memory", tags=["Memory items"])

EDITOR = "admin"
"""Who changed a text, in its history."""

OneId = Annotated[int, Path(ge=0, le=LARGEST_ID, description="Id of the item.")]


@router.get("/search", responses=says())
def search(
    context: Memory,
    conf_uid: ConfUid = "default",
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
        split(kinds),
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
        **context.asking(conf_uid),
    )
    return ItemPageAnswer.model_validate(page)


@router.post("/edit", responses=says(404))
def edit(context: Memory, body: EditBody, conf_uid: ConfUid = "default") -> OneItemAnswer:
    """Give an item another text and return it; the former text goes to its history."""
    given = context.asking(conf_uid)
    lifelong.edit_item(body.id, body.new_content, editor=EDITOR, operator=True, **given)
    return _item(given, body.id)


@router.delete("/delete/{id}", responses=says(404))
def delete(context: Memory, id: OneId, conf_uid: ConfUid = "default") -> DeletedAnswer:  # noqa: A002 - the documented name
    """Archive an item; `restore` brings it back."""
    done = lifelong.delete_items([id], operator=True, **context.asking(conf_uid))
    if done.unknown:
        raise ItemNotFoundError(id)
    return DeletedAnswer(deleted=done.count)


@router.post("/delete", responses=says())
def delete_many(context: Memory, body: IdsBody, conf_uid: ConfUid = "default") -> BulkDeletedAnswer:
    """Archive up to 1,000 items in one transaction."""
    done = lifelong.delete_items(body.ids, operator=True, **context.asking(conf_uid))
    return BulkDeletedAnswer(deleted=done.count, count=done.count, unknown=list(done.unknown))


@router.post("/restore", responses=says())
def restore(context: Memory, body: IdsBody, conf_uid: ConfUid = "default") -> BulkAnswer:
    """Bring up to 1,000 archived or replaced items back."""
    return _bulk(lifelong.restore_items(body.ids, operator=True, **context.asking(conf_uid)))


@router.post("/retag", responses=says())
def retag(context: Memory, body: RetagBody, conf_uid: ConfUid = "default") -> BulkAnswer:
    """Change the tags of up to 1,000 items in one transaction."""
    given = context.asking(conf_uid)
    return _bulk(lifelong.retag_items(body.ids, body.add, body.remove, body.tags, operator=True, **given))


@router.post("/pin", responses=says())
def pin(context: Memory, body: PinBody, conf_uid: ConfUid = "default") -> BulkAnswer:
    """Pin up to 1,000 items, so that nothing prunes them, or let them go."""
    return _bulk(lifelong.pin_items(body.ids, body.pinned, operator=True, **context.asking(conf_uid)))


@router.post("/purge", responses=says())
def purge(context: Memory, body: IdsBody, conf_uid: ConfUid = "default") -> BulkAnswer:
    """Remove up to 1,000 items for good, with their former texts; nothing brings them back."""
    return _bulk(lifelong.purge_items(body.ids, operator=True, **context.asking(conf_uid)))


@router.get("/{id}", responses=says(404))
def get(context: Memory, id: OneId, conf_uid: ConfUid = "default") -> OneItemAnswer:  # noqa: A002 - as above
    """Return one item, archived or not; of one in the archive also why it went, where that is known."""
    return _item(context.asking(conf_uid), id)


@router.get("/{id}/history", responses=says(404))
def history(context: Memory, id: OneId, conf_uid: ConfUid = "default") -> VersionsAnswer:  # noqa: A002 - as above
    """Return every text an item has had, the first one first, the present one last."""
    found = lifelong.get_item_history(id, operator=True, **context.asking(conf_uid))
    return VersionsAnswer.model_validate({"versions": found})


def _item(given: dict[str, Any], row_id: int) -> OneItemAnswer:
    asking = {"operator": True, **given}
    item = lifelong.get_item(row_id, **asking)
    went = former.of_one(given["db"], item["persona"], item, asking)
    return OneItemAnswer.model_validate({**item, "former": went and went._asdict()})


def _bulk(done: lifelong.BulkResult) -> BulkAnswer:
    return BulkAnswer(count=done.count, unknown=list(done.unknown))
