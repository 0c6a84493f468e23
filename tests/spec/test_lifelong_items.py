"""Memory items: stored once, found, edited, archived, restored, expired and pruned (L1 to L12, L22 to L24)."""

from datetime import timedelta
from unittest.mock import Mock

import pytest
from sqlalchemy import and_, update

from core.database import schema
from core.errors import ItemNotFoundError, MessageError, ModelError, StoreWriteError
from core.index import indexed
from core.jobs import Worker
from core.lifelong import pruning as lifelong_pruning
from core.lifelong import table_pruning as pruning
from core.memories import table_reading
from tests.spec.lifelong_world import DAY, MEMORIES, SEED, Life
from tests.spec.stage import ELSEWHERE, HERE, NOW, snippets
from tests.spec.story import Model
from tests.store.world import index_differences, rows_of

TABLE = [
    (31, 0.9, {}, True, False), (1, 0.2, {}, True, False), (1, 0.25, {}, False, False), (31, 0.2, {}, True, True),
    (30, 0.9, {}, True, False), (31, 0.1, {"pinned": True}, False, False), (31, 0.1, {"kind": "saved"}, False, False),
]  # fmt: skip


def test_l1_a_text_alone_has_its_defaults(life: Life) -> None:
    (made,) = life.add_facts_with_meta(["I like tea"], default_kind="mood").ids
    expected = {"kind": "Mood", "tier": "long_term", "importance": 0.5, "tags": [], "pinned": False,
                "provenance": "host", "timestamp": NOW.isoformat(), "conversation": None}  # fmt: skip
    item = life.get_item(made)
    assert {name: item[name] for name in expected} == expected and item["participant"] is None


def test_l3_facts_are_stored_once_each_and_with_a_bad_entry_none(life: Life) -> None:
    entries = ["a", " ", {"text": "b", "importance": 3}]
    done = life.add_facts_with_meta(entries)
    assert done == 2 and done.notes == ("importance lies outside 0 to 1; 1 is used",)
    assert {row.content: float(row.importance) for row in life.rows()} == {"a": 0.5, "b": 1.0}
    again = life.add_facts_with_meta(entries)
    assert (again, again.merged, again.reason) == (0, 2, "duplicate") and len(life.rows()) == 2
    assert life.add_facts_with_meta([" ", None]).reason == "empty"
    done = life.add_facts_with_meta([{"text": "c", "importance": "much"}])
    assert done.notes == ("importance is no number; 0.5 is used",)
    with pytest.raises(MessageError, match=r"Entry 2: .*Did you mean 'KeyFacts'"):
        life.add_facts_with_meta(["d", {"text": "b", "kind": "KeyFact"}])
    assert life.rows(content="d") == []


@pytest.mark.engines()
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
    soon, later = ({"text": "Eve visits", "expires_at": NOW + timedelta(days=days)} for days in (1, 3))
    for entry, expiry in ((soon, soon["expires_at"]), (later, later["expires_at"]), (soon, later["expires_at"])):
        life.add_facts_with_meta([entry])
        assert life.rows(content="Eve visits")[0].expires_at == expiry
    life.add_facts_with_meta(["Eve visits"])
    assert life.rows(content="Eve visits")[0].expires_at is None


@pytest.mark.engines()
def test_l5_words_and_filters_must_all_hold(life: Life) -> None:
    life.item("Ada moved to Rome", kind="FactsAboutUser", importance=0.6, tags=["ada", "move"], days=1)
    life.item(tea := "Ada likes tea", kind="FactsAboutUser", importance=0.9, days=2)
    life.item("Rome is old", kind="KeyFacts", importance=0.9, days=3)
    life.item("ADA was born in ROME", kind="FactsAboutUser", importance=0.4, tier="session", days=4)
    assert life.found("ada rome", ["facts_about_user"], min_importance=0.5) == ["Ada moved to Rome"]
    assert life.found("ada", min_importance=0.9004) == []  # the limit itself is not rounded
    assert life.found("ada rome") == ["Ada moved to Rome", "ADA was born in ROME"]
    assert life.found("ada rome", tier="session") == ["ADA was born in ROME"]
    two_days_ago = NOW - timedelta(days=2)
    day = two_days_ago.date().isoformat()
    assert life.found(since=two_days_ago, until=(two_days_ago + timedelta(microseconds=1)).isoformat()) == [tea]
    assert life.found(since="2 days ago", until="2 days ago") == life.found(since=day, until=day) == [tea]
    assert life.found(tags=["Move", "ada"]) == ["Ada moved to Rome"] and life.found(tags=["move", "x"]) == []
    assert life.found(kinds="KeyFacts") == ["Rome is old"] and life.found(conversation=HERE) == []
    assert life.found("100%") == life.found("_") == []


