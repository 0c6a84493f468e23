"""Writing messages: in batches, and by six writers at once, on servers that flush every commit to the disk."""

from __future__ import annotations

import multiprocessing
import random
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import timedelta

from sqlalchemy import func, select

from bench.figures import Times, judged, load, percentile, table
from bench.generator import NOW
from bench.loading import SQLITE, say
from bench.words import vocabulary, zipf_table
from core import chat_history_cache
from core import db as core_db
from core.database.engine import Database
from core.database.schema import chat_history_cache as table_of_messages
from core.errors import CoreError
from core.index.state import IndexState
from core.messages import new_message as messages
from core.messages import table_batches as chat_batches
from core.scope import Scope
from tests.servers import SERVERS

BATCH = 500
WRITERS = 6
SAVES = 10_000
"""Messages saved one after the other."""
_SAVE_MS = {SQLITE: 2.0, "mariadb": 3.0, "mysql": 3.0}


def texts(count: int, seed: int) -> list[str]:
    """Return texts of 10 to 14 words of the benchmark's language."""
    rng = random.Random(seed)
    words, numbers = vocabulary(), zipf_table(len(vocabulary()), 1 << 18)
    return [" ".join(words[n] for n in rng.choices(numbers, k=rng.randint(10, 14))) for _ in range(count)]


def made(scope: Scope, conversation: str, said: Sequence[str], first: int = 0) -> list[messages.NewMessage]:
    """Return new messages of a conversation, a second apart."""
    found = []
    for n, text in enumerate(said, first):
        at = NOW + timedelta(seconds=n)
        one = messages.read_message(
            scope, conversation, text, now=NOW, sender_id=f"u{n % 7}", sender_name=f"P{n % 7}", timestamp=at,
            message_id=f"m{n}",
        )  # fmt: skip
        assert one is not None
        found.append(one)
    return found


def measure(engines: Sequence[str], rows: int = 10_000) -> None:
    """Print how many messages a second are stored with every index table, and how long one takes."""
    lines, saves, crowd = [], [], []
    for engine in engines:
        say(f"measuring: writing on {engine}")
        with tempfile.TemporaryDirectory(prefix="bench-writing-") as folder:
            if engine == SQLITE:
                _one(engine, f"sqlite:///{folder}/w.db", rows, lines, saves, crowd)
                continue
            options = {"innodb_buffer_pool_size": "512M"}
            with SERVERS[engine](options=options, durable=True) as server:
                _one(engine, server.create_database("writing"), rows, lines, saves, crowd)
    print(f"\n### Writing messages with every index table, {load()}\n")
    print(table(["engine", "how", "messages", "a second", "promised"], lines))
    print(f"\n### {SAVES:,} messages saved one after the other, packing included\n")
    print(table(["engine", "p50 ms", "p95 ms", "longest ms", "CPU here ms", "promised"], saves))
    print(f"\n### {WRITERS} writers at once\n")
    head = ["engine", "writers", "messages", "a second", "stored", "index rows agree", "errors"]
    print(table(head, crowd))


def _one(
    engine: str, url: str, rows: int, lines: list[list[object]], saves: list[list[object]], crowd: list[list[object]]
) -> None:
    db = core_db.open_database(url)
    scope = Scope("writer")
    ready = made(scope, "bench/c1", texts(rows, 3))
    chat_batches.insert_messages(db, scope, ready[:BATCH], privacy_default="none")
    began = time.perf_counter()
    chat_batches.insert_messages(db, scope, ready[BATCH:], privacy_default="none")
    rate = (rows - BATCH) / (time.perf_counter() - began)
    promised = judged(rate, 1000, least=True) if engine == "mariadb" else ""
    lines.append([engine, f"batches of {BATCH}", rows - BATCH, rate, promised])
    saves.append(_save_one_by_one(db, scope, engine))
    db.close()
    crowd.extend(_crowd(engine, url, kind) for kind in ("threads", "processes"))


def _save_one_by_one(db: Database, scope: Scope, engine: str) -> list[object]:
    times, save = Times(), chat_history_cache.save_chat_message
    for n, text in enumerate(texts(SAVES, 4)):
        times.run(
            lambda n=n, text=text: save("bench/one", text, "P", f"u{n % 7}", message_id=f"x{n}", db=db, scope=scope)
        )  # type: ignore[misc]
    longest = max(times.clock)
    promised = f"{judged(times.p50, _SAVE_MS[engine])} ms; longest {judged(longest, 150)} ms"
    return [engine, times.p50, times.p95, longest, percentile(times.cpu, 0.5), promised]


# Several writers


def _crowd(engine: str, url: str, kind: str, each: int = 400) -> list[object]:
    persona = f"crowd-{kind}"
    began = time.perf_counter()
    if kind == "threads":
        db = core_db.open_database(url)
        start = threading.Barrier(WRITERS)
        with ThreadPoolExecutor(WRITERS) as pool:
            found = list(pool.map(lambda n: _write(db, persona, n, each, start), range(WRITERS)))
    else:
        with ProcessPoolExecutor(WRITERS, mp_context=multiprocessing.get_context("spawn")) as pool:
            found = list(pool.map(_write_alone, [(url, persona, n, each) for n in range(WRITERS)]))
        db = core_db.open_database(url)
    seconds = time.perf_counter() - began
    errors = [error for one in found for error in one]
    c = table_of_messages.c
    stored = db.read(select(func.count()).where(c.persona_id == persona), source="chat_history_cache")[0][0]
    audiences = select(c.audience_id).where(c.persona_id == persona).distinct()
    indexed, _ = IndexState(db, [row[0] for row in db.read(audiences, source="audiences")]).count_rows(range(3))
    db.close()
    wanted = WRITERS * each
    complete = "all" if stored == wanted else f"LOST {wanted - stored}"
    return [engine, kind, wanted, wanted / seconds, complete, "yes" if indexed == stored else f"NO, {indexed}",
            ", ".join(sorted(set(errors))) or "none"]  # fmt: skip


def _write_alone(given: tuple[str, str, int, int]) -> list[str]:
    url, persona, number, each = given
    db = core_db.open_database(url)
    try:
        return _write(db, persona, number, each, None)
    finally:
        db.close()


def _write(db: Database, persona: str, number: int, each: int, start: threading.Barrier | None) -> list[str]:
    """Write in batches of 50, every other batch to a conversation that all writers share; return what went wrong."""
    scope = Scope(persona)
    said = texts(each, 100 + number)
    if start is not None:
        start.wait()
    errors = []
    for first in range(0, each, 50):
        shared = first // 50 % 2
        key = "bench/shared" if shared else f"bench/own{number}"
        ready = made(scope, key, said[first : first + 50], number * 100_000 + first)
        try:
            results = chat_batches.insert_messages(db, scope, ready, privacy_default="none")
            errors += [r.reason for r in results if not r.stored]
        except CoreError as error:
            errors.append(f"{type(error).__name__} {getattr(error, 'number', '')}".strip())
    return errors
