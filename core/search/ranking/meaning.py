"""What the meaning of a row and of the turns around it tells, where there is an embedder (docs/embeddings.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .neighbours import Threads, touch
from .rows import Row

BEFORE, AFTER = 2, 1
"""Turns before a row and after it that are read as one text with it."""

AsOne = Callable[[Sequence[Sequence[Any]]], Sequence[float]]
"""Returns what the vectors of each group are worth as those of one text, on the scale of `Row.meaning`."""


class Meaning(Protocol):
    """How near rows are to what is asked: 0 for as near as the others, about 1 for very near."""

    @property
    def share(self) -> float:
        """Return how far meaning stands beside the words, 0 to 1."""

    def of(self, source: int, row_id: int) -> float:
        """Return what the meaning of a row is worth; 0 where nothing is known of it."""

    def vectors(self, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Any]:
        """Return the vectors of rows, each of length 1, as far as they are known."""

    def as_one(self, groups: Sequence[Sequence[Any]]) -> list[float]:
        """Return what the vectors of each group are worth as those of one text."""


def meanings(found: Threads, as_one: AsOne) -> None:
    """Give each row the reasons `meaning`, `meaning_near` and `meaning_after`; what is unknown or 0 is left out."""
    rows: list[Row] = []
    groups: list[list[Any]] = []
    for of_thread in found:
        for session in of_thread:
            for n, row in enumerate(session):
                reasons, start, end = row.reasons, n, n
                reasons["meaning"] = row.meaning
                while start > 0 and n - start < BEFORE and touch(session[start - 1], session[start]):
                    start -= 1
                while end + 1 < len(session) and end - n < AFTER and touch(session[end], session[end + 1]):
                    end += 1
                if end > n and session[n + 1].meaning:
                    reasons["meaning_after"] = session[n + 1].meaning
                group = [one.vector for one in session[start : end + 1] if one.vector is not None]
                if group:
                    rows.append(row)
                    groups.append(group)
    for row, value in zip(rows, as_one(groups), strict=True):
        if value:
            row.reasons["meaning_near"] = value
