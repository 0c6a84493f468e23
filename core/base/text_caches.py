"""Caches for results of functions that take people's texts; forgetting a person empties all these caches."""

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")
_clears: list[Callable[[], None]] = []


def cache_texts(maxsize: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function as `lru_cache` does, so that `forget_texts` can empty the cache of people's texts."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        cached = lru_cache(maxsize=maxsize)(function)
        _clears.append(cached.cache_clear)
        return cast("Callable[P, T]", cached)

    return decorate


def forget_texts() -> None:
    """Empty every cache, so that no forgotten text, name or word stays in memory."""
    for clear in _clears:
        clear()
