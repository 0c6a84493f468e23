"""Where the search tables are not what the rows give: what `index.check` finds and `index.repair` mends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["missing", "extra", "stale", "count", "total", "word", "damaged"]
"""damaged: a segment cannot be read. missing: a posting that a row gives is not there. extra: one without its row.
stale: a posting that tells other numbers than its row. count: search_count is wrong. total: search_stats is wrong.
word: a word of a posting is not known to search_vocab, or not by all its endings."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where the search tables are not what the rows give."""

    kind: Kind
    table: str
    audience_id: int
    key: str
    source: int
    row_id: int = 0
    at_us: int = 0
