"""Packing of very many rows that wait: in short steps, after any of which all is as it was (T27, D14, D15, F46)."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import func, select

from core.config import Settings
from core.database.engine import Database
from core.database.schema import search_count, search_fresh, search_segment, search_tag, search_term
from core.database.sources import CHAT, MEMORIES
from core.db import forget, pack_index, reindex
from core.index import fresh_rows, indexed, packing, sweeping
from core.index import table as index_table
from core.index.lookups import WORD
from core.scope import Scope
from tests.index_check import verify_index
from tests.store.search_world import ago, edited, explain, find, ids, memory, open_quick, said
from tests.store.test_search_packed import WORDS, audiences_of, fresh, segments, talk, terms
from tests.store.world import index_differences, own_scope


class StoppedError(Exception):
    """The process ended here."""


@pytest.fixture
def db(fresh_migrated_url: str) -> Iterator[Database]:
    """A database without rows: to verify, pack or mend one goes through all there are."""
    handle = open_quick(fresh_migrated_url)
    yield handle
    handle.close()


@pytest.fixture
def scope() -> Scope:
    """A persona of the test's own."""
    return own_scope()


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few rows be what some ten thousand are."""
    monkeypatch.setattr(packing, "MOST_IN_A_STEP", 30)
    monkeypatch.setattr(packing, "MOST_CLEARED", 10)
    monkeypatch.setattr(fresh_rows, "PACK_FROM", 5)
    monkeypatch.setattr(sweeping, "SWEPT_AT_ONCE", 500)


def wait(db: Database, scope: Scope, rows: int, seed: int = 0) -> list[int]:
    """Store rows that are not packed: messages, and some items with tags."""
    rng = random.Random(seed)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(index_table, "MANY_WRITTEN", 10**6)
        patched.setattr(fresh_rows, "PACK_FROM", 10**6)
        numbers = said(db, scope, talk(rng, rows))
        numbers += [memory(db, scope, text, at, tags=["food"]) for text, at in talk(rng, rows // 10)]
    assert fresh(db, scope) == len(numbers)
    return numbers


def own_postings(db: Database, scope: Scope) -> int:
    """Return how many postings outside segments the persona has."""
    of = audiences_of(db, scope)
    counts = [select(func.count()).where(t.c.audience_id.in_(of)) for t in (search_term, search_tag)]
    return sum(int(db.read(one, source="postings")[0][0]) for one in counts)


def packed_with_postings(db: Database, scope: Scope) -> set[tuple[int, int]]:
    """Return source and id of the packed rows that have postings outside their segment."""
    every: set[tuple[int, int]] = set()
    for table in (search_term, search_tag):
        c = table.c
        listed = select(c.source, c.row_id).where(c.audience_id.in_(audiences_of(db, scope)))
        every.update((row[0], row[1]) for row in db.read(listed, source="postings"))
    return every.difference(*waiting(db, scope).values())


def waiting(db: Database, scope: Scope) -> dict[int, set[tuple[int, int]]]:
    """Return the rows that are not packed, source and id, of each audience of the persona that has some."""
    f, made = search_fresh.c, dict[int, set[tuple[int, int]]]()
    listed = select(f.audience_id, f.source, f.row_id).where(f.audience_id.in_(audiences_of(db, scope)))
    for audience, *row in db.read(listed, source="search_fresh"):
        made.setdefault(audience, set()).add((row[0], row[1]))
    return made


def marked(db: Database, scope: Scope) -> dict[int, int]:
    """Return the audiences of the persona whose packed rows have postings, each with the highest id of such a row."""
    s = search_segment.c
    rows = select(s.audience_id, s.stamp).where(s.audience_id.in_(audiences_of(db, scope)), s.segment_id == 0)
    return {row[0]: row[1] for row in db.read(rows.where(s.stamp != 0), source="search_segment")}


def unswept(db: Database, scope: Scope) -> bool:
    """Return whether an audience of the persona is marked as one whose packed rows have postings."""
    return bool(marked(db, scope))


def after_each_step(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch, look: Callable[[int], None]
) -> Callable[[], int]:
    """Call something with the number of each transaction about the persona; return what tells how many there were."""
    count, transaction, mine = 0, db.transaction, set(audiences_of(db, scope))

    def watched(work: Any, **named: Any) -> Any:
        nonlocal count
        result = transaction(work, **named)
        if result == 0 or not mine.intersection(one for one in getattr(work, "args", ()) if type(one) is int):
            return result
        count += 1
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(db, "transaction", transaction)
            look(count)
        return result

    monkeypatch.setattr(db, "transaction", watched)
    return lambda: count


def stopped(db: Database, scope: Scope, when: Callable[[int], bool]) -> bool:
    """Pack, and end after a transaction; return whether it was not done before."""

    def stop(number: int) -> None:
        if when(number):
            raise StoppedError

    with pytest.MonkeyPatch.context() as patched:
        after_each_step(db, scope, patched, stop)
        try:
            pack_index(db)
        except StoppedError:
            return True
    return False


@pytest.mark.slow
def test_t27_nobody_can_tell_between_two_steps(db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hits and scores, and what is compared with the rows, after every transaction of packing very many rows."""
    wait(db, scope, 90)
    asked: list[dict[str, Any]] = [{"query": f"What about {WORDS[n]} and {WORDS[n + 7]}?"} for n in (1, 20)]
    asked += [{"keywords": WORDS[3:6]}, {"tags": ["food"]}]

    def found() -> list[Any]:
        reports = [explain(db, scope, limit=20, **arguments)[1]["hits"] for arguments in asked]
        return [[(one["source"], one["id"], one["rank"], one["score"]) for one in hits] for hits in reports]

    first, states = found(), set()

    def look(_number: int) -> None:
        assert found() == first
        assert verify_index(db) == []
        states.add((bool(fresh(db, scope)), unswept(db, scope), bool(own_postings(db, scope))))

    assert all(first) and own_postings(db, scope)
    steps = after_each_step(db, scope, monkeypatch, look)
    assert pack_index(db) >= 99
    # Some rows wait and packed ones have postings; none waits and some have; then none has, and that is noted.
    assert states >= {(True, True, True), (False, True, True), (False, True, False), (False, False, False)}
    assert steps() > 8 and found() == first
    assert (fresh(db, scope), own_postings(db, scope)) == (0, 0) and index_differences(db, scope.persona) == []


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 3, 7, 9])
def test_d14_what_is_changed_where_packing_was_interrupted_stays_changed(
    db: Database, scope: Scope, steps: int
) -> None:
    """Edited, removed, hidden and shown again, moved: of no row the postings of before come back."""
    rows = wait(db, scope, 120, steps)
    kept = memory(db, scope, "we had tofu", ago(hours=1), tags=["food"])
    assert stopped(db, scope, lambda number: number == steps) and unswept(db, scope)
    for n, row in enumerate(rows[:120:17]):
        edited(db, scope, row, f"a zebra {n}, {WORDS[n]} {WORDS[n]}", audiences_of(db, scope))
    db.transaction(lambda c: indexed.remove(c, db, CHAT, scope.persona, rows[5:9]), source="chat_history_cache")
    for hidden in (1, 0):
        db.transaction(
            lambda c, h=hidden: indexed.set_hidden(c, db, MEMORIES, scope.persona, [kept], quarantined=h),  # type: ignore[misc]
            source="memories",
        )
    assert verify_index(db) == []
    assert sorted(ids(find(db, scope, keywords=["zebra"], limit=60))) == sorted(rows[:120:17])
    assert kept in ids(find(db, scope, tags=["food"], limit=60))
    stopped(db, scope, lambda number: number == 4)
    assert verify_index(db) == []
    pack_index(db)
    assert verify_index(db) == [] == index_differences(db, scope.persona)
    assert sorted(ids(find(db, scope, keywords=["zebra"], limit=60))) == sorted(rows[:120:17])
    assert not unswept(db, scope)


