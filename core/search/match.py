"""The first stage: what the index holds of what is asked, audience by audience."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..database.dialects import microseconds
from ..index.numbers import Flags, ViewRows, is_among
from ..index.shapes import DAY, PHRASE, IndexTerm, RowId
from ..index.visible import Postings, Visible
from .question.question import Question
from .ranking.days import find_inside
from .ranking.frame import AudienceMatches, find_persons
from .ranking.rows import Matched, add_match
from .resolve import Search
from .terms import QueryTerm, list_owners

MOST_OF_PERSON = 3
"""Rows of a person that are offered, the newest."""


@dataclass(frozen=True, eq=False)
class Matches:
    """What the index holds of what is asked."""

    terms: Sequence[QueryTerm]
    owners: Mapping[IndexTerm, Sequence[int]]
    """The words, tags and phrases looked up, each with the ids of its terms."""
    audiences: Sequence[AudienceMatches]
    """Those in which something matches."""
    docs: Mapping[IndexTerm, int]
    """In how many rows that may be read each word, tag and phrase stands."""

    def read_held(self, source: int, held: Mapping[IndexTerm, int]) -> tuple[Matched, bool]:
        """Return the terms that a row holds, and whether it holds none, so that it was offered.

        Args:
            held: its words, tags and phrases, each with how often.
        """
        matched: dict[int, tuple[int, bool]] = {}
        is_offered = True
        for one, times in held.items():
            for i in self.owners[one]:
                term, is_offered = self.terms[i], False
                if (term.kind == "tag" or term.applies(source)) and not (term.is_exact and one[0] == PHRASE):
                    add_match(matched, i, times, whole=term.index_terms[one])
        return matched, is_offered

    def find_times(self, ids: Sequence[RowId]) -> dict[RowId, int]:
        """Return those of the rows that may be read, each with its time."""
        found: dict[RowId, int] = {}
        for one in self.audiences:
            rows = one.keep_readable(one.view.find_rows(ids))
            columns = (column[rows].tolist() for column in (one.view.source, one.view.row_id, one.view.at_us))
            found |= {(source, row_id): at_us for source, row_id, at_us in zip(*columns, strict=True)}
        return found


def match(
    search: Search, left_out: Sequence[RowId], *, every: bool = False, question: Question | None = None
) -> Matches:
    """Return what the index holds of what is asked.

    Args:
        left_out: rows that may become no hits.
        every: audiences in which nothing matches come too.
        question: names spans of time, outside of which nothing matches.
    """
    assert search.index is not None
    owners, audiences, docs = list_owners(search.terms), list[AudienceMatches](), Counter[IndexTerm]()
    owners = {(DAY, day): list[int]() for day in question.days} | owners if question else owners
    for view, held in search.index.read(owners, every=every):
        bounds = Bounds(search, view)
        if question is not None and question.is_limited:
            bounds.limit(find_inside(question, view, held))
        seen = held if bounds.is_open else held.keep(bounds.find_readable(held.rows))
        postings = _with_phrases(search.terms, seen, len(view))
        if every or len(postings.rows):
            without = view.find_rows(left_out) if left_out else None
            readable = None if bounds.is_open else bounds.find_readable
            audiences.append(AudienceMatches(view, postings, len(audiences), readable, without))
            docs.update(postings.count_rows())
    return Matches(search.terms, owners, audiences, docs)


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
                holds[postings.find(one)[0]] = True
            held &= holds
        found.append(held.nonzero()[0])
    sizes = np.cumsum([len(one) for one in found])
    first = len(postings.numbers) - len(found)
    end = postings.starts[first]
    every = ViewRows(np.concatenate([postings.rows[:end], *found]))
    times = np.concatenate([postings.times[:end], np.ones(int(sizes[-1]), postings.times.dtype)])
    return Postings(postings.numbers, every, times, np.concatenate([postings.starts[: first + 1], end + sizes]))


class Bounds:
    """Which rows of an audience a search may read."""

    def __init__(self, search: Search, view: Visible) -> None:
        query, numbers = search.query, search.query.numbers
        self._view = view
        self._since = None if query.since is None else microseconds(query.since)
        self._until = None if query.until is None else microseconds(query.until)
        self._sources = None if view.sources <= set(numbers) else np.array(list(numbers))
        self._hides_local = not search.viewer.sees_local_only and view.has_local_only
        without = query.exclude.conversations
        self._threads = np.array([n for n, thread in enumerate(view.threads) if thread in without] if without else ())
        bounds = (self._since, self._until, self._sources)
        hides_some = len(view.gone) or self._hides_local or len(self._threads)
        self._inside: Flags | None = None
        self.is_open: bool = not hides_some and all(bound is None for bound in bounds)
        """All rows may be read."""

    def limit(self, inside: Flags) -> None:
        """Let only some rows be read."""
        self._inside, self.is_open = inside, False

    def find_readable(self, rows: ViewRows) -> Flags:
        """Return which of some rows may be read."""
        view = self._view
        keep = ~is_among(rows, view.gone)
        if self._inside is not None:
            keep &= self._inside[rows]
        if self._hides_local:
            keep &= view.local_only[rows] == 0
        if self._sources is not None:
            keep &= np.isin(view.source[rows], self._sources)
        if self._since is not None:
            keep &= view.at_us[rows] >= self._since
        if self._until is not None:
            keep &= view.at_us[rows] < self._until
        if len(self._threads):
            keep &= ~np.isin(view.thread[rows], self._threads)
        return keep


def list_rows_of_person(found: Matches, question: Question, asker: str) -> list[tuple[int, int]]:
    """Return the newest messages of whom a question is about among rows that match, as id and time."""
    made: list[tuple[int, int]] = []
    for one in found.audiences:
        view = one.view
        persons = find_persons(question, asker, view)
        rows = one.keep_readable(ViewRows(np.unique(one.postings.rows)))
        if persons is None or not len(rows):
            continue
        kept = view.is_chat[rows] & (persons[view.speaker[rows]] > 0)
        if one.left_out is not None:
            kept &= ~is_among(rows, one.left_out)
        columns = (column[rows[kept]].tolist() for column in (view.row_id, view.at_us))
        made += zip(*columns, strict=True)
    return sorted(made, key=lambda row: -row[1])[:MOST_OF_PERSON]
