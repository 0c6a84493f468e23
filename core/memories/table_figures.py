"""Figures of memory items (table memories) for people to look at: counts, texts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import bindparam, case, func, or_, select

from ..database.dialects import Key, Time
from ..database.engine import Database
from ..database.schema import memories
from .table_reading import is_there

_C = memories.c
_SOURCE = "memories"
_MINE = _C.persona_id == bindparam("persona", type_=Key(64))


def texts(db: Database, persona: str, ids: Sequence[int]) -> dict[int, str]:
    """Return the texts of up to 1,000 items, archived or not; those there are none of are left out."""
    if not ids:
        return {}
    rows = db.read(_TEXTS, {"persona": persona, "ids": list(ids)[:1000]}, source=_SOURCE)
    return {int(row[0]): row[1] for row in rows}


_TEXTS = select(_C.id, _C.content).where(_MINE, _C.id.in_(bindparam("ids", expanding=True)))


class Count(NamedTuple):
    """How many items of one kind and tier hold."""

    kind: str
    tier: str
    items: int
    oldest: datetime | None
    newest: datetime | None


_KINDS = (
    select(_C.kind, _C.tier, func.count(), func.min(_C.timestamp), func.max(_C.timestamp))
    .where(_MINE, *is_there())
    .group_by(_C.kind, _C.tier)
    .order_by(_C.kind, _C.tier)
)


def count_kinds(db: Database, persona: str) -> list[Count]:
    rows = db.read(_KINDS, {"persona": persona}, source="memories")
    return [Count(row[0] or "", row[1] or "", int(row[2]), row[3], row[4]) for row in rows]


def count_by(db: Database, persona: str, times: Sequence[datetime]) -> list[int]:
    """Return how many of the items that hold were known at each of up to 20 times."""
    before = [or_(_C.timestamp.is_(None), _C.timestamp <= bindparam(f"t{n}", type_=Time())) for n in range(len(times))]
    known = [func.count(case((is_before, 1))) for is_before in before]
    bound = {f"t{n}": time for n, time in enumerate(times)}
    (row,) = db.read(select(*known).where(_MINE, *is_there()), {"persona": persona, **bound}, source=_SOURCE)
    return [int(count) for count in row]


def count_archived(db: Database, persona: str) -> int:
    is_archived = or_(_C.archived_at.is_not(None), _C.superseded_by.is_not(None))
    statement = select(func.count()).select_from(memories).where(_MINE, is_archived)
    return int(db.read(statement, {"persona": persona}, source="memories")[0][0])
