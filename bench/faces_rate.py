"""Requests to the proxy at a rate: which one can be held, and what becomes of the server while it is.

Each request begins at its time whatever the others do, as those of many people would. A rate is held while every
request is answered with its memory and no queue builds up.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx2

from bench.figures import judged, percentile
from bench.loading import say
from bench.messages import messages

SECONDS = float(os.environ.get("FACES_SECONDS", "30"))
RATES = (5, *range(10, 201, 10))
STEP_SECONDS = 6.0
RUNAWAY_MS = 500.0
"""A rate at which one request in twenty waits longer than this is not held: a queue builds up."""
BURST, BURST_SECONDS = 1000, 0.1
"""Requests that come at once, as after a start: each waits, and keeps its memory."""
SHARE = 0.8
"""Of the rate that was held for a step, what is held for long."""
CHATS = 50
"""Conversations of which the requests come in turn, each of a user of its own."""
SENTENCES = 40_000
"""No conversation hears one twice in ten minutes: whoever says the same four over and over has each search rank all
that was said before, which is not what is measured."""
WANTED = 100
GROWTH = 1.10
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Load:
    """What came of the requests of one time."""

    clock: list[float] = field(default_factory=list)
    """Milliseconds of each."""
    errors: Counter[str] = field(default_factory=Counter)
    without_memory: int = 0
    cpu_ms: float = 0.0
    """Of the server's processes, for each request."""

    @property
    def p50(self) -> float:
        """Return the median."""
        return percentile(self.clock, 0.5)

    @property
    def p95(self) -> float:
        """Return the 95th percentile."""
        return percentile(self.clock, 0.95)

    @property
    def is_held(self) -> bool:
        """Return whether every request was answered with its memory, and in time."""
        return not self.errors and not self.without_memory and self.p95 <= RUNAWAY_MS

    def show(self) -> list[object]:
        """Return the cells of a table."""
        failed = ", ".join(f"{count} {name}" for name, count in self.errors.items())
        answered = len(self.clock) - self.errors.total()
        share = f"{1 - self.without_memory / max(1, answered):.0%}"
        return [answered, failed or 0, share, self.p50, self.p95, self.cpu_ms]


_HEAD = ["answers", "errors", "with memory", "p50 ms", "p95 ms", "server's CPU ms each"]


class Target:
    """A running server and the client that asks it, as a context manager.

    Args:
        url: where it listens.
        token: of a host.
        who: what the ids of users begin with.
        pids: of the server's processes.
    """

    def __init__(self, url: str, token: str, who: str, pids: list[int]) -> None:
        self._url, self._token, self._who, self._pids = url, token, who, pids
        self._texts = [each.text for each in messages(SENTENCES)]
        self._sent = 0
        limits = httpx2.Limits(max_connections=None)
        self._client = httpx2.AsyncClient(timeout=120, trust_env=False, limits=limits)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def send(self, rate: float, seconds: float, *, tell_seconds: float = 10.0) -> Load:
        """Return what came of so many requests a second; ends when the last one is answered."""
        result = Load()
        total, told = max(1, int(seconds * rate)), tell_seconds
        tasks: set[asyncio.Task[None]] = set()
        cpu, began = self._read_cpu_ms(), time.monotonic()
        for number in range(total):
            await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
            task = asyncio.create_task(self._ask(result))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            if time.monotonic() - began > told and result.clock:
                told += tell_seconds
                answered = f"{len(result.clock):,} of {total:,} answered, p95 {result.p95:.0f} ms"
                failed = f"{result.errors.total()} errors, {result.without_memory} without memory"
                say(f"    {answered}, {failed}, {len(tasks)} under way, {self.megabytes():.0f} MB")
        if tasks:
            await asyncio.wait(tasks)
        result.cpu_ms = (self._read_cpu_ms() - cpu) / total
        return result

    async def _ask(self, result: Load) -> None:
        number, self._sent = self._sent, self._sent + 1
        head = {"Authorization": f"Bearer {self._token}", "X-User-Id": f"{self._who}{number % CHATS}"}
        text = f"{self._texts[number % len(self._texts)]} {number}"
        body = {"model": "m", "messages": [{"role": "user", "content": text}]}
        began = time.perf_counter()
        try:
            answer = await self._client.post(f"{self._url}/v1/chat/completions", json=body, headers=head)
            if answer.status_code != 200:
                result.errors[str(answer.status_code)] += 1
            elif answer.headers.get("x-memory") not in ("used", "empty"):
                result.without_memory += 1
        except httpx2.HTTPError as error:
            result.errors[type(error).__name__] += 1
        result.clock.append(1000 * (time.perf_counter() - began))

    def megabytes(self) -> float:
        """Return what the server's processes hold in memory."""
        total = 0
        for pid in self._pids:
            status = Path(f"/proc/{pid}/status")
            if status.exists():
                lines = [line for line in status.read_text().splitlines() if line.startswith("VmRSS:")]
                total += sum(int(line.split()[1]) for line in lines)
        return total / 1024

    def _read_cpu_ms(self) -> float:
        fields = [_read_stat(pid) for pid in self._pids]
        return sum(1000 / _TICK * (int(each[11]) + int(each[12])) for each in fields if each)


def _read_stat(pid: int) -> list[str]:
    """Return the fields of a process behind its name, none where there is no such process."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


async def find_rate(target: Target) -> tuple[float, Sequence[str], list[list[object]]]:
    """Return the highest rate that was held, 0 for none, and a table of all that were tried."""
    await target.send(RATES[0], STEP_SECONDS)  # connections, threads, what a process keeps
    held, rows = 0.0, list[list[object]]()
    for rate in RATES:
        step = await target.send(rate, STEP_SECONDS)
        rows.append([rate, *step.show(), "yes" if step.is_held else "NO"])
        say(f"  {rate} requests a second for {STEP_SECONDS:g} s: p50 {step.p50:.0f}, p95 {step.p95:.0f} ms")
        if not step.is_held:
            break
        held = rate
    burst = await target.send(BURST / BURST_SECONDS, BURST_SECONDS)
    rows.append([f"{BURST} at once", *burst.show(), ""])
    return held, ["a second", *_HEAD, "held"], rows


async def hold_rate(target: Target, rate: float) -> tuple[Sequence[str], list[object]]:
    """Return the table of SHARE of a rate held for SECONDS."""
    before = target.megabytes()
    result = await target.send(rate * SHARE, SECONDS)
    after = target.megabytes()
    kept = [
        judged(rate * SHARE, WANTED, least=True) + " a second",
        f"no error: {'NO' if result.errors or result.without_memory else 'yes'}",
        judged(after / max(before, 1.0), GROWTH) + " of the memory before",
    ]
    return [*_HEAD, "MB before", "MB after", "promised"], [*result.show(), before, after, "; ".join(kept)]
