"""Sources and history of items: their messages, and their previous texts (table item_history)."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, select, update

from ..base.wire_ids import find_id, find_whole
from ..database import rows
from ..database.compiled import IDS, execute_parts, read_parts
from ..database.engine import Database
from ..database.schema import chat_history_cache, item_history, memories
from ..errors import MessageError
from ..scope import MESSAGE_ID_BYTES, Scope, key_text
from ..text.times import iso_text
from .shapes import ItemVersion

_C, _H = chat_history_cache.c, item_history.c


class Sources(NamedTuple):
    ids: list[int | str] | None = None
    """Source messages in the form that items store; None if no message is named."""
    at: datetime | None = None
    """Time of the message, if it is stored."""


def find_sources(db: Database, scope: Scope, message_id: object) -> Sources:
    """Return the source message as items store it: its row id if the message is stored, else `message_id`."""
    if message_id is None:
        return Sources()
    if (number := find_whole(message_id)) is None and not isinstance(message_id, str):
        wanted = "the platform's id of the message, or the row id that saving it returned"
        raise MessageError.of_type("message_id", message_id, wanted)
    named = key_text(message_id, "message_id", MESSAGE_ID_BYTES, required=True)
    stored = select(_C.id, _C.timestamp).where(_C.persona_id == scope.persona)
    if scope.conversation is not None:
        here = (_C.interface_path == scope.conversation, _C.message_id == named)
        if lines := db.read(stored.where(*here)):
            return Sources([int(lines[0].id)], lines[0].timestamp)
    if number is not None and 0 <= number < 2**63 and (lines := db.read(stored.where(_C.id == number))):
        return Sources([number], lines[0].timestamp)
    return Sources([named])


def join_sources(*listed: Any) -> list[int | str] | None:
    """Return the source messages of several lists without repetitions, or None if there are none."""
    given = [each for one in listed for each in (one if isinstance(one, (list, tuple)) else [one])]
    return list(dict.fromkeys(each for each in given if isinstance(each, (int, str)))) or None


def close_sources(connection: Connection, persona: str, item_ids: Iterable[int]) -> None:
    """Mark the source messages of items, so that consolidation does not use them again."""
    items = (memories.c.persona_id == persona, memories.c.id.in_(IDS))
    stored = read_parts(connection.execute, select(memories.c.source_message_ids).where(*items), {}, item_ids)
    messages = {row for (value,) in stored for each in rows.read_list(value) if (row := find_id(each)) is not None}
    these = (_C.persona_id == persona, _C.id.in_(IDS))
    execute_parts(connection, update(chat_history_cache).where(*these).values(no_items=1), messages)


def insert_text(connection: Connection, db: Database, persona: str, item_id: int, text: str, *, editor: str) -> None:
    key = {"id": db.ids.one(), "persona_id": persona, "item_id": item_id}
    change = {"old_text": text, "reason": "edited", "changed_by": editor[:100], "changed_at": db.clock()}
    rows.insert_rows(connection, item_history, [key | change])


def read_texts(db: Database, persona: str, item_id: int) -> list[ItemVersion]:
    mine = (_H.persona_id == persona, _H.item_id == item_id)
    previous = select(_H.old_text, _H.reason, _H.changed_by, _H.changed_at).where(*mine).order_by(_H.id)
    return [
        {"text": row.old_text, "until": iso_text(row.changed_at), "reason": row.reason, "changed_by": row.changed_by}
        for row in db.read(previous)
    ]
