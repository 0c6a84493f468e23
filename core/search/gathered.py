"""What a round of a search has gathered, and what its parts share: which rows match, and which are proved to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..database import sources
from ..database.engine import Database
from ..errors import StoreReadError
from ..index.lookups import TAG, WORD
from .ranking.ranking import Candidate
from .ranking.rows import Asked
from .reading import plain as search_plain
from .terms import Search

if TYPE_CHECKING:
    from .ranking.matching_rows import RankedRow
    from .reading.found_rows import FoundRow

PROVED_AT_ONCE = 400
"""Rows whose texts are compared at once with what is looked for."""
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
    """Source and id to the candidates' rows, where these came along (SEARCH_INDEX 0)."""
    stand_around: Callable[[Sequence[tuple[int, int]], int], Sequence[RankedRow]] | None = None
    """Returns rows that were found otherwise with those within so many rows of them (`all_rows.stand_around`)."""
    newest_only: tuple[int, ...] = ()
    """Sources of which only the newest rows were compared (recency mode)."""
    left_aside: tuple[str, ...] = ()
    """Words that too many rows hold to be ranked by."""


def list_excluded(search: Search, number: int) -> list[int]:
    """Return the ids of the rows of a source that are left out by name."""
    name = sources.BY_NUMBER[number].name
    return sorted(row_id for source, row_id in search.query.exclude.rows if source == name)


def pool_size(search: Search, number: int, depth: int) -> int:
    """Return how many rows of a source are read in recency mode: rows expired or gone are found out later."""
    return search.query.pool * int(4**depth) + len(list_excluded(search, number))


def note_matches(search: Search, c: Candidate, held: Mapping[tuple[int, str], int]) -> None:
    """Note what a row holds by its words and tags; what these alone do not prove is found out from its text."""
    found = [
        (*place, times) for (kind, term), times in held.items() if kind == WORD for place in search.stands.get(term, ())
    ]
    for i, _, is_whole, times in sorted(found):
        if search.words[i].applies(c.source, _CHAT):
            c.match(i, times, is_whole)
    tags = {key for kind, key in held if kind == TAG}
    if tags:
        c.tags = c.tags.union(tags)
    if search.query.tags and search.query.keywords and is_first_tier(search, c):
        c.tier = 1


def prove(search: Search, db: Database, rows: Sequence[Candidate]) -> set[tuple[int, int]]:
    """Return which of the rows hold one of the texts that their words alone do not prove, and note it."""
    texts = [(i, w.text) for i, w in enumerate(search.words) if not (w.is_minor or w.whole_only)]
    proved: set[tuple[int, int]] = set()
    for source in search.query.sources:
        of = {c.id: c for c in rows if c.source == source.number}
        asked = [(i, text) for i, text in texts if search.words[i].applies(source.number, _CHAT)]
        for row_id, i in search_plain.holding(db, source, search.limits.persona, list(of), asked):
            of[row_id].match(i, 1, search.words[i].verify)
            proved.add((source.number, row_id))
    for c in rows:
        if search.query.tags and search.query.keywords and is_first_tier(search, c):
            c.tier = 1
    return proved


def is_first_tier(search: Search, c: Candidate) -> bool:
    """Return whether what a row is known to match holds a tag and a keyword."""
    if not c.tags and (c.source != _CHAT or search.tag_numbers.isdisjoint(c.matched)):
        return False
    return not search.keyword_numbers.isdisjoint(c.matched)
