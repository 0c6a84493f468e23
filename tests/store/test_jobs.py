"""S43 to S47, D22: the operation queue on every engine."""

import json
from datetime import timedelta
from typing import Any

import pytest

from core.access import table_conversations as conversations
from core.database.schema import conversations as conversations_table
from core.errors import ItemNotFoundError, MessageError, ModelError, StoreError
from core.jobs import table as jobs
from core.jobs import table_claiming as jobs_claiming
from core.jobs import worker
from core.jobs.handlers import Effect, Tools
from core.scope import Scope, current_scope
from core.shapes import Operation
from tests.store.job_world import KIND, TOTAL, Queue, counted, handled
from tests.store.world import NOW, rows_of

# S43: order and dependencies


def test_s43_high_before_normal_before_low_then_older_first(queue: Queue) -> None:
    low = queue.add("l", "LOW")
    n1, h1, n2, h2 = (queue.add(name, priority) for name, priority in zip("abcd", ("NORMAL", "HIGH") * 2, strict=True))
    assert list(queue.states()) == [h1, h2, n1, n2, low], "they are listed in the order of their turns"
    reports = queue.run_pending()
    assert queue.done(reports) == [h1, h2, n1, n2, low]
    assert {each.state for each in reports} == {"completed"}
    assert reports[0].type == KIND and reports[0].error == "" and reports[0].seconds >= 0
    assert queue.effects == {**{f"effect {name}": 1 for name in "abcdl"}, TOTAL: 5}
    assert queue.run_pending() == []


def test_s43_an_operation_waits_for_those_it_depends_on(queue: Queue) -> None:
    other = Queue(queue.db)
    foreign = other.add("of another persona")
    base = queue.add("base", "LOW")
    waiting = [queue.add(n, "HIGH", base) for n in range(20)]
    free = queue.add("free", "NORMAL", 7, foreign)
    assert queue.done(queue.run_pending(1)) == [free], "the twenty in front of it wait"
    assert queue.done(queue.run_pending()) == [base, *waiting]
    assert other.states() == {foreign: "pending"}


def test_s43_one_that_failed_for_good_fails_what_depends_on_it(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker.rules, "MAX_TRIES", 1)

    def broken(operation: Operation, tools: Tools) -> None:
        raise KeyError("secret xylofant")

    with handled(BROKEN=broken):
        first = queue.add(kind="BROKEN")
        second = queue.add("b", "HIGH", first)
        third = queue.add("c", "HIGH", second)
        alone = queue.add("d")
        reports = queue.run_pending()
    assert [(each.id, each.state) for each in reports] == [(first, "failed"), (alone, "completed")]
    listed = {each["id"]: each["error"] for each in queue.list_operations("failed")}
    assert listed == {first: "KeyError", second: f"DependencyFailed: {first}", third: f"DependencyFailed: {second}"}
    fourth = queue.add("e")
    fifth = queue.add("f", "HIGH", fourth)
    assert queue.cancel([fourth]) == 1
    assert queue.run_pending() == []
    assert queue.states()[fifth] == "failed" and queue.row(fifth).error == f"DependencyFailed: {fourth}"
    assert queue.effects == {"effect d": 1, TOTAL: 1}


def test_s44_cancel_works_at_once_on_what_waits(queue: Queue) -> None:
    pending = queue.add("a", metadata={"texts": ["secret xylofant"], "row": 7})
    assert queue.cancel([pending, 12345]) == 1
    assert queue.cancel([pending, 12345]) == 0
    assert json.loads(queue.row(pending).payload) == {"n": "a", "texts": "", "row": 7}
    retrying = queue.add("b")
    jobs_claiming.settle(queue.db, queue.claimed(), "retrying", error="KeyError", until=NOW + timedelta(seconds=10))
    assert queue.states()[retrying] == "retrying"
    assert queue.cancel([retrying]) == 1
    queue.db.clock.forward(seconds=60)  # type: ignore[attr-defined]
    assert queue.run_pending() == [] and queue.effects == {}
    assert Queue(queue.db).cancel([queue.add("c")]) == 0, "an operation of another persona"
    with pytest.raises(MessageError, match="ids holds True"):
        queue.cancel([True])


