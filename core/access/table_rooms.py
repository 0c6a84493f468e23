"""Rooms of one name on several servers: a server and a key together identify a conversation.

The first conversation stored under a name has it as its key, and who says nothing of a server asks for that one. The
room of any other server, and one of no server, has the key with a mark of its server behind it, which no host sees:
`plain_key` takes it off. A room for several people that was stored without a server belongs to the first server that is
named there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, select

from ..database.dialects import Key
from ..database.engine import Database
from ..database.readers import Reader, reader_for
from ..database.schema import conversations
from ..errors import MessageError
from ..scope import NO_SERVER, Scope
from .rules import SERVER_MARK, mark_server, plain_key, split_key

_C = conversations.c
_NAMED = select(_C.conversation_key, _C.server_id, _C.direct_person_key).where(
    _C.persona_id == bindparam("persona", type_=Key(64)),
    _C.conversation_key.in_(bindparam("keys", expanding=True, type_=Key(512))),
)


def resolve_scope(db: Any, scope: Scope) -> Scope:
    """Return the scope with the key its conversation is stored under."""
    if scope.conversation is None or not isinstance(db, Database):
        return scope
    key = resolve_key(reader_for(db, "conversations"), scope, scope.conversation)
    return scope if key == scope.conversation else replace(scope, conversation=key)


def resolve_key(read: Reader, scope: Scope, key: str) -> str:
    """Return the key that a conversation of the scope's server is stored under."""
    if scope.conversation is not None and key == plain_key(scope.conversation) != scope.conversation:
        return scope.conversation
    interface, chat, _ = split_key(key)
    room = f"{interface}/{chat}"
    is_own = scope.conversation in (None, key)
    is_direct = scope.participant == room or (is_own and scope.privacy in ("direct", "separate"))
    server = NO_SERVER if is_direct or (is_own and scope.no_server) else scope.server
    if not server or (SERVER_MARK in key and server == NO_SERVER):
        return key
    marked = mark_server(plain_key(key), server)
    if SERVER_MARK in key:
        if key != marked:
            raise MessageError("The conversation key holds a control character. Remove it.", fields=("conversation",))
        return key
    room_marked = mark_server(room, server)
    values = {"persona": scope.persona, "keys": sorted({key, marked, room, room_marked})}
    owners = {row[0]: row[1] or ("" if row[2] is None else NO_SERVER) for row in read(_NAMED, values)}
    if marked in owners or (room_marked in owners and key not in owners):
        return marked
    owner = owners.get(key, owners.get(room, ""))
    return marked if owner not in ("", server) else key
