"""Forgetting a participant, a conversation, a memory: everything in one transaction, counted per table."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, delete, select

from ..access import table_participants
from ..database.engine import Database, RollbackError
from ..database.registry import REGISTRY
from ..database.schema import ai_diary, audiences, memories, short_term_memories
from ..database.schema_base import metadata
from ..database.sources import AI_DIARY, ALL, CHAT, SourceTable
from ..memories import table_sources
from ..short_term import table as short_term_table
from . import table_items, table_owners, table_quotes, table_stories
from .table_owners import Owner
from .table_rows import Removal

_BY_ID = {source.table.name for source in ALL}
"""Tables whose rows are in the search index: deleted by id, with their index rows."""
_TABLES = {entry: metadata.tables[entry.table] for entry in REGISTRY if entry.scoped != "none"}


class Done(NamedTuple):
    counts: dict[str, int]
    """Every table of the registry to its rows deleted or changed."""
    operations: int
    owner: Owner
    """Whose rows were forgotten; nobody's for a memory item."""


def forget_target(db: Database, persona: str, kind: str, key: str | int, *, dry_run: bool = False) -> Done:
    """Delete everything of a participant, a conversation, a server or a memory item, and return the counts."""

    def work(connection: Connection) -> Done:
        removal = Removal(connection, db, persona)
        owner = Owner()
        if kind == "memory":
            remove_items(removal, removal.find_values(memories.c.id, memories.c.id == int(key)))
        else:
            owner = table_owners.find_owner(removal, kind, str(key))
            _delete_owned(removal, owner)
            finish(removal)
        done = Done({entry.table: removal.counts[entry.table] for entry in REGISTRY}, removal.operations, owner)
        if dry_run:
            raise RollbackError(done)
        return done

    return db.idempotent_transaction(work, source="forgetting")


def forget_late(db: Database, persona: str, owner: Owner, before: int) -> Done:
    """Delete the rows with ids below `before`: what was being written when their owner was forgotten."""

    def work(connection: Connection) -> Done:
        removal = Removal(connection, db, persona)
        _delete_owned(removal, owner, before)
        finish(removal)
        return Done(dict(+removal.counts), removal.operations, owner)

    return db.idempotent_transaction(work, source="forgetting")


def remove_items(removal: Removal, ids: Collection[int]) -> None:
    """Delete items with their previous versions; nothing is made of their messages again."""
    items = table_items.add_previous_versions(removal, ids)
    table_sources.close_sources(removal.connection, removal.persona, items)
    table_items.remove_items(removal, items)
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

    return db.idempotent_transaction(work, source=source.table.name)


def finish(removal: Removal) -> None:
    """Settle what many rows share: tags, and the packed parts of the index."""
    if +removal.counts:
        removal.settle_tags()
        removal.purge_index()


def _delete_owned(removal: Removal, owner: Owner, before: int | None = None) -> None:
    """Delete an owner's rows as the registry finds them; what was made of them too, and what others keep of them."""
    messages: dict[int, str] = dict(table_owners.find_rows(removal, CHAT.table, owner, before, "interface_path"))
    items = {row for (row,) in table_owners.find_rows(removal, memories, owner, before)}
    entries = {row for (row,) in table_owners.find_rows(removal, ai_diary, owner, before)}
    staying: dict[str, set[int]] = {}
    """Conversations that stay, and the messages in them that go."""
    for row, key in messages.items():
        if key not in owner.conversations:
            staying.setdefault(key, set()).add(row)
    table_owners.lock_conversations(removal, staying)
    # 1. what others keep of a person
    if owner.person.keys and before is None:
        table_quotes.clean_replies(removal, owner.person, messages)
        table_quotes.clean_diary(removal, owner.person)
        removal.counts[short_term_memories.name] += sum(
            short_term_table.remove_person(removal.connection, removal.persona, owner.person.keys)
        )
    # 2. rows that nothing else was made of
    _delete_plain_rows(removal, owner, before)
    if messages or before is None:
        table_quotes.clean_operations(removal, owner.person.keys, staying, messages)
    # 3. what was made of the messages, and these
    for key in sorted(staying):
        table_stories.delete_parts(removal, key, staying[key])
    if messages:
        entries |= table_quotes.find_entries_on(removal, messages)
    removal.delete_rows(AI_DIARY, entries)
    table_items.remove_items(removal, items, messages)
    removal.delete_rows(CHAT, messages)
    for key in sorted(staying):
        table_items.remove_summaries(removal, key, staying[key])
    if before is not None:
        return
    # 4. what is empty now
    removal.counts["privacy_levels"] += table_participants.delete_levels(removal.connection, owner.person.keys)
    rooms = owner.audiences | table_owners.find_audiences(removal, "conversation", owner.conversations)
    _delete_empty_audiences(removal, rooms)


def _delete_plain_rows(removal: Removal, owner: Owner, before: int | None) -> None:
    """Delete the rows of all tables that are in no index, those that go with a row before it."""
    for entry, table in reversed(_TABLES.items()):
        if entry.scoped != "persona" or table is audiences or table.name in _BY_ID:
            continue
        if before is not None and ("id" not in table.c or table.name == "conversations"):
            continue  # it may have begun anew
        late = () if before is None else (table.c.id < before,)
        for condition in table_owners.build_conditions(removal, entry, owner):
            removal.delete(table, condition, *late)
        if entry.row_table and entry.row_table not in _BY_ID:
            ids = table_owners.find_rows(removal, metadata.tables[entry.row_table], owner, before)
            removal.delete_in(table, table.c[entry.row_of], {row for (row,) in ids})


def _delete_empty_audiences(removal: Removal, rooms: Collection[int]) -> None:
    """Delete audiences no row stands in any more, with what the search tables hold of them."""
    connection, persona = removal.connection, removal.persona
    tables = [table for table in _TABLES.values() if "audience_id" in table.c and table is not audiences]
    for room in sorted(rooms):
        own = [table for table in tables if "persona_id" in table.c]
        standing = (select(t.c.audience_id).where(t.c.persona_id == persona, t.c.audience_id == room) for t in own)
        if any(connection.execute(each.limit(1)).first() is not None for each in standing):
            continue
        for table in tables:
            if table not in own:
                connection.execute(delete(table).where(table.c.audience_id == room))
        removal.delete(audiences, audiences.c.audience_id == room)
