"""Row ids made by the application: whole numbers that rise with time, so that sorting by id sorts by creation."""

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
"""Number of low bits of an id that hold the counter; the bits above them hold the milliseconds."""
_START = datetime(2025, 1, 1, tzinfo=UTC)
_END = (1 << 41) - (1 << 20)
"""Limit in milliseconds since 2025, a date in 2094: a later clock is wrong, since its ids would exceed 2**53."""
_LOST_CLOCK_BITS = 42
"""Bits of an id made with a wrong clock. Its time is in early 2025, before this program had users."""
_WRITES = 5


class Ids:
    """Makes 53-bit ids: milliseconds since 2025 in the upper 41 bits, and below them a counter with a random start.

    Two processes may make the same id at the same moment; `retry_duplicates` then repeats the second write.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._last = 0
        self._lock = threading.Lock()

    def take(self, count: int = 1) -> list[int]:
        if count < 1:
            return []
        milliseconds = int((self._clock() - _START).total_seconds() * 1000)
        if not 0 < milliseconds < _END:
            milliseconds = 0
        with self._lock:
            if not (milliseconds or self._last):
                # The clock is out of range: each process starts at a random id below all ids of a right clock.
                first = secrets.randbelow(1 << _LOST_CLOCK_BITS) + 1
            elif milliseconds > self._last >> BITS:
                first = (milliseconds << BITS) + secrets.randbelow(1 << (BITS - 1))
            else:
                first = self._last + 1
            self._last = first + count - 1
            return list(range(first, self._last + 1))

    def jump(self) -> None:
        with self._lock:
            self._last += secrets.randbelow(1 << BITS)

    def one(self) -> int:
        return self.take()[0]


def another_id(row_id: int) -> int:
    """Return another id of the same millisecond."""
    return row_id >> BITS << BITS | secrets.randbelow(1 << BITS)


def first_of(moment: datetime) -> int:
    """Return the lowest id that a row made at this time can have."""
    return max(0, int((moment - _START).total_seconds() * 1000)) << BITS


def retry_duplicates(write: Callable[P, T]) -> Callable[P, T]:
    """Decorate a write so that it runs again, with another `row_id` if it takes one, when its id is already in use."""

    @functools.wraps(write)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        named: dict[str, Any] = kwargs
        for _ in range(_WRITES - 1):
            try:
                return write(*args, **kwargs)
            except DuplicateKeyError:
                if named.get("row_id") is not None:  # another of the same millisecond, older than a later `forget`
                    named["row_id"] = another_id(named["row_id"])
        return write(*args, **kwargs)

    return run


def made_at(row_id: int) -> datetime:
    """Return the time, to the millisecond, at which an id was made."""
    return _START + timedelta(milliseconds=row_id >> BITS)
