"""The rows that match in an audience, and what comes of one of them: the values `search.ranking.all_rows` works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(eq=False)
class Matches:
    """What matches in one audience."""

    view: Any
    """Its rows (`index.visible.Visible`)."""
    postings: Any
    """Where the words and tags asked for stand (`index.visible.Postings`), of rows that may be read."""
    readable: Callable[[Any], Any] | None = None
    """Returns which of some rows may be read at all; None for all of them."""
    left_out: Any = None
    """Rows that may become no hits, in order; None for none."""
    number: int = 0
    """Of the audience, among those of the search."""


@dataclass(frozen=True, slots=True)
class Term:
    """A known word or tag of what is asked."""

    group: int
    """Number of the group of texts it belongs to; -1 for a tag."""
    factor: float
    """What it counts: 1 for the whole word, less for letters inside it."""
    worth: float = 0.0
    """Of a tag."""
    chat_only: bool = False


@dataclass(slots=True)
class RankedRow:
    """One of the best rows."""

    source: int
    row_id: int
    at_us: int
    words: int
    score: float
    is_match: bool
    session: float
    """What its session is worth."""
    long: float
    """How far the turns of its conversation are long ones."""
    near: float
    """How near it stands to who asks: 1 in the conversation asked in, less in others of the person."""
    context: float
    """What its words are worth together with those that reach it from rows around it."""
    place: int
    """Where it stands by conversation and time: rows next to each other have places that follow."""
    session_number: int
    """Its session; no two of a search have the same number."""
    session_rows: int
    """Rows of that."""
    terms: dict[int, int] = field(default_factory=dict)
    """Number of each word or tag that it holds, with how often."""


@dataclass(eq=False)
class AudienceRows:
    """The matching rows of an audience, in order, with what they match."""

    matches: Matches
    rows: Any
    groups: list[tuple[float, Any, Any] | None]
    """Of each group its worth, which of `rows` hold it, and how often; None for one that nothing is worth or holds."""
    own: Any
    tags: Any
    sessions: Any = None
    """Those that rows stand in, in order."""
    session_of: Any = None
    """Of each row the place of its session in `sessions`."""
    session_worth: Any = None
    """What each of `sessions` is worth."""

    def find(self, index: Any) -> tuple[Any, Any]:
        """Return the places in `rows` of rows, and which of these are there."""
        at = np.minimum(np.searchsorted(self.rows, index), len(self.rows) - 1)
        return at, self.rows[at] == index
