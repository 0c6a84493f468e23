"""Candidates of a search: from the search tables, and from the rows themselves where these are not indexed.

Recency mode takes per source the newest matching rows; relevance mode the rows of the rarest words and the newest
of the others. In later rounds relevance mode reads more of the same, and at last the newest matching rows, ever more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..base import logs
from ..database import sources
from ..database.dialects import microseconds
from ..database.engine import Database
from ..database.sources import SourceTable
from ..errors import StoreReadError
from ..index import postings_read
from ..index.lookups import UNLISTED, Lookup, Plan
from .ranking import ranking
from .ranking.lookups_recency import by_recency
from .ranking.lookups_relevance import MOST_INDEX_ROWS, Depth, by_relevance
from .ranking.ranking import Candidate
from .reading import plain as search_plain

if TYPE_CHECKING:
    from .state import Search

BUDGET, NEWEST, SCAN = 100, 30, 2000
"""Postings read in full, newest rows of each commoner key, and rows compared, in the first round of relevance mode."""
BUDGET_OF_MESSAGE = 600
"""As BUDGET, where there is a message: its words count together, and each finds rows that another's rows lie beside."""
ROUNDS = 3
"""Rounds of relevance mode that read eight times more of the same, before the newest matching rows are read."""
_CHAT = sources.CHAT.number
PLAIN_POOL = 200
"""Newest matching rows of a source that is not indexed, in the first round of relevance mode."""


def gather(search: Search, db: Database, depth: int) -> None:
    """Read the candidates.

    Raises:
        StoreReadError: no source could be read.
    """
    search.candidates = []
    search.complete = True
    for told in search.reports.values():
        told.considered, told.error = 0, ""
    if not search.viewer.audiences:
        return
    errors: list[StoreReadError] = []
    indexed = [s for s in search.query.sources if s.number in search.viewer.ready]
    plain = [s for s in search.query.sources if s not in indexed or s.number in search.viewer.waiting]
    found: dict[tuple[int, int], Candidate] = {}
    if indexed:
        try:
            found = _indexed(search, db, indexed, depth)
        except StoreReadError as error:
            logs.warning("search_index_unread", error=type(error).__name__, number=error.number)
            search.viewer = replace(search.viewer, ready={}, waiting={})
            plain = list(search.query.sources)
    for source in plain:
        try:
            _plain(search, db, source, depth, found)
        except StoreReadError as error:
            search.fail(source.number, error)
            errors.append(error)
    if errors and len(errors) == len(search.query.sources):
        raise errors[0]
    _take(search, found, depth)


def _take(search: Search, found: dict[tuple[int, int], Candidate], depth: int) -> None:
    """Keep the candidates: in recency mode the newest of each source, and some more for rows that are gone."""
    by_source: dict[int, list[Candidate]] = {}
    for candidate in found.values():
        by_source.setdefault(candidate.source, []).append(candidate)
    search.cut = set()
    for number, rows in sorted(by_source.items()):
        search.reports[number].considered = len(rows)
        if search.query.ranking == "relevance":
            search.candidates += rows
            continue
        most = _pool(search, number, depth)
        search.candidates += ranking.tier_then_newest(rows)[:most]
        if len(rows) >= most:
            search.cut.add(number)
    if search.query.ranking == "recency":
        search.complete = not search.cut


def _excluded(search: Search, number: int) -> list[int]:
    name = sources.BY_NUMBER[number].name
    return sorted(row_id for source, row_id in search.query.exclude.rows if source == name)


def _pool(search: Search, number: int, depth: int) -> int:
    """Return how many rows of a source are read in recency mode: rows expired or gone are found out later."""
    return search.query.pool * int(4**depth) + len(_excluded(search, number))


def _plan(search: Search, numbers: Sequence[int], depth: int) -> Plan:
    known = replace(search.known, sources=tuple(numbers))
    excluded = len(search.query.exclude.rows)
    if search.query.ranking == "recency":
        return by_recency(search.words, known, pool=max(_pool(search, n, depth) for n in numbers))
    if depth > ROUNDS:
        return by_recency(search.words, known, pool=1000 * 8 ** (depth - ROUNDS - 1) + excluded)
    newest = max(NEWEST, search.query.limit + excluded)
    budget = BUDGET_OF_MESSAGE if search.query.text else BUDGET
    more = Depth(budget * 8**depth, newest * 8**depth, SCAN * 8**depth, MOST_INDEX_ROWS * 8**depth)
    days = [(microseconds(since), microseconds(until)) for since, until in search.question.days]
    return by_relevance(search.words, known, more, filtered=bool(search.limits.without_conversations), days=days)


