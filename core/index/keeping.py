"""Whether a database keeps a search index at all: SEARCH_INDEX 0 takes it away, `db reindex` with 1 makes it again.

What decides is not a process's own flag but the database: in `search_progress` a source without an index waits up to
NEVER, which writers and readers of every process see. So two processes of different flags lose no row: nobody writes
postings into an index that is not kept, and who keeps one finds what is not in it by the plain predicates.

| step | does |
|---|---|
| `turn_off` | marks the sources, then empties the tables; what was left by an interruption goes with the next one |
| `drop_unkept` | asked by whoever writes to the index, in the transaction of the row |
| `turn_on` | every row there is waits to be indexed; `index.repair.backfill` does it |
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Table, bindparam, delete, exists, func, literal_column, select, union_all, update

from ..base import logs
from ..database import sources
from ..database.dialects import ID, upsert
from ..database.engine import Database
from ..database.schema import (
    search_block,
    search_count,
    search_fresh,
    search_gone,
    search_progress,
    search_segment,
    search_stats,
    search_tag,
    search_term,
    search_vocab,
)
from ..database.statements import Part
from ..errors import StoreError
from .entries import Entry
from .lookups import HELD

NEVER = 2**63 - 1
"""Up to here the rows of a source wait that is not to be indexed: every row there will ever be."""
TABLES = (
    search_term, search_tag, search_fresh, search_segment, search_block, search_gone, search_count, search_stats,
    search_vocab,
)  # fmt: skip
"""What an index consists of."""
AT_ONCE = 5000
"""Rows a server deletes in one transaction; SQLite empties a table in one step."""
AGAIN_SECONDS = 5.0
"""A database that could not be asked is not asked again for so long."""
_NAME = "index.keeping"
_P = search_progress.c
_ALL = tuple(source.number for source in sources.ALL)


# Looking


def is_kept(ready: object, until_id: int | None) -> bool:
    """Return whether a source has an index, complete or not, given its row of `search_progress`."""
    return bool(ready) or until_id != NEVER


_IS_UNKEPT = (_P.ready == 0, _P.until_id == bindparam("never", NEVER, type_=ID))
_UNKEPT = select(_P.source).where(*_IS_UNKEPT).order_by(_P.source)
ANY_UNKEPT = exists().where(*_IS_UNKEPT)
"""Whether of some source no index is kept, as a column for a statement that is sent anyhow."""
_UNKEPT_HELD = _UNKEPT.where(_P.source.in_(bindparam("sources", expanding=True))).with_for_update(read=True)


def find_unkept(db: Database) -> set[int]:
    """Return the numbers of the sources of which no index is kept."""
    return {row[0] for row in db.read(_UNKEPT, {"never": NEVER}, source="search_progress")}


def has_unkept(connection: Connection, family: str) -> bool:
    """Return whether of some source no index is kept: every row that is written asks."""
    return _unkept(family).run(connection, {"never": NEVER}).first() is not None


@lru_cache(maxsize=2)
def _unkept(family: str) -> Part:
    return Part(_UNKEPT, family)


def drop_unkept(connection: Connection, entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries that are to be written, without those of sources of which no index is kept."""
    numbers = sorted({one.source for one in entries})
    unkept = set(connection.execute(_UNKEPT_HELD, {"never": NEVER, "sources": numbers}).scalars())
    return [one for one in entries if one.source not in unkept]


@lru_cache(maxsize=1)
def _any_row() -> Any:
    one = [select(literal_column("1").label("n")).select_from(table).limit(1).subquery() for table in TABLES]
    return union_all(*(select(each.c.n) for each in one))


# Turning off


def leave_out(db: Database) -> None:
    """See to it that a database keeps no search index; one that cannot be asked is left as it is, and logged."""
    failed = db.caches.get(_NAME)
    if failed is not None and time.monotonic() - failed < AGAIN_SECONDS:
        return
    try:
        if find_unkept(db).issuperset(_ALL):
            return
        turn_off(db)
    except StoreError as error:
        db.caches[_NAME] = time.monotonic()
        logs.warning("search_index_kept", error=type(error).__name__, number=error.number)


def turn_off(db: Database) -> int:
    """Keep no search index from now on, empty its tables, and return how many of their rows went."""
    if not find_unkept(db).issuperset(_ALL):
        db.transaction(lambda connection: _mark(connection, db), source="search_progress")
        logs.event(logging.INFO, "search_index_off")
    gone = 0
    while db.read(_any_row(), source="the search index"):
        more = db.transaction(lambda connection: _empty_some(connection, db), source="the search index")
        gone += more
        if not more:  # somebody keeps it again, or it went meanwhile
            break
    db.caches.pop(HELD, None)
    return gone


def _mark(connection: Connection, db: Database) -> None:
    change = upsert(search_progress, db.family, update=["ready", "next_id", "until_id", "updated_at"])
    for number in _ALL:
        row = {"source": number, "ready": 0, "next_id": 0, "until_id": NEVER, "updated_at": db.clock()}
        connection.execute(change, row)


def _empty_some(connection: Connection, db: Database) -> int:
    """Delete rows of the index, on servers some of each table, and return how many; none where it is kept."""
    if len(connection.execute(_UNKEPT.with_for_update(), {"never": NEVER}).all()) < len(_ALL):
        return 0
    most = None if db.family == "sqlite" else AT_ONCE
    return _empty(connection, most)


def _empty(connection: Connection, most: int | None = None) -> int:
    """Delete rows of every table of the index, at most so many of each, and return how many."""
    return sum(int(connection.execute(_delete(table, most)).rowcount) for table in TABLES)


@lru_cache(maxsize=32)
def _delete(table: Table, most: int | None) -> Any:
    return delete(table) if most is None else delete(table).with_dialect_options(mysql_limit=most)


def empty_unkept(connection: Connection) -> None:
    """Delete all that lies in an index that is not kept, such as an interruption left: who is forgotten leaves none."""
    if len(connection.execute(_UNKEPT, {"never": NEVER}).all()) == len(_ALL) and connection.execute(_any_row()).all():
        _empty(connection)


# Turning on


def turn_on(db: Database) -> bool:
    """Keep a search index again: every row there is waits to be indexed."""
    return bool(find_unkept(db)) and bool(
        db.transaction(lambda connection: _unmark(connection, db), source="search_progress")
    )


def _unmark(connection: Connection, db: Database) -> Sequence[int]:
    """Mark the sources that have no index as not indexed yet. Writers that left their rows out have ended by then."""
    numbers = connection.execute(_UNKEPT.with_for_update(), {"never": NEVER}).scalars().all()
    if len(numbers) == len(_ALL):
        _empty(connection)
    for number in numbers:
        newest = connection.execute(select(func.max(sources.BY_NUMBER[number].table.c.id))).scalar()
        values = {"ready": int(newest is None), "next_id": 0, "until_id": newest or 0, "updated_at": db.clock()}
        connection.execute(update(search_progress).where(_P.source == number).values(**values))
    return numbers
