"""`python -m tests.bench.short_term`: what keeping a turn and reading other channels costs, whatever else is stored.

`--engines sqlite,mariadb` and `--entries 100,100000` choose. On servers every commit is flushed to the disk.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlalchemy import event, insert, text

from core import db as core_db
from core import short_term
from core.audience import table as audiences
from core.audience.rules import AudienceKey
from core.config import Settings
from core.database.bulk import chunks
from core.database.engine import Database
from core.database.schema import conversations
from core.database.schema_recent import short_term_memories
from core.scope import Scope
from core.short_term.shapes import Item
from core.short_term.table_items import build_stored
from tests.bench.figures import Times, judged, load, table
from tests.bench.loading import SQLITE, say
from tests.servers import SERVERS

CHANNELS, USERS, THEIRS = 20, 20, 4
"""Channels and people of a server, and the channels each of them talks in: 80 entries."""
PERSONA = "bench"
PROMISED_MS = 3.0
ROUNDS = 300
LINES = [f"line {n} of a talk about nothing much, some words long" for n in range(9)]


def main() -> int:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.short_term", description=__doc__)
    parser.add_argument("--engines", default="sqlite,mariadb")
    parser.add_argument("--entries", default="100,100000")
    given = parser.parse_args()
    sizes = [int(size) for size in given.entries.split(",")]
    lines: list[list[object]] = []
    for engine in given.engines.split(","):
        with tempfile.TemporaryDirectory(prefix="bench-short-term-") as folder:
            if engine == SQLITE:
                for size in sizes:
                    lines += _measure(engine, f"sqlite:///{folder}/{size}.db", size)
                continue
            with SERVERS[engine](options={"innodb_buffer_pool_size": "512M"}, durable=True) as server:
                for size in sizes:
                    lines += _measure(engine, server.create_database(f"short_{size}"), size)
    head = ["engine", "entries", "what", "p50 ms", "p95 ms", "CPU ms", "promised", "statements", "rows read"]
    print(f"\n### Short-term memory, {load()}\n\n{table(head, lines)}")
    return 0


def _measure(engine: str, url: str, size: int) -> Iterator[list[object]]:
    say(f"measuring: {size:,} entries on {engine}")
    db = core_db.open_database(url)
    fill(db, size)
    given: dict[str, Any] = {"db": db, "settings": Settings(), "scope": Scope(PERSONA)}
    numbers = itertools.count()
    messages = [{"content": line, "sender_id": "s0u0", "speaker": "Ann"} for line in LINES]

    def keep() -> Any:
        place = {"user": "bench/s0u0", "channel": "bench/s0c1", "server": "s0"}
        return short_term.write_turn({**place, "messages": messages}, f"answer {next(numbers)}", **given)

    def first() -> Any:
        place = {"user": "bench/s0u0", "channel": f"bench/new{next(numbers)}", "server": "s0"}
        return short_term.write_turn({**place, "messages": messages}, "answer", **given)

    def read() -> Any:
        return short_term.build_short_term_context("bench/s0u0", "bench/s0c9", "s0", **given)

    for what, work, promised in (
        ("keeping a turn", keep, True),
        ("reading other channels", read, True),
        ("keeping the first turn of a channel", first, False),
    ):
        assert work(), what
        counts = [_costs(db, work) for _ in range(3)][-1]
        times = Times()
        for _ in range(ROUNDS):
            times.run(work)
        judgement = judged(times.p50, PROMISED_MS) if promised and engine == "mariadb" else ""
        cpu = sorted(times.cpu)[len(times.cpu) // 2]
        yield [engine, f"{size:,}", what, times.p50, times.p95, cpu, judgement, *counts]
    db.close()


def fill(db: Database, entries: int) -> None:
    """Store entries of servers with 20 channels and 20 people, as many servers as it takes."""
    servers = max(1, entries // (USERS * THEIRS))
    now = db.clock()
    messages = build_stored([Item("user", line, "Ann", now, who="bench/s0u0") for line in LINES])

    def home(server: int) -> int:
        key = AudienceKey("server", f"s{server}")
        return db.transaction(
            lambda connection: audiences.find_or_make(connection, db, PERSONA, key), source="audiences"
        )

    def row(user: str, channel: str, server: int, audience: int) -> dict[str, Any]:
        return {
            "id": db.ids.one(), "persona_id": PERSONA, "audience_id": audience, "participant_key": user,
            "channel_id": channel, "server_id": f"s{server}", "messages": messages, "last_updated": now,
            "turns_since_summary": 1, "server_name": "", "channel_name": "", "lineage_id": "", "local_only": 0,
        }  # fmt: skip

    rows: list[dict[str, Any]] = []
    rooms: list[dict[str, Any]] = []
    for server in range(servers):
        audience = home(server)
        for c in range(CHANNELS):
            channel = f"bench/s{server}c{c}"
            rooms.append({
                "id": db.ids.one(), "persona_id": PERSONA, "audience_id": audience, "conversation_key": channel,
                "interface": "bench", "chat_id": channel[6:], "server_id": f"s{server}", "created_at": now,
            })  # fmt: skip
        for u in range(USERS):
            for n in range(THEIRS):
                channel = f"bench/s{server}c{(u + n) % CHANNELS}"
                rows.append(row(f"bench/s{server}u{u}", channel, server, audience))
    for target, made in ((conversations, rooms), (short_term_memories, rows)):
        for part in chunks(made, 1000):
            db.transaction(lambda c, t=target, p=part: c.execute(insert(t), p), source=t_name(target))  # type: ignore[misc]
    if db.family == "mysql":
        with db.engines()[0].connect() as connection:
            connection.execute(text("ANALYZE TABLE short_term_memories, conversations, audiences, participants"))


def t_name(target: Any) -> str:
    """Return a table's name."""
    return str(target.name)


def _costs(db: Database, work: Callable[[], Any]) -> tuple[int, object]:
    """Return how many statements a call sends, and how many rows the server's engine reads for it."""
    sent: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    engines = set(db.engines())
    before = _rows_read(db)
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    try:
        work()
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", note)
    after = _rows_read(db)
    return len(sent), "" if before is None or after is None else after - before


def _rows_read(db: Database) -> int | None:
    """Return how many rows the server's engines have been asked for since it started; nobody else uses the server."""
    if db.family == "sqlite":
        return None
    with db.engines()[0].connect() as connection:
        found: Sequence[Any] = connection.execute(text("SHOW GLOBAL STATUS LIKE 'Handler_read%'")).all()
    return sum(int(value) for name, value in found if name.lower() in _HANDLERS)


_HANDLERS = {"handler_read_first", "handler_read_key", "handler_read_last", "handler_read_next", "handler_read_prev",
             "handler_read_rnd", "handler_read_rnd_next"}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
