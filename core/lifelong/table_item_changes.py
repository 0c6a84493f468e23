"""Writes changes of memory items (table memories): edit, archive, restore, pin, retag, purge."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, update

from ..calls.call import Call
from ..database import rows
from ..database.compiled import IDS, chunks, execute_parts
from ..database.engine import Database
from ..database.schema import memories
from ..database.sources import MEMORIES
from ..forgetting import table as forgetting
from ..forgetting.table_rows import Removal
from ..index import entries as index_entries
from ..index import indexed
from ..memories import table as memories_table
from ..memories import table_instructions, table_sources
from ..memories import table_reading as items
from ..memories.instructions import read_instruction
from ..memories.rules import INSTRUCTION, SAVED, SAVED_MEMORY_CHARS, expires_at
from ..memories.shapes import BulkResult
from ..memories.table_reading import ReadScope
from ..scope import Scope
from ..search.changes import marks_done
from ..shapes import WriteResult
from ..tags import table as tags
from ..text.hits import stored_tags

_C = memories.c


def _is_archived(row: Any) -> bool:
    return row.archived_at is not None or row.superseded_by is not None


def edit(call: Call, seen: ReadScope, row_id: int, text: str, *, editor: str, operator: bool) -> WriteResult | None:
    """Replace the text of an item, as described at `edit_item`; return None if the item does not exist."""
    db, settings = call.db, call.settings
    columns: dict[str, Any] = {"content": text, **index_entries.derive_columns([text])}
    rows.check_size(columns["text_folded"], "new_content in its folded form")

    def work(connection: Connection) -> WriteResult | None:
        row = next(iter(items.lock_items(connection, seen, [row_id])), None)
        if row is None or _is_archived(row):
            return None
        whose = Scope(seen.persona, participant=row.participant_key)
        if memories_table.is_private(connection, whose, row.tier, settings.privacy_default, False):
            return WriteResult(False, row_id, "privacy")
        if row.content == text:
            return WriteResult(False, row_id, "unchanged")
        if not operator and row.kind == SAVED and len(text) > SAVED_MEMORY_CHARS:
            note = f"it has {len(text)} characters; {SAVED_MEMORY_CHARS} are allowed"
            return WriteResult(False, row_id, "too_long", notes=(note,))
        table_sources.insert_text(connection, db, seen.persona, row_id, row.content, editor=editor)
        if row.kind == INSTRUCTION:
            topics = sorted(read_instruction(text, settings).topics)
            columns["metadata"] = {**(rows.read_object(row.metadata) or {}), "topics": topics}
        find_days, folded = index_entries.calendar_of(db).find_places, columns["text_folded"]
        is_relative = [*find_days(folded, row.timestamp)] != [*find_days(folded, db.clock())]  # `tomorrow`
        if is_relative or marks_done(row.content, text, settings.languages):
            columns["timestamp"] = db.clock()
        indexed.set_columns(connection, db, MEMORIES, seen.persona, [row_id], **columns, updated_at=db.clock())
        table_sources.close_sources(connection, seen.persona, [row_id])
        return WriteResult(True, row_id)

    return db.idempotent_transaction(work, source="memories")


def change_items(db: Database, seen: ReadScope, ids: Sequence[int], change: Callable[..., int]) -> BulkResult:

    def work(connection: Connection) -> BulkResult:
        rows = items.lock_items(connection, seen, ids)
        there = {row.id for row in rows}
        return BulkResult(change(connection, db, seen.persona, rows), tuple(each for each in ids if each not in there))

    return db.idempotent_transaction(work, source="memories")


def archive(connection: Connection, db: Database, persona: str, rows: Sequence[Any]) -> int:
    changed, now = [row.id for row in rows if not _is_archived(row)], db.clock()
    table_sources.close_sources(connection, persona, changed)
    indexed.set_columns(connection, db, MEMORIES, persona, changed, archived_at=now, updated_at=now)
    return len(changed)


def restore(connection: Connection, db: Database, persona: str, rows: Sequence[Any], *, ttl_seconds: int) -> int:
    """Restore archived and superseded items; an expired session item lives for `ttl_seconds` again."""
    chosen, now = [row for row in rows if _is_archived(row)], db.clock()
    changed, expired = [], []
    for row in chosen:
        if row.kind == INSTRUCTION:  # it replaces those on its topics
            table_instructions.restore_instruction(connection, db, persona, row)
            continue
        changed.append(row.id)
        at = row.expires_at or (row.timestamp and expires_at(row.timestamp, ttl_seconds))
        if row.tier == "session" and at is not None and at <= now:
            expired.append(row.id)
    values = {"archived_at": None, "superseded_by": None, "updated_at": now}
    indexed.set_columns(connection, db, MEMORIES, persona, changed, **values)
    indexed.set_columns(connection, db, MEMORIES, persona, expired, expires_at=expires_at(now, ttl_seconds))
    return len(chosen)


def set_pinned(connection: Connection, db: Database, persona: str, rows: Sequence[Any], *, pinned: bool) -> int:
    changed = [row.id for row in rows if bool(row.pinned) != pinned]
    change = update(memories).where(_C.persona_id == persona, _C.id.in_(IDS))
    return execute_parts(connection, change.values(pinned=int(pinned), updated_at=db.clock()), changed)


def retag(
    connection: Connection, db: Database, persona: str, rows: Sequence[Any], *, add: Sequence[str], remove: set[str]
) -> int:
    wanted = {}
    for row in rows:
        old = stored_tags(row.tags)
        new = list(dict.fromkeys([tag for tag in old if tag not in remove] + [tag for tag in add if tag not in old]))
        if new != old:
            wanted[row.id] = new
    raised: Counter[str] = Counter()
    lowered: Counter[str] = Counter()
    statement = indexed.change_row(MEMORIES, ("tags", "updated_at"))
    for part in chunks(sorted(wanted)):
        held = indexed.lock(connection, MEMORIES, persona, part)
        indexed.exchange(connection, db, MEMORIES, held, [replace(each, tags=tuple(wanted[each.id])) for each in held])
        for each in held:
            new = wanted[each.id]
            connection.execute(statement, {"whose": persona, "which": each.id, "tags": new, "updated_at": db.clock()})
            raised += Counter(new) - Counter(each.tags)
            lowered += Counter(each.tags) - Counter(new)
    tags.lower(connection, persona, lowered)
    tags.raise_uses(connection, db, persona, raised)
    return len(wanted)


def purge(connection: Connection, db: Database, persona: str, rows: Sequence[Any]) -> int:
    """Delete items permanently, with their index rows, the items that they replaced, and everything made from them."""
    removal = Removal(connection, db, persona)
    forgetting.remove_items(removal, [row.id for row in rows])
    forgetting.finish(removal)
    return len(rows)
