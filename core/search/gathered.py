"""What a round of a search has gathered, and what its parts share: which rows match, and which are proved to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..database import sources
from ..errors import StoreReadError
from ..index.lookups import PHRASE, TAG, WORD
from .ranking.ranking import Candidate
from .ranking.rows import Asked
from .terms import Search

if TYPE_CHECKING:
    from .ranking.matching_rows import RankedRow
    from .reading.found_rows import FoundRow

_CHAT = sources.CHAT.number


@dataclass(frozen=True, slots=True)
class Gathered:
    """The candidates of one round."""

    candidates: Sequence[Candidate] = ()
    complete: bool = True
    """Every matching row is among them, in relevance mode."""
    cut: frozenset[int] = frozenset()
    """In recency mode, sources that may hold more matching rows than are among them."""
    considered: Mapping[int, int] = field(default_factory=dict)
    """Source to the rows found."""
    errors: Mapping[int, StoreReadError] = field(default_factory=dict)
    """Sources that could not be read."""
    index_error: StoreReadError | ValueError | None = None
    """Why the search tables could not be read: the plain predicates were asked alone."""
    asked: Asked | None = None
    """What is asked, as the ranking sees it; None where no rows were ranked."""
    places: Mapping[tuple[int, int], RankedRow] = field(default_factory=dict)
    """Source and id to what is known of a row beside its text: of candidates, and of rows around the best of them."""
    around: Sequence[int] = ()
    """Messages that stand around the best candidates, by id."""
    rows: Mapping[tuple[int, int], FoundRow] = field(default_factory=dict)
    """Source and id to the candidates' rows, where these came along (recency mode)."""
    stand_around: Callable[[Sequence[tuple[int, int]], int], Sequence[RankedRow]] | None = None
    """Returns rows that were found otherwise with those within so many rows of them (`all_rows.stand_around`)."""
    newest_only: tuple[int, ...] = ()
    """Sources of which only the newest rows were compared (recency mode)."""
    docs: Mapping[tuple[int, str], int] = field(default_factory=dict)
    """In how many rows each word, tag and phrase asked for stands (`lookups` has the kinds)."""
    left_aside: tuple[str, ...] = ()
    """Words that too many rows hold to be ranked by."""


def note_matches(search: Search, c: Candidate, held: Mapping[tuple[int, str], int]) -> None:
    """Note what a row holds by its words and tags."""
    found = [
        (*place, times) for (kind, term), times in held.items() if kind == WORD for place in search.stands.get(term, ())
    ]
    found += [
        (i, 0, True, 1)
        for i, word in enumerate(search.words)
        if word.pieces and not word.is_exact and (PHRASE, word.text) in held
    ]
    for i, _, is_whole, times in sorted(found):
        if search.words[i].applies(c.source, _CHAT):
            c.match(i, times, is_whole)
    tags = {key for kind, key in held if kind == TAG}
    if tags:
        c.tags = c.tags.union(tags)
    if search.query.tags and search.query.keywords and is_first_tier(search, c):
        c.tier = 1


def is_first_tier(search: Search, c: Candidate) -> bool:
    """Return whether what a row is known to match holds a tag and a keyword."""
    if not c.tags and (c.source != _CHAT or search.tag_numbers.isdisjoint(c.matched)):
        return False
    return not search.keyword_numbers.isdisjoint(c.matched)
