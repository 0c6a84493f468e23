"""Row ids made by the application: whole numbers that rise with time, so the order of ids is the order of making."""

from __future__ import annotations

import functools
import secrets
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, ParamSpec, TypeVar

from ..errors import DuplicateKeyError

P = ParamSpec("P")
T = TypeVar("T")

BITS = 12
"""Bits of an id below its milliseconds."""
_START = datetime(2025, 1, 1, tzinfo=UTC)
_END = (1 << 41) - (1 << 20)
"""Milliseconds since the start, in 2094, from which on a clock is lost: its ids would be above 2**53."""
_LOST_CLOCK_BITS = 42
"""Ids below this are of the first twelve days of 2025, when nobody used this program."""
_WRITES = 5
"""Times a write is run beside others that store the same id."""


class Ids:
    """Makes ids of 53 bits: milliseconds since 2025 in the upper 41, below them a random start and then one more each.

    Two processes may make the same id at the same moment: `retry_duplicates` runs the write of the second again.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._last = 0
        self._lock = threading.Lock()

    def take(self, count: int = 1) -> list[int]:
        """Return `count` new ids, rising."""
        if count < 1:
            return []
        milliseconds = int((self._clock() - _START).total_seconds() * 1000)
        if not 0 < milliseconds < _END:
            milliseconds = 0
        with self._lock:
            if not (milliseconds or self._last):
                # A clock before the start or after the end: each process begins elsewhere, below ids of a right clock.
                first = secrets.randbelow(1 << _LOST_CLOCK_BITS) + 1
            elif milliseconds > self._last >> BITS:
                first = (milliseconds << BITS) + secrets.randbelow(1 << (BITS - 1))
            else:
                first = self._last + 1
            self._last = first + count - 1
            return list(range(first, self._last + 1))

    def jump(self) -> None:
        """Leave out ids, because another process makes the same ones at this moment."""
        with self._lock:
            self._last += secrets.randbelow(1 << BITS)

    def one(self) -> int:
        """Return one new id."""
        return self.take()[0]


def another_id(row_id: int) -> int:
    """Return another id of the same millisecond."""
    return row_id >> BITS << BITS | secrets.randbelow(1 << BITS)


def first_of(moment: datetime) -> int:
    """Return the least id that a row made at a time can have."""
    return max(0, int((moment - _START).total_seconds() * 1000)) << BITS


def retry_duplicates(write: Callable[P, T]) -> Callable[P, T]:
    """Run a write again whose new id another process used at the same moment.

    The write makes its ids itself, or has one as `row_id`, which becomes another one of the same millisecond: by its id
    a row is known to be older than a later call of `forget`.
    """

    @functools.wraps(write)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        named: dict[str, Any] = kwargs
        for _ in range(_WRITES - 1):
            try:
                return write(*args, **kwargs)
            except DuplicateKeyError:
                if named.get("row_id") is not None:
                    named["row_id"] = another_id(named["row_id"])
        return write(*args, **kwargs)

    return run


def made_at(row_id: int) -> datetime:
    """Return the millisecond in which an id was made."""
    return _START + timedelta(milliseconds=row_id >> BITS)
