"""Changing memory items by hand (table memories): edited, archived, restored, pinned, retagged, purged.

Every change is one transaction with its index rows, tags and history, over rows held in the order of their ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, update

from ..database import rows
from ..database.bulk import chunks
from ..database.dialects import Time
from ..database.engine import Database
from ..database.schema import memories
from ..database.sources import MEMORIES
from ..forgetting import table as forgetting
from ..forgetting.table_rows import Removal
from ..index import indexed
from ..memories import table_history as item_history
from ..memories import table_reading as items
from ..memories.shapes import BulkResult
from ..memories.table_reading import Seen
from ..shapes import WriteResult
from ..tags import table as tags
from ..text.folding import fold
from ..text.hits import content_digest, stored_tags

_C = memories.c
EDITED = "edited"


def _is_former(row: Any) -> bool:
    return row.archived_at is not None or row.superseded_by is not None


def edit(
    db: Database, seen: Seen, row_id: int, text: str, *, editor: str, reason: str = EDITED, quarantined: bool = False
) -> WriteResult | None:
    """Give an item another text; id, tags, kind, importance and time stay. None where there is no such item.

    Raises:
        MessageError: a text over 16 MB.
        StoreWriteError: nothing was changed.
    """
    folded, digest = fold(text), content_digest(text)
    rows.check_size(folded, "new_content in its folded form")

    def work(connection: Connection) -> WriteResult | None:
        found = [row for row in items.locked(connection, seen, [row_id]) if not _is_former(row)]
        if not found:
            return None
        if found[0].content == text:
            return WriteResult(False, row_id, "unchanged")
        now = db.clock()
        old = indexed.lock(connection, MEMORIES, seen.persona, [row_id])
        note = [(row_id, found[0].content, reason)]
        item_history.note(connection, db, seen.persona, memories.name, note, changed_by=editor, now=now)
        values = {"content": text, "text_folded": folded, "content_hash": digest, "updated_at": now}
        if quarantined:
            values["quarantined"] = 1
        change = update(memories).where(_C.persona_id == seen.persona, _C.id == row_id).values(values)
        connection.execute(change)
        new = [replace(each, folded=folded, findable=each.findable and not quarantined) for each in old]
        indexed.exchange(connection, db, MEMORIES, old, new)
        return WriteResult(True, row_id)

    return db.transaction(work, source="memories", confirm=lambda _: None)


def set_archived(db: Database, seen: Seen, ids: Sequence[int], *, archived: bool) -> BulkResult:
    """Archive items, or bring archived and superseded ones back; those that are so already do not count.

    Raises:
        StoreWriteError: nothing was changed.
    """

    def work(connection: Connection) -> BulkResult:
        found = items.locked(connection, seen, ids)
        changed = [row.id for row in found if _is_former(row) != archived]
        now = db.clock()
        values: dict[str, Any] = {"archived_at": now} if archived else {"archived_at": None, "superseded_by": None}
        indexed.set_hidden(connection, db, MEMORIES, seen.persona, changed, **values, updated_at=now)
        return BulkResult(len(changed), _unknown(ids, found))

    return db.transaction(work, source="memories", confirm=lambda _: None)


def _unknown(ids: Sequence[int], found: Collection[Any]) -> tuple[int, ...]:
    there = {row.id for row in found}
    return tuple(each for each in ids if each not in there)


def set_pinned(db: Database, seen: Seen, ids: Sequence[int], *, pinned: bool) -> BulkResult:
    """Pin items, or let them go; those that are so already do not count."""

    def work(connection: Connection) -> BulkResult:
        found = items.locked(connection, seen, ids)
        changed = [row.id for row in found if bool(row.pinned) != pinned]
        for part in chunks(changed, 500):
            where = (_C.persona_id == seen.persona, _C.id.in_(part))
            connection.execute(update(memories).where(*where).values(pinned=int(pinned), updated_at=db.clock()))
        return BulkResult(len(changed), _unknown(ids, found))

    return db.transaction(work, source="memories", confirm=lambda _: None)


def retag(
    db: Database,
    seen: Seen,
    ids: Sequence[int],
    *,
    add: Sequence[str] = (),
    remove: Collection[str] = (),
    only: Sequence[str] | None = None,
) -> BulkResult:
    """Change the tags of items; those whose tags stay as they are do not count.

    Args:
        add, remove: tags in normal form.
        only: these tags instead of those there are; then `add` and `remove` are not asked.
    """

    def made(held: Sequence[str]) -> list[str]:
        if only is not None:
            return list(only)
        return list(dict.fromkeys([tag for tag in held if tag not in remove] + [tag for tag in add if tag not in held]))

    def work(connection: Connection) -> BulkResult:
        found = items.locked(connection, seen, ids)
        new = {row.id: made(stored_tags(row.tags)) for row in found}
        changed = {row.id: new[row.id] for row in found if new[row.id] != stored_tags(row.tags)}
        set_tags(connection, db, seen.persona, changed)
        return BulkResult(len(changed), _unknown(ids, found))

    return db.transaction(work, source="memories", confirm=lambda _: None)


def set_tags(connection: Connection, db: Database, persona: str, wanted: dict[int, list[str]]) -> None:
    """Give held rows other tags, index rows and uses of tags with them, in the caller's transaction."""
    raised: Counter[str] = Counter()
    lowered: Counter[str] = Counter()
    for part in chunks(sorted(wanted), indexed.AT_ONCE):
        old = indexed.lock(connection, MEMORIES, persona, part)
        values = [{"who": persona, "what": each.id, "new": wanted[each.id], "at": db.clock()} for each in old]
        for value in values:
            connection.execute(_SET_TAGS, value)
        indexed.exchange(connection, db, MEMORIES, old, [replace(each, tags=tuple(wanted[each.id])) for each in old])
        for each in old:
            before, after = Counter(each.tags), Counter(wanted[each.id])
            raised += after - before
            lowered += before - after
    tags.lower(connection, persona, lowered)
    tags.raise_uses(connection, db, persona, raised)


_SET_TAGS = (
    update(memories)
    .where(_C.persona_id == bindparam("who"), _C.id == bindparam("what"))
    .values(tags=bindparam("new", type_=_C.tags.type), updated_at=bindparam("at", type_=Time()))
)


def purge(db: Database, seen: Seen, ids: Sequence[int]) -> BulkResult:
    """Remove items for good: their texts, former texts and versions, index rows, and what was made of them."""

    def work(connection: Connection) -> BulkResult:
        found = items.locked(connection, seen, ids)
        known = [row.id for row in found]
        forgetting.remove_items(Removal(connection, db, seen.persona), known)
        return BulkResult(len(known), _unknown(ids, found))

    return db.transaction(work, source="memories", confirm=lambda _: None)
