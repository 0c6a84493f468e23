"""Conversations: inserted with their first message, and moved to another audience when their privacy changes."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, and_, bindparam, case, or_, select, update

from ..database.compiled import IDS, CompiledStatement, Reader, read_parts
from ..database.dialects import Key, Time, insert_ignore
from ..database.engine import Database
from ..database.failures import DUPLICATE_KEY
from ..database.registry import FOLLOWING
from ..database.rows import short_interface
from ..database.schema import ai_diary, chat_history_cache, conversations, memories
from ..database.sources import AI_DIARY, CHAT, MEMORIES, SourceTable
from ..errors import DuplicateKeyError, MessageError
from ..index import indexed
from ..scope import NO_SERVER, Privacy, Scope
from . import rules
from . import table as audiences
from . import table_participants as participants
from .view import ConversationFacts

TITLE_CHARS = 200
SHARED_KINDS = ("saved", "instruction")
"""Kinds of memory that a person asked for; the person's private conversations share them."""
UNKNOWN_PERSON = ""
"""direct_person_key of a direct message whose person has not spoken yet; other conversations have NULL."""

MOVED = ("conversations", "chat_history_cache", "memories", "ai_diary", *(table.name for table, _ in FOLLOWING))
"""Tables whose rows move with their conversation."""


@dataclass(frozen=True, slots=True)
class AudienceRow:
    """Audience in which a row is stored, and its conversation."""

    audience_id: int
    local_only: bool = False
    facts: ConversationFacts | None = None
    """Stored conversation; None if the row belongs to no conversation, so that the whole persona sees it."""


_C = conversations.c
FACTS = (
    _C.id, _C.conversation_key, _C.audience_id, _C.server_id, _C.is_private, _C.local_only, _C.direct_person_key,
    _C.consolidated_to, _C.stories_off,
)  # fmt: skip
_ONE = and_(_C.persona_id == bindparam("persona"), _C.conversation_key == bindparam("conversation"))
_FIND = select(*FACTS).where(_ONE)
_LOCK = _FIND.with_for_update()
_FIND_AMONG = select(*FACTS).where(_C.persona_id == bindparam("persona"), _C.conversation_key.in_(IDS))


def find(connection: Connection, persona: str, conversation: str, *, lock: bool = False) -> ConversationFacts | None:
    """Return the stored row of a conversation, or None; `lock` locks it until the transaction ends."""
    row = connection.execute(_LOCK if lock else _FIND, {"persona": persona, "conversation": conversation}).first()
    return None if row is None else ConversationFacts(*row)


def find_among(read: Reader, persona: str, keys: Iterable[str]) -> dict[str, ConversationFacts]:
    rows = read_parts(read, _FIND_AMONG, {"persona": persona}, keys)
    return {facts.key: facts for facts in (ConversationFacts(*row) for row in rows)}


@lru_cache(maxsize=8)
def _touch(family: str, named: tuple[str, ...]) -> CompiledStatement:
    at = bindparam("at", type_=Time())
    newer = case((or_(_C.last_message_at.is_(None), _C.last_message_at < at), at), else_=_C.last_message_at)
    values: dict[str, Any] = {"last_message_at": newer, "status": "open", "closed_at": None}
    values |= {name: bindparam(f"new_{name}", type_=_C[name].type) for name in named}
    return CompiledStatement(update(conversations).where(_ONE).values(values), family)


def touch(
    connection: Connection, persona: str, conversation: str, at: datetime, title: str = "", server_name: str = ""
) -> bool:
    """Lock the conversation, mark it as open, and set its last time and names; return False if it is not stored."""
    values = {"persona": persona, "conversation": conversation, "at": at}
    names = {"title": title[:TITLE_CHARS], "server_name": server_name[:TITLE_CHARS]}
    names = {name: text for name, text in names.items() if text}
    values |= {f"new_{name}": text for name, text in names.items()}
    return bool(_touch(connection.dialect.name, tuple(names)).run(connection, values)[1])


def ensure(
    connection: Connection,
    db: Database,
    scope: Scope,
    *,
    sender: str | None = None,
    title: str = "",
    server_name: str = "",
    is_greeting: bool = False,
) -> AudienceRow:
    """Lock the scope's conversation until the transaction ends, inserting it if new; return the audience of its rows.

    `sender` is the speaker's id, "" if unknown; the arguments after it are those of `make`.
    """
    if scope.conversation is None:
        return AudienceRow(audiences.find_or_make(connection, db, scope.persona, rules.AudienceKey("persona")))
    facts = find(connection, scope.persona, scope.conversation, lock=True)
    if facts is None:
        new = {"title": title, "server_name": server_name}
        facts = make(connection, db, scope, sender=sender, is_greeting=is_greeting, **new)
    return settle(connection, db, scope, facts, sender=sender)


