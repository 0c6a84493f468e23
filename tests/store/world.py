"""What the tests of the tables share: a migrated database with a clock of its own, and a check of the search tables."""

import itertools
import subprocess
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import numpy as np
from sqlalchemy import event, select
from sqlalchemy.engine import make_url

from core.calls.call import Call
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.database import schema
from core.database.engine import Database
from core.database.sources import AI_DIARY, ALL, CHAT, MEMORIES
from core.index import entries as index_entries
from core.index import indexed, packing, segment, table
from core.index.entries import DIARY_TEXTS, SEPARATOR, Stored, calendar_of, place_columns, place_of, read_audience
from core.index.shapes import DAY, TAG, Entry, ThreadSpeaker
from core.index.state import IndexState
from core.memories import new_item
from core.memories import table as memories
from core.scope import Scope
from core.shapes import WriteResult
from core.text.folding import fold
from core.text.hits import stored_tags
from core.upkeep import migration as migrating
from tests.databases import run_script

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)

T = TypeVar("T")
_personas = itertools.count(1)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)


def open_db(url: str) -> Database:
    """Return a migrated database; SQLite does not wait for the disk: no test looks at what a power cut leaves."""
    db = Database(url, clock=Clock())
    migrating.ensure_present(db)
    if db.family == "sqlite" and not db.target.in_memory:
        db.close()
        event.listen(db.engines()[1], "connect", lambda own, _: own.execute("PRAGMA synchronous = OFF"))
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


def url_of(db: Database) -> str:
    return db.target.url.render_as_string(hide_password=False)


@contextmanager
def account(url: str, right: str, tables: Iterable[str] = ("*",), limit: str = "") -> Iterator[str]:
    """Yield the address of a server's database for a user who has one right alone, on these tables."""
    user, own = f"u{uuid.uuid4().hex[:12]}", make_url(url)
    grants = [f"GRANT {right} ON `{own.database}`.{table} TO {user}" for table in tables]
    run_script(url, ";\n".join([f"CREATE USER {user} IDENTIFIED BY 'secret' {limit}", *grants]))
    yield own.set(username=user, password="secret").render_as_string(hide_password=False)
    run_script(url, f"DROP USER {user}")


class Untouchable:
    read = None

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the database was asked for {name}")


def run_processes(code: str, *arguments: list[str]) -> None:
    """Run one program for each list of arguments, all at the same time; fail with what one says that fails."""
    words, root = [sys.executable, "-c", code], Path(__file__).resolve().parents[2]
    running = [subprocess.Popen([*words, *each], stderr=subprocess.PIPE, cwd=root) for each in arguments]
    errors = [process.communicate()[1].decode() for process in running]
    assert [process.returncode for process in running] == [0] * len(running), errors


def save(db: Database, scope: Scope, path: str, text: str, sender_id: Any = "7", **more: Any) -> WriteResult:
    """Store a line of Ann, said at NOW."""
    return save_chat_message(path, text, "Ann", sender_id, NOW, db=db, scope=scope, **more)


def insert_item(db: Database, scope: Scope, content: Any, **fields: Any) -> WriteResult:
    """Store a memory item with the fields of `new_item.read`."""
    item = new_item.read(content, now=db.clock(), **fields)
    assert item is not None
    return memories.insert(Call(db, Settings(), scope), item)


def count(db: Database, table: Any, persona: str, *where: Any) -> int:
    return len(rows_of(db, table, persona, *where))


def rows_of(db: Database, table: Any, persona: str, *where: Any) -> list[Any]:
    key = table.c[next(iter(table.primary_key.columns)).name]
    return list(db.read(select(table).where(table.c.persona_id == persona, *where).order_by(key), source=table.name))


def messages_of(db: Database, persona: str) -> list[Any]:
    return sorted(rows_of(db, schema.chat_history_cache, persona), key=lambda row: (row.timestamp, row.id))


def remove_items(db: Database, persona: str, ids: Iterable[int]) -> int:
    return db.idempotent_transaction(lambda c: indexed.remove(c, MEMORIES, persona, ids), source="memories")


def run_at_once(works: Sequence[Callable[[], T]]) -> list[T]:
    """Begin each in a thread of its own at the same moment; return what they return, raise what they raise."""
    ready = threading.Barrier(len(works))

    def run(work: Callable[[], T]) -> T:
        ready.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


Place = tuple[int, int, int]
"""Audience, source and id of a row."""


_about_days = lru_cache(10_000)(index_entries.find_about_days)


