"""What the tests and the bench of the queue share: operations whose effects can be counted, workers as processes."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from core import jobs as door
from core.config import Settings
from core.database.dialects import upsert
from core.database.engine import Database
from core.database.schema import counters, memory_jobs
from core.jobs import Worker, handlers
from core.jobs import table as jobs
from core.jobs.handlers import Effect, Handler, Tools
from core.jobs.worker import claim_next
from core.lifelong import table_runs
from core.shapes import Operation, OperationRun
from tests.store.world import own_scope, rows_of

ROOT = Path(__file__).resolve().parents[2]
KIND = "COUNTED"
TOTAL = "total"


def count_up(connection: Connection, db: Database, persona: str, *names: str) -> None:
    for name in names:
        row = {"persona_id": persona, "name": name, "value": 1}
        connection.execute(upsert(counters, db.family, add=["value"]), row)


def counted(operation: Operation, tools: Tools) -> Effect:
    """Be a handler whose effect is one more in a counter of its own and in one that all workers share."""
    time.sleep(operation.payload.get("seconds", 0))
    names = (f"effect {operation.payload.get('n', operation.id)}", TOTAL)
    return lambda connection: count_up(connection, tools.db, operation.persona, *names)


@contextmanager
def handled(**own: Handler) -> Iterator[None]:
    handlers.HANDLERS.update(own)
    try:
        yield
    finally:
        for kind in own:
            del handlers.HANDLERS[kind]


def effects(db: Database, persona: str) -> dict[str, int]:
    is_theirs = counters.c.name != table_runs.TICK
    chosen = select(counters.c.name, counters.c.value).where(counters.c.persona_id == persona, is_theirs)
    return {row.name: row.value for row in db.read(chosen, source="counters")}


def fill(db: Database, persona: str, number: int, **payload: Any) -> list[int]:
    def work(connection: Connection) -> list[int]:
        given = [{"payload": {"n": n, **payload}, "conversation": f"tg/{n % 7}"} for n in range(number)]
        made = [jobs.enqueue(connection, db, persona, KIND, **each) for each in given]
        return [each for each in made if each is not None]

    return db.transaction(work, source="memory_jobs")


def start_worker(url: str, persona: str) -> subprocess.Popen[str]:
    """Start a process that waits for `go`, does operations until none may begin, and prints a line for each."""
    code = "from tests.store.job_world import work; import sys; work(sys.argv[1], sys.argv[2])"
    words, pipe = [sys.executable, "-c", code, url, persona], subprocess.PIPE
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)


def go(workers: Sequence[subprocess.Popen[str]]) -> None:
    for worker in workers:
        assert worker.stdout is not None and worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()


def work(url: str, persona: str) -> None:
    def told(done: OperationRun) -> None:
        print(done.state, done.id, done.error, flush=True)

    db = Database(url)
    db.read(select(counters.c.name).where(counters.c.persona_id == persona), source="counters")
    print("ready", flush=True)
    sys.stdin.readline()
    with handled(COUNTED=counted):
        Worker(db, personas=[persona], settings=Settings(), on_done=told).run(once=True)
    db.close()


class Queue:
    """The queue of one persona, with the doors' arguments filled in."""

    def __init__(self, db: Database, **flags: Any) -> None:
        self.db = db
        self.scope = own_scope()
        self.persona = self.scope.persona
        self.settings = Settings(**flags)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            given = {"db": self.db, "settings": self.settings, "scope": self.scope, **more}
            return getattr(door, name)(*arguments, **given)

        return call

    def add(self, name: Any = 0, priority: str = "NORMAL", *depends_on: int, kind: str = KIND, **more: Any) -> int:
        made = self.enqueue_operation(kind, priority, {"n": name, **more.pop("metadata", {})}, depends_on, **more)
        assert isinstance(made, int)
        return made

    def states(self) -> dict[int, str]:
        return {each["id"]: each["state"] for each in self.list_operations()}

    def row(self, job_id: int) -> Any:
        (found,) = rows_of(self.db, memory_jobs, self.persona, memory_jobs.c.id == job_id)
        return found

    def claimed(self, **more: Any) -> Any:
        return claim_next(self.db, self.persona, [KIND], **{"lease_seconds": 600, **more})

    @property
    def effects(self) -> dict[str, int]:
        return effects(self.db, self.persona)

    @staticmethod
    def done(reports: Any) -> list[int]:
        return [each.id for each in reports]
