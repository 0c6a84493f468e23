"""How often each memory was shown, and when last: counted in batches, never in the way of a prompt."""

from __future__ import annotations

import atexit
import functools
import threading
import time
import weakref
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from weakref import WeakSet

from sqlalchemy import Connection, bindparam, select

from ..base import logs
from ..database.dialects import upsert
from ..database.engine import Database
from ..database.schema import memory_recalls
from ..errors import StoreError
from ..scope import Scope

WAIT_SECONDS = 2.0
"""What was counted is written this long after it was counted first."""
_MOST_WAITING = 100_000
_TURN = timedelta(minutes=15)
"""A turn nobody answered is over after this time."""
_MOST_TURNS = 10_000

_CACHE = "recalls"
_open: WeakSet[Database] = WeakSet()


class _Buffer:
    """What waits to be written for one database."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.writing = threading.Lock()
        self.counts: Counter[tuple[str, int]] = Counter()
        self.last: dict[tuple[str, int], datetime] = {}
        self.thread: threading.Thread | None = None
        self.failed = False
        self.turns: OrderedDict[tuple[str, str], tuple[datetime, frozenset[bytes]]] = OrderedDict()
        """Those begun first come first; a turn that is over goes with the next one."""


MOST_ID = 2**63


def record(db: Database, persona: str, memory_ids: Iterable[int]) -> None:
    """Count memories that were shown in one prompt."""
    wanted = {row for row in memory_ids if isinstance(row, int) and 0 < row < MOST_ID}
    if not wanted:
        return
    buffer, now = _buffer(db), db.clock()
    with buffer.lock:
        for row_id in wanted:
            key = persona, row_id
            if len(buffer.counts) < _MOST_WAITING or key in buffer.counts:
                buffer.counts[key] += 1
                buffer.last[key] = now
        if buffer.thread is None:
            buffer.thread = threading.Thread(
                target=_later, args=(db, buffer), name="prompt-engine-recalls", daemon=True
            )
            buffer.thread.start()


def _later(db: Database, buffer: _Buffer) -> None:
    time.sleep(WAIT_SECONDS)
    with buffer.lock:
        buffer.thread = None
    flush(db)


def flush(db: Database) -> int:
    """Write what was counted, and return of how many memories. A failure is logged once and the counts are kept."""
    buffer = _buffer(db)
    with buffer.writing:
        with buffer.lock:
            counts, last = buffer.counts, buffer.last
            buffer.counts, buffer.last = Counter(), {}
        if not counts:
            return 0
        rows = [
            {"persona_id": persona, "memory_id": row_id, "recalled": counts[persona, row_id],
             "last_recalled_at": last[persona, row_id]}
            for persona, row_id in sorted(counts)
        ]  # fmt: skip

        def work(connection: Connection) -> int:
            connection.execute(upsert(memory_recalls, db.family, update=["last_recalled_at"], add=["recalled"]), rows)
            return len(rows)

        try:
            written = db.transaction(work, source="memory_recalls")
        except StoreError as error:
            _put_back(buffer, counts, last)
            if not buffer.failed:
                buffer.failed = True
                logs.warning("recalls_not_written", source=error.source, number=error.number, waiting=len(rows))
            return 0
        buffer.failed = False
        return written


def _put_back(buffer: _Buffer, counts: Counter[tuple[str, int]], last: dict[tuple[str, int], datetime]) -> None:
    with buffer.lock:
        counts.update(buffer.counts)
        buffer.counts, buffer.last = counts, {**last, **buffer.last}


def read(db: Database, persona: str, memory_ids: Sequence[int]) -> dict[int, int]:
    """Return how often each memory was shown, those never shown left out; what waits is written first."""
    flush(db)
    found = db.read(_READ, {"persona": persona, "ids": list(memory_ids)}, source="memory_recalls") if memory_ids else ()
    return {row.memory_id: row.recalled for row in found}


_READ = select(memory_recalls.c.memory_id, memory_recalls.c.recalled).where(
    memory_recalls.c.persona_id == bindparam("persona"),
    memory_recalls.c.memory_id.in_(bindparam("ids", expanding=True)),
)


# The turn at hand


def note_turn(db: Database, scope: Scope, digests: Iterable[bytes]) -> None:
    """Keep which texts were recalled for the turn of the scope's conversation, in place of those of the turn before."""
    buffer, now, turn = _buffer(db), db.clock(), (scope.persona, scope.conversation or "")
    with buffer.lock:
        turns = buffer.turns
        turns.pop(turn, None)
        while turns and (len(turns) >= _MOST_TURNS or abs(now - next(iter(turns.values()))[0]) >= _TURN):
            turns.popitem(last=False)
        turns[turn] = now, frozenset(digests)


def read_turn(db: Database, scope: Scope) -> frozenset[bytes]:
    """Return the digests of what was recalled for the turn at hand; none once the turn is long over."""
    held = _buffer(db).turns.get((scope.persona, scope.conversation or ""))
    if held is None or abs(db.clock() - held[0]) >= _TURN:
        return frozenset()
    return held[1]


def forget(db: Database, persona: str, memory_ids: Iterable[int]) -> None:
    """Drop what is kept of a persona's turns, and what was counted of memories that are gone."""
    buffer = _buffer(db)
    with buffer.lock:
        for turn in [key for key in buffer.turns if key[0] == persona]:
            del buffer.turns[turn]
        for row_id in memory_ids:
            buffer.counts.pop((persona, row_id), None)
            buffer.last.pop((persona, row_id), None)


def _buffer(db: Database) -> _Buffer:
    buffer: Any = db.caches.get(_CACHE)
    if buffer is None:
        buffer = db.caches.setdefault(_CACHE, _Buffer())
        if db not in _open:
            _open.add(db)
            db.at_close.append(functools.partial(_flush_referred, weakref.ref(db)))
    return buffer  # type: ignore[no-any-return]


def _flush_referred(referred: weakref.ref[Database]) -> None:
    if (db := referred()) is not None:
        flush(db)


@atexit.register
def _at_the_end() -> None:
    for db in list(_open):
        if _CACHE in db.caches:
            flush(db)
