"""What the index holds of what is asked, audience by audience, and the rows that a day or a person offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..database import sources
from ..database.dialects import microseconds
from ..index.entries import PHRASE, TAG, WORD
from ..index.visible import Postings, Visible
from .question.question import Question
from .ranking.all_rows import A_DAY_OR_TWO, AudienceMatches, find_persons, is_among
from .ranking.rows import Candidate
from .terms import Search

_CHAT = sources.CHAT.number
MOST_OF_DAYS = 400
"""Rows of the days asked for that are ranked, of many the longest."""
MOST_OF_PERSON = 3
"""Rows of a person that are offered, the newest."""
_WEEK = 8 * 86_400_000_000


class Terms:
    """The words, tags and phrases asked for, each with a number, and the texts they stand for."""

    def __init__(self, search: Search) -> None:
        self.search: Search = search
        self.texts: list[list[tuple[int, bool, bool]]] = []
        """Of each number the texts it stands for: index in `words`, whether it is whole, whether in the chat alone."""
        keys: dict[tuple[int, str], list[tuple[int, bool, bool]]] = {}
        phrases: dict[tuple[int, str], list[tuple[int, bool, bool]]] = {}
        for i, word in enumerate(search.words):
            chat_only = not (word.is_keyword or word.is_minor)
            for term, is_whole in word.terms.items():
                keys.setdefault((WORD, term), []).append((i, is_whole, chat_only))
            for term in (term for piece in word.pieces for term in piece):
                keys.setdefault((WORD, term), [])
            if word.pieces:
                phrases.setdefault((PHRASE, word.text), []).append((i, True, chat_only))
        made = keys | {(TAG, tag): [] for tag in search.query.tags} | phrases
        self.keys: list[tuple[int, str]] = list(made)
        self.numbers: dict[tuple[int, str], int] = {key: n for n, key in enumerate(made)}
        self.texts = list(made.values())

    def note(self, row: Candidate, held: Mapping[int, int]) -> None:
        """Note what a row holds: of each number how often. One that holds nothing was offered."""
        is_chat, tags = row.source == _CHAT, []
        row.is_offered = True
        for number, times in held.items():
            kind, name = self.keys[number]
            if kind == TAG:
                tags.append(name)
            if kind == TAG or self.texts[number]:
                row.is_offered = False
            for i, is_whole, chat_only in self.texts[number]:
                if (is_chat or not chat_only) and not (kind == PHRASE and self.search.words[i].is_exact):
                    row.match(i, times, is_whole)
        if tags:
            row.tags = row.tags.union(tags)


@dataclass(eq=False)
class Matches:
    """What the index holds of what is asked."""

    terms: Terms
    audiences: list[AudienceMatches]
    """Those in which something matches."""
    docs: Mapping[tuple[int, str], int]
    """In how many rows that may be read each word, tag and phrase stands."""

    def find_times(self, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
        """Return those of the rows, named by source and id, that may be read, each with its time."""
        found: dict[tuple[int, int], int] = {}
        for one in self.audiences:
            index = _keep_readable(one, one.view.find_rows(places))
            columns = (column[index].tolist() for column in (one.view.source, one.view.row_id, one.view.at_us))
            found |= {(source, row_id): at_us for source, row_id, at_us in zip(*columns, strict=True)}
        return found


def read_matches(search: Search, left_out: Sequence[tuple[int, int]], *, every: bool = False) -> Matches:
    """Return what the index holds of what is asked.

    Args:
        left_out: source and id of rows that may become no hits.
        every: audiences in which nothing matches come too.
    """
    assert search.index is not None
    terms, made = Terms(search), list[AudienceMatches]()
    wanted = {key: n for key, n in terms.numbers.items() if key[0] != PHRASE}
    for view, held in search.index.read(wanted, len(terms.keys), every=every):
        bounds = Bounds(search, view)
        seen = held if bounds.is_open else held.only(bounds.readable(held.index))
        postings = _with_phrases(search, terms, seen, len(view))
        if every or len(postings.index):
            without = view.find_rows(left_out) if left_out else None
            readable = None if bounds.is_open else bounds.readable
            made.append(AudienceMatches(view, postings, len(made), readable, without))
    docs = dict.fromkeys(terms.keys, 0)
    for one_audience in made:
        for key, count in zip(terms.keys, one_audience.postings.counts, strict=True):
            docs[key] += count
    return Matches(terms, made, docs)


def _with_phrases(search: Search, terms: Terms, postings: Postings, rows: int) -> Postings:
    """Return the postings with those of texts of several words: the rows that hold one word of each piece."""
    phrases = {word.text: word.pieces for word in search.words if word.pieces}
    if not phrases:
        return postings
    found = []
    for pieces in phrases.values():
        held = np.ones(rows, bool)
        for piece in pieces:
            holds = np.zeros(rows, bool)
            for term in piece:
                holds[postings.of(terms.numbers[WORD, term])[0]] = True
            held &= holds
        found.append(held.nonzero()[0] if pieces else np.empty(0, np.int64))
    sizes = np.cumsum([len(one) for one in found])
    first = len(terms.keys) - len(phrases)
    end = postings.starts[first]
    index = np.concatenate([postings.index[:end], *found])
    times = np.concatenate([postings.times[:end], np.ones(int(sizes[-1]), postings.times.dtype)])
    return Postings(index, times, np.concatenate([postings.starts[: first + 1], end + sizes]))


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
        self.is_open: bool = not hides_some and all(bound is None for bound in bounds)
        """All rows may be read."""

    def readable(self, index: Any) -> Any:
        """Return which of some rows may be read."""
        view = self._view
        keep = ~is_among(index, self._gone)
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


def rows_of_days(found: Sequence[AudienceMatches], asked: Sequence[tuple[int, int]], *, is_all: bool) -> list[Any]:
    """Return the rows said on the days asked for, in each audience, in order.

    Args:
        asked: spans in microseconds.
        is_all: nothing else was found, so that the rows of a week are offered too.
    """
    longest = _WEEK if is_all else A_DAY_OR_TWO
    days = [(since, until) for since, until in asked if until - since <= longest]
    return [_longest(one.view, _rows_between(one, days)) for one in found]


def _rows_between(one: AudienceMatches, days: Sequence[tuple[int, int]]) -> Any:
    at_us = one.view.at_us
    held = np.zeros(len(at_us), bool)
    for since, until in days:
        held |= (at_us >= since) & (at_us < until)
    return _keep_readable(one, held.nonzero()[0])


def _keep_readable(one: AudienceMatches, index: Any) -> Any:
    return index if one.readable is None or not len(index) else index[one.readable(index)]


def _longest(view: Any, index: Any) -> Any:
    if len(index) <= MOST_OF_DAYS:
        return index
    return np.sort(index[np.argsort(-view.words[index].astype(np.int64), kind="stable")[:MOST_OF_DAYS]])


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
