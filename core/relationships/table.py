"""Relationships as they are changed: by one UPDATE each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Integer, bindparam, case, exists, func, update

from ..access import table_participants as people
from ..access import tombstones as forgetting_late
from ..calls.call import Call
from ..database.dialects import Time, upsert, whole_days
from ..database.engine import Database
from ..database.schema import participants, privacy_levels, user_relationships
from ..database.statements import Part
from ..shapes import WriteReason
from .rules import HIGHEST_AFFINITY, HIGHEST_TRUST, LOWEST_AFFINITY, LOWEST_TRUST
from .table_reading import HELD, IDENTITIES, PERSONA, ROWS, SOURCE, USER, Row, identities

_U = user_relationships.c


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be done to one relationship."""

    affinity: int = 0
    trust: int = 0
    username: str = ""
    """Blank keeps the old one, as `realname`."""
    realname: str = ""
    touch: bool = False
    """It is an interaction: counted, and absence begins anew."""

    def __bool__(self) -> bool:
        return bool(self.affinity or self.trust or self.username or self.realname or self.touch)


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of it."""

    row: Row | None
    """As it is now; None where there is none."""
    stored: bool = True
    reason: WriteReason = ""
    now: datetime | None = None
    """Time it was written."""


# Arithmetic


def _days(now: Any) -> Any:
    """Return the whole days since the last interaction, 0 before the first one."""
    days = func.coalesce(whole_days(_U.last_interaction, now), 0, type_=Integer())
    return case((days <= 0, 0), else_=days)


def _faded() -> Any:
    """Return `relationships.rules.decay` as SQL."""
    within = bindparam("decay_days", type_=Integer())
    passed = _days(bindparam("now", type_=Time())) - _U.base_days
    days = case((passed <= 0, 0), (passed >= within, within), else_=passed)
    lost = (2 * func.abs(_U.affinity_base, type_=Integer()) * days + within) // (2 * within)
    return case((_U.affinity_base < 0, _U.affinity_base + lost), else_=_U.affinity_base - lost)


def _within(value: Any, low: int, high: int) -> Any:
    return case((value <= low, low), (value >= high, high), else_=value)


@lru_cache(maxsize=16)
def _update(moves: bool, touch: bool, names: tuple[str, ...]) -> Any:
    """Return the UPDATE of one relationship."""
    changes: list[tuple[Any, Any]] = []
    if moves:
        moved = _within(_faded() + bindparam("by_affinity", type_=Integer()), LOWEST_AFFINITY, HIGHEST_AFFINITY)
        changes += [(_U.affinity, moved), (_U.affinity_base, moved)]
        changes.append((_U.base_days, 0 if touch else _days(bindparam("now", type_=Time()))))
    if touch:
        changes += [(_U.last_interaction, bindparam("now", type_=Time()))]
        changes.append((_U.interaction_count, _U.interaction_count + 1))
    changes.append((_U.trust, _within(_U.trust + bindparam("by_trust", type_=Integer()), LOWEST_TRUST, HIGHEST_TRUST)))
    changes += [(_U[name], bindparam(f"new_{name}", type_=_U[name].type)) for name in names]
    return update(user_relationships).where(_U.persona_id == PERSONA, _U.user_id == USER).ordered_values(*changes)


def _statement(wanted: Change, now: datetime, decay_days: int) -> tuple[Any, dict[str, Any]]:
    """Return the UPDATE of a change and what it binds, beside the row's key."""
    names = tuple(name for name in ("username", "realname") if getattr(wanted, name))
    moves = bool(wanted.affinity) or wanted.touch
    values: dict[str, Any] = {"by_trust": wanted.trust} | {f"new_{name}": getattr(wanted, name) for name in names}
    if moves:
        values |= {"by_affinity": wanted.affinity, "now": now, "decay_days": decay_days}
    return _update(moves, wanted.touch, names), values


# Changing


