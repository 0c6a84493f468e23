"""`python -m tests.bench.transfer`: memory items into a file and out of it (L37, L40): rows a second, memory held.

Files are parts of 20,000 items, as many as it takes; the second table shows that twice the items take no more memory.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import resource
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from core.config import Settings
from core.database.engine import Database
from core.scope import Scope
from core.transfer import export_items, import_items
from core.upkeep import migration as migrating
from tests.bench.figures import load, table
from tests.bench.loading import say
from tests.servers import SERVERS

PART = 20_000
_KINDS = ("FactsAboutUser", "PastEvents", "SelfBeliefs", "Objectives", "KeyFacts", "chat")
_WORDS = [f"{a}{b}{c}" for a in ("ka", "lo", "mi", "ne", "ru") for b in ("ban", "del", "fis", "gor") for c in "aeiou"]


def main() -> int:
    """Read the command line and measure; return 1 where an item is missing or there twice."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.transfer", description=__doc__)
    parser.add_argument("--engine", default="sqlite", choices=["sqlite", *sorted(SERVERS)])
    parser.add_argument("--url", help="a database of your own that may be written to, in place of a server")
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--fmt", default="json", choices=["json", "yaml", "jsonl"])
    given = parser.parse_args()
    print(f"# {given.items:,} items, {given.fmt}, {given.url or given.engine}; {load()}\n")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if given.url or given.engine == "sqlite":
            return measure(given.url or f"sqlite:///{folder / 'bench.db'}", folder, given)
        server = stack.enter_context(SERVERS[given.engine]())
        return measure(server.create_database("bench_transfer"), folder, given)


def measure(url: str, folder: Path, given: Any) -> int:
    """Export what was imported, import it elsewhere, and print what it took."""
    db = Database(url)
    migrating.ensure_present(db)
    first, second = (Scope(f"bench{db.ids.one()}") for _ in range(2))
    made = _files(folder, given.items, given.fmt)
    rows = [("import", given.items, *_imported(db, first, made))]
    say("exported")
    out, seconds = _exported(db, first, folder, given.fmt)
    rows.append(("export", given.items, seconds, given.items / seconds))
    rows.append(("import of the export", given.items, *_imported(db, second, out)))
    rows.append(("the same again", given.items, *_imported(db, second, out, stored=0)))
    print(table(["", "items", "s", "items/s"], rows))
    print(f"\nMost memory of the process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB\n")
    sizes = [PART // 10, PART // 5]
    held = [(f"{size:,}", *_held(db, folder, size, given.fmt)) for size in sizes]
    print(table(["items", "import, MB held", "export, MB held"], held))
    again = sum(_count(db, second, given.fmt))
    db.close()
    print(f"\nExported again: {again:,} items")
    return int(again != given.items)


def _items(count: int, seed: int) -> Iterator[dict[str, Any]]:
    words = random.Random(seed)
    for n in range(count):
        yield {
            "text": f"{' '.join(words.choices(_WORDS, k=28))} {seed}-{n}",
            "kind": _KINDS[n % len(_KINDS)],
            "importance": round(words.random(), 3),
            "tags": words.choices(_WORDS, k=2),
            "timestamp": 1_700_000_000 + seed * PART + n,
        }


def _files(folder: Path, count: int, fmt: str) -> list[Path]:
    from core.transfer.items.writer import written

    paths = []
    for seed, start in enumerate(range(0, count, PART)):
        paths.append(folder / f"{count}-{seed}.{fmt}")
        with paths[-1].open("w", encoding="utf-8") as file:
            file.writelines(written(_items(min(PART, count - start), seed), cast("Any", fmt)))
    return paths


def _imported(db: Database, scope: Scope, paths: list[Path], stored: int | None = None) -> tuple[float, float]:
    began, rows, imported = time.perf_counter(), 0, 0
    for path in paths:
        done = import_items(path, db=db, settings=Settings(), scope=scope)
        imported += done.imported
        rows += done.imported + done.skipped
    seconds = time.perf_counter() - began
    assert imported == (rows if stored is None else stored), "an item was stored twice, or not at all"
    return seconds, rows / seconds


def _exported(db: Database, scope: Scope, folder: Path, fmt: str) -> tuple[list[Path], float]:
    began, after, paths = time.perf_counter(), None, []
    while not paths or after is not None:
        made = export_items(fmt=cast("Any", fmt), limit=PART, after=after, db=db, settings=Settings(), scope=scope)
        paths.append(folder / f"out-{len(paths)}.{fmt}")
        with paths[-1].open("w", encoding="utf-8") as file:
            file.writelines(made)
        after = made.next_after
    return paths, time.perf_counter() - began


def _count(db: Database, scope: Scope, fmt: str) -> Iterator[int]:
    after: str | None = ""
    while after is not None:
        made = export_items(limit=PART, after=after or None, db=db, settings=Settings(), scope=scope)
        yield sum(1 for text in made if '"id"' in text)
        after = made.next_after


def _held(db: Database, folder: Path, count: int, fmt: str) -> tuple[float, float]:
    """Return the megabytes held at most during an import and an export."""
    scope = Scope(f"bench{db.ids.one()}")
    (path,) = _files(folder, count, fmt)
    options: dict[str, Any] = {"db": db, "settings": Settings(), "scope": scope}

    def export() -> None:
        for _ in export_items(fmt=cast("Any", fmt), limit=count, **options):
            pass

    return _peak(lambda: import_items(path, **options)), _peak(export)


def _peak(work: Callable[[], Any]) -> float:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


if __name__ == "__main__":
    sys.exit(main())
