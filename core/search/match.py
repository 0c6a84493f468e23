"""First stage of a search: find in the index the rows of each audience that contain terms of the query."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from ..index.numbers import Flags, ViewRows, is_among, take
from ..index.shapes import DAY, PHRASE, IndexTerm, RowId
from ..index.visible import Postings, Visible
from .question import Question
from .ranking.days import find_inside
from .ranking.frame import AudienceMatches, find_persons
from .ranking.rows import CHAT, Matched, RankingQuery
from .resolve import Search
from .terms import QueryTerm, list_owners

LEAST_TELLING = 4
"""Minimum number of words of a message that may be a hit although it shares no word with the question."""


@dataclass(frozen=True, eq=False)
class Matches:
    terms: Sequence[QueryTerm]
    owners: Mapping[IndexTerm, Sequence[int]]
    """Ids of the query terms for each word, tag, phrase or day looked up in the index."""
    audiences: Sequence[AudienceMatches]
    """Audiences with a matching row; all audiences if `match` was called with `every`."""
    docs: Mapping[IndexTerm, int]
    """Document frequency of each word, tag, phrase and day among the readable rows."""

    def read_held(self, sources: Iterable[int], held: Iterable[Mapping[IndexTerm, int]]) -> list[tuple[Matched, bool]]:
        """Return, for each row, (matching query terms with counts; whether it holds no index term of the query)."""
        found = list[tuple[Matched, bool]]()
        for source, times_of in zip(sources, held, strict=True):
            matched: dict[int, tuple[int, bool]] = {}
            is_offered = True
            for one, times in times_of.items():
                for i in self.owners[one]:
                    term, is_offered = self.terms[i], False
                    if (term.kind == "tag word" and source != CHAT) or (term.is_exact and one[0] == PHRASE):
                        continue
                    # The counts of whole words add up; letters inside other words count only without a whole word.
                    is_whole, before = term.index_terms[one], matched.get(i)
                    if before is None or (is_whole and not before[1]):
                        matched[i] = times, is_whole
                    elif is_whole == before[1]:
                        matched[i] = before[0] + times, is_whole
            found.append((matched, is_offered))
        return found

    def find_times(self, ids: Sequence[RowId]) -> dict[RowId, int]:
        """Return the time of each of these rows that may be read."""
        found: dict[RowId, int] = {}
        for one in self.audiences:
            rows = one.keep_readable(one.view.find_rows(ids))
            columns = (column[rows].tolist() for column in (one.view.source, one.view.row_id, one.view.at_us))
            found |= {(source, row_id): at_us for source, row_id, at_us in zip(*columns, strict=True)}
        return found


def match(
    search: Search, left_out: Sequence[RowId], *, every: bool = False, question: Question | None = None
) -> Matches:
    """Return the rows that match in the index; rows in `left_out` are no hits. `every`: also audiences without a match.

    Rows about the days of `question` match too; if the question is limited, rows outside its spans do not match.
    """
    assert search.index is not None
    owners, audiences, docs = list_owners(search.terms), list[AudienceMatches](), defaultdict[IndexTerm, int](int)
    owners = {(DAY, day): list[int]() for day in question.days} | owners if question else owners
    for view, held in search.index.read(owners, every=every):
        inside = find_inside(question, view, held) if question is not None and question.is_limited else None
        readable = read_bounds(search, view, inside)
        seen = held if readable is None else held.keep(readable(held.rows))
        postings = _with_phrases(search.terms, seen, len(view))
        if every or len(postings.rows):
            without = view.find_rows(left_out) if left_out else None
            audiences.append(AudienceMatches(view, postings, len(audiences), readable, without))
            for one, rows in postings.count_rows().items():
                docs[one] += rows
    return Matches(search.terms, owners, audiences, docs)


def _with_phrases(terms: Sequence[QueryTerm], postings: Postings, rows: int) -> Postings:
    """Add postings of phrases: the rows that contain, for each piece of a phrase, an index word that matches it."""
    pieces_of = {one: term.pieces for term in terms if term.pieces for one in term.index_terms}
    if not pieces_of:
        return postings
    found = [np.unique(postings.find_all(pieces, rows)) for pieces in pieces_of.values()]
    sizes = np.cumsum([len(one) for one in found])
    first = len(postings.numbers) - len(found)
    end = postings.starts[first]
    every = ViewRows(np.concatenate([postings.rows[:end], *found]))
    times = np.concatenate([postings.times[:end], np.ones(int(sizes[-1]), postings.times.dtype)])
    return Postings(postings.numbers, every, times, np.concatenate([postings.starts[: first + 1], end + sizes]))


def read_bounds(search: Search, view: Visible, inside: Flags | None = None) -> Callable[[ViewRows], Flags] | None:
    """Return a function that flags the rows that a search may read (only rows in `inside`); None if it may read all."""
    query, tests = search.query, list[Callable[[ViewRows], Flags]]()
    if len(view.gone):
        tests.append(lambda rows: ~is_among(rows, view.gone))
    if inside is not None:
        tests.append(lambda rows: inside[rows])
    if not search.viewer.sees_local_only and view.has_local_only:
        tests.append(lambda rows: view.local_only[rows] == 0)
    if not view.sources.issubset(query.numbers):
        tests.append(lambda rows: np.isin(view.source[rows], query.numbers))
    if query.since or query.until:
        tests.append(lambda rows: query.are_within(view.at_us[rows]))
    if query.exclude.conversations:
        without = [n for n, thread in enumerate(view.threads) if thread in query.exclude.conversations]
        tests.append(lambda rows: ~np.isin(view.thread[rows], without))
    return (lambda rows: np.logical_and.reduce([test(rows) for test in tests])) if tests else None


def list_rows_of_person(
    found: Matches, query: RankingQuery, most: int, *, is_matching: bool = False
) -> list[tuple[int, int]]:
    """Return (id, time) of the `most` newest messages of the people asked about: long or, `is_matching`, matching."""
    made: list[tuple[int, int]] = []
    for one in found.audiences:
        view = one.view
        rows = ViewRows(np.unique(one.postings.rows) if is_matching else np.flatnonzero(view.words >= LEAST_TELLING))
        persons = find_persons(query.question, query.asker, view)
        if persons is not None:
            is_of_person = persons[view.speaker[rows]] > 0
        else:  # `Where do we meet?` names nobody: what was said in the asker's conversations
            is_of_person = view.nearness(query.here, query.asker)[view.thread[rows]] > 0
        rows = one.keep_readable(take(rows, view.is_chat[rows] & is_of_person))
        if one.left_out is not None:
            rows = take(rows, ~is_among(rows, one.left_out))
        newest = rows[np.argsort(-view.at_us[rows], kind="stable")[:most]]
        made += zip(view.row_id[newest].tolist(), view.at_us[newest].tolist(), strict=True)
    return sorted(made, key=itemgetter(1), reverse=True)[:most]
