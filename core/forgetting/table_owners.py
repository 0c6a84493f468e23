"""Whose rows are forgotten, and how the registry finds them; conversations and identities are held meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table, bindparam, select

from ..access import table_conversations
from ..database.bulk import chunks
from ..database.registry import BY_TABLE, REGISTRY, Registered
from ..database.schema import ai_diary, audiences, chat_history_cache, conversations, participants, user_relationships
from ..database.schema_base import metadata
from ..database.sources import AI_DIARY
from .rules import Person
from .table_rows import AT_ONCE, Removal

_P, _K, _A = participants.c, conversations.c, audiences.c
_NAMES = (
    (_P.display_name, _P.participant_key),
    (chat_history_cache.c.sender_name, chat_history_cache.c.participant_key),
    (user_relationships.c.username, user_relationships.c.user_id),
    (user_relationships.c.realname, user_relationships.c.user_id),
)
"""Columns with names of people, and whose they are."""
_TRIES = 5
NOBODY = Person(frozenset())


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose rows are forgotten: a person with their direct conversations, a conversation, or a server's."""

    person: Person = NOBODY
    conversations: frozenset[str] = frozenset()
    audiences: frozenset[int] = frozenset()


def find_owner(removal: Removal, kind: str, key: str) -> Owner:
    """Return who or what a key means; what others might write into meanwhile is held."""
    if kind == "participant":
        return _find_person(removal, key)
    if kind == "conversation":
        owner = Owner(conversations=frozenset({key}))
    else:
        of_server = removal.find_values(_K.conversation_key, _K.server_id == key)
        rooms = removal.find_values(_A.audience_id, _A.server_id == key)
        owner = Owner(conversations=frozenset(of_server), audiences=frozenset(rooms))
    lock_conversations(removal, owner.conversations)
    return owner


def _find_person(removal: Removal, participant: str) -> Owner:
    """Return a person with all identities; looked up again until nothing was added while rows were waited for."""
    locked: set[str] = set()
    for _ in range(_TRIES):
        keys = _find_identities(removal, participant)
        lock_conversations(removal, more := _find_conversations(removal, keys) - locked)
        locked |= more
        for part in chunks(sorted(keys), AT_ONCE):
            mine = select(_P.participant_key).where(_P.persona_id == removal.persona, _P.participant_key.in_(part))
            removal.read_rows(mine.order_by(_P.participant_key).with_for_update())
        if _find_identities(removal, participant) == keys and _find_conversations(removal, keys) <= locked:
            break
    names = {name for column, whose in _NAMES for name in _find_in(removal, column, whose, keys) if name.strip()}
    rooms = _find_direct_audiences(removal, keys)
    return Owner(Person(frozenset(keys), frozenset(names)), _find_direct(removal, keys, rooms), rooms)


def _find_identities(removal: Removal, participant: str) -> set[str]:
    who = _find_in(removal, _P.person_key, _P.participant_key, {participant}) or {participant}
    return {participant, *who, *_find_in(removal, _P.participant_key, _P.person_key, who)}


def _find_conversations(removal: Removal, keys: Collection[str]) -> set[str]:
    """Return the conversations in which something of the person stands."""
    places = set(_find_direct(removal, keys, _find_direct_audiences(removal, keys)))
    for entry in REGISTRY:
        if entry.table != audiences.name and len(entry.conversation) == 1:
            c = metadata.tables[entry.table].c
            for name in entry.participant:
                places |= _find_in(removal, c[entry.conversation[0]], c[name], keys)
    return places


def _find_direct(removal: Removal, keys: Collection[str], rooms: Collection[int]) -> frozenset[str]:
    by_person = _find_in(removal, _K.conversation_key, _K.direct_person_key, keys)
    return frozenset(by_person | _find_in(removal, _K.conversation_key, _K.audience_id, rooms))


def _find_direct_audiences(removal: Removal, keys: Collection[str]) -> frozenset[int]:
    """Return the audiences of direct messages with a person, and of what they asked to remember there."""
    return find_audiences(removal, "direct", keys) | find_audiences(removal, "saved", keys)


def find_audiences(removal: Removal, kind: str, refs: Collection[str]) -> frozenset[int]:
    """Return the audiences of a kind that belong to one of the keys."""
    return frozenset(_find_in(removal, _A.audience_id, _A.ref, refs, _A.kind == bindparam("kind", kind)))


def _find_in(removal: Removal, column: Any, by: Any, values: Collection[Any], *where: Any) -> set[Any]:
    """Return the values of a column, of the rows that have one of some values in another."""
    matches: set[Any] = set()
    for part in chunks(sorted(values), AT_ONCE):
        matches |= removal.find_values(column, by.in_(part), *where)
    return matches - {None}


def lock_conversations(removal: Removal, keys: Iterable[str]) -> None:
    for part in chunks(sorted(keys), AT_ONCE):
        mine = select(_K.id).where(_K.persona_id == removal.persona, _K.conversation_key.in_(part))
        removal.read_rows(mine.order_by(_K.conversation_key).with_for_update())


def find_rows(
    removal: Removal, table: Table, owner: Owner, before: int | None = None, *more: str
) -> set[tuple[Any, ...]]:
    """Return ids of an owner's rows of a table and what is in more columns; with `before`, smaller ids alone."""
    late = () if before is None else (table.c.id < before,)
    chosen = select(table.c.id, *(table.c[name] for name in more)).where(table.c.persona_id == removal.persona, *late)
    conditions = build_conditions(removal, BY_TABLE[table.name], owner)
    return {tuple(row) for where in conditions for row in removal.read_rows(chosen.where(where))}


def build_conditions(removal: Removal, entry: Registered, owner: Owner) -> Iterator[Any]:
    """Yield the conditions under which rows of a table are the owner's."""
    c = metadata.tables[entry.table].c
    by_keys: list[tuple[Iterable[str], Iterable[Any]]] = [(entry.participant, owner.person.keys)]
    by_keys.append((("audience_id",) if "audience_id" in c else (), owner.audiences))
    if entry.table == ai_diary.name:  # it names the parts of a conversation's key, which have no server
        rooms = (table_conversations.find(removal.connection, removal.persona, key) for key in owner.conversations)
        yield from (table_conversations.said_in(AI_DIARY, facts) for facts in rooms if facts is not None)
    else:
        by_keys.append((entry.conversation, owner.conversations))
    for names, keys in by_keys:
        for part in chunks(sorted(keys), AT_ONCE):
            yield from (c[name].in_(part) for name in names)
