"""How many tokens texts take, counted once and kept with the counter's name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..config import Settings
from ..database.engine import Database
from ..text.counters import Counter, resolve_counter

_SEPARATORS = __name__
SEPARATOR = "\n"
"""What stands between two recaps."""
_NAME_BYTES = 40
"""Width of the columns `counter` and `token_counter`."""


@dataclass(frozen=True, slots=True)
class Counting:
    """A counter with its name. Two counters of one name are taken for the same: their stored counts are shared."""

    count: Callable[[str], int]
    name: str

    def separator(self, db: Database) -> int:
        """Return the tokens between two recaps, counted once per handle and counter."""
        known: dict[str, int] = db.caches.setdefault(_SEPARATORS, {})
        if self.name not in known:
            known[self.name] = self.count(SEPARATOR)
        return known[self.name]


def choose_counter(counter: Counter | None, settings: Settings) -> Counting:
    """Return the counter to use: the host's, else that of LLM_MODEL, else the estimate; it counts a text once."""
    count, name = resolve_counter(counter, settings.llm_model or None)
    return Counting(functools.cache(count), name.encode("utf-8")[:_NAME_BYTES].decode("utf-8", "ignore"))


def memory_columns(memory: str | None, provenance: str, by: Counting) -> dict[str, Any]:
    """Return the columns of a recap with a new memory, which is no longer stale; its tokens are counted here, once."""
    columns: dict[str, Any] = {"memory": memory, "stale": False, "provenance": provenance}
    if memory is None:
        return {**columns, "include": None, "token_count": None, "counter": ""}
    return {**columns, "token_count": by.count(memory), "counter": by.name}
