"""A question about a time finds what was said then, and what is about a day in it (T62)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from core.chat_history_cache import edit_chat_message
from core.config import Settings
from core.database.engine import Database
from core.db import insert_memory, reindex
from core.forgetting import forget
from core.scope import Scope
from core.search.rounds import MOST_OUTSIDE
from core.synth_core_memory import explain_search, search_memories
from tests.store.search_world import ago, ids, said
from tests.store.test_search_packed import pack
from tests.store.world import NOW, index_differences, verify_index

SETTINGS = Settings()


def ask(db: Database, scope: Scope, query: str, **more: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the texts found, best first, and the report."""
    given = {"limit": 10, "settings": SETTINGS, **more}
    hits, report = explain_search(query=query, db=db, scope=scope, **given)
    rank = {one["id"]: one["rank"] for one in report["hits"]}
    return [hit["snippet"] for hit in sorted(hits, key=lambda hit: rank[hit["id"]])], report


LINES = (
    ("I painted the fence", 1), ("The soup was cold", 1), ("A fox ran by", 3), ("We bought a piano", 8),
    ("The dentist sees me in two days", 1), ("I start a course tomorrow", 12),
)  # fmt: skip


@pytest.fixture(params=["fresh", "packed"])
def told(db: Database, scope: Scope, request: pytest.FixtureRequest) -> Database:
    said(db, scope, [(text, ago(days=days)) for text, days in LINES])
    if request.param == "packed":
        pack(db, scope)
    return db


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What did I say yesterday?", {"I painted the fence", "The soup was cold", "The dentist sees me in two days"}),
        ("What happened in the last 4 days?", {text for text, days in LINES if days <= 4}),
        ("What happened before last week?", {"I start a course tomorrow"}),
        ("What do I have tomorrow?", {"The dentist sees me in two days"}),
        ("What is coming up?", {"The dentist sees me in two days"}),
        ("What did I do 11 days ago?", {"I start a course tomorrow"}),
        ("last 4 days", {text for text, days in LINES if days <= 4}),
        ("Did a fox come yesterday?", {"I painted the fence", "The soup was cold", "The dentist sees me in two days"}),
    ],
)
def test_t62_a_span_finds_what_was_said_in_it_and_what_is_about_it(
    told: Database, scope: Scope, query: str, expected: set[str]
) -> None:
    texts, report = ask(told, scope, query)
    assert set(texts) == expected
    assert report["spans"] and report["notes"] == []


def test_t62_what_happened_beside_an_event_is_what_was_said_then(told: Database, scope: Scope) -> None:
    after, report = ask(told, scope, "What happened after we bought the piano?")
    assert after and set(after) == {text for text, days in LINES if days <= 8} and len(report["spans"]) == 1
    assert ask(told, scope, "What did we do before we bought a piano?")[0] == ["I start a course tomorrow"]
    assert ask(told, scope, "What happened after the zebra escaped?")[1]["spans"] == []


@pytest.mark.parametrize(
    ("query", "echo"),
    [
        ("what was I doing in the last 30 days", "There is nothing doing"),
        ("what has Ann been up to in the last 30 days", "Ann called"),
        ("ここ三十日間で何があった", "友達に会った"),
    ],
)
def test_t62_neither_stop_word_nor_speaker_narrows_a_span(db: Database, scope: Scope, query: str, echo: str) -> None:
    """A question of such words asks for all that was said then."""
    between = [(f"line {n}", ago(days=15 - n)) for n in range(12)]
    said(db, scope, [("We sold the boat", ago(days=20)), *between, (echo, ago(days=1))])
    assert "We sold the boat" in ask(db, scope, query, limit=20)[0]


def test_t62_a_span_without_rows_is_told_and_few_others_come_in(told: Database, scope: Scope) -> None:
    texts, report = ask(told, scope, "What did I say about the piano and the fence on 3 January 2020?")
    assert report["notes"] == ["Nothing is stored of 2020-01-03."]
    assert 0 < len(texts) <= MOST_OUTSIDE and texts[0] in ("We bought a piano", "I painted the fence")
    texts, report = ask(told, scope, "What did I say on 3 January 2020?")
    assert texts == [] and report["notes"] == ["Nothing is stored of 2020-01-03."]


