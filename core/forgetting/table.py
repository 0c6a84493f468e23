"""Forgetting a participant, a conversation, a memory: everything in one transaction, counted per table.

What is theirs is found and held first (`forgetting_finding`). Then, in this order: what others keep of it, the stories
made of it, the rows themselves, and at the end what many rows share: counts of the index, tags, words.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, and_, delete, or_, select

from ..audience import table_conversations as conversations
from ..audience.rules import split_key
from ..database.bulk import chunks
from ..database.engine import Database
from ..database.registry import REGISTRY
from ..database.rows import short_interface
from ..database.schema import (
    ai_diary,
    audiences,
    chat_history_cache,
    memories,
    participants,
    search_count,
    search_stats,
    search_tag,
    search_term,
    search_vocab,
)
from ..database.schema import conversations as conversation_table
from ..database.schema_lifelong import archived_memories, consolidation_runs, relationship_log, user_relationships
from ..database.schema_recent import conversation_summaries, short_term_memories
from ..database.schema_stories import memory_jobs
from ..database.sources import AI_DIARY, CHAT
from . import (
    table_items as forgetting_items,
)
from . import (
    table_quotes as forgetting_quotes,
)
from . import (
    table_stories as forgetting_stories,
)
from . import (
    table_targets as forgetting_finding,
)
from . import (
    table_words as forgetting_words,
)
from .rules import Person
from .table_rows import AT_ONCE, Removal

Kind = Literal["participant", "conversation", "memory"]
_M, _D, _K = memories.c, ai_diary.c, conversation_table.c
_Z, _S, _J = conversation_summaries.c, short_term_memories.c, memory_jobs.c


@dataclass(frozen=True, slots=True)
class Target:
    """What is forgotten."""

    kind: Kind
    key: str | int
    """Participant key, conversation key, or id of a memory item."""


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
    words: tuple[str, ...] = ()
    """Words that left the vocabulary."""


class _DryRunError(Exception):
    """Ends a transaction that only counts."""

    def __init__(self, done: Done) -> None:
        super().__init__()
        self.done = done


def forget(db: Database, persona: str, target: Target, *, dry_run: bool = False) -> Done:
    """Delete everything of a person, a conversation or an item, and return the counts.

    Args:
        dry_run: do it and take it back: the same counts, nothing changed.

    Raises:
        StoreWriteError: nothing was changed.
    """

    def work(connection: Connection) -> Done:
        removal = Removal(connection, db, persona)
        if target.kind == "participant":
            people, gone = _participant(removal, str(target.key))
        elif target.kind == "conversation":
            people, gone = frozenset[str](), _conversation(removal, str(target.key))
        else:
            items = forgetting_items.with_former(removal, removal.ids(_M.id, _M.id == int(target.key)))
            forgetting_items.remove(removal, items)
            people = gone = frozenset()
        words = finish(removal, thoroughly=target.kind != "memory")
        counts = {entry.table: removal.counts[entry.table] for entry in REGISTRY}
        done = Done(counts, removal.operations, people, gone, frozenset(removal.items), tuple(words))
        if dry_run:
            raise _DryRunError(done)
        return done

    try:
        return db.transaction(work, source="forgetting", confirm=lambda _: None)
    except _DryRunError as counted:
        return counted.done


def late(db: Database, persona: str, target: Target, people: Collection[str], cutoff: int) -> Done | None:
    """Delete what was being written when a person or conversation was forgotten, None where there is nothing.

    Args:
        people: participant keys that were forgotten.
        cutoff: rows with ids below it were begun before.
    """

    def work(connection: Connection) -> Done | None:
        removal = Removal(connection, db, persona)
        if target.kind == "participant":
            found = forgetting_finding.messages_of(connection, persona, people)
            items = removal.ids(_M.id, _M.participant_key.in_(sorted(people)), _M.id < cutoff)
        else:
            found = forgetting_finding.messages_in(connection, persona, {str(target.key)}, ())
            items = removal.ids(_M.id, _M.conversation_key == str(target.key), _M.id < cutoff)
        messages = {row: key for row, key in found.items() if row < cutoff}
        if not messages and not items:
            return None
        forgetting_finding.hold(connection, persona, set(messages.values()))
        _messages(removal, messages, ())
        forgetting_items.remove(removal, items, messages.keys())
        removal.rows(CHAT, messages)
        words = finish(removal, thoroughly=False)
        return Done(dict(removal.counts), removal.operations, words=tuple(words))

    return db.transaction(work, source="forgetting", confirm=lambda _: None)


def remove_items(removal: Removal, ids: Collection[int]) -> None:
    """Delete items with their former versions and what was made of them, within the caller's transaction."""
    forgetting_items.remove(removal, forgetting_items.with_former(removal, ids))
    finish(removal, thoroughly=False)


