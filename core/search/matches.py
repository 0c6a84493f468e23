"""What the search tables hold of what is asked, audience by audience, of rows that may be read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..database import sources
from ..database.engine import Database
from ..index import audiences as index_audiences
from ..index.lookups import TAG, UNLISTED, WORD, Count
from ..index.postings import AT_LEAST, AT_MOST
from ..index.visible import Postings, Visible
from .ranking.all_rows import is_among
from .ranking.matching_rows import Term
from .ranking.ranking import INSIDE
from .ranking.rows import Asked
from .terms import Search

MOST_POSTINGS = 5_000_000
"""Postings of all words together that are read; beyond, the commonest words are left aside."""


class Terms:
    """The words and tags asked for, each with a number, and what they mean for the ranking."""

    def __init__(self, search: Search) -> None:
        self.numbers: dict[tuple[int, str], int] = {}
        self.search: Search = search
        for word in search.words:
            for term in () if word.walk else word.terms:
                self.numbers.setdefault((WORD, term), len(self.numbers))
        for tag in search.query.tags:
            self.numbers.setdefault((TAG, tag), len(self.numbers))
        self.unlisted: int = self.numbers.setdefault((WORD, UNLISTED), len(self.numbers))
        self.keys: list[tuple[int, str]] = list(self.numbers)

    def describe(self, asked: Asked) -> list[list[Term]]:
        """Return what each number means: one meaning for each group of texts that the word belongs to."""
        made: list[list[Term]] = [[] for _ in self.keys]
        for i, word in enumerate(self.search.words):
            chat_only = not (word.is_keyword or word.is_minor)
            for term, is_whole in {} if word.walk else word.terms.items():
                each = Term(asked.groups[i], 1.0 if is_whole else INSIDE, chat_only=chat_only)
                meanings = made[self.numbers[WORD, term]]
                same = next((n for n, one in enumerate(meanings) if one.group == each.group), None)
                if same is None:
                    meanings.append(each)
                elif each.factor > meanings[same].factor or meanings[same].chat_only > each.chat_only:
                    meanings[same] = each
        for tag, worth in asked.tags.items():
            made[self.numbers[TAG, tag]].append(Term(-1, 1.0, worth))
        return made


@dataclass(eq=False)
class AudienceMatches:
    """What the index holds of one audience."""

    view: Visible
    postings: Postings
    """Of rows that may be read alone."""
    bounds: Bounds


@dataclass(eq=False)
class Matches:
    """What the index holds of what is asked."""

    terms: Terms
    audiences: list[AudienceMatches]
    """Those in which something matches."""
    left_aside: tuple[str, ...]
    """Words that too many rows hold to be ranked by."""


def read_matches(search: Search, db: Database, numbers: Sequence[int]) -> Matches:
    """Return what the index holds of what is asked."""
    words, left_aside = _words_wanted(search, numbers)
    tags = [c for c in search.known.tags if c.source in numbers and c.source != sources.CHAT.number]
    terms, made = Terms(search), list[AudienceMatches]()
    for view, own, blocks, gone in index_audiences.read_audiences(
        db, words, tags, search.viewer.audiences, numbers, search.limits.persona
    ):
        bounds = Bounds(search, view, gone, numbers)
        postings = view.read_postings(own, blocks, terms.numbers)
        if not bounds.is_open:
            postings = postings.only(bounds.readable(postings.index))
        if len(postings.index):
            made.append(AudienceMatches(view, postings, bounds))
    return Matches(terms, made, left_aside)


class Bounds:
    """Which rows of an audience a search may read."""

    def __init__(
        self, search: Search, view: Visible, gone: Sequence[tuple[int, int, int]], numbers: Collection[int]
    ) -> None:
        limits = search.limits
        self._view, self._limits, self._gone = view, limits, view.find_gone(gone)
        self._sources = None if view.sources <= set(numbers) else np.array(list(numbers))
        self._hides_local = not limits.local_only and view.has_local_only
        without = limits.without_conversations
        self._threads = np.array([n for n, thread in enumerate(view.threads) if thread in without] if without else ())
        self.is_open: bool = (
            not (len(self._gone) or self._hides_local or any(limits.bounds) or len(self._threads))
            and self._sources is None
        )
        """All rows may be read."""

    def readable(self, index: Any) -> Any:
        """Return which of some rows may be read."""
        view, limits = self._view, self._limits
        keep = ~is_among(index, self._gone)
        if self._hides_local:
            keep &= view.take("local_only", index) == 0
        if self._sources is not None:
            keep &= np.isin(view.take("source", index), self._sources)
        if limits.since_us != AT_LEAST:
            keep &= view.take("at_us", index) >= limits.since_us
        if limits.until_us != AT_MOST:
            keep &= view.take("at_us", index) < limits.until_us
        if len(self._threads):
            keep &= ~np.isin(view.take("thread", index), self._threads)
        return keep


def _words_wanted(search: Search, numbers: Sequence[int]) -> tuple[list[Count], tuple[str, ...]]:
    """Return the known words that hold what is asked, and those that too many rows hold."""
    wanted = {term for word in search.words for term in word.terms} | {UNLISTED}
    cells = [c for c in search.known.words if c.key in wanted and c.source in numbers]
    docs: dict[str, int] = {}
    for cell in cells:
        docs[cell.key] = docs.get(cell.key, 0) + cell.docs
    total, aside = sum(docs.values()), list[str]()
    for key in sorted(docs, key=lambda one: -docs[one]):
        if total <= MOST_POSTINGS:
            break
        total -= docs[key]
        aside.append(key)
    return [c for c in cells if c.key not in aside], tuple(aside)