def change(db: Database, persona: str, key: str, wanted: Change, *, decay_days: int, privacy_default: str) -> Changed:
    """Change the relationship of a person by one UPDATE, and make it where there is none."""
    done: list[Changed] = []
    """What the last try came to, before its answer was lost."""
    begun = db.ids.one()  # before the transaction: by its id a change is told to be older than a call of `forget`

    def work(connection: Connection) -> Changed:
        done.clear()
        made = _change(connection, db, persona, key, wanted, decay_days, privacy_default, begun)
        done.append(made)
        return made

    def confirm(connection: Connection) -> Changed | None:
        return done[0] if done and _is_there(connection, persona, done[0]) else None

    return db.transaction(work, source=SOURCE, confirm=confirm)


def plan_count(call: Call, who: str | None, username: str, role: str) -> Callable[[Connection], None] | None:
    """Return what counts an interaction with whoever said a message, in the transaction that stores it; None for no
    person's message.
    """
    if who is None or role != "user":
        return None
    db, persona, settings = call.db, call.persona, call.settings

    def count(connection: Connection) -> None:
        values = {"persona": persona, "user": who, "new_username": username, "now": db.clock()}
        if settings.privacy_default == "none" and _count(connection.dialect.name).run(connection, values).rowcount:
            return
        wanted = Change(username=username, touch=True)
        _change(connection, db, persona, who, wanted, settings.decay_days, settings.privacy_default, db.ids.one())

    return count


_SELF, _LINKED = participants.alias(), participants.alias()
_COUNT = (
    update(user_relationships)
    .where(
        _U.persona_id == PERSONA,
        _U.user_id == USER,
        _U.affinity == 0,
        _U.affinity_base == 0,
        _U.username == bindparam("new_username", type_=_U.username.type),
        ~exists().where(
            _SELF.c.participant_key == USER,
            _LINKED.c.persona_id == _SELF.c.persona_id,
            _LINKED.c.person_key == _SELF.c.person_key,
            _LINKED.c.participant_key != USER,
        ),
        ~exists().where(privacy_levels.c.participant_key == USER, privacy_levels.c.level != "none"),
    )
    .values(
        base_days=0,
        last_interaction=bindparam("now", type_=Time()),
        interaction_count=_U.interaction_count + 1,
    )
)


@lru_cache(maxsize=4)
def _count(family: str) -> Part:
    return Part(_COUNT, family)


def _is_there(connection: Connection, persona: str, made: Changed) -> bool:
    """Return whether what a transaction wrote is stored, though the answer to its commit was lost."""
    if not made.stored or made.row is None:
        return True
    row = connection.execute(ROWS, {"persona": persona, "keys": [made.row.user_id]}).first()
    return row is not None and Row(*row) == made.row


def _change(
    connection: Connection,
    db: Database,
    persona: str,
    key: str,
    wanted: Change,
    decay_days: int,
    privacy_default: str,
    begun: int,
) -> Changed:
    person, keys = identities(connection.execute(IDENTITIES, {"persona": persona, "user": key}).all(), key)
    held = {"persona": persona, "keys": keys}
    before = connection.execute(HELD, held).first()
    level = people.known(connection, persona, [key], privacy_default)[key].level
    if level != "none" or forgetting_late.is_late(db, persona, begun, people=keys):
        return Changed(Row(*before) if before else None, False, reason="privacy")
    if not wanted:
        return Changed(Row(*before) if before else None, False, reason="unchanged")
    made = before is None
    if before is None:
        # Adding nothing to a row that another writer has made meanwhile waits for it and holds it.
        made_empty = upsert(user_relationships, db.family, add=("interaction_count",))
        connection.execute(made_empty, {"persona_id": persona, "user_id": person, "interaction_count": 0})
        before = connection.execute(HELD, held).one()
    old, now = Row(*before), db.clock()
    statement, values = _statement(wanted, now, decay_days)
    connection.execute(statement, {"persona": persona, "user": old.user_id, **values})
    new = Row(*connection.execute(ROWS, {"persona": persona, "keys": [old.user_id]}).one())
    if not made and new == old:
        return Changed(new, False, reason="unchanged", now=now)
    return Changed(new, True, now=now)