def test_t62_of_coming_days_without_rows_all_that_helps_to_plan_comes_in(told: Database, scope: Scope) -> None:
    said(told, scope, [(f"I like the garden party number {n}", ago(days=30 + n)) for n in range(2 * MOST_OUTSIDE)])
    texts, report = ask(told, scope, "Which garden party is there in 9 days?")
    assert report["notes"] and len(texts) > MOST_OUTSIDE


def test_t62_the_first_and_the_last_come_by_time(told: Database, scope: Scope) -> None:
    said(told, scope, [("I sold the piano", ago(days=2))])
    assert ask(told, scope, "When did I first mention the piano?")[0][:2] == ["We bought a piano", "I sold the piano"]
    assert ask(told, scope, "When did we last talk about the piano?")[0][0] == "I sold the piano"
    assert ask(told, scope, "What was the first thing I told you?")[0][0] == "I start a course tomorrow"


def test_t62_when_something_is_finds_what_is_about_a_coming_day_first(told: Database, scope: Scope) -> None:
    said(told, scope, [("The dentist was rude to me", ago(days=2)), ("The dentist moved to the dentist house", ago())])
    assert ask(told, scope, "When is the dentist?")[0][0] == "The dentist sees me in two days"


def test_t62_where_words_of_time_cannot_be_read_nothing_is_offered(told: Database, scope: Scope) -> None:
    texts, report = ask(told, scope, "Did I sleep on some weekday or weekend?")
    assert texts == [] and "could not be read" in report["notes"][0]


def test_t62_a_statement_with_a_day_or_a_day_beside_the_question_asks_for_no_day(told: Database, scope: Scope) -> None:
    for text in ("I played the piano yesterday", "I shop on Saturday. What piano did we buy again?"):
        assert "We bought a piano" in ask(told, scope, text)[0]


def test_t62_since_and_until_take_words_of_time(told: Database, scope: Scope) -> None:
    def found(**bounds: str) -> set[str]:
        hits = search_memories(keywords=["the", "a"], limit=50, db=told, scope=scope, settings=SETTINGS, **bounds)
        return {hit["snippet"] for hit in hits}

    assert found(since="3 days ago", until="2 days ago") == {"A fox ran by"}
    assert found(until="last week") == found(until="until the end of last week") != set()
    with pytest.raises(ValueError, match=r"^since is 'soon'\. It must be .*last week"):
        found(since="soon")


def test_t62_the_days_of_a_text_follow_when_it_is_edited_forgotten_and_indexed_anew(db: Database, scope: Scope) -> None:
    row = said(db, scope, [("Tomorrow I see the vet", NOW)])[0]
    item = insert_memory("The dentist is tomorrow", "Ann", "chat", [], db=db, scope=scope, settings=SETTINGS)
    asked = "What do I have tomorrow?"
    assert set(ask(db, scope, asked)[0]) == {"Tomorrow I see the vet", "The dentist is tomorrow"}
    edit_chat_message(row, "In three days I see the vet", db=db, scope=scope, settings=SETTINGS)
    assert ids(search_memories(query=asked, db=db, scope=scope, settings=SETTINGS)) == [item]
    assert ask(db, scope, "What do I have in three days?")[0] == ["In three days I see the vet"]
    assert index_differences(db, scope.persona) == []
    reindex(db)
    assert verify_index(db) == [] and ask(db, scope, "What do I have in three days?")[0] != []
    forget(db=db, scope=scope, conversation="tg/1")
    assert ask(db, scope, "What do I have in three days?")[0] == []


def test_t62_days_are_read_in_the_zone_of_the_settings(db: Database, scope: Scope) -> None:
    """Late in the evening in New York it is the next day in UTC."""
    abroad = Settings(timezone="America/New_York")
    late = datetime.combine(ago(days=2).date(), NOW.timetz()).replace(hour=2)
    search_memories(query="anything?", db=db, scope=scope, settings=abroad)
    said(db, scope, [("Tomorrow I see the vet", late)])
    day = ago(days=2).strftime("%d %B %Y")
    assert ask(db, scope, f"What do I have on {day}?", settings=abroad)[0] == ["Tomorrow I see the vet"]
