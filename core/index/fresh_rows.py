"""Which rows of an audience are packed: those in search_fresh are not, and have postings of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import Connection, bindparam, delete, exists, or_, select, update

from ..database import dialects
from ..database.bulk import chunks, write_many
from ..database.dialects import ID
from ..database.schema import search_fresh, search_gone, search_segment

PACK_FROM = 256
"""Rows of an audience with postings of their own that are packed together."""
_AT_ONCE = 500
_F, _S = search_fresh.c, search_segment.c
_A = bindparam("audience", type_=ID)

LAST_SEGMENT = _S.docs
"""In row 0: the number of the last segment there was. In the row of a segment: how many rows it holds."""
UNSWEPT_UNTIL = _S.stamp
"""In row 0: the highest id of the packed rows that may have postings left (`index.sweeping`), 0 where none has. In the
row of a segment: what tells it from every other one."""
_IS_ROW_0 = (_S.audience_id == _A, _S.segment_id == 0)
STATE = select(LAST_SEGMENT.label("last_segment"), UNSWEPT_UNTIL.label("unswept_until")).where(*_IS_ROW_0)
STATE_HELD = STATE.with_for_update()
_STATE_SHARED = STATE.with_for_update(read=True)
SET_LAST = update(search_segment).where(*_IS_ROW_0).values({LAST_SEGMENT: bindparam("last")})
SET_UNSWEPT = update(search_segment).where(*_IS_ROW_0).values({UNSWEPT_UNTIL: bindparam("highest")})
SET_SWEPT = update(search_segment).where(*_IS_ROW_0, bindparam("last") == LAST_SEGMENT).values({UNSWEPT_UNTIL: 0})
"""Unless segments were made since the one with this number."""


def find_fresh(connection: Connection, audience: int, source: int, ids: Iterable[int]) -> set[int]:
    """Return which of the rows are not packed, held until the transaction ends."""
    fresh: set[int] = set()
    for part in chunks(sorted(ids), _AT_ONCE):
        fresh.update(connection.execute(_HELD, {"audience": audience, "source": source, "ids": part}).scalars())
    return fresh


_HELD = (
    select(_F.row_id)
    .where(
        _F.audience_id == _A,
        _F.source == bindparam("source"),
        _F.row_id.in_(bindparam("ids", expanding=True)),
    )
    .with_for_update()
)


def delete_fresh(connection: Connection, audience: int, source: int, ids: Collection[int]) -> None:
    """Take rows from those that are not packed; their postings stay."""
    rows = [(audience, source, row_id) for row_id in sorted(ids)]
    write_many(connection, _DELETE, ("audience", "source", "row"), rows)


_DELETE = delete(search_fresh).where(
    _F.audience_id == _A, _F.source == bindparam("source"), _F.row_id == bindparam("row")
)


def note_gone(connection: Connection, family: str, audience: int, rows: Iterable[tuple[int, int]]) -> bool:
    """Note that no segment there is holds these rows, `(source, id)`, any more; return whether their postings may be
    left (`index.sweeping`)."""
    state = connection.execute(_STATE_SHARED, {"audience": audience}).first()
    if state is None or not state.last_segment:
        return False
    gone = sorted((audience, source, row_id, int(state.last_segment)) for source, row_id in rows)
    upsert = dialects.upsert(search_gone, family, update=["segment_id"])
    write_many(connection, upsert, ("audience_id", "source", "row_id", "segment_id"), gone)
    return bool(state.unswept_until)


def is_fresh(table: Any) -> Any:
    """Return the condition that a posting is of a row that is not packed."""
    c = table.c
    return exists().where(_F.audience_id == c.audience_id, _F.source == c.source, _F.row_id == c.row_id)


def is_counted(table: Any) -> Any:
    """Return the condition that a posting of `:audience` counts: a packed row's, which nobody reads, does not."""
    return or_(~exists().where(*_IS_ROW_0, UNSWEPT_UNTIL != 0), is_fresh(table))
