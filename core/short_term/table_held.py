"""What a writer of short-term entries holds until its transaction ends: conversation, people and entries, at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, and_, bindparam, null, select

from ..audience import table_conversations, table_participants
from ..audience.rules import parent_key
from ..audience.view import ConversationFacts
from ..database.engine import Database
from ..database.schema import conversations, participants, privacy_levels
from ..database.schema_recent import short_term_memories
from ..scope import Scope
from .shapes import Item, Place


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
