"""Groups values by key."""

from collections.abc import Iterable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def group(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Group values by key; keys and values keep their order."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups
