"""What the tests of the tables share: a migrated database with a clock of its own, and a check of the search tables."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import select

from core.database.engine import Database
from core.database.schema import audiences, conversations, search_count, search_stats, search_tag, search_term
from core.database.sources import AI_DIARY, ALL, CHAT
from core.index import entries as index_entries
from core.index import packing, segment
from core.index.entries import DIARY_TEXTS, SEPARATOR
from core.scope import Scope
from core.text.folding import fold
from core.text.hits import stored_tags
from core.upkeep import migration as migrating

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)

_personas = itertools.count(1)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **by: float) -> None:
        """Move it."""
        self.now += timedelta(**by)


def open_db(url: str) -> Database:
    """Return a migrated database whose clock stands at NOW."""
    db = Database(url, clock=Clock())
    migrating.ensure_present(db)
    return db


@contextmanager
def of_today(url: str, **options: Any) -> Iterator[Database]:
    """Yield a migrated database, whose clock is the system's unless another one is given, and close it."""
    db = Database(url, **options)
    migrating.ensure_present(db)
    yield db
    db.close()


def own_scope(**fields: Any) -> Scope:
    """Return a scope of a persona nobody else has, so that tests share a database without seeing each other."""
    return Scope(persona=f"p{next(_personas)}", **fields)


def count(db: Database, table: Any, persona: str, *where: Any) -> int:
    """Return how many rows of a persona a table holds."""
    return len(rows_of(db, table, persona, *where))


def rows_of(db: Database, table: Any, persona: str, *where: Any) -> list[Any]:
    """Return the rows of a persona by id."""
    key = table.c[next(iter(table.primary_key.columns)).name]
    return list(db.read(select(table).where(table.c.persona_id == persona, *where).order_by(key), source=table.name))


def index_differences(db: Database, persona: str) -> list[str]:
    """Return where the search tables differ from what the rows of a persona give (D15)."""
    mine = {r.audience_id for r in rows_of(db, audiences, persona)}
    local = {r.conversation_key for r in rows_of(db, conversations, persona) if r.local_only}
    entries = []
    for source in ALL:
        chosen = select(source.table).where(source.table.c.persona_id == persona, source.findable)
        for row in db.read(chosen, source=source.table.name):
            texts = (
                [getattr(row, name) or "" for name in DIARY_TEXTS]
                if source is AI_DIARY
                else [getattr(row, source.text.name)]
            )
            held = [] if source.tags is None else stored_tags(getattr(row, source.tags.name))
            hidden = row.interface_path in local if source is CHAT else row.local_only
            folded = SEPARATOR.join(map(fold, texts))
            if row.text_folded != folded:
                return [f"{source.name} {row.id}: text_folded differs"]
            entries.append(
                index_entries.entry(source.number, row.id, row.audience_id, row.timestamp, folded, held, int(hidden))
            )
    return _compare(db, mine, entries)


def packed_postings(db: Database, audiences_: Collection[int], name: str) -> list[tuple[Any, ...]]:
    """Return the postings of packed rows that are still there, in the columns of search_term or search_tag."""

    def work(connection: Any) -> list[tuple[Any, ...]]:
        made: list[tuple[Any, ...]] = []
        for audience in sorted(audiences_):
            gone = packing.read_gone(connection, audience)
            for one in packing.list_segments(connection, audience):
                rows, blocks = packing.read_segment(connection, audience, one.segment_id)
                stays = packing.find_staying(rows, one.segment_id, gone)
                for (kind, term), block in blocks.items():
                    if kind != ("term", "tag").index(name):
                        continue
                    for place, times in segment.read_block(block).tolist():
                        if stays[place]:
                            where = [int(column[place]) for column in (rows.source, rows.at_us, rows.row_id)]
                            more = [times, int(rows.words[place])] if name == "term" else []
                            made.append((audience, term, *where, *more, int(rows.local_only[place])))
        return made

    return db.transaction(work, source="test")


def _compare(db: Database, mine: set[int], entries: list[index_entries.Entry]) -> list[str]:
    wanted: dict[str, Counter[Any]] = {name: Counter() for name in ("term", "tag", "count", "stats")}
    for e in entries:
        place = (e.source, e.at_us, e.row_id)
        wanted["term"].update({(e.audience_id, t, *place, n, e.words, e.local_only): 1 for t, n in e.terms.items()})
        wanted["tag"].update({(e.audience_id, t, *place, e.local_only): 1 for t in e.tags})
        wanted["count"].update((e.audience_id, 0, t, e.source) for t in e.terms)
        wanted["count"].update((e.audience_id, 1, t, e.source) for t in e.tags)
        wanted["stats"][e.audience_id, e.source, "docs"] += 1
        wanted["stats"][e.audience_id, e.source, "words"] += e.words
    there: dict[str, Counter[Any]] = {name: Counter() for name in wanted}
    for name, table in (("term", search_term), ("tag", search_tag)):
        there[name].update(tuple(row) for row in _of(db, table, mine))
        there[name].update(packed_postings(db, mine, name))
    for row in _of(db, search_count, mine):
        there["count"][row.audience_id, row.kind, row.term, row.source] += row.docs
    for row in _of(db, search_stats, mine):
        there["stats"][row.audience_id, row.source, "docs"] += row.docs
        there["stats"][row.audience_id, row.source, "words"] += row.words
    found = []
    for name, counts in wanted.items():
        there[name] = +there[name]
        found += [f"{name} missing: {item}" for item in sorted((counts - there[name]), key=str)]
        found += [f"{name} too many: {item}" for item in sorted((there[name] - +counts), key=str)]
    return found


def _of(db: Database, table: Any, mine: set[int]) -> Any:
    """Return the rows of a search table that belong to some audiences."""
    return db.read(select(table).where(table.c.audience_id.in_(sorted(mine))), source=table.name)
