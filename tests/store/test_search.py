"""What a search takes, matches and gives back (T16 to T25, T33 to T40, F18, F58, F66 to F68)."""

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
from tests.store import search_world
from tests.store.search_world import ago, entered, find, find_plainly, ids, matched, memory, places, remember, said
from tests.store.world import NOW, Untouchable, own_scope

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
    hits, report = search_world.explain(db, scope, tags=["food"], keywords=["tofu", "absent"], limit=5)
    assert [one["rank"] for one in sorted(report["hits"], key=lambda one: one["rank"])] == [1, 2, 3]
    assert [(one["source"], one["id"]) for one in report["hits"]] == places(hits)
    by_id = {one["id"]: one for one in report["hits"]}
    assert by_id[both]["tags"] == ["food"] and by_id[both]["words"] == ["tofu"] and by_id[both]["tier"] == 1
    assert by_id[word]["tags"] == [] and by_id[word]["tier"] == 2 and by_id[word]["score"] > 0
    assert by_id[both]["rank"] == 1
    sources = report["sources"]
    assert sources["chat_history"] == {"considered": 2, "dropped": {"duplicate": 1}, "error": ""}
    assert sources["memories"] == {"considered": 2, "dropped": {}, "error": ""}
    assert sources["ai_diary"]["considered"] == 0 and json.loads(json.dumps(report)) == report


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
    told, kept = said(db, replace(scope, conversation="tg/1"), [("tofu", NOW)])[0], memory(db, scope, "tofu in a bowl")
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
    _, newer = remember(db, scope, {"content": "Jo  likes tea", "timestamp": ago(days=1)}, {"content": "jo likes tea"})
    assert ids(find(db, scope, keywords=["likes"], ranking=ranking)) == [newer]
    said(db, scope, [("JO likes\ntea", ago(days=2))])
    assert ids(find(db, scope, keywords=["likes"], ranking=ranking)) == [newer]
    pair = remember(db, scope, {"content": "long " + "q" * 450 + "one"}, {"content": "long " + "q" * 450 + "two"})
    assert set(ids(find(db, scope, keywords=["long"], ranking=ranking))) == set(pair)


def test_t36_a_count_gets_equal_texts_of_each_day(db: Database, scope: Scope) -> None:
    """`I swam in the lake`, said on three days, is three times for who asks how often."""
    times = ((9, 0), (5, 0), (5, 3), (1, 0))
    said(db, scope, [("I swam in the lake", ago(days=days, minutes=minutes)) for days, minutes in times])
    days = {hit["timestamp"][:10] for hit in find(db, scope, query="How many times did I swim in the lake?")}
    assert len(days) == 3 == len(find(db, scope, query="How often did I swim in the lake?"))
    assert len(find(db, scope, keywords=["lake"], mode="all")) == 3
    assert len(find(db, scope, query="Where do I swim most often?")) == 3
    memory(db, scope, "I swam in the lake", ago(days=3))
    assert len(find(db, scope, query="How often did I swim in the lake?")) == 3, "a memory made of a message adds none"
    assert len(find(db, scope, query="Did I swim in the lake?")) == 1


@pytest.mark.parametrize(("question", "days"), [
    ("When did I swim in the lake?", {1, 2, 3, 5, 9}), ("When did I first swim in the lake?", {9}),
    ("Did Ann swim in the lake 5 days ago?", {5}), ("What did Ann say 3 days ago?", {3}),
])  # fmt: skip
def test_t36_a_question_about_days_gets_the_text_of_its_day(
    db: Database, scope: Scope, question: str, days: set[int]
) -> None:
    """The newest of equal texts stood for all, and answered with the wrong day."""
    said(db, scope, [("I swam in the lake", ago(days=each)) for each in (9, 5, 3, 2, 1)], name="Ann")
    said(db, scope, [("I swam in the lake", ago(days=3, minutes=-9))], name="Bob")
    asked = replace(scope, conversation="tg/1", participant="tg/ann")
    found = [hit for hit in find(db, asked, query=question, limit=10) if hit["speaker"] == "Ann"]
    assert days <= {(ago(days=0) - datetime.fromisoformat(hit["timestamp"])).days for hit in found}


