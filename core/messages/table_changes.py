"""A stored message held and given another text, with its index rows (table chat_history_cache)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from ..access import table_conversations, table_participants
from ..database.engine import Database
from ..database.schema import chat_history_cache
from ..database.sources import CHAT
from ..index import indexed
from ..short_term import table as short_term_table
from ..text.folding import fold
from ..text.hits import content_digest

_C = chat_history_cache.c
_ONE = (
    select(
        _C.id,
        _C.audience_id,
        _C.interface_path,
        _C.participant_key,
        _C.triggered_by,
        _C.message_text,
        _C.role,
        _C.content_hash,
        _C.message_id,
        _C.timestamp,
        _C.excluded,
    )
    .where(_C.persona_id == bindparam("persona"), _C.id == bindparam("id"))
    .with_for_update()
)


def hold_message(connection: Connection, persona: str, row_id: int) -> Any:
    """Return a stored message and hold it until the transaction ends; None where there is none."""
    return connection.execute(_ONE, {"persona": persona, "id": row_id}).first()


def is_private(connection: Connection, persona: str, row: Any, privacy_default: str) -> bool:
    """Return whether nothing of a message that `hold_message` returned may be kept: somebody's level is full."""
    names = [name for name in (row.participant_key, row.triggered_by) if name]
    levels = table_participants.known(connection, persona, names, privacy_default)
    return any(known.level == "full" for known in levels.values())


def rewrite_message(connection: Connection, db: Database, persona: str, row: Any, text: str) -> None:
    """Give a message that `hold_message` returned another text, its index rows too."""
    short_term_table.reword_lines(connection, persona, row.interface_path, row.message_text, text)
    facts = table_conversations.find(connection, persona, row.interface_path)
    is_local = facts is not None and facts.local_only
    old = indexed.lock(connection, CHAT, persona, [row.id], local_only=is_local)
    folded = fold(text)
    values = {"message_text": text, "text_folded": folded, "content_hash": content_digest(text)}
    change = update(chat_history_cache).where(_C.persona_id == persona, _C.id == row.id)
    connection.execute(change.values(**values, edited_at=db.clock()))
    indexed.exchange(connection, db, CHAT, old, [replace(each, folded=folded) for each in old])
