"""Short-term entries: written after each turn, summarised, cleared, removed when they have expired."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, func, null, or_, select, update

from ..access import table_conversations, table_participants, tombstones
from ..access.rules import parent_key
from ..access.view import ConversationFacts
from ..database.dialects import Time, insert_ignore
from ..database.engine import Database
from ..database.schema import conversations, participants, privacy_levels, short_term_memories
from ..scope import Scope
from .rules import is_alive, is_expired
from .shapes import Item, Life, Place
from .table_items import NAME_CHARS, build_stored

SOURCE = "short_term_memories"
AHEAD = timedelta(minutes=5)
"""An entry of further in the future than this was written by a clock that has been set back since: it is replaced."""
AT_ONCE = 1000
"""Most expired entries removed in one transaction."""

_S = short_term_memories.c


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of one write."""

    stored: int = 0
    """Entries written: 1 or 0."""
    id: int | None = None
    reason: str = ""
    items: int = 0
    turns: int = 0
    """Turns since the last summary, this one included."""


@dataclass(frozen=True, slots=True)
class NewEntry:
    """What one persona keeps of a turn."""

    place: Place
    scope: Scope
    """Of the channel, in that persona; the participant is who spoke."""
    items: tuple[Item, ...] = ()
    """Their `who` and `answers` are participant keys."""
    at: datetime | None = None
    """Time of the turn."""


@dataclass(frozen=True, slots=True)
class HeldEntry:
    id: int
    updated: datetime | None
    summary_at: datetime | None
    turns: int
    summary: str


@dataclass(slots=True)
class Held:
    """What a writer holds until its transaction ends."""

    facts: ConversationFacts
    ranks: dict[str, int] = field(default_factory=dict)
    """Participant key to the strictest level of all linked identities, of those that are known."""
    entry: HeldEntry | None = None


# Writing


def write_entries(db: Database, entries: Sequence[NewEntry], *, life: Life, privacy_default: str) -> list[Kept]:
    """Write what each persona keeps of a turn, all of it in one transaction, and say what became of each."""
    order = sorted(range(len(entries)), key=lambda n: entries[n].scope.persona)
    begun = db.ids.one()

    def work(connection: Connection) -> list[Kept]:
        done = {n: _write_entry(connection, db, entries[n], life, privacy_default, begun) for n in order}
        return [done[n] for n in range(len(entries))]

    return db.repeat(work, source=SOURCE)


def _write_entry(connection: Connection, db: Database, new: NewEntry, life: Life, default: str, begun: int) -> Kept:
    new = inherit_privacy(connection, new)
    named = {name for item in new.items for name in (item.who, item.answers) if name}
    people = named | ({new.scope.participant} if new.scope.participant else set())
    held = hold_entries(connection, db, new, people, default)
    silent = {key for key in people if table_participants.level_of(held.ranks.get(key), default) == "full"}
    persona = new.scope.persona  # who was forgotten while this waited is silent too
    silent |= {key for key in people if tombstones.is_late(db, persona, begun, people=(key,))}
    if tombstones.is_late(db, persona, begun, conversation=new.scope.conversation):
        silent |= people | {new.scope.participant or ""}
    items = tuple(item for item in new.items if not {item.who, item.answers} & silent)
    if new.scope.participant in silent or not items:
        return Kept(reason="privacy" if silent else "empty")
    home = table_conversations.settle(connection, db, new.scope, held.facts, sender=new.scope.participant)
    new = _at_home(new, home)
    now = db.clock()
    at = new.at or now
    row = _row(new, home, at) | {"messages": build_stored(items)}
    own = held.entry
    if own is None:
        return Kept(1, _insert(connection, db, new, row | {"turns_since_summary": 1}), "", len(items), 1)
    if own.updated is not None and at < own.updated <= now + AHEAD:
        return Kept(0, own.id, "unchanged", len(items), own.turns)
    turns = 1 if is_expired(own.updated, own.summary_at, now, life) else own.turns + 1
    row["turns_since_summary"] = turns
    if not is_alive(own.summary_at, now, life.summary):
        row |= {"summary": None, "summary_updated_at": None}
    _update(connection, persona, own.id, row)
    return Kept(1, own.id, "", len(items), turns)


def _at_home(new: NewEntry, home: table_conversations.Place) -> NewEntry:
    """Return the entry without server where the conversation is known to be a direct message."""
    if home.facts is None or home.facts.direct_person is None:
        return new
    return replace(new, place=replace(new.place, server=""))


