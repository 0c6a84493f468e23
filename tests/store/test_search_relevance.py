"""Relevance mode: the best rows survive the cut, the rare before the common, no source fills the list (T26 to T31)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core import search as searching
from core.config import Settings
from core.database.engine import Database
from core.scope import Scope
from tests.databases import traced
from tests.store.search_world import (
    DEFAULTS,
    ago,
    entered,
    explain,
    find,
    find_plainly,
    ids,
    memory,
    places,
    ranked,
    remember,
    said,
    viewer_of,
)
from tests.store.world import NOW, own_scope


def scores(db: Database, scope: Scope, **arguments: Any) -> dict[int, float]:
    return {one["id"]: one["score"] for one in explain(db, scope, **arguments)[1]["hits"]}


@pytest.mark.slow
def test_t26_another_persona_changes_neither_hits_nor_scores(db: Database, scope: Scope) -> None:
    rows = remember(db, scope, {"content": "alonza came", "timestamp": ago(days=3)}, {"content": "test of alonza"})
    remember(db, scope, *({"content": f"test {n}", "timestamp": ago(minutes=n)} for n in range(12)))
    wanted: dict[str, Any] = {"keywords": ["alonza", "test"], "tags": ["alonza"]}
    before = explain(db, scope, **wanted)
    other = own_scope()
    said(db, other, [(f"alonza {n}", ago(seconds=n)) for n in range(2_000)])
    said(db, replace(scope, conversation="dc/1", server="s1"), [(f"alonza {n}", NOW) for n in range(50)], "dc/1")
    assert explain(db, scope, **wanted) == before
    assert set(rows) <= set(ids(before[0]))


def test_t24_as_many_hits_as_there_are_different_rows(db: Database, scope: Scope) -> None:
    said(db, scope, [("tofu again", ago(minutes=n)) for n in range(700)])
    rare = [(f"tofu {n}", ago(days=n + 1)) for n in range(3)]
    rows = said(db, scope, rare)
    for keywords in (["tofu"], ["tofu a", "tofu 0", "tofu 1", "tofu 2"], ["tofu", "%"]):
        assert set(rows) <= set(ids(find(db, scope, keywords=keywords, limit=5)))
        assert len(find(db, scope, keywords=keywords, limit=5)) == 4


def test_t24_what_is_said_over_and_over_is_read_a_few_times(db: Database, scope: Scope) -> None:
    """Of thousands of copies in two conversations the first stand for the others; the newest of a text is the hit."""
    said(db, scope, [("play it", ago(minutes=n + 1)) for n in range(700)])
    said(db, scope, [("it may play", ago(minutes=n + 1)) for n in range(700)], "tg/2")
    newest = said(db, scope, [("play it", ago(seconds=1)), ("it may play", ago(seconds=2))], "tg/2")
    seldom = [("they play in the garden all day long", ago(days=9)), ("a play of three long acts it was", ago(days=8))]
    wanted: dict[str, Any] = {"query": "Will you play it?", "keywords": ["play"]}
    rows = said(db, scope, seldom)
    hits, report = explain(db, scope, **wanted)
    told = report["sources"]["chat_history"]
    assert set(ids(hits)) == {*newest, *rows}
    assert told["considered"] == 1_404
    assert sum(told["dropped"].values()) < 700


def test_t24_copies_of_what_is_visible_are_no_hits_and_those_of_an_echo_may_be(db: Database, scope: Scope) -> None:
    """What is left out for its text takes all that say it along; what is left out for its time does not."""
    texts = [("play it", ago(minutes=n + 1)) for n in range(700)]
    *_, oldest = said(db, scope, texts)
    other = said(db, scope, [("they play in the garden all day long", ago(days=9))])

    def run(drop: searching.Drop) -> searching.Selection:
        query = searching.prepare(searching.SearchRequest(query="play it", keywords=["play"]), DEFAULTS)
        return searching.run(searching.resolve(query, viewer_of(db, scope), DEFAULTS, db), db, drop)

    seen = run(lambda row: "visible" if row.texts[0] == "play it" else "")
    assert [one.hit["id"] for one in seen.chosen] == other
    assert len(seen.left_out) < 700
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
    texts = [(f"{('test', 'prova')[n % 2]} number {n}", ago(seconds=n)) for n in range(fresh)]
    said(db, scope, texts)
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
    report = explain(db, scope, query=asked.format(""), limit=5)[1]
    assert [one["id"] for one in report["hits"] if one["rank"] == 1] == [old]
    hits = find(db, scope, query=asked.format(" yesterday"), limit=5)
    assert len(hits) == 5 and old not in ids(hits)


def test_t31_no_loud_source_fills_the_list(db: Database, scope: Scope) -> None:
    old = memory(db, scope, "tofu is it", ago(days=300))
    said(db, scope, [(f"tofu is {n}", ago(minutes=n)) for n in range(20)])
    hits = find(db, scope, keywords=["tofu"], limit=5)
    assert [hit["source"] for hit in hits] == ["chat_history"] * 4 + ["memories"]
    assert hits[-1]["id"] == old
    assert ranked(db, scope, keywords=["tofu"], limit=1) == [hits[0]["id"]]
    entry = entered(db, scope, "tofu in the diary", ago(days=200))
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
