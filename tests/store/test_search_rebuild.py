"""Building the index anew from the rows: after a loss, after changes by SQL, and while others write (D16)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import delete

from core.database.engine import Database
from core.db import check_server, reindex
from core.index.packing import count_differences
from core.scope import Scope
from tests.store.search_world import ago, find, ids, memory, open_quick, remember, said
from tests.store.world import INDEX_TABLES, verify_index


@pytest.fixture
def db(fresh_migrated_url: str) -> Iterator[Database]:
    """A database of the test's own: the index of everybody is built anew."""
    handle = open_quick(fresh_migrated_url)
    yield handle
    handle.close()


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
    assert ids(find(db, scope, tags=["cat"])) == [row] and count_differences(db) == {
        "memories": 0, "ai_diary": 0, "chat_history_cache": 0,
    }  # fmt: skip


@pytest.mark.slow
def test_d16_writers_go_on_while_the_index_is_built(db: Database, scope: Scope) -> None:
    """Nothing said meanwhile is missing, and nothing is there twice."""
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
