"""What the search tables hold of what is asked, audience by audience, of rows that may be read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..index.limits import AT_LEAST, AT_MOST
from ..index.lookups import PHRASE, TAG, WORD
from ..index.state import AudienceRows
from ..index.visible import Postings, Visible
from .ranking.all_rows import is_among
from .ranking.matching_rows import Term
from .ranking.ranking import INSIDE
from .ranking.rows import Asked
from .terms import Search

MOST_POSTINGS = 5_000_000
"""Postings of all words together that are read; beyond, the commonest words are left aside."""


class Terms:
    """The words, tags and phrases asked for, each with a number, and what they mean for the ranking."""

    def __init__(self, search: Search) -> None:
        self.numbers: dict[tuple[int, str], int] = {}
        self.search: Search = search
        for word in search.words:
            for term in (*word.terms, *(term for piece in word.pieces for term in piece)):
                self.numbers.setdefault((WORD, term), len(self.numbers))
        for tag in search.query.tags:
            self.numbers.setdefault((TAG, tag), len(self.numbers))
        for word in search.words:
            if word.pieces:
                self.numbers.setdefault((PHRASE, word.text), len(self.numbers))
        self.keys: list[tuple[int, str]] = list(self.numbers)

    def describe(self, asked: Asked) -> list[list[Term]]:
        """Return what each number means: one meaning for each group of texts that the word belongs to."""
        made: list[list[Term]] = [[] for _ in self.keys]
        for i, word in enumerate(self.search.words):
            chat_only = not (word.is_keyword or word.is_minor)
            own = {(WORD, term): is_whole for term, is_whole in word.terms.items()}
            if word.pieces:
                own[PHRASE, word.text] = True
            for key, is_whole in own.items():
                each = Term(asked.groups[i], 1.0 if is_whole else INSIDE, chat_only=chat_only)
                meanings = made[self.numbers[key]]
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
    docs: Mapping[tuple[int, str], int]
    """In how many rows that may be read each word, tag and phrase stands."""
    left_aside: tuple[str, ...]
    """Words that too many rows hold to be ranked by."""


def read_matches(search: Search, numbers: Sequence[int], *, every: bool = False) -> Matches:
    """Return what the index holds of what is asked.

    Args:
        every: audiences in which nothing matches come too.
    """
    assert search.index is not None
    terms, made = Terms(search), list[AudienceMatches]()
    words, left_aside = _choose_words(search, [term for kind, term in terms.keys if kind == WORD])
    for one in search.index.read(words, search.query.tags, every=every):
        bounds = Bounds(search, one, numbers)
        postings = one.view.read_postings(one.postings, one.blocks, terms.numbers)
        if not bounds.is_open:
            postings = postings.only(bounds.readable(postings.index))
        postings = _with_phrases(search, terms, postings, len(one.view))
        if every or len(postings.index):
            made.append(AudienceMatches(one.view, postings, bounds))
    docs = {key: sum(len(one.postings.of(n)[0]) for one in made) for n, key in enumerate(terms.keys)}
    return Matches(terms, made, docs, left_aside)


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
        found.append(np.flatnonzero(held) if pieces else np.empty(0, np.int64))
    sizes = np.cumsum([len(one) for one in found])
    first = len(terms.keys) - len(phrases)
    end = postings.starts[first]
    index = np.concatenate([postings.index[:end], *found])
    times = np.concatenate([postings.times[:end], np.ones(int(sizes[-1]), postings.times.dtype)])
    return Postings(index, times, np.concatenate([postings.starts[: first + 1], end + sizes]))


class Bounds:
    """Which rows of an audience a search may read."""

    def __init__(self, search: Search, rows: AudienceRows, numbers: Collection[int]) -> None:
        limits, view = search.limits, rows.view
        self._view, self._limits, self._gone = view, limits, view.find_gone(rows.gone)
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


def _choose_words(search: Search, words: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the words to read, and those that too many rows hold."""
    assert search.index is not None
    docs = {word: search.index.lexicon.rows(word) for word in words}
    total, aside = sum(docs.values()), list[str]()
    for word in sorted(docs, key=lambda one: -docs[one]) if total > MOST_POSTINGS else ():
        if total <= MOST_POSTINGS:
            break
        total -= docs[word]
        aside.append(word)
    return [word for word in words if docs[word] and word not in aside], tuple(aside)
