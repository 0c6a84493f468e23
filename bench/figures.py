"""Percentiles, and tables for people."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of all lies, of the values themselves.

    >>> percentile([3, 1, 2, 4], 0.5), percentile([7], 0.95)
    (3, 7)
    """
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass
class Times:
    """Milliseconds of one thing done many times: on the clock, and of this process's CPU."""

    clock: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def run(self, work: Callable[[], Any]) -> Any:
        """Do it once more and return what it gives."""
        cpu, clock = time.process_time(), time.perf_counter()
        result = work()
        self.clock.append(1000 * (time.perf_counter() - clock))
        self.cpu.append(1000 * (time.process_time() - cpu))
        return result

    @property
    def p50(self) -> float:
        """Return the median on the clock."""
        return percentile(self.clock, 0.5)

    @property
    def p95(self) -> float:
        """Return the 95th percentile on the clock."""
        return percentile(self.clock, 0.95)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown; numbers with a fraction get two places, from 100 on none.

    >>> print(table(["a", "ms"], [["x", 1.234], ["y", 512.3]]))
    | a | ms |
    |---|---|
    | x | 1.23 |
    | y | 512 |
    """

    def cell(value: object) -> str:
        if isinstance(value, float):
            return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"
        return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)

    lines = [head, *([cell(v) for v in row] for row in rows)]
    made = ["| " + " | ".join(line) + " |" for line in lines]
    made.insert(1, "|" + "---|" * len(head))
    return "\n".join(made)


def judged(value: float, limit: float, *, least: bool = False) -> str:
    """Return how a figure stands to what is promised.

    >>> judged(8.0, 10), judged(12.0, 10), judged(900, 500, least=True)
    ('at most 10: yes', 'at most 10: NO', 'at least 500: yes')
    """
    met = value >= limit if least else value <= limit
    return f"{'at least' if least else 'at most'} {limit:g}: {'yes' if met else 'NO'}"


QUIET_MS = 28.0
"""CPU time of `pace`'s loop on an idle core of the machine these promises are read for."""


def pace() -> float:
    """Return how fast plain Python runs now, 1 being an idle core: other programs take from its caches and threads."""
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        total = 0
        for number in range(700_000):
            total += number
        best = min(best, 1000 * (time.process_time() - began))
    return QUIET_MS / best


def load() -> str:
    """Return how busy the machine is, since the figures depend on it."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, plain Python at {pace():.0%} of an idle core"
