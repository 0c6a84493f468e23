"""The search tables are written with their rows, and built anew from them (D14, D16)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import delete

from core.database.engine import Database
from core.db import check_server, reindex
from core.index import packing
from core.index.entries import TERMS_PER_ROW, calendar_of, entry, place_of, read_audience
from core.index.packing import count_differences
from core.index.shapes import PARTIAL, Entry
from core.scope import Scope
from tests.store.search_world import ago, all_rows, find, ids, memory, remember, said
from tests.store.world import INDEX_TABLES, NOW, open_db, verify_index


def test_d14_a_row_of_very_many_words_is_indexed_for_the_first_of_them() -> None:
    nowhere = place_of(0, None)
    many = entry(0, 1, 1, NOW, " ".join(f"w{n}" for n in range(TERMS_PER_ROW + 1)), (), 0, nowhere)
    assert len(many.terms.keys() - {PARTIAL}) == TERMS_PER_ROW and many.words == TERMS_PER_ROW + 1
    assert entry(0, 1, 1, NOW, "é" * 81, (), 0, nowhere).terms == {PARTIAL: 1}
    assert entry(0, 1, 1, NOW, "é" * 80, (), 0, nowhere).terms == {"é" * 80: 1}
    assert entry(0, 1, 1, NOW, "?!", (), 0, nowhere).terms == {}


UNREADABLE = (
    *(("content", value) for value in ("text", b"\xff", 5, b"[]", b"[1,2,3,4,5,6,7]")),
    *(("digest", value) for value in ("x", 7)),
    *((column, value) for column, wrong in (("row_id", b"\xff"), ("source", 9)) for value in ("x", wrong)),
)


@pytest.mark.engines("sqlite")
@pytest.mark.parametrize(("column", "value"), UNREADABLE)
def test_f85_an_unreadable_row_of_the_index_hides_no_other(
    db: Database, scope: Scope, column: str, value: object
) -> None:
    spoilt, whole = memory(db, scope, "first tofu"), memory(db, scope, "second tofu", ago(hours=1))
    change = f"UPDATE search_fresh SET {column} = ? WHERE row_id = {spoilt}"
    db.transaction(lambda c: c.exec_driver_sql(change, (value,)), source="test")
    assert whole in ids(find(db, scope, query="Where is the tofu?"))
    assert count_differences(db)["memories"] == 1
    audience = all_rows(db, scope.persona)[0].audience
    db.transaction(lambda c: packing.pack_fresh(c, db.family, audience), source="test")
    expected = [whole, spoilt] if column in ("content", "digest") else [whole]
    assert set(expected) == set(ids(find(db, scope, query="Where is the tofu?")))
    given = {"family": db.family, "audience": audience, "calendar": calendar_of(db)}
    db.transaction(lambda c: packing.rebuild(c, **given), source="test")
    assert verify_index(db) == []


@pytest.fixture
def db(fresh_migrated_url: str) -> Iterator[Database]:
    """A database of the test's own: the index of everybody is built anew."""
    with closing(open_db(fresh_migrated_url)) as handle:
        yield handle


def test_d16_a_lost_index_is_found_by_the_check_and_built_anew(db: Database, scope: Scope) -> None:
    """An operator restores a copy without the index, or repairs a table: nothing is lost with it."""
    row = memory(db, scope, "Tofu is a cat", tags=["cat"])
    said(db, scope, [(f"line {n} about tofu", ago(minutes=n)) for n in range(200)])
    before = ids(find(db, scope, keywords=["tofu"], limit=20))
    for each in INDEX_TABLES:
        db.transaction(lambda c, each=each: c.execute(delete(each)), source="test")
    assert [one for one in check_server(db) if "index" in one.what]
    assert reindex(db) == 201
    assert verify_index(db) == [] and ids(find(db, scope, keywords=["tofu"], limit=20)) == before
    assert ids(find(db, scope, tags=["cat"])) == [row]
    assert count_differences(db) == dict.fromkeys(("memories", "ai_diary", "chat_history_cache"), 0)


def test_d16_a_large_index_is_built_part_by_part(db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    """A persona may have more rows than fit into memory."""
    said(db, scope, [(f"line {n} about tofu", ago(minutes=n)) for n in range(201)])
    read, packed, pack = [0], list[int](), packing.pack_entries

    def count_read(*arguments: Any) -> Iterator[Entry]:
        for one in read_audience(*arguments):
            read[0] += 1
            yield one

    def note_packed(*arguments: Any) -> None:
        packed.append(read[0])
        pack(*arguments)

    monkeypatch.setattr(packing, "MOST_ROWS", 50)
    monkeypatch.setattr(packing, "read_audience", count_read)
    monkeypatch.setattr(packing, "pack_entries", note_packed)
    assert reindex(db) == 201
    assert packed == [50, 100, 150, 200, 201]
    assert verify_index(db) == [] and len(ids(find(db, scope, keywords=["tofu"], limit=20))) == 20


@pytest.mark.slow
def test_d16_writers_go_on_while_the_index_is_built(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "MOST_ROWS", 70)
    remember(db, scope, *({"content": f"old tofu {n}"} for n in range(300)))
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            said(db, scope, [(f"new tofu {number}", ago())])
            number += 1

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        for _ in range(6):
            reindex(db)
        stop.set()
        writer.result()
    assert verify_index(db) == []