def test_t36_a_count_in_a_time_looks_for_the_common_word_of_its_question(db: Database, scope: Scope) -> None:
    """`run` was a stop word, so that a count of runs in two weeks showed all lines of these weeks."""
    said(db, scope, [(f"my run was {n} km", ago(days=n)) for n in range(1, 5)])
    said(db, scope, [(f"lunch was noodle soup {n}", ago(days=1, minutes=n)) for n in range(9)])
    found = find(db, scope, query="How many times did I run in the last two weeks?", limit=20)
    assert len(found) == 4 and all("run" in hit["snippet"] for hit in found)


def test_t36_equal_texts_of_two_people_are_two_statements(db: Database, scope: Scope) -> None:
    for at, who in enumerate(("Ann", "Bob", "Ann", "Cem", "Dan")):
        said(db, scope, [("I love ramen", ago(days=1, minutes=-at))], name=who)
    hits = find(db, scope, query="Who loves ramen?", limit=10)
    assert [hit["speaker"] for hit in hits] == ["Dan", "Cem", "Ann"], "a plain question shows three of equal texts"
    hits, report = explain_search(keywords=["ramen"], mode="all", db=db, scope=scope)
    assert [hit["speaker"] for hit in hits] == ["Bob", "Ann", "Cem", "Dan"] and report["total"] == 4
    assert report["notes"] == ["Rows left out since they repeat another: 1."]
    memory(db, scope, "I love ramen", ago(days=0))
    assert len(find(db, scope, keywords=["ramen"], mode="all")) == 4, "a memory made of a message adds none"


def test_t36_a_text_said_every_day_does_not_fill_a_list(db: Database, scope: Scope) -> None:
    said(db, scope, [(f"I have a cat called {name}", ago(days=30 + at)) for at, name in enumerate("ABCDEFG")])
    said(db, scope, [("Viewers, say !cat to see a cat", ago(days=days)) for days in range(1, 21)], name="Bot")
    hits = find(db, scope, query="Which viewers have a cat?", limit=10)
    assert sum("!cat" in hit["snippet"] for hit in hits) == 3 and len(hits) == 10


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
    times = [day + timedelta(microseconds=n) for n in (-1, 0, 1)]
    before, at, after = remember(db, scope, *({"content": f"tofu {at}", "timestamp": at} for at in times))
    told = said(db, scope, [("tofu", day)])[0]
    wanted = {"keywords": ["tofu"], "ranking": ranking}
    assert set(ids(find(db, scope, since=day, **wanted))) == {at, after, told}
    assert set(ids(find(db, scope, until=day, **wanted))) == {before}
    assert set(ids(find(db, scope, since="2026-03-01", until="2026-03-01T00:00:00.000001Z", **wanted))) == {at, told}
    assert matched(db, scope, tags=["tofu"], keywords=["%", "tofu"], since=day, until=day) == []


@contextmanager
def away(db: Database, *names: str) -> Iterator[None]:
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
    kept, told = memory(db, scope, "tofu one", tags=["food"]), said(db, scope, [("tofu two", NOW)])[0]
    entered(db, scope, "tofu three")
    with away(db, "ai_diary"):
        for keywords in (["tofu"], ["tofu", "ofu o"], ["!", "tofu"]):
            with caplog.at_level(logging.WARNING):
                hits, report = search_world.explain(db, scope, keywords=keywords, tags=["food"], ranking=ranking)
            assert set(ids(hits)) == {kept, told} and "ai_diary" in report["sources"]["ai_diary"]["error"]
            assert report["sources"]["memories"]["error"] == ""
            assert any("ai_diary" in record.getMessage() for record in caplog.records)
        with away(db, "memories", "chat_history_cache"), pytest.raises(StoreReadError):
            find(db, scope, keywords=["tofu"], ranking=ranking)
        with away(db, "chat_history_cache", "search_segment"):
            assert ids(find(db, scope, keywords=["tofu"], ranking=ranking)) == [kept]


