"""Row ids made by the application: whole numbers that rise with time, so the order of ids is the order of making."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from ..errors import StoreWriteError
from .failures import DUPLICATE

_START = datetime(2025, 1, 1, tzinfo=UTC)
BITS = 12
"""Bits of an id below its milliseconds."""
_LOST_CLOCK_BITS = 42
"""Ids below this are of the first twelve days of 2025, when nobody used this program."""
TRIES = 5
"""How often rows are stored with new ids, where those of another process were the same."""

T = TypeVar("T")


class Ids:
    """Makes ids of 53 bits, which JSON numbers hold exactly: milliseconds since 2025 in the upper 41, below them a
    random start and then one more each.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._last = 0
        self._lock = threading.Lock()

    def take(self, count: int = 1) -> list[int]:
        """Return `count` new ids, rising."""
        if count < 1:
            return []
        milliseconds = max(0, int((self._clock() - _START).total_seconds() * 1000))
        with self._lock:
            if not (milliseconds or self._last):
                # A clock before the start: each process begins elsewhere, below every id of a clock that is right.
                first = secrets.randbelow(1 << _LOST_CLOCK_BITS) + 1
            elif milliseconds > self._last >> BITS:
                first = (milliseconds << BITS) + secrets.randbelow(1 << (BITS - 1))
            else:
                first = self._last + 1
            self._last = first + count - 1
            return list(range(first, self._last + 1))

    def one(self) -> int:
        """Return one new id."""
        return self.take()[0]


def first_of(moment: datetime) -> int:
    """Return the least id that a row made at a time can have."""
    return max(0, int((moment - _START).total_seconds() * 1000)) << BITS


def store_with_ids(ids: Ids, first: list[int], store: Callable[[list[int]], T]) -> T:
    """Return what `store` gives for the ids, or for new ones where another process stored a row under one of them."""
    for _ in range(TRIES - 1):
        try:
            return store(first)
        except StoreWriteError as error:
            if error.number not in DUPLICATE:
                raise
            first = ids.take(len(first))
    return store(first)