def test_s44_the_result_of_a_running_one_is_dropped(queue: Queue) -> None:
    other = Queue(queue.db)
    other.add("b")

    def during(operation: Operation, tools: Tools) -> Effect:
        assert queue.states()[operation.id] == "in_progress"
        assert queue.cancel([operation.id]) == 1
        return counted(operation, tools)

    with handled(DURING=during):
        running = queue.add("a", kind="DURING", metadata={"texts": ["secret"]})
        (report,) = queue.run_pending()
    assert (report.id, report.state, queue.states()) == (running, "dropped", {running: "cancelled"})
    assert queue.effects == {} and json.loads(queue.row(running).payload)["texts"] == ""
    later = queue.add("later")
    assert queue.done(queue.run_pending()) == [later], "what is queued afterwards is done"
    assert len(other.run_pending()) == 1 and other.effects == {"effect b": 1, TOTAL: 1}


def test_s46_a_failed_try_waits_longer_each_time(queue: Queue) -> None:
    wordy = type("Wordy" * 200, (Exception,), {})  # longer than its column
    fails = [wordy(), StoreError("lost", source="auth", number=1205), KeyError("secret xylofant")]

    def failing(operation: Operation, tools: Tools) -> None:
        raise fails[operation.tries % 3]

    clock: Any = queue.db.clock
    waits = []
    with handled(FAILING=failing):
        only = queue.add(kind="FAILING", metadata={"texts": ["secret xylofant"]})
        for tries in range(1, 8):
            (report,) = queue.run_pending()
            assert report.state == "retrying" and queue.row(only).tries == tries
            begun = clock.now
            available = queue.row(only).available_at
            waits.append((available - begun).total_seconds())
            assert queue.list_operations("retrying")[0]["available_at"] == available.isoformat()
            clock.now = available - timedelta(microseconds=1)
            assert queue.run_pending() == []
            clock.now = available
        assert json.loads(queue.row(only).payload)["texts"] == ["secret xylofant"], "needed up to the last try"
        (report,) = queue.run_pending()
    assert waits == [10, 20, 40, 80, 160, 300, 300]
    assert report.state == "failed" and queue.row(only).tries == 8
    (listed,) = queue.list_operations()
    assert listed["state"] == "failed" and listed["error"] == report.error == "KeyError"
    assert "xylofant" not in json.dumps(listed) and json.loads(queue.row(only).payload)["texts"] == ""
    assert queue.retry_operation(only).reason == "refused", "its texts are gone"


def test_s46_authorisation_errors_and_bad_input_fail_at_once_and_can_be_retried(queue: Queue) -> None:
    causes = [ModelError("auth", status=401), ItemNotFoundError(7), ModelError("error", error="ConnectError")]

    def failing(operation: Operation, tools: Tools) -> None:
        raise causes[operation.payload["n"]]

    with handled(FAILING=failing):
        ids = [queue.add(n, kind="FAILING") for n in range(3)]
        reports = queue.run_pending()
    failed = [("failed", "ModelError: auth (401)"), ("failed", "ItemNotFoundError")]
    assert [(each.state, each.error) for each in reports] == [*failed, ("retrying", "ModelError: error (ConnectError)")]
    assert queue.retry_operation(ids[0]) == (True, ids[0], "")
    assert queue.retry_operation(ids[0]) == (False, ids[0], "unchanged")
    assert queue.row(ids[0]).tries == 0 and queue.row(ids[0]).error is None
    with handled(FAILING=counted):
        assert queue.done(queue.run_pending()) == [ids[0]]
    assert queue.effects == {"effect 0": 1, TOTAL: 1}