def _read_once(check: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """Let a check read the words of time in a text once for all times that tests compare the index with it."""

    @wraps(check)
    def run(*given: Any) -> list[str]:
        with mock.patch.object(index_entries, "find_about_days", _about_days):
            return check(*given)

    return run


@_read_once
def index_differences(db: Database, persona: str) -> list[str]:
    mine = {r.audience_id for r in rows_of(db, schema.audiences, persona)}
    local = {r.conversation_key for r in rows_of(db, schema.conversations, persona) if r.local_only}
    entries = []
    for source in ALL:
        chosen = select(source.table).where(source.table.c.persona_id == persona, source.findable)
        for row in db.read(chosen, source=source.table.name):
            texts = [getattr(row, name) or "" for name in (DIARY_TEXTS if source is AI_DIARY else [source.text.name])]
            tags = [] if source.tags is None else stored_tags(getattr(row, source.tags.name))
            hidden = row.interface_path in local if source is CHAT else row.local_only
            folded = SEPARATOR.join(map(fold, texts))
            if row.text_folded != folded:
                return [f"{source.name} {row.id}: text_folded differs"]
            where = place_of(source.number, *(getattr(row, each.name) for each in place_columns(source)))
            stored = Stored(row.id, row.audience_id, row.timestamp, folded, tags, int(hidden), where)
            entries.append(stored.entry(source, calendar_of(db)))
    return _compare(db, mine, entries)


@_read_once
def verify_index(db: Database) -> list[str]:
    def work(connection: Any) -> tuple[set[int], list[Entry]]:
        mine = {row[0] for row in connection.execute(select(schema.audiences.c.audience_id))}
        mine |= {row[0] for table in INDEX_TABLES for row in connection.execute(select(table.c.audience_id))}
        places = [(source, audience) for audience in sorted(mine) for source in ALL]
        return mine, [one for place in places for one in read_audience(connection, *place, calendar_of(db))]

    try:
        return _compare(db, *db.transaction(work, source="test"))
    except (AssertionError, ValueError) as error:
        return [f"unreadable: {error}"]


INDEX_TABLES = (schema.search_fresh, schema.search_segment, schema.search_block, schema.search_gone)


def indexed_rows(db: Database, mine: Collection[int]) -> dict[Place, Entry]:
    """Return what the search tables hold of the rows of some audiences, packed or not."""

    def work(connection: Any) -> dict[Place, Entry]:
        made: dict[Place, Entry] = {}
        for audience in sorted(mine):
            gone = packing.read_gone(connection, audience)
            for one in packing.list_segments(connection, audience):
                made |= _packed(connection, audience, one.segment_id, gone)
            made |= {(audience, one.source, one.row_id): one for one in table.read_fresh(connection, audience)}
        return made

    return db.transaction(work, source="test")


def indexed_words(db: Database) -> set[str]:
    every = {row[0] for row in db.read(select(schema.audiences.c.audience_id), source="audiences")}
    return {word for one in indexed_rows(db, every).values() for word in one.terms}


def _packed(connection: Any, audience: int, number: int, gone: Any) -> dict[Place, Entry]:
    rows, blocks = packing.read_segment(connection, audience, number)
    stays = packing.find_staying(rows, number, gone)
    held: dict[int, tuple[dict[str, int], list[str], list[str]]] = {place: ({}, [], []) for place in range(len(rows))}
    for (kind, term), block in blocks.items():
        for place, times in np.frombuffer(block, segment.POSTING).tolist():
            if kind in (TAG, DAY):
                held[place][1 if kind == TAG else 2].append(term)
            else:
                held[place][0][term] = times
    s = schema.search_segment.c
    stored = connection.execute(select(s.terms).where(s.audience_id == audience, s.segment_id == number)).scalar_one()
    text, docs = segment.read_terms(bytes(stored))
    words = text.decode("utf-8", "surrogatepass").strip("\n").split("\n") if len(docs) else []
    listed = dict(zip(words, docs.tolist(), strict=True))
    assert listed == {t: len(b) // 3 for (kind, t), b in blocks.items() if kind not in (TAG, DAY)}, "words differ"
    made = {}
    for place in range(len(rows)):
        if stays[place]:
            source, row_id = int(rows.source[place]), int(rows.row_id[place])
            where = ThreadSpeaker(rows.threads[rows.thread[place]], rows.speakers[rows.speaker[place]])
            terms, tags, days = held[place]
            made[audience, source, row_id] = Entry(
                source, row_id, audience, int(rows.at_us[place]), int(rows.local_only[place]), terms,
                int(rows.words[place]), tags, where, days,
            )  # fmt: skip
    return made


def _facts(one: Entry) -> tuple[Any, ...]:
    terms = sorted((term, min(times, segment.MOST_TIMES)) for term, times in one.terms.items())
    return one.at_us, one.words, one.local_only, one.place, terms, sorted(set(one.tags)), sorted(one.days)


def _compare(db: Database, mine: Collection[int], entries: Sequence[Entry]) -> list[str]:
    wanted = {(e.audience_id, e.source, e.row_id): _facts(e) for e in entries}
    there = {place: _facts(one) for place, one in indexed_rows(db, mine).items()}
    differing = (place for place in wanted.keys() | there if wanted.get(place) != there.get(place))
    differences = [f"{place}: {wanted.get(place)} is indexed as {there.get(place)}" for place in sorted(differing)]
    counted, totals = IndexState(db, sorted(mine)), Counter[tuple[int, int]]()
    for e in entries:
        totals[e.audience_id, e.source] += e.words
    return differences + [
        f"{audience}, {source.number}: {totals[audience, source.number]} words are counted as {found}"
        for audience in sorted(mine)
        for source in ALL
        if (found := int(counted.audiences[audience].view.source_sums[1, source.number]))
        != totals[audience, source.number]
    ]


@contextmanager
def full_disk() -> Iterator[None]:
    """Let no file of this process grow over 16 kB; SQLite's smallest file for readers has 32."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16384, before[1]))
    try:
        with mock.patch.object(sys, "dont_write_bytecode", True):  # of a module loaded now half a file would stay
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
