"""The search tables can be compared, mended and built while others write (D15, D16)."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update

from core.database.engine import Database
from core.database.schema import (
    chat_history_cache,
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
from core.database.schema import memories as memories_table
from core.db import reindex
from core.index import entries as search_entries
from core.index import repair as search_repair
from core.memories import table as memories
from core.scope import Scope
from tests.index_check import verify_index
from tests.store.search_world import (
    RECENCY,
    ago,
    all_rows,
    edited,
    entered,
    find,
    find_plainly,
    ids,
    memory,
    open_quick,
    places,
    remember,
    said,
)
from tests.store.world import index_differences, own_scope

INDEX = (
    search_term, search_tag, search_fresh, search_segment, search_block, search_gone, search_count, search_stats,
    search_vocab,
)  # fmt: skip


@pytest.fixture(scope="module")
def module_db(migrated_url: str) -> Iterator[Database]:
    """One migrated database per engine."""
    handle = open_quick(migrated_url)
    yield handle
    handle.close()


@pytest.fixture
def db(module_db: Database) -> Database:
    """The module's database without rows and index."""

    def work(connection: Any) -> None:
        for table in (*INDEX, chat_history_cache, memories_table):
            connection.execute(delete(table))
        connection.execute(update(search_progress).values(ready=1, next_id=0, until_id=0))

    module_db.transaction(work, source="tests")
    return module_db


@pytest.fixture
def scope() -> Scope:
    """A persona of the test's own."""
    return own_scope()


def run(db: Database, *statements: Any) -> None:
    """Run statements in one transaction."""
    db.transaction(lambda c: [c.execute(statement) for statement in statements], source="tests")


def forget_index(db: Database) -> None:
    """Bring the database to the state of an adopted one: rows, but no index of them."""

    def work(connection: Any) -> None:
        for table in INDEX:
            connection.execute(delete(table))
        for number, rows in ((0, memories_table), (2, chat_history_cache)):
            newest = connection.execute(select(rows.c.id).order_by(rows.c.id.desc()).limit(1)).scalar() or 0
            values = {"ready": int(not newest), "next_id": 0, "until_id": newest}
            connection.execute(update(search_progress).where(search_progress.c.source == number).values(values))

    db.transaction(work, source="tests")


HARMS: dict[str, Callable[[Any], Any]] = {
    "missing word": lambda r: delete(search_term).where(search_term.c.row_id == r, search_term.c.term == "tofu"),
    "missing tag": lambda r: delete(search_tag).where(search_tag.c.row_id == r),
    "extra word": lambda r: insert(search_term).values(
        audience_id=1, term="ghost", source=0, at_us=5, row_id=77, tf=1, words=1, local_only=0
    ),
    "extra tag": lambda r: insert(search_tag).values(
        audience_id=1, tag="ghost", source=2, at_us=5, row_id=77, local_only=0
    ),
    "moved word": lambda r: (
        update(search_term)
        .where(search_term.c.row_id == r, search_term.c.term == "tofu")
        .values(at_us=search_term.c.at_us + 1)
    ),
    "stale times": lambda r: (
        update(search_term).where(search_term.c.row_id == r, search_term.c.term == "tofu").values(tf=9)
    ),
    "stale mark": lambda r: update(search_tag).where(search_tag.c.row_id == r).values(local_only=1),
    "word count": lambda r: update(search_count).where(search_count.c.term == "tofu").values(docs=99),
    "tag count": lambda r: delete(search_count).where(search_count.c.term == "food"),
    "total": lambda r: update(search_stats).values(words=search_stats.c.words + 1),
    "unknown word": lambda r: delete(search_vocab).where(search_vocab.c.term == "tofu"),
    "unknown ending": lambda r: delete(search_vocab).where(search_vocab.c.part == "ofu"),
}
KINDS = ["missing", "missing", "extra", "extra", "moved", "stale", "stale", "count", "count", "total", "word", "word"]


@pytest.mark.parametrize("harm", HARMS)
def test_d15_one_harm_is_one_difference_and_is_mended(db: Database, scope: Scope, harm: str) -> None:
    """What is listed is what is wrong, and nothing else."""
    row = memory(db, scope, "tofu and tea", tags=["food"])
    assert verify_index(db) == []
    run(db, HARMS[harm](row))
    found = verify_index(db)
    kinds = {"moved word": ["extra", "missing"]}.get(harm, [KINDS[list(HARMS).index(harm)]])
    assert sorted(d.kind for d in found) == kinds
    assert reindex(db) == len(found)
    assert verify_index(db) == [] == index_differences(db, scope.persona)
    assert ids(find(db, scope, keywords=["ofu"], ranking="recency")) == [row] == ids(find(db, scope, tags=["food"]))


def test_d15_a_lost_index_is_listed_and_made_anew(db: Database, scope: Scope) -> None:
    """Also without the progress knowing of it."""
    remember(db, scope, *({"content": f"tofu {n} cat", "tags": ["food"]} for n in range(30)))
    said(db, scope, [(f"tofu {n}", ago(minutes=n)) for n in range(30)])
    run(db, *(delete(table) for table in INDEX))
    assert {d.kind for d in verify_index(db)} == {"missing", "count", "total"}
    assert reindex(db) > 0
    assert reindex(db) == 0 and verify_index(db) == [] == index_differences(db, scope.persona)


