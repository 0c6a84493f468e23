"""Changes of what was said (table chat_history_cache): messages given another text, cleared, with their index rows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from ..access import table_conversations, table_participants
from ..database.engine import Database
from ..database.schema import chat_history_cache
from ..database.sources import CHAT
from ..index import indexed
from ..scope import Scope
from ..short_term import table as short_term_table
from ..text.folding import fold
from ..text.hits import content_digest
from . import table_story_rows

_C = chat_history_cache.c


def rewrite_message(connection: Connection, db: Database, persona: str, row: Any, text: str) -> None:
    """Give a message that `hold_message` returned another text, its index rows too."""
    folded = fold(text)
    short_term_table.reword_lines(connection, persona, row.interface_path, row.message_text, text)
    local_only = _is_local(connection, persona, row)
    old = indexed.lock(connection, CHAT, persona, [row.id], local_only=local_only)
    values: dict[str, Any] = {"message_text": text, "text_folded": folded, "content_hash": content_digest(text)}
    values |= {"edited_at": db.clock()}
    connection.execute(update(chat_history_cache).where(_C.persona_id == persona, _C.id == row.id).values(values))
    indexed.exchange(connection, db, CHAT, old, [replace(each, folded=folded) for each in old])


def hold_message(connection: Connection, persona: str, row_id: int) -> Any:
    """Return a stored message and hold it until the transaction ends; None where there is none."""
    return connection.execute(_ONE, {"persona": persona, "id": row_id}).first()


def is_private(connection: Connection, persona: str, row: Any, privacy_default: str) -> bool:
    """Return whether nothing of a message that `hold_message` returned may be kept: somebody's level is full."""
    names = [name for name in (row.participant_key, row.triggered_by) if name]
    levels = table_participants.known(connection, persona, names, privacy_default)
    return any(known.level == "full" for known in levels.values())


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


def _is_local(connection: Connection, persona: str, row: Any) -> bool:
    facts = table_conversations.find(connection, persona, row.interface_path)
    return facts is not None and facts.local_only


def clear_conversation(db: Database, scope: Scope, conversation: str, *, audiences: Collection[int]) -> int:
    """Delete the visible messages of a conversation, their index rows and what was made of them; return how many
    messages there were."""
    if not audiences:
        return 0

    def work(connection: Connection) -> int:
        table_conversations.find(connection, scope.persona, conversation, lock=True)
        mine = select(_C.id).where(
            _C.persona_id == scope.persona, _C.interface_path == conversation, _C.audience_id.in_(sorted(audiences))
        )
        ids = connection.execute(mine).scalars().all()
        table_story_rows.delete_rows(connection, scope.persona, ids)
        deleted = indexed.remove(connection, db, CHAT, scope.persona, ids)
        short_term_table.remove_channel(connection, scope.persona, conversation, audiences)
        table_story_rows.delete_conversation(connection, scope.persona, conversation)
        return deleted

    return db.idempotent_transaction(work, source="chat_history_cache")
