"""S43 to S47, D22, D34: the operation queue; whoever dies or is slow, an operation is done once."""

import json
import time
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import Connection, func, select

from core.access import table_conversations as conversations
from core.config import Settings
from core.database.engine import Database
from core.database.schema import conversations as conversations_table
from core.errors import ItemNotFoundError, MessageError, ModelError, StoreError
from core.jobs import Operation, worker
from core.jobs import table as jobs
from core.jobs import table_claiming as jobs_claiming
from core.jobs.handlers import Effect, Tools
from core.jobs.rules import MAX_TRIES
from core.jobs.worker import keep_lease, run_operation
from core.scope import Scope, current_scope
from tests.store.job_world import KIND, TOTAL, Queue, count_up, counted, fill, go, handled, start_worker
from tests.store.relay import Relay
from tests.store.world import NOW, rows_of

# S43: order and dependencies


def test_s43_high_before_normal_before_low_then_older_first(queue: Queue) -> None:
    low = queue.add("l", "LOW")
    n1, h1, n2, h2 = (queue.add(name, priority) for name, priority in zip("abcd", ("NORMAL", "HIGH") * 2, strict=True))
    assert list(queue.states()) == [h1, h2, n1, n2, low], "they are listed in the order of their turns"
    reports = queue.run_pending()
    assert queue.done(reports) == [h1, h2, n1, n2, low] and {each.state for each in reports} == {"completed"}
    assert reports[0].type == KIND and reports[0].error == "" and reports[0].seconds >= 0
    assert queue.effects == {**{f"effect {name}": 1 for name in "abcdl"}, TOTAL: 5} and queue.run_pending() == []
    added = [queue.add(priority, priority=priority) for priority in ("LOW", "HIGH", "NORMAL", "HIGH")]
    begun = jobs_claiming.begin(queue.db, queue.persona, KIND, [KIND], None, {}, 60)
    assert begun is not None and begun.operation.id == added[1]


def test_s43_an_operation_waits_for_those_it_depends_on(queue: Queue) -> None:
    other = Queue(queue.db)
    foreign, base = other.add("of another persona"), queue.add("base", "LOW")
    waiting = [queue.add(n, "HIGH", base) for n in range(20)]
    free = queue.add("free", "NORMAL", 7, foreign)
    assert queue.done(queue.run_pending(1)) == [free], "the twenty in front of it wait"
    assert queue.done(queue.run_pending()) == [base, *waiting] and other.states() == {foreign: "pending"}


def test_s43_one_that_failed_for_good_fails_what_depends_on_it(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker.rules, "MAX_TRIES", 1)
    with handled(BROKEN=Mock(side_effect=KeyError("secret xylofant"))):
        first = queue.add(kind="BROKEN")
        second = queue.add("b", "HIGH", first)
        third, alone = queue.add("c", "HIGH", second), queue.add("d")
        reports = queue.run_pending()
    assert [(each.id, each.state) for each in reports] == [(first, "failed"), (alone, "completed")]
    listed = {each["id"]: each["error"] for each in queue.list_operations("failed")}
    assert listed == {first: "KeyError", second: f"DependencyFailed: {first}", third: f"DependencyFailed: {second}"}
    fourth = queue.add("e")
    fifth = queue.add("f", "HIGH", fourth)
    assert queue.cancel([fourth]) == 1 and queue.run_pending() == []
    assert queue.states()[fifth] == "failed" and queue.row(fifth).error == f"DependencyFailed: {fourth}"
    assert queue.effects == {"effect d": 1, TOTAL: 1}


def test_s44_cancel_works_at_once_on_what_waits(queue: Queue) -> None:
    pending = queue.add("a", metadata={"texts": ["secret xylofant"], "row": 7})
    assert queue.cancel([pending, 12345]) == 1 and queue.cancel([pending, 12345]) == 0
    assert json.loads(queue.row(pending).payload) == {"n": "a", "texts": "", "row": 7}
    retrying = queue.add("b")
    jobs_claiming.settle(queue.db, queue.claimed(), "retrying", error="KeyError", until=NOW + timedelta(seconds=10))
    assert queue.states()[retrying] == "retrying" and queue.cancel([retrying]) == 1
    queue.db.clock.forward(seconds=60)  # type: ignore[attr-defined]
    assert queue.run_pending() == [] and queue.effects == {}
    assert Queue(queue.db).cancel([queue.add("c")]) == 0, "an operation of another persona"
    with pytest.raises(MessageError, match="ids holds True"):
        queue.cancel([True])


