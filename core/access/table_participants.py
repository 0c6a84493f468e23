"""Participants: linked identities, and privacy levels."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, Select, bindparam, case, delete, func, select, update

from ..database.compiled import IDS, read_parts
from ..database.dialects import Key, insert_ignore
from ..database.engine import Database
from ..database.schema import participants, privacy_levels
from ..errors import MessageError
from ..scope import KEY_BYTES, key_text
from ..shapes import Line

LEVELS = ("none", "partial", "full")
"""Privacy levels. none: everything is stored. partial: nothing for the long term. full: nothing is stored."""
NAME_CHARS = 255

_P = participants.c


@dataclass(frozen=True, slots=True)
class Known:
    level: str
    """Strictest privacy level among the linked identities; the default level if no level is stored."""
    display_name: str | None
    """Displayed name; None if no row is stored yet."""


LEVEL_RANK = case({level: rank for rank, level in enumerate(LEVELS, 1)}, value=privacy_levels.c.level, else_=0)
"""A stored level as a number that grows with strictness; 0 if no level is stored."""


def level_of(rank: int | None, default: str) -> str:
    """Return the privacy level with this rank; `default` for None and 0."""
    return LEVELS[int(rank) - 1] if rank else default


MINE, LINKED = participants.alias("mine"), participants.alias("linked")
IDENTITIES = MINE.join(LINKED, (LINKED.c.persona_id == MINE.c.persona_id) & (LINKED.c.person_key == MINE.c.person_key))
IS_LEVEL = privacy_levels.c.participant_key == LINKED.c.participant_key
_LEVELS = IDENTITIES.join(privacy_levels, IS_LEVEL)

_MINE = MINE.c.participant_key
_RANKS = select(_MINE, func.max(LEVEL_RANK)).select_from(_LEVELS).where(_MINE.in_(IDS)).group_by(_MINE)
_NAMES = select(_P.participant_key, _P.display_name).where(
    _P.persona_id == bindparam("persona"), _P.participant_key.in_(IDS)
)


def strictest_rank(key: Any) -> Any:
    """Build a subquery for the strictest privacy rank of a participant's linked identities; NULL without a rank."""
    return select(func.max(LEVEL_RANK)).select_from(_LEVELS).where(MINE.c.participant_key == key).scalar_subquery()


def is_full(db: Database, key: str, default: str) -> bool:
    return level_of(db.read(select(strictest_rank(key)), source="participants")[0][0], default) == "full"


def known(connection: Connection, persona: str, keys: Iterable[str], default: str) -> dict[str, Known]:
    wanted, read = sorted(set(keys)), connection.execute
    ranks = {row[0]: row[1] for row in read_parts(read, _RANKS, {}, wanted)}
    names = {row[0]: row[1] for row in read_parts(read, _NAMES, {"persona": persona}, wanted)}
    return {key: Known(level_of(ranks.get(key), default), names.get(key)) for key in wanted}


def select_identities(persona: Any, key: Any) -> Select[tuple[str]]:
    """Return the SELECT of a participant's key and of all linked keys; it has no rows for an unknown participant."""
    linked = select(LINKED.c.participant_key).select_from(IDENTITIES)
    return linked.where(MINE.c.persona_id == persona, MINE.c.participant_key == key)


def read_persons(db: Database, persona: str, keys: Collection[str]) -> dict[str, str]:
    """Return the person key of each stored participant; linked identities share one person key."""
    persons = select(_P.participant_key, _P.person_key).where(_P.persona_id == persona, _P.participant_key.in_(IDS))
    return {row[0]: row[1] for row in read_parts(partial(db.read, source="participants"), persons, {}, keys)}


def is_name_of_person(db: Database, persona: str, name: str) -> bool:
    """Return whether a stored participant's name begins with the folded word `name`."""
    begins = func.lower(_P.display_name).startswith(name, autoescape=True)
    named = select(_P.participant_key).where(_P.persona_id == persona, begins).limit(1)
    return bool(db.read(named, source="participants"))


def read_bare_ids(keys: Iterable[str]) -> set[str]:
    """Return the ids in participant keys, without interface: messages without an interface store only these ids."""
    return {bare for key in keys if (bare := key.partition("/")[2])}


def build_own_id(column: Any) -> Any:
    """Build the SQL expression for the id part of a participant key column; a key without interface is an id."""
    return func.substr(column, func.instr(column, "/") + 1, type_=Key(255))


