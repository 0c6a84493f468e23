"""Forgetting a participant, a conversation, a memory: everything in one transaction, counted per table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, and_, delete, or_, select

from ..access import table_conversations, table_participants
from ..access.rules import split_key
from ..database.bulk import chunks
from ..database.engine import Database, UndoError
from ..database.registry import REGISTRY
from ..database.rows import short_interface
from ..database.schema import (
    access_tokens,
    ai_diary,
    audiences,
    chat_history_cache,
    conversation_summaries,
    memories,
    memory_jobs,
    participants,
    search_block,
    search_fresh,
    search_gone,
    search_segment,
    search_vector_gone,
    search_vector_version,
    short_term_memories,
    stored_values,
    user_relationships,
)
from ..database.schema import conversations as conversation_table
from ..database.schema_base import metadata
from ..database.sources import AI_DIARY, CHAT, SourceTable
from ..memories import table_sources
from . import table_items, table_quotes, table_stories, table_targets
from .rules import Person
from .table_rows import AT_ONCE, Removal

Kind = Literal["participant", "conversation", "memory", "server"]
_M, _D, _J = memories.c, ai_diary.c, memory_jobs.c
_Z, _S, _V = conversation_summaries.c, short_term_memories.c, stored_values.c
_BY_CONVERSATION = {
    entry.table: entry.conversation[0]
    for entry in REGISTRY
    if len(entry.conversation) == 1 and entry.table not in ("audiences", "chat_history_cache", "memories")
}
"""Table to the column with a conversation's key, where its rows go with the conversation and are in no index."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is forgotten."""

    kind: Kind
    key: str | int
    """Participant key, conversation key, id of a memory item, or id of a server."""


class Done(NamedTuple):
    """What one call came to."""

    counts: dict[str, int]
    """Every table of the registry to its rows deleted or changed."""
    operations: int = 0
    people: frozenset[str] = frozenset()
    """Participant keys that were forgotten."""
    conversations: frozenset[str] = frozenset()
    """Conversations that were forgotten whole."""
    items: frozenset[int] = frozenset()
    """Memory items that are gone."""


def forget_target(db: Database, persona: str, target: Target, *, dry_run: bool = False) -> Done:
    """Delete everything of a person, a conversation or an item, and return the counts."""

    def work(connection: Connection) -> Done:
        removal = Removal(connection, db, persona)
        if target.kind == "participant":
            people, gone = _forget_participant(removal, str(target.key))
        elif target.kind == "conversation":
            people, gone = frozenset[str](), _forget_conversation(removal, str(target.key))
        elif target.kind == "server":
            people, gone = frozenset[str](), _forget_server(removal, str(target.key))
        else:
            items = table_items.add_former_versions(removal, removal.find_ids(_M.id, _M.id == int(target.key)))
            table_sources.close_sources(connection, persona, items)
            table_items.remove_items(removal, items)
            people = gone = frozenset()
        finish(removal)
        counts = {entry.table: removal.counts[entry.table] for entry in REGISTRY}
        done = Done(counts, removal.operations, people, gone, frozenset(removal.items))
        if dry_run:
            raise UndoError(done)
        return done

    return db.repeat(work, source="forgetting")


def forget_late(db: Database, persona: str, target: Target, people: Collection[str], cutoff: int) -> Done | None:
    """Delete what was being written when a person or conversation was forgotten, None where there is nothing."""

    def work(connection: Connection) -> Done | None:
        removal = Removal(connection, db, persona)
        if target.kind == "participant":
            found = table_targets.find_messages_of(connection, persona, people)
            items = removal.find_ids(_M.id, _M.participant_key.in_(sorted(people)), _M.id < cutoff)
            values = removal.find_ids(_V.id, _V.participant_key.in_(sorted(people)), _V.id < cutoff)
        else:
            found = table_targets.find_messages_in(connection, persona, {str(target.key)}, ())
            items = removal.find_ids(_M.id, _M.conversation_key == str(target.key), _M.id < cutoff)
            values = removal.find_ids(_V.id, _V.conversation_key == str(target.key), _V.id < cutoff)
        messages = {row: key for row, key in found.items() if row < cutoff}
        if not messages and not items and not values:
            return None
        table_targets.lock_conversations(connection, persona, set(messages.values()))
        _delete_of_messages(removal, messages, ())
        table_items.remove_items(removal, items, messages.keys())
        removal.delete_in(stored_values, _V.id, values)
        removal.delete_rows(CHAT, messages)
        finish(removal)
        return Done(dict(removal.counts), removal.operations)

    return db.repeat(work, source="forgetting")


