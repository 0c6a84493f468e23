"""`make soak`: many hosts on one database of a million rows for ten minutes: how much is done, how fast, how steadily.

Sixteen hosts, each a process of its own with its own connections, read and write through the doors as hosts do, with a
short pause between two calls. SOAK_SECONDS (600), SOAK_HOSTS (16) and SOAK_PAUSE_MS (200) size it. It works on a copy:
of the data folder of a MariaDB server in SOAK_DATA, or of the one that `tests.bench.loading` keeps. Ends with 1 when a
call has failed, a write that was acknowledged is not there, or the hosts have grown.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from core import db as core_db
from core.database import schema, schema_stories, sources
from core.database.engine import Database
from core.index import entries as search_entries
from core.upkeep import ddl
from tests.bench import spot_check
from tests.bench.figures import load, percentile, table
from tests.bench.generator import PERSONA, place
from tests.bench.loading import BUFFER_POOL, Bench, say
from tests.bench.messages import Asked, messages
from tests.servers import SERVERS
from tests.store.world import verify_index

SIZE = 1_000_000
ROOT = Path(__file__).resolve().parents[2]
SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
HOSTS = int(os.environ.get("SOAK_HOSTS", "16"))
PAUSE = float(os.environ.get("SOAK_PAUSE_MS", "200")) / 1000
MOST_CALLS = 2_000_000
"""A host that came so far stops, whatever the time."""
GROWTH = 1.10
"""A host may take so much more memory at the end than when it was warm."""
TABLES = {
    "message": schema.chat_history_cache,
    "item": schema.memories,
    "entry": schema.ai_diary,
    "job": schema_stories.memory_jobs,
}
"""Where the ids of acknowledged writes are looked for."""


# A host


def _rss_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


class _Host:
    """One host: what it can do, by name."""

    def __init__(self, url: str, number: int) -> None:
        from core.config import Settings

        self.db = Database(url)
        self.number, self.done = number, 0
        self.rng = random.Random(number)
        self.settings = Settings()
        self.asked = messages(400, seed=100 + number)

    def next(self) -> Asked:
        """Return the next message."""
        return self.asked[self.done % len(self.asked)]

    def more(self, asked: Asked) -> dict[str, Any]:
        """Return what every door gets."""
        return {"db": self.db, "settings": self.settings, "scope": asked.scope}

    def text(self, asked: Asked) -> str:
        """Return a text nobody has written before."""
        return f"{asked.text} That was call {self.done} of host {self.number}, {time.time_ns()}."


def _prompt(host: _Host, asked: Asked) -> None:
    from core.prompt_engine import explain_json_prompt

    message = {**asked.as_host(), "date": datetime.now(UTC)}
    _, report = explain_json_prompt(message, **host.more(asked))
    errors = [each["source"] for stage in report["stages"] for each in stage["errors"]]
    if errors:
        raise RuntimeError(f"the prompt lacks {', '.join(errors)}")


def _search(host: _Host, asked: Asked) -> None:
    from core.synth_core_memory import search_memories

    search_memories(tags=asked.tags, keywords=asked.words, **host.more(asked))


def _history(host: _Host, asked: Asked) -> None:
    from core.chat_history_cache import load_chat_history

    load_chat_history(asked.conversation, 20, **host.more(asked))


def _message(host: _Host, asked: Asked) -> int | None:
    from core.chat_history_cache import save_chat_message

    sender = (asked.number % 900) * 3
    return save_chat_message(asked.conversation, host.text(asked), "Ada Example", f"u{sender}", **host.more(asked)).id


def _item(host: _Host, asked: Asked) -> int:
    from core.db import insert_memory

    more = {"db": host.db, "settings": host.settings}
    return insert_memory(host.text(asked), "synth", "chat", list(asked.tags), asked.scope, **more)


def _entry(host: _Host, asked: Asked) -> int | None:
    from core.ai_diary import add_diary_entry

    return add_diary_entry(host.text(asked), context_tags=list(asked.tags), **host.more(asked)).id


def _turn(host: _Host, asked: Asked) -> None:
    from core.short_term.writer import write_turn

    where = place(asked.number % 900)
    said = {"messages": [{"role": "user", "content": host.text(asked)}]}
    made = write_turn(said, [{"text": "yes"}], user=asked.scope.participant, channel=where.key, **host.more(asked))
    if made.reason == "error":
        raise RuntimeError("the turn was not kept")


def _person(host: _Host, asked: Asked) -> None:
    from core.relationships import adjust

    adjust(asked.scope.participant, host.rng.choice((-1, 1)), 0, **host.more(asked))


def _job(host: _Host, asked: Asked) -> int:
    from core.jobs import enqueue_operation

    return enqueue_operation("RECAP", "LOW", {"message": 1}, **host.more(asked))


KINDS: dict[str, tuple[int, Callable[[_Host, Asked], int | None]]] = {
    "prompt": (30, _prompt),
    "search": (10, _search),
    "history": (10, _history),
    "message": (26, _message),
    "item": (8, _item),
    "entry": (4, _entry),
    "turn": (6, _turn),
    "person": (4, _person),
    "job": (2, _job),
}
"""What a host does, and how often of a hundred times."""


def be_host(url: str, number: int, seconds: float, pause: float) -> None:
    """Do one thing after the other, print a line for each, and the memory taken once a second."""
    host = _Host(url, number)
    names, weights = list(KINDS), [each[0] for each in KINDS.values()]
    for name in names:  # what a first call loads is not measured
        KINDS[name][1](host, host.next())
    print(json.dumps({"ready": number}), flush=True)
    sys.stdin.readline()
    began = told = time.monotonic()
    while time.monotonic() - began < seconds and host.done < MOST_CALLS:
        host.done += 1
        kind = host.rng.choices(names, weights)[0]
        line: dict[str, Any] = {"kind": kind}
        at = time.perf_counter()
        try:
            line["id"] = KINDS[kind][1](host, host.next())
        except Exception as error:  # noqa: BLE001 - every failure is counted, and none may end the run
            line["error"] = f"{type(error).__name__}: {str(error)[:200]}"
        line["ms"] = round(1000 * (time.perf_counter() - at), 2)
        if time.monotonic() - told > 5:
            told = time.monotonic()
            line |= {"rss": round(_rss_mb(), 1), "at": round(told - began)}
        print(json.dumps(line), flush=True)
        time.sleep(pause * host.rng.uniform(0.5, 1.5))
    host.db.close()
    gc.collect()


# The run


class _Run:
    """The hosts and what they told."""

    def __init__(self, url: str) -> None:
        self.ms: dict[str, list[float]] = {name: [] for name in KINDS}
        self.ids: dict[str, list[int]] = {name: [] for name in TABLES}
        self.errors: Counter[str] = Counter()
        self.rss: dict[int, list[tuple[int, float]]] = {n: [] for n in range(HOSTS)}
        self._lock = threading.Lock()
        self._hosts = [self._start(url, number) for number in range(HOSTS)]

    def _start(self, url: str, number: int) -> subprocess.Popen[str]:
        words = ["--host", url, str(number), str(SECONDS), str(PAUSE)]
        return subprocess.Popen(
            [sys.executable, "-m", "tests.bench.soak", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip

    def go(self) -> None:
        """Let all begin at once, and wait for their end."""
        for host in self._hosts:
            assert host.stdout is not None
            host.stdout.readline()
        say(f"{HOSTS} hosts are ready; {load()}")
        for host in self._hosts:
            assert host.stdin is not None
            host.stdin.write("go\n")
            host.stdin.flush()
        readers = [threading.Thread(target=self._read, args=(n,)) for n in range(HOSTS)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        for number, host in enumerate(self._hosts):
            if host.wait():
                self.errors[f"host {number} ended with {host.returncode}"] += 1

    def stop(self) -> None:
        """End hosts that are still there."""
        for host in self._hosts:
            if host.poll() is None:
                host.kill()
                host.wait()

    def _read(self, number: int) -> None:
        out = self._hosts[number].stdout
        assert out is not None
        for text in out:
            line = json.loads(text)
            with self._lock:
                if "error" in line:
                    self.errors[f"{line['kind']}: {line['error']}"] += 1
                else:
                    self.ms[line["kind"]].append(line["ms"])
                    if line["kind"] in self.ids and line.get("id"):
                        self.ids[line["kind"]].append(line["id"])
                if "rss" in line:
                    self.rss[number].append((line["at"], line["rss"]))


def _verified(db: Database, run: _Run, before: dict[str, int]) -> list[str]:
    """Return what is not as it was acknowledged, and print what was looked at."""
    wrong = []
    for kind, ids in run.ids.items():
        t = TABLES[kind]
        there = 0
        for at in range(0, len(ids), 500):
            chosen = select(func.count()).where(t.c.persona_id == PERSONA, t.c.id.in_(ids[at : at + 500]))
            there += db.read(chosen, source=t.name)[0][0]
        added = _count(db, t) - before[kind]
        print(f"- {kind}: {len(ids)} acknowledged, {there} of them stored, {added} rows more in the table")
        if there != len(ids) or len(set(ids)) != len(ids):
            wrong.append(f"{kind}: {len(ids)} acknowledged, {there} stored")
        if added != len(ids) + HOSTS:  # each host has written one of each kind before it began
            wrong.append(f"{kind}: {added} rows more, {len(ids) + HOSTS} acknowledged")
    return wrong + _index_sample(db, run)


def _count(db: Database, t: Any) -> int:
    return int(db.read(select(func.count()).where(t.c.persona_id == PERSONA), source=t.name)[0][0])


def _index_sample(db: Database, run: _Run) -> list[str]:
    """Compare the search index with old rows at some places, its totals, and up to 200 rows of a table just written;
    SOAK_VERIFY=1 compares all of it, which takes minutes."""
    if os.environ.get("SOAK_VERIFY"):
        return [str(each) for each in verify_index(db)]
    compared = 0
    try:
        compared = spot_check.spot_check(db)
        for source in sources.ALL:
            ids = sorted(run.ids[next(kind for kind, t in TABLES.items() if t is source.table)])
            chosen = select(*search_entries.indexed_columns(source))
            chosen = chosen.where(
                source.table.c.persona_id == PERSONA, source.table.c.id.in_(ids[:: len(ids) // 200 + 1])
            )
            for row in db.read(chosen, source=source.name):
                compared += spot_check._row(db, search_entries.entry_of(source, row))
    except AssertionError as difference:
        return [f"the index differs: {difference}"]
    finally:
        print(f"- {compared} postings of old and new rows compared with the rows")
    return []


def _memory(run: _Run) -> tuple[list[tuple[str, float, float]], list[str]]:
    rows, wrong = [], []
    for number, seen in run.rss.items():
        warm = [mb for at, mb in seen if at >= min(60, SECONDS / 3)]
        if not warm:
            continue
        rows.append((f"host {number}", warm[0], warm[-1]))
        if warm[-1] > GROWTH * warm[0]:
            wrong.append(f"host {number} grew from {warm[0]:.0f} to {warm[-1]:.0f} MB")
    return rows, wrong


@contextlib.contextmanager
def _server() -> Iterator[str]:
    """Yield the URL of a copy of the large database."""
    folder = Path(tempfile.mkdtemp(prefix="soak-", dir=os.environ.get("SOAK_COPY_DIR")))
    try:
        given = os.environ.get("SOAK_DATA")
        if given is None:
            with Bench(["mariadb"], [SIZE]) as bench:
                source = bench.folder / "mariadb"
        else:
            source = Path(given)
        say(f"copying {source}")
        shutil.copytree(source / "data", folder / "data")
        options = {"innodb_buffer_pool_size": BUFFER_POOL, "innodb_log_file_size": "1G"}
        with SERVERS["mariadb"](options=options, durable=True, data_dir=folder) as server:
            yield server.url_for(f"bench_{SIZE}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Run it and print what came of it."""
    with _server() as url:
        db = Database(url, timeout_seconds=600)
        core_db.migrate(db)
        before = {kind: _count(db, t) for kind, t in TABLES.items()}
        print(f"# Soak: {HOSTS} hosts (processes), {SECONDS:.0f} s, pause {PAUSE * 1000:.0f} ms, "
              f"{len(ddl.list_tables())} tables, rows before: {before}; {load()}")  # fmt: skip
        run = _Run(url)
        try:
            run.go()
        finally:
            run.stop()
        wrong = _report(db, run, before)
        db.close()
    print("\nAll is well." if not wrong else "\nNot well:\n- " + "\n- ".join(wrong[:50]))
    return 1 if wrong else 0


def _report(db: Database, run: _Run, before: dict[str, int]) -> list[str]:
    total = sum(map(len, run.ms.values()))
    print(f"\n{total} calls, {total / SECONDS:.1f} a second; {sum(run.errors.values())} errors; {load()}\n")
    print(table(["call", "times", "p50 ms", "p99 ms", "slowest ms"], _lines(run.ms)))
    wrong = [f"{number} times {text}" for text, number in run.errors.most_common(20)]
    memory, grown = _memory(run)
    if memory:
        first, last = (sum(row[at] for row in memory) / len(memory) for at in (1, 2))  # type: ignore[misc]
        largest = max(row[2] for row in memory)
        print(f"\nMemory of a host: {first:.1f} MB when warm, {last:.1f} MB at the end, the largest {largest:.1f} MB\n")
    return wrong + grown + _verified(db, run, before)


def _lines(ms: dict[str, list[float]]) -> list[Sequence[object]]:
    return [
        (kind, str(len(values)), percentile(values, 0.5), percentile(values, 0.99), max(values))
        for kind, values in ms.items()
        if values
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--host"]:
        be_host(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5]))
        sys.exit(0)
    sys.exit(main())