@pytest.mark.slow
@pytest.mark.parametrize("mend", [True, False])
def test_d15_reindexing_goes_on_where_packing_was_interrupted(db: Database, scope: Scope, mend: bool) -> None:
    """Counts are those of the rows, whatever of them has postings left; a row that is put back meets none."""
    rows = wait(db, scope, 60)
    assert stopped(db, scope, lambda number: number == 1) and unswept(db, scope)
    if mend:
        s = search_segment.c
        of = (s.audience_id.in_(audiences_of(db, scope)), s.segment_id > 0)
        db.transaction(lambda c: c.execute(search_segment.update().where(*of).values(head=b"no segment")), source="t")
        t = search_term.c  # of a row that still waits, too, some are missing
        of = (t.audience_id.in_(audiences_of(db, scope)), t.row_id == rows[-1])
        db.transaction(lambda c: c.execute(search_term.delete().where(*of)), source="t")
    reindex(db)
    assert verify_index(db) == [] == index_differences(db, scope.persona)
    pack_index(db)
    assert not unswept(db, scope) and verify_index(db) == []


def test_d15_counts_are_mended_beside_postings_that_are_left(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody may pack, and leave postings, after the sweep that mending begins with."""
    wait(db, scope, 60)
    assert stopped(db, scope, lambda number: number == 1) and unswept(db, scope)
    n = search_count.c
    of = (n.audience_id.in_(audiences_of(db, scope)), n.kind == WORD, n.term == WORDS[3])
    db.transaction(lambda c: c.execute(search_count.update().where(*of).values(docs=n.docs + 1)), source="t")
    monkeypatch.setattr(sweeping, "sweep_all", lambda _db: None)
    assert verify_index(db) != []
    reindex(db)
    assert unswept(db, scope) and verify_index(db) == []


def test_f46_what_was_forgotten_leaves_no_posting_of_a_packed_row(db: Database, scope: Scope) -> None:
    """Whoever forgets does not wait for the rest of the packing."""
    wait(db, scope, 60)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(index_table, "MANY_WRITTEN", 10**6)
        patched.setattr(fresh_rows, "PACK_FROM", 10**6)
        said(db, scope, [(f"xylofant {n}", ago(minutes=n)) for n in range(20)], "tg/2")
    assert stopped(db, scope, lambda _: not fresh(db, scope)) and own_postings(db, scope)
    forget(conversation="tg/2", db=db, settings=Settings(), scope=scope)
    t = search_term.c
    there = db.read(select(t.term).where(t.audience_id.in_(audiences_of(db, scope))), source="search_term")
    assert there and "xylofant" not in {row[0] for row in there} | terms(db, scope)
    assert verify_index(db) == []
    pack_index(db)
    assert own_postings(db, scope) == 0


def test_d14_many_rows_are_packed_into_few_segments(db: Database, scope: Scope) -> None:
    """However short the steps; packed again, nothing is due."""
    wait(db, scope, 200)
    seen: list[tuple[str, int, int]] = []
    pack_index(db, progress=lambda *told: seen.append(told))
    assert [row[0] for row in segments(db, scope)] == [20, 200]
    rows = [told[1:] for told in seen if told[0] == "rows"]
    assert rows[-1] == (220, 220) and [done for done, _ in rows] == sorted({done for done, _ in rows})
    assert all(total == 220 for _, total in rows) and len(rows) == 8
    postings = [told[1:] for told in seen if told[0] == "postings"]
    assert len(postings) > 2 and postings[-1][0] == postings[-1][1]
    assert pack_index(db) == 0


def test_d14_segments_are_joined_between_the_steps(db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the packing takes, a search meanwhile reads few segments of an audience."""
    wait(db, scope, 330)
    counts: list[int] = []
    steps = after_each_step(db, scope, monkeypatch, lambda _: counts.append(len(segments(db, scope))))
    pack_index(db)
    # Of the messages as many as become one, and one of the items.
    assert steps() > 12 and max(counts) <= packing.MOST_OF_A_SIZE + 1


def test_d14_a_writer_packs_some_of_the_rows_that_wait(db: Database, scope: Scope) -> None:
    """It takes a step of it, and no posting of those that wait is gone through."""
    wait(db, scope, 120)
    before = own_postings(db, scope)
    audience = audiences_of(db, scope)[0]
    db.transaction(lambda c: packing.pack_fresh(c, db.family, audience), source="the search index")
    assert fresh(db, scope) == 102 and own_postings(db, scope) == before
    assert verify_index(db) == []
    pack_index(db)
    assert own_postings(db, scope) == 0


@pytest.mark.slow
def test_d14_two_pack_what_waits_while_others_write_and_change(
    db: Database, fresh_migrated_url: str, scope: Scope
) -> None:
    """Nothing is lost, nothing stands there twice, and no posting of a row that came back is swept away."""
    rng = random.Random(3)
    rows = wait(db, scope, 300)
    items = rows[300:]
    failures: list[BaseException] = []
    done = threading.Event()

    def guarded(work: Callable[[], object]) -> threading.Thread:
        def run() -> None:
            try:
                while not done.is_set():
                    work()
            except BaseException as error:  # noqa: BLE001 - told by the test itself
                failures.append(error)

        return threading.Thread(target=run)

    def change() -> None:
        said(db, scope, talk(rng, 6))
        row = rng.choice(rows[:300])
        edited(db, scope, row, " ".join(rng.choices(WORDS, k=6)), audiences_of(db, scope))

    def hide() -> None:
        some = random.choice(items)
        for hidden in (1, 0):
            db.transaction(
                lambda c, h=hidden: indexed.set_hidden(c, db, MEMORIES, scope.persona, [some], quarantined=h),  # type: ignore[misc]
                source="memories",
            )

    threads = [
        guarded(lambda: pack_index(db)),
        guarded(lambda: pack_index(db)),
        guarded(change),
        guarded(hide),
        guarded(lambda: find(db, scope, keywords=rng.choices(WORDS, k=3), limit=20)),
    ]
    for thread in threads:
        thread.start()
    done.wait(6)
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert verify_index(db) == [] == index_differences(db, scope.persona)
    pack_index(db)
    assert verify_index(db) == [] and not unswept(db, scope)
    # Each audience has its own rows that wait, and packs them when it has enough.
    assert all(len(rows) < fresh_rows.PACK_FROM for rows in waiting(db, scope).values())
    assert packed_with_postings(db, scope) == set()


def test_d14_each_audience_has_fewer_rows_waiting_than_are_packed_together(db: Database, scope: Scope) -> None:
    """However many these are in all: of one audience alone nothing is packed for another."""
    wait(db, scope, 40)
    assert sorted(map(len, waiting(db, scope).values())) == [4, 40]
    pack_index(db)
    assert list(map(len, waiting(db, scope).values())) == [4]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(index_table, "LOOKED_AFTER", 10**6)
        said(db, scope, talk(random.Random(9), 4))
    pack_index(db)
    assert sorted(map(len, waiting(db, scope).values())) == [4, 4] and fresh(db, scope) == 8
    assert packed_with_postings(db, scope) == set() and verify_index(db) == []


# The sweep, step by step


class Meddled:
    """A connection during whose first deletion somebody else does something."""

    def __init__(self, connection: Any, meddle: Callable[[Any], object]) -> None:
        self.connection, self.meddle = connection, meddle

    def execute(self, statement: Any, *values: Any) -> Any:
        """Run a statement."""
        result = self.connection.execute(statement, *values)
        if statement.is_delete:
            self.meddle(self.connection)
        return result


def test_d14_a_step_in_which_a_row_comes_back_is_undone_and_tried_again(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its postings, deleted as those of a packed row, would be lost."""
    rows = wait(db, scope, 60)
    assert stopped(db, scope, lambda _: not fresh(db, scope)) and unswept(db, scope)
    before, (audience,) = own_postings(db, scope), marked(db, scope)
    back = {"audience_id": audience, "source": CHAT.number, "row_id": rows[0], "at_us": 0, "words": 1, "local_only": 0}
    transaction, left = db.transaction, list[int]()

    def meddling(work: Any, **named: Any) -> Any:
        def met(connection: Any) -> Any:
            return work(Meddled(connection, lambda c: c.execute(search_fresh.insert(), back)))

        if left or named["source"] != "search_term":
            return transaction(work, **named)
        result = transaction(met, **named)
        left.append(own_postings(db, scope))
        return result

    monkeypatch.setattr(db, "transaction", meddling)
    pack_index(db)
    assert left == [before] and fresh(db, scope) == 0
    assert own_postings(db, scope) == 0 and not unswept(db, scope) and verify_index(db) == []


def test_d14_what_is_packed_during_a_sweep_is_swept_too(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark of postings that are left goes only where none has come since; words before the sweep's place, too."""
    wait(db, scope, 60)
    assert stopped(db, scope, lambda _: not fresh(db, scope)) and unswept(db, scope)
    (audience,) = marked(db, scope)
    came: list[int] = []

    def look(number: int) -> None:
        if number == 1:
            came.extend(wait(db, scope, 25, 7))
            db.transaction(lambda c: packing.pack_fresh(c, db.family, audience), source="the search index")

    after_each_step(db, scope, monkeypatch, look)
    pack_index(db)
    assert len(came) == 27 and not unswept(db, scope)
    assert packed_with_postings(db, scope) == set() and verify_index(db) == []


def test_d14_only_the_rows_up_to_the_mark_are_swept(db: Database, scope: Scope) -> None:
    """Whoever writes a row that is newer than all packed ones meets no sweep."""
    rows = wait(db, scope, 60)[:60]
    assert stopped(db, scope, lambda _: not fresh(db, scope)) and unswept(db, scope)
    (audience,) = marked(db, scope)
    change = search_segment.update().where(search_segment.c.audience_id == audience, search_segment.c.segment_id == 0)
    db.transaction(lambda c: c.execute(change.values({fresh_rows.UNSWEPT_UNTIL: sorted(rows)[39]})), source="t")
    sweeping.sweep_all(db)
    assert packed_with_postings(db, scope) == {(CHAT.number, row) for row in sorted(rows)[40:]}
    db.transaction(lambda c: c.execute(change.values({fresh_rows.UNSWEPT_UNTIL: max(rows)})), source="t")
    sweeping.sweep_all(db)
    assert packed_with_postings(db, scope) == set() and not unswept(db, scope)


def test_d14_rows_packed_again_do_not_lower_the_mark(db: Database, scope: Scope) -> None:
    """The oldest are edited, and packed anew while those above still have postings."""
    rows = sorted(wait(db, scope, 60)[:60])
    assert stopped(db, scope, lambda _: not fresh(db, scope)) and unswept(db, scope)
    (audience,) = marked(db, scope)
    for n, row in enumerate(rows[:6]):
        edited(db, scope, row, f"a zebra {n}", audiences_of(db, scope))
    db.transaction(lambda c: packing.pack_fresh(c, db.family, audience), source="the search index")
    assert marked(db, scope) == {audience: rows[-1]}
    pack_index(db)
    assert packed_with_postings(db, scope) == set() and verify_index(db) == []