@pytest.mark.engines()
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
    pages = [life.search_items(limit=2, offset=offset) for offset in (0, 12)]
    assert [(len(page["items"]), page["total"], page["at_least"]) for page in pages] == [(2, 11, True), (2, 14, True)]


@pytest.mark.engines()
def test_l6_a_correction_with_a_day_counted_from_now_is_said_now(life: Life) -> None:
    """On 10 March the plumber who comes `tomorrow` came on the day after the first saving, 3 March."""
    plumber = life.item("The plumber comes tomorrow at ten.", days=8)
    visit = life.item("The electrician comes on 2026-03-20.", days=8)
    before = life.get_item(visit)["timestamp"]
    assert life.edit_item(plumber, "The plumber comes tomorrow at eleven.").stored
    assert life.edit_item(visit, "The electrician comes on 2026-03-11.").stored
    assert (life.get_item(plumber)["timestamp"], life.get_item(visit)["timestamp"]) == (NOW.isoformat(), before)
    assert index_differences(life.db, life.persona) == []


@pytest.mark.parametrize(("before", "text", "is_done"), [
    ("TODO: send the invoice to Larsson", "DONE: sent the invoice to Larsson", True),
    ("- [ ] write tests", "- [x] write tests", True),
    ("Renew the passport by the 18th", "DONE: Renew the passport by the 18th", True),
    ("Die Miete für Oma zahlen", "Erledigt: Die Miete für Oma zahlen", True),
    ("請求書を送る", "請求書を送る(完了)", True),
    ("TODO: renew the pasport", "TODO: renew the passport", False),
    ("The bill is payed", "The bill is paid", False),
    ("Ann sent the letter in May", "Ann sent the letter in May, it is done", False),
    ("Ann likes tea", "Ann likes green tea", False),
])  # fmt: skip
def test_l6_a_task_marked_as_done_has_the_time_of_the_edit(life: Life, before: str, text: str, is_done: bool) -> None:
    """`When did I finish it?` got the day on which the task was saved; a corrected word keeps that day."""
    item = life.item(before, days=8)
    saved_at = life.get_item(item)["timestamp"]
    assert life.edit_item(item, text).stored
    assert life.get_item(item)["timestamp"] == (NOW.isoformat() if is_done else saved_at)


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


@pytest.mark.engines()
def test_l7_archived_restored_and_counted_exactly(life: Life) -> None:
    one, two, three = (life.item(text, tags=["t"]) for text in ("one", "two", "three"))
    assert [life.delete_items([each]).count for each in (one, one, 999)] == [1, 0, 0]
    assert life.found() == ["three", "two"] and life.found(archived=True) == ["one"]
    assert [life.restore_items([each]).count for each in (one, one, 999)] == [1, 0, 0]
    for ids, count, unknown in (([one, one, two, 999], 2, (999,)), ([one, three], 1, ())):
        done = life.delete_items(ids)
        assert (done.count, done.unknown) == (count, unknown)
    assert index_differences(life.db, life.persona) == []
    assert life.restore_items([one, two, three]).count == 3 and len(life.found()) == 3
    assert index_differences(life.db, life.persona) == []
    with pytest.raises(MessageError, match="At most 1000"):
        life.delete_items(list(range(1001)))


@pytest.mark.engines()
def test_l7_an_expired_item_that_is_restored_is_back(life: Life) -> None:
    """Its time is long over: without a new one it would be neither among the items nor in the archive."""
    ids = [life.item(f"tired {n}", days=8, tier="session", **more) for n, more in enumerate(({}, {"expires_at": NOW}))]
    kept = life.item("busy", tier="session", expires_at=NOW + 30 * DAY)
    assert life.prune_session_by_ttl() == 2 and life.delete_items([kept]).count == 1
    assert life.restore_items([*ids, kept]).count == 3
    assert set(life.found()) == {"tired 0", "tired 1", "busy"} and life.prune_session_by_ttl() == 0
    assert life.get_item(kept)["expires_at"] == (NOW + 30 * DAY).isoformat()


