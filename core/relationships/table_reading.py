"""Relationships as they are read: of one person, a list, for a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import Any, NamedTuple

from sqlalchemy import bindparam, func, select

from ..access import table_participants as people
from ..database.dialects import Key
from ..database.engine import Database
from ..database.row_shapes import FIRST, KEY, NUMBER, TIME, Branch, Shape
from ..database.schema import participants, user_relationships
from ..database.statements import Part
from .rules import decay, inactive_days

SOURCE = "user_relationships"

_U = user_relationships.c
PERSONA, USER = bindparam("persona", type_=Key(64)), bindparam("user", type_=Key(255))
_NEWEST = (_U.last_interaction.desc(), _U.user_id.desc())
"""The order of the list, and which of several rows of a person counts: the first. Never met comes last."""


class Row(NamedTuple):
    """One relationship as it is stored."""

    user_id: str
    username: str
    realname: str
    affinity: int
    affinity_base: int
    base_days: int
    trust: int
    interaction_count: int
    last_interaction: datetime | None

    def affinity_at(self, now: datetime, decay_days: int) -> int:
        """Return the affinity as it has faded up to now."""
        return decay(self.affinity_base, inactive_days(self.last_interaction, now, self.base_days), decay_days)


# Finding

COLUMNS = tuple(_U[name] for name in Row._fields)
_MINE, _LINKED = participants.alias("mine"), participants.alias("linked")
IDENTITIES = (
    select(_LINKED.c.participant_key, _LINKED.c.person_key)
    .select_from(
        _MINE.join(_LINKED, (_LINKED.c.persona_id == _MINE.c.persona_id) & (_LINKED.c.person_key == _MINE.c.person_key))
    )
    .where(_MINE.c.persona_id == PERSONA, _MINE.c.participant_key == USER)
    .order_by(_LINKED.c.participant_key)
)
ROWS = (
    select(*COLUMNS)
    .where(_U.persona_id == PERSONA, _U.user_id.in_(bindparam("keys", expanding=True, type_=Key(255))))
    .order_by(*_NEWEST)
)
HELD = ROWS.with_for_update()


def identities(found: Sequence[Any], key: str) -> tuple[str, list[str]]:
    """Return the key of the person and all keys of theirs; of a person nobody knows the key alone."""
    person = found[0].person_key if found else key
    return person, sorted({key, person, *(row.participant_key for row in found)})


def find(db: Database, persona: str, key: str) -> Row | None:
    """Return the relationship of a person, None where there is none."""
    with db.one_call():
        found = db.read(IDENTITIES, {"persona": persona, "user": key}, source=participants.name)
        _, keys = identities(found, key)
        rows = db.read(ROWS, {"persona": persona, "keys": keys}, source=SOURCE)
    return Row(*rows[0]) if rows else None


def read_recent(db: Database, persona: str, most: int) -> list[Row]:
    """Return one relationship for each person, newest interaction first, ties by key; never met ones last."""
    person = func.coalesce(participants.c.person_key, _U.user_id, type_=Key(255)).label("person")
    known = (participants.c.persona_id == _U.persona_id) & (participants.c.participant_key == _U.user_id)
    chosen = (
        select(*COLUMNS, person)
        .select_from(user_relationships.outerjoin(participants, known))
        .where(_U.persona_id == PERSONA)
        .order_by(*_NEWEST)
    )
    made: dict[str, Row] = {}
    skipped, at_once = 0, most + 20  # rows of linked identities are few
    with db.one_call():
        while len(made) < most:
            rows = db.read(chosen.limit(at_once).offset(skipped), {"persona": persona}, source=SOURCE)
            for row in rows:
                made.setdefault(row.person, Row(*row[:-1]))
            if len(rows) < at_once:
                break
            skipped += at_once
    return list(made.values())[:most]


# For a prompt


class StoredRelationship(NamedTuple):
    """A relationship of the person a prompt answers."""

    id: int
    """How many interactions there were."""
    affinity_base: int
    base_days: int
    trust: int
    strictest: int
    """Rank of the strictest level among the person's identities."""
    user_id: str
    at: datetime | None


OWN = Shape(
    FIRST + 40, StoredRelationship,
    affinity_base=NUMBER, base_days=NUMBER, trust=NUMBER, strictest=NUMBER, user_id=KEY, at=TIME,
)  # fmt: skip
"""The row under the key itself."""
OTHERS = OWN.numbered(FIRST + 41)
"""Those of linked identities."""


@lru_cache(maxsize=4)
def _part(shape: Shape[StoredRelationship], family: str) -> Part:
    p = participants.c
    strictest = people.strictest_rank(USER)
    row = shape.columns(
        id=_U.interaction_count,
        affinity_base=_U.affinity_base,
        base_days=_U.base_days,
        trust=_U.trust,
        strictest=func.coalesce(strictest, 0),
        user_id=_U.user_id,
        at=_U.last_interaction,
    )
    if shape is OWN:
        made = select(*row).where(_U.persona_id == PERSONA, _U.user_id == USER)
    else:
        joined = participants.join(
            user_relationships, (_U.persona_id == p.persona_id) & (_U.user_id == p.participant_key)
        )
        made = (
            select(*row)
            .select_from(joined)
            .where(p.persona_id == PERSONA, p.person_key == bindparam("person", type_=Key(255)))
        )
    return Part(made, family, in_order=True)


def section_parts(key: str, person: str) -> tuple[Branch, ...]:
    """Return what brings the relationship of who is asking with the last statement of a prompt."""
    values = {"user": key, "person": person}

    return tuple(Branch(shape, partial(_part, shape), values, SOURCE, of_persona=True) for shape in (OWN, OTHERS))


def read_section(found: Sequence[StoredRelationship], privacy_default: str) -> tuple[Row | None, str]:
    """Return the relationship that `section_parts` brought, None where there is none, and the person's level."""
    made = []
    level = privacy_default
    for each in found:
        level = people.level_of(each.strictest, privacy_default)
        base = each.affinity_base
        made.append(Row(each.user_id, "", "", base, base, each.base_days, each.trust, each.id, each.at))
    made.sort(key=lambda row: (row.last_interaction is not None, row.last_interaction, row.user_id.encode()))
    return (made[-1] if made else None), level
