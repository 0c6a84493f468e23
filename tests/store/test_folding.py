"""Hits that say nearly the same share one place among the hits of a search, and the report says which."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.database.engine import Database
from core.scope import Scope
from core.synth_core_memory import explain_search
from tests.store.world import NOW, open_db, own_scope

DEFAULTS = Settings(context_reach=0)
SAID = (
    "Our cat is called Tofu and sleeps all day",
    "our cat is called tofu, and sleeps all day!",
    "Please remember: our cat is called Tofu and sleeps all day",
    "Our cat is called Mango and sleeps all day",
    "Our cat is not called Tofu and does not sleep all day",
    "The cat knocked over 3 glasses on the table in the kitchen",
    "The cat knocked over 5 glasses on the table in the kitchen",
)


@pytest.fixture(scope="module")
def db(migrated_url: str) -> Iterator[Database]:
    """One migrated database per engine; each test has a persona of its own."""
    handle = open_db(migrated_url)
    yield handle
    handle.close()


def found(db: Database, **more: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the snippets of a search for the cat, best first, and the report."""
    scope = own_scope()
    for n, text in enumerate(SAID):
        moment = NOW - timedelta(days=9) + timedelta(hours=9 * n)
        save_chat_message("tg/1", text, "Ann", "7", timestamp=moment, db=db, settings=DEFAULTS, scope=scope)
    asked = Scope(scope.persona, "tg/1", "tg/7")
    hits, report = explain_search(db=db, settings=DEFAULTS, scope=asked, **more)
    rank = {hit["id"]: hit["rank"] for hit in report["hits"]}
    return [hit["snippet"] for hit in sorted(hits, key=lambda hit: rank[hit["id"]])], report


@pytest.mark.parametrize("more", [{"query": "What is our cat called?"}, {"keywords": ["cat"]}], ids=["asked", "words"])
def test_three_that_say_the_same_take_one_place(db: Database, more: dict[str, Any]) -> None:
    """Another name, a negation or another number is another statement, and each of these gets a place."""
    snippets, report = found(db, limit=5, **more)
    assert len(set(snippets) & set(SAID[:3])) == 1
    assert set(SAID[3:]) <= set(snippets)
    assert len(report["folded"]) == 2
    shown = {(hit["source"], hit["id"]) for hit in report["hits"]}
    assert all(tuple(one["into"]) in shown for one in report["folded"])
    assert report["sources"]["chat_history"]["dropped"] == {"nearly the same": 2}


def test_t24_where_there_is_room_they_are_hits_too(db: Database) -> None:
    """`limit` hits whenever so many distinct rows match."""
    snippets, report = found(db, query="What is our cat called?", limit=7)
    assert sorted(snippets) == sorted(SAID)
    assert report["folded"] == []
