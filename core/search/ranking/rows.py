"""A row and a question as the ranking sees them.

Called by `search` and `search.ranking.relevance`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Row:
    """A row as the ranking sees it."""

    thread: str
    """Conversation it stands in; rows of a thread have neighbours and sessions. Unique where it stands alone."""
    at_us: int
    words: int
    passages: Sequence[dict[int, float]]
    """Number of each text that stands in a passage, with how often (`text.passages.by_passage`)."""
    tags: float = 0.0
    """What the tags it holds are worth, beside those that are looked for as words too."""
    meaning: float = 0.0
    """How near it is to the question by its vector, where there is an embedder."""
    vector: Any = None
    """That vector, of length 1; None where it has none."""
    windows: Sequence[int] = ()
    """Numbers of the windows it was read in; two rows of one window have all rows between them at hand."""
    session: int = 0
    """Number of its session in its thread."""
    place: int = 0
    """Where it stands in its thread, among the rows at hand."""
    reasons: dict[str, float] = field(default_factory=dict)
    """What speaks for it, by the names of WEIGHTS."""
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked, as the ranking sees it."""

    worth: Sequence[float]
    """`rarity_weight` of each text."""
    total: float
    """What a row that holds everything asked for is worth, tags included; above 0."""
    mean_words: float
    long: float = 0.0
    """`share_of_long` of the visible conversations."""


def together(passages: Sequence[Mapping[int, float]]) -> Mapping[int, float]:
    """Return how often each text stands in all passages together.

    >>> together([{0: 1.0}, {0: 1.0, 1: 0.25}])
    {0: 2.0, 1: 0.25}
    """
    if len(passages) == 1:
        return passages[0]
    found: dict[int, float] = {}
    for held in passages:
        for number, times in held.items():
            found[number] = found.get(number, 0.0) + times
    return found
