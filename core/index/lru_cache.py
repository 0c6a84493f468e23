"""A cache of parsed search tables: it keeps the values in use, and the most recently used other values."""

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import Generic, Protocol, TypeVar

MOST_BYTES = 64 * 2**20
"""Maximum number of bytes that a cache holds; values in use are held whatever their size."""
MOST_HELD = 1000
"""Maximum number of values that a cache holds; values in use are held whatever their number."""


class Sized(Protocol):
    @property
    def size(self) -> int:
        """Return the size in bytes."""


K = TypeVar("K")
V = TypeVar("V", bound=Sized)


class LruCache(Generic[K, V]):
    """Values by key, in order of use; the most recently used is last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.held: OrderedDict[K, V] = OrderedDict()

    def list_held(self) -> dict[K, V]:
        with self._lock:
            return dict(self.held)

    def keep(self, in_use: Mapping[K, V], outdated: Collection[K] = ()) -> None:
        """Add the values in use; drop outdated values and, above the limits, the least recently used ones."""
        with self._lock:
            for key, one in in_use.items():
                self.held[key] = one
                self.held.move_to_end(key)
            size = sum(one.size for one in self.held.values())
            for key in [key for key in self.held if key not in in_use]:
                if key in outdated or size > MOST_BYTES or len(self.held) > MOST_HELD:
                    size -= self.held.pop(key).size
