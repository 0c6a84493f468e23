"""Rooms of one name on several servers: a server and a key together identify a conversation.

The first server whose room is stored has it under the key itself, and who names no server asks for that one. The room
of any other server has the key with a mark of its server behind it, which no host sees: `plain_key` takes it off.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, select

from ..database.dialects import Key
from ..database.engine import Database
from ..database.schema import conversations
from ..errors import MessageError
from ..scope import Scope
from .rules import SERVER_MARK, mark_server, plain_key, split_key

_C = conversations.c
_NAMED = select(_C.conversation_key, _C.server_id).where(
    _C.persona_id == bindparam("persona", type_=Key(64)),
    _C.conversation_key.in_(bindparam("keys", expanding=True, type_=Key(512))),
)


def resolve_scope(db: Any, scope: Scope) -> Scope:
    """Return the scope with the key its conversation is stored under."""
    if scope.conversation is None or not isinstance(db, Database):
        return scope
    key = resolve_key(db, scope, scope.conversation)
    return scope if key == scope.conversation else replace(scope, conversation=key)


def resolve_key(db: Database, scope: Scope, key: str) -> str:
    """Return the key that a conversation of the scope's server is stored under."""
    server = scope.server
    marked = key if SERVER_MARK in key else mark_server(key, server)
    if not server or key == marked:
        if server and marked != mark_server(plain_key(key), server):
            raise MessageError("The conversation key holds a control character. Remove it.", fields=("conversation",))
        return key
    interface, chat, _ = split_key(key)
    room = f"{interface}/{chat}"
    if scope.privacy in ("direct", "separate") or scope.participant == room:
        return key  # a direct message has no server
    room_marked = mark_server(room, server)
    values = {"persona": scope.persona, "keys": sorted({key, marked, room, room_marked})}
    stored = {row[0]: row[1] for row in db.read(_NAMED, values, source="conversations")}
    if marked in stored or (room_marked in stored and key not in stored):
        return marked
    owner = stored.get(key, stored.get(room, ""))
    return marked if owner not in ("", server) else key
