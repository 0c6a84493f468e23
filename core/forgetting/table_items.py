"""Deletes memory items and summaries that were made from forgotten rows."""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from sqlalchemy import bindparam, or_, select

from ..base.groups import group
from ..base.wire_ids import find_id
from ..conversations import table_summaries
from ..database.compiled import chunks
from ..database.dialects import Time
from ..database.ids import made_at
from ..database.rows import read_list, read_object
from ..database.schema import chat_history_cache, conversation_summaries, memories
from ..database.sources import MEMORIES
from ..index import indexed
from ..memories import table_instructions
from ..memories.rules import INSTRUCTION
from ..messages.table import CONSOLIDATION
from .table_rows import MADE, Removal

_M, _C, _Z = memories.c, chat_history_cache.c, conversation_summaries.c


def add_previous_versions(removal: Removal, ids: Collection[int]) -> set[int]:
    versions, new = set(ids), set(ids)
    while new:
        new = {row.id for row in removal.read_in(select(_M.id), _M.superseded_by, new)} - versions
        versions |= new
    return versions


def remove_items(
    removal: Removal,
    ids: Collection[int],
    messages: Collection[int] = (),
    names: Mapping[str, Collection[str]] = MappingProxyType({}),
    *,
    withdrawn: Collection[int] = (),
) -> set[int]:
    """Delete the items `ids` and all items made from the deleted `messages`; return the ids of all deleted items."""
    deleted = {row.id for row in removal.read_in(select(_M.id), _M.id, ids)}
    going = frozenset(messages)
    left: set[int] = set()
    """Row ids of messages that stay stored although items made from them are deleted."""
    if going:
        chosen = select(_M.id, _M.source_message_ids, _M.provenance, _M.conversation_key)
        has_sources = (_M.persona_id == removal.persona, _M.source_message_ids.is_not(None))
        for row in removal.read_rows(chosen.where(*has_sources)):
            listed, here = read_list(row.source_message_ids), names.get(row.conversation_key, ())
            sources = {source for each in listed if (source := find_id(each)) is not None}
            is_named = any(str(each) in here for each in listed)
            if row.id in deleted or is_named or not sources.isdisjoint(going):
                deleted.add(row.id)
                left |= sources if row.provenance in MADE else set()
    _release_replaced(removal, deleted, {*withdrawn, *messages})
    removal.delete_rows(MEMORIES, deleted)
    consolidate_anew(removal, left - going, "forgotten")
    return deleted


def _release_replaced(removal: Removal, deleted: Collection[int], withdrawn: Collection[int]) -> None:
    """Restore items that a row in `withdrawn` replaced or ended; archive items that other deleted items replaced."""
    now, chosen = removal.db.clock(), select(_M.id, _M.superseded_by, _M.metadata)
    replaced = removal.read_in(chosen, _M.superseded_by, deleted)
    # a message ends instructions only: their kind has an index
    replaced += removal.read_in(chosen.where(_M.kind == INSTRUCTION), _M.superseded_by, {*withdrawn} - {*deleted})
    for by, listed in group((_find_ending(removal, row, withdrawn), row) for row in replaced).items():
        for is_back, archived_at in ((True, None), (False, now)):
            ids = [row.id for row in listed if row.id not in deleted and (row.superseded_by in withdrawn) is is_back]
            columns = {"superseded_by": by, "archived_at": now if by else archived_at, "updated_at": now}
            changed = indexed.set_columns(removal.connection, removal.db, MEMORIES, removal.persona, ids, **columns)
            removal.counts[memories.name] += changed


def _find_ending(removal: Removal, row: Any, withdrawn: Collection[int]) -> int | None:
    """Return the id of another message, unedited since it was read, that ends an instruction; None without it."""
    noted = (read_object(row.metadata) or {}).get(table_instructions.ENDINGS, {})
    others = {int(each) for each in noted} - {*withdrawn} if row.superseded_by in withdrawn else ()
    rows = removal.read_in(select(_C.id, _C.edited_at), _C.id, others)
    return next((r.id for r in rows if r.edited_at is None or r.edited_at.isoformat() <= noted[str(r.id)]), None)


def consolidate_anew(removal: Removal, rows: Iterable[int], reason: str) -> None:
    """Queue another consolidation of these messages, one operation per conversation."""
    by_key = group(removal.read_in(select(_C.interface_path, _C.id).order_by(_C.id), _C.id, rows))
    for key, listed in sorted(by_key.items()):
        for part in chunks(listed):
            removal.queue(CONSOLIDATION, key, payload={"reason": reason, "rows": part})


def remove_summaries(removal: Removal, conversation: str, messages: Collection[int]) -> None:
    """Delete a conversation's summaries made after the first of these messages was stored, and queue a new one."""
    first = min(messages)
    # a summary gets its id when it is queued, but reads the messages later, when it is made
    since = or_(_Z.id >= first, _Z.created_at >= bindparam("since", made_at(first), type_=Time()))
    here = (_Z.persona_id == removal.persona, _Z.conversation_key == conversation, since)
    listed = removal.read_rows(select(_Z.id, _Z.occurred_at).where(*here))
    removal.delete_in(conversation_summaries, _Z.id, [row.id for row in listed])
    at = max((row.occurred_at for row in listed if row.occurred_at is not None), default=None)
    if at is None:
        return
    said = select(_C.id).where(_C.persona_id == removal.persona, _C.interface_path == conversation, _C.timestamp <= at)
    last = removal.connection.execute(said.order_by(_C.timestamp.desc(), _C.id.desc()).limit(1)).scalar()
    if last is not None:
        payload = {"summary": removal.db.ids.one(), "last": int(last), "at": at.isoformat()}
        removal.queue(table_summaries.OPERATION, conversation, payload=payload)
