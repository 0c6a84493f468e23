"""S45, S47: a worker in its own process or thread, its signals, its trouble; and which handlers it has."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from core import jobs as door
from core.database.engine import Database
from core.errors import StoreReadError
from core.jobs import OperationRun, Worker, handlers, worker
from core.jobs import table as jobs
from core.jobs import table_claiming as jobs_claiming
from core.scope import Scope
from core.shapes import now_utc
from tests.databases import traced
from tests.store.job_world import KIND, ROOT, counted, effects, fill, handled
from tests.store.world import open_db


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    made = open_db(f"sqlite:///{tmp_path / 'jobs.db'}")
    with handled(COUNTED=counted):
        yield made
    made.close()


@pytest.fixture
def given(db: Database) -> dict[str, Any]:
    return {"db": db, "scope": Scope("ada")}


def test_s47_personas_take_turns(db: Database) -> None:
    for persona, number in (("ada", 4), ("ben", 1), ("cem", 2)):
        fill(db, persona, number)
    told: list[OperationRun] = []
    only = Worker(db, personas=["ben"], on_done=told.append)
    assert only.run(once=True) == 1 and [each.persona for each in told] == ["ben"]
    fill(db, "ben", 1)
    told.clear()
    assert Worker(db, on_done=told.append).run(once=True) == 7
    assert [each.persona for each in told] == ["ada", "ben", "cem", "ada", "cem", "ada", "ada"]
    assert {each.state for each in told} == {"completed"}


def test_s47_a_worker_waits_for_more_and_for_a_database_that_is_away(
    db: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(worker, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(worker, "TROUBLE_SECONDS", 0.05)
    away = [True, True]
    there = jobs_claiming.read_personas

    def personas(db: Database, **how: bool) -> list[str]:
        if away:
            away.pop()
            raise StoreReadError("gone", source="memory_jobs", number=2013)
        return there(db, **how)

    monkeypatch.setattr(jobs_claiming, "read_personas", personas)
    with pytest.raises(StoreReadError):
        Worker(db).run(once=True)
    done = threading.Event()
    made = Worker(db, on_done=lambda _: done.set())
    thread = threading.Thread(target=made.run)
    thread.start()
    try:
        time.sleep(0.2)
        fill(db, "ada", 1)
        assert done.wait(60)
    finally:
        made.stop()
        thread.join()
    assert away == [] and effects(db, "ada") == {"effect 0": 1, "total": 1}
    assert "worker_waits source='memory_jobs' number=2013" in caplog.text


def test_d22_workers_and_run_pending_remove_what_ended_long_ago(db: Database, given: dict[str, Any]) -> None:
    clock: Any = db.clock

    def left() -> list[str]:
        return jobs_claiming.read_personas(db, working=False)

    for persona in ("ada", "ben"):
        fill(db, persona, 2)
    Worker(db).run(once=True)
    clock.forward(days=8)
    door.run_pending(**given)
    assert left() == ["ben"]
    Worker(db).run(once=True)
    assert left() == []
    fill(db, "ada", 1)
    door.run_pending(**given)
    clock.forward(days=7)
    with traced(db) as statements:
        door.run_pending(**given)
        removing = len(statements)
        door.run_pending(**given)
    assert left() == [] and len(statements) - removing < removing


_SIGNALLED = """
import sys
from core.base.signals import stop_on_signals
from core.config import Settings
from core.jobs import Worker, handlers
from core.database.engine import Database
def slow(operation, tools):
    print("begun", flush=True)
    sys.stdin.readline()
db = Database(sys.argv[1])
handlers.HANDLERS["COUNTED"] = slow
worker = Worker(db, on_done=lambda done: print(done.state, flush=True))
with stop_on_signals(worker.stop):
    print(worker.run(), flush=True)
"""


@pytest.mark.posix
@pytest.mark.parametrize(("signals", "said", "left"), [
    ([signal.SIGTERM], ["completed", "1"], {KIND: {"pending": 1, "completed": 1}}),
    ([signal.SIGINT, signal.SIGTERM], [], {KIND: {"pending": 2}}),
], ids=['once', 'twice'])  # fmt: skip
def test_s45_a_signal_lets_the_operation_end_a_second_gives_it_back(
    db: Database, signals: list[signal.Signals], said: list[str], left: Any
) -> None:
    fill(db, "ada", 2)
    url = db.target.url.render_as_string(hide_password=False)
    words, pipe = [sys.executable, "-c", _SIGNALLED, url], subprocess.PIPE
    process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    for each in signals:
        process.send_signal(each)
        time.sleep(0.2)
    out, _ = process.communicate("done\n", timeout=120)
    assert out.split() == said
    real = Database(url, clock=now_utc)
    assert door.count_operations(db=real, scope=Scope("ada")) == left
    real.close()


def test_s45_a_signal_stops_a_worker_in_the_middle_of_a_wait(db: Database) -> None:
    """A signal handler runs between two steps of the code that it stops, which may hold the lock of a wait."""
    worker = Worker(db)

    def interrupt(frame: FrameType, *_: object) -> None:
        if frame.f_code in (threading.Condition.wait.__code__, Worker._wait.__code__):
            worker.stop()

    def work() -> None:
        sys.setprofile(interrupt)
        worker.run()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()


def test_s46_s47_every_type_has_a_handler_and_a_missing_one_is_a_failure_like_others(given: dict[str, Any]) -> None:
    assert set(handlers.HANDLERS) - set(handlers.list_types()) == {"EMBED"}, "where there is an embedder"
    assert all(callable(handlers.load(handler)) for handler in handlers.HANDLERS.values())
    with handled(GONE="no.such.module:function"):  # type: ignore[arg-type]
        door.enqueue_operation("GONE", **given)
        (done,) = door.run_pending(**given)
    assert (done.state, done.error) == ("retrying", "ModuleNotFoundError")


def test_s46_a_failure_that_cannot_be_written_leaves_the_operation_to_its_lease(
    db: Database, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(db, "ada", 1)

    def gone(*_: Any, **__: Any) -> Callable[..., None]:
        raise StoreReadError("gone", source="memory_jobs")

    with monkeypatch.context() as patched:
        patched.setattr(jobs_claiming, "settle", gone)
        with pytest.raises(StoreReadError):
            door.run_pending(**given)
    assert door.run_pending(**given) == []
    db.clock.forward(seconds=600)
    assert [each.state for each in door.run_pending(**given)] == ["completed"]
    assert jobs.prune(db, "ada") == 0
