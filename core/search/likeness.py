"""What the nearness of rows to a message is worth, once their vectors were compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..index.held_vectors import Part
from .ranking.rows import Place

STEPS = 5.0
"""Standard deviations above the mean that are worth 1."""


class Compared(NamedTuple):
    """Rows that were compared with the message."""

    part: Part
    like: Any
    """The cosine of the best vector of each."""


@dataclass(slots=True)
class Meanings:
    """How near rows are to what is asked: 0 for as near as the others, 1 for STEPS standard deviations nearer."""

    asked: Any
    """The vector of the message: a search that goes deeper does not ask for it again."""
    mean: float
    spread: float
    compared: Sequence[Compared] = ()
    worth: dict[Place, float] = field(default_factory=dict)
    """Of the rows that were asked for by `know`."""

    @property
    def share(self) -> float:
        """Return how far meaning stands beside the words, 0 to 1; 0 where no row has a vector."""
        return 1.0 if self.compared else 0.0

    def know(self, places: Sequence[Place]) -> None:
        """Find out what the meaning of rows is worth."""
        for one in self.compared:
            rows = one.part.find(places)
            like = self.scaled(one.like[[n for _, n in rows]]).tolist() if rows else ()
            for (place, _), worth in zip(rows, like, strict=True):
                self.worth[place] = max(worth, self.worth.get(place, 0.0))

    def of(self, source: int, row_id: int) -> float:
        """Return what the meaning of a row is worth; 0 where nothing is known of it."""
        return self.worth.get((source, row_id), 0.0)

    def vectors(self, places: Sequence[Place]) -> dict[Place, Any]:
        """Return the vectors of rows, each of length 1, as far as they are known."""
        return {
            place: one.part.nearest_vector(n, self.asked) for one in self.compared for place, n in one.part.find(places)
        }

    def as_one(self, groups: Sequence[Sequence[Any]]) -> list[float]:
        """Return what the vectors of each group are worth as those of one text: the direction they have in common."""
        if not groups:
            return []
        first = np.cumsum([0, *(len(group) for group in groups[:-1])])
        sums = np.add.reduceat(np.stack([vector for group in groups for vector in group]), first)
        like = np.einsum("ij,j->i", sums, self.asked) / np.maximum(np.linalg.norm(sums, axis=1), 1e-9)
        return self.scaled(like).tolist()  # type: ignore[no-any-return]

    def scaled(self, like: Any) -> Any:
        """Return cosines as what they are worth."""
        return np.maximum(0.0, (like - self.mean) * (1.0 / self.spread / STEPS))
