"""Delete a participant, a conversation, a server or a memory in one transaction, and count rows per table."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, bindparam, delete, literal, select

from ..access import table as audience_table
from ..access import table_conversations, table_participants, tombstones
from ..base.groups import group
from ..database.compiled import chunks
from ..database.engine import Database, RollbackError
from ..database.registry import BY_TABLE, REGISTRY, Registered
from ..database.schema import audiences, conversations, message_recaps, participants, user_relationships
from ..database.schema_base import metadata
from ..database.sources import AI_DIARY, ALL, CHAT, MEMORIES, WITHDRAWN, SourceTable
from ..index import indexed
from ..memories import table_sources
from ..short_term import table as short_term_table
from . import table_items, table_quotes, table_stories
from .rules import Person
from .table_rows import Removal

_BY_ID = {source.table.name for source in ALL}
"""Tables that the search index covers; their rows are deleted by id, with their index rows."""
_TABLES = {entry: metadata.tables[entry.table] for entry in REGISTRY if entry.persona}
_PARTICIPANTS = [table.c[key] for each, table in _TABLES.items() if table is not audiences for key in each.participant]
_P, _K, _A = participants.c, conversations.c, audiences.c
_NAMES = (
    (_P.display_name, _P.participant_key),
    (CHAT.table.c.sender_name, CHAT.table.c.participant_key),
    (user_relationships.c.username, user_relationships.c.user_id),
    (user_relationships.c.realname, user_relationships.c.user_id),
)
"""Columns with names of people, each with the column of the person's key."""
NOBODY = Person(frozenset())


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of the rows to delete: a person (with direct conversations), a conversation or a server."""

    person: Person = NOBODY
    conversations: frozenset[str] = frozenset()
    audiences: frozenset[int] = frozenset()


class Done(NamedTuple):
    counts: dict[str, int]
    """Number of rows deleted or changed, for every table of the registry."""
    operations: int
    owner: Owner
    """Owner of the deleted rows; an owner without keys if a memory item was deleted."""
    shown: frozenset[str] = frozenset()
    """Deleted rows, as `source number/id`; answers whose prompts contained them are withdrawn."""


def forget_target(db: Database, persona: str, kind: str, key: str | int, *, dry_run: bool = False) -> Done:

    def delete_target(removal: Removal) -> Owner:
        if kind == "memory":
            remove_items(removal, removal.find_values(MEMORIES.table.c.id, MEMORIES.table.c.id == int(key)))
            return Owner()
        owner = find_owner(removal, kind, str(key))
        removal.note_gone()
        _delete_owned(removal, owner)
        if +removal.counts:
            people, conversations = owner.person.keys, owner.conversations
            tombstones.keep(removal.connection, db, persona, people=people, conversations=conversations)
        return owner

    return _run(db, persona, delete_target, dry_run=dry_run)


def forget_late(db: Database, persona: str, owner: Owner, before: int) -> Done:
    """Delete an owner's rows with ids below `before`, which other writers stored while the deletion was running."""

    def delete_late(removal: Removal) -> Owner:
        _delete_rows(removal, owner, _find_owned(removal, owner, before), before)
        return owner

    return _run(db, persona, delete_late)


def _run(db: Database, persona: str, delete_rows: Callable[[Removal], Owner], *, dry_run: bool = False) -> Done:
    def work(connection: Connection) -> Done:
        removal = Removal(connection, db, persona)
        owner = delete_rows(removal)
        finish(removal)
        counts = {entry.table: removal.counts[entry.table] for entry in REGISTRY}
        done = Done(counts, removal.operations, owner, frozenset(removal.shown))
        if dry_run:
            raise RollbackError(done)
        return done

    return db.idempotent_transaction(work, source="forgetting")


def is_on_interface(db: Database, persona: str, bare_id: str) -> bool:
    for key in _PARTICIPANTS:
        same = table_participants.build_own_id(key) == bare_id, key != bare_id
        chosen = select(literal(1)).where(key.table.c.persona_id == persona, *same).limit(1)
        if db.read(chosen, source=key.table.name):
            return True
    return False


