"""Figures of memory items (table memories) for people to look at: growth, counts, texts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import bindparam, func, or_, select

from ..database.dialects import Key, Time
from ..database.engine import Database
from ..database.schema import memories
from .table_reading import is_there

_C = memories.c
_SOURCE = "memories"
_MINE = _C.persona_id == bindparam("persona", type_=Key(64))
_SINCE = bindparam("since", type_=Time())
MOST_DAYS = 400
"""Longest time that growth is told for."""


class Growth(NamedTuple):
    """How many items there were of a tier: before the first day, and those of each day that has any."""

    tier: str
    before: int
    days: tuple[tuple[date, int], ...]


def growth(db: Database, persona: str, days: int = 90) -> list[Growth]:
    """Return for each tier how many items it has of which day, by the time of the items, UTC."""
    since = _midnight(db.clock()) - timedelta(days=min(max(days, 1), MOST_DAYS) - 1)
    values = {"persona": persona, "since": since}
    with db.request_connection():
        before = {row[0] or "": int(row[1]) for row in db.read(_BEFORE, values, source=_SOURCE)}
        made: dict[str, list[tuple[date, int]]] = {tier: [] for tier in before}
        for row in db.read(_PER_DAY, values, source=_SOURCE):
            if (day := _date(row[1])) is not None:
                made.setdefault(row[0] or "", []).append((day, int(row[2])))
    return [Growth(tier, before.get(tier, 0), tuple(per_day)) for tier, per_day in sorted(made.items())]


_BEFORE = (
    select(_C.tier, func.count())
    .where(_MINE, *is_there(), or_(_C.timestamp < _SINCE, _C.timestamp.is_(None)))
    .group_by(_C.tier)
)
_DAY = func.date(_C.timestamp).label("day")
_PER_DAY = (
    select(_C.tier, _DAY, func.count())
    .where(_MINE, *is_there(), _C.timestamp >= _SINCE)
    .group_by(_C.tier, _DAY)
    .order_by(_C.tier, _DAY)
)


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _date(value: Any) -> date | None:
    """Return a day as the server gives it: a date, or its text."""
    if isinstance(value, date):
        return value
    text = value.decode() if isinstance(value, (bytes, bytearray)) else str(value or "")
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


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
    """Return the items that hold, by kind and tier."""
    rows = db.read(_KINDS, {"persona": persona}, source="memories")
    return [Count(row[0] or "", row[1] or "", int(row[2]), row[3], row[4]) for row in rows]


def count_archived(db: Database, persona: str) -> int:
    """Return how many items are archived or superseded."""
    is_archived = or_(_C.archived_at.is_not(None), _C.superseded_by.is_not(None))
    statement = select(func.count()).select_from(memories).where(_MINE, is_archived)
    return int(db.read(statement, {"persona": persona}, source="memories")[0][0])