def remove_items(removal: Removal, ids: Collection[int]) -> None:
    """Delete items with their former versions and what was made of them, within the caller's transaction."""
    table_items.remove_items(removal, table_items.add_former_versions(removal, ids))
    finish(removal)


def remove_flagged(db: Database, persona: str, source: SourceTable, row_id: int) -> bool:
    """Delete one row that is in quarantine, with what was made of it; False where there is none."""
    c = source.table.c
    flagged = select(c.id).where(c.persona_id == persona, c.id == row_id, c.quarantined == 1).with_for_update()

    def work(connection: Connection) -> bool:
        removal = Removal(connection, db, persona)
        ids = removal.connection.execute(flagged).scalars().all()
        if source is AI_DIARY:
            removal.delete_rows(source, ids)
            finish(removal)
        else:
            remove_items(removal, ids)
        return bool(ids)

    return db.repeat(work, source=source.table.name)


def finish(removal: Removal) -> None:
    """Settle what many rows share: tags, and the packed parts of the index."""
    if +removal.counts:
        removal.settle_tags()
        removal.purge_index()


# A participant


def _forget_participant(removal: Removal, participant: str) -> tuple[frozenset[str], frozenset[str]]:
    """Delete what is a person's, and return the keys of their identities and of their direct conversations."""
    connection, persona = removal.connection, removal.persona
    person, direct = table_targets.find_person(connection, persona, participant)
    keys = sorted(person.keys)
    rooms = table_targets.find_direct_audiences(connection, persona, keys)
    messages = table_targets.find_messages_of(connection, persona, keys)
    messages |= table_targets.find_messages_in(connection, persona, direct, rooms)
    # 1. what others keep of them
    table_quotes.clean_replies(removal, person, messages.keys())
    _delete_diary_of(removal, direct, rooms)
    table_quotes.clean_diary(removal, person)
    table_quotes.clean_short_term(removal, keys)
    # 2. what was made of their lines
    _delete_operations(removal, person, direct, messages)
    _delete_of_messages(removal, messages, direct)
    _delete_in_audiences(removal, rooms)
    items = removal.find_ids(_M.id, or_(_M.participant_key.in_(keys), _M.audience_id.in_(sorted(rooms))))
    for part in chunks(sorted(direct), AT_ONCE):
        items |= removal.find_ids(_M.id, _M.conversation_key.in_(part))
    table_items.remove_items(removal, items, messages.keys())
    # 3. the rows
    removal.delete_rows(CHAT, messages)
    for key, rows in _parts(messages, direct).items():
        table_items.remove_summaries(removal, key, rows)
    for key in sorted(direct):
        _delete_whole(removal, key)
    removal.delete_in(stored_values, _V.participant_key, keys)
    removal.delete_in(user_relationships, user_relationships.c.user_id, keys)
    removal.delete_in(access_tokens, access_tokens.c.participant_key, keys)
    removal.delete_in(participants, participants.c.participant_key, keys)
    removal.counts["privacy_levels"] += table_participants.delete_levels(connection, keys)
    _delete_empty_audiences(removal, rooms | table_targets.find_audiences(connection, persona, "conversation", direct))
    return person.keys, frozenset(direct)


def _delete_operations(removal: Removal, person: Person, direct: Collection[str], messages: dict[int, str]) -> None:
    """Delete the operations about a person, their messages and their conversations; clean the others."""
    elsewhere = set(messages.values()) - set(direct)
    removal.delete_in(memory_jobs, _J.participant_key, person.keys)
    removal.delete_in(memory_jobs, _J.conversation_key, direct)
    about = table_stories.find_waiting(removal, elsewhere, messages.keys())
    removal.delete_in(memory_jobs, _J.id, about)
    table_quotes.clean_operations(removal, person.keys, elsewhere, messages.keys())


def _delete_of_messages(removal: Removal, messages: dict[int, str], whole: Collection[str]) -> None:
    """Delete what lies on messages and what was made of them in their conversations, those that go whole left out."""
    for key, rows in _parts(messages, whole).items():
        table_stories.delete_parts(removal, key, rows)
    table_stories.delete_beside_messages(removal, messages.keys())
    table_quotes.delete_entries_on(removal, messages.keys())


def _parts(messages: dict[int, str], whole: Collection[str]) -> dict[str, set[int]]:
    """Return conversation to messages, by key, without the conversations that go whole."""
    parts: dict[str, set[int]] = {}
    for row, key in sorted(messages.items(), key=lambda each: each[1]):
        if key not in whole:
            parts.setdefault(key, set()).add(row)
    return parts


