"""Deletes the postings that packed rows still have, where very many were packed (`index.packing`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from operator import ge, gt, le, lt
from typing import Any

from sqlalchemy import Connection, Integer, and_, bindparam, delete, func, or_, select

from ..database.dialects import ID
from ..database.engine import Database, UndoError
from ..database.schema import search_count, search_fresh, search_segment, search_tag, search_term
from .entries import Progress
from .fresh_rows import SET_SWEPT, STATE, UNSWEPT_UNTIL, is_fresh

SWEPT_AT_ONCE = 50_000
"""Postings looked at in one transaction."""
_F, _S, _N = search_fresh.c, search_segment.c, search_count.c
_A = bindparam("audience", type_=ID)


def sweep_all(db: Database, progress: Progress | None = None) -> None:
    """Delete the postings that packed rows still have, in every audience."""
    unswept = select(_S.audience_id).where(_S.segment_id == 0, UNSWEPT_UNTIL != 0)
    audiences = [row[0] for row in db.read(unswept, source="search_segment")]
    total = sum(int(db.read(_POSTINGS, {"audience": each}, source="search_count")[0][0] or 0) for each in audiences)
    done = 0
    for audience in audiences:
        for gone in _sweep_audience(db, audience):
            done += gone
            if progress is not None:
                progress("postings", done, max(done, total))


_POSTINGS = select(func.sum(_N.docs)).where(_N.audience_id == _A)


def _sweep_audience(db: Database, audience: int) -> Iterator[int]:
    """Delete the postings that packed rows of an audience still have, and yield how many went in each step."""
    while (states := db.read(STATE, {"audience": audience}, source="search_segment")) and states[0].unswept_until:
        last, highest = states[0]
        for table in (search_term, search_tag):
            first: _Position | None = _FIRST
            while first is not None:
                first, gone = db.transaction(partial(_sweep_some, audience, table, highest, first), source=table.name)
                yield gone
        db.transaction(partial(_set_swept, audience, last), source="search_segment")


_Position = tuple[str, int, int, int]
"""Word or tag, source, time and id of a posting: the order postings of an audience lie in."""
_FIRST: _Position = ("", 0, -(2**63), 0)


def _sweep_some(
    audience: int, table: Any, highest: int, first: _Position, connection: Connection
) -> tuple[_Position | None, int]:
    """Delete postings of packed rows from a position on, and return where to go on and how many there were."""
    asked = {"audience": audience, "highest": highest, **_named("first", first), "most": SWEPT_AT_ONCE}
    before = set(connection.execute(_BACK, asked).all())
    end = connection.execute(_end(table), asked).first()
    bounds = asked if end is None else {**asked, **_named("end", tuple(end))}
    gone = connection.execute(_sweep(table, end is not None), bounds).rowcount
    if not before.issuperset(connection.execute(_BACK, asked).all()):
        raise UndoError((first, 0))
    return None if end is None else tuple(end), gone


_BACK = select(_F.source, _F.row_id).where(_F.audience_id == _A, _F.row_id <= bindparam("highest", type_=ID))


def _named(bound: str, place: _Position) -> dict[str, Any]:
    return {f"{bound}_{name}": value for name, value in zip(("key", "source", "at", "row"), place, strict=True)}


def _columns(table: Any, bound: str) -> list[tuple[Any, Any]]:
    """Return the columns postings are ordered by, each with the value it has at a bound."""
    c = table.c
    columns = {"key": c.term if table is search_term else c.tag, "source": c.source, "at": c.at_us, "row": c.row_id}
    return [(column, bindparam(f"{bound}_{name}", type_=column.type)) for name, column in columns.items()]


def _beside(table: Any, bound: str, *, is_before: bool) -> Any:
    """Return the condition that a posting stands before a bound, or else at it or behind it; written so that servers,
    which compare rows of values one by one, find the place in the key."""
    of_key, of_last, of_others = (le, lt, lt) if is_before else (ge, ge, gt)
    *others, (column, value) = pairs = _columns(table, bound)
    made = of_last(column, value)
    for column, value in reversed(others):
        made = or_(of_others(column, value), and_(column == value, made))
    return and_(table.c.audience_id == _A, of_key(*pairs[0]), made)


@lru_cache(maxsize=2)
def _end(table: Any) -> Any:
    """Return the statement that finds the first posting behind those of a step."""
    columns = [column for column, _ in _columns(table, "first")]
    most = bindparam("most", type_=Integer())
    found = select(*columns).where(_beside(table, "first", is_before=False))
    return found.order_by(table.c.audience_id, *columns).limit(1).offset(most)


@lru_cache(maxsize=4)
def _sweep(table: Any, has_end: bool) -> Any:
    c = table.c
    bounds = [_beside(table, "first", is_before=False)] + [_beside(table, "end", is_before=True)] * has_end
    return delete(table).where(*bounds, c.row_id <= bindparam("highest", type_=ID), ~is_fresh(table))


def _set_swept(audience: int, last: int, connection: Connection) -> None:
    """Note that packed rows have no postings left, unless some were packed since the segment with this number."""
    connection.execute(SET_SWEPT, {"audience": audience, "last": last})
