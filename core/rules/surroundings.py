"""Which stretches of conversations are read around the best candidates of a search (rule T24, CONTEXT_REACH).

Promise: at most MOST_BRANCHES look-ups and about MOST_ROWS rows, whatever was found. Candidates said within moments of
each other share a stretch. Called by `core.searching`; reads no database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.rules.ranking import Candidate

MOST_STRETCHES = 16
"""Most stretches; each is read by two look-ups, what was said before and what after."""
MOST_ROWS = 240
"""Most rows of all stretches together, as far as one stretch is possible at all."""
MOMENTS = 120_000_000
"""Microseconds: candidates no further apart share a stretch."""
LEADS = 2
"""Best candidates that are led from, for each stretch."""
MOST_SHARING = 8
"""Most candidates in one stretch."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows to read around a candidate, in its own conversation."""

    row_id: int
    """The candidate."""
    first_us: int
    """Time of the first candidate in it."""
    before: int
    """Rows read before that time."""
    after: int
    """Rows read from that time on."""


def stretches(best: Sequence[Candidate], chat: int, reach: int) -> list[Stretch]:
    """Return the stretches to read around the best chat rows, those of the best first.

    Args:
        best: candidates, best first.
        chat: number of the chat source: other rows have no neighbours.
        reach: CONTEXT_REACH, messages on either side; 0 gives none.

    Source: T24.

    >>> rows = [Candidate(2, 7, 500), Candidate(2, 8, 900), Candidate(2, 9, 10**12), Candidate(0, 1, 0)]
    >>> [(s.row_id, s.first_us, s.before, s.after) for s in stretches(rows, 2, 4)]
    [(7, 500, 4, 9), (9, 1000000000000, 4, 5)]
    """
    if reach <= 0:
        return []
    most = max(1, min(MOST_STRETCHES, MOST_ROWS // (2 * reach + 1)))
    leads = [c for c in best if c.source == chat][: LEADS * most]
    groups: list[list[int]] = []
    for at, place in sorted((c.at_us, place) for place, c in enumerate(leads)):
        if groups and at - leads[groups[-1][-1]].at_us <= MOMENTS and len(groups[-1]) < MOST_SHARING:
            groups[-1].append(place)
        else:
            groups.append([place])
    groups.sort(key=min)
    # Those that share a stretch lie a few messages apart: as many are read as reach from the first past the last.
    return [
        Stretch(leads[min(group)].id, leads[group[0]].at_us, reach, 1 + reach + min(reach, 4) * (len(group) - 1))
        for group in groups[:most]
    ]
