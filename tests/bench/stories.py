"""Stories: what a refresh after one new message costs in a chat of 100 and of 10,000 messages.

`python -m tests.bench.stories [engine ...]`; sqlite, or servers as the other benchmarks start them.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import event

from core import chat_history_cache, stories
from core import db as core_db
from core.config import Settings
from core.database.engine import Database
from core.database.schema_stories import message_recaps, scenes
from core.messages import new_message as messages
from core.messages import table_batches as chat_batches
from core.messages.table_recaps import OWN
from core.scope import Scope
from tests.bench.figures import Times, load, percentile, table
from tests.bench.generator import NOW
from tests.bench.loading import SQLITE, say
from tests.servers import SERVERS

SIZES = (100, 10_000)
ROUNDS = 30
SCENE = 40
"""Messages of a scene; of the scenes that have ended the newest stays visible."""


class Counter:
    """Counts words, and how often it was asked."""

    __name__ = "words"

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, text: str) -> int:
        self.asked += 1
        return len(text.split())


def measure(engines: Sequence[str]) -> None:
    """Print statements, texts counted and milliseconds of a refresh, by size of the chat."""
    lines: list[list[object]] = []
    for engine in engines:
        say(f"measuring: stories on {engine}")
        with tempfile.TemporaryDirectory(prefix="bench-stories-") as folder:
            if engine == SQLITE:
                lines += _engine(engine, f"sqlite:///{folder}/s.db")
                continue
            with SERVERS[engine](options={"innodb_buffer_pool_size": "512M"}, durable=True) as server:
                lines += _engine(engine, server.create_database("stories"))
    print(f"\n### A refresh after one new message with its recap, {load()}\n")
    head = ["engine", "messages", "read", "written", "texts counted", "refresh ms p50", "p95", "second refresh ms p50",
            "of the smallest"]  # fmt: skip
    print(table(head, lines))


def _engine(engine: str, url: str) -> list[list[object]]:
    db = core_db.open_database(url)
    found: list[list[object]] = []
    for size in SIZES:
        found.append([engine, size, *_cost(db, size)])
        found[-1].append(f"{found[-1][5] / found[0][5]:.2f} x")  # type: ignore[operator]
    db.close()
    return found


def _cost(db: Database, size: int) -> list[object]:
    """Return the cost of one refresh, after a message with a recap was added to a chat of this size."""
    scope, key = Scope("stories"), f"bench/{size}"
    settings = Settings(message_length_threshold=1)
    asked: dict[str, Any] = {"db": db, "settings": settings, "scope": scope}
    fill(db, scope, key, size)
    counter, first, second = Counter(), Times(), Times()
    stories.refresh_memory(key, counter=counter, **asked)
    reads, writes, counted = [], [], []
    for n in range(ROUNDS):
        at = NOW + timedelta(minutes=size + n)
        saved = chat_history_cache.save_chat_message(key, f"one more, number {n}", "P", "u1", at, **asked)
        counter.asked = 0
        stories.set_data(saved.id, "memory", f"and then {n}", counter=counter, **asked)
        with db.traced() as read, _written(db) as written:
            first.run(lambda: stories.refresh_memory(key, counter=counter, **asked))
        reads.append(len(read))
        writes.append(len(written))
        counted.append(counter.asked)
        second.run(lambda: stories.refresh_memory(key, counter=counter, **asked))
    return [_one(reads), _one(writes), _one(counted), first.p50, first.p95, second.p50]


def _one(counts: Sequence[int]) -> str:
    """Return a count as it was in every round, or from least to most."""
    ordered = sorted(counts)
    least, most = percentile(ordered, 0), percentile(ordered, 1)
    return str(int(least)) if least == most else f"{least:.0f} to {most:.0f}"


class _written:  # noqa: N801 - used like the functions beside it
    """Collects the statements that write."""

    def __init__(self, db: Database) -> None:
        self._engine = db.engines()[1]
        self._found: list[str] = []

    def _note(self, _c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(("INSERT", "UPDATE", "DELETE")):
            self._found.append(statement)

    def __enter__(self) -> list[str]:
        event.listen(self._engine, "before_cursor_execute", self._note)
        return self._found

    def __exit__(self, *_: object) -> None:
        event.remove(self._engine, "before_cursor_execute", self._note)


def fill(db: Database, scope: Scope, key: str, size: int) -> None:
    """Store a chat with a recap of every message and a scene break every SCENE messages."""
    made = []
    for n in range(size):
        one = messages.read_message(
            scope, key, f"message number {n} of a long story", now=NOW, sender_id=f"u{n % 3}",
            sender_name=f"P{n % 3}", timestamp=NOW + timedelta(minutes=n),
        )  # fmt: skip
        assert one is not None
        made.append(one)
    rows = [result.id for result in chat_batches.insert_messages(db, scope, made, privacy_default="none")]
    recaps = [
        {"persona_id": scope.persona, "message_row": row, "alternative": OWN, "conversation_key": key,
         "memory": f"what happened in part {n}, told in a dozen words or so", "token_count": 12, "counter": "words"}
        for n, row in enumerate(rows)
    ]  # fmt: skip
    breaks = [
        {"id": db.ids.one(), "persona_id": scope.persona, "conversation_key": key, "break_row": rows[n]}
        for n in range(SCENE - 1, size, SCENE)
    ]
    for start in range(0, size, 1000):
        part = recaps[start : start + 1000]
        db.transaction(lambda c, part=part: c.execute(message_recaps.insert(), part), source="message_recaps")  # type: ignore[misc]
    db.transaction(lambda c: c.execute(scenes.insert(), breaks), source="scenes")


if __name__ == "__main__":
    measure(sys.argv[1:] or [SQLITE, "mariadb"])
