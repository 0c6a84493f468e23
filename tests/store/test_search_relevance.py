"""The best rows survive the cut and no source fills the list (T26 to T31); recency: tier, then newest (T23, T32)."""

import logging
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import update

from core import search as searching
from core.config import Settings
from core.database.engine import Database
from core.database.schema import memories as table
from core.database.sources import MEMORIES
from core.index import indexed
from core.scope import Scope
from core.search import plain
from tests.databases import traced
from tests.store import search_world
from tests.store.search_world import ago, explain, find, find_plainly, ids, memory, places, ranked, remember, said
from tests.store.world import NOW, own_scope


def scores(db: Database, scope: Scope, **arguments: Any) -> dict[int, float]:
    return {one["id"]: one["score"] for one in explain(db, scope, **arguments)[1]["hits"]}


@pytest.mark.slow
def test_t26_another_persona_changes_neither_hits_nor_scores(db: Database, scope: Scope) -> None:
    rows = remember(db, scope, {"content": "alonza came", "timestamp": ago(days=3)}, {"content": "test of alonza"})
    remember(db, scope, *({"content": f"test {n}", "timestamp": ago(minutes=n)} for n in range(12)))
    wanted: dict[str, Any] = {"keywords": ["alonza", "test"], "tags": ["alonza"]}
    before = explain(db, scope, **wanted)
    said(db, own_scope(), [(f"alonza {n}", ago(seconds=n)) for n in range(2_000)])
    said(db, replace(scope, conversation="dc/1", server="s1"), [(f"alonza {n}", NOW) for n in range(50)], "dc/1")
    assert explain(db, scope, **wanted) == before and set(rows) <= set(ids(before[0]))


def test_t24_what_is_said_over_and_over_is_read_a_few_times(db: Database, scope: Scope) -> None:
    said(db, scope, [("play it", ago(minutes=n + 1)) for n in range(700)])
    said(db, scope, [("it may play", ago(minutes=n + 1)) for n in range(700)], "tg/2")
    newest = said(db, scope, [("play it", ago(seconds=1)), ("it may play", ago(seconds=2))], "tg/2")
    seldom = [("they play in the garden all day long", ago(days=9)), ("a play of three long acts it was", ago(days=8))]
    wanted: dict[str, Any] = {"query": "Will you play it?", "keywords": ["play"]}
    rows = said(db, scope, seldom)
    hits, report = explain(db, scope, **wanted)
    told = report["sources"]["chat_history"]
    assert set(ids(hits)) == {*newest, *rows} and told["considered"] == 1_404 and sum(told["dropped"].values()) < 700


def test_t24_copies_of_what_is_visible_are_no_hits_and_those_of_an_echo_may_be(db: Database, scope: Scope) -> None:
    """What is left out for its text takes all that say it along; what is left out for its time does not."""
    *_, oldest = said(db, scope, [("play it", ago(minutes=n + 1)) for n in range(700)])
    other = said(db, scope, [("they play in the garden all day long", ago(days=9))])

    def run(drop: "searching.Drop") -> "searching.Selection":
        query = searching.prepare(searching.SearchRequest(query="play it", keywords=["play"]), search_world.DEFAULTS)
        return searching.run(
            searching.build_search(query, search_world.viewer_of(db, scope), search_world.DEFAULTS, db), db, drop
        )

    seen = run(lambda row: "visible" if row.texts[0] == "play it" else "")
    assert [one.hit["id"] for one in seen.chosen] == other and len(seen.left) < 700
    echoes = run(lambda row: "" if row.id in (oldest, *other) else "echo")
    assert {one.hit["id"] for one in echoes.chosen} == {oldest, *other}


def test_t29_a_whole_word_comes_before_its_letters_inside_another(db: Database, scope: Scope) -> None:
    whole = memory(db, scope, "my sleep", ago(days=5))
    inside = memory(db, scope, "asleep again", ago(days=1))
    assert ranked(db, scope, keywords=["sleep"], limit=1) == [whole]
    assert scores(db, scope, keywords=["sleep"])[whole] > scores(db, scope, keywords=["sleep"])[inside]
    stem = memory(db, scope, "many recipes", ago(days=5))
    memory(db, scope, "recipient list", ago(days=1))
    assert ranked(db, scope, keywords=["recipe"], limit=1) == [stem]
    assert ranked(db, scope, keywords=["recip"], limit=1) == [stem]
    pair = memory(db, scope, "数学の宿題は", ago(days=1))
    assert ranked(db, scope, keywords=["宿題"], limit=1) == [pair]