def test_d15_pages_and_parts_list_the_same(db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large database is compared in pages of words, rows and differences."""
    from core.index import check as search_check

    rows = remember(db, scope, *({"content": f"tofu w{n} cat", "tags": [f"t{n}", "food"]} for n in range(25)))
    said(db, scope, [(f"tofu w{n}", ago(minutes=n)) for n in range(25)])
    run(
        db,
        delete(search_term).where(search_term.c.row_id.in_(rows[3:9])),
        delete(search_tag).where(search_tag.c.tag == "food"),
    )
    whole = verify_index(db)
    monkeypatch.setattr(search_check, "PAGE", 3)
    monkeypatch.setattr(search_check, "AT_ONCE", 5)
    monkeypatch.setattr(search_entries, "RANGE", 4)
    assert verify_index(db) == whole and len(whole) == 6 * 3 + 25


@pytest.mark.spared("seekdb")  # twenty seconds there; test_search_fuzz compares the plain predicates
def test_d16_until_the_index_is_built_every_matching_row_is_found(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searches use the plain predicates for what is not indexed."""
    monkeypatch.setattr(search_repair, "RANGE", 20)
    remember(
        db, scope, *({"content": f"tofu {n} {n % 7}", "timestamp": ago(minutes=n), "tags": ["food"]} for n in range(90))
    )
    said(db, scope, [(f"tofu {n}", ago(minutes=n)) for n in range(70)])
    forget_index(db)
    kept = memory(db, scope, "tofu new one", tags=["food"])
    wanted = [
        {"keywords": ["tofu"], "tags": ["food"]},
        {"keywords": ["ofu 8"]},
        {"tags": ["food"], "keywords": ["5", "ofu"]},
    ]
    expected = [places(find_plainly(db, scope, ranking=RECENCY, limit=60, **each)) for each in wanted]
    rounds = []

    def look(_table: str, done: int, _total: int) -> None:
        rounds.append(done)
        for each, found in zip(wanted, expected, strict=True):
            assert places(find(db, scope, ranking=RECENCY, limit=60, **each)) == found
            best = find(db, scope, limit=200, **each)
            assert len(best) == len(find_plainly(db, scope, limit=200, **each))

    look("", 0, 0)
    assert ("memories", kept) in expected[0]
    assert search_repair.backfill(db, look) == 160
    assert len(rounds) > 8 and verify_index(db) == [] == index_differences(db, scope.persona)
    look("", 0, 0)


class StoppedError(Exception):
    """Stands for somebody who interrupts."""


def test_d16_an_interrupted_build_goes_on(db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is indexed is not indexed again, and changes meanwhile are kept."""
    monkeypatch.setattr(search_repair, "RANGE", 10)
    rows = remember(db, scope, *({"content": f"tofu {n}", "tags": ["food"]} for n in range(45)))
    forget_index(db)

    def stop(_table: str, done: int, _total: int) -> None:
        if done >= 20:
            raise StoppedError

    with pytest.raises(StoppedError):
        search_repair.backfill(db, stop)
    assert verify_index(db) == []
    memories.remove(db, scope.persona, [rows[5], rows[40]])
    new = memory(db, scope, "tofu new")
    assert verify_index(db) == []
    assert search_repair.backfill(db) == 45 - 20 - 1
    assert search_repair.backfill(db) == 0
    assert verify_index(db) == [] == index_differences(db, scope.persona)
    assert len(find(db, scope, keywords=["tofu"], limit=200)) == 44
    assert new in ids(find(db, scope, keywords=["new"]))


@pytest.mark.slow
def test_d16_writers_go_on_while_the_index_is_built(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three writers insert, edit and delete; at the end nothing differs and nothing is missing."""
    monkeypatch.setattr(search_repair, "RANGE", 25)
    remember(db, scope, *({"content": f"tofu {n} cat", "tags": ["food"]} for n in range(300)))
    old = said(db, scope, [(f"tofu {n} dog", ago(minutes=n)) for n in range(300)])
    forget_index(db)
    audiences = {row.audience for row in all_rows(db, scope.persona)}
    done = threading.Event()
    failures: list[BaseException] = []

    def write(number: int) -> None:
        rng = random.Random(number)
        try:
            while not done.is_set():
                row = rng.choice(old)
                text = f"bird {rng.random()} tofu"
                edited(db, scope, row, text, sorted(audiences))
                memory(db, scope, f"fresh {rng.random()} tofu", tags=["food", f"t{rng.randrange(9)}"])
                items = [r[0] for r in db.read(select(memories_table.c.id).limit(400), source="memories")]
                memories.remove(db, scope.persona, [rng.choice(items)])
                found = find(db, scope, keywords=["tofu"], limit=20)
                assert len(found) == 20
        except BaseException as error:  # noqa: BLE001 - told by the test itself
            failures.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    try:
        search_repair.backfill(db)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert verify_index(db) == [] == index_differences(db, scope.persona)


def test_d15_comparing_is_quick_and_reads_no_single_posting(db: Database, scope: Scope) -> None:
    """Where all is well, the work grows with the rows and not with the square of anything."""
    remember(db, scope, *({"content": f"tofu {n} w{n % 50}", "tags": ["food"]} for n in range(600)))
    entered(db, scope, "tofu", context_tags=("food",))
    with db.traced() as statements, suppress(KeyError):
        assert verify_index(db) == []
    assert len(statements) < 40