def finish(removal: Removal, *, thoroughly: bool) -> list[str]:
    """Settle what many rows share, and return the words that left the vocabulary.

    Args:
        thoroughly: words of texts that were changed or deleted before too.
    """
    if not +removal.counts:
        return []
    removal.settle()
    if thoroughly:
        words = sorted(forgetting_words.orphans(removal.connection))
        rows = forgetting_words.remove(removal.connection, words)
    else:
        rows, words = forgetting_words.forget(removal.connection, removal.words)
    removal.counts[search_vocab.name] += rows
    return words


# A participant


def _participant(removal: Removal, participant: str) -> tuple[frozenset[str], frozenset[str]]:
    """Delete what is a person's, and return the keys of their identities and of their direct conversations."""
    connection, persona = removal.connection, removal.persona
    person, direct = forgetting_finding.person(connection, persona, participant)
    keys = sorted(person.keys)
    rooms = forgetting_finding.direct_audiences(connection, persona, keys)
    messages = forgetting_finding.messages_of(connection, persona, keys)
    messages |= forgetting_finding.messages_in(connection, persona, direct, rooms)
    # 1. what others keep of them
    forgetting_quotes.replies(removal, person, messages.keys())
    _diary_of_places(removal, direct, rooms)
    forgetting_quotes.diary(removal, person)
    forgetting_quotes.short_term(removal, keys)
    # 2. what was made of their lines
    _operations(removal, person, direct, messages)
    _messages(removal, messages, direct)
    _of_audiences(removal, rooms)
    items = removal.ids(_M.id, or_(_M.participant_key.in_(keys), _M.audience_id.in_(sorted(rooms))))
    for part in chunks(sorted(direct), AT_ONCE):
        items |= removal.ids(_M.id, _M.conversation_key.in_(part))
    forgetting_items.remove(removal, items, messages.keys())
    # 3. the rows
    removal.rows(CHAT, messages)
    _summaries(removal, messages, direct)
    for key in sorted(direct):
        _whole(removal, key)
    removal.delete_in(relationship_log, relationship_log.c.user_id, keys)
    removal.delete_in(user_relationships, user_relationships.c.user_id, keys)
    removal.delete_in(participants, participants.c.participant_key, keys)
    _audiences(removal, rooms | forgetting_finding.audiences_of(connection, persona, "conversation", direct))
    return person.keys, frozenset(direct)


def _operations(removal: Removal, person: Person, direct: Collection[str], messages: dict[int, str]) -> None:
    """Delete the operations about a person, their messages and their conversations; clean the others."""
    elsewhere = set(messages.values()) - set(direct)
    removal.delete_in(memory_jobs, _J.participant_key, person.keys)
    removal.delete_in(memory_jobs, _J.conversation_key, direct)
    about = forgetting_stories.waiting_recaps(removal, elsewhere, messages.keys())
    removal.delete_in(memory_jobs, _J.id, about)
    forgetting_quotes.operations(removal, person.keys, elsewhere, messages.keys())


def _messages(removal: Removal, messages: dict[int, str], whole: Collection[str]) -> None:
    """Delete what lies on messages and what was made of them in their conversations, those that go whole left out."""
    by_key = _by_key(messages)
    for key in sorted(set(by_key) - set(whole)):
        forgetting_stories.without_messages(removal, key, by_key[key])
    firsts = {key: min(rows) for key, rows in by_key.items()} | dict.fromkeys(whole, 0)
    forgetting_stories.brought_from(removal, firsts)
    forgetting_stories.of_messages(removal, messages.keys())