def _said(scope: Scope, sender: str | None) -> Privacy | None:
    """Return the host's privacy; else, if sender id and chat id are equal, `restricted` on a server, or `direct`."""
    is_own = rules.is_own_chat(scope.conversation, sender or scope.participant)
    return scope.privacy or (("restricted" if scope.server else "direct") if is_own else None)


def make(
    connection: Connection,
    db: Database,
    scope: Scope,
    *,
    sender: str | None = None,
    title: str = "",
    server_name: str = "",
    is_greeting: bool = False,
) -> ConversationFacts:
    """Insert the scope's conversation and return its row; parent, host and ids decide the privacy.

    `is_greeting` is true if no person speaks: the persona greets, or memories are imported. If nothing else states the
    privacy, the conversation then stays restricted until a person speaks.
    """
    key = rules.check_key(scope.conversation)
    above = rules.parent_key(key)
    parent = find(connection, scope.persona, above, lock=True) if above else None
    privacy, direct = _privacy_of_new(connection, scope, sender, parent)
    is_unstated = is_greeting and privacy == "public" and _said(scope, sender) is None
    privacy = "restricted" if is_unstated else privacy
    audience = rules.own_audience(privacy, "" if direct is not None else scope.server, key, direct)
    now = db.clock()
    is_local = parent is not None and parent.local_only and not is_of_another(parent.direct_person, direct)
    row: dict[str, Any] = {"id": db.ids.one(), "persona_id": scope.persona, "created_at": now}
    row |= dict(zip(rules.KEY_PARTS, rules.split_key(key), strict=True))
    row |= {"conversation_key": key, "parent_key": above}
    row |= {"is_private": rules.UNSTATED if is_unstated else rules.STATES[privacy], "local_only": int(is_local)}
    row |= {"server_id": audience.server, "server_name": server_name[:TITLE_CHARS], "title": title[:TITLE_CHARS]}
    row |= {"audience_id": audiences.find_or_make(connection, db, scope.persona, audience), "direct_person_key": direct}
    inserted = connection.execute(insert_ignore(conversations, db.family), row).rowcount
    facts = find(connection, scope.persona, key, lock=True)
    if facts is None:
        raise DuplicateKeyError(DUPLICATE_KEY, source="conversations")
    if inserted and facts.is_private and not is_unstated:
        _take_along(connection, db, scope.persona, facts, None)
    return facts


def _privacy_of_new(
    connection: Connection, scope: Scope, sender: str | None, parent: ConversationFacts | None
) -> tuple[Privacy, str | None]:
    """Return the privacy of a new conversation, and the person of a direct message."""
    said = _said(scope, sender)
    if said == "separate":
        return said, participants.person_of(connection, scope.persona, sender or scope.participant) or UNKNOWN_PERSON
    closed = parent if parent is not None and parent.is_private else None
    if said != "direct" and closed is None:
        return said or "public", None
    person = participants.person_of(connection, scope.persona, sender or scope.participant)
    if closed is None or (closed.direct_person and person not in (None, closed.direct_person)):
        # The parent is somebody else's direct message: this id has a slash in it and is not their thread.
        return ("direct", person or UNKNOWN_PERSON) if said == "direct" else ("restricted", None)
    if closed.direct_person is None:
        return "restricted", None
    return "direct", closed.direct_person or person or UNKNOWN_PERSON


def check_server(scope: Scope, facts: ConversationFacts) -> None:
    """Raise DuplicateKeyError if another server has inserted a room with this key; a retry chooses another key."""
    if scope.server and facts.server not in ("", scope.server) and facts.direct_person is None:
        raise DuplicateKeyError(DUPLICATE_KEY, source="conversations")


def settle(
    connection: Connection, db: Database, scope: Scope, facts: ConversationFacts, *, sender: str | None = None
) -> AudienceRow:
    """Update a stored conversation's privacy, person and server from a new message's scope; return its audience."""
    check_server(scope, facts)
    stored, who = facts, sender or scope.participant
    privacy: Privacy | None = None
    person = None
    if scope.server and not facts.server and facts.direct_person is None:
        facts = replace(facts, server=scope.server)
    if facts.is_unstated:
        if scope.privacy or scope.participant or sender is not None:
            privacy, person = _privacy_of_new(connection, scope, sender, None)
    elif not facts.is_private and scope.privacy_from == "host" and scope.privacy not in (None, "public"):
        privacy = scope.privacy
    elif (facts.is_private and facts.direct_person == UNKNOWN_PERSON and who) or facts != stored:
        privacy = facts.privacy
    if privacy in ("direct", "separate") and person is None:
        person = participants.person_of(connection, scope.persona, who)
    if privacy is not None:
        facts = turn(connection, db, scope.persona, facts, privacy, person)[0]
    return AudienceRow(facts.audience_id, facts.local_only, facts)


