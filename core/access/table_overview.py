"""Personas, conversations and people as an operator lists them: all audiences of a persona, whoever is in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Select, String, Table, bindparam, case, func, or_, select, type_coerce, union_all

from ..database.dialects import has_keyword, like_pattern
from ..database.engine import Database
from ..database.readers import IDS, read_parts, reader_for
from ..database.schema import (
    ai_diary,
    audiences,
    chat_history_cache,
    conversations,
    memories,
    participants,
    privacy_levels,
)

_K, _P = conversations.c, participants.c
MOST_KEYS = 100_000


class ConversationCount(NamedTuple):
    """One conversation."""

    key: str
    title: str
    """As it is called; blank where nobody said."""
    server: str
    """Its name, else its id; blank where it is of none."""
    person: str
    """Key of the person it is held with alone; blank where it is none of two."""
    is_private: bool
    local_only: bool
    last_at: datetime | None
    messages: int = 0


class PersonCount(NamedTuple):
    """One participant."""

    key: str
    name: str
    person: str
    """Key of the identity they are linked to; their own where there is none."""
    privacy: str
    """What they chose; blank where they did not."""
    items: int = 0
    messages: int = 0


def list_personas(db: Database, limit: int, offset: int = 0) -> list[str]:
    """Return the personas that have rows, in the order of their keys."""
    p = audiences.c.persona_id
    chosen = select(p).distinct().order_by(p).limit(limit).offset(offset)
    return [str(row[0]) for row in db.read(chosen, source="audiences")]


def choose_persona(db: Database, wanted: str) -> str:
    """Return the wanted persona if it has rows, else the one spoken to last, else the wanted."""
    a = audiences.c
    if db.read(select(a.persona_id).where(a.persona_id == wanted).limit(1), source="audiences"):
        return wanted
    newest = select(_K.persona_id).order_by(_K.last_message_at.desc(), _K.id.desc()).limit(1)
    rows = db.read(newest, source="conversations")
    return str(rows[0][0]) if rows else next(iter(list_personas(db, 1)), wanted)


def _count(
    db: Database, persona: str, table: Table, column: str, keys: Iterable[str], *where: Any
) -> Mapping[str, int]:
    """Return key to how many rows there are of it."""
    c = table.c
    mine = (c.persona_id == persona, c[column].in_(IDS), *where)
    counted = select(c[column], func.count()).where(*mine).group_by(c[column])
    return Counter(dict(map(tuple, read_parts(reader_for(db, table.name), counted, {}, keys))))


def _holds_words(words: str, name: Any, key: Any) -> list[Any]:
    """Return the conditions of a row whose name or key holds the words; none for blank ones."""
    pattern = like_pattern(words)
    return [or_(has_keyword(name, pattern), has_keyword(type_coerce(key, String()), pattern))] if words else []


# Conversations

_CONVERSATION = (
    _K.conversation_key, _K.title, _K.server_name, _K.server_id, _K.direct_person_key, _K.is_private, _K.local_only,
    _K.last_message_at,
)  # fmt: skip


_BY_KEYS = select(*_CONVERSATION).where(_K.persona_id == bindparam("persona"), _K.conversation_key.in_(IDS))


def _conversation(row: Any) -> ConversationCount:
    return ConversationCount(
        row.conversation_key, row.title or "", row.server_name or row.server_id, row.direct_person_key or "",
        bool(row.is_private), bool(row.local_only), row.last_message_at,
    )  # fmt: skip


def _read_conversations(db: Database, persona: str, chosen: Select[Any]) -> list[ConversationCount]:
    """Return what a statement chooses, each with how many messages it has."""
    shown = [_conversation(row) for row in db.read(chosen, source="conversations")]
    messages = _count(db, persona, chat_history_cache, "interface_path", [each.key for each in shown])
    return [each._replace(messages=messages[each.key]) for each in shown]


def list_conversations(
    db: Database, persona: str, words: str, limit: int, offset: int = 0
) -> tuple[list[ConversationCount], int]:
    """Return a page of a persona's conversations, the one spoken in last first, and how many there are."""
    where = [_K.persona_id == persona, *_holds_words(words, _K.title, _K.conversation_key)]
    total = int(db.read(select(func.count()).select_from(conversations).where(*where), source="conversations")[0][0])
    newest = (_K.last_message_at.desc(), _K.id.desc())
    page = select(*_CONVERSATION).where(*where).order_by(*newest).limit(limit).offset(offset)
    return _read_conversations(db, persona, page), total


def find_conversation(db: Database, persona: str, key: str) -> ConversationCount | None:
    """Return one conversation, None where nothing is stored of it."""
    chosen = select(*_CONVERSATION).where(_K.persona_id == persona, _K.conversation_key == key)
    return next(iter(_read_conversations(db, persona, chosen)), None)


