"""Public functions that change items: edit, archive, restore, remove, pin, retag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

from ..calls.call import Call, CallOptions, open_call
from ..conversations import memory_files
from ..database.rows import text as read_text
from ..errors import ItemNotFoundError, MessageError
from ..memories.rules import read_id, read_ids
from ..memories.shapes import BulkResult
from ..shapes import WriteResult
from ..tags.rules import stored_form
from . import table_item_changes as item_changes
from .items import find_seen


def edit_item(
    id: int,  # noqa: A002 - the name of the specification
    new_content: str,
    *,
    editor: str = "manual",
    operator: bool = False,
    **options: Unpack[CallOptions],
) -> WriteResult:
    """Replace an item's text; its history keeps the old text. A new word like `tomorrow` or `done` makes its time now.

    Args:
        id: the item's id.
        new_content: the text, not blank, at most 16 MB.
        editor: the name that the history stores for this change.
        operator: allow all items of the persona, also in audiences that the scope does not see.

    Returns:
        `(True, id, "")`; reason `privacy` if the person's level forbids it, `unchanged` if the item has this text,
        `too_long` for a saved memory of more than 4,000 characters (operators may store longer ones).

    Raises:
        ItemNotFoundError: the scope sees no such item, or it is archived.
        MessageError: new_content is blank, not a text, or over 16 MB.
        StoreWriteError: nothing was changed.

    >>> from prompt_engine import lifelong, open_database
    >>> db = open_database("sqlite://")
    >>> added = lifelong.add_facts_with_meta(["Ann likes tea"], db=db)
    >>> lifelong.edit_item(added.ids[0], "Ann likes green tea", db=db).stored
    True
    >>> lifelong.get_item(added.ids[0], db=db)["text"]
    'Ann likes green tea'
    """
    call = open_call(**options)
    row_id = read_id(id)
    text = read_text(new_content, "new_content")
    if not text.strip():
        raise MessageError("new_content is blank. Give a text, or delete the item.", fields=("new_content",))
    done = item_changes.edit(call, find_seen(call, operator), row_id, text, editor=str(editor), operator=operator)
    if done is None:
        raise ItemNotFoundError(row_id)
    memory_files.write_files(call)
    return done


def delete_items(ids: Sequence[int], *, operator: bool = False, **options: Unpack[CallOptions]) -> BulkResult:
    """Archive up to 1,000 items in one transaction; `restore_items` brings them back.

    Args:
        ids: ids of items; each counts once.
        operator: as for `edit_item`.

    Returns:
        How many items this call archived, and the ids that belong to no item that the call sees.

    Raises:
        MessageError: more than 1,000 ids, or a value that is not an id.
        StoreWriteError: nothing was changed.

    >>> from prompt_engine import lifelong, open_database
    >>> db = open_database("sqlite://")
    >>> ids = lifelong.add_facts_with_meta(["Ann likes tea", "Ann likes rice"], db=db).ids
    >>> lifelong.delete_items([*ids, 7], db=db)
    BulkResult(count=2, unknown=(7,))
    """
    return _change(open_call(**options), operator, item_changes.archive, ids)


def restore_items(ids: Sequence[int], *, operator: bool = False, **options: Unpack[CallOptions]) -> BulkResult:
    """Restore archived or replaced items; expired items live SESSION_TTL_SEC longer. Otherwise like `delete_items`.

    >>> from prompt_engine import lifelong, open_database
    >>> db = open_database("sqlite://")
    >>> ids = lifelong.add_facts_with_meta(["Ann likes tea", "Ann likes rice"], db=db).ids
    >>> done = lifelong.delete_items(ids[:1], db=db)
    >>> lifelong.restore_items(ids, db=db)
    BulkResult(count=1, unknown=())
    """
    call = open_call(**options)
    return _change(call, operator, item_changes.restore, ids, ttl_seconds=call.settings.session_ttl_sec)


def purge_items(ids: Sequence[int], *, operator: bool = False, **options: Unpack[CallOptions]) -> BulkResult:
    """Delete items and their previous texts permanently; arguments, result and errors are those of `delete_items`.

    >>> from prompt_engine import lifelong, open_database
    >>> db = open_database("sqlite://")
    >>> ids = lifelong.add_facts_with_meta(["Ann likes tea"], db=db).ids
    >>> lifelong.purge_items(ids, db=db).count, lifelong.search_items(archived=True, db=db)["total"]
    (1, 0)
    """
    call = open_call(**options)
    return replace(_change(call, operator, item_changes.purge, ids), out_of_reach=call.db.empty_journal())


def pin_items(
    ids: Sequence[int], pinned: bool = True, *, operator: bool = False, **options: Unpack[CallOptions]
) -> BulkResult:
    """Pin items, or unpin them with `pinned=False`; other arguments, result and errors are those of `delete_items`.

    >>> from prompt_engine import lifelong, open_database
    >>> db = open_database("sqlite://")
    >>> ids = lifelong.add_facts_with_meta(["Ann likes tea", "Ann likes rice"], db=db).ids
    >>> lifelong.pin_items(ids, db=db)
    BulkResult(count=2, unknown=())
    """
    if not isinstance(pinned, bool):
        raise MessageError.of_type("pinned", pinned, "True or False")
    return _change(open_call(**options), operator, item_changes.set_pinned, ids, pinned=pinned)


def retag_items(
    ids: Sequence[int],
    add: Iterable[str] = (),
    remove: Iterable[str] = (),
    *,
    operator: bool = False,
    **options: Unpack[CallOptions],
) -> BulkResult:
    """Add and remove tags of items; permissions, `operator` and the result are as in `delete_items`.

    Args:
        add, remove: tags to add and tags to remove.

    Raises:
        MessageError: as for `delete_items`; also if no tag is named, or a tag has more than 255 bytes.

    >>> from prompt_engine import lifelong, open_database
    >>> db = open_database("sqlite://")
    >>> (item,) = lifelong.add_facts_with_meta([{"text": "Ann likes tea", "tags": ["ann"]}], db=db).ids
    >>> lifelong.retag_items([item], add=["tea"], db=db).count, lifelong.get_item(item, db=db)["tags"]
    (1, ['ann', 'tea'])
    """
    call = open_call(**options)
    if not add and not remove:
        raise MessageError("Nothing is to be changed: give add or remove.", fields=("add", "remove"))
    tags = {"add": _read_tags(add, "add"), "remove": set(_read_tags(remove, "remove"))}
    return _change(call, operator, item_changes.retag, ids, **tags)


def _change(call: Call, operator: bool, change: Callable[..., int], ids: Sequence[int], **how: Any) -> BulkResult:
    """Change the items that the call sees, then rewrite the Markdown files that list saved memories."""
    result = item_changes.change_items(call.db, find_seen(call, operator), read_ids(ids), partial(change, **how))
    memory_files.write_files(call)
    return result


def _read_tags(value: object, name: str) -> list[str]:
    try:
        tags, too_long = stored_form(value)
    except TypeError as error:
        raise MessageError(f"{name} holds something that is no tag. {error}", fields=(name,)) from None
    if too_long:
        raise MessageError(f"{name} holds a tag of {too_long[0]} bytes. At most 255 are allowed.", fields=(name,))
    return tags
