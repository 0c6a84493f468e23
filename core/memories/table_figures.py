"""Figures over memory items (table memories) for people to look at: growth, importance, age, what is copied
or unused.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Integer, and_, bindparam, case, func, or_, select

from ..database.dialects import Key, Time
from ..database.engine import Database
from ..database.schema import memories, memory_recalls
from .rules import INSTRUCTION
from .table_reading import is_there

_C, _R = memories.c, memory_recalls.c
_SOURCE = "memories"
_MINE = _C.persona_id == bindparam("persona", type_=Key(64))
_SINCE = bindparam("since", type_=Time())
_MOST = bindparam("most", type_=Integer())

BINS = 10
"""Parts of the histogram of importance."""
AGES_DAYS = (7, 30, 90, 365)
"""Where one group of ages ends and the next begins."""
MOST_DAYS = 400
"""Longest time that growth is told for."""


class Growth(NamedTuple):
    """How many items there were of a tier: before the first day, and those of each day that has any."""

    tier: str
    before: int
    days: tuple[tuple[date, int], ...]


class Age(NamedTuple):
    """Long-term items of one group of ages."""

    from_days: int
    recalled: int
    never: int


class Copied(NamedTuple):
    """Items of one audience and participant that say the same."""

    id: int
    """The oldest of them."""
    text: str
    items: int


class Unused(NamedTuple):
    """A long-term item that stood in no prompt for long."""

    id: int
    text: str
    timestamp: datetime | None
    last_recalled_at: datetime | None


def growth(db: Database, persona: str, days: int = 90) -> list[Growth]:
    """Return for each tier how many items it has of which day, by the time of the items, UTC."""
    since = _midnight(db.clock()) - timedelta(days=min(max(days, 1), MOST_DAYS) - 1)
    values = {"persona": persona, "since": since}
    with db.one_call():
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


def importances(db: Database, persona: str) -> list[int]:
    """Return how many items have an importance of 0 to 0.1, of 0.1 to 0.2 and so on; the last holds 1 too."""
    row = db.read(_IMPORTANCES, {"persona": persona}, source=_SOURCE)[0]
    return [int(value or 0) for value in row]


def _in_bin(place: int) -> Any:
    low, high = place / BINS, (place + 1) / BINS
    if place == 0:
        return _C.importance < high
    return _C.importance >= low if place == BINS - 1 else and_(_C.importance >= low, _C.importance < high)


_IMPORTANCES = select(
    *(func.sum(case((_in_bin(place), 1), else_=0)).label(f"bin{place}") for place in range(BINS))
).where(_MINE, *is_there())


def ages(db: Database, persona: str) -> list[Age]:
    """Return long-term items by age, newest group first, and how many of each stood in a prompt."""
    now = db.clock()
    values: dict[str, Any] = {"persona": persona}
    values |= {f"edge{place}": now - timedelta(days=days) for place, days in enumerate(AGES_DAYS)}
    row = db.read(_AGES, values, source=_SOURCE)[0]
    numbers = [int(value or 0) for value in row]
    return [
        Age(from_days, numbers[2 * place], numbers[2 * place + 1]) for place, from_days in enumerate((0, *AGES_DAYS))
    ]


def _of_age(place: int) -> Any:
    edges = [bindparam(f"edge{each}", type_=Time()) for each in range(len(AGES_DAYS))]
    if place == 0:
        return _C.timestamp > edges[0]
    if place == len(AGES_DAYS):
        return or_(_C.timestamp <= edges[-1], _C.timestamp.is_(None))
    return and_(_C.timestamp <= edges[place - 1], _C.timestamp > edges[place])


_RECALLED = func.coalesce(_R.recalled, 0) > 0
_WITH_RECALLS = memories.outerjoin(memory_recalls, and_(_R.persona_id == _C.persona_id, _R.memory_id == _C.id))
_AGES = (
    select(
        *(
            func.sum(case((and_(_of_age(place), is_recalled), 1), else_=0))
            for place in range(len(AGES_DAYS) + 1)
            for is_recalled in (_RECALLED, ~_RECALLED)
        )
    )
    .select_from(_WITH_RECALLS)
    .where(_MINE, *is_there(), _C.tier == "long_term")
)


def count_stale(db: Database, persona: str, days: int) -> int:
    """Return how many long-term items are at least so old and stood in no prompt for as long; pinned ones count not."""
    row = db.read(_STALE_COUNT, _stale_values(db, persona, days), source=_SOURCE)[0]
    return int(row[0] or 0)


def stale(db: Database, persona: str, days: int, most: int = 10) -> list[Unused]:
    """Return the oldest of the items that `count_stale` counts, oldest first, then by id."""
    rows = db.read(_STALE, {**_stale_values(db, persona, days), "most": most}, source=_SOURCE)
    return [Unused(int(row[0]), row[1], row[2], row[3]) for row in rows]


def _stale_values(db: Database, persona: str, days: int) -> dict[str, Any]:
    return {"persona": persona, "since": db.clock() - timedelta(days=days)}


_IS_STALE = (
    _MINE,
    *is_there(),
    _C.tier == "long_term",
    _C.pinned == 0,
    _C.kind != INSTRUCTION,
    _C.timestamp <= _SINCE,
    or_(_R.last_recalled_at.is_(None), _R.last_recalled_at <= _SINCE),
)
_STALE_COUNT = select(func.count()).select_from(_WITH_RECALLS).where(*_IS_STALE)
_STALE = (
    select(_C.id, _C.content, _C.timestamp, _R.last_recalled_at)
    .select_from(_WITH_RECALLS)
    .where(*_IS_STALE)
    .order_by(_C.timestamp, _C.id)
    .limit(_MOST)
)


def copied(db: Database, persona: str, most: int = 10) -> list[Copied]:
    """Return texts that several items of one audience and participant have, the most copied first, then by id."""
    with db.one_call():
        groups = db.read(_COPIED, {"persona": persona, "most": most}, source=_SOURCE)
        if not groups:
            return []
        known = texts(db, persona, [int(row[0]) for row in groups])
    return [Copied(int(row[0]), known.get(int(row[0]), ""), int(row[1])) for row in groups]


_COPIES = func.count().label("copies")
_FIRST = func.min(_C.id).label("first")
_COPIED = (
    select(_FIRST, _COPIES)
    .where(_MINE, *is_there(), _C.kind != INSTRUCTION)
    .group_by(_C.audience_id, _C.participant_key, _C.content_hash)
    .having(func.count() > 1)
    .order_by(_COPIES.desc(), _FIRST)
    .limit(_MOST)
)


def texts(db: Database, persona: str, ids: Sequence[int]) -> dict[int, str]:
    """Return the texts of up to 1,000 items, archived or not; those there are none of are left out."""
    if not ids:
        return {}
    rows = db.read(_TEXTS, {"persona": persona, "ids": list(ids)[:1000]}, source=_SOURCE)
    return {int(row[0]): row[1] for row in rows}


_TEXTS = select(_C.id, _C.content).where(_MINE, _C.id.in_(bindparam("ids", expanding=True)))