def _by_key(messages: dict[int, str]) -> dict[str, set[int]]:
    """Return conversation to messages."""
    made: dict[str, set[int]] = {}
    for row, key in messages.items():
        made.setdefault(key, set()).add(row)
    return made


def _summaries(removal: Removal, messages: dict[int, str], whole: Collection[str]) -> None:
    by_key = _by_key(messages)
    for key in sorted(set(by_key) - set(whole)):
        forgetting_items.summaries(removal, key, by_key[key])


# A conversation


def _conversation(removal: Removal, key: str) -> frozenset[str]:
    """Delete a conversation with everything made of it, and return its key."""
    connection, persona = removal.connection, removal.persona
    forgetting_finding.hold(connection, persona, [key])
    messages = forgetting_finding.messages_in(connection, persona, {key}, ())
    removal.delete(memory_jobs, _J.conversation_key == key)
    _messages(removal, messages, {key})
    _diary_of_places(removal, {key}, ())
    forgetting_items.remove(removal, removal.ids(_M.id, _M.conversation_key == key), messages.keys())
    removal.rows(CHAT, messages)
    _whole(removal, key)
    _audiences(removal, forgetting_finding.audiences_of(connection, persona, "conversation", {key}))
    return frozenset({key})


def _whole(removal: Removal, key: str) -> None:
    """Delete what stands under a conversation's key, its row at the end."""
    forgetting_stories.of_conversation(removal, key)
    forgetting_items.all_summaries(removal, _Z.conversation_key == key)
    removal.delete(short_term_memories, _S.channel_id == key)
    removal.delete(memory_jobs, _J.conversation_key == key)
    removal.delete(consolidation_runs, consolidation_runs.c.conversation_key == key)
    removal.delete(conversation_table, _K.conversation_key == key)


def _diary_of_places(removal: Removal, keys: Collection[str], rooms: Collection[int]) -> None:
    """Delete the diary entries of conversations and audiences."""
    ids: set[int] = set()
    for part in chunks(sorted(rooms), AT_ONCE):
        ids |= removal.ids(_D.id, _D.audience_id.in_(part))
    for key in sorted(keys):
        interface, chat, thread = split_key(key)
        facts = conversations.find(removal.connection, removal.persona, key)
        names = sorted({interface, short_interface(interface)})
        here = and_(_D.interface.in_(names), _D.chat_id == chat, _D.thread_id == thread)
        ids |= removal.ids(_D.id, here, *(() if facts is None else (_D.audience_id == facts.audience_id,)))
    removal.rows(AI_DIARY, ids)


# Audiences


def _of_audiences(removal: Removal, rooms: Collection[int]) -> None:
    """Delete what stands in audiences that go, and in no conversation."""
    for part in chunks(sorted(rooms), AT_ONCE):
        forgetting_items.all_summaries(removal, _Z.audience_id.in_(part))
        removal.delete(short_term_memories, _S.audience_id.in_(part))
        removal.delete(archived_memories, archived_memories.c.audience_id.in_(part))


def _audiences(removal: Removal, rooms: Collection[int]) -> None:
    """Delete audiences no row stands in any more, with what the search tables hold of them."""
    connection, persona = removal.connection, removal.persona
    used = (conversation_table, chat_history_cache, memories, ai_diary, conversation_summaries, short_term_memories)
    for room in sorted(rooms):
        held: Any = [
            select(table.c.audience_id).where(table.c.persona_id == persona, table.c.audience_id == room).limit(1)
            for table in used
        ]
        if any(connection.execute(each).first() is not None for each in held):
            continue
        for table in (search_tag, search_term, search_count, search_stats):
            gone = connection.execute(delete(table).where(table.c.audience_id == room))
            # What went with its row was counted with it.
            removal.counts[table.name] += int(gone.rowcount) if table in (search_tag, search_term) else 0
        removal.delete(audiences, audiences.c.audience_id == room)