def test_t29_a_tag_counts_as_a_word_of_its_rarity(db: Database, scope: Scope) -> None:
    filler = [{"content": f"word {n}", "timestamp": ago(minutes=n), "tags": ["often"]} for n in range(20)]
    remember(db, scope, *filler)
    rare = memory(db, scope, "nothing", ago(days=9), tags=["seldom"])
    assert ranked(db, scope, tags=["often", "seldom"], limit=5)[0] == rare
    assert ranked(db, scope, tags=["seldom"], keywords=["word"], limit=5)[0] == rare
    both = memory(db, scope, "word nothing", ago(days=9), tags=["seldom"])
    assert ranked(db, scope, tags=["seldom"], keywords=["word"], limit=5)[0] == both


def test_t29_equal_scores_go_by_tier_then_newest(db: Database, scope: Scope) -> None:
    rows = remember(db, scope, *({"content": f"tofu {n}", "timestamp": ago(minutes=n)} for n in range(8)))
    assert ranked(db, scope, keywords=["tofu"], limit=5) == rows[:5]


@pytest.mark.parametrize("fresh", [12, 2500])
def test_t30_a_rare_old_row_is_not_pushed_out(db: Database, scope: Scope, fresh: int) -> None:
    said(db, scope, [(f"{('test', 'prova')[n % 2]} number {n}", ago(seconds=n)) for n in range(fresh)])
    old = memory(db, scope, "alonza was here", ago(days=900))
    elder = said(db, scope, [("alonza said so", ago(days=901))])[0]
    wanted = {"keywords": ["test", "prova", "alonza"], "limit": 5}
    assert {old, elder} <= set(ids(find(db, scope, **wanted)))
    assert {old, elder} <= set(ids(find(db, scope, exclude=["tg/9"], **wanted)))


def test_t30_t62_a_rare_old_row_comes_first_but_where_another_day_is_asked_for(db: Database, scope: Scope) -> None:
    long = "and so we sat and talked for a long while about this and that and everything else there is"
    said(db, scope, [(f"test of prova {n}: {long}", ago(days=1, seconds=n)) for n in range(30)])
    old = said(db, scope, [("alonza", ago(days=900))], "dc/4")[0]
    asked = "What did we say{} about the test of prova and alonza?"
    assert ranked(db, scope, query=asked.format(""), limit=5)[0] == old
    hits = find(db, scope, query=asked.format(" yesterday"), limit=5)
    assert len(hits) == 5 and old not in ids(hits)


def test_t31_no_loud_source_fills_the_list(db: Database, scope: Scope) -> None:
    old = memory(db, scope, "tofu is it", ago(days=300))
    said(db, scope, [(f"tofu is {n}", ago(minutes=n)) for n in range(20)])
    hits = find(db, scope, keywords=["tofu"], limit=5)
    assert [hit["source"] for hit in hits] == ["chat_history"] * 4 + ["memories"] and hits[-1]["id"] == old
    assert ranked(db, scope, keywords=["tofu"], limit=1) == [hits[0]["id"]]
    entry = search_world.entered(db, scope, "tofu in the diary", ago(days=200))
    assert {("memories", old), ("ai_diary", entry)} <= set(places(find(db, scope, keywords=["tofu"], limit=5)))


