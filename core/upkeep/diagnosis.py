"""Facts about a database that tell an operator how it fares: settings, sizes, clock, queue, orphans."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Integer, and_, bindparam, func, select

from ..database import registry
from ..database.connections import is_local
from ..database.dialects import ID, Key, Time, read_time
from ..database.engine import Database
from ..database.schema import audiences, memories, search_fresh, search_tag, search_term
from ..database.schema_recent import short_term_memories
from ..database.schema_stories import memory_jobs
from ..database.sources import ALL, SourceTable
from ..errors import StoreError
from ..index import entries as search_entries
from . import ddl

SAMPLED = 20
"""Newest, and oldest, rows of each table whose place in the search index is looked at."""
PINGS = 5

_VARIABLES = "SHOW GLOBAL VARIABLES"
_CHARSET = "SELECT @@character_set_database, @@collation_database"
_CIPHER = "SHOW SESSION STATUS LIKE 'Ssl_cipher'"
_CONNECTED = "SHOW GLOBAL STATUS LIKE 'Threads_connected'"
_SIZES = """
SELECT table_name, data_length, index_length, data_free FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'
"""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a server says of itself."""

    settings: Mapping[str, str]
    cipher: str
    local: bool
    connected: int | None


def read_server_facts(db: Database, asked: tuple[str, ...]) -> ServerFacts:
    """Return the settings of a server, whether the connection is encrypted, and how many are connected."""
    rows = db.read_driver(_VARIABLES, (), source="the server's settings")
    found = {_text(row[0]).lower(): _text(row[1]) for row in rows}
    # This database has a character set of its own; those above are for new ones.
    charset = db.read_driver(_CHARSET, (), source="the server's settings")[0]
    found |= {"character_set_database": _text(charset[0]), "collation_database": _text(charset[1])}
    url = db.target.url
    return ServerFacts(
        {name: found[name] for name in asked if name in found},
        _said(db, _CIPHER),
        is_local(url.host) or "unix_socket" in url.query,
        int(said) if (said := _said(db, _CONNECTED)).isdigit() else None,
    )


def _said(db: Database, statement: str) -> str:
    """Return the value of one line of the server's state; blank where it has none, or does not tell."""
    try:
        rows = db.read_driver(statement, (), source="the server's state")
    except StoreError:
        return ""
    return _text(rows[0][1]) if rows else ""


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, (bytes, bytearray)) else str(value)


def read_table_sizes(db: Database) -> dict[str, tuple[int, int, int]]:
    """Return table to bytes of rows, of indexes, and free inside, of our tables on a server."""
    rows = db.read_driver(_SIZES, (), source="the sizes of tables")
    known = ddl.list_tables()
    return {_text(r[0]): (int(r[1] or 0), int(r[2] or 0), int(r[3] or 0)) for r in rows if _text(r[0]) in known}


def read_file_facts(db: Database) -> dict[str, int | str]:
    """Return what SQLite says of its file: page_size, page_count, freelist_count, journal_mode, quick_check."""
    names = ("page_size", "page_count", "freelist_count", "journal_mode")
    found: dict[str, int | str] = {}
    for name in names:
        found[name] = db.read_driver(f"PRAGMA {name}", (), source="the file")[0][0]
    return found


def is_whole(db: Database) -> bool:
    """Return whether SQLite finds its file in order; takes time by the size of the file."""
    return str(db.read_driver("PRAGMA quick_check(1)", (), source="the file")[0][0]) == "ok"


def measure_round_trip_ms(db: Database) -> float:
    """Return how long the smallest statement takes, the median of a few; connecting is not counted."""
    took: list[float] = []
    with db.one_call():
        for _ in range(PINGS + 1):
            begun = time.perf_counter()
            db.read_driver("SELECT 1", (), source="the database")
            took.append((time.perf_counter() - begun) * 1000)
    return statistics.median(took[1:])


def measure_clock_seconds(db: Database) -> float:
    """Return by how much the server's clock is ahead of the host's; the way there and back is taken out half."""
    with db.one_call():
        db.read_driver("SELECT 1", (), source="the database")
        before = db.clock()
        said = read_time(db.read_driver("SELECT UTC_TIMESTAMP(6)", (), source="the server's clock")[0][0])
        after = db.clock()
    if said is None:
        return 0.0
    return (said - before).total_seconds() - (after - before).total_seconds() / 2


# Rows


def count_queue(db: Database) -> dict[str, float]:
    """Return how the queue fares over all personas: the arguments of `doctor.rules.waiting`."""
    j, now = memory_jobs.c, db.clock()
    due = and_(
        j.status.in_(("pending", "retrying")),
        func.coalesce(j.available_at, j.created_at) <= bindparam("now", now, type_=Time()),
    )
    gone = and_(j.status == "in_progress", j.lease_until <= bindparam("now", now, type_=Time()))
    left = db.read(select(func.count(), func.min(j.lease_until)).where(gone), source="memory_jobs")[0]
    open_ = db.read(select(func.count(), func.min(j.created_at)).where(due), source="memory_jobs")[0]
    failed = db.read(select(func.count()).where(j.status == "failed"), source="memory_jobs")[0][0]
    return {
        "left": int(left[0]),
        "left_seconds": _age(left[1], now),
        "failed": int(failed),
        "unfinished": int(open_[0]),
        "oldest_seconds": _age(open_[1], now),
    }


