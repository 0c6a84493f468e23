"""Reads relationships for a person, a list and a prompt; changes them under a row lock."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from itertools import count
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, exists, func, select, update

from ..access import table_participants, tombstones
from ..access.table_participants import LINKED, MINE
from ..calls.call import Call
from ..database.compiled import FIRST, Branch, CompiledStatement, Shape
from ..database.dialects import Key, Time, upsert
from ..database.engine import Database
from ..database.schema import participants, privacy_levels, user_relationships
from ..shapes import WriteReason
from .rules import HIGHEST_AFFINITY, HIGHEST_TRUST, LOWEST_AFFINITY, LOWEST_TRUST, decay, inactive_days

SOURCE = "user_relationships"

_U = user_relationships.c
PERSONA, USER = bindparam("persona", type_=Key(64)), bindparam("user", type_=Key(255))
_NEWEST = (_U.last_interaction.desc(), _U.user_id.desc())
"""Order by latest interaction, people never met last; of several rows of one person, the first is used."""


class Row(NamedTuple):
    user_id: str
    username: str = ""
    realname: str = ""
    affinity: int = 0
    affinity_base: int = 0
    base_days: int = 0
    trust: int = 0
    interaction_count: int = 0
    last_interaction: datetime | None = None

    def affinity_at(self, now: datetime, decay_days: int) -> int:
        return decay(self.affinity_base, inactive_days(self.last_interaction, now, self.base_days), decay_days)


COLUMNS = tuple(_U[name] for name in Row._fields)
IDENTITIES = (
    select(LINKED.c.participant_key, LINKED.c.person_key)
    .select_from(table_participants.IDENTITIES)
    .where(MINE.c.persona_id == PERSONA, MINE.c.participant_key == USER)
    .order_by(LINKED.c.participant_key)
)
_IS_PARTICIPANT = (_U.persona_id == participants.c.persona_id) & (_U.user_id == participants.c.participant_key)
_OF_PERSON = _U.user_id.in_(bindparam("keys", expanding=True, type_=Key(255)))
ROWS = select(*COLUMNS).where(_U.persona_id == PERSONA, _OF_PERSON).order_by(*_NEWEST)
HELD = ROWS.with_for_update()


def identities(people: Sequence[Any], key: str) -> tuple[str, list[str]]:
    """Return (person key, sorted keys of all identities of the person); an unknown person has only `key`."""
    person = people[0].person_key if people else key
    return person, sorted({key, person, *(row.participant_key for row in people)})


def find(db: Database, persona: str, key: str) -> Row | None:
    with db.request_connection():
        people = db.read(IDENTITIES, {"persona": persona, "user": key}, source=participants.name)
        _, keys = identities(people, key)
        rows = db.read(ROWS, {"persona": persona, "keys": keys}, source=SOURCE)
    return Row(*rows[0]) if rows else None


def read_recent(db: Database, persona: str, most: int) -> list[Row]:
    """Return one relationship per person, latest interaction first, ties by key; people never met last."""
    person = func.coalesce(participants.c.person_key, _U.user_id, type_=Key(255)).label("person")
    joined = select(*COLUMNS, person).select_from(user_relationships.outerjoin(participants, _IS_PARTICIPANT))
    chosen = joined.where(_U.persona_id == PERSONA).order_by(*_NEWEST)
    by_person: dict[str, Row] = {}
    at_once = most + 20  # few people have linked identities
    with db.request_connection():
        for skipped in count(0, at_once):
            rows = db.read(chosen.limit(at_once).offset(skipped), {"persona": persona}, source=SOURCE)
            for row in rows:
                by_person.setdefault(row.person, Row(*row[:-1]))
            if len(rows) < at_once or len(by_person) >= most:
                break
    return list(by_person.values())[:most]


class StoredRelationship(NamedTuple):
    """The relationship to the person who gets the answer."""

    id: int
    """Number of interactions, used as the row's id."""
    affinity_base: int
    base_days: int
    trust: int
    strictest: int
    """Rank of the strictest privacy level among the person's identities."""
    user_id: str
    at: datetime | None


OWN = Shape(
    FIRST + 40, StoredRelationship, _U.interaction_count,
    affinity_base=_U.affinity_base, base_days=_U.base_days, trust=_U.trust,
    strictest=func.coalesce(table_participants.strictest_rank(USER), 0),
    user_id=_U.user_id, at=_U.last_interaction,
)  # fmt: skip
"""Shape of the row stored under the person's own key."""
OTHERS = OWN.numbered(FIRST + 41)
"""Shape of the rows stored under linked identities."""


@lru_cache(maxsize=4)
def _part(shape: Shape[StoredRelationship], family: str) -> CompiledStatement:
    p, chosen = participants.c, select(*shape.columns)
    if shape is OWN:
        chosen = chosen.where(_U.persona_id == PERSONA, _U.user_id == USER)
    else:
        joined = participants.join(user_relationships, _IS_PARTICIPANT)
        of_person = (p.persona_id == PERSONA, p.person_key == bindparam("person", type_=Key(255)))
        chosen = chosen.select_from(joined).where(*of_person)
    return CompiledStatement(chosen, family, in_order=True)