def test_s44_the_result_of_a_running_one_is_dropped(queue: Queue) -> None:
    other = Queue(queue.db)
    other.add("b")

    def during(operation: Operation, tools: Tools) -> Effect:
        assert queue.states()[operation.id] == "in_progress" and queue.cancel([operation.id]) == 1
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
            begun, available = clock.now, queue.row(only).available_at
            waits.append((available - begun).total_seconds())
            assert queue.list_operations("retrying")[0]["available_at"] == available.isoformat()
            clock.now = available - timedelta(microseconds=1)
            assert queue.run_pending() == []
            clock.now = available
        assert json.loads(queue.row(only).payload)["texts"] == ["secret xylofant"], "needed up to the last try"
        (report,) = queue.run_pending()
    assert waits == [10, 20, 40, 80, 160, 300, 300] and report.state == "failed" and queue.row(only).tries == 8
    (listed,) = queue.list_operations()
    assert listed["state"] == "failed" and listed["error"] == report.error == "KeyError"
    assert "xylofant" not in json.dumps(listed) and json.loads(queue.row(only).payload)["texts"] == ""
    assert queue.retry_operation(only).reason == "refused", "its texts are gone"


def test_s46_authorisation_errors_and_bad_input_fail_at_once_and_can_be_retried(queue: Queue) -> None:
    causes = [ModelError("auth", status=401), ItemNotFoundError(7), ModelError("error", error="ConnectError")]
    with handled(FAILING=Mock(side_effect=causes)):
        ids, reports = [queue.add(n, kind="FAILING") for n in range(3)], queue.run_pending()
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
    assert all((put(conversation="tg/2"), put(kind="OTHER"), put(conversation=None))) and put(conversation=None) is None
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
    assert len(queue.list_operations(limit=1)) == 1 and jobs_claiming.read_personas(queue.db).count(queue.persona) == 1


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
    assert jobs.prune(queue.db, queue.persona) == 1 and set(queue.states()) == {open_one}
    assert queue.persona in jobs_claiming.read_personas(queue.db)


def test_s45_one_of_two_workers_gets_an_operation(queue: Queue) -> None:
    only = queue.add("a")
    first = jobs_claiming.claim(queue.db, queue.persona, only, lease_seconds=600)
    assert first is not None and first.operation.tries == 1 and first.operation.payload == {"n": "a"}
    assert jobs_claiming.claim(queue.db, queue.persona, only, lease_seconds=600) is None and queue.claimed() is None
    queue.db.clock.forward(seconds=599.999)  # type: ignore[attr-defined]
    assert queue.claimed() is None and queue.states() == {only: "in_progress"}


def test_s45_after_a_crash_it_is_pending_again_when_the_lease_ends_and_its_effect_happens_once(queue: Queue) -> None:
    """The worker was not dead but slow: whoever comes second stores nothing."""
    only, slow = queue.add("a"), queue.claimed()
    queue.db.clock.forward(seconds=600)  # type: ignore[attr-defined]
    assert queue.states() == {only: "pending"} and queue.count_operations() == {KIND: {"pending": 1}}
    quick = queue.claimed()
    assert quick.operation.id == only and quick.operation.tries == 2
    assert not jobs_claiming.renew_lease(queue.db, slow, lease_seconds=600)
    assert not any(jobs_claiming.settle(queue.db, slow, state) for state in ("failed", "pending"))
    assert run_operation(queue.db, slow, settings=Settings()).state == "dropped" and queue.effects == {}
    assert run_operation(queue.db, quick, settings=Settings()).state == "completed"
    assert run_operation(queue.db, quick, settings=Settings()).state == "dropped", "not even twice by the same"
    assert queue.effects == {"effect a": 1, TOTAL: 1}


