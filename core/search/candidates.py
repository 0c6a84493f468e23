"""Candidates of a search: from the search tables, and from the rows themselves where these are not indexed.

Recency mode takes per source the newest matching rows; relevance mode the rows of the rarest words and the newest
of the others. In later rounds relevance mode reads more of the same, and at last the newest matching rows, ever more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..base import logs
from ..database import sources
from ..database.dialects import microseconds
from ..database.engine import Database
from ..database.sources import SourceTable
from ..errors import StoreReadError
from ..index import postings_read
from ..index.lookups import UNLISTED, Lookup, Plan
from .question.question import Question
from .ranking import ranking
from .ranking.lookups_recency import by_recency
from .ranking.lookups_relevance import MOST_INDEX_ROWS, Depth, by_relevance
from .ranking.ranking import Candidate
from .reading import plain as search_plain
from .terms import Search

BUDGET, NEWEST, SCAN = 100, 30, 2000
"""Postings read in full, newest rows of each commoner key, and rows compared, in the first round of relevance mode."""
BUDGET_OF_MESSAGE = 600
"""As BUDGET, where there is a message: its words count together, and each finds rows that another's rows lie beside."""
ROUNDS = 3
"""Rounds of relevance mode that read eight times more of the same, before the newest matching rows are read."""
_CHAT = sources.CHAT.number
PLAIN_POOL = 200
"""Newest matching rows of a source that is not indexed, in the first round of relevance mode."""


Found = dict[tuple[int, int], Candidate]


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
    index_failed: bool = False
    """The search tables could not be read: the plain predicates were asked alone."""


def gather_candidates(
    search: Search, db: Database, question: Question, depth: int = 0, *, use_index: bool = True
) -> Gathered:
    """Return the candidates; what is not indexed yet is asked by the plain predicates.

    Args:
        depth: how often too few hits came out before.
        use_index: False where the search tables could not be read before.

    Raises:
        StoreReadError: no source could be read.
    """
    viewer = search.viewer
    if not viewer.audiences:
        return Gathered()
    indexed = [s for s in search.query.sources if use_index and s.number in viewer.ready]
    plain = [s for s in search.query.sources if s not in indexed or s.number in viewer.waiting]
    found: Found = {}
    complete, errors = True, dict[int, StoreReadError]()
    if indexed:
        try:
            found, complete = _indexed(search, db, question, indexed, depth)
        except StoreReadError as error:
            logs.warning("search_index_unread", error=type(error).__name__, number=error.number)
            use_index, plain = False, list(search.query.sources)
    for source in plain:
        try:
            rows, is_all = _plain(search, db, source, depth, only_waiting=use_index and source.number in viewer.ready)
        except StoreReadError as error:
            log_unread(source.number, error)
            errors[source.number] = error
        else:
            for candidate in rows:
                found.setdefault((candidate.source, candidate.id), candidate)
            complete &= is_all
    if errors and len(errors) == len(search.query.sources):
        raise next(iter(errors.values()))
    by_source: dict[int, list[Candidate]] = {}
    for candidate in found.values():
        by_source.setdefault(candidate.source, []).append(candidate)
    kept, cut = _newest(search, by_source, depth) if search.query.ranking == "recency" else (by_source, frozenset())
    candidates = [candidate for number in sorted(kept) for candidate in kept[number]]
    considered = {number: len(rows) for number, rows in by_source.items()}
    return Gathered(candidates, complete, cut, considered, errors, not use_index)


def log_unread(source: int, error: StoreReadError) -> None:
    """Log that a source could not be read; the others' hits come back."""
    logs.warning("source_unread", source=sources.BY_NUMBER[source].table.name, number=error.number)


def _newest(
    search: Search, by_source: Mapping[int, Sequence[Candidate]], depth: int
) -> tuple[dict[int, list[Candidate]], frozenset[int]]:
    """Return the newest rows of each source, some more than wanted for rows that are gone, and the sources cut off."""
    most = {number: _pool(search, number, depth) for number in by_source}
    kept = {number: ranking.tier_then_newest(rows)[: most[number]] for number, rows in by_source.items()}
    return kept, frozenset(number for number, rows in by_source.items() if len(rows) >= most[number])


def _excluded(search: Search, number: int) -> list[int]:
    name = sources.BY_NUMBER[number].name
    return sorted(row_id for source, row_id in search.query.exclude.rows if source == name)


def _pool(search: Search, number: int, depth: int) -> int:
    """Return how many rows of a source are read in recency mode: rows expired or gone are found out later."""
    return search.query.pool * int(4**depth) + len(_excluded(search, number))


def _plan(search: Search, question: Question, numbers: Sequence[int], depth: int) -> Plan:
    known = replace(search.known, sources=tuple(numbers))
    excluded = len(search.query.exclude.rows)
    if search.query.ranking == "recency":
        return by_recency(search.words, known, pool=max(_pool(search, n, depth) for n in numbers))
    if depth > ROUNDS:
        return by_recency(search.words, known, pool=1000 * 8 ** (depth - ROUNDS - 1) + excluded)
    newest = max(NEWEST, search.query.limit + excluded)
    budget = BUDGET_OF_MESSAGE if search.query.text else BUDGET
    more = Depth(budget * 8**depth, newest * 8**depth, SCAN * 8**depth, MOST_INDEX_ROWS * 8**depth)
    days = [(microseconds(since), microseconds(until)) for since, until in question.days]
    return by_relevance(search.words, known, more, filtered=bool(search.limits.without_conversations), days=days)


def _indexed(
    search: Search, db: Database, question: Question, indexed: Sequence[SourceTable], depth: int
) -> tuple[Found, bool]:
    """Return the rows that the search tables lead to, and whether these are all that match."""
    plan = _plan(search, question, [s.number for s in indexed], depth)
    read = postings_read.read(db, plan.lookups, search.texts, search.limits)
    found = _collect(search, plan.lookups, read.postings)
    for source, row_id in search.query.exclude.rows:
        found.pop((sources.BY_NAME[source].number, row_id), None)
    return found, plan.complete and not read.full


def _plain(
    search: Search, db: Database, source: SourceTable, depth: int, *, only_waiting: bool
) -> tuple[Sequence[Candidate], bool]:
    """Return the rows of a source that its index does not hold, and whether these are all that match."""
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
        ids=search.viewer.waiting.get(source.number) if only_waiting else None,
    )
    rows = search_plain.search(db, asked)
    return rows, len(rows) < pool


def _collect(search: Search, lookups: Sequence[Lookup], read: Iterable[Any]) -> Found:
    """Return the rows found, each with what it is known to match."""
    held_by = _Held(search)
    by_words = [lookup.kind == "words" and lookup.proves < 0 for lookup in lookups]
    plain = [by and not (x.also or x.first_tier) for by, x in zip(by_words, lookups, strict=True)]
    found: Found = {}
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