def read_titles(db: Database, persona: str, keys: Iterable[str]) -> dict[str, ConversationCount]:
    """Return conversation key to the conversation, its messages not counted."""
    read = reader_for(db, "conversations")
    rows = read_parts(read, _BY_KEYS, {"persona": persona}, keys)
    return {row.conversation_key: _conversation(row) for row in rows}


# People

_PERSON = (_P.participant_key, _P.display_name, _P.person_key, privacy_levels.c.level)
_NAMES = select(_P.participant_key, _P.display_name).where(
    _P.persona_id == bindparam("persona"),
    _P.participant_key.in_(IDS),
    _P.display_name != "",
)
_PEOPLE = participants.outerjoin(privacy_levels, privacy_levels.c.participant_key == _P.participant_key)


def _person(row: Any) -> PersonCount:
    return PersonCount(row.participant_key, row.display_name or "", row.person_key, row.level or "")


def _add_counts(db: Database, persona: str, people: Sequence[PersonCount]) -> list[PersonCount]:
    keys = [each.key for each in people]
    m = memories.c
    holds = (m.archived_at.is_(None), m.superseded_by.is_(None), m.quarantined == 0)
    items = _count(db, persona, memories, "participant_key", keys, *holds)
    messages = _count(db, persona, chat_history_cache, "participant_key", keys)
    return [each._replace(items=items[each.key], messages=messages[each.key]) for each in people]


def list_people(db: Database, persona: str, words: str, limit: int, offset: int = 0) -> tuple[list[PersonCount], int]:
    """Return a page of the people a persona knows, by name, those without one last, and how many there are."""
    where = [_P.persona_id == persona, *_holds_words(words, _P.display_name, _P.participant_key)]
    total = int(db.read(select(func.count()).select_from(participants).where(*where), source="participants")[0][0])
    order = (case((_P.display_name == "", 1), else_=0), _P.display_name, _P.participant_key)
    page = select(*_PERSON).select_from(_PEOPLE).where(*where).order_by(*order).limit(limit).offset(offset)
    return _add_counts(db, persona, [_person(row) for row in db.read(page, source="participants")]), total


def read_identities(db: Database, persona: str, key: str) -> list[PersonCount]:
    """Return a participant with all who are linked to them, by key; [] for one that is not known."""
    mine = select(_P.person_key).where(_P.persona_id == persona, _P.participant_key == key)
    theirs = select(*_PERSON).select_from(_PEOPLE).where(_P.persona_id == persona, _P.person_key.in_(mine))
    chosen = theirs.order_by(_P.participant_key)
    return _add_counts(db, persona, [_person(row) for row in db.read(chosen, source="participants")])


def read_names(db: Database, persona: str, keys: Iterable[str]) -> dict[str, str]:
    """Return participant key to the name they go by; who has none is left out."""
    rows = read_parts(reader_for(db, "participants"), _NAMES, {"persona": persona}, keys)
    return {row.participant_key: row.display_name for row in rows}


# What there is and where


class PlaceCount(NamedTuple):
    """Rows that are seen together."""

    kind: str
    """persona, public, server, direct, saved or conversation."""
    server: str
    rows: int


def count_places(db: Database, persona: str) -> list[PlaceCount]:
    """Return how many messages, memories and diary entries stand where, most first."""
    a = audiences.c
    counted = union_all(
        *(
            select(table.c.audience_id, func.count().label("held"))
            .where(table.c.persona_id == persona)
            .group_by(table.c.audience_id)
            for table in (chat_history_cache, memories, ai_diary)
        )
    ).subquery()
    statement = (
        select(a.kind, a.server_id, func.sum(counted.c.held).label("held"))
        .select_from(audiences.join(counted, counted.c.audience_id == a.audience_id))
        .where(a.persona_id == persona)
        .group_by(a.kind, a.server_id)
    )
    rows = db.read(statement, source="audiences")
    return sorted((PlaceCount(row.kind, row.server_id, int(row.held)) for row in rows), key=lambda one: -one.rows)


def list_keys(db: Database, persona: str, kind: str) -> list[str]:
    """Return the keys of people, conversations or servers that are known, at most MOST_KEYS."""
    column, table = {
        "participant": (participants.c.participant_key, participants),
        "conversation": (conversations.c.conversation_key, conversations),
        "server": (conversations.c.server_id, conversations),
    }[kind]
    chosen = select(column).where(table.c.persona_id == persona).distinct().order_by(column).limit(MOST_KEYS)
    return [str(row[0]) for row in db.read(chosen, source=table.name) if row[0]]