@BOTH
def test_f65_f66_bytes_for_a_query_and_a_word_for_a_switch_raise(db: Database, scope: Scope, ranking: str) -> None:
    with pytest.raises(MessageError, match="include_chat"):
        find(db, scope, keywords=["tofu"], include_chat="false")
    with pytest.raises(TypeError, match="query is of type bytes"):
        find(db, scope, query=b"tofu", ranking=ranking)
    with pytest.raises(MessageError, match="query"):
        free_memory_search(None, db=db, scope=scope)  # type: ignore[arg-type]


def test_a_free_search_returns_equal_snippets_once(db: Database, scope: Scope) -> None:
    for end in "ab":
        memory(db, scope, f"tofu {'x' * 500}{end}")
    assert len(free_memory_search("tofu", db=db, scope=scope)) == 1


@pytest.mark.dialects
def test_t20_a_tag_is_a_whole_element(db: Database, scope: Scope) -> None:
    wanted = memory(db, scope, "x", tags=["cat", "pet"])
    memory(db, scope, "y", tags=["category"])
    memory(db, scope, "z")
    noted = entered(db, scope, "w", context_tags=("cat",))
    assert set(matched(db, scope, tags=["cat"])) == {wanted, noted}
    assert set(matched(db, scope, tags=["  CAT "])) == {wanted, noted}
    for tag in ("[]", "{}", '["cat"]'):
        assert matched(db, scope, tags=[tag]) == []
    assert matched(db, scope, tags=["ca", "cat%", "c_t"]) == []


KEYWORDS = [
    ("100%", "100% sure", "1000 people"), ("a_b", "so a_b it is", "axb"), ("TOFU", "Tofu", "to fu"),
    ("strasse", "Straße", "strase"), ("cafe", "Café", "cave"), ("città", "la CITTA\u0300", "la citt"),
    ("Αθήνα", "η ΑΘΗΝΑ", "η Αθην"), ("край", "край", "краи"), ("宿題", "数学の宿題は", "宿、題"), ("猫", "黒猫がいる",
    "犬がいる"),
    ("O'B", "Ann O'Brien", "OB"), ("\\", "a \\ b", "a / b"), ("50!%", "it is 50!% off", "it is 50% off"),
    ("ไป", "เราไปตลาด", "เรามาตลาด"), ("👩‍👩‍👧", "we 👩‍👩‍👧 three", "we 👩 three"),
    ("izza ni", "pizza night!", "pizza tonight"), ("x" * 170, "a" + "x" * 180, "x" * 169), ("ﬁn", "the fin", "f in"),
    ("a\u3000b", "a b", "ab"), ("%s", "100 %s", "100 s"), (":x", "a :x b", "a x b"), ("-", "a-b", "a b"),
    ("la", "a koala", "l a"), ("σισυφος", "ΣΊΣΥΦΟΣ", "Σισυφο"), ("еж", "Ёлка и ёж", "ел"), ("👍 g", "👍 great", "👍g"),
    ("공부", "한국어 공부를", "공 부"), ("case_n", "snake_case_name", "case n"), ("eimer", "Der Mülleimer", "Eime r"),
    ("needle", "x" * 500 + "needle" + "y" * 90, "x" * 500 + "need le"), ("名前は小", "私の名前は小白です", "名前 は小"),
]  # fmt: skip


@pytest.mark.dialects
@pytest.mark.parametrize(("keyword", "yes", "no"), KEYWORDS, ids=range(len(KEYWORDS)))
def test_t21_a_keyword_is_part_of_the_folded_text(db: Database, scope: Scope, keyword: str, yes: str, no: str) -> None:
    rows = remember(db, scope, {"content": yes}, {"content": no})
    assert matched(db, scope, keywords=[keyword]) == rows[:1]
    other = own_scope()
    told = said(db, other, [(yes, NOW), (no, NOW)])
    assert matched(db, other, keywords=[keyword]) == told[:1]
    noted = entered(db, other, "nothing", user_message=yes)
    assert set(matched(db, other, keywords=[keyword])) == {told[0], noted}