def _row(new: NewEntry, home: table_conversations.Place, at: datetime) -> dict[str, Any]:
    place = new.place
    return {
        "audience_id": home.audience_id,
        "lineage_id": place.lineage,
        "server_id": place.server,
        "server_name": place.server_name[:NAME_CHARS],
        "channel_name": place.channel_name[:NAME_CHARS],
        "parent_channel_id": place.parent_channel,
        "local_only": int(home.local_only),
        "last_updated": at,
    }


def _update(connection: Connection, persona: str, row_id: int, row: dict[str, Any]) -> None:
    one = update(short_term_memories).where(_S.persona_id == persona, _S.id == row_id)
    connection.execute(one.values(row))


def _insert(connection: Connection, db: Database, new: NewEntry, row: dict[str, Any]) -> int:
    """Make the entry and return its id."""
    key = {"persona_id": new.scope.persona, "participant_key": new.place.user, "channel_id": new.scope.conversation}
    made = {"id": db.ids.one(), **key, **row}
    connection.execute(insert_ignore(short_term_memories, db.family), made)
    return int(made["id"])


# What a write holds until its transaction ends


@lru_cache(maxsize=4)
def _held_statement(summary: bool) -> Any:
    c, e = conversations.c, short_term_memories.c
    mine, linked = participants.alias("mine"), participants.alias("linked")
    joined: Any = (
        conversations.outerjoin(mine, mine.c.participant_key.in_(bindparam("people", expanding=True)))
        .outerjoin(linked, and_(linked.c.persona_id == mine.c.persona_id, linked.c.person_key == mine.c.person_key))
        .outerjoin(privacy_levels, privacy_levels.c.participant_key == linked.c.participant_key)
        .outerjoin(
            short_term_memories,
            and_(
                e.persona_id == c.persona_id,
                e.participant_key == bindparam("user"),
                e.channel_id == c.conversation_key,
            ),
        )
    )
    columns = [
        *(c[name] for name in ("id", "conversation_key", "audience_id", "server_id", "is_private", "local_only")),
        c.direct_person_key,
        mine.c.participant_key.label("who"),
        mine.c.persona_id.label("known_to"),
        table_participants.rank_of(privacy_levels.c).label("level"),
    ]
    columns += [e[name].label(f"held_{name}") for name in ("id", "last_updated", "summary_updated_at")]
    columns += [e.turns_since_summary.label("held_turns"), (e.summary if summary else null()).label("held_summary")]
    found = select(*columns).select_from(joined)
    return found.where(
        c.persona_id == bindparam("persona"), c.conversation_key == bindparam("conversation")
    ).with_for_update()


def hold_entries(
    connection: Connection,
    db: Database,
    new: NewEntry,
    people: Collection[str],
    default: str,
    *,
    summary: bool = False,
) -> Held:
    """Hold and return conversation, people and entries; the conversation, and people not known yet, are made."""
    scope, place = new.scope, new.place
    values: dict[str, Any] = {
        "persona": scope.persona,
        "conversation": scope.conversation,
        "people": sorted(people) or [""],
        "user": place.user or "",
    }
    statement = _held_statement(summary)
    rows = connection.execute(statement, values).all()
    if not rows:
        table_conversations.ensure(
            connection, db, scope, sender=scope.participant, title=place.channel_name, server_name=place.server_name
        )
        rows = connection.execute(statement, values).all()
    known = {row.who for row in rows if row.known_to == scope.persona}
    missing = {key: place.names.get(key, "") for key in people if key not in known}
    if missing and default != "full":
        # Only a row that is there can be held, so that who turns private meanwhile waits for this turn.
        table_participants.note_names(connection, db, scope.persona, missing, {})
        rows = connection.execute(statement, values).all()
    return _read_held(rows)


def _read_held(rows: Sequence[Any]) -> Held:
    held = Held(table_conversations.facts_of(rows[0]))
    for row in rows:
        if row.who is not None:
            held.ranks[row.who] = max(held.ranks.get(row.who, 0), int(row.level))
    first = rows[0]
    if first.held_id is not None:
        held.entry = HeldEntry(
            first.held_id,
            first.held_last_updated,
            first.held_summary_updated_at,
            int(first.held_turns or 0),
            first.held_summary or "",
        )
    return held


def inherit_privacy(connection: Connection, new: NewEntry) -> NewEntry:
    """Return the entry as private as the channel its thread belongs to, where the key does not say which."""
    parent, scope = new.place.parent_channel, new.scope
    if not parent or parent == parent_key(scope.conversation or "") or scope.privacy in ("direct", "separate"):
        return new
    above = table_conversations.find(connection, scope.persona, parent)
    if above is None or not above.is_private:
        return new
    person = table_participants.person_of(connection, scope.persona, scope.participant)
    same = above.direct_person is not None and above.direct_person == person
    return replace(new, scope=replace(scope, privacy="direct" if same else "restricted"))


