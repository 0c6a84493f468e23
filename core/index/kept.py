"""A cache of the search tables of a database: values in use, and those used last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    """What can be kept."""

    @property
    def size(self) -> int:
        """Return how many bytes it takes."""


K = TypeVar("K")
V = TypeVar("V", bound=Sized)


class Kept(Generic[K, V]):
    """Values by key, those used last behind the others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.held: OrderedDict[K, V] = OrderedDict()

    def list_held(self) -> dict[K, V]:
        """Return all that is kept."""
        with self._lock:
            return dict(self.held)

    def keep(self, in_use: Mapping[K, V], most_bytes: int, most: int, outdated: Collection[K] = ()) -> None:
        """Keep all values in use; drop outdated values, and the least recently used above the bounds."""
        with self._lock:
            for key, one in in_use.items():
                self.held[key] = one
                self.held.move_to_end(key)
            size = sum(one.size for one in self.held.values())
            for key in [key for key in self.held if key not in in_use]:
                if key in outdated or size > most_bytes or len(self.held) > most:
                    size -= self.held.pop(key).size