def test_s45_the_lease_is_renewed_while_a_handler_works(queue: Queue) -> None:
    queue.add("a")
    claimed = queue.claimed(lease_seconds=0.9)
    with keep_lease(queue.db, claimed, 0.9):
        for _ in range(150):
            time.sleep(0.02)
            queue.db.clock.forward(seconds=0.02)  # type: ignore[attr-defined]
            lease = queue.row(claimed.operation.id).lease_until
            if lease > NOW + timedelta(seconds=1.2):
                break
    assert lease > NOW + timedelta(seconds=1.2)
    assert run_operation(queue.db, claimed, settings=Settings()).state == "completed"


def test_s45_an_operation_that_kills_its_worker_is_given_up_after_the_last_try(queue: Queue) -> None:
    only = queue.add("a")
    for tries in range(1, MAX_TRIES + 1):
        assert queue.claimed().operation.tries == tries
        queue.db.clock.forward(seconds=600)  # type: ignore[attr-defined]
    assert queue.claimed() is None and queue.states() == {only: "failed"} and queue.row(only).error == "WorkerLost"


def test_s45_an_effect_and_the_end_of_its_operation_are_one_transaction(queue: Queue) -> None:
    broken = [True]

    def half(operation: Operation, tools: Tools) -> Effect:
        def effect(connection: Connection) -> None:
            count_up(connection, tools.db, operation.persona, "first half")
            if broken.pop() if broken else False:
                connection.execute(select(func.no_such_function(1)))
            count_up(connection, tools.db, operation.persona, "second half")

        return effect

    with handled(HALF=half):
        only = queue.add(kind="HALF")
        (report,) = queue.run_pending()
        assert report.state == "retrying" and report.error.startswith("StoreWriteError: HALF")
        assert queue.effects == {} and queue.row(only).status == "retrying"
        queue.db.clock.forward(seconds=10)  # type: ignore[attr-defined]
        assert [each.state for each in queue.run_pending()] == ["completed"]
    assert queue.effects == {"first half": 1, "second half": 1}


@pytest.mark.slow
def test_s45_workers_that_race_store_every_effect_once(db: Database) -> None:
    queue, url = Queue(db), db.target.url.render_as_string(hide_password=False)
    number = 60
    fill(db, queue.persona, number)
    workers = [start_worker(url, queue.persona) for _ in range(3)]
    go(workers)
    said = [worker.communicate(timeout=120) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0], said
    assert sum(bool(out) for out, _ in said) > 1, "more than one of them did some"
    lines = [line.split() for out, _ in said for line in out.splitlines()]
    assert sorted(len(line) for line in lines) == [2] * number, lines
    assert {line[0] for line in lines} == {"completed"} and len({line[1] for line in lines}) == number
    assert queue.effects == {**{f"effect {n}": 1 for n in range(number)}, TOTAL: number}


@pytest.mark.engines("mariadb", "mysql")
@pytest.mark.parametrize("what", ["answer", "request"])
def test_d34_a_lost_commit_is_not_lost_or_doubled(queue: Queue, relayed: tuple[Database, Relay], what: Any) -> None:
    direct, (lossy, relay) = queue.db, relayed
    failing = [True]

    def handle(operation: Operation, tools: Tools) -> Effect:
        relay.lose(what)
        if failing.pop() if failing else False:
            raise ModelError("timeout")
        return counted(operation, tools)

    with handled(LOST=handle):
        queue.db = lossy
        relay.lose(what)
        first = queue.add("a", kind="LOST")
        relay.lose(what)
        assert [each.state for each in queue.run_pending()] == ["retrying"]
        direct.clock.forward(seconds=10)  # type: ignore[attr-defined]
        relay.lose(what)
        assert [each.state for each in queue.run_pending()] == ["completed"]
        second = queue.add("b")
        relay.lose(what)
        assert queue.cancel([second]) == 1
        third = queue.add("c")
        jobs.end(queue.db, queue.persona, [third], "failed")
        relay.lose(what)
        assert queue.retry_operation(third).stored and relay.lost == 7
    queue.db = direct
    assert queue.states() == {first: "completed", second: "cancelled", third: "pending"}
    assert queue.row(first).tries == 2 and queue.effects == {"effect a": 1, TOTAL: 1}