def test_t21_the_diary_is_searched_in_its_four_texts(db: Database, scope: Scope) -> None:
    """Texts do not run into one another (D11)."""
    fields = ("personal_thought", "interaction_summary", "user_message")
    rows = {name: entered(db, scope, f"entry {name}", **{name: f"holds {name[::-1]}"}) for name in fields}
    for name, row in rows.items():
        assert matched(db, scope, keywords=[name[::-1]]) == [row]
    joined = entered(db, scope, "zzqa", user_message="bzzq")
    assert matched(db, scope, keywords=["zzqab"]) == []
    assert matched(db, scope, keywords=["zzqa"]) == [joined] == matched(db, scope, keywords=["bzzq"])


def test_t22_in_the_chat_a_tag_is_a_word(db: Database, scope: Scope) -> None:
    row, _ = said(db, scope, [("good Food here", NOW), ("nothing", NOW)])
    remember(db, scope, {"content": "food in a text, not a tag"})
    remember(db, replace(scope, conversation="tg/1"), {"content": "food in a text of that conversation"})
    hits = find(db, scope, tags=["food"])
    assert places(hits) == [("chat_history", row)] and hits[0]["tags"] == []
    assert matched(db, scope, tags=["food"]) == [row]


def test_t24_a_word_that_is_not_in_the_index_or_a_letter_of_too_many_words_is_found(db: Database, scope: Scope) -> None:
    many = memory(db, scope, " ".join([*(f"w{n:05}" for n in range(5100)), "zucchini"]))
    long = memory(db, scope, "y" * 200 + "zucchetto", ago(days=1))
    assert matched(db, scope, keywords=["zucch"]) == [many, long]
    assert matched(db, scope, keywords=["zucchini"]) == [many]
    assert matched(db, scope, keywords=["w04999"]) == [many] == matched(db, scope, keywords=["w05099"])
    deep = memory(db, scope, f"{'much talk ' * 500} of blue-green algae")  # behind the characters that are read
    assert matched(db, scope, keywords=["blue-green algae"]) == [deep]
    other = own_scope()
    for first in range(0, 1500, 500):
        remember(db, other, {"content": " ".join(f"qa{n:04} {n:04}qx" for n in range(first, first + 500))})
    rows = remember(db, scope, {"content": "my qzz"}, {"content": "zzq here", "timestamp": ago(days=1)})
    assert matched(db, scope, keywords=["q"]) == rows
    assert ids(find(db, scope, keywords=["q"])) == [] == ids(find_plainly(db, scope, keywords=["q"]))


def test_t21_few_letters_are_a_word_by_themselves_where_hits_are_ranked(db: Database, scope: Scope) -> None:
    rows = remember(
        db, scope, {"content": "we eat late"}, {"content": "nice weather", "timestamp": ago(days=1)},
        {"content": "she eats tofu", "timestamp": ago(days=2)},
    )  # fmt: skip
    for search in (find, find_plainly):
        assert ids(search(db, scope, keywords=["eat"])) == [rows[0], rows[2]]
        assert ids(search(db, scope, keywords=["eat"], ranking=search_world.RECENCY)) == rows


def test_t61_three_letters_find_parts_of_words_where_nothing_else_is_found(db: Database, scope: Scope) -> None:
    contents = ("Pizza night", "marzipan cake", "spitz dog", "a pi day")
    rows = remember(db, scope, *({"content": text, "timestamp": ago(days=n)} for n, text in enumerate(contents)))
    for search in (find, find_plainly):
        assert ids(search(db, scope, keywords=["piz"])) == rows[:1]
        assert ids(search(db, scope, keywords=["zip"])) == rows[1:2]
        assert ids(search(db, scope, keywords=["itz", "pizza"])) == rows[:1]
        assert ids(search(db, scope, keywords=["pi"])) == rows[3:] and ids(search(db, scope, keywords=["zi"])) == []
    told = said(db, scope, [("the Pizzeria is closed", ago(days=9))])
    assert ids(find(db, scope, keywords=["piz"])) == [rows[0], *told]
    assert ids(find(db, scope, keywords=["piz"], limit=1)) == rows[:1]
    more = said(db, scope, [("the spitz sleeps", ago(days=8))])
    for limit, found in ((2, [*more, rows[2]]), (3, [*told, *more, *rows[2:3]])):
        assert ids(find(db, scope, keywords=["spitz", "zeria"], limit=limit, mode="all")) == found
