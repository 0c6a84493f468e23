"""Whether a loaded database holds what the package would have written, looked at in places: all of it takes hours."""

from __future__ import annotations

from sqlalchemy import bindparam, func, select

from core.database import sources
from core.database.dialects import ID, Key
from core.database.engine import Database
from core.database.schema import search_count, search_stats, search_tag, search_term
from core.index import entries as index_entries
from core.index.lookups import WORD
from core.text.hits import stored_tags

PLACES = 8
ROWS = 8


def spot_check(db: Database) -> int:
    """Compare rows at several places of every table with their postings; return how many postings were compared.

    Raises:
        AssertionError: a posting is missing or differs, or a total is wrong.
    """
    compared = 0
    for source in sources.ALL:
        c = source.table.c
        low, high = db.read(select(func.min(c.id), func.max(c.id)), source=source.name)[0]
        tags = c.id if source.tags is None else source.tags
        wanted = select(c.id, c.audience_id, c.timestamp, c.text_folded, tags)
        wanted = wanted.where(c.id >= bindparam("first", type_=ID)).order_by(c.id).limit(ROWS)
        for place in range(PLACES):
            first = low + (high - low) * place // PLACES
            for row in db.read(wanted, {"first": first}, source=source.name):
                held = [] if source.tags is None else stored_tags(row[4])
                compared += _row(db, index_entries.entry(source.number, *row[:4], held))
        stats = select(func.sum(search_stats.c.docs)).where(search_stats.c.source == source.number)
        rows = db.read(select(func.count()).select_from(source.table), source=source.name)[0][0]
        assert int(db.read(stats, source="search_stats")[0][0]) == rows, f"{source.name}: totals"
    return compared


def _row(db: Database, entry: index_entries.Entry) -> int:
    place = {"audience": entry.audience_id, "source": entry.source, "at": entry.at_us, "row": entry.row_id}
    for term, times in entry.terms.items():
        found = db.read(_TERM, {**place, "key": term}, source="search_term")
        assert [tuple(r) for r in found] == [(times, entry.words, 0)], (term, entry.row_id)
        counted = {"audience": entry.audience_id, "source": entry.source, "key": term}
        assert db.read(_COUNT, counted, source="search_count")[0][0] > 0, term
    for tag in entry.tags:
        assert db.read(_TAG, {**place, "key": tag}, source="search_tag"), (tag, entry.row_id)
    return len(entry.terms) + len(entry.tags)


_N = search_count.c
_COUNT = select(_N.docs).where(
    _N.audience_id == bindparam("audience", type_=ID),
    _N.kind == WORD,
    _N.term == bindparam("key", type_=Key(255)),
    _N.source == bindparam("source"),
)


def _at(table, key, *columns):
    c = table.c
    return select(*columns).where(
        c.audience_id == bindparam("audience", type_=ID),
        key == bindparam("key", type_=Key(255)),
        c.source == bindparam("source"),
        c.at_us == bindparam("at", type_=ID),
        c.row_id == bindparam("row", type_=ID),
    )


_TERM = _at(search_term, search_term.c.term, search_term.c.tf, search_term.c.words, search_term.c.local_only)
_TAG = _at(search_tag, search_tag.c.tag, search_tag.c.row_id)
