"""R31: LangGraph's store over ours: the behaviours its own stores are tested for, in our words."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

pytest.importorskip("langgraph", reason="the extra langgraph is not installed")

from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from core import Scope, build_json_prompt, forget, use_scope
from core.adapters.langgraph import Store
from core.database.engine import Database
from core.errors import MessageError


@pytest.fixture
def store(db: Database, ann: Scope) -> Store:
    return Store(db=db, scope=ann)


def keys(found: list[Any]) -> list[str]:
    return sorted(item.key for item in found)


def test_r31_a_batch_answers_in_order_and_reads_before_it_writes(store: Store) -> None:
    store.put(("a", "b"), "k1", {"data": 1})
    store.put(("a", "c"), "k2", {"data": 2})
    found = store.batch([GetOp(("a", "b"), "k1"), PutOp(("a", "c"), "k2", {"data": 3}), ListNamespacesOp(),
                         SearchOp(("a",), filter={"data": 1}), GetOp(("a", "c"), "k2"), GetOp(("a", "c"), "none"),
                         PutOp(("a", "b"), "k1", None)])  # fmt: skip
    assert found[0].value == {"data": 1}
    assert [found[1], found[2], keys(found[3])] == [None, [("a", "b"), ("a", "c")], ["k1"]]
    assert found[4].value == {"data": 2} and found[5:] == [None, None]
    assert store.get(("a", "c"), "k2").value == {"data": 3} and store.get(("a", "b"), "k1") is None


def test_r31_a_value_comes_back_as_it_was_and_no_json_is_refused_by_name(store: Store) -> None:
    for value in ({}, {"n": 1.0, "big": 2**70, "neg": -1e-300}, {"t": "a\x00b\ud800 🦀 \"'\\"},
                  {"d": {"b": [None, True, {"": []}]}}):  # fmt: skip
        store.put(("v",), "k", value)
        found = store.get(("v",), "k").value
        assert found == value and repr(found) == repr(value)
    with pytest.raises(MessageError, match="'k' in \\('a',\\) is no JSON"):
        store.batch([PutOp(("a",), "first", {"n": 1}), PutOp(("a",), "k", {"n": object()})])
    assert store.search(("a",)) == []


def test_r31_filters_compare_and_page(store: Store) -> None:
    for n in range(10):
        store.put(("d",), f"k{n}", {"n": n, "kind": "odd" if n % 2 else "even", "at": {"x-y": n, "deep": {"z": n}},
                                    "on": n > 4, "name": f"n{n}"})  # fmt: skip
    store.put(("d",), "none", {"other": "text"})

    def search(**wanted: Any) -> list[str]:
        return keys(store.search(("d",), filter=wanted, limit=100))

    assert search(n=3) == ["k3"] and search(n={"$gt": 3, "$lte": 5}) == ["k4", "k5"]
    assert search(n={"$lt": float("inf")}) == [f"k{n}" for n in range(10)]
    assert search(n={"$eq": float("nan")}) == [] and search(name={"$gte": "n8"}) == ["k8", "k9"]
    assert search(kind={"$ne": "odd"}, n={"$gte": 6}) == ["k6", "k8"]
    assert search(on=True, kind="odd") == ["k5", "k7", "k9"]
    assert search(**{"at.x-y": 7}) == ["k7"] == search(at={"x-y": 7})
    assert search(**{"at.deep.z": {"$gt": 8}}) == ["k9"]
    pages = [keys(store.search(("d",), filter={"kind": "odd"}, limit=2, offset=n)) for n in (0, 2, 4)]
    assert sorted(key for page in pages for key in page) == ["k1", "k3", "k5", "k7", "k9"]
    with pytest.raises(ValueError, match="Unsupported operator"):
        search(n={"$regex": 1})
    with pytest.raises(ValueError, match="Invalid filter key"):
        store.search(("d",), filter={"n') OR ('1'='1": 1})


def test_r31_namespaces_are_listed_by_prefix_suffix_and_page(store: Store) -> None:
    for namespace in (("a", "b", "c"), ("a", "x", "c"), ("b", "b"), ("c",)):
        store.put(namespace, "k", {})
    assert store.list_namespaces(prefix=("a", "*", "c")) == [("a", "b", "c"), ("a", "x", "c")]
    assert store.list_namespaces(suffix=("b", "*"), limit=1) == [("a", "b", "c")]
    assert store.list_namespaces(max_depth=1, limit=2, offset=1) == [("b",), ("c",)]


@pytest.mark.parametrize("label", ["", "a.b", "\x00", 7])
def test_r31_a_bad_label_stops_the_whole_batch(store: Store, label: Any) -> None:
    for op in (GetOp(("a", label), "k"), PutOp((label,), "k", {}), SearchOp((label,)),
               ListNamespacesOp((MatchCondition("prefix", (label,)),))):  # fmt: skip
        with pytest.raises(InvalidNamespaceError):
            store.batch([PutOp(("good",), "k", {}), op])
    assert store.get(("good",), "k") is None


def test_r31_query_is_the_search_of_the_engine_with_a_score(store: Store) -> None:
    store.put(("u1", "m"), "tea", {"text": "Ann drinks green tea in the morning"})
    store.put(("u1", "m"), "cat", {"text": "Tofu is a grey cat"})
    store.put(("u2",), "tea", {"text": "green tea is what Bob drinks"})
    store.put(("u1", "m"), "dark", {"text": "green tea again"}, index=False)
    found = store.search(("u1",), query="which green tea?")
    assert found[0].key == "tea" and found[0].score > found[1].score == 0.0
    assert "tea" not in [item.key for item in store.search(("u1",), query="which green tea?", offset=1)]
    assert [item.score for item in found if item.key == "dark"] == [None] and found[-1].key == "dark"


def test_r31_only_the_named_fields_are_searched(db: Database, ann: Scope) -> None:
    store = Store(db=db, scope=ann, fields=["text", "notes[*].body"])
    store.put(("n",), "a", {"text": "oolong", "secret": "sencha", "notes": [{"body": "matcha"}, {"body": "hojicha"}]})
    store.put(("n",), "b", {"text": "gyokuro", "secret": "bancha"}, index=["secret"])
    expected = {"oolong": "a", "sencha": "", "matcha": "a", "hojicha": "a", "gyokuro": "", "bancha": "b"}
    for word, key in expected.items():
        assert "".join(item.key for item in store.search(("n",), query=word) if item.score) == key, word


def test_r31_what_a_store_holds_is_in_prompts_of_the_scope(db: Database, store: Store, ann: Scope, bob: Scope) -> None:
    store.put(("profile",), "tea", {"fact": "Ann drinks oolong at dawn"})

    def shown(scope: Scope) -> str:
        message = {"message_id": 1, "date": None, "text": "who drinks oolong?", "interface_path": scope.conversation}
        return str(build_json_prompt(message, {}, db=db, scope=scope)["context"]["memories"])

    assert "oolong at dawn" in shown(ann) and "oolong at dawn" not in shown(bob)
    assert Store(db=db, scope=bob).search(()) == []
    forget(participant="web/ann", db=db, scope=ann)
    assert store.search(()) == [] == store.list_namespaces() and "oolong at dawn" not in shown(ann)


def test_r31_time_to_live(db: Database, ann: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    start = db.clock()
    now = [start]
    monkeypatch.setattr(db, "clock", lambda: now[0])
    store = Store(db=db, scope=ann, ttl={"default_ttl": 10})
    store.put(("t",), "short", {"text": "oolong"}, ttl=2)
    store.put(("t",), "default", {"text": "sencha"})
    store.put(("t",), "never", {"text": "matcha"}, ttl=None)
    now[0] = start + timedelta(minutes=1)
    assert store.get(("t",), "short", refresh_ttl=False) is not None
    now[0] = start + timedelta(minutes=3)
    assert store.get(("t",), "short") is None
    assert keys(store.search(("t",), refresh_ttl=False)) == ["default", "never"]
    assert not any(item.score for item in store.search(("t",), query="oolong", refresh_ttl=False))
    now[0] = start + timedelta(minutes=9)
    assert store.get(("t",), "default") is not None
    now[0] = start + timedelta(minutes=18)
    assert keys(store.search(("t",), refresh_ttl=False)) == ["default", "never"]
    now[0] = start + timedelta(minutes=20)
    assert store.sweep_ttl() == 2 and store.sweep_ttl() == 0 and keys(store.search(("t",))) == ["never"]
    store.put(("t",), "short", {"text": "again"}, ttl=1)
    assert store.get(("t",), "short").value == {"text": "again"}


def test_r31_the_scope_of_the_context_counts_where_none_is_given(db: Database, ann: Scope, bob: Scope) -> None:
    store = Store(db=db)
    with use_scope(ann):
        store.put(("m",), "k", {"of": "ann"})
    with use_scope(bob):
        assert store.search(()) == []
    with use_scope(ann):
        assert asyncio.run(store.asearch(()))[0].value == {"of": "ann"}