def remove_items(removal: Removal, ids: Collection[int]) -> None:
    """Delete memory items with their previous versions; their source messages are not consolidated again."""
    items = table_items.add_previous_versions(removal, ids)
    table_sources.close_sources(removal.connection, removal.persona, items)
    table_items.remove_items(removal, items)
    _withdraw_answers(removal, {MEMORIES: items})


def finish(removal: Removal) -> None:
    """Update the counts of tags and the index segments, which deleted rows share with other rows."""
    if +removal.counts:
        removal.settle_tags()
        removal.purge_index()


class Owned(NamedTuple):
    """Messages, items and diary entries of an owner, which are deleted with everything made from them."""

    messages: dict[int, str]
    """Conversation key of each message, by the message's row id."""
    names: dict[str, set[str]]
    """Platform ids of these messages, by conversation key."""
    items: set[int]
    entries: set[int]
    staying: dict[str, set[int]]
    """Row ids of these messages, by key of each conversation that is not deleted itself."""


def _find_owned(removal: Removal, owner: Owner, before: int | None = None) -> Owned:
    """Return an owner's rows (if `before` is given, rows with smaller ids), and lock conversations that stay."""
    owned = Owned({}, {}, set(), set(), {})
    for row, key, name in find_rows(removal, CHAT.table, owner, before, "interface_path", "message_id"):
        owned.messages[row] = key
        if name:
            owned.names.setdefault(key, set()).add(name)
        if key not in owner.conversations:
            owned.staying.setdefault(key, set()).add(row)
    owned.items.update(row for (row,) in find_rows(removal, MEMORIES.table, owner, before))
    owned.entries.update(row for (row,) in find_rows(removal, AI_DIARY.table, owner, before))
    lock_conversations(removal, owned.staying)
    return owned


def _delete_owned(removal: Removal, owner: Owner) -> None:
    """Delete an owner's rows, the rows made from them, and mentions of a person in other people's rows."""
    owned = _find_owned(removal, owner)
    cleaned: set[int] = set()
    if owner.person.keys:
        table_quotes.clean_replies(removal, owner.person, owned.messages)
        cleaned = table_quotes.clean_diary(removal, owner.person)
        counts = short_term_table.remove_person(removal.connection, removal.persona, owner.person.keys)
        removal.counts[short_term_table.SOURCE] += sum(counts)
    _delete_rows(removal, owner, owned, cleaned=cleaned)
    removal.counts["privacy_levels"] += table_participants.delete_levels(removal.connection, owner.person.keys)
    rooms = owner.audiences | find_audiences(removal, "conversation", owner.conversations)
    _delete_empty_audiences(removal, rooms)


def _delete_rows(
    removal: Removal, owner: Owner, owned: Owned, before: int | None = None, cleaned: Collection[int] = ()
) -> None:
    """Delete `owned` rows and rows made from them; hide answers whose prompts showed these or the entries `cleaned`."""
    messages, entries = owned.messages, set(owned.entries)
    # 1. rows from which nothing else was made
    _delete_plain_rows(removal, owner, before)
    # 2. rows made from the messages, then the messages
    for key in sorted(owned.staying):
        table_stories.delete_parts(removal, key, owned.staying[key])
    if messages or before is None:
        table_quotes.clean_operations(removal, owner.person.keys, owned.staying, messages)
    if messages:
        entries |= table_quotes.find_entries_on(removal, messages, owned.names)
    removal.delete_rows(AI_DIARY, entries)
    items = table_items.remove_items(removal, owned.items, messages, owned.names)
    removal.delete_rows(CHAT, messages)
    for key in sorted(owned.staying):
        table_items.remove_summaries(removal, key, owned.staying[key])
    _withdraw_answers(removal, {CHAT: messages, MEMORIES: items, AI_DIARY: entries | set(cleaned)})


def _withdraw_answers(removal: Removal, deleted: Mapping[SourceTable, Collection[int]]) -> None:
    names = {f"{source.number}/{row}" for source, rows in deleted.items() for row in rows}
    removal.shown |= names
    first = min((row for rows in deleted.values() for row in rows), default=0)
    hide_answers(removal, table_quotes.find_answers(removal, names, first) if names else ())


