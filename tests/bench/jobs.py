"""`python -m tests.bench.jobs`: workers as processes racing for one queue, every effect counted (S45).

Each operation adds one to a counter of its own and to one that all workers share. The run fails where an effect is
missing or there twice, where an operation needed a second try, or where a worker was told of a deadlock.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import timedelta
from typing import Any

from core import jobs as door
from core.config import Settings
from core.database.engine import Database
from core.jobs import table_listing
from core.scope import Scope
from core.shapes import now_utc
from core.upkeep import migration as migrating
from tests.bench.figures import load, table
from tests.bench.loading import say
from tests.servers import SERVERS
from tests.store.job_world import KIND, TOTAL, counted, effects, fill, go, handled, start_worker


def main() -> int:
    """Read the command line, race, and return 1 where an effect is not there exactly once."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.jobs", description=__doc__)
    parser.add_argument("--engine", default="mariadb", choices=sorted(SERVERS), help="server that is started for it")
    parser.add_argument("--url", help="a database of your own that may be written to, in place of a server")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--operations", type=int, default=2000)
    parser.add_argument("--kill", action="store_true", help="kill a worker in the middle; the rest do its work")
    given = parser.parse_args()
    print(f"# {given.workers} workers, {given.operations:,} operations; {load()}\n")
    if given.url:
        return race(given.url, given)
    with SERVERS[given.engine]() as server:
        return race(server.create_database("bench_jobs"), given)


def race(url: str, given: Any) -> int:
    """Race in a database, print what it took and return 0 where all is there once."""
    db = Database(url)
    migrating.ensure_present(db)
    persona = f"bench{db.ids.one()}"
    began = time.perf_counter()
    fill(db, persona, given.operations)
    queued = time.perf_counter() - began
    workers = [start_worker(url, persona) for _ in range(given.workers)]
    go(workers)
    say("racing")
    began = time.perf_counter()
    if given.kill:
        time.sleep(1)
        workers[0].kill()
    said = [worker.communicate() for worker in workers]
    seconds = time.perf_counter() - began
    left = _finish(url, persona) if given.kill else 0
    wrong = _wrong(db, persona, given.operations)
    lines = [[line.split() for line in out.splitlines()] for out, _ in said]
    again = sum(line[0] != "completed" for each in lines for line in each)
    codes = [worker.returncode for worker in workers[int(given.kill) :]]
    shares = ", ".join(str(len(each)) for each in lines)
    rows: list[list[object]] = [
        ["queued in one transaction, operations a second", given.operations / queued],
        ["done by all workers, operations a second", (given.operations - left) / seconds],
        ["operations of each worker", shares],
        ["tries that were not the last", again],
        ["effects that are not there exactly once", len(wrong)],
    ]
    print(table(["what", "result"], rows))
    db.close()
    for _, errors in said:
        sys.stderr.write(errors)
    if wrong or again or any(codes):
        print(f"\nFAILED: {wrong[:5]}, workers ended with {codes}")
        return 1
    return 0


def _finish(url: str, persona: str) -> int:
    """Do what a killed worker left, when its lease is over, and return how many that were."""
    later = Database(url, clock=lambda: now_utc() + timedelta(seconds=700))
    with handled(COUNTED=counted):
        done = door.run_pending(db=later, settings=Settings(), scope=Scope(persona))
    later.close()
    return len(done)


def _wrong(db: Database, persona: str, operations: int) -> list[str]:
    found = effects(db, persona)
    wanted = {**{f"effect {n}": 1 for n in range(operations)}, TOTAL: operations}
    wrong = [name for name in {*found, *wanted} if found.get(name) != wanted.get(name)]
    ended = table_listing.count_by_type(db, persona)
    return sorted(wrong) + ([] if ended == {KIND: {"completed": operations}} else [str(ended)])


if __name__ == "__main__":
    sys.exit(main())
