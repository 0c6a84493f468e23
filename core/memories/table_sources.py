"""Which stored messages an item stands on, and which may become items no more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from ..base.wire_ids import find_id
from ..database.bulk import chunks
from ..database.dialects import ID, Key
from ..database.engine import Database
from ..database.rows import read_list
from ..database.schema import chat_history_cache, memories
from ..errors import MessageError
from ..scope import Scope, key_text

MESSAGE_ID_BYTES = 191
_C = chat_history_cache.c
_BY_MESSAGE = select(_C.id).where(
    _C.persona_id == bindparam("persona", type_=Key(64)),
    _C.interface_path == bindparam("conversation", type_=Key(512)),
    _C.message_id == bindparam("message", type_=Key(MESSAGE_ID_BYTES)),
)
_BY_ROW = select(_C.id).where(_C.persona_id == bindparam("persona", type_=Key(64)), _C.id == bindparam("row", type_=ID))


def find_sources(db: Database, scope: Scope, message_id: object) -> list[int | str] | None:
    """Return what a row keeps of the message it stands on; None where none is named."""
    if message_id is None:
        return None
    if isinstance(message_id, bool) or not isinstance(message_id, (str, int)):
        raise MessageError(
            f"message_id is of type {type(message_id).__name__}. It must be the platform's id of the message, or the "
            "row id that saving it returned.",
            fields=("message_id",),
        )
    named = key_text(message_id, "message_id", MESSAGE_ID_BYTES, required=True)
    if scope.conversation is not None:
        values: dict[str, Any] = {"persona": scope.persona, "conversation": scope.conversation, "message": named}
        if found := db.read(_BY_MESSAGE, values, source="chat_history_cache"):
            return [int(found[0].id)]
    if isinstance(message_id, int) and 0 <= message_id < 2**63:
        values = {"persona": scope.persona, "row": message_id}
        if db.read(_BY_ROW, values, source="chat_history_cache"):
            return [message_id]
    return [named]


def join_sources(*listed: Any) -> list[int | str] | None:
    """Return the messages of several lists, each once, in their order; None where there are none."""
    given = [each for one in listed if isinstance(one, (list, tuple)) for each in one]
    return list(dict.fromkeys(each for each in given if isinstance(each, (int, str)))) or None


def close_sources(connection: Connection, persona: str, item_ids: Iterable[int]) -> None:
    """Mark the messages that items stand on, so that consolidation makes nothing of them again."""
    rows: set[int] = set()
    for part in chunks(sorted(set(item_ids)), 500):
        listed = select(memories.c.source_message_ids).where(
            memories.c.persona_id == persona, memories.c.id.in_(part), memories.c.source_message_ids.is_not(None)
        )
        for value in connection.execute(listed).scalars():
            rows |= {row for each in read_list(value) if (row := find_id(each)) is not None}
    for part in chunks(sorted(rows), 500):
        where = (_C.persona_id == persona, _C.id.in_(part))
        connection.execute(update(chat_history_cache).where(*where).values(no_items=1))