def hide_answers(removal: Removal, found: Iterable[Any]) -> None:
    """Mark answers (rows of `table_quotes.ANSWER`) as withdrawn from prompts, and delete rows made from them."""
    connection, persona = removal.connection, removal.persona
    answers = group((row.interface_path, row) for row in found)
    ids = {row.id for rows in answers.values() for row in rows}
    lock_conversations(removal, answers)
    for key, rows in sorted(answers.items()):
        own = {row.id for row in rows}
        table_stories.delete_parts(removal, key, own)
        for row in rows:
            short_term_table.reword_lines(connection, persona, key, None, row.message_text, None)
        short_term_table.drop_summaries(connection, persona, key, min(row.timestamp for row in rows))
        table_items.remove_summaries(removal, key, own)
    removal.delete_in(message_recaps, message_recaps.c.message_row, ids)
    removal.delete_rows(AI_DIARY, table_quotes.find_entries_on(removal, ids, {}))
    table_items.remove_items(removal, (), ids)
    changes = {"hidden": WITHDRAWN, "excluded": 1}
    removal.counts[CHAT.table.name] += indexed.set_columns(connection, removal.db, CHAT, persona, ids, **changes)


def _delete_plain_rows(removal: Removal, owner: Owner, before: int | None) -> None:
    """Delete an owner's rows in the tables outside the search index."""
    for entry, table in reversed(_TABLES.items()):
        if entry.persona != "persona_id" or table is audiences or table.name in _BY_ID:
            continue
        if before is not None and ("id" not in table.c or table.name == "conversations"):
            continue  # the row may be new, stored after the deletion
        late = () if before is None else (table.c.id < before,)
        for condition in build_conditions(removal, entry, owner):
            removal.delete(table, condition, *late)
        if entry.row_table and entry.row_table not in _BY_ID:
            ids = find_rows(removal, metadata.tables[entry.row_table], owner, before)
            removal.delete_in(table, table.c[entry.row_of], {row for (row,) in ids})


def _delete_empty_audiences(removal: Removal, rooms: Collection[int]) -> None:
    """Delete the audiences of `rooms` that have no rows left, and their entries in the search tables."""
    connection, persona = removal.connection, removal.persona
    tables = [table for table in _TABLES.values() if "audience_id" in table.c and table is not audiences]
    own = [table for table in tables if "persona_id" in table.c]
    for room in sorted(rooms):
        audience_table.lock(connection, persona, room)
        standing = (select(literal(1)).where(t.c.persona_id == persona, t.c.audience_id == room).limit(1) for t in own)
        if any(map(removal.read_rows, standing)):
            continue
        for table in tables:
            if table not in own:
                connection.execute(delete(table).where(table.c.audience_id == room))
        removal.delete(audiences, audiences.c.audience_id == room)


def find_owner(removal: Removal, kind: str, key: str) -> Owner:
    """Find the owner (person, conversation or server) with this key, and lock its rows against other writers."""
    if kind == "participant":
        return _find_person(removal, key)
    keys, rooms = {key}, set[int]()
    if kind == "server":
        keys = removal.find_values(_K.conversation_key, _K.server_id == key)
        rooms = removal.find_values(_A.audience_id, _A.server_id == key)
    lock_conversations(removal, keys)
    return Owner(conversations=frozenset(keys), audiences=frozenset(rooms))


def _find_person(removal: Removal, participant: str) -> Owner:
    """Find a person with all linked identities, and lock their rows; repeat if other writers add rows meanwhile."""
    locked: set[str] = set()
    for _ in range(5):
        keys = _find_identities(removal, participant)
        lock_conversations(removal, more := _find_conversations(removal, keys) - locked)
        locked |= more
        mine = select(_P.participant_key).order_by(_P.participant_key).with_for_update()
        removal.read_in(mine, _P.participant_key, keys)
        if _find_identities(removal, participant) == keys and _find_conversations(removal, keys) <= locked:
            break
    return Owner(_read_person(removal, keys), *_find_direct(removal, keys))


