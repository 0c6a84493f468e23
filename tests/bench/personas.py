"""Many personas on one server, few of them busy: prompts a second, how long each takes, and what is hot.

`python -m tests.bench.personas [--personas 10000] [--engine sqlite|mariadb|mysql|seekdb] [--url URL] [--hosts 2]
[--seconds 60] [--least 5] [--most 2000]`. The n-th persona has said a share of the most lines that falls with n, and is
asked in the same measure: of 10,000 the first hundred take two fifths of all calls. Each host is a process of its own
with its own connections; a call is a prompt, and every second one saves the message too. Loading takes about two
minutes for each 100,000 lines.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from core.chat_history_cache import save_message
from core.database import schema
from core.database.engine import Database
from core.db import open_database
from core.prompt_engine import explain_json_prompt
from core.scope import Scope
from core.transfer.imports import import_file
from tests.bench.figures import load, percentile, table
from tests.bench.loading import say
from tests.bench.words import vocabulary, zipf_table
from tests.servers import SERVERS

EXPONENT = 0.9
"""How uneven the use is: the n-th persona is used in proportion to 1 / n ** EXPONENT."""
SETTINGS = {"RECORD_WISHES": False}
WORDS, PEOPLE, CHATS = 8_000, 6, 4
FIRST = datetime(2026, 1, 5, 9, tzinfo=UTC)
BANDS = ((0.01, "the busiest hundredth"), (0.1, "the next nine hundredths"), (1.0, "all others"))
"""Up to which share of the personas a band goes, the busiest first."""


@dataclass
class Calls:
    """What one host has done: milliseconds of prompts with the rank of their persona, of saves, of stages."""

    prompts: list[tuple[int, float]] = field(default_factory=list)
    saves: list[float] = field(default_factory=list)
    stages: Counter[str] = field(default_factory=Counter)
    errors: int = 0
    seconds: float = 0.0


def weights(personas: int) -> list[float]:
    """Return how much each persona is used, the busiest first.

    >>> [round(w, 2) for w in weights(3)]
    [1.0, 0.54, 0.37]
    """
    return [1 / rank**EXPONENT for rank in range(1, personas + 1)]


def lines_of(personas: int, least: int, most: int) -> list[int]:
    """Return how many lines each persona has, the busiest first.

    >>> lines_of(4, 5, 20)
    [20, 11, 7, 6]
    """
    return [max(least, round(most * weight)) for weight in weights(personas)]


class Talk:
    """Made-up lines and questions; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._words, self._table = vocabulary(WORDS), zipf_table(WORDS, 1 << 16)

    def sentence(self, low: int, high: int) -> str:
        """Return some words."""
        chosen = self._random.choices(self._table, k=self._random.randint(low, high))
        return " ".join(self._words[number] for number in chosen).capitalize()

    def lines(self, count: int) -> Iterator[dict[str, str]]:
        """Yield the lines of one persona in order of time, in a few conversations of a few people."""
        for number in range(count):
            chat = number * CHATS // count
            at = FIRST + timedelta(days=30 * chat, minutes=number)
            who = self._random.randrange(PEOPLE)
            yield {"conversation": f"{chat}", "id": f"{number}", "timestamp": at.isoformat(), "speaker": f"p{who}",
                   "text": self.sentence(6, 24)}  # fmt: skip

    def message(self) -> dict[str, Any]:
        """Return a message of somebody in one of the conversations."""
        return {"text": f"{self.sentence(4, 9)}?", "interface_path": f"import/{self._random.randrange(CHATS)}",
                "from_user": {"id": f"p{self._random.randrange(PEOPLE)}"}}  # fmt: skip


def name_of(rank: int) -> str:
    """Return the id of the persona of a rank; ranks lie scattered over the ids, as busy personas do."""
    return f"{rank * 2_654_435_761 % 2**32:08x}"


def fill(url: str, personas: int, least: int, most: int) -> int:
    """Store what every persona has heard, and return how many lines that is."""
    counts, talk = lines_of(personas, least, most), Talk(1)
    with contextlib.closing(open_database(url)) as db, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lines.jsonl"
        for rank, count in enumerate(counts):
            file.write_text("".join(json.dumps(line) + "\n" for line in talk.lines(count)), encoding="utf-8")
            import_file(file, interface="import", db=db, settings=SETTINGS, scope=Scope(name_of(rank)))
            if rank % 1000 == 999:
                say(f"{rank + 1:,} personas stored")
    return sum(counts)