def build_branches(key: str, person: str) -> tuple[Branch, ...]:
    values = {"user": key, "person": person}
    return tuple(Branch(shape, partial(_part, shape), values, SOURCE, of_persona=True) for shape in (OWN, OTHERS))


@dataclass(frozen=True, slots=True)
class Change:
    affinity: int = 0
    trust: int = 0
    username: str = ""
    """New name; "" keeps the old one. The same holds for `realname`."""
    realname: str = ""
    touch: bool = False
    """Whether the change counts as an interaction, which restarts the fading of affinity."""


def _apply(old: Row, wanted: Change, now: datetime, decay_days: int) -> Row:
    new = old
    if wanted.affinity or wanted.touch:
        moved = old.affinity_at(now, decay_days) + wanted.affinity
        moved = max(LOWEST_AFFINITY, min(HIGHEST_AFFINITY, moved))
        counted = 0 if wanted.touch else inactive_days(old.last_interaction, now)
        new = new._replace(affinity=moved, affinity_base=moved, base_days=counted)
    if wanted.touch:
        new = new._replace(last_interaction=now, interaction_count=old.interaction_count + 1)
    return new._replace(
        trust=max(LOWEST_TRUST, min(HIGHEST_TRUST, old.trust + wanted.trust)),
        username=wanted.username or old.username,
        realname=wanted.realname or old.realname,
    )


def change(call: Call, key: str, wanted: Change) -> tuple[Row | None, WriteReason]:
    """Change or create a person's relationship; return (its row now, reason why nothing was stored, else "")."""
    begun = call.db.ids.one()  # before the transaction: the id tells whether `forget` came later

    def confirm(connection: Connection, result: tuple[Row | None, WriteReason]) -> bool:
        new, reason = result
        if reason or new is None:
            return True
        return connection.execute(ROWS, {"persona": call.persona, "keys": [new.user_id]}).first() == new

    work = partial(_change, call=call, key=key, wanted=wanted, begun=begun)
    return call.db.transaction(work, source=SOURCE, confirm=confirm)


def plan_count(call: Call, who: str | None, username: str, role: str) -> Callable[[Connection], None] | None:
    """Return the function that counts an interaction in the transaction that stores a message; None without sender."""
    if who is None or role != "user":
        return None

    def count(connection: Connection) -> None:
        values = {"persona": call.persona, "user": who, "new_username": username, "now": call.db.clock()}
        if call.settings.privacy_default == "none" and _count(connection.dialect.name).run(connection, values)[1]:
            return
        _change(connection, call, who, Change(username=username, touch=True), call.db.ids.one())

    return count


_COUNT = (
    update(user_relationships)
    .where(
        _U.persona_id == PERSONA,
        _U.user_id == USER,
        _U.affinity == 0,
        _U.affinity_base == 0,
        _U.username == bindparam("new_username", type_=_U.username.type),
        ~exists().where(
            MINE.c.participant_key == USER,
            LINKED.c.persona_id == MINE.c.persona_id,
            LINKED.c.person_key == MINE.c.person_key,
            LINKED.c.participant_key != USER,
        ),
        ~exists().where(privacy_levels.c.participant_key == USER, privacy_levels.c.level != "none"),
    )
    .values(base_days=0, last_interaction=bindparam("now", type_=Time()), interaction_count=_U.interaction_count + 1)
)


@lru_cache(maxsize=4)
def _count(family: str) -> CompiledStatement:
    return CompiledStatement(_COUNT, family)


def _change(connection: Connection, call: Call, key: str, wanted: Change, begun: int) -> tuple[Row | None, WriteReason]:
    db, persona, settings = call.db, call.persona, call.settings
    person, keys = identities(connection.execute(IDENTITIES, {"persona": persona, "user": key}).all(), key)
    stored = connection.execute(HELD, {"persona": persona, "keys": keys}).first()
    old = Row(*stored) if stored else None
    level = table_participants.known(connection, persona, [key], settings.privacy_default)[key].level
    if level != "none" or tombstones.is_late(db, persona, begun, people=keys):
        return old, "privacy"
    if wanted == Change():
        return old, "unchanged"
    is_new = old is None
    if old is None:
        # If another writer created the row meanwhile, adding 0 waits for that writer and locks the row.
        empty = upsert(user_relationships, db.family, add=("interaction_count",))
        connection.execute(empty, {"persona_id": persona, "user_id": person, "interaction_count": 0})
        old = Row(*connection.execute(HELD, {"persona": persona, "keys": [person]}).one())
    new = _apply(old, wanted, db.clock(), settings.decay_days)
    mine = (_U.persona_id == persona, _U.user_id == old.user_id)
    connection.execute(update(user_relationships).where(*mine).values(new._asdict()))
    return new, "" if is_new or new != old else "unchanged"
