"""What a search takes and gives back (T16 to T19, T33 to T40, F18, F58, F66 to F68)."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from core.config import Settings
from core.database.engine import Database
from core.database.schema import memories as table
from core.errors import MessageError, StoreReadError
from core.scope import Scope
from core.synth_core_memory import explain_search, free_memory_search, search_memories
from tests.databases import traced
from tests.store.search_world import ago, entered, explain, find, ids, matched, memory, places, remember, said
from tests.store.world import NOW, Untouchable

BOTH = pytest.mark.parametrize("ranking", ["relevance", "recency"])


def test_t16_a_query_alone_gives_its_own_words_and_tags(db: Database, scope: Scope) -> None:
    tagged = memory(db, scope, "nothing of that", tags=["tofu"])
    told = memory(db, scope, "we made tofu")
    memory(db, scope, "the other thing")
    assert set(matched(db, scope, query="where is the tofu?")) == {tagged, told}
    assert matched(db, scope, query="where is the tofu?", keywords=["other thing"]) != []
    assert set(ids(find(db, scope, query="where is the tofu?", tags=["tofu"]))) == {tagged}
    loved = memory(db, scope, "a third thing", tags=["❤", "c"])
    assert [matched(db, scope, query=text) for text in ("❤", "c", "thanks ❤")] == [[loved]] * 3
    kitten = memory(db, scope, "我有一只猫")
    assert set(matched(db, scope, query="大学士", keywords=["猫"], tags=["c"])) == {kitten, loved}


def test_t16_the_report_tells_of_every_hit_and_every_source(db: Database, scope: Scope) -> None:
    both = memory(db, scope, "tofu and tea", ago(days=2), tags=["food"])
    word = memory(db, scope, "more tofu", ago(days=1))
    said(db, scope, [("tofu again", NOW), ("tofu again", ago(minutes=1)), ("no", NOW)])
    hits, report = explain(db, scope, tags=["food"], keywords=["tofu", "absent"], limit=5)
    assert [one["rank"] for one in sorted(report["hits"], key=lambda one: one["rank"])] == [1, 2, 3]
    assert [(one["source"], one["id"]) for one in report["hits"]] == places(hits)
    by_id = {one["id"]: one for one in report["hits"]}
    assert by_id[both]["tags"] == ["food"] and by_id[both]["words"] == ["tofu"] and by_id[both]["tier"] == 1
    assert by_id[word]["tags"] == [] and by_id[word]["tier"] == 2 and by_id[word]["score"] > 0
    assert by_id[both]["rank"] == 1
    sources = report["sources"]
    assert sources["chat_history"] == {"considered": 2, "dropped": {"duplicate": 1}, "error": ""}
    assert sources["memories"] == {"considered": 2, "dropped": {}, "error": ""}
    assert sources["ai_diary"]["considered"] == 0
    assert json.loads(json.dumps(report)) == report


@BOTH
def test_t17_nothing_to_look_for_asks_no_database(ranking: str) -> None:
    nothing: dict[str, Any] = {"db": Untouchable(), "ranking": ranking}
    assert search_memories(tags=[" ", None], keywords=[""], **nothing) == []
    assert search_memories(query="?!", **nothing) == [] and search_memories(**nothing) == []
    assert explain_search(keywords=["  "], exclude=["tg/1"], **nothing)[1]["hits"] == []


@pytest.mark.parametrize("mode", ["best", "all"])
def test_t16_the_report_of_a_search_for_nothing_has_the_same_keys(db: Database, scope: Scope, mode: Any) -> None:
    """A host that counted the hits of `mode="all"` met a KeyError when a message had no words."""
    some, nothing = (explain_search(query, mode=mode, db=db, scope=scope)[1] for query in ("tofu", ""))
    assert list(nothing) == list(some) and nothing["sources"] == some["sources"]


@BOTH
def test_t19_the_chat_is_searched_only_when_asked_for(db: Database, scope: Scope, ranking: str) -> None:
    inside = replace(scope, conversation="tg/1")
    told, kept = said(db, inside, [("tofu", NOW)])[0], memory(db, scope, "tofu in a bowl")
    noted = entered(db, scope, "tofu in the diary")
    everywhere = find(db, scope, keywords=["tofu"], ranking=ranking)
    assert set(places(everywhere)) == {("chat_history", told), ("memories", kept), ("ai_diary", noted)}
    with traced(db) as statements:
        found = find(db, scope, keywords=["tofu", "!"], tags=["food"], ranking=ranking, include_chat=False)
    assert {hit["source"] for hit in found} == {"memories", "ai_diary"}
    assert statements and not any("chat_history_cache" in statement for statement in statements)


def test_t33_a_hit_has_exactly_these_keys(db: Database, scope: Scope) -> None:
    row = memory(db, scope, "tofu", tags=["Food"])
    told = said(db, scope, [("tofu too", ago(days=1))])[0]
    hits = find(db, scope, keywords=["tofu"])
    keys = ["source", "id", "timestamp", "snippet", "tags"]
    assert [list(hit) for hit in hits] == [keys, [*keys, "speaker"]]
    assert hits[0] == {
        "source": "memories", "id": row, "timestamp": "2026-03-10T12:00:00+00:00", "snippet": "tofu", "tags": ["food"],
    }  # fmt: skip
    assert hits[1]["id"] == told and hits[1]["tags"] == []


def test_t34_the_diary_shows_its_first_filled_text(db: Database, scope: Scope) -> None:
    entered(db, scope, "  ", ago(minutes=1), interaction_summary="tofu in short", user_message="tofu m")
    entered(db, scope, "", ago(minutes=2), user_message="tofu asked", personal_thought="tofu t")
    entered(db, scope, "", ago(minutes=3), personal_thought="tofu thought")
    entered(db, scope, "tofu content", ago(minutes=4), interaction_summary="s")
    shown = [hit["snippet"] for hit in find(db, scope, keywords=["tofu"])]
    assert shown == ["tofu in short", "tofu asked", "tofu thought", "tofu content"]


def test_t35_a_snippet_shows_the_word_that_matches(db: Database, scope: Scope) -> None:
    memory(db, scope, f"They concatenate {'and so on ' * 60} my cat")
    memory(db, scope, f"Hello {'and so on ' * 60} a grey mouse")
    for query, end in (("cat", "on  my cat"), ("Where are the mice?", "a grey mouse")):
        (hit,) = find(db, scope, query=query, settings=Settings(snippet_window="match", snippet_chars=80))
        assert hit["snippet"].endswith(end), query


@BOTH
def test_t36_one_text_is_one_hit(db: Database, scope: Scope, ranking: str) -> None:
    row = memory(db, scope, "pizza for tofu", tags=["pizza"])
    assert ids(find(db, scope, tags=["pizza"], keywords=["tofu"], ranking=ranking)) == [row]
    _, newer = remember(
        db, scope, {"content": "Jay  likes tea", "timestamp": ago(days=1)}, {"content": "jay likes tea"}
    )
    assert ids(find(db, scope, keywords=["likes"], ranking=ranking)) == [newer]
    said(db, scope, [("JAY likes\ntea", ago(days=2))])
    assert ids(find(db, scope, keywords=["likes"], ranking=ranking)) == [newer]
    pair = remember(db, scope, {"content": "long " + "q" * 450 + "one"}, {"content": "long " + "q" * 450 + "two"})
    assert set(ids(find(db, scope, keywords=["long"], ranking=ranking))) == set(pair)


def test_t36_what_stays_is_worth_what_the_best_of_the_same_text_is(db: Database, scope: Scope) -> None:
    """A memory made of a message has no neighbours; those of the message speak for what both say."""
    text = "I took the red one in the end since it was cheap and light and they had it there in my size " * 2
    said(db, scope, [("Which bike did you buy?", ago(days=2)), (text, ago(days=2, minutes=-1))])
    question = "Which bike is the red one?"
    before = explain_search(query=question, db=db, scope=scope)[1]["hits"]
    row = memory(db, scope, text, ago(days=1))
    after = explain_search(query=question, db=db, scope=scope)[1]
    kept = next(hit for hit in after["hits"] if hit["source"] == "memories")
    of_message = next(hit for hit in before if "red" in hit["words"])
    assert kept["id"] == row and after["sources"]["chat_history"]["dropped"] == {"duplicate": 1}
    assert kept["reasons"].keys() == of_message["reasons"].keys() and "length" in kept["reasons"]


@BOTH
def test_t36_the_same_id_in_another_source_and_blank_entries_stay(db: Database, scope: Scope, ranking: str) -> None:
    first = entered(db, scope, "", user_message="tofu one")
    second = entered(db, scope, "", user_message="tofu two")
    assert set(ids(find(db, scope, keywords=["tofu"], ranking=ranking))) == {first, second}
    twin = memory(db, scope, "tofu three")
    change = update(table).where(table.c.persona_id == scope.persona, table.c.id == twin).values(content_hash=None)
    db.transaction(lambda c: c.execute(change), source="memories")
    assert set(ids(find(db, scope, keywords=["tofu"], ranking=ranking))) == {first, second, twin}


@BOTH
def test_t37_rows_and_conversations_may_be_left_out(db: Database, scope: Scope, ranking: str) -> None:
    current = said(db, scope, [("salt and pepper", NOW)], "tg/1")
    other, _ = said(db, scope, [("pepper and salt", NOW), ("neither", NOW)], "tg/2")
    found = find(db, scope, keywords=["salt", "pepper"], exclude=["tg/1"], ranking=ranking)
    assert places(found) == [("chat_history", other)]
    kept = memory(db, scope, "salt in a jar")
    everything = {"keywords": ["salt"], "ranking": ranking}
    assert set(ids(find(db, scope, **everything))) == {current[0], other, kept}
    assert set(ids(find(db, scope, exclude=[("memories", kept)], **everything))) == {current[0], other}
    by_source = find(db, scope, exclude=[("memories", other), ("chat_history", other)], **everything)
    assert set(ids(by_source)) == {current[0], kept}
    assert ids(find(db, scope, exclude=["tg/1", "tg/2"], tags=["salt"], **everything)) == [kept]
    assert find(db, scope, exclude=["tg/1"], ranking=ranking) == []
    stated = said(db, scope, [("I love sailing", NOW), ("I work as a nurse", NOW)], "tg/3")
    person = {"query": "What do you know about Ann?", "exclude": [("chat_history", stated[0])]}
    assert ids(find(db, scope, **person)) == stated[1:]


@BOTH
def test_t37_left_out_rows_do_not_take_the_place_of_others(db: Database, scope: Scope, ranking: str) -> None:
    newest = said(db, scope, [(f"salt {n}", ago(minutes=n)) for n in range(200)], "tg/1")
    old = said(db, scope, [(f"old salt {n}", ago(days=n + 1)) for n in range(5)], "tg/2")
    wanted = {"keywords": ["salt"], "ranking": ranking}
    assert ids(find(db, scope, exclude=["tg/1"], **wanted)) == old
    assert ids(find(db, scope, exclude=[("chat_history", row) for row in newest], **wanted)) == old


@BOTH
def test_t38_since_is_included_until_is_not(db: Database, scope: Scope, ranking: str) -> None:
    day = datetime(2026, 3, 1, tzinfo=UTC)
    before, at, after = remember(
        db, scope, *({"content": f"tofu {n}", "timestamp": day + timedelta(microseconds=n - 1)} for n in range(3))
    )
    told = said(db, scope, [("tofu", day)])[0]
    wanted = {"keywords": ["tofu"], "ranking": ranking}
    assert set(ids(find(db, scope, since=day, **wanted))) == {at, after, told}
    assert set(ids(find(db, scope, until=day, **wanted))) == {before}
    assert set(ids(find(db, scope, since="2026-03-01", until="2026-03-01T00:00:00.000001Z", **wanted))) == {at, told}
    assert matched(db, scope, tags=["tofu"], keywords=["%", "tofu"], since=day, until=day) == []


@contextmanager
def away(db: Database, *names: str) -> Iterator[None]:
    """Give tables another name for a while, so that they are missing."""

    def rename(old: str, new: str) -> None:
        db.transaction(lambda c: c.exec_driver_sql(f"ALTER TABLE {old} RENAME TO {new}"), source=old)

    with ExitStack() as back:
        for name in names:
            rename(name, f"away_{name}")
            back.callback(rename, f"away_{name}", name)
        yield


@BOTH
def test_t39_a_source_that_fails_is_left_out_and_told(
    db: Database, scope: Scope, caplog: pytest.LogCaptureFixture, ranking: str
) -> None:
    """The others answer; when none can, the search says so."""
    kept, told = memory(db, scope, "tofu one", tags=["food"]), said(db, scope, [("tofu two", NOW)])[0]
    entered(db, scope, "tofu three")
    with away(db, "ai_diary"):
        for keywords in (["tofu"], ["tofu", "ofu o"], ["!", "tofu"]):
            with caplog.at_level(logging.WARNING):
                hits, report = explain(db, scope, keywords=keywords, tags=["food"], ranking=ranking)
            assert set(ids(hits)) == {kept, told}
            assert "ai_diary" in report["sources"]["ai_diary"]["error"]
            assert report["sources"]["memories"]["error"] == ""
            assert any("ai_diary" in record.getMessage() for record in caplog.records)
        with away(db, "memories", "chat_history_cache"), pytest.raises(StoreReadError):
            find(db, scope, keywords=["tofu"], ranking=ranking)
        with away(db, "chat_history_cache", "search_segment"):
            assert ids(find(db, scope, keywords=["tofu"], ranking=ranking)) == [kept]


def test_f65_a_word_is_no_switch_of_the_chat(db: Database, scope: Scope) -> None:
    with pytest.raises(MessageError, match="include_chat"):
        find(db, scope, keywords=["tofu"], include_chat="false")


@BOTH
def test_f66_a_query_that_is_no_text_is_refused(db: Database, scope: Scope, ranking: str) -> None:
    with pytest.raises(TypeError, match="query is of type bytes"):
        find(db, scope, query=b"tofu", ranking=ranking)
    with pytest.raises(MessageError, match="query"):
        free_memory_search(None, db=db, scope=scope)  # type: ignore[arg-type]


def test_a_free_search_returns_equal_snippets_once(db: Database, scope: Scope) -> None:
    for end in "ab":
        memory(db, scope, f"tofu {'x' * 500}{end}")
    assert len(free_memory_search("tofu", db=db, scope=scope)) == 1