def _read_person(removal: Removal, keys: Collection[str]) -> Person:
    names = {name for column, whose in _NAMES for name in _find_in(removal, column, whose, keys) if name.strip()}
    is_known = any(removal.read_in(select(literal(1)).limit(1), column, keys) for column in _PARTICIPANTS)
    return Person(frozenset(keys), frozenset(names), is_known)


def find_entries(db: Database, persona: str, keys: Collection[str]) -> list[int]:
    """Return the ids of diary entries that name the person with `keys`, except in direct chats with somebody else."""
    with db.connection(source=AI_DIARY.table.name) as connection:
        removal = Removal(connection, db, persona)
        entries = table_quotes.find_entries(removal, _read_person(removal, keys))
        return [row.id for row, _, _, is_of_other in entries if not is_of_other]


def _find_identities(removal: Removal, participant: str) -> set[str]:
    who = _find_in(removal, _P.person_key, _P.participant_key, {participant}) or {participant}
    keys = {participant, *who, *_find_in(removal, _P.participant_key, _P.person_key, who)}
    return keys | table_participants.read_bare_ids(keys)


def _find_conversations(removal: Removal, keys: Collection[str]) -> set[str]:
    places = set(_find_direct(removal, keys)[0])
    for entry in REGISTRY:
        if entry.table != audiences.name and len(entry.conversation) == 1:
            c = metadata.tables[entry.table].c
            for name in entry.participant:
                places |= _find_in(removal, c[entry.conversation[0]], c[name], keys)
    return places


def _find_direct(removal: Removal, keys: Collection[str]) -> tuple[frozenset[str], frozenset[int]]:
    """Return (a person's direct conversations, the audiences of these conversations and of the saved memories)."""
    rooms = find_audiences(removal, "direct", keys) | find_audiences(removal, "saved", keys)
    by_person = _find_in(removal, _K.conversation_key, _K.direct_person_key, keys)
    return frozenset(by_person | _find_in(removal, _K.conversation_key, _K.audience_id, rooms)), rooms


def find_audiences(removal: Removal, kind: str, refs: Collection[str]) -> frozenset[int]:
    return frozenset(_find_in(removal, _A.audience_id, _A.ref, refs, _A.kind == bindparam("kind", kind)))


def _find_in(removal: Removal, column: Any, by: Any, values: Collection[Any], *where: Any) -> set[Any]:
    return {row[0] for row in removal.read_in(select(column).where(*where), by, values)} - {None}


def lock_conversations(removal: Removal, keys: Iterable[str]) -> None:
    mine = select(_K.id).order_by(_K.conversation_key).with_for_update()
    removal.read_in(mine, _K.conversation_key, keys)


def find_rows(removal: Removal, table: Table, owner: Owner, before: int | None, *more: str) -> set[tuple[Any, ...]]:
    """Return (id, columns `more`) of an owner's rows in a table; if `before` is given, only rows with smaller ids."""
    late = () if before is None else (table.c.id < before,)
    chosen = select(table.c.id, *(table.c[name] for name in more)).where(table.c.persona_id == removal.persona, *late)
    conditions = build_conditions(removal, BY_TABLE[table.name], owner)
    return {tuple(row) for where in conditions for row in removal.read_rows(chosen.where(where))}


def build_conditions(removal: Removal, entry: Registered, owner: Owner) -> Iterator[Any]:
    c = metadata.tables[entry.table].c
    by_keys: list[tuple[Iterable[str], Iterable[Any]]] = [(entry.participant, owner.person.keys)]
    by_keys.append((("audience_id",) if "audience_id" in c else (), owner.audiences))
    if entry.table == AI_DIARY.table.name:  # the table names the parts of a conversation's key, which include no server
        rooms = (table_conversations.find(removal.connection, removal.persona, key) for key in owner.conversations)
        yield from (table_conversations.said_in(AI_DIARY, facts) for facts in rooms if facts is not None)
    else:
        by_keys.append((entry.conversation, owner.conversations))
    for names, keys in by_keys:
        for part in chunks(sorted(keys)):
            yield from (c[name].in_(part) for name in names)