def test_t24_a_wide_view_of_very_many_audiences_stays_small(db: Database, scope: Scope) -> None:
    """PRIVATE_STAYS_PRIVATE 0 with hundreds of direct conversations: few branches, and nothing is missed."""
    rows = []
    for n in range(130):
        inside = replace(scope, conversation=f"tg/{n}", participant=f"tg/{n}", privacy="direct")
        rows += said(db, inside, [(f"tofu number {n}", ago(minutes=n))], f"tg/{n}")
    wide = Settings(private_stays_private=False)
    words = {"keywords": ["tofu", "number", *(f"w{n}" for n in range(20))], "tags": ["number"], "settings": wide}
    with traced(db) as statements:
        recent = find(db, scope, ranking="recency", limit=10, **words)
        best = find(db, scope, limit=10, **words)
    assert ids(recent) == rows[:10] and len(best) == 10
    assert max(statement.count("UNION ALL") for statement in statements) < 120
    assert ids(find_plainly(db, scope, ranking="recency", limit=10, **words)) == rows[:10]
    assert ids(find(db, scope, keywords=["number 129"], settings=wide)) == rows[129:]


def both(db: Database, scope: Scope, **arguments: object) -> list[int]:
    """Return the ids found in recency mode, after making sure that the plain predicates agree."""
    found = ids(find(db, scope, ranking=search_world.RECENCY, **arguments))
    assert ids(find_plainly(db, scope, ranking=search_world.RECENCY, **arguments)) == found
    return found


def set_columns(db: Database, scope: Scope, row: int, **values: Any) -> None:
    db.transaction(lambda c: indexed.set_columns(c, db, MEMORIES, scope.persona, [row], **values), source="memories")


def test_t23_rows_with_a_tag_and_a_keyword_come_first(db: Database, scope: Scope) -> None:
    a = memory(db, scope, "old pizza", ago(days=9), tags=["food"])
    b = memory(db, scope, "a salad", ago(days=1), tags=["food"])
    c = memory(db, scope, "pizza box", ago(days=2))
    wanted = {"tags": ["food"], "keywords": ["pizza"]}
    assert both(db, scope, limit=1, **wanted) == [a] and both(db, scope, limit=2, **wanted) == [b, a]
    assert both(db, scope, limit=3, **wanted) == [b, c, a]


def test_t23_older_rows_of_tier_one_are_found_behind_a_full_pool(db: Database, scope: Scope) -> None:
    """The newest 50 rows of the word alone may not hide the one that has the tag too."""
    old = memory(db, scope, "pizza of old", ago(days=900), tags=["food"])
    remember(db, scope, *({"content": f"pizza {n}", "timestamp": ago(minutes=n)} for n in range(70)))
    remember(db, scope, *({"content": f"meal {n}", "timestamp": ago(minutes=n), "tags": ["food"]} for n in range(80)))
    told = said(db, scope, [("pizza is good food", ago(days=800))])[0]
    said(db, scope, [(f"pizza {n} c", ago(minutes=n)) for n in range(70)], "tg/2")
    said(db, scope, [(f"food {n} c", ago(minutes=n)) for n in range(70)], "tg/3")
    for keyword in ("pizza", "izz", "pizza o", "!"):
        found = both(db, scope, tags=["food"], keywords=[keyword, "zz i"], limit=2)
        assert (old in found) == (keyword != "!") and (told in found) == (keyword in ("pizza", "izz"))
    assert both(db, scope, tags=["food", "!"], keywords=["pizza"], limit=2) == [told, old]


def test_t26_only_rows_that_may_be_seen_are_read(db: Database, scope: Scope) -> None:
    rows = remember(db, scope, *({"content": f"tofu {n}", "timestamp": ago(minutes=n)} for n in range(5)))
    for row, change in ((rows[0], {"archived_at": NOW}), (rows[1], {"superseded_by": rows[4]})):
        set_columns(db, scope, row, **change)
    memory(db, scope, "tofu gone", expires_at=NOW)
    assert both(db, scope, keywords=["tofu"]) == rows[2:] == ids(find(db, scope, keywords=["tofu"]))


@pytest.mark.parametrize(("limit", "pool"), [(5, 50), (40, 120)])
def test_t27_the_pool_is_three_times_the_limit_at_least_50(db: Database, scope: Scope, limit: int, pool: int) -> None:
    copies = [{"content": "tofu", "timestamp": ago(minutes=n)} for n in range(pool - 2)]
    rows = remember(db, scope, *copies, *({"content": f"tofu {n}", "timestamp": ago(days=n + 1)} for n in range(5)))
    assert both(db, scope, keywords=["tofu"], limit=limit) == [rows[0], *rows[pool - 2 : pool]]
    others = [("memories", number) for number in range(1, 9)]
    assert both(db, scope, keywords=["tofu"], limit=limit, exclude=others) == [rows[0], *rows[pool - 2 : pool]]


