"""Changes of what was said (table chat_history_cache): messages edited, deleted, cleared, with their index rows.

Each concerns rows whose audience is among those the caller's scope sees; others are as if they were not there.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from core.rules.hits import content_digest
from core.rules.text import fold
from core.scope import Scope
from core.shapes import WriteResult
from core.store import conversations, indexed, participants, rows
from core.store.engine import Database
from core.store.schema import chat_history_cache
from core.store.sources import CHAT

_C = chat_history_cache.c


def edit(
    db: Database, scope: Scope, row_id: int, text: str, *, audiences: Collection[int], privacy_default: str
) -> WriteResult:
    """Give a visible message another text, its index rows too.

    Returns:
        `unchanged` where there is no such message or it says that already; `privacy` where nothing of its sender may be
        kept any more.

    Source: P45, F20, F21.
    """
    folded, digest = fold(text), content_digest(text)
    rows.check_size(folded, "message_text in its folded form")

    def work(connection: Connection) -> WriteResult:
        row = connection.execute(_ONE, {"persona": scope.persona, "id": row_id}).first()
        if row is None or row.audience_id not in audiences:
            return WriteResult(False, None, "unchanged", notes=("there is no such message",))
        names = [name for name in (row.participant_key, row.triggered_by) if name]
        levels = participants.known(connection, scope.persona, names, privacy_default)
        if any(known.level == "full" for known in levels.values()):
            return WriteResult(False, row_id, "privacy")
        if row.message_text == text:
            return WriteResult(False, row_id, "unchanged")
        old = indexed.lock(connection, CHAT, scope.persona, [row_id], local_only=_is_local(connection, scope, row))
        values: dict[str, Any] = {"message_text": text, "text_folded": folded, "content_hash": digest}
        values |= {"edited_at": db.clock(), "token_count": None}
        connection.execute(
            update(chat_history_cache).where(_C.persona_id == scope.persona, _C.id == row_id).values(values)
        )
        indexed.exchange(connection, db, CHAT, old, [replace(each, folded=folded) for each in old])
        return WriteResult(True, row_id)

    return db.transaction(work, source="chat_history_cache", confirm=lambda _: None)


_ONE = (
    select(_C.id, _C.audience_id, _C.interface_path, _C.participant_key, _C.triggered_by, _C.message_text)
    .where(_C.persona_id == bindparam("persona"), _C.id == bindparam("id"))
    .with_for_update()
)


def _is_local(connection: Connection, scope: Scope, row: Any) -> bool:
    facts = conversations.find(connection, scope.persona, row.interface_path)
    return facts is not None and facts.local_only


def remove(db: Database, scope: Scope, row_id: int, *, audiences: Collection[int]) -> WriteResult:
    """Delete a visible message with its index rows; `unchanged` where there is none."""

    def work(connection: Connection) -> WriteResult:
        row = connection.execute(_ONE, {"persona": scope.persona, "id": row_id}).first()
        if row is None or row.audience_id not in audiences:
            return WriteResult(False, None, "unchanged", notes=("there is no such message",))
        indexed.remove(connection, db, CHAT, scope.persona, [row_id])
        return WriteResult(True, row_id)

    return db.transaction(work, source="chat_history_cache", confirm=lambda _: None)


def clear(db: Database, scope: Scope, conversation: str, *, audiences: Collection[int]) -> int:
    """Delete the visible messages of a conversation with their index rows, and return how many there were (P44)."""
    if not audiences:
        return 0

    def work(connection: Connection) -> int:
        conversations.find(connection, scope.persona, conversation, lock=True)
        mine = select(_C.id).where(
            _C.persona_id == scope.persona, _C.interface_path == conversation, _C.audience_id.in_(sorted(audiences))
        )
        return indexed.remove(connection, db, CHAT, scope.persona, connection.execute(mine).scalars().all())

    return db.transaction(work, source="chat_history_cache", confirm=lambda _: None)