def test_l7_tags_of_many_items_and_pins(life: Life) -> None:
    one, two = life.item("one", tags=["a", "b"]), life.item("two", tags=["b"])
    done = life.retag_items([one, two, 7], add=["C "], remove=["a"])
    assert (done.count, done.unknown) == (2, (7,))
    assert [life.get_item(each)["tags"] for each in (one, two)] == [["b", "c"], ["b", "c"]]
    assert life.retag_items([one, two], ["b"], ["x"]).count == 0
    assert life.retag_items([one], remove=["b", "c"]).count == 1
    uses = {row.tag: row.uses for row in rows_of(life.db, schema.tags, life.persona) if row.uses}
    assert uses == {"b": 1, "c": 1} and index_differences(life.db, life.persona) == []
    for wrong in ({}, {"add": ["x" * 300]}):
        with pytest.raises(MessageError):
            life.retag_items([one], **wrong)
    assert [life.pin_items([one]).count, life.pin_items([one]).count, life.pin_items([7]).count] == [1, 0, 0]
    assert life.get_item(one)["pinned"] and life.pin_items([one], False).count == 1


def test_g16_a_change_that_fails_leaves_everything_as_it_was(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    one = life.item("one", tags=["a"])
    for step, call in (
        ("exchange", lambda: life.edit_item(one, "two")), ("exchange", lambda: life.retag_items([one], add=["b"])),
        ("exchange", lambda: life.delete_items([one]).count), ("lock", lambda: life.purge_items([one])),
    ):  # fmt: skip
        with monkeypatch.context() as patch, pytest.raises(StoreWriteError):
            patch.setattr(indexed, step, Mock(side_effect=StoreWriteError("injected", source="memories")))
            call()
    (row,) = life.rows()
    assert (row.content, row.archived_at, life.get_item_history(one)[0]["text"]) == ("one", None, "one")
    assert index_differences(life.db, life.persona) == []


def test_l9_session_items_expire_but_for_the_active_conversation(life: Life) -> None:
    for days in (6.9, 7.0, 7.1):
        life.item(f"tofu {days}", days=days, tier="session", path=HERE)
    life.item("tofu until now", path=HERE, expires_at=NOW)  # a long-term item expires everywhere
    assert life.found() == ["tofu 6.9"] and life.found(path="tg/other") == ["tofu 6.9"]
    assert life.found(path=HERE) == ["tofu 6.9", "tofu 7.0", "tofu 7.1"]
    # the same in a prompt, in both modes of ranking
    for ranking in ("relevance", "recency"):
        asked = {"MEMORY_RANKING": ranking}
        assert sorted(snippets(life.stage.context("tofu", path=HERE, **asked))) == ["tofu 6.9", "tofu 7.0", "tofu 7.1"]
        assert snippets(life.stage.context("tofu", path="tg/other", **asked)) == ["tofu 6.9"]


def test_l9_an_item_a_host_stores_expires_too(life: Life) -> None:
    life.stage.remember("by the other door", minutes=8 * 1440, tier="session")
    assert life.found() == [] and life.rows()[0].expires_at == NOW - DAY
    change = update(MEMORIES).where(MEMORIES.c.persona_id == life.persona).values(expires_at=None)
    life.db.transaction(lambda c: c.execute(change), source="test")
    assert life.found() == [] and life.found(SESSION_TTL_SEC=9 * 86400) == ["by the other door"]
    assert life.prune_session_by_ttl(SESSION_TTL_SEC=9 * 86400) == 0 and life.prune_session_by_ttl() == 1


def test_l10_l11_expired_session_items_are_archived_once(life: Life) -> None:
    for days in (6.9, 7.0, 7.1):
        life.item(f"tofu {days}", days=days, tier="session", path=HERE)
    life.item("for good", days=99)
    life.item("pinned", days=99, tier="session", pinned=True)
    assert life.prune_session_by_ttl(exclude_history_uid=HERE) == 0
    done = life.prune_session_by_ttl()
    assert done == 2 and [why for _, why in done.items] == [("expired",)] * 2 and life.prune_session_by_ttl() == 0
    assert sorted(life.texts()) == ["for good", "pinned", "tofu 6.9"]
    assert index_differences(life.db, life.persona) == []
    done = life.prune_session_by_ttl(59)
    assert done == 1 and done.notes == ("ttl_sec 59 became 60, the least there is",)
    life.add_facts_with_meta([{"text": "without time", "tier": "session"}])
    for days, count in ((0, 0), (7, 1)):  # it is as old as its storing
        life.clock.forward(days=days)
        assert life.prune_session_by_ttl() == count
    assert life.prune_session_by_ttl(60).notes == ()
    for wrong in (-1, 315_360_001):
        with pytest.raises(MessageError, match=f"ttl_sec is {wrong}"):
            life.prune_session_by_ttl(wrong)


def test_l12_d27_clean_up_runs_whatever_became_of_the_cycle(life: Life) -> None:
    wanted = []
    for n, error in enumerate((None, "model_timeout", "model_timeout")):
        life.stage.say("hello there", message_id=f"m{n}")
        life.item(f"old {n}", days=8, tier="session")
        done = life.trigger_memory_consolidation("test", model=Model(ModelError("timeout")) if error else None)
        assert (done.stored, done.pruned, done.reason) == (0, 1, error or ""), done
        wanted += [("cycle", "test", 1, None), ("consolidation", "test", 0, error)]
    assert [(run.kind, run.reason, run.items_pruned, run.error) for run in life.runs()] == wanted
    assert all(run.finished_at is not None for run in life.runs())


def test_l23_the_table_of_pruning(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    life.flags |= SEED
    monkeypatch.setattr(lifelong_pruning, "PROTECTED_IMPORTANCE", 1.01)
    ids = [life.item(f"item {n}", days=row[0], importance=row[1], **row[2]) for n, row in enumerate(TABLE)]
    life.item("session", days=99, importance=0.1, tier="session")
    for mode in ("any", "all"):
        done = life.prune_ltm(mode=mode, dry_run=True)
        gone = [ids[n] for n, row in enumerate(TABLE) if row[4 if mode == "all" else 3]]
        assert [each for each, _ in done.items] == gone and done == len(gone)
    assert life.prune_ltm(dry_run=True, PRUNE_MODE="all") == 1
    assert ids[0] not in dict(life.prune_ltm(dry_run=True, protect_importance=0.9).items)
    why = dict(life.prune_ltm(dry_run=True).items)
    assert [why[ids[n]] for n in (0, 1, 3)] == [("age",), ("importance",), ("age", "importance")]
    assert len(life.holding()) == 8
    assert life.prune_ltm(mode="all") == 1 and life.prune_ltm() == 3 and life.prune_ltm() == 0
    assert sorted(life.texts()) == ["item 2", "item 5", "item 6", "session"]
    assert index_differences(life.db, life.persona) == [] and life.prune_ltm(max_age_days=1, max_importance=0) == 1
    for wrong in ({"max_age_days": 0}, {"max_importance": 2}, {"mode": "both"}, {"max_age_days": 1.5}):
        with pytest.raises(MessageError):
            life.prune_ltm(**wrong)


def test_l24_all_matching_items_go_in_batches(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    life.flags |= SEED
    monkeypatch.setattr(pruning, "BATCH", 7)
    life.add_facts_with_meta([{"text": f"item {n}", "importance": 0.1} for n in range(30)])
    asked = life.prune_ltm(dry_run=True)
    assert asked == 30 and len(life.holding()) == 30
    assert life.prune_ltm().items == asked.items and life.holding() == []


def test_l23_what_is_pinned_meanwhile_stays(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    life.flags |= SEED
    monkeypatch.setattr(pruning, "BATCH", 1)
    one, two = life.item("one", importance=0.1), life.item("two", importance=0.1)
    where = and_(*pruning._holds(life.persona), schema.memories.c.importance < 0.25)
    archived = pruning._archived(life.db, life.persona, where)
    assert next(archived).id == one
    life.pin_items([two])
    assert list(archived) == [] and life.texts() == ["two"]


def test_l23_nothing_is_pruned_by_itself_unless_it_is_wanted(life: Life) -> None:
    life.item("old and dull", days=400, importance=0.1)
    life.on_stream_end(HERE, DEEP_CONSOLIDATION_EVERY_N_STREAMS=1)
    life.on_stream_end(HERE, wait=False, DEEP_CONSOLIDATION_EVERY_N_STREAMS=1)
    life.run()
    assert life.texts() == ["old and dull"]
    life.on_stream_end(HERE, DEEP_CONSOLIDATION_EVERY_N_STREAMS=1, PRUNE_BY_ITSELF=True)
    assert life.texts() == []


def test_l9_session_items_of_an_active_conversation_stay(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    for days in (6.9, 7.0, 7.1):
        for path in (HERE, ELSEWHERE):
            life.item(f"{days} {path}", days=days, tier="session", path=path)
    life.stage.say("hello", path=HERE, minutes=29, message_id="a")
    life.stage.say("hello", path=ELSEWHERE, minutes=30, message_id="b")
    kept = [f"{days} {HERE}" for days in (6.9, 7.0, 7.1)] + [f"6.9 {ELSEWHERE}"]
    Worker(life.db, personas=[life.persona]).run(once=True)
    life.run_cycle()
    life.trigger_memory_consolidation(wait=False)
    assert life.run()
    for minutes, texts in ((pruning.ACTIVE_MINUTES, kept), (0, [f"6.9 {HERE}", f"6.9 {ELSEWHERE}"])):
        monkeypatch.setattr(pruning, "ACTIVE_MINUTES", minutes)
        life.prune_session_by_ttl()
        assert sorted(text for text in life.texts() if text[0] in "67") == sorted(texts)
