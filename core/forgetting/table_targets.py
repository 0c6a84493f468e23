"""Who is meant and which rows are theirs: held by `forgetting.table` before it deletes anything."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import Connection, bindparam, or_, select

from ..database.bulk import chunks
from ..database.schema import (
    audiences,
    chat_history_cache,
    conversations,
    memories,
    participants,
    short_term_memories,
    user_relationships,
)
from .rules import Person
from .table_rows import AT_ONCE

_P, _K, _C, _M = participants.c, conversations.c, chat_history_cache.c, memories.c
_S, _U, _A = short_term_memories.c, user_relationships.c, audiences.c
_TRIES = 5


def find_person(connection: Connection, persona: str, participant: str) -> tuple[Person, set[str]]:
    """Return the person behind a participant and their direct conversations; conversations and identities are held."""
    for _ in range(_TRIES):
        keys = _identities(connection, persona, participant)
        held: set[str] = set()
        while more := _conversations(connection, persona, keys) - held:
            lock_conversations(connection, persona, more)
            held |= more
        for part in chunks(sorted(keys), AT_ONCE):
            mine = select(_P.participant_key).where(_P.persona_id == persona, _P.participant_key.in_(part))
            connection.execute(mine.order_by(_P.participant_key).with_for_update()).all()
        if _identities(connection, persona, participant) == keys and not (
            _conversations(connection, persona, keys) - held
        ):
            break
    return Person(frozenset(keys), frozenset(_names(connection, persona, keys))), find_direct(connection, persona, keys)


def _identities(connection: Connection, persona: str, participant: str) -> set[str]:
    own = select(_P.person_key).where(_P.persona_id == persona, _P.participant_key == participant)
    who = connection.execute(own).scalar() or participant
    group = select(_P.participant_key).where(_P.persona_id == persona, _P.person_key == who)
    return {participant, who, *connection.execute(group).scalars()}


def lock_conversations(connection: Connection, persona: str, keys: Iterable[str]) -> None:
    """Hold conversations until the transaction ends."""
    for part in chunks(sorted(keys), AT_ONCE):
        mine = select(_K.id).where(_K.persona_id == persona, _K.conversation_key.in_(part))
        connection.execute(mine.order_by(_K.conversation_key).with_for_update()).all()


def _conversations(connection: Connection, persona: str, keys: Collection[str]) -> set[str]:
    """Return the conversations that hold something of the person."""
    found = find_direct(connection, persona, keys)
    for column, whose in (
        (_C.interface_path, _C.participant_key),
        (_C.interface_path, _C.triggered_by),
        (_M.conversation_key, _M.participant_key),
        (_S.channel_id, _S.participant_key),
    ):
        table = whose.table.c
        for part in chunks(sorted(keys), AT_ONCE):
            chosen = select(column).where(table.persona_id == persona, whose.in_(part)).distinct()
            found |= {key for key in connection.execute(chosen).scalars() if key}
    return found


def find_direct(connection: Connection, persona: str, keys: Collection[str]) -> set[str]:
    """Return the direct conversations with a person."""
    found: set[str] = set()
    rooms = find_direct_audiences(connection, persona, keys)
    for part in chunks(sorted(keys), AT_ONCE):
        mine = or_(_K.direct_person_key.in_(part), _K.audience_id.in_(sorted(rooms)))
        found |= set(connection.execute(select(_K.conversation_key).where(_K.persona_id == persona, mine)).scalars())
    return found


def find_direct_audiences(connection: Connection, persona: str, keys: Collection[str]) -> set[int]:
    """Return the audiences of direct messages with a person, and of what they asked to remember there."""
    return find_audiences(connection, persona, "direct", keys) | find_audiences(connection, persona, "saved", keys)


def find_audiences(connection: Connection, persona: str, kind: str, refs: Collection[str]) -> set[int]:
    """Return the audiences of a kind that belong to one of the keys."""
    found: set[int] = set()
    for part in chunks(sorted(refs), AT_ONCE):
        chosen = select(_A.audience_id).where(_A.persona_id == persona, _A.kind == bindparam("kind"), _A.ref.in_(part))
        found |= set(connection.execute(chosen, {"kind": kind}).scalars())
    return found


def _names(connection: Connection, persona: str, keys: Collection[str]) -> set[str]:
    """Return the names people with these keys go by, or did in rows that are stored."""
    named: tuple[tuple[Any, Any], ...] = (
        (_P.display_name, _P.participant_key),
        (_C.sender_name, _C.participant_key),
        (_U.username, _U.user_id),
        (_U.realname, _U.user_id),
    )
    found: set[str] = set()
    for column, whose in named:
        for part in chunks(sorted(keys), AT_ONCE):
            chosen = select(column).where(whose.table.c.persona_id == persona, whose.in_(part)).distinct()
            found |= {name for name in connection.execute(chosen).scalars() if name and name.strip()}
    return found


def find_messages_of(connection: Connection, persona: str, keys: Collection[str]) -> dict[int, str]:
    """Return the messages people wrote, or that answer theirs: row to conversation."""
    found: dict[int, str] = {}
    for column in (_C.participant_key, _C.triggered_by):
        for part in chunks(sorted(keys), AT_ONCE):
            chosen = select(_C.id, _C.interface_path).where(_C.persona_id == persona, column.in_(part))
            found |= {row.id: row.interface_path for row in connection.execute(chosen)}
    return found


def find_messages_in(
    connection: Connection, persona: str, keys: Collection[str], rooms: Collection[int]
) -> dict[int, str]:
    """Return the messages of conversations, and those that stand in audiences: row to conversation."""
    found: dict[int, str] = {}
    for column, values in ((_C.interface_path, keys), (_C.audience_id, rooms)):
        for part in chunks(sorted(values), AT_ONCE):
            chosen = select(_C.id, _C.interface_path).where(_C.persona_id == persona, column.in_(part))
            found |= {row.id: row.interface_path for row in connection.execute(chosen)}
    return found
