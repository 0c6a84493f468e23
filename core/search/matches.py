"""What the index holds of what is asked, audience by audience, and the rows that a day or a person offers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..database.dialects import microseconds
from ..index.numbers import DAY, PHRASE, IndexTerm
from ..index.visible import Postings, Visible
from .question.question import Question
from .ranking.all_rows import AudienceMatches, find_persons, is_among
from .ranking.days import are_inside, find_inside
from .ranking.rows import Candidate
from .resolve import Search
from .terms import QueryTerm, list_owners

MOST_OF_DAYS = 400
"""Rows of the days asked for that are ranked, of many the longest."""
MOST_IN_ORDER = 24
"""Of the first or last rows, where nothing else is asked for."""
MOST_OF_PERSON = 3
"""Rows of a person that are offered, the newest."""


@dataclass(eq=False)
class Matches:
    """What the index holds of what is asked."""

    terms: Sequence[QueryTerm]
    owners: Mapping[IndexTerm, Sequence[int]]
    """The words, tags and phrases looked up, each with the ids of its terms."""
    audiences: list[AudienceMatches]
    """Those in which something matches."""
    docs: Mapping[IndexTerm, int]
    """In how many rows that may be read each word, tag and phrase stands."""

    def note(self, row: Candidate, held: Mapping[IndexTerm, int]) -> None:
        """Note what a row holds, each word, tag and phrase with how often. One that holds nothing was offered."""
        row.is_offered = not any(self.owners[one] for one in held)
        for one, times in held.items():
            for i in self.owners[one]:
                term = self.terms[i]
                if (term.kind == "tag" or term.applies(row.source)) and not (term.is_exact and one[0] == PHRASE):
                    row.match(i, times, term.index_terms[one])

    def find_times(self, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
        """Return those of the rows, named by source and id, that may be read, each with its time."""
        found: dict[tuple[int, int], int] = {}
        for one in self.audiences:
            index = _keep_readable(one, one.view.find_rows(places))
            columns = (column[index].tolist() for column in (one.view.source, one.view.row_id, one.view.at_us))
            found |= {(source, row_id): at_us for source, row_id, at_us in zip(*columns, strict=True)}
        return found


def read_matches(
    search: Search, left_out: Sequence[tuple[int, int]], *, every: bool = False, question: Question | None = None
) -> Matches:
    """Return what the index holds of what is asked.

    Args:
        left_out: source and id of rows that may become no hits.
        every: audiences in which nothing matches come too.
        question: names spans of time, outside of which nothing matches.
    """
    assert search.index is not None
    owners, audiences, docs = list_owners(search.terms), list[AudienceMatches](), Counter[IndexTerm]()
    days = {(DAY, day): list[int]() for day in question.days} if question else {}
    for view, held in search.index.read(days | owners, every=every):
        bounds = Bounds(search, view)
        if question is not None and question.is_limited:
            bounds.limit(find_inside(question, view, held))
        seen = held if bounds.is_open else held.only(bounds.readable(held.index))
        postings = _with_phrases(search.terms, seen, len(view))
        if every or len(postings.index):
            without = view.find_rows(left_out) if left_out else None
            readable = None if bounds.is_open else bounds.readable
            audiences.append(AudienceMatches(view, postings, len(audiences), readable, without))
            docs.update(postings.count_rows())
    return Matches(search.terms, days | owners, audiences, docs)


def _with_phrases(terms: Sequence[QueryTerm], postings: Postings, rows: int) -> Postings:
    """Return the postings with those of texts of several words: the rows that hold one word of each piece."""
    pieces_of = {one: term.pieces for term in terms if term.pieces for one in term.index_terms}
    if not pieces_of:
        return postings
    found = []
    for pieces in pieces_of.values():
        held = np.ones(rows, bool)
        for piece in pieces:
            holds = np.zeros(rows, bool)
            for one in piece:
                holds[postings.of(one)[0]] = True
            held &= holds
        found.append(held.nonzero()[0])
    sizes = np.cumsum([len(one) for one in found])
    first = len(postings.numbers) - len(found)
    end = postings.starts[first]
    index = np.concatenate([postings.index[:end], *found])
    times = np.concatenate([postings.times[:end], np.ones(int(sizes[-1]), postings.times.dtype)])
    return Postings(postings.numbers, index, times, np.concatenate([postings.starts[: first + 1], end + sizes]))


class Bounds:
    """Which rows of an audience a search may read."""

    def __init__(self, search: Search, view: Visible) -> None:
        query, numbers = search.query, search.query.numbers
        self._view, self._gone = view, view.gone
        self._since = None if query.since is None else microseconds(query.since)
        self._until = None if query.until is None else microseconds(query.until)
        self._sources = None if view.sources <= set(numbers) else np.array(list(numbers))
        self._hides_local = not search.viewer.sees_local_only and view.has_local_only
        without = query.exclude.conversations
        self._threads = np.array([n for n, thread in enumerate(view.threads) if thread in without] if without else ())
        bounds = (self._since, self._until, self._sources)
        hides_some = len(self._gone) or self._hides_local or len(self._threads)
        self._inside: Any = None
        self.is_open: bool = not hides_some and all(bound is None for bound in bounds)
        """All rows may be read."""

    def limit(self, inside: Any) -> None:
        """Let only some rows be read."""
        self._inside, self.is_open = inside, False

    def readable(self, index: Any) -> Any:
        """Return which of some rows may be read."""
        view = self._view
        keep = ~is_among(index, self._gone)
        if self._inside is not None:
            keep &= self._inside[index]
        if self._hides_local:
            keep &= view.local_only[index] == 0
        if self._sources is not None:
            keep &= np.isin(view.source[index], self._sources)
        if self._since is not None:
            keep &= view.at_us[index] >= self._since
        if self._until is not None:
            keep &= view.at_us[index] < self._until
        if len(self._threads):
            keep &= ~np.isin(view.thread[index], self._threads)
        return keep


# Rows that are offered to a question though they match none of its words: those of a day, or of a person


def rows_inside(found: Sequence[AudienceMatches], question: Question) -> list[Any]:
    """Return the rows of each audience within the spans, in order; of too many the longest."""
    return [_choose_longest(one.view, _list_inside(one, question)) for one in found]


def _list_inside(one: AudienceMatches, question: Question) -> Any:
    if question.is_limited:  # nothing else may be read
        return _keep_readable(one, np.arange(len(one.view)))
    return _keep_readable(one, are_inside(question, one.view.at_us).nonzero()[0])


def _choose_longest(view: Any, index: Any) -> Any:
    if len(index) <= MOST_OF_DAYS:
        return index
    return np.sort(index[np.argsort(-view.words[index].astype(np.int64), kind="stable")[:MOST_OF_DAYS]])


def rows_in_order(found: Sequence[AudienceMatches], asker: str, order: str) -> list[Any]:
    """Return the first or last rows of each audience, in order; where somebody is given those they said."""
    return [_choose_first(one.view, _keep_readable(one, np.arange(len(one.view))), asker, order) for one in found]


def _choose_first(view: Any, index: Any, asker: str, order: str) -> Any:
    if asker:
        index = index[view.is_chat[index] & np.isin(view.speaker[index], view.find_speakers("key", asker))]
    by_time = index[np.argsort(view.at_us[index], kind="stable")]
    return np.sort(by_time[:MOST_IN_ORDER] if order == "first" else by_time[-MOST_IN_ORDER:])


def _keep_readable(one: AudienceMatches, index: Any) -> Any:
    return index if one.readable is None or not len(index) else index[one.readable(index)]


def rows_of_person(found: Sequence[AudienceMatches], question: Question, asker: str) -> list[tuple[int, int]]:
    """Return the newest messages of whom a question is about among rows that match, as id and time."""
    made: list[tuple[int, int]] = []
    for one in found:
        view = one.view
        persons = find_persons(question, asker, view)
        index = _keep_readable(one, np.unique(one.postings.index))
        if persons is None or not len(index):
            continue
        index = index[view.is_chat[index] & (persons[view.speaker[index]] > 0)]
        if one.left_out is not None:
            index = np.setdiff1d(index, one.left_out)
        columns = (getattr(view, name)[index].tolist() for name in ("row_id", "at_us"))
        made += zip(*columns, strict=True)
    return sorted(made, key=lambda row: -row[1])[:MOST_OF_PERSON]
