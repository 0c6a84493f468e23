"""The search tables are written with their rows, packed and built anew, and nobody can tell (T27, D14 to D17, F46)."""

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from sqlalchemy import delete, func, select, update

from core.database.engine import Database
from core.database.schema import search_block, search_fresh, search_gone, search_segment
from core.database.sources import CHAT, MEMORIES
from core.db import check_server, forget, pack_index, reindex
from core.index import indexed, lru_cache, packing, segment, state
from core.index.entries import TERMS_PER_ROW, Calendar, Stored, calendar_of, place_of, read_audience
from core.index.shapes import PARTIAL, Entry
from core.index.table import PACK_FROM
from core.privacy import set_conversation_privacy
from core.scope import Scope
from core.search import rank
from core.search.ranking import reasons
from tests.databases import traced
from tests.store.search_world import RECENCY, ago, all_rows, edited, explain, find, ids, memory, ranked, said
from tests.store.world import INDEX_TABLES, NOW, index_differences, open_db, own_scope, run_at_once, verify_index

WORDS = [f"word{n}" for n in range(60)]


@pytest.fixture
def db(own_db: Database) -> Database:
    return own_db


def count(db: Database, table: Any) -> int:
    return int(db.read(select(func.count()).select_from(table), source=table.name)[0][0])


def audiences_of(db: Database, scope: Scope) -> list[int]:
    return sorted({row.audience for row in all_rows(db, scope.persona)})


def pack(db: Database, scope: Scope) -> int:
    """Pack every row of the persona, and return how many there were."""
    audiences = audiences_of(db, scope)
    return db.transaction(lambda c: sum(packing.pack_fresh(c, each) for each in audiences), source="the search index")


def merge(db: Database, scope: Scope) -> None:
    def work(connection: Any) -> None:
        for audience in audiences_of(db, scope):
            numbers = [one.segment_id for one in packing.list_segments(connection, audience)]
            if numbers:
                packing.rewrite(connection, audience, numbers)

    db.transaction(work, source="the search index")


def talk(rng: random.Random, rows: int, minutes: int = 0) -> list[tuple[str, Any]]:
    # What nobody asks for keeps two texts from saying nearly the same, which would share a place.
    own = [" ".join(f"own{rng.randrange(10**6)}" for _ in range(8)) for _ in range(rows)]
    texts = [" ".join([*rng.choices(WORDS, k=rng.choice((2, 5, 9, 30))), more]) for more in own]
    return [(text, ago(minutes=minutes + rng.randrange(60 * 24))) for text in texts]


def test_d14_rows_are_packed_by_whoever_writes_enough_of_them(db: Database, scope: Scope) -> None:
    said(db, scope, [(f"tofu number {n}", ago(minutes=n)) for n in range(200)])
    assert [row.docs for row in segments(db, scope)] == [200] and fresh(db, scope) == 0
    for n in range(PACK_FROM + 40):
        memory(db, scope, f"tea number {n}", ago(minutes=n))
    assert fresh(db, scope) < PACK_FROM
    assert sum(row.docs for row in segments(db, scope)) + fresh(db, scope) == PACK_FROM + 240
    assert [len(find(db, scope, keywords=[word], limit=200)) for word in ("tofu", "number")] == [200, 200]
    assert index_differences(db, scope.persona) == []


def segments(db: Database, scope: Scope) -> list[Any]:
    s = search_segment.c
    mine = select(search_segment).where(s.audience_id.in_(audiences_of(db, scope)), s.segment_id > 0)
    return list(db.read(mine.order_by(s.segment_id), source="search_segment"))


def fresh(db: Database, scope: Scope) -> int:
    chosen = select(func.count()).where(search_fresh.c.audience_id.in_(audiences_of(db, scope)))
    return int(db.read(chosen, source="search_fresh")[0][0])


def test_t27_nobody_can_tell_what_is_packed(db: Database, scope: Scope) -> None:
    rng, places = random.Random(0), [replace(scope, conversation=f"tg/{n}") for n in range(3)]
    for n, place in enumerate(places):
        said(db, place, talk(rng, 60, n * 30), f"tg/{n}")
    for text, at in talk(rng, 20):
        memory(db, scope, text, at)
    asked = ("What about {} and {}, {}?".format(*rng.choices(WORDS, k=3)) for _ in range(8))
    queries: list[dict[str, Any]] = [{"query": question, "limit": 15} for question in asked]
    queries += [{"keywords": rng.choices(WORDS, k=3), "limit": 30, "ranking": mode} for mode in (RECENCY, "relevance")]

    def found() -> list[Any]:
        made = []
        for arguments in queries:
            hits, report = explain(db, scope, **arguments)
            made.append((ids(hits), [(one["source"], one["id"], one["rank"], one["score"]) for one in report["hits"]]))
        return made

    first = found()
    assert all(hits for hits, _ in first)
    audience = audiences_of(db, scope)[0]
    db.transaction(lambda c: packing.pack_fresh(c, audience), source="the search index")
    assert found() == first
    said(db, places[0], [("nothing of all that", ago(days=50))], "tg/0")
    again = found()
    pack(db, scope)
    assert found() == again and verify_index(db) == []
    merge(db, scope)
    assert found() == again and verify_index(db) == [] and fresh(db, scope) == 0


