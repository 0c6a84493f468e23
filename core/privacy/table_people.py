"""Privacy levels, linked identities, and all stored rows of a person."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, func, or_, select, true, update

from ..access import table as audience_table
from ..access import table_participants
from ..access.rules import SEPARATE, AudienceKey, AudienceKind, split_key
from ..access.table_conversations import FACTS, MOVED, SHARED_KINDS, relocate
from ..access.table_participants import checked_key, full_key, hold, known
from ..access.view import ConversationFacts
from ..base.hints import shown
from ..database.compiled import IDS, read_parts
from ..database.engine import Database
from ..database.registry import REGISTRY
from ..database.schema import ai_diary, chat_history_cache, conversations, memories, participants, user_relationships
from ..database.schema_base import metadata
from ..database.sources import ALL, MEMORIES, SourceTable
from ..errors import MessageError
from ..forgetting import rules, table_quotes, table_rows
from ..forgetting.table import find_entries
from ..index import indexed
from ..short_term.table import remove_person

_C, _P = chat_history_cache.c, participants.c


def set_privacy(db: Database, persona: str, named: object, level: str) -> tuple[str, dict[str, int], dict[str, int]]:
    """Set a person's privacy level; return (level that applies, counts of removed rows, counts of remaining rows)."""
    if level not in table_participants.LEVELS:
        raise MessageError(f"level is {shown(level)}. It must be none, partial or full.", fields=("level",))
    key = full_key(named)

    def work(connection: Connection) -> tuple[str, dict[str, int], dict[str, int]]:
        group = hold(connection, db, persona, [key])
        keys_of: dict[str, list[str]] = {}
        for each in sorted({*group, *table_participants.read_bare_ids(group)}):
            for name in connection.execute(select(_P.persona_id).where(_P.participant_key == each)).scalars():
                keys_of.setdefault(name, []).append(each)
        groups = {name: set(hold(connection, db, name, keys)) for name, keys in sorted(keys_of.items())}
        table_participants.set_level(connection, db, key, level)
        strictest = known(connection, persona, [key], level)[key].level
        removed: dict[str, int] = {}
        if strictest == "full":  # only key and level stay
            gone = 0
            for name, keys in groups.items():
                names = frozenset(each.display_name or "" for each in known(connection, name, keys, level).values())
                removal = table_rows.Removal(connection, db, name)
                own = removal.find_values(_C.id, _C.participant_key.in_(sorted(keys)))
                table_quotes.clean_replies(removal, rules.Person(frozenset(keys), names), own)
                nameless = update(participants).where(_P.persona_id == name, _P.participant_key.in_(sorted(keys)))
                connection.execute(nameless.values(display_name=""))
                gone += remove_person(connection, name, keys)[0]
            removed = {"short_term_memories": gone} if gone else {}
        remaining = {}
        for whose in (chat_history_cache.c.participant_key, memories.c.participant_key, user_relationships.c.user_id):
            mine = select(func.count()).where(whose.table.c.persona_id == persona, whose.in_(sorted(group)))
            remaining[whose.table.name] = int(connection.execute(mine).scalar_one())
        return strictest, removed, remaining

    return db.idempotent_transaction(work, source="participants")


def link_people(db: Database, persona: str, one: str, other: str) -> dict[str, int]:
    def work(connection: Connection) -> dict[str, int]:
        group = hold(connection, db, persona, [one, other])
        target, gone = group[one], group[other]
        if target == gone:
            return {}
        members = [key for key, person in group.items() if person == gone]
        return _assign_person(connection, db, persona, members, members, target, gone)

    return _fill_counts(db.idempotent_transaction(work, source="participants"))


def unlink_person(db: Database, persona: str, participant: object) -> dict[str, int]:
    key = full_key(participant)

    def work(connection: Connection) -> dict[str, int]:
        group = hold(connection, db, persona, [key])
        others = sorted(set(group) - {key})
        if not others:
            return {}
        person = group[key]
        # If the group has the key of the one who leaves, the others get the first of their own keys.
        keys, target = (others, others[0]) if person == key else ([key], key)
        return _assign_person(connection, db, persona, list(group), keys, target, person)

    return _fill_counts(db.idempotent_transaction(work, source="participants"))


def _fill_counts(changed: Mapping[str, int]) -> dict[str, int]:
    return {name: changed.get(name, 0) for name in ("participants", *MOVED)}


