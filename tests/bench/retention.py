"""`python -m tests.bench.retention`: the bookkeeping of session memory at size: clean-up, cycles, pruning, health.

Half of the session items have expired. Each step is done twice: the second time there is nothing left to do, and its
time is what looking costs.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from core import lifelong
from core.config import Settings
from core.database.engine import Database
from core.scope import Scope
from core.upkeep import migration as migrating
from tests.bench.figures import load, table
from tests.bench.loading import say
from tests.servers import SERVERS

BATCH = 1_000
CONVERSATIONS = 50


def main() -> int:
    """Read the command line and measure; return 1 where a count is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.retention", description=__doc__)
    parser.add_argument("--engine", default="mariadb", choices=["sqlite", *sorted(SERVERS)])
    parser.add_argument("--items", type=int, default=100_000)
    given = parser.parse_args()
    print(f"# {given.items:,} session items, {given.engine}; {load()}\n")
    with contextlib.ExitStack() as stack:
        if given.engine == "sqlite":
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            return measure(f"sqlite:///{folder / 'bench.db'}", given.items)
        server = stack.enter_context(SERVERS[given.engine]())
        return measure(server.create_database("bench_retention"), given.items)


def measure(url: str, count: int) -> int:
    """Fill, do each step twice, print what it took."""
    db = Database(url)
    migrating.ensure_present(db)
    call: dict[str, Any] = {"db": db, "settings": Settings(), "scope": Scope("bench")}
    began = time.perf_counter()
    _fill(db, count, call)
    say(f"{count:,} items stored in {time.perf_counter() - began:.0f} s")
    steps: Sequence[tuple[str, Callable[[], int], int]] = (
        ("clean-up of expired items", lambda: int(lifelong.prune_session_by_ttl(**call)), count // 2),
        ("cycle without new messages", lambda: lifelong.run_cycle(**call).pruned, 0),
        ("pruning of long-term items, dry", lambda: int(lifelong.prune_ltm(dry_run=True, **call)), 0),
        (
            "first page of the operator",
            lambda: lifelong.search_items(operator=True, **call)["total"],
            count - count // 2,
        ),
    )
    rows, wrong = [], False
    for name, step, expected in steps:
        (first, took), (second, again) = _timed(step), _timed(step)
        wrong |= first != expected
        rows.append([name, first, f"{took:.2f}", second, f"{again:.3f}"])
    print(table(["", "first", "s", "again", "s"], rows))
    print(f"\nMost memory of the process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")
    db.close()
    return int(wrong)


def _fill(db: Database, count: int, call: dict[str, Any]) -> None:
    now = db.clock()
    for start in range(0, count, BATCH):
        made = [
            {
                "text": f"It felt like day {n} of the {n % 977}th week",
                "kind": "Emotions",
                "tier": "session",
                "importance": 0.5,
                "timestamp": now - timedelta(days=8 if n % 2 else 1, seconds=n % 3600),
            }
            for n in range(start, min(start + BATCH, count))
        ]
        lifelong.add_facts_with_meta(made, None, f"bench/{start // BATCH % CONVERSATIONS}", **call)


def _timed(step: Callable[[], int]) -> tuple[int, float]:
    began = time.perf_counter()
    done = step()
    return done, time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
