"""Whether recall holds when a persona remembers much more than the conversation that is asked about.

`python -m bench.scale [--engine sqlite] [--rows 2000 12000 100000] [--million] [--short | --long]
[--questions 300] [--target ...]`. The harness `scale.py` lies outside of the project (see `bench.recall`): it
asks the same questions while the persona's memory grows with other people's talk, all of it public in one server; first
with short turns, then with long ones. Each size is told with what the tables take for each row.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select

from bench.conversations import INTERFACE, Clock, data_folder, load_harness
from bench.loading import say
from bench.room import bytes_by_table, describe_room
from core import db as core_db
from core import synth_core_memory
from core.database.schema import chat_history_cache
from core.index import packing
from core.scope import Scope
from core.transfer.imports import import_file
from tests.servers import SERVERS

LIMIT = 20
SERVER = "everybody"


class Persona:
    """A retriever in the sense of the harness: one persona that hears ever more conversations of one server."""

    def __init__(self, url: str) -> None:
        self.clock = Clock()
        self.db = core_db.open_database(url, clock=self.clock)
        self.stored = self.text_bytes = 0
        self.turns: dict[int, tuple[str, str]] = {}
        self._read_to = 0

    def add(self, turns: Sequence[Any]) -> None:
        """Import one conversation."""
        last = datetime.fromisoformat(turns[-1]["timestamp"]).replace(tzinfo=UTC) + timedelta(minutes=1)
        self.clock.now = max(self.clock.now, last)
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
            file.writelines(json.dumps(turn) + "\n" for turn in turns)
            file.flush()
            scope = Scope("p", server=SERVER)
            import_file(file.name, interface=INTERFACE, persona=None, db=self.db, scope=scope)
        self.stored += len(turns)
        self.text_bytes += sum(len(turn["text"].encode()) for turn in turns)

    def search(self, question: str, k: int, *, conversation: str, asker: str) -> list[tuple[str, str]]:
        """Return at most k turns, best first."""
        scope = Scope("p", f"{INTERFACE}/{conversation}", f"{INTERFACE}/{asker}", server=SERVER, privacy="public")
        _, report = synth_core_memory.explain_search(query=question, limit=LIMIT, db=self.db, scope=scope)
        ranked = sorted((h for h in report["hits"] if h["source"] == "chat_history"), key=lambda hit: hit["rank"])
        return [self.turns[h["id"]] for h in ranked][:k]

    def learn(self) -> None:
        """Read which row is which turn."""
        c = chat_history_cache.c
        wanted = select(c.id, c.interface_path, c.message_id).where(c.id > self._read_to).order_by(c.id)
        for row in self.db.read(wanted, source="chat_history_cache"):
            self.turns[row[0]] = (row[1].split("/", 1)[1], row[2])
            self._read_to = row[0]

    def ready(self) -> None:
        """Have everything packed and known before questions are asked."""
        packing.pack_all(self.db)
        self.learn()


def main() -> None:
    """Measure what the command line asks for."""
    options = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    options.add_argument("--engine", default="sqlite", choices=("sqlite", "mariadb", "mysql"))
    options.add_argument("--target", default="locomo.dev")
    options.add_argument("--filler", nargs="+", default=["beam500k.dev", "realmem.dev", "beam100k.dev"])
    options.add_argument("--rows", nargs="+", type=int, default=[2_000, 12_000, 100_000])
    options.add_argument("--million", action="store_true", help="a million rows, too, of short turns")
    options.add_argument("--questions", type=int, default=300)
    options.add_argument("--short", action="store_true", help="short turns of others alone")
    options.add_argument("--long", action="store_true", help="long turns of others alone")
    options.add_argument("--keep", type=Path, help="a SQLite file to keep the database in, with --short or --long")
    given = options.parse_args()
    if given.keep and given.short == given.long:
        options.error("--keep goes with one of --short and --long")
    for long in (False, True):
        if (given.long if long else given.short) or given.long == given.short:
            measure(given, long=long)


def measure(given: argparse.Namespace, *, long: bool) -> None:
    """Ask the questions at every size, among short turns of others or long ones."""
    scale, server = load_harness("scale"), None
    sizes = [*given.rows, *([1_000_000] if given.million and not long else [])]
    print(f"\n### {given.target} among {'long' if long else 'short'} turns of others, {given.engine}\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="scale-") as folder:
        url = f"sqlite:///{given.keep or folder + '/scale.db'}"
        if given.engine != "sqlite":
            server = SERVERS[given.engine](options={"innodb_buffer_pool_size": "1500M"}).start()
            url = server.create_database("scale")
        persona = None
        try:
            persona = Persona(url)
            asked = scale.ask

            def ask(*args: Any) -> Any:
                began = time.perf_counter()
                persona.ready()
                say(f"{persona.stored:,} rows, made ready in {time.perf_counter() - began:.1f} s")
                say(describe_room(bytes_by_table(persona.db), persona.stored, persona.text_bytes))
                return asked(*args)

            scale.ask = ask
            began = time.perf_counter()
            scale.run(persona, data_folder(), given.target, given.filler, sizes, given.questions, long=long)
            say(f"{time.perf_counter() - began:.0f} s in all")
        finally:
            if persona is not None:
                persona.db.close()
            if server is not None:
                server.stop()


if __name__ == "__main__":
    main()