def _assign_person(
    connection: Connection, db: Database, persona: str, group: list[str], keys: list[str], target: str, person: str
) -> dict[str, int]:
    """Move identities `keys` with their private rows to person `target`; all identities of `person` are `group`."""
    c, m = conversations.c, memories.c
    everybody = set(group) <= set(keys)
    moved = update(participants).where(_P.persona_id == persona, _P.participant_key.in_(sorted(keys)))
    counts = Counter(participants=connection.execute(moved.values(person_key=target, updated_at=db.clock())).rowcount)
    new_direct = AudienceKey("direct", "", target)
    direct = audience_table.find(connection, persona, AudienceKey("direct", "", person))
    saved = audience_table.find(connection, persona, AudienceKey("saved", "", person))
    own = and_(c.direct_person_key == person, c.is_private == SEPARATE)  # a link leaves separate chats their identity
    of_person = c.audience_id == direct if everybody else or_(c.audience_id == direct, own)
    held = select(*FACTS).where(c.persona_id == persona, of_person).order_by(c.conversation_key)
    for row in connection.execute(held.with_for_update()).all():
        facts = ConversationFacts(*row)
        if (_find_identity(connection, persona, facts, group) or (group[0] if everybody else "")) not in keys:
            continue
        if facts.is_separate:  # its rows keep their audience
            stored = update(conversations).where(c.persona_id == persona, c.id == facts.id)
            counts["conversations"] += connection.execute(stored.values(direct_person_key=target)).rowcount
        else:
            home = audience_table.find_or_make(connection, db, persona, new_direct)
            new = replace(facts, direct_person=target, audience_id=home)
            counts.update(relocate(connection, db, persona, facts, new))
    whose = true() if everybody else m.participant_key.in_(sorted(keys))
    left_over: list[tuple[SourceTable, Any, AudienceKind]] = (
        [(source, source.table.c.audience_id == direct, "direct") for source in ALL]
        if everybody
        else [(MEMORIES, and_(m.audience_id == direct, m.conversation_key.is_(None), whose), "direct")]
    )
    rooms = or_(m.audience_id == saved, m.audience_id == audience_table.find(connection, persona, new_direct))
    left_over.append((MEMORIES, and_(m.kind.in_(SHARED_KINDS), rooms, whose), "saved"))
    for source, where, kind in left_over:  # rows that no conversation took along
        chosen = select(source.table.c.id).where(source.table.c.persona_id == persona, where)
        if ids := connection.execute(chosen).scalars().all():
            room = audience_table.find_or_make(connection, db, persona, AudienceKey(kind, "", target))
            counts[source.table.name] += indexed.set_columns(connection, db, source, persona, ids, audience_id=room)
    return counts


def _find_identity(connection: Connection, persona: str, facts: ConversationFacts, group: list[str]) -> str | None:
    """Return the identity in `group` that a direct conversation's messages or key name; None if this is unclear."""
    c = chat_history_cache.c
    said = (c.persona_id == persona, c.interface_path == facts.key)
    spoke = select(c.participant_key).where(*said, c.participant_key.in_(group))
    matches = list(connection.execute(spoke.distinct().limit(2)).scalars())
    if len(matches) != 1:
        interface, chat, _ = split_key(facts.key)
        own = f"{interface}/{chat}"
        matches = [own] if own in group else [key for key in group if split_key(key)[0] == interface]
    return matches[0] if len(matches) == 1 else None


_INNER = frozenset({"text_folded", "content_hash", "token_hash", "audience_id", "version"})
"""Columns left out of a person's report: internal values that mean nothing to people."""


def read_rows(db: Database, persona: str, participant: str) -> dict[str, list[dict[str, Any]]]:
    """Return, by table, the rows that name a person by any linked key, and the rows attached to them.

    Tables without such rows are left out. Diary entries are also found by the person's name, except entries of
    direct chats with somebody else. Messages include their alternatives and recaps, memories their previous texts.
    """
    key = checked_key(participant)
    identities = db.read(table_participants.select_identities(persona, key), source="participants")
    keys = sorted({key, *(str(row[0]) for row in identities)})
    matches: dict[str, list[dict[str, Any]]] = {}
    for entry in REGISTRY:
        table = metadata.tables[entry.table]
        theirs = select(table).order_by(*table.primary_key.columns)
        if entry.persona:
            theirs = theirs.where(table.c[entry.persona] == persona)
        of_keys = [table.c[name].in_(keys) for name in entry.participant]
        if table is ai_diary:
            rows = read_parts(db.read, theirs.where(table.c.id.in_(IDS)), {}, find_entries(db, persona, keys))
        elif of_keys:
            rows = list(db.read(theirs.where(or_(*of_keys)), source=entry.table))
        elif entry.row_table in matches and entry.table != "scenes":  # a scene is about more than its last message
            parents = [row["id"] for row in matches[entry.row_table]]
            rows = read_parts(db.read, theirs.where(table.c[entry.row_of].in_(IDS)), {}, parents)
        else:
            continue
        if rows:
            matches[entry.table] = [_build_row(row) for row in rows]
    return matches


def _build_row(row: Any) -> dict[str, Any]:
    shown = ((name, value) for name, value in row._mapping.items() if name not in _INNER and value is not None)
    return {str(name): _read_value(value) for name, value in shown}


def _read_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