def read_level(db: Database, persona: str, participant: str | None, default: str) -> str:
    """Return the privacy level of a person now, the strictest of all linked identities."""
    if not participant:
        return default
    with db.connection(source="participants") as connection:
        return table_participants.known(connection, persona, [participant], default)[participant].level


# Summaries


Judge = Callable[[str, int, bool], str]
"""Takes the present summary, the turns since it and whether it lives; gives why the new one is refused, or blank."""


def write_summary(db: Database, new: NewEntry, summary: str, *, judge: Judge, life: Life, privacy_default: str) -> Kept:
    """Write a summary to the entry of a person in a channel; where there is none it is made."""

    def work(connection: Connection) -> Kept:
        own = inherit_privacy(connection, new)
        who = own.scope.participant
        held = hold_entries(connection, db, own, {who} if who else set(), privacy_default, summary=True)
        if who and table_participants.level_of(held.ranks.get(who), privacy_default) == "full":
            return Kept(reason="privacy")
        now = db.clock()
        refused = _judged(held.entry, judge, now, life)
        if refused:
            return Kept(reason=refused)
        home = table_conversations.settle(connection, db, own.scope, held.facts, sender=who)
        own = _at_home(own, home)
        changed: dict[str, Any] = {"summary": summary, "summary_updated_at": now, "turns_since_summary": 0}
        entry = held.entry
        if entry is None:
            return Kept(1, _insert(connection, db, own, _row(own, home, now) | {"messages": []} | changed))
        changed["last_updated"] = max(entry.updated or now, now)
        if is_expired(entry.updated, entry.summary_at, now, life):
            changed["messages"] = []  # they are forgotten: a new summary must not bring them back
        _update(connection, own.scope.persona, entry.id, changed)
        return Kept(1, entry.id)

    return db.repeat(work, source=SOURCE)


def _judged(entry: HeldEntry | None, judge: Judge, now: datetime, life: Life) -> str:
    """Return why the summary is refused; blank where it is not."""
    if entry is None:
        return judge("", 1, False)
    alive = is_alive(entry.summary_at, now, life.summary)
    return judge(entry.summary if alive else "", entry.turns, alive)


# Removing


def delete_entries(
    db: Database, persona: str, *, user: str | None = None, server: str | None = None, channel: str | None = None
) -> int:
    """Remove the entries of a user, a server or a channel, and return how many there were."""
    named = ((_S.participant_key, user), (_S.server_id, server), (_S.channel_id, channel))
    where = [column == key for column, key in named if key is not None]
    if not where:
        raise ValueError("Name a user, a server or a channel: there is no clearing of everything.")
    gone = delete(short_term_memories).where(_S.persona_id == persona, *where)
    return db.repeat(lambda connection: int(connection.execute(gone).rowcount), source=SOURCE)


def _times(now: datetime, life: Life) -> dict[str, Any]:
    return {"entry_dead": now - life.entry, "summary_dead": now - life.summary}


_DEAD = and_(
    or_(_S.last_updated.is_(None), _S.last_updated <= bindparam("entry_dead", type_=Time())),
    or_(_S.summary_updated_at.is_(None), _S.summary_updated_at <= bindparam("summary_dead", type_=Time())),
)
_EXPIRED = (
    select(_S.id)
    .where(_S.persona_id == bindparam("persona"), _S.last_updated <= bindparam("entry_dead", type_=Time()), _DEAD)
    .order_by(_S.last_updated, _S.id)
    .limit(bindparam("most"))
)


def delete_expired(db: Database, persona: str, ids: Sequence[int], *, life: Life) -> int:
    """Remove those of these entries that are expired by now, and return how many this call has removed."""
    values = _times(db.clock(), life)
    gone = delete(short_term_memories).where(_S.persona_id == persona, _S.id.in_(sorted(ids)), _DEAD)
    return db.repeat(lambda connection: int(connection.execute(gone, values).rowcount), source=SOURCE)


def delete_all_expired(db: Database, persona: str, *, life: Life) -> int:
    """Remove every expired entry of a persona, a thousand in a transaction, and return how many there were."""
    total = 0
    while True:
        values = _times(db.clock(), life) | {"persona": persona, "most": AT_ONCE}
        ids = [row[0] for row in db.read(_EXPIRED, values, source=SOURCE)]
        gone = delete_expired(db, persona, ids, life=life) if ids else 0
        total += gone
        if len(ids) < AT_ONCE or not gone:
            return total


_COUNT = select(func.count()).select_from(short_term_memories).where(_S.persona_id == bindparam("persona"))


def count_entries(db: Database, persona: str) -> int:
    """Return how many entries of a persona are stored."""
    return int(db.read(_COUNT, {"persona": persona}, source=SOURCE)[0][0])