def _age(moment: Any, now: datetime) -> float:
    at = read_time(moment)
    return 0.0 if at is None else max(0.0, (now - at).total_seconds())


def count_expired(db: Database, before_short: datetime) -> tuple[int, int]:
    """Return how many session items and short-term entries have expired and are still there."""
    m, s = memories.c, short_term_memories.c
    over = and_(
        m.tier == "session", m.archived_at.is_(None), m.expires_at <= bindparam("now", db.clock(), type_=Time())
    )
    items = db.read(select(func.count()).where(over), source="memories")[0][0]
    old = s.last_updated <= bindparam("before", before_short, type_=Time())
    entries = db.read(select(func.count()).where(old), source="short_term_memories")[0][0]
    return int(items), int(entries)


def count_orphans(db: Database) -> dict[str, int]:
    """Return table to rows that go with a row of another table that is gone, for every such pair of the registry."""
    known = ddl.list_tables()
    found: dict[str, int] = {}
    for entry in registry.REGISTRY:
        if len(entry.row_of) != 1 or entry.row_table not in known or "id" not in known[entry.row_table].c:
            continue
        here, there = known[entry.table], known[entry.row_table]
        link = here.c[entry.row_of[0]]
        gone = select(func.count()).where(link.is_not(None), ~select(there.c.id).where(there.c.id == link).exists())
        found[entry.table] = int(db.read(gone, source=entry.table)[0][0])
    return found


# The search index


def sample_index(db: Database) -> tuple[int, dict[str, int]]:
    """Return how many rows were looked at, and table to how many of them are indexed otherwise than they should be."""
    looked = 0
    wrong: dict[str, int] = {}
    for source in ALL:
        state = search_entries.state_of(db, source)
        if state is None or not state.ready:
            continue
        for entry in _sampled(db, source):
            looked += 1
            if not _is_indexed(db, entry):
                wrong[source.table.name] = wrong.get(source.table.name, 0) + 1
    return looked, wrong


def _sampled(db: Database, source: SourceTable) -> list[search_entries.Entry]:
    chosen: dict[int, Any] = {}
    row = source.table.c
    asked = select(*search_entries.indexed_columns(source)).where(source.findable)
    for order in (row.id, row.id.desc()):
        statement = asked.order_by(order).limit(bindparam("most", SAMPLED, type_=Integer()))
        chosen |= {each[0]: each for each in db.read(statement, source=source.table.name)}
    return [search_entries.entry_of(source, each) for each in chosen.values()]


def _is_indexed(db: Database, entry: search_entries.Entry) -> bool:
    fresh = {"audience": entry.audience_id, "source": entry.source, "row": entry.row_id}
    if not db.read(_FRESH, fresh, source="search_fresh"):
        from ..index import audiences as index_audiences  # noqa: PLC0415 - loads numpy

        whose = db.read(_PERSONA, {"audience": entry.audience_id}, source="audiences")
        words = list(entry.terms)[:SAMPLED_WORDS] if whose else ()
        found = [index_audiences.find_ids(db, whose[0][0], [entry.audience_id], entry.source, [word]) for word in words]
        return all(entry.row_id in ids for ids in found)
    terms = {(term, times, entry.words) for term, times in entry.terms.items()}
    t = search_term.c
    held_terms = db.read(_of_row(search_term, "term", t.tf, t.words), _place(entry, entry.terms), source="search_term")
    tags = db.read(_of_row(search_tag, "tag"), _place(entry, entry.tags), source="search_tag")
    return {tuple(each) for each in held_terms} >= terms and {each[0] for each in tags} >= set(entry.tags)


_PERSONA = select(audiences.c.persona_id).where(audiences.c.audience_id == bindparam("audience", type_=ID))
SAMPLED_WORDS = 3
"""Words of a packed row that are looked for."""
_FRESH = select(search_fresh.c.row_id).where(
    search_fresh.c.audience_id == bindparam("audience", type_=ID),
    search_fresh.c.source == bindparam("source", type_=Integer()),
    search_fresh.c.row_id == bindparam("row", type_=ID),
)


def _of_row(table: Any, name: str, *more: Any) -> Any:
    c = table.c
    return select(c[name], *more).where(
        c.audience_id == bindparam("audience", type_=ID),
        c[name].in_(bindparam("keys", expanding=True, type_=Key(255))),
        c.source == bindparam("source", type_=Integer()),
        c.at_us == bindparam("at", type_=ID),
        c.row_id == bindparam("row", type_=ID),
    )


def _place(entry: search_entries.Entry, keys: Any) -> dict[str, Any]:
    return {
        "audience": entry.audience_id,
        "keys": list(keys),
        "source": entry.source,
        "at": entry.at_us,
        "row": entry.row_id,
    }
