"""Participants: who is the same person, and what may be kept of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, case, func, select, update

from ..database.bulk import chunks
from ..database.dialects import insert_ignore
from ..database.engine import Database
from ..database.schema import participants
from ..scope import KEY_BYTES, key_text

LEVELS = ("none", "partial", "full")
"""none: everything is kept. partial: nothing for the long term. full: nothing."""
NOT_CHOSEN = ""
"""Stored level of a person who has not chosen one: PRIVACY_DEFAULT holds."""
NAME_CHARS = 255

_P = participants.c


@dataclass(frozen=True, slots=True)
class Known:
    """What is stored about one participant key."""

    level: str
    """The strictest of all linked identities; the default where none has chosen."""
    display_name: str | None
    """None where there is no row yet."""


def rank_of(other: Any) -> Any:
    """Return a stored level as a number that grows with strictness, 0 for not chosen."""
    return case(
        (other.privacy == LEVELS[2], 3), (other.privacy == LEVELS[1], 2), (other.privacy == LEVELS[0], 1), else_=0
    )


def level_of(rank: int | None, default: str) -> str:
    """Return the level of the strictest rank found; None and 0 give the default."""
    return LEVELS[int(rank) - 1] if rank else default


_MINE, _LINKED = participants.alias("mine"), participants.alias("linked")
_KNOWN = (
    select(_MINE.c.participant_key, _MINE.c.display_name, func.max(rank_of(_LINKED.c)).label("rank_found"))
    .select_from(
        _MINE.join(_LINKED, (_LINKED.c.persona_id == _MINE.c.persona_id) & (_LINKED.c.person_key == _MINE.c.person_key))
    )
    .where(_MINE.c.persona_id == bindparam("persona"), _MINE.c.participant_key.in_(bindparam("keys", expanding=True)))
    .group_by(_MINE.c.participant_key, _MINE.c.display_name)
)


def known(connection: Connection, persona: str, keys: Iterable[str], default: str) -> dict[str, Known]:
    """Return level and name of every key asked for, read now, in the caller's transaction."""
    wanted = sorted(set(keys))
    found = dict.fromkeys(wanted, Known(default, None))
    for part in chunks(wanted, 500):
        for row in connection.execute(_KNOWN, {"persona": persona, "keys": part}):
            found[row.participant_key] = Known(level_of(row.rank_found, default), row.display_name)
    return found


def person_of(connection: Connection, persona: str, participant: str | None) -> str | None:
    """Return the key of the person behind a participant: of the identity it is linked to, else its own."""
    if not participant:
        return None
    found = connection.execute(_PERSON, {"persona": persona, "key": participant}).scalar()
    return found or participant


_PERSON = select(_P.person_key).where(_P.persona_id == bindparam("persona"), _P.participant_key == bindparam("key"))


def note_names(
    connection: Connection, db: Database, persona: str, names: Mapping[str, str], stored: Mapping[str, Known]
) -> None:
    """Make people whose lines are stored known, and keep the name they go by now."""
    now = db.clock()
    for key, shown in sorted(names.items()):
        held = stored.get(key)
        if held is None or held.display_name is None:
            connection.execute(insert_ignore(participants, db.family), _row(persona, key, shown, now))
        elif shown and shown != held.display_name:
            change = update(participants).where(_P.persona_id == persona, _P.participant_key == key)
            connection.execute(change.values(display_name=shown[:NAME_CHARS], updated_at=now))


def _row(persona: str, key: str, shown: str, now: Any) -> dict[str, Any]:
    return {
        "persona_id": persona,
        "participant_key": key,
        "person_key": key,
        "display_name": shown[:NAME_CHARS],
        "privacy": NOT_CHOSEN,
        "created_at": now,
        "updated_at": now,
    }


def checked_key(participant: object, field: str = "participant") -> str:
    return key_text(participant, field, KEY_BYTES["participant"], required=True)


def hold(connection: Connection, db: Database, persona: str, keys: Iterable[str]) -> dict[str, str]:
    """Make sure the rows are there, hold them, and return key to person of them and of all linked to them."""
    now = db.clock()
    wanted = sorted(set(keys))
    for key in wanted:
        connection.execute(insert_ignore(participants, db.family), _row(persona, key, "", now))
    people = select(_P.person_key).where(_P.persona_id == persona, _P.participant_key.in_(wanted))
    persons = sorted(set(connection.execute(people).scalars()))
    group = select(_P.participant_key, _P.person_key).where(_P.persona_id == persona, _P.person_key.in_(persons))
    found = connection.execute(group.order_by(_P.participant_key).with_for_update()).all()
    return {row.participant_key: row.person_key for row in found}