def find_on_interfaces(connection: Connection, keys: Iterable[str]) -> dict[str, set[str]]:
    """Return, for each id without interface, the participants of all personas with this id on any interface."""
    bare = sorted(key for key in keys if "/" not in key)
    found: dict[str, set[str]] = {key: set() for key in bare}
    if bare:
        named = select(_P.participant_key).where(build_own_id(_P.participant_key).in_(bare)).distinct()
        for key in connection.execute(named).scalars():
            found[key.partition("/")[2] or key].add(key)
    return found


def keep_allowed(
    connection: Connection, persona: str, lines: Sequence[Line], default: str, *, levels: Collection[str] = LEVELS[:2]
) -> list[Line]:
    """Choose the lines that a new text may use: lines of people at one of `levels`, and answers to these people."""
    names = {name for line in lines for name in (line.participant, line.triggered_by) if name}
    people = known(connection, persona, names, default) if names else {}
    refused = {name for name, person in people.items() if person.level not in levels}
    named = [line for line in lines if default in levels or not line.is_anonymous]
    return [line for line in named if not {line.participant, line.triggered_by} & refused]


def set_level(connection: Connection, db: Database, key: str, level: str) -> None:
    """Store the privacy level of a participant, for all personas."""
    values = {"level": level, "updated_at": db.clock()}
    connection.execute(insert_ignore(privacy_levels, db.family), {"participant_key": key, **values})
    connection.execute(update(privacy_levels).where(privacy_levels.c.participant_key == key).values(values))


def delete_levels(connection: Connection, keys: Iterable[str]) -> int:
    """Delete the privacy levels of participants who are no longer stored for any persona; return their number."""
    v = privacy_levels.c
    nobody = ~select(_P.participant_key).where(_P.participant_key == v.participant_key).exists()
    statement = delete(privacy_levels).where(v.participant_key.in_(sorted(keys)), nobody)
    return int(connection.execute(statement).rowcount)


def person_of(connection: Connection, persona: str, participant: str | None) -> str | None:
    """Lock a participant, and return the person key it is linked to; the participant's own key if it is not stored."""
    if not participant:
        return None
    return connection.execute(_PERSON, {"persona": persona, "key": participant}).scalar() or participant


_KEY = (_P.persona_id == bindparam("persona"), _P.participant_key == bindparam("key"))
_PERSON = select(_P.person_key).where(*_KEY).with_for_update()  # waits for a change of links


def note_names(
    connection: Connection, db: Database, persona: str, names: Mapping[str, str], stored: Mapping[str, Known]
) -> None:
    """Insert or update the participants of stored lines with their latest names."""
    now = db.clock()
    for key, shown in sorted(names.items()):
        known_person = stored.get(key)
        if known_person is None or known_person.display_name is None:
            connection.execute(insert_ignore(participants, db.family), _row(persona, key, shown, now))
        elif shown and shown != known_person.display_name:
            change = update(participants).where(_P.persona_id == persona, _P.participant_key == key)
            connection.execute(change.values(display_name=shown[:NAME_CHARS], updated_at=now))


def _row(persona: str, key: str, shown: str, now: Any) -> dict[str, Any]:
    columns = {"participant_key": key, "person_key": key, "display_name": shown[:NAME_CHARS]}
    return {"persona_id": persona, **columns, "created_at": now, "updated_at": now}


def checked_key(participant: object, field: str = "participant") -> str:
    return key_text(participant, field, KEY_BYTES["participant"], required=True)


def full_key(participant: object, field: str = "participant") -> str:
    """Check that a participant key names an interface, and return it: an id alone could belong to anybody."""
    key = checked_key(participant, field)
    if "/" not in key:
        what = f"{field} is {key[:64]!r}. It must be `interface/id`, such as 'discord/{key[:64]}'."
        raise MessageError(what, fields=(field,))
    return key


def hold(connection: Connection, db: Database, persona: str, keys: Iterable[str]) -> dict[str, str]:
    """Insert missing participants and lock them with their linked identities; return the person key of each key."""
    now = db.clock()
    wanted = sorted(set(keys))
    for key in wanted:
        connection.execute(insert_ignore(participants, db.family), _row(persona, key, "", now))
    people = select(_P.person_key).where(_P.persona_id == persona, _P.participant_key.in_(wanted))
    persons = sorted(set(connection.execute(people).scalars()))
    group = select(_P.participant_key, _P.person_key).where(_P.persona_id == persona, _P.person_key.in_(persons))
    rows = connection.execute(group.order_by(_P.participant_key).with_for_update()).all()
    return {row.participant_key: row.person_key for row in rows}
