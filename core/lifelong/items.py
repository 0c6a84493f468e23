"""Items as hosts handle them: stored, found, changed, archived. Offered by `lifelong`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..calls.screening import Screen
from ..database.engine import Database
from ..errors import MessageError
from ..memories.rules import DEFAULT_KIND, read_id, read_ids
from ..memories.shapes import Added, BulkResult, Item, ItemPage, ItemVersion
from ..scope import Scope
from ..shapes import WriteResult
from . import table_item_changes as item_changes
from . import work as rooms
from .work import Given, asking


def add_facts_with_meta(
    entries: Iterable[str | Mapping[str, Any]],
    conf_uid: str | None = None,
    history_uid: str | None = None,
    default_kind: str = DEFAULT_KIND,
    *,
    screen: Screen | None = None,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> Added:
    """Store facts as memory items, each once, and return how many were new.

    Args:
        entries: texts, or mappings with `text` and any of kind, tier, importance (0 to 1; beyond that the nearest),
            tags, emotion, timestamp, expires_at, pinned, provenance, source_message_ids; other keys are kept in
            metadata. Blank ones are left out. At most 10,000.
        conf_uid: the persona; the scope's by default.
        history_uid: the conversation; the scope's by default. It decides who sees the items.
        default_kind: kind of entries that name none.

    Returns:
        A number with `ids`, `merged` (those that say what an item there says: it takes over their tags, importance
        and sources), `notes`, and `reason` (`empty`, `privacy`, `duplicate`) where some were not stored.

    Raises:
        MessageError: an entry cannot be used; names its number. Nothing was stored.
        StoreWriteError: nothing was stored.
    """
    known_db, known, own = asking(db, settings, scope, conf_uid, history_uid)
    return rooms.add(known_db, known, own, entries, default_kind, screen)


def search_items(
    q: str | None = "",
    kinds: Iterable[str] | str | None = None,
    tier: str | None = None,
    conf_uid: str | None = None,
    conversation: str | None = None,
    min_importance: float | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    tags: Iterable[str] | str | None = None,
    limit: int = 50,
    offset: int = 0,
    *,
    archived: bool = False,
    operator: bool = False,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> ItemPage:
    """Return a page of the items that hold all words and filters, newest first, and how many there are in all.

    Args:
        q: words; each must stand somewhere in the text, folded. Blank lists.
        kinds: only these kinds.
        tier: session or long_term.
        conversation: only items of this conversation.
        min_importance: 0 to 1.
        since, until: the earliest and latest time, both included.
        tags: all of these.
        limit: items of the page, 1 to 500.
        offset: items passed over.
        archived: those that were deleted, pruned or replaced, instead of those that hold.
        operator: all audiences of the persona, whatever the scope sees.

    Returns:
        `{"items": [...], "total": n}`. Expired session items are not in it, those of the scope's conversation excepted.
        Where very many match, `"at_least": True` says that there may be more than `total` (docs/decisions/0018).

    Raises:
        MessageError: a value out of its range; an unknown kind, naming the nearest.
        StoreReadError: nothing could be read.
    """
    known_db, known, own = asking(db, settings, scope, conf_uid)
    return rooms.search(
        known_db,
        known,
        own,
        operator,
        q,
        limit=limit,
        offset=offset,
        kinds=kinds,
        tier=tier,
        conversation=conversation,
        min_importance=min_importance,
        since=since,
        until=until,
        tags=tags,
        archived=archived,
    )


def get_item(
    id: int,  # noqa: A002 - the name of the specification
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> Item:
    """Return one item, archived or not.

    Raises:
        ItemNotFoundError: there is none the scope may see.
        StoreReadError: nothing could be read.
    """
    known_db, known, own = asking(db, settings, scope, conf_uid)
    return rooms.get(known_db, rooms.seen_by(known_db, known, own, operator), id)


def get_item_history(
    id: int,  # noqa: A002 - as above
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> list[ItemVersion]:
    """Return every text an item has had, the first one first, the present one last.

    Raises:
        ItemNotFoundError: there is no such item.
    """
    known_db, known, own = asking(db, settings, scope, conf_uid)
    return rooms.versions(known_db, rooms.seen_by(known_db, known, own, operator), id)


def edit_item(
    id: int,  # noqa: A002 - as above
    new_content: str,
    conf_uid: str | None = None,
    *,
    editor: str = "manual",
    operator: bool = False,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Give an item another text; id, tags, kind, importance and time stay, the former text goes to its history.

    Args:
        editor: who did it, for the history.

    Returns:
        `(True, id, "")`; `unchanged` where that is its text already.

    Raises:
        ItemNotFoundError: no such item, or it is archived.
        MessageError: new_content is blank, no text, or over 16 MB.
        StoreWriteError: nothing was changed.
    """
    known_db, known, own = asking(db, settings, scope, conf_uid)
    seen = rooms.seen_by(known_db, known, own, operator)
    return rooms.edit(known_db, known, seen, id, new_content, editor)