def test_s47_an_operation_acts_only_on_the_conversation_it_was_queued_for(queue: Queue) -> None:
    seen: list[Scope] = []

    def look(operation: Operation, tools: Tools) -> None:
        seen.append(current_scope())
        assert tools.now == NOW and tools.model is model and operation.participant == "tg/ann"

    def model(messages: Any) -> str:
        return "ok"

    with handled(LOOK=look):
        here = Scope(queue.persona, "tg/A", "tg/ann")
        queue.enqueue_operation("LOOK", scope=here)
        (report,) = queue.run_pending(model=model, scope=Scope(queue.persona, "tg/B", "tg/ben"))
    assert seen == [here] and report.conversation == "tg/A"
    assert [each["conversation"] for each in queue.list_operations()] == ["tg/A"]


def test_s43_a_type_nobody_here_knows_waits_for_a_worker_that_does(queue: Queue) -> None:
    with handled(LATER=counted):
        later = queue.add(kind="LATER")
    assert queue.run_pending() == [] and queue.states() == {later: "pending"}
    with handled(LATER=counted):
        assert queue.done(queue.run_pending()) == [later]


def test_d22_once_puts_in_what_is_not_waiting_already(queue: Queue) -> None:
    db, persona = queue.db, queue.persona
    db.transaction(lambda c: conversations.make(c, db, Scope(persona, "tg/1")), source="conversations")
    assert len(rows_of(db, conversations_table, persona)) == 1

    def put(kind: str = KIND, conversation: str | None = "tg/1") -> int | None:
        work = lambda c: jobs.enqueue(c, db, persona, kind, conversation=conversation, once=True)  # noqa: E731
        return db.transaction(work, source="memory_jobs")

    first = put()
    assert first is not None and put() is None
    assert all((put(conversation="tg/2"), put(kind="OTHER"), put(conversation=None)))
    assert put(conversation=None) is None
    claimed = jobs_claiming.claim(db, persona, first, lease_seconds=600)
    assert claimed is not None
    second = put()
    assert second is not None
    jobs_claiming.settle(db, claimed, "retrying", error="x", until=NOW)
    queue.cancel([second])
    assert put() is None, "one that waits for its next try has not begun"


def test_d22_lists_and_counts_show_what_is_there(queue: Queue) -> None:
    first = queue.add("a", "HIGH", conversation="tg/1")
    second = queue.add("b", "LOW", first, participant="tg/ann")
    queue.claimed()
    running, waiting = queue.list_operations()
    assert running["state"] == "in_progress" and running["lease_until"] == (NOW + timedelta(minutes=10)).isoformat()
    assert waiting == {
        "id": second, "type": KIND, "state": "pending", "priority": "LOW", "conversation": None, "server": "",
        "participant": "tg/ann", "tries": 0, "error": "", "depends_on": [first], "created_at": NOW.isoformat(),
        "updated_at": NOW.isoformat(), "available_at": "", "lease_until": "",
    }  # fmt: skip
    assert queue.count_operations() == {KIND: {"in_progress": 1, "pending": 1}}
    assert [each["id"] for each in queue.list_operations(["pending", "failed"])] == [second]
    assert len(queue.list_operations(limit=1)) == 1
    assert jobs_claiming.read_personas(queue.db).count(queue.persona) == 1


def test_d22_what_ended_long_ago_is_removed_in_batches(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "PART", 2)
    clock: Any = queue.db.clock
    ids = [queue.add(n) for n in range(3)]
    queue.run_pending()
    failed, open_one = queue.add("f"), queue.add("o", "HIGH", kind="RECAP")
    jobs.end(queue.db, queue.persona, [failed], "failed")
    clock.now = NOW + timedelta(days=7, microseconds=-1)
    assert jobs.prune(queue.db, queue.persona) == 0
    clock.now = NOW + timedelta(days=7)
    assert [jobs.prune(queue.db, queue.persona) for _ in range(3)] == [2, 1, 0]
    assert set(queue.states()) == {failed, open_one} and not set(ids) & set(queue.states())
    clock.now = NOW + timedelta(days=30)
    assert jobs.prune(queue.db, queue.persona) == 1
    assert set(queue.states()) == {open_one}
    assert queue.persona in jobs_claiming.read_personas(queue.db)
