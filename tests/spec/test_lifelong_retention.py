"""What is not kept for ever: session items that expire, pruning, and the numbers of health (L9 to L12, L22 to L24)."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from core.errors import MessageError, ModelError
from core.jobs import Worker
from core.lifelong import pruning as lifelong_pruning
from core.lifelong import table_pruning as pruning
from tests.spec.lifelong_world import DAY, MEMORIES, SEED, Life, Model
from tests.spec.stage import ELSEWHERE, HERE, NOW, snippets
from tests.store.world import index_differences

pytestmark = pytest.mark.engines("sqlite")


def test_l9_session_items_expire_but_for_the_active_conversation(life: Life) -> None:
    for days in (6.9, 7.0, 7.1):
        life.item(f"tofu {days}", days=days, tier="session", path=HERE)
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
    assert life.prune_session_by_ttl(SESSION_TTL_SEC=9 * 86400) == 0
    assert life.prune_session_by_ttl() == 1


def test_l10_expired_session_items_are_archived_once(life: Life) -> None:
    for days in (6.9, 7.0, 7.1):
        life.item(f"tofu {days}", days=days, tier="session", path=HERE)
    life.item("for good", days=99)
    life.item("pinned", days=99, tier="session", pinned=True)
    assert life.prune_session_by_ttl(exclude_history_uid=HERE) == 0
    done = life.prune_session_by_ttl()
    assert done == 2 and [why for _, why in done.items] == [("expired",)] * 2
    assert life.prune_session_by_ttl() == 0
    assert sorted(life.texts()) == ["for good", "pinned", "tofu 6.9"]
    assert index_differences(life.db, life.persona) == []
    done = life.prune_session_by_ttl(30)
    assert done == 1 and done.notes == ("ttl_sec 30 became 60, the least there is",)
    with pytest.raises(MessageError, match="ttl_sec is -1"):
        life.prune_session_by_ttl(-1)


def test_l11_an_item_without_time_is_as_old_as_its_storing(life: Life) -> None:
    life.add_facts_with_meta([{"text": "now", "tier": "session"}])
    assert life.prune_session_by_ttl() == 0
    life.db.clock.forward(days=7)  # type: ignore[attr-defined]
    try:
        assert life.prune_session_by_ttl() == 1
    finally:
        life.db.clock.forward(days=-7)  # type: ignore[attr-defined]


def test_l12_clean_up_runs_whatever_became_of_the_cycle(life: Life) -> None:
    for n in range(3):
        life.stage.say("hello there", message_id=f"m{n}")
        life.item(f"old {n}", days=8, tier="session")
        model = Model(ModelError("timeout"))
        done = life.trigger_memory_consolidation("test", model=model if n else None)
        assert (done.stored, done.pruned) == (0, 1), done
        assert done.reason == ("model_timeout" if n else "")
    cleaned = ("cycle", "test", 1, None)
    assert [(run.kind, run.reason, run.items_pruned, run.error) for run in life.runs()] == [
        cleaned, ("consolidation", "test", 0, None),
        cleaned, ("consolidation", "test", 0, "model_timeout"),
        cleaned, ("consolidation", "test", 0, "model_timeout"),
    ]  # fmt: skip
    assert all(run.finished_at is not None for run in life.runs())


TABLE = [
    (31, 0.9, {}, True, False),
    (1, 0.2, {}, True, False),
    (1, 0.25, {}, False, False),
    (31, 0.2, {}, True, True),
    (30, 0.9, {}, True, False),
    (31, 0.1, {"pinned": True}, False, False),
    (31, 0.1, {"kind": "saved"}, False, False),
]


def test_l23_the_table_of_pruning(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    life.flags |= SEED
    monkeypatch.setattr(lifelong_pruning, "PROTECTED_IMPORTANCE", 1.01)
    ids = [
        life.item(f"item {n}", days=days, importance=importance, **more)
        for n, (days, importance, more, *_) in enumerate(TABLE)
    ]
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
    assert index_differences(life.db, life.persona) == []
    assert life.prune_ltm(max_age_days=1, max_importance=0) == 1
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
    batches = pruning._archived(
        life.db, life.persona, pruning.prunable(life.persona, NOW, pruning.Limits(30, 0.25, "any", 1.01))
    )
    assert [row.id for row in next(batches)] == [one]
    life.pin_items([two])
    assert list(batches) == [] and life.texts() == ["two"]


def test_l23_a_deep_run_keeps_what_matters(life: Life) -> None:
    """215 items of all ages: one click archived 184 of them, 39 of importance 0.7 and above."""
    entries = [
        {"text": f"item {n}", "timestamp": NOW - n * 4 * DAY, "importance": round((n * 7 % 100) / 100, 2)}
        for n in range(215)
    ]
    assert life.add_facts_with_meta(entries) == 215
    dull = [row.id for row in life.holding() if row.importance < 0.25 and (NOW - row.timestamp).days >= 365]
    before = {row.id: row for row in life.holding()}
    done = life.deep_consolidation()
    gone = set(before) - {row.id for row in life.holding()}
    assert done.pruned == len(gone) > 0 and gone == set(dull)
    assert not [row for row in before.values() if row.id in gone and row.importance >= 0.7]


def test_l23_nothing_is_pruned_by_itself_unless_it_is_wanted(life: Life) -> None:
    life.item("old and dull", days=400, importance=0.1)
    life.on_stream_end(HERE, DEEP_CONSOLIDATION_EVERY_N_STREAMS=1)
    life.on_stream_end(HERE, wait=False, DEEP_CONSOLIDATION_EVERY_N_STREAMS=1)
    life.run()
    assert life.texts() == ["old and dull"]
    life.on_stream_end(HERE, DEEP_CONSOLIDATION_EVERY_N_STREAMS=1, PRUNE_BY_ITSELF=True)
    assert life.texts() == []


def test_l9_session_items_of_a_conversation_spoken_in_just_now_stay(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody tells worker, cycle or function which conversation is active; its last message does."""
    for days in (6.9, 7.0, 7.1):
        for path in (HERE, ELSEWHERE):
            life.item(f"{days} {path}", days=days, tier="session", path=path)
    life.stage.say("hello", path=HERE, minutes=29, message_id="a")
    life.stage.say("hello", path=ELSEWHERE, minutes=31, message_id="b")
    kept = [f"{days} {HERE}" for days in (6.9, 7.0, 7.1)] + [f"6.9 {ELSEWHERE}"]
    Worker(life.db, personas=[life.persona]).run(once=True)
    life.run_cycle()
    life.trigger_memory_consolidation(wait=False)
    assert life.run()
    life.prune_session_by_ttl()
    assert sorted(text for text in life.texts() if text[0] in "67") == sorted(kept)
    monkeypatch.setattr(pruning, "ACTIVE_MINUTES", 0)
    life.prune_session_by_ttl()
    assert len([text for text in life.texts() if text[0] in "67"]) == 2
