"""Memory items as people handle them: stored once, found, edited, archived, restored (L1 to L7, F11, F12, F20, L35)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from core.database import schema
from core.errors import ItemNotFoundError, MessageError, StoreWriteError
from core.index import indexed
from core.memories import table_reading
from tests.spec.lifelong_world import Life
from tests.spec.stage import HERE, NOW
from tests.store.world import index_differences, rows_of


def test_l1_a_text_alone_has_its_defaults(life: Life) -> None:
    done = life.add_facts_with_meta(["I like tea"], default_kind="mood")
    item = life.get_item(done.ids[0])
    assert (item["kind"], item["tier"], item["importance"], item["tags"], item["pinned"], item["provenance"]) == (
        "Mood", "long_term", 0.5, [], False, "host",
    )  # fmt: skip
    assert (item["timestamp"], item["conversation"], item["participant"]) == (NOW.isoformat(), None, None)


def test_l3_facts_are_stored_once_each_and_with_a_bad_entry_none(life: Life) -> None:
    entries = ["a", " ", {"text": "b", "importance": 3}]
    done = life.add_facts_with_meta(entries)
    assert done == 2 and done.notes == ("importance lies outside 0 to 1; 1 is used",)
    assert {row.content: float(row.importance) for row in life.rows()} == {"a": 0.5, "b": 1.0}
    again = life.add_facts_with_meta(entries)
    assert (again, again.merged, again.reason) == (0, 2, "duplicate") and len(life.rows()) == 2
    assert life.add_facts_with_meta([" ", None]).reason == "empty"
    assert life.add_facts_with_meta([{"text": "c", "importance": "much"}]).notes == (
        "importance is no number; 0.5 is used",
    )
    with pytest.raises(MessageError, match=r"Entry 2: .*Did you mean 'KeyFacts'"):
        life.add_facts_with_meta(["d", {"text": "b", "kind": "KeyFact"}])
    assert life.rows(content="d") == []


def test_l3_duplicates_join_tags_importance_and_sources(life: Life) -> None:
    one = life.item("Ann has a cat", days=2, tags=["cat"], importance=0.4, source_message_ids=[1])
    more = {"text": "Ann has a cat", "tags": ["pet", "cat"], "importance": 0.9, "source_message_ids": [2]}
    assert life.add_facts_with_meta([{**more, "provenance": "manual"}]).merged == 1
    item = life.get_item(one)
    assert (item["tags"], item["importance"], item["source_message_ids"]) == (["cat", "pet"], 0.9, [1, 2])
    assert item["timestamp"] == NOW.isoformat()
    uses = {row.tag: row.uses for row in rows_of(life.db, schema.tags, life.persona)}
    assert uses == {"cat": 1, "pet": 1} and index_differences(life.db, life.persona) == []


def test_l3_a_session_item_said_for_good_lasts(life: Life) -> None:
    one = life.item("Ann learns Greek", tier="session")
    assert life.rows()[0].expires_at == NOW + timedelta(days=7)
    life.add_facts_with_meta(["Ann learns Greek"])
    (row,) = life.rows()
    assert (row.id, row.tier, row.expires_at) == (one, "long_term", None)


def test_l5_words_and_filters_must_all_hold(life: Life) -> None:
    life.item("Ada moved to Rome", kind="FactsAboutUser", importance=0.6, tags=["ada", "move"], days=1)
    life.item("Ada likes tea", kind="FactsAboutUser", importance=0.9, days=2)
    life.item("Rome is old", kind="KeyFacts", importance=0.9, days=3)
    life.item("ADA was born in ROME", kind="FactsAboutUser", importance=0.4, tier="session", days=4)
    assert life.found("ada rome", ["facts_about_user"], min_importance=0.5) == ["Ada moved to Rome"]
    assert life.found("ada rome") == ["Ada moved to Rome", "ADA was born in ROME"]
    assert life.found("ada rome", tier="session") == ["ADA was born in ROME"]
    assert life.found(since=NOW - timedelta(days=2), until=(NOW - timedelta(days=2)).isoformat()) == ["Ada likes tea"]
    assert life.found(tags=["Move", "ada"]) == ["Ada moved to Rome"] and life.found(tags=["move", "x"]) == []
    assert life.found(kinds="KeyFacts") == ["Rome is old"] and life.found(conversation=HERE) == []
    assert life.found("100%") == life.found("_") == []


def test_l5_a_page_and_the_total(life: Life) -> None:
    ids = [life.item(f"fact {n}", days=n // 2) for n in range(7)]
    page = life.search_items(limit=3, offset=2)
    assert page["total"] == 7 and [item["id"] for item in page["items"]] == [ids[3], ids[2], ids[5]]
    assert life.search_items("fact", limit=500, offset=7) == {"items": [], "total": 7}
    for wrong in ({"limit": 0}, {"limit": 501}, {"offset": -1}, {"min_importance": 2}, {"tier": "x"},
                  {"kinds": ["KeyFact"]}, {"since": "soon"}, {"min_importance": float("nan")}):  # fmt: skip
        with pytest.raises(MessageError):
            life.search_items(**wrong)


def test_l5_more_than_are_counted_is_said(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    life.add_facts_with_meta([f"fact {n}" for n in range(15)])
    assert "at_least" not in life.search_items()
    monkeypatch.setattr(table_reading, "MOST_COUNTED", 10)
    page = life.search_items(limit=2, offset=12)
    assert (len(page["items"]), page["total"], page["at_least"]) == (2, 14, True)


def test_l6_d24_an_edit_keeps_everything_but_the_text(life: Life) -> None:
    one = life.item("first words", days=3, kind="KeyFacts", importance=0.7, tags=["x"])
    before = life.get_item(one)
    assert life.edit_item(one, "second words", editor="iris") == (True, one, "")
    assert life.edit_item(one, "third words") == (True, one, "")
    assert life.edit_item(one, "third words") == (False, one, "unchanged")
    assert life.get_item(one) == {**before, "text": "third words"}
    versions = life.get_item_history(one)
    assert [(v["text"], v["reason"], v["changed_by"]) for v in versions] == [
        ("first words", "edited", "iris"), ("second words", "edited", "manual"), ("third words", "", ""),
    ]  # fmt: skip
    assert [v["until"] for v in versions] == [NOW.isoformat(), NOW.isoformat(), ""]
    assert life.found("first") == life.found("second") == [] and life.found("third") == ["third words"]
    assert index_differences(life.db, life.persona) == []
    with pytest.raises(ItemNotFoundError, match="no item 999") as caught:
        life.edit_item(999, "x")
    assert caught.value.item == 999
    for blank in ("", "  "):
        with pytest.raises(MessageError, match="new_content"):
            life.edit_item(one, blank)
    life.delete_items([one])
    with pytest.raises(ItemNotFoundError):
        life.edit_item(one, "x")


def test_l7_archived_restored_and_counted_exactly(life: Life) -> None:
    one, two, three = (life.item(text, tags=["t"]) for text in ("one", "two", "three"))
    assert [life.delete_items([each]).count for each in (one, one, 999)] == [1, 0, 0]
    assert life.found() == ["three", "two"] and life.found(archived=True) == ["one"]
    assert [life.restore_items([each]).count for each in (one, one, 999)] == [1, 0, 0]
    done = life.delete_items([one, one, two, 999])
    assert (done.count, done.unknown) == (2, (999,))
    done = life.delete_items([one, three])
    assert (done.count, done.unknown) == (1, ())
    assert index_differences(life.db, life.persona) == []
    assert life.restore_items([one, two, three]).count == 3 and len(life.found()) == 3
    assert index_differences(life.db, life.persona) == []
    with pytest.raises(MessageError, match="At most 1000"):
        life.delete_items(list(range(1001)))


def test_l7_tags_of_many_items_and_pins(life: Life) -> None:
    one, two = life.item("one", tags=["a", "b"]), life.item("two", tags=["b"])
    done = life.retag_items([one, two, 7], add=["C "], remove=["a"])
    assert (done.count, done.unknown) == (2, (7,))
    assert [life.get_item(each)["tags"] for each in (one, two)] == [["b", "c"], ["b", "c"]]
    assert life.retag_items([one, two], tags=["b", "c"]).count == 0
    assert life.retag_items([one], tags=[]).count == 1
    uses = {row.tag: row.uses for row in rows_of(life.db, schema.tags, life.persona) if row.uses}
    assert uses == {"b": 1, "c": 1} and index_differences(life.db, life.persona) == []
    for wrong in ({}, {"add": ["x"], "tags": ["y"]}, {"add": ["x" * 300]}):
        with pytest.raises(MessageError):
            life.retag_items([one], **wrong)
    assert [life.pin_items([one]).count, life.pin_items([one]).count, life.pin_items([7]).count] == [1, 0, 0]
    assert life.get_item(one)["pinned"] and life.pin_items([one], False).count == 1


def test_g16_a_change_that_fails_leaves_everything_as_it_was(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    one = life.item("one", tags=["a"])

    def broken(*_: Any, **__: Any) -> None:
        raise StoreWriteError("injected", source="memories")

    changes = {
        "exchange": (
            lambda: life.edit_item(one, "two"),
            lambda: life.retag_items([one], add=["b"]),
            lambda: life.delete_items([one]).count,
        ),
        "lock": (lambda: life.purge_items([one]),),
    }
    for step, calls in changes.items():
        with monkeypatch.context() as patch:
            patch.setattr(indexed, step, broken)
            for call in calls:
                with pytest.raises(StoreWriteError):
                    call()
    (row,) = life.rows()
    assert (row.content, row.archived_at, life.get_item_history(one)[0]["text"]) == ("one", None, "one")
    assert index_differences(life.db, life.persona) == []