def choose_place(connection: Connection, db: Database, scope: Scope, place: AudienceRow, kind: str) -> AudienceRow:
    """Return the audience for a new memory; a person's private conversations share memories of SHARED_KINDS."""
    person = None if place.facts is None else place.facts.direct_person
    if kind not in SHARED_KINDS or not person:
        return place
    person = participants.person_of(connection, scope.persona, person) or person
    saved = rules.AudienceKey("saved", "", person)
    return replace(place, audience_id=audiences.find_or_make(connection, db, scope.persona, saved))


def list_seen(connection: Connection, persona: str, facts: ConversationFacts | None) -> list[int]:
    """Return the ids of the audiences that prompts in a conversation see; without `facts`, only the persona's."""
    keys = [rules.AudienceKey("persona")]
    if facts is not None:
        person = participants.person_of(connection, persona, facts.direct_person) or facts.direct_person
        server = "" if facts.direct_person is not None else facts.server
        keys = rules.seen_audiences(facts.privacy, server, facts.key, person)
    found = (audiences.find(connection, persona, key) for key in keys)
    return [audience_id for audience_id in found if audience_id is not None]


# Rooms of the same name on several servers: server and key together identify a conversation
#
# The first conversation stored under a name has it as its key; a scope without a server gets that one. A room of any
# other server, or without one, has a key with a mark of its server appended. Hosts never see the mark: `plain_key`
# removes it. A room for several people that was stored without a server belongs to the first server that a scope
# names for it. A room and a direct message of one key are two conversations, too.


_NAMED = select(_C.conversation_key, _C.server_id, _C.direct_person_key, _C.is_private).where(
    _C.persona_id == bindparam("persona", type_=Key(64)),
    _C.conversation_key.in_(bindparam("keys", expanding=True, type_=Key(512))),
)


def resolve_scope(db: Any, scope: Scope) -> Scope:
    """Return the scope with the stored key of its conversation."""
    if scope.conversation is None or not isinstance(db, Database):
        return scope
    key = resolve_key(db.read, scope, scope.conversation)
    return scope if key == scope.conversation else replace(scope, conversation=key)


def resolve_key(read: Reader, scope: Scope, key: str) -> str:
    """Return the stored key of a conversation on the scope's server."""
    if scope.conversation is not None and key == rules.plain_key(scope.conversation) != scope.conversation:
        return scope.conversation
    interface, chat, _ = rules.split_key(key)
    room = f"{interface}/{chat}"
    is_own = scope.conversation in (None, key)
    said = scope.privacy if is_own else None
    # A channel or group may have the id of its owner, whose direct messages then have the same key. What the host says
    # decides which it is, then the server.
    is_room = said in ("public", "restricted")
    is_theirs = scope.participant == room and not (is_own and scope.server)
    is_direct = not is_room and (said is not None or is_theirs or (is_own and scope.no_server))
    server = NO_SERVER if is_direct else scope.server
    if not (server or is_room) or (rules.SERVER_MARK in key and server in ("", NO_SERVER)):
        return key
    marked = rules.mark_server(rules.plain_key(key), server)
    if rules.SERVER_MARK in key:
        if key != marked:
            raise MessageError("The conversation key holds a control character. Remove it.", fields=("conversation",))
        return key
    room_marked = rules.mark_server(room, server)
    values = {"persona": scope.persona, "keys": sorted({key, marked, room, room_marked})}
    owners = {row[0]: _owner(row) for row in read(_NAMED, values)}
    held = owners.get(key, owners.get(room))
    if is_direct and held == "" and scope.privacy_from != "host":
        return key if scope.privacy_from == "ids" else marked
    if marked in owners or (room_marked in owners and key not in owners):
        return marked
    held = held or ""
    if is_direct:
        fits = held in ("", NO_SERVER) or (held == _CLOSED and scope.participant != room)
    elif held == NO_SERVER:  # a thread of a direct message stays one, unless it is on a server
        fits = not server and key not in owners
    else:
        fits = held in ("", _CLOSED, server) or not (server or scope.no_server)
    return key if fits else marked


_CLOSED = "\x00"
"""Owner of the key of a restricted room without a server; no server has this id."""


