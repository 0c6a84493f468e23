"""What the search tables hold of stored rows, worked out anew: read by those that build and compare the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, bindparam, case, func, null, select

from ..database import sources
from ..database.dialects import ID
from ..database.engine import Database
from ..database.schema import conversations, search_progress
from ..database.sources import SourceTable
from ..text.hits import stored_tags
from . import table as search_index
from .indexed import fold_texts, list_texts
from .table import Entry

Progress = Callable[[str, int, int], None]
"""Called with what is done, how much of it, and how much in all (0 when unknown)."""

RANGE = 1000
"""Rows read at once."""


@lru_cache(maxsize=8)
def indexed_columns(source: SourceTable) -> tuple[Any, ...]:
    """Return the columns of a row that decide what the search tables hold of it."""
    row = source.table.c
    if "local_only" in row:
        local: Any = row.local_only
    else:
        conversation = select(conversations.c.local_only).where(
            conversations.c.persona_id == row.persona_id, conversations.c.conversation_key == row.interface_path
        )
        local = func.coalesce(conversation.scalar_subquery(), 0)
    found = null() if source.tags is None else source.tags
    return (
        row.id,
        row.audience_id,
        row.timestamp,
        row.text_folded,
        found.label("tags"),
        local.label("local_only"),
        # Needed where an older program wrote the row without its folded text.
        *(case((row.text_folded.is_(None), text)).label(f"text{n}") for n, text in enumerate(list_texts(source))),
    )


def entry_of(source: SourceTable, row: Any) -> Entry:
    """Return what the search tables hold of a row with `indexed_columns`; a missing folded text is made anew."""
    folded = row[3]
    if folded is None:
        folded = fold_texts(row[6:])
    tags = stored_tags(row[4]) if source.tags is not None else []
    return search_index.entry(source.number, row[0], row[1], row[2], folded, tags, int(row[5] or 0))


def state_of(db: Database, source: SourceTable) -> Any:
    """Return how far a source is indexed: `ready`, `next_id`, `until_id`; None where nothing is known of it."""
    p = search_progress.c
    rows = db.read(
        select(p.ready, p.next_id, p.until_id).where(p.source == bindparam("source")),
        {"source": source.number},
        source="search_progress",
    )
    return rows[0] if rows else None


@lru_cache(maxsize=8)
def _next_rows(source: SourceTable) -> Any:
    row = source.table.c
    statement = select(*indexed_columns(source)).where(row.id > bindparam("above", type_=ID), source.findable)
    return statement.order_by(row.id).limit(bindparam("most", type_=Integer()))


def all_entries(db: Database, tell: Progress) -> Iterator[Entry]:
    """Yield what the search tables hold of every row that can be found and is indexed."""
    for source in sources.ALL:
        above, done = 0, 0
        state = state_of(db, source)
        waiting = None if state is None or state.ready else (state.next_id, state.until_id)
        while rows := db.read(_next_rows(source), {"above": above, "most": RANGE}, source=source.table.name):
            above, done = rows[-1][0], done + len(rows)
            yield from (entry_of(source, row) for row in rows if search_index.is_indexed(waiting, row[0]))
            tell(source.table.name, done, 0)
