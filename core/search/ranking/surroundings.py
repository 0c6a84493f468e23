"""Which stretches of conversations are read around the best candidates of a search (CONTEXT_REACH).

Promise: at most MOST_BRANCHES look-ups and about MOST_ROWS rows, whatever was found. Candidates said within moments of
each other share a stretch. Called by `search`; reads no database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .ranking import Candidate

MOST_STRETCHES = 16
"""Most stretches; each is read by one look-up of what was said after, and most by one of what was said before."""
MOST_ROWS = 240
"""Most rows of all stretches together, as far as one stretch is possible at all."""
MOMENTS = 120_000_000
"""Microseconds: candidates no further apart share a stretch."""
LEADS = 2
"""Best candidates that are led from, for each stretch."""
MOST_SHARING = 8
"""Most candidates in one stretch."""
FOLLOWING = 2
"""Rows more that are read for each further candidate in a stretch."""
BEFORE_SHORT, MOST_BEFORE = 0.5, 4
"""Share of CONTEXT_REACH that is read before a row among short turns, and the stretches of which it is: an answer
follows its question. Among long turns it is all of both, since what is said at length may answer what comes after, too.
"""


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


def stretches(best: Sequence[Candidate], chat: int, reach: int, long: float = 0.0) -> list[Stretch]:
    """Return the stretches to read around the best chat rows, those of the best first.

    Args:
        best: candidates, best first.
        chat: number of the chat source: other rows have no neighbours.
        reach: CONTEXT_REACH, messages on either side; 0 gives none.
        long: `weights.share_of_long` of the visible conversations.

    >>> rows = [Candidate(2, 7, 500), Candidate(2, 8, 900), Candidate(2, 9, 10**12), Candidate(0, 1, 0)]
    >>> [(s.row_id, s.first_us, s.before, s.after) for s in stretches(rows, 2, 4)]
    [(7, 500, 2, 7), (9, 1000000000000, 2, 5)]
    >>> [(s.row_id, s.before, s.after) for s in stretches(rows, 2, 4, 1.0)]
    [(7, 4, 7), (9, 4, 5)]
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
    before = max(1, round(reach * (BEFORE_SHORT + (1.0 - BEFORE_SHORT) * long)))
    most_before = round(MOST_BEFORE + (most - MOST_BEFORE) * long)
    # Those that share a stretch lie a few messages apart.
    return [
        Stretch(
            leads[min(group)].id,
            leads[group[0]].at_us,
            before if number < most_before else 0,
            1 + reach + min(reach, FOLLOWING) * (len(group) - 1),
        )
        for number, group in enumerate(groups[:most])
    ]