def _owner(row: Any) -> str:
    """Return the owner of a conversation key: its server id, else NO_SERVER (direct), _CLOSED (restricted) or ""."""
    if row.server_id or row.direct_person_key is not None:
        return row.server_id or NO_SERVER  # a server's room that was made direct stays the server's
    return _CLOSED if row.is_private == rules.STATES["restricted"] else ""


# Moving conversations between audiences


def turn(
    connection: Connection, db: Database, persona: str, facts: ConversationFacts, privacy: Privacy, person: str | None
) -> tuple[ConversationFacts, Counter[str]]:
    """Change the privacy of a conversation and its threads, moving their rows; return (new row, counts per table)."""
    direct = (person or UNKNOWN_PERSON) if privacy in ("direct", "separate") else None
    key = rules.own_audience(privacy, "" if direct is not None else facts.server, facts.key, direct)
    audience_id = audiences.find_or_make(connection, db, persona, key)
    new = replace(facts, audience_id=audience_id, state=rules.STATES[privacy], direct_person=direct)
    counts = relocate(connection, db, persona, facts, new)
    counts.update(_take_along(connection, db, persona, new, facts.direct_person))
    return new, counts


def relocate(
    connection: Connection, db: Database, persona: str, old: ConversationFacts, new: ConversationFacts
) -> Counter[str]:
    """Replace a conversation's row `old` by `new`, and move its rows to the new audience; return counts per table."""
    counts = Counter(dict.fromkeys(MOVED, 0))
    if new == old:
        return counts
    columns = {"server_id": new.server, "is_private": new.state, "direct_person_key": new.direct_person}
    change = update(conversations).where(_C.persona_id == persona, _C.id == old.id)
    connection.execute(change.values(audience_id=new.audience_id, **columns))
    counts["conversations"] = 1
    shared = audiences.find(connection, persona, rules.AudienceKey("saved", "", new.direct_person or ""))
    homes = [home for home in (new.audience_id, shared) if home is not None]
    for source in (CHAT, MEMORIES, AI_DIARY):
        r = source.table.c
        here = select(r.id).where(r.persona_id == persona, said_in(source, old), r.audience_id.not_in(homes))
        ids = connection.execute(here).scalars().all()
        moved = indexed.set_columns(connection, db, source, persona, ids, audience_id=new.audience_id)
        counts[source.table.name] = moved
    for table, key in FOLLOWING:
        c = table.c
        follow = update(table).where(c.persona_id == persona, key == new.key, c.audience_id != new.audience_id)
        counts[table.name] = connection.execute(follow.values(audience_id=new.audience_id)).rowcount
    return counts


def said_in(source: SourceTable, facts: ConversationFacts) -> Any:
    """Return the SQL condition that selects a conversation's rows in the table of `source`."""
    if source is CHAT:
        return chat_history_cache.c.interface_path == facts.key
    if source is MEMORIES:
        return memories.c.conversation_key == facts.key
    interface, chat, thread = rules.split_key(facts.key)
    d = ai_diary.c
    names = sorted({interface, short_interface(interface)})
    return and_(d.interface.in_(names), d.chat_id == chat, d.thread_id == thread, d.audience_id == facts.audience_id)


def hold_threads(connection: Connection, persona: str, above: str) -> list[ConversationFacts]:
    """Lock the threads of the conversation `above`, and return them in the order of their keys."""
    room, key = rules.plain_key(above), _C.conversation_key
    in_room = and_(key >= f"{room}/", key < f"{room}0")  # `0` is the character after the slash
    below = select(*FACTS).where(_C.persona_id == persona, in_room, _C.parent_key == above)
    rows = connection.execute(below.order_by(_C.conversation_key).with_for_update())
    return [ConversationFacts(*row) for row in rows]


def is_of_another(parent: str | None, thread: str | None) -> bool:
    """Return whether the people of two direct messages, `parent` and `thread`, are both known and differ."""
    return bool(parent and thread and parent != thread)


def _take_along(
    connection: Connection, db: Database, persona: str, parent: ConversationFacts, previous: str | None
) -> Counter[str]:
    """Move threads with the parent, except separate chats, other servers' rooms, chats not with person `previous`."""
    counts = Counter(dict.fromkeys(MOVED, 0))
    if rules.parent_key(parent.key) is not None:
        return counts
    for thread in hold_threads(connection, persona, parent.key):
        own, theirs = ((each.privacy, each.direct_person, each.server) for each in (thread, parent))
        is_other_room = thread.server not in ("", parent.server)
        is_with_other = thread.direct_person and thread.direct_person != previous
        if not (own == theirs or is_other_room or is_with_other or thread.is_separate):
            on_server = replace(thread, server=parent.server)
            counts.update(turn(connection, db, persona, on_server, parent.privacy, parent.direct_person)[1])
    return counts