def test_t28_recency_is_tier_then_newest_by_flag(db: Database, scope: Scope, caplog: pytest.LogCaptureFixture) -> None:
    rare = memory(db, scope, "alonza", ago(days=100))
    fresh = remember(db, scope, *({"content": f"test {n}", "timestamp": ago(minutes=n)} for n in range(12)))
    wanted = {"keywords": ["test", "alonza"], "limit": 5}
    assert both(db, scope, **wanted) == fresh[:5] and rare in ids(find(db, scope, **wanted))
    assert ids(find(db, scope, settings=Settings(memory_ranking="recency"), **wanted)) == fresh[:5]
    assert rare in ids(find(db, scope, settings=Settings(memory_ranking="recency"), ranking="relevance", **wanted))
    with caplog.at_level(logging.WARNING):
        hits, report = explain(db, scope, ranking="newest", **wanted)
    assert rare in ids(hits) and report["ranking"] == "relevance"
    assert "relevance" in report["notes"][0] and "recency" in report["notes"][0]
    assert sum("relevance" in record.getMessage() for record in caplog.records) == 1


@pytest.mark.parametrize("ranking", ["relevance", "recency"])
def test_t32_hits_are_sorted_by_time_then_source_then_id(db: Database, scope: Scope, ranking: str) -> None:
    ten, eleven = ago(hours=2), ago(hours=1)
    chat, three = said(db, scope, [("tofu a", ten)])[0], memory(db, scope, "tofu b", ten)
    nine = memory(db, scope, "tofu c", ten)
    one = search_world.entered(db, scope, "tofu d", eleven)
    lost = memory(db, scope, "tofu e", eleven)

    def work(connection: object) -> None:
        old = indexed.lock(connection, MEMORIES, scope.persona, [lost])  # type: ignore[arg-type]
        change = update(table).where(table.c.persona_id == scope.persona, table.c.id == lost)
        connection.execute(change.values(timestamp=None))  # type: ignore[attr-defined]
        indexed.exchange(connection, db, MEMORIES, old, [replace(r, at=None) for r in old])  # type: ignore[arg-type]

    db.transaction(work, source="memories")
    wanted = [("ai_diary", one), ("memories", nine), ("memories", three), ("chat_history", chat), ("memories", lost)]
    assert places(find(db, scope, keywords=["tofu"], ranking=ranking)) == wanted
    assert places(find_plainly(db, scope, keywords=["tofu"], ranking=ranking)) == wanted
    hits = find(db, scope, keywords=["tofu"], ranking=ranking)
    assert hits[-1]["timestamp"] == "" and places(hits) == wanted
    assert lost not in ids(find(db, scope, keywords=["tofu"], ranking=ranking, since=ago(days=9000)))
    assert lost in ids(find(db, scope, keywords=["tofu"], ranking=ranking, until=ago(days=9000)))


def test_t21_of_very_many_rows_the_newest_are_compared_and_the_report_says_so(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rare word must not make the database compare millions of texts, and nobody may believe it did."""
    monkeypatch.setattr(plain, "MOST_COMPARED", 3)
    remember(db, scope, *({"content": f"tea {n}", "timestamp": ago(minutes=n)} for n in range(5)))
    hits, report = explain(db, scope, ranking=search_world.RECENCY, keywords=["tea"], limit=5)
    assert [hit["snippet"] for hit in hits] == ["tea 0", "tea 1", "tea 2"]
    assert [note for note in report["notes"] if "Of memories only the newest" in note]
    remember(db, scope, {"content": "chai", "timestamp": ago(days=1)})
    hits, report = explain(db, scope, ranking=search_world.RECENCY, keywords=["chai"], limit=5)
    assert [hit["snippet"] for hit in hits] == ["chai"] and not report["notes"]  # the index left the others out
