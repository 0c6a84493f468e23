"""Lists and sets the privacy of stored conversations, and the flag `local_only` of conversations and their rows."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypedDict

from sqlalchemy import Connection, select, update

from ..access import table_conversations, table_participants
from ..access.rules import STATES, check_key, parent_key, plain_key, split_key
from ..access.table_conversations import MOVED
from ..access.view import ConversationFacts
from ..base.hints import shown
from ..database.engine import Database
from ..database.registry import FOLLOWING
from ..database.schema import chat_history_cache, conversations, privacy_levels
from ..database.sources import AI_DIARY, CHAT, MEMORIES, SourceTable
from ..errors import MessageError
from ..index import indexed
from ..scope import Privacy, Scope
from ..text.times import iso_text

_C = conversations.c


class PrivacyRow(TypedDict):
    """One row of `list_privacy`."""

    user: str
    """Key of the participant, or of a direct message's person; "" for other conversations."""
    conversation: str
    """Key of the conversation; "" for the level of a participant."""
    server: str
    privacy: str
    """A participant's level, `none`, `partial` or `full`; a conversation's privacy."""
    local_only: bool
    set_at: str
    """Time at which a level was set, ISO 8601 in UTC; "" for conversations."""


def list_privacy(db: Database, persona: str) -> list[PrivacyRow]:
    """Return privacy levels of people, then the persona's conversations that are not public or are local_only."""
    v = privacy_levels.c
    levels = select(v.participant_key, v.level, v.updated_at).order_by(v.participant_key)
    rows = [
        PrivacyRow(user=key, conversation="", server="", privacy=level, local_only=False, set_at=iso_text(at))
        for key, level, at in db.read(levels, source="privacy_levels")
    ]
    marked = select(*table_conversations.FACTS).where(_C.persona_id == persona, _C.is_private + _C.local_only > 0)
    for facts in db.read(marked.order_by(_C.conversation_key), source="conversations"):
        at = ConversationFacts(*facts)
        rows.append({
            "user": at.direct_person or "", "conversation": plain_key(at.key), "server": at.server,
            "privacy": at.privacy, "local_only": bool(at.local_only), "set_at": "",
        })  # fmt: skip
    return rows


def set_privacy(db: Database, scope: Scope, conversation: object, privacy: Privacy) -> dict[str, int]:
    """Set the privacy of a conversation and its threads and move all their rows, in one transaction."""
    if privacy not in STATES:
        what = f"privacy is {shown(privacy)}. It must be public, direct, separate or restricted."
        raise MessageError(what, fields=("privacy",))
    key = check_key(conversation)

    def work(connection: Connection) -> dict[str, int]:
        facts = table_conversations.find(connection, scope.persona, key, lock=True)
        counts = dict.fromkeys(MOVED, 0)
        if facts is None:
            return counts
        person = _find_person(connection, scope, facts) if privacy in ("direct", "separate") else None
        owner = table_participants.person_of(connection, scope.persona, "/".join(split_key(facts.key)[:2]))
        if privacy == "restricted" and facts.direct_person and owner == facts.direct_person:
            # A group's key can be its owner's id, so scopes of the owner would look for a chat with another key.
            said = f"{shown(plain_key(key))} is its user's own chat. As restricted, this user would not see it; use "
            raise MessageError(said + "separate to keep it apart from the user's other chats.", fields=("privacy",))
        return dict(table_conversations.turn(connection, db, scope.persona, facts, privacy, person)[1])

    return db.idempotent_transaction(work, source="conversations")


def _find_person(connection: Connection, scope: Scope, facts: ConversationFacts) -> str | None:
    """Return a direct conversation's person: the stored person, else the speaker in its key, else its only speaker."""
    if facts.direct_person:
        return facts.direct_person
    c = chat_history_cache.c
    said = (c.persona_id == scope.persona, c.interface_path == facts.key)
    spoke = select(c.participant_key).where(*said, c.participant_key.is_not(None))
    owner = "/".join(split_key(facts.key)[:2])
    matches = connection.execute(spoke.where(c.participant_key == owner).limit(1)).scalars().all()
    matches = matches or connection.execute(spoke.distinct().limit(2)).scalars().all()
    return table_participants.person_of(connection, scope.persona, matches[0]) if len(matches) == 1 else None


def set_local_only(db: Database, scope: Scope, conversation: object, local: bool, *, items: bool) -> dict[str, int]:
    """Set or clear local_only on a conversation, its threads and all their rows, in one transaction."""
    key = check_key(conversation)

    def work(connection: Connection) -> dict[str, int]:
        counts: Counter[str] = Counter(dict.fromkeys(MOVED, 0))
        facts = table_conversations.find(connection, scope.persona, key, lock=True)
        if facts is None and local and scope.conversation == key:
            facts = table_conversations.ensure(connection, db, scope).facts
        if facts is None:
            return dict(counts)
        for each in [facts, *_threads(connection, scope.persona, facts, local)]:
            counts.update(_mark_conversation(connection, db, scope.persona, each, local, items=local or items))
        return dict(counts)

    return db.idempotent_transaction(work, source="conversations")


def _threads(connection: Connection, persona: str, parent: ConversationFacts, local: bool) -> list[ConversationFacts]:
    """Lock and return the threads whose local_only changes with `parent`, except direct messages of another person."""
    if parent_key(parent.key) is not None:
        return []
    matches = table_conversations.hold_threads(connection, persona, parent.key)
    if local:
        return [t for t in matches if not table_conversations.is_of_another(parent.direct_person, t.direct_person)]
    return [t for t in matches if not t.direct_person or t.direct_person == parent.direct_person]


def _mark_conversation(
    connection: Connection, db: Database, persona: str, facts: ConversationFacts, local: bool, *, items: bool
) -> dict[str, int]:
    counts = dict.fromkeys(MOVED, 0)
    if facts.local_only != local:
        here = (_C.persona_id == persona, _C.id == facts.id)
        connection.execute(update(conversations).where(*here).values(local_only=int(local)))
        counts["conversations"] = 1
        counts[CHAT.table.name] = _mark_rows(connection, db, CHAT, persona, facts, local)
    for source in (MEMORIES, AI_DIARY) if items else ():
        counts[source.table.name] = _mark_rows(connection, db, source, persona, facts, local)
    for table, key in FOLLOWING:
        c = table.c
        if "local_only" not in c:  # its readers check the conversation
            continue
        change = update(table).where(c.persona_id == persona, key == facts.key, c.local_only == int(not local))
        counts[table.name] = connection.execute(change.values(local_only=int(local))).rowcount
    return counts


def _mark_rows(
    connection: Connection, db: Database, source: SourceTable, persona: str, facts: ConversationFacts, local: bool
) -> int:
    c: Any = source.table.c
    chosen = select(c.id).where(c.persona_id == persona, table_conversations.said_in(source, facts))
    if source is not CHAT:
        chosen = chosen.where(c.local_only == int(not local))
    ids = connection.execute(chosen).scalars().all()
    columns = {} if source is CHAT else {"local_only": int(local)}
    return indexed.set_columns(connection, db, source, persona, ids, **columns)
