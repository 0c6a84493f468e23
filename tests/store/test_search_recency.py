"""Recency mode: tier, then newest (T23, T26 to T28, T32), whatever stands in the way of the newest rows."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import update

from core.config import Settings
from core.database.engine import Database
from core.database.schema import memories as table
from core.database.sources import MEMORIES
from core.index import indexed
from core.scope import Scope
from core.search import holders, plain
from tests.store.search_world import (
    RECENCY,
    ago,
    entered,
    explain,
    find,
    find_plainly,
    ids,
    memory,
    places,
    remember,
    said,
)
from tests.store.test_search_packed import pack
from tests.store.world import NOW


def both(db: Database, scope: Scope, **arguments: object) -> list[int]:
    """Return the ids found in recency mode, after making sure that the plain predicates agree."""
    found = ids(find(db, scope, ranking=RECENCY, **arguments))
    assert ids(find_plainly(db, scope, ranking=RECENCY, **arguments)) == found
    return found


def set_columns(db: Database, scope: Scope, row: int, **values: Any) -> None:
    db.transaction(lambda c: indexed.set_columns(c, db, MEMORIES, scope.persona, [row], **values), source="memories")


def test_t23_rows_with_a_tag_and_a_keyword_come_first(db: Database, scope: Scope) -> None:
    a = memory(db, scope, "old pizza", ago(days=9), tags=["food"])
    b = memory(db, scope, "a salad", ago(days=1), tags=["food"])
    c = memory(db, scope, "pizza box", ago(days=2))
    wanted = {"tags": ["food"], "keywords": ["pizza"]}
    assert both(db, scope, limit=1, **wanted) == [a]
    assert both(db, scope, limit=2, **wanted) == [b, a]
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


def test_t28_recency_is_tier_then_newest_and_the_flag_decides(
    db: Database, scope: Scope, caplog: pytest.LogCaptureFixture
) -> None:
    rare = memory(db, scope, "alonza", ago(days=100))
    fresh = remember(db, scope, *({"content": f"test {n}", "timestamp": ago(minutes=n)} for n in range(12)))
    wanted = {"keywords": ["test", "alonza"], "limit": 5}
    assert both(db, scope, **wanted) == fresh[:5]
    assert rare in ids(find(db, scope, **wanted))
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
    chat = said(db, scope, [("tofu a", ten)])[0]
    three = memory(db, scope, "tofu b", ten)
    nine = memory(db, scope, "tofu c", ten)
    one = entered(db, scope, "tofu d", eleven)
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
    hits, report = explain(db, scope, ranking=RECENCY, keywords=["tea"], limit=5)
    assert [hit["snippet"] for hit in hits] == ["tea 0", "tea 1", "tea 2"]
    assert [note for note in report["notes"] if "rows of memories were compared" in note]


LETTERS = (
    "Der Mülleimer ist voll.", "STRASSE und Straße", "100% of 100 %", "snake_case_name", "a!b !! %_", "wi-fi",
    "私の犬の名前は小白です", "電話とデンワ", "Ёлка и ёж", "naïve café", "cafe\u0301", "👍 great", "don't", ". .",
    "x" * 500 + "needle" + "y" * 90, " ".join(f"w{n}" for n in range(5_100)) + " lastword", "ΣΊΣΥΦΟΣ σίσυφος",
    "한국어 공부를", "ﬁne ﬂag", "tea",
)  # fmt: skip
ASKED = (
    "müll", "eimer", "strasse", "straße", "RASS", "100%", "%", "0 %", "_", "snake_case", "case_n", "!", "!b", "%_",
    "犬", "犬の", "名前は小", "電話", "电话", "ンワ", "ёл", "еж", "naive", "cafe", "fé", "👍", "👍 g", "n't",
    "needle", "xneedley", "lastword", "w50 w51", "w5099", "σισυφος", "Σ", "어 공", "공부", "fine", "la", "a", "ea",
    "zebra", "tea ", "e v", ".", "i-f",
)  # fmt: skip


def test_t24_the_index_passes_over_no_row_that_the_plain_predicates_find(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index tells which rows can match; whatever it holds of them, and however many words hold the letters."""
    rows: list[int] = []
    for number, text in enumerate(LETTERS):
        rows.append(memory(db, scope, text, ago(days=number), tags=["food"] if number % 3 == 0 else []))
        if number == len(LETTERS) // 2:
            assert pack(db, scope)
    set_columns(db, scope, rows[5], timestamp=None)
    said(db, scope, [(text, ago(hours=number)) for number, text in enumerate(LETTERS)])
    for asked in ASKED:
        for most in (400, 2):
            monkeypatch.setattr(holders, "MOST_WORDS", most)
            both(db, scope, keywords=[asked], limit=50)
            both(db, scope, keywords=[asked, "zebra"], tags=["food", "tea"], limit=3)
    assert both(db, scope, keywords=["needle"]) and both(db, scope, keywords=["lastword"])
