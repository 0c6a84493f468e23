"""S45, D34: whoever dies or is slow, an operation is done by one and its effect is stored once."""

import time
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, func, select

from core.config import Settings
from core.database.engine import Database
from core.errors import ModelError
from core.jobs import Operation
from core.jobs import table as jobs
from core.jobs import table_claiming as jobs_claiming
from core.jobs.handlers import Effect, Tools
from core.jobs.rules import MAX_TRIES
from core.jobs.worker import keep_lease, run_operation
from tests.store.job_world import KIND, TOTAL, Queue, count_up, counted, fill, go, handled, start_worker
from tests.store.relay import Relay
from tests.store.world import NOW

pytestmark = pytest.mark.dialects

DEFAULTS = Settings()


def test_s45_one_of_two_workers_gets_an_operation(queue: Queue) -> None:
    """One UPDATE changes a row, the other none, whatever both had seen before (D22)."""
    only = queue.add("a")
    first = jobs_claiming.claim(queue.db, queue.persona, only, lease_seconds=600)
    assert first is not None and first.operation.tries == 1 and first.operation.payload == {"n": "a"}
    assert jobs_claiming.claim(queue.db, queue.persona, only, lease_seconds=600) is None
    assert queue.claimed() is None
    queue.db.clock.forward(seconds=599.999)  # type: ignore[attr-defined]
    assert queue.claimed() is None and queue.states() == {only: "in_progress"}


def test_the_first_waiting_operation_is_begun(queue: Queue) -> None:
    added = [queue.add(priority, priority=priority) for priority in ("LOW", "HIGH", "NORMAL", "HIGH")]
    begun = jobs_claiming.begin(queue.db, queue.persona, KIND, [KIND], None, {}, 60)
    assert begun is not None and begun.operation.id == added[1]


def test_s45_after_a_crash_it_is_pending_again_when_the_lease_ends_and_its_effect_happens_once(queue: Queue) -> None:
    """The worker was not dead but slow: whoever comes second stores nothing."""
    only = queue.add("a")
    slow = queue.claimed()
    queue.db.clock.forward(seconds=600)  # type: ignore[attr-defined]
    assert queue.states() == {only: "pending"} and queue.count_operations() == {KIND: {"pending": 1}}
    quick = queue.claimed()
    assert quick.operation.id == only and quick.operation.tries == 2
    assert not jobs_claiming.renew_lease(queue.db, slow, lease_seconds=600)
    assert not any(jobs_claiming.settle(queue.db, slow, state) for state in ("failed", "pending"))
    assert run_operation(queue.db, slow, settings=DEFAULTS).state == "dropped"
    assert queue.effects == {}
    assert run_operation(queue.db, quick, settings=DEFAULTS).state == "completed"
    assert run_operation(queue.db, quick, settings=DEFAULTS).state == "dropped", "not even twice by the same"
    assert queue.effects == {"effect a": 1, TOTAL: 1}


def test_s45_the_lease_is_renewed_while_a_handler_works(queue: Queue) -> None:
    """Begun anew every third of it, until the work is done or the operation is somebody else's."""
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
    assert run_operation(queue.db, claimed, settings=DEFAULTS).state == "completed"


def test_s45_an_operation_that_kills_its_worker_is_given_up_after_the_last_try(queue: Queue) -> None:
    only = queue.add("a")
    for tries in range(1, MAX_TRIES + 1):
        assert queue.claimed().operation.tries == tries
        queue.db.clock.forward(seconds=600)  # type: ignore[attr-defined]
    assert queue.claimed() is None
    assert queue.states() == {only: "failed"} and queue.row(only).error == "WorkerLost"


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
    queue = Queue(db)
    url = db.target.url.render_as_string(hide_password=False)
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
    """Queueing, claiming, completing, failing, cancelling: each commit lost once, and nobody notices."""
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
        assert queue.retry_operation(third).stored
        assert relay.lost == 7
    queue.db = direct
    assert queue.states() == {first: "completed", second: "cancelled", third: "pending"}
    assert queue.row(first).tries == 2 and queue.effects == {"effect a": 1, TOTAL: 1}