# A conversation


def _forget_conversation(removal: Removal, key: str) -> frozenset[str]:
    """Delete a conversation with everything made of it, and return its key."""
    connection, persona = removal.connection, removal.persona
    table_targets.lock_conversations(connection, persona, [key])
    messages = table_targets.find_messages_in(connection, persona, {key}, ())
    removal.delete(memory_jobs, _J.conversation_key == key)
    _delete_of_messages(removal, messages, {key})
    _delete_diary_of(removal, {key}, ())
    table_items.remove_items(removal, removal.find_ids(_M.id, _M.conversation_key == key), messages.keys())
    removal.delete_rows(CHAT, messages)
    _delete_whole(removal, key)
    _delete_empty_audiences(removal, table_targets.find_audiences(connection, persona, "conversation", {key}))
    return frozenset({key})


def _forget_server(removal: Removal, server: str) -> frozenset[str]:
    """Delete the conversations of a server and what else stands in its audiences, and return the conversations."""
    connection, persona = removal.connection, removal.persona
    c, a = conversation_table.c, audiences.c
    keys = connection.execute(
        select(c.conversation_key).where(c.persona_id == persona, c.server_id == server).order_by(c.conversation_key)
    ).scalars()
    gone = frozenset[str]().union(*(_forget_conversation(removal, key) for key in list(keys)))
    rooms = set(
        connection.execute(select(a.audience_id).where(a.persona_id == persona, a.server_id == server)).scalars()
    )
    messages = table_targets.find_messages_in(connection, persona, (), rooms)
    items: set[int] = set()
    for part in chunks(sorted(rooms), AT_ONCE):
        items |= removal.find_ids(_M.id, _M.audience_id.in_(part))
        removal.delete(short_term_memories, _S.server_id == server)
    _delete_of_messages(removal, messages, ())
    table_items.remove_items(removal, items, messages.keys())
    removal.delete_rows(CHAT, messages)
    _delete_diary_of(removal, (), rooms)
    _delete_in_audiences(removal, rooms)
    _delete_empty_audiences(removal, rooms)
    return gone


def _delete_whole(removal: Removal, key: str) -> None:
    """Delete what the registry finds under a conversation's key, its own row too."""
    table_stories.delete_scene_recaps(removal, key)
    removal.delete(conversation_summaries, _Z.conversation_key == key)
    for name, column in _BY_CONVERSATION.items():
        table = metadata.tables[name]
        removal.delete(table, table.c[column] == key)


def _delete_diary_of(removal: Removal, keys: Collection[str], rooms: Collection[int]) -> None:
    """Delete the diary entries of conversations and audiences."""
    ids: set[int] = set()
    for part in chunks(sorted(rooms), AT_ONCE):
        ids |= removal.find_ids(_D.id, _D.audience_id.in_(part))
    for key in sorted(keys):
        interface, chat, thread = split_key(key)
        facts = table_conversations.find(removal.connection, removal.persona, key)
        names = sorted({interface, short_interface(interface)})
        here = and_(_D.interface.in_(names), _D.chat_id == chat, _D.thread_id == thread)
        ids |= removal.find_ids(_D.id, here, *(() if facts is None else (_D.audience_id == facts.audience_id,)))
    removal.delete_rows(AI_DIARY, ids)


# Audiences


def _delete_in_audiences(removal: Removal, rooms: Collection[int]) -> None:
    """Delete what stands in audiences that go, and in no conversation."""
    for part in chunks(sorted(rooms), AT_ONCE):
        removal.delete(conversation_summaries, _Z.audience_id.in_(part))
        removal.delete(short_term_memories, _S.audience_id.in_(part))
        removal.delete(stored_values, _V.audience_id.in_(part))


def _delete_empty_audiences(removal: Removal, rooms: Collection[int]) -> None:
    """Delete audiences no row stands in any more, with what the search tables hold of them."""
    connection, persona = removal.connection, removal.persona
    used = (conversation_table, chat_history_cache, memories, ai_diary, conversation_summaries, short_term_memories,
            stored_values)  # fmt: skip
    for room in sorted(rooms):
        held: Any = [
            select(table.c.audience_id).where(table.c.persona_id == persona, table.c.audience_id == room).limit(1)
            for table in used
        ]
        if any(connection.execute(each).first() is not None for each in held):
            continue
        index = (search_fresh, search_segment, search_block, search_gone)
        for table in (*index, search_vector_version, search_vector_gone):
            connection.execute(delete(table).where(table.c.audience_id == room))
        removal.delete(audiences, audiences.c.audience_id == room)