def test_d14_what_a_search_sees_is_kept(db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    here = replace(scope, conversation="tg/1", server="s", privacy="restricted")
    said(db, here, [(f"tofu here {n}", ago(minutes=n)) for n in range(20)], "tg/1")
    for n in range(20):
        memory(db, scope, f"tofu of all {n}", ago(minutes=n))
    pack(db, scope)
    assert len(audiences_of(db, scope)) > 1
    monkeypatch.setattr(lru_cache, "MOST_BYTES", 1)
    first = ids(find(db, here, keywords=["tofu"], limit=60))
    with traced(db) as statements:
        assert ids(find(db, here, keywords=["tofu"], limit=60)) == first
    assert len(first) == 40 and heads_read(statements) == []


def test_d14_unpacked_rows_not_in_use_are_given_up(db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    people = [replace(scope, conversation=f"tg/{n}", privacy="restricted") for n in range(6)]
    for person in people:
        said(db, person, [(f"tofu {n}", ago(minutes=n)) for n in range(5)], str(person.conversation))
    monkeypatch.setattr(lru_cache, "MOST_HELD", 2)
    db.caches.pop(state.HELD, None)
    for person in people:
        assert len(find(db, person, keywords=["tofu"], limit=9)) == 5
    assert len(db.caches[state.HELD].held) == 2


def test_d14_two_handles_in_turns_read_no_segment_again(db: Database, fresh_migrated_url: str, scope: Scope) -> None:
    said(db, scope, talk(random.Random(7), 60))
    kept = memory(db, scope, "we said tofu", ago(hours=1))
    pack(db, scope)
    with closing(open_db(fresh_migrated_url)) as other:
        other.clock = db.clock
        for turn in range(4):
            for handle in (db, other):
                with traced(handle) as statements:
                    assert kept in ids(find(handle, scope, keywords=["tofu", WORDS[turn]], limit=5))
                assert bool(heads_read(statements)) == (turn == 0)


def heads_read(statements: Sequence[str]) -> list[str]:
    return [text for text in statements if "FROM search_segment" in text and "head" in text]


def test_t27_of_very_many_matching_rows_those_that_hold_most_are_ranked_closely(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(db, scope, [(f"tofu rice {n}", ago(minutes=n)) for n in range(200)])
    tea = said(db, scope, [(f"tofu and tea {n}", ago(days=2, minutes=n)) for n in range(3)])
    monkeypatch.setattr(reasons, "MOST_RANKED", 5)
    monkeypatch.setattr(rank, "BEST", 4)
    hits, report = explain(db, scope, query="tofu and tea", limit=4)
    assert set(tea) < {hit["id"] for hit in hits} and report["sources"]["chat_history"]["considered"] == 203
    assert len(find(db, scope, query="tofu and tea", limit=100)) == 100


def test_t55_the_conversation_asked_in_comes_before_others(db: Database, scope: Scope) -> None:
    here, there = replace(scope, conversation="tg/here"), replace(scope, conversation="tg/there")
    said(db, there, [("the code of the door is in the hall", ago(days=3))], "tg/there")
    own = said(db, here, [("the code of the door is in the desk", ago(days=4))], "tg/here")
    boat = said(db, there, [("the boat has a blue sail", ago(days=2))], "tg/there")
    assert ranked(db, here, query="Where is the code of the door?")[:1] == own
    assert boat[0] in ids(find(db, here, query="What colour is the sail of the boat?"))


def test_t56_what_neither_matches_nor_stands_beside_is_no_hit(db: Database, scope: Scope) -> None:
    said(db, scope, [(f"something else {n}", ago(days=n + 1)) for n in range(40)])
    row = said(db, scope, [("I bought a blue Brompton", ago(days=90))])
    hits = find(db, scope, query="Which Brompton?", limit=20)
    assert row[0] in ids(hits) and len(hits) < 12


def test_d14_changes_of_packed_rows_are_found_and_the_old_text_is_not(db: Database, scope: Scope) -> None:
    rows = said(db, scope, [(f"tofu number {n}", ago(minutes=n)) for n in range(30)])
    pack(db, scope)
    edited(db, scope, rows[3], "a zebra in the garden", audiences_of(db, scope))
    db.transaction(lambda c: indexed.remove(c, CHAT, scope.persona, [rows[4]]), source="chat_history_cache")
    for step in (lambda: None, lambda: pack(db, scope), lambda: merge(db, scope)):
        step()
        assert ids(find(db, scope, keywords=["zebra"])) == [rows[3]]
        found = ids(find(db, scope, keywords=["tofu"], limit=60))
        assert rows[3] not in found and rows[4] not in found and len(found) == 28
        assert verify_index(db) == [] == index_differences(db, scope.persona)
    edited(db, scope, rows[3], "tofu once more", audiences_of(db, scope))
    pack(db, scope)
    assert ids(find(db, scope, keywords=["zebra"])) == [] and rows[3] in ids(find(db, scope, keywords=["once"]))
    assert verify_index(db) == [] and count(db, search_gone) >= 1


def test_d14_of_removed_rows_no_record_is_left(db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = said(db, scope, [(f"tofu number {n}", ago(minutes=n)) for n in range(90)])
    monkeypatch.setattr(packing, "MANY_GONE", 10)
    small = said(db, scope, [(f"tea number {n}", ago(minutes=n)) for n in range(30)])
    pack(db, scope)
    removed = [*rows[:5], *small[:9]]
    db.transaction(lambda c: indexed.remove(c, CHAT, scope.persona, removed), source="chat_history_cache")
    due = partial(packing.purge_due, audience=audiences_of(db, scope)[0])
    assert db.transaction(partial(due, most=60), source="t") == 30 and count(db, search_gone) == 5
    assert db.transaction(due, source="t") == 0
    monkeypatch.setattr(packing, "MANY_GONE", 5)
    sizes, read = [], packing.read_rows
    monkeypatch.setattr(packing, "read_rows", lambda *which: sizes.append(len(rows := read(*which))) or rows)
    assert db.transaction(partial(due, most=60), source="t") == 0
    assert sizes == [21], "a writer, who comes again and again, reads no large segment in vain"
    pack_index(db)
    assert count(db, search_gone) == 0 and verify_index(db) == []
    assert [len(find(db, scope, keywords=[word], limit=200)) for word in ("tofu", "tea")] == [85, 21]


@pytest.mark.parametrize("before", ["packed", "moved", "deleted"])
def test_f46_nothing_of_what_was_forgotten_is_left_in_a_block(db: Database, scope: Scope, before: str) -> None:
    ann, bob = replace(scope, conversation="tg/1", participant="tg/ann"), replace(scope, conversation="tg/1")
    rows = said(db, ann, [(f"xylofant {n}", ago(minutes=n)) for n in range(20)], "tg/1")
    kept = said(db, bob, [(f"tea {n}", ago(minutes=n)) for n in range(20)], "tg/2")
    pack(db, scope)
    if before == "moved":
        set_conversation_privacy("tg/1", "restricted", db=db, scope=scope)
    elif before == "deleted":
        db.transaction(lambda c: indexed.remove(c, CHAT, scope.persona, rows), source="chat_history_cache")
    assert terms(db, scope) >= {"xylofant", "tea"}
    forget(conversation="tg/1", db=db, scope=scope)
    assert "xylofant" not in terms(db, scope) and set(kept) <= set(ids(find(db, scope, keywords=["tea"], limit=60)))
    heads = [segment.read_head(bytes(row.head)) for row in segments(db, scope)]
    assert "tg/1" not in {thread for head in heads for thread in head.threads} and verify_index(db) == []


def terms(db: Database, scope: Scope) -> set[str]:
    b = search_block.c
    return {row[0] for row in db.read(select(b.term).where(b.audience_id.in_(audiences_of(db, scope))), source="t")}


TOFU, PACKED = search_block.c.term == "tofu", search_segment.c.segment_id > 0
HARMS = {
    "a block is gone": (delete(search_block).where(TOFU), search_block),
    "a head is damaged": (update(search_segment).where(PACKED).values(head=b"no segment"), search_segment),
    "a segment is gone": (delete(search_segment).where(PACKED), search_segment),
}


@pytest.mark.parametrize("harm", HARMS)
def test_d15_a_broken_segment_is_listed_and_mended(db: Database, scope: Scope, harm: str) -> None:
    beside = own_scope()
    theirs = said(db, beside, [(f"tofu of others {n}", ago(minutes=n)) for n in range(30)])
    pack(db, beside)
    rows = said(db, scope, [(f"tofu number {n}", ago(minutes=n)) for n in range(30)])
    pack(db, scope)
    change, table = HARMS[harm]
    own = change.where(table.c.audience_id == audiences_of(db, scope)[0])
    db.transaction(lambda c: c.execute(own), source="test")
    assert verify_index(db) != []
    find(db, scope, keywords=["tofu"])
    assert reindex(db) > 0
    assert verify_index(db) == [] == index_differences(db, scope.persona) + index_differences(db, beside.persona)
    for one, stored in ((scope, rows), (beside, theirs)):
        assert sorted(ids(find(db, one, keywords=["tofu"], limit=60))) == sorted(stored)


@pytest.mark.slow
@pytest.mark.parametrize("beside", ["merge", "build anew"])
def test_d14_d16_two_pack_or_build_anew_while_others_write_change_and_search(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch, beside: str
) -> None:
    monkeypatch.setattr(packing, "MOST_ROWS", 70)
    rng = random.Random(3)
    rows, until = said(db, scope, talk(rng, 120)), time.monotonic() + 1.5

    def write() -> None:
        rows.extend(said(db, scope, talk(rng, 2)))
        edited(db, scope, rng.choice(rows), " ".join(rng.choices(WORDS, k=6)), audiences_of(db, scope))

    def search() -> None:
        find(db, scope, keywords=rng.choices(WORDS, k=3), limit=20)

    def repeat(work: Any) -> None:
        while time.monotonic() < until:
            work()

    other = partial(merge, db, scope) if beside == "merge" else partial(reindex, db)
    works = (partial(pack, db, scope), other, write, search)
    run_at_once([partial(repeat, work) for work in works])
    assert verify_index(db) == [] == index_differences(db, scope.persona)
    pack(db, scope)
    merge(db, scope)
    assert verify_index(db) == []


def test_d14_a_row_of_very_many_words_is_indexed_for_the_first_of_them() -> None:
    def entry(text: str) -> Entry:
        return Stored(1, 1, NOW, text, (), 0, place_of(0, None)).entry(MEMORIES, Calendar())

    many = entry(" ".join(f"w{n}" for n in range(TERMS_PER_ROW + 1)))
    assert len(many.terms.keys() - {PARTIAL}) == TERMS_PER_ROW and many.words == TERMS_PER_ROW + 1
    assert entry("é" * 81).terms == {PARTIAL: 1} and entry("é" * 80).terms == {"é" * 80: 1} and entry("?!").terms == {}


@pytest.mark.engines("sqlite")
@pytest.mark.parametrize(("column", "value"), (
    *(("content", value) for value in ("text", b"\xff", 5, b"[]", b"[1,2,3,4,5,6,7]")),
    *(("digest", value) for value in ("x", 7)),
    *((column, value) for column, wrong in (("row_id", b"\xff"), ("source", 9)) for value in ("x", wrong)),
))  # fmt: skip
def test_f85_an_unreadable_index_row_hides_no_other(db: Database, scope: Scope, column: str, value: object) -> None:
    spoilt, whole = memory(db, scope, "first tofu"), memory(db, scope, "second tofu", ago(hours=1))
    change = f"UPDATE search_fresh SET {column} = ? WHERE row_id = {spoilt}"
    db.transaction(lambda c: c.exec_driver_sql(change, (value,)), source="test")
    assert whole in ids(find(db, scope, query="Where is the tofu?")) and packing.count_differences(db)["memories"] == 1
    (audience,) = audiences_of(db, scope)
    db.transaction(lambda c: packing.pack_fresh(c, audience), source="test")
    expected = [whole, spoilt] if column in ("content", "digest") else [whole]
    assert set(expected) == set(ids(find(db, scope, query="Where is the tofu?")))
    given = {"audience": audience, "calendar": calendar_of(db)}
    db.transaction(lambda c: packing.rebuild(c, **given), source="test")
    assert verify_index(db) == []


def test_d16_a_lost_index_is_found_by_the_check_and_built_anew(db: Database, scope: Scope) -> None:
    """An operator restores a copy without the index, or repairs a table: nothing is lost with it."""
    row = memory(db, scope, "Tofu is a cat", tags=["cat"])
    said(db, scope, [(f"line {n} about tofu", ago(minutes=n)) for n in range(200)])
    before = ids(find(db, scope, keywords=["tofu"], limit=20))
    for each in INDEX_TABLES:
        db.transaction(lambda c, each=each: c.execute(delete(each)), source="test")
    assert [one for one in check_server(db) if "index" in one.what] and reindex(db) == 201
    assert verify_index(db) == [] and ids(find(db, scope, keywords=["tofu"], limit=20)) == before
    assert ids(find(db, scope, tags=["cat"])) == [row]
    assert packing.count_differences(db) == dict.fromkeys(("memories", "ai_diary", "chat_history_cache"), 0)


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
    assert reindex(db) == 201 and packed == [50, 100, 150, 200, 201]
    assert verify_index(db) == [] and len(ids(find(db, scope, keywords=["tofu"], limit=20))) == 20