def delete_item(
    id: int,  # noqa: A002 - as above
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> int:
    """Archive an item and return 1; 0 where there is none, or it is archived already."""
    return delete_items([read_id(id)], conf_uid, operator=operator, db=db, settings=settings, scope=scope).count


def delete_items(
    ids: Sequence[int],
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> BulkResult:
    """Archive up to 1,000 items in one transaction; `restore_items` brings them back.

    Returns:
        How many were archived by this call, and the ids there is no item of.

    Raises:
        MessageError: more than 1,000 ids, or something that is no id.
        StoreWriteError: nothing was changed.
    """
    known = read_ids(ids)
    known_db, values, own = asking(db, settings, scope, conf_uid)
    return rooms.archive(known_db, rooms.seen_by(known_db, values, own, operator), known, archived=True)


def restore_item(
    id: int,  # noqa: A002 - as above
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> int:
    """Bring an archived or replaced item back and return 1; 0 where there is none, or it holds."""
    return restore_items([read_id(id)], conf_uid, operator=operator, db=db, settings=settings, scope=scope).count


def restore_items(
    ids: Sequence[int],
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> BulkResult:
    """Bring up to 1,000 archived or replaced items back; as `delete_items` otherwise."""
    known = read_ids(ids)
    known_db, values, own = asking(db, settings, scope, conf_uid)
    return rooms.archive(known_db, rooms.seen_by(known_db, values, own, operator), known, archived=False)


def purge_items(
    ids: Sequence[int],
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> BulkResult:
    """Remove up to 1,000 items for good, with their former texts; nothing brings them back.

    Returns:
        How many were removed, and the ids there is no item of.

    Raises:
        MessageError, StoreWriteError: as `delete_items`.
    """
    known = read_ids(ids)
    known_db, values, own = asking(db, settings, scope, conf_uid)
    return item_changes.purge(known_db, rooms.seen_by(known_db, values, own, operator), known)


def pin_item(
    id: int,  # noqa: A002 - as above
    pinned: bool = True,
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> int:
    """Pin an item, so that nothing prunes it, or let it go; return 1, 0 where nothing changed."""
    return pin_items([read_id(id)], pinned, conf_uid, operator=operator, db=db, settings=settings, scope=scope).count


def pin_items(
    ids: Sequence[int],
    pinned: bool = True,
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> BulkResult:
    """Pin up to 1,000 items, or let them go; as `delete_items` otherwise."""
    if not isinstance(pinned, bool):
        raise MessageError(f"pinned is of type {type(pinned).__name__}. It must be True or False.", fields=("pinned",))
    known = read_ids(ids)
    known_db, values, own = asking(db, settings, scope, conf_uid)
    seen = rooms.seen_by(known_db, values, own, operator)
    return item_changes.set_pinned(known_db, seen, known, pinned=pinned)


def retag_items(
    ids: Sequence[int],
    add: Iterable[str] = (),
    remove: Iterable[str] = (),
    tags: Iterable[str] | None = None,
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> BulkResult:
    """Change the tags of up to 1,000 items in one transaction, index rows and uses of tags with them.

    Args:
        add, remove: tags that join, tags that go.
        tags: these instead of those there are; then neither of the two.

    Returns:
        How many items have other tags now, and the ids there is no item of.

    Raises:
        MessageError: nothing to change, a tag over 255 bytes, or ids as for `delete_items`.
        StoreWriteError: nothing was changed.
    """
    known_db, values, own = asking(db, settings, scope, conf_uid)
    return rooms.retag(known_db, rooms.seen_by(known_db, values, own, operator), ids, add, remove, tags)