def host(url: str, personas: int, seconds: float, most_calls: int, seed: int) -> Calls:
    """Work as one host of all personas for some seconds, or until so many calls are done."""
    talk, chooser, done = Talk(seed), random.Random(seed), Calls()
    ranks, shares = range(personas), weights(personas)
    with contextlib.closing(open_database(url)) as db:
        for _ in range(3):  # what a process does once: imports, connections
            explain_json_prompt(talk.message(), db=db, settings=SETTINGS, scope=Scope(name_of(0)))
        began_at = time.perf_counter()
        for number, rank in enumerate(chooser.choices(ranks, shares, k=most_calls)):
            if time.perf_counter() - began_at >= seconds:
                break
            message, scope = talk.message(), Scope(name_of(rank))
            began = time.perf_counter()
            _, report = explain_json_prompt(message, max_chars=12_000, db=db, settings=SETTINGS, scope=scope)
            done.prompts.append((rank, 1000 * (time.perf_counter() - began)))
            for stage in report["stages"]:
                done.stages[stage["stage"]] += stage["ms"]
                done.errors += len(stage["errors"])
            if number % 2:
                began = time.perf_counter()
                done.errors += not save_message(message, db=db, settings=SETTINGS, scope=scope).stored
                done.saves.append(1000 * (time.perf_counter() - began))
        done.seconds = time.perf_counter() - began_at
    return done


def run_hosts(url: str, personas: int, hosts: int, seconds: float, most_calls: int) -> list[Calls]:
    """Return what each host has done; one host works in this process."""
    if hosts == 1:
        return [host(url, personas, seconds, most_calls, 100)]
    context = multiprocessing.get_context("spawn")
    with context.Pool(hosts) as pool:
        return pool.starmap(host, [(url, personas, seconds, most_calls, 100 + number) for number in range(hosts)])


def show(calls: Sequence[Calls], personas: int, rows: int) -> str:
    """Return the figures as tables."""
    seconds = max(each.seconds for each in calls)
    prompts = [one for each in calls for one in each.prompts]
    saves = [ms for each in calls for ms in each.saves]
    stages: Counter[str] = sum((each.stages for each in calls), Counter())
    made, lowest = [], 0
    for share, name in BANDS:
        highest = max(lowest + 1, round(personas * share))
        times = [ms for rank, ms in prompts if lowest <= rank < highest]
        if times:
            part = f"{len(times) / len(prompts):.0%}"
            made.append([name, part, percentile(times, 0.5), percentile(times, 0.95), percentile(times, 0.99)])
        lowest = highest
    every = [ms for _, ms in prompts]
    made.append(["together", "100%", percentile(every, 0.5), percentile(every, 0.95), percentile(every, 0.99)])
    spent = sum(stages.values()) or 1.0
    hot = [[stage, f"{ms / spent:.0%}", ms / len(prompts)] for stage, ms in stages.most_common(6)]
    saving = [percentile(saves or [0.0], share) for share in (0.5, 0.95)]
    first = (
        f"{len(prompts) / seconds:,.1f} prompts and {len(saves) / seconds:,.1f} saves a second, {len(calls)} hosts, "
        f"{rows:,} lines, {sum(each.errors for each in calls)} errors; a save takes {saving[0]:.1f} ms at the median, "
        f"{saving[1]:.1f} at p95"
    )
    bands = table(["personas", "of all calls", "prompt p50 ms", "p95", "p99"], made)
    return "\n\n".join([first, bands, table(["stage of a prompt", "of its time", "ms on average"], hot)])


def count_rows(db: Database) -> int:
    """Return how many lines there are."""
    return int(db.read(select(func.count()).select_from(schema.chat_history_cache), source="bench")[0][0])


def main(words: Sequence[str] | None = None) -> int:
    """Fill a database, work on it and print what it gives; return 1 where a call has failed."""
    options = argparse.ArgumentParser(prog="python -m tests.bench.personas", description=__doc__)
    options.add_argument("--engine", default="sqlite", choices=["sqlite", *sorted(SERVERS)])
    options.add_argument("--url", help="an empty database of your own, in place of a server")
    options.add_argument("--personas", type=int, default=10_000)
    options.add_argument("--least", type=int, default=5, help="lines of a persona that is hardly used")
    options.add_argument("--most", type=int, default=2_000, help="lines of the busiest one")
    options.add_argument("--hosts", type=int, default=2)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--calls", type=int, default=1_000_000, help="most calls of one host")
    given = options.parse_args(words)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="personas-"))
        url = given.url or f"sqlite:///{folder}/personas.db"
        if given.engine != "sqlite" and not given.url:
            server = stack.enter_context(SERVERS[given.engine](options={"innodb_buffer_pool_size": "1000M"}))
            url = server.create_database("personas")
        fill(url, given.personas, given.least, given.most)
        with contextlib.closing(open_database(url)) as db:
            rows = count_rows(db)
        print(f"# {given.personas:,} personas, {'your database' if given.url else given.engine}; {load()}\n")
        calls = run_hosts(url, given.personas, given.hosts, given.seconds, given.calls)
        print(show(calls, given.personas, rows))
        return int(any(each.errors for each in calls))


if __name__ == "__main__":
    sys.exit(main())