def _indexed(
    search: Search, db: Database, indexed: Sequence[SourceTable], depth: int
) -> dict[tuple[int, int], Candidate]:
    plan = _plan(search, [s.number for s in indexed], depth)
    read = postings_read.read(db, plan.lookups, search.texts, search.limits)
    search.complete &= plan.complete and not read.full
    found = _collect(search, plan.lookups, read.postings)
    for source, row_id in search.query.exclude.rows:
        found.pop((sources.BY_NAME[source].number, row_id), None)
    return found


def _plain(
    search: Search, db: Database, source: SourceTable, depth: int, found: dict[tuple[int, int], Candidate]
) -> None:
    """Add the rows of a source that its index does not hold."""
    if search.query.ranking == "recency":
        pool = search.query.pool * 4**depth
    else:
        pool = max(search.query.pool, PLAIN_POOL) * 8**depth
    asked = search_plain.question(source, search.query.tags, search.words, search.limits)
    asked = replace(
        asked,
        audiences=search.viewer.audiences,
        pool=pool,
        without_rows=tuple(_excluded(search, source.number)),
        ids=search.viewer.waiting.get(source.number) if source.number in search.viewer.ready else None,
    )
    rows = search_plain.search(db, asked)
    search.complete &= len(rows) < pool
    for candidate in rows:
        found.setdefault((candidate.source, candidate.id), candidate)


def _collect(search: Search, lookups: Sequence[Lookup], read: Iterable[Any]) -> dict[tuple[int, int], Candidate]:
    """Return the rows found, each with what it is known to match."""
    held_by = _Held(search)
    by_words = [lookup.kind == "words" and lookup.proves < 0 for lookup in lookups]
    plain = [by and not (x.also or x.first_tier) for by, x in zip(by_words, lookups, strict=True)]
    found: dict[tuple[int, int], Candidate] = {}
    for number, key, source, at_us, row_id, times, length in read:
        by_keys = by_words[number] and key not in ("", UNLISTED)
        held = held_by[key, source] if by_keys else ()
        if by_keys and not held:
            continue  # a tag, which is a word to look for in the chat alone
        place = (source, row_id)
        c = found.get(place)
        if c is None:
            c = found[place] = Candidate(source, row_id, at_us)
        c.words = length or c.words
        for i, whole in held:
            c.match(i, times, whole)
        if plain[number]:
            continue
        lookup = lookups[number]
        if lookup.kind == "tags" and key:
            c.tags = c.tags.union((key,))
        elif lookup.proves >= 0:
            c.match(lookup.proves, 1, search.words[lookup.proves].verify)
        c.holds_more = c.holds_more or bool(lookup.also)
        if lookup.first_tier:
            c.tier = 1
    if search.query.tags and search.query.keywords:
        tag_numbers = search.tag_numbers
        for c in found.values():
            if c.tier != 1 and (c.tags or tag_numbers) and is_first_tier(search, c):
                c.tier = 1
    return found


class _Held(dict[tuple[str, int], list[tuple[int, bool]]]):
    """(known word, source) to the texts it holds there: their index, and whether it is the whole word."""

    def __init__(self, search: Search) -> None:
        super().__init__()
        self._words = search.words
        self._by_term: dict[str, list[tuple[int, bool]]] = {}
        for i, w in enumerate(search.words):
            for term, whole in () if w.verify or w.walk else w.terms.items():
                self._by_term.setdefault(term, []).append((i, whole))

    def __missing__(self, place: tuple[str, int]) -> list[tuple[int, bool]]:
        term, source = place
        chat = sources.CHAT.number
        made = [held for held in self._by_term.get(term, ()) if self._words[held[0]].applies(source, chat)]
        self[place] = made
        return made


def is_first_tier(search: Search, c: Candidate) -> bool:
    """Return whether what a row is known to match holds a tag and a keyword."""
    if not c.tags and (c.source != _CHAT or search.tag_numbers.isdisjoint(c.matched)):
        return False
    return not search.keyword_numbers.isdisjoint(c.matched)
