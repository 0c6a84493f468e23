"""What the search tables hold of a row: worked out from its texts when it is written, and anew from what is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Integer, bindparam, case, func, null, select

from ..database import dialects, sources
from ..database.dialects import ID
from ..database.engine import Database
from ..database.schema import conversations, search_progress
from ..database.sources import AI_DIARY, SourceTable
from ..text.folding import fold
from ..text.hits import content_digest, stored_tags
from ..text.words import index_terms
from .lookups import TERM_BYTES, UNLISTED

Progress = Callable[[str, int, int], None]
"""Called with what is done, how much of it, and how much in all (0 when unknown)."""

RANGE = 1000
"""Rows read at once."""
TERMS_PER_ROW = 5000
"""A row with more different words is indexed for these and marked; what is beyond is found by LIKE."""
SEPARATOR = "\x1f"
"""Stands between the four folded texts of a diary entry; no keyword can hold it."""
DIARY_TEXTS = ("content", "personal_thought", "interaction_summary", "user_message")
_MOST16 = 65535


# What a row gives


def list_texts(source: SourceTable) -> list[Any]:
    """Return the columns of the texts of a source's rows; its folded text is made of all of them."""
    return [source.table.c[name] for name in DIARY_TEXTS] if source is AI_DIARY else [source.text]


def fold_texts(texts: Iterable[str | None]) -> str:
    """Return the folded text of a row."""
    return SEPARATOR.join(fold(text or "") for text in texts)


def derive_columns(texts: Sequence[str | None]) -> dict[str, Any]:
    """Return the columns of a row that follow from its texts."""
    return {"text_folded": fold_texts(texts), "content_hash": content_digest(texts[0] or "")}


@dataclass(frozen=True, slots=True)
class Entry:
    """What the search tables hold of one row."""

    source: int
    row_id: int
    audience_id: int
    at_us: int
    local_only: int
    terms: Mapping[str, int]
    """Word to number of times, at most TERMS_PER_ROW and UNLISTED."""
    words: int
    """Length of the text in words, counted to 65,535."""
    tags: Sequence[str]


def entry(
    source: int,
    row_id: int,
    audience_id: int,
    at: datetime | None,
    folded: str,
    tags: Sequence[str] = (),
    local_only: int = 0,
) -> Entry:
    """Return what the search tables hold of a row with this folded text and these stored tags."""
    found = index_terms(folded)
    words = min(sum(found.values()), _MOST16)
    kept = found
    if 4 * max(map(len, found), default=0) > TERM_BYTES or words == _MOST16:
        kept = {t: min(n, _MOST16) for t, n in found.items() if _bytes(t) <= TERM_BYTES}
    unlisted = len(kept) < len(found)
    if len(kept) > TERMS_PER_ROW:
        kept = dict(list(kept.items())[:TERMS_PER_ROW])
        unlisted = True
    if unlisted:
        kept[UNLISTED] = 1
    return Entry(source, row_id, audience_id, dialects.microseconds(at), local_only, kept, words, tuple(tags))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def place_columns(source: SourceTable) -> tuple[Any, ...]:
    """Return the columns that tell where a row was said and by whom: conversation, name, participant key, role."""
    row = source.table.c
    if source is sources.CHAT:
        return row.interface_path, row.sender_name, row.participant_key, row.role
    if source is sources.MEMORIES:
        return row.conversation_key, row.author, row.participant_key, row.scope
    return row.interface, row.chat_id, row.thread_id, row.interface


# Stored rows


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
    return entry(source.number, row[0], row[1], row[2], folded, tags, int(row[5] or 0))


@lru_cache(maxsize=8)
def _next_rows(source: SourceTable) -> Any:
    row = source.table.c
    statement = select(*indexed_columns(source)).where(row.id > bindparam("above", type_=ID), source.findable)
    return statement.order_by(row.id).limit(bindparam("most", type_=Integer()))


def all_entries(db: Database, tell: Progress) -> Iterator[Entry]:
    """Yield what the search tables hold of every row that can be found and is indexed."""
    for source in sources.ALL:
        above, done = 0, 0
        waiting = waiting_of(state_of(db, source))
        while rows := db.read(_next_rows(source), {"above": above, "most": RANGE}, source=source.table.name):
            above, done = rows[-1][0], done + len(rows)
            yield from (entry_of(source, row) for row in rows if is_indexed(waiting, row[0]))
            tell(source.table.name, done, 0)


# How far a source is indexed


def state_of(db: Database, source: SourceTable) -> Any:
    """Return how far a source is indexed: `ready`, `next_id`, `until_id`; None where nothing is known of it."""
    rows = db.read(_PROGRESS, {"source": source.number}, source="search_progress")
    return rows[0] if rows else None


def unindexed(connection: Connection, source: int) -> tuple[int, int] | None:
    """Return the range of ids `(above, up to)` of a source that is not indexed yet, None when all is."""
    return waiting_of(connection.execute(_PROGRESS, {"source": source}).first())


_PROGRESS = select(search_progress.c.ready, search_progress.c.next_id, search_progress.c.until_id).where(
    search_progress.c.source == bindparam("source")
)


def waiting_of(state: Any) -> tuple[int, int] | None:
    """Return the range of ids `(above, up to)` that is not indexed yet, given `state_of`; None when all is."""
    return None if state is None or state.ready else (state.next_id, state.until_id)


def is_indexed(waiting: tuple[int, int] | None, row_id: int) -> bool:
    """Return whether a row that is there is in the index, given what waits of its source."""
    return waiting is None or not waiting[0] < row_id <= waiting[1]
