"""Find, in the index, the rows that can match the SQL conditions, so that no other rows are compared.

A piece of a keyword (`text.words.fragments`) is inside a word of every text that contains the keyword. A row with words
that are not in the index (PARTIAL) can match any keyword.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..database.dialects import microseconds
from ..database.sources import CHAT, SourceTable
from ..index.numbers import Flags, Ints
from ..index.shapes import PARTIAL, TAG, WORD, IndexTerm
from ..index.visible import Postings, Visible
from ..text.words import fragments

if TYPE_CHECKING:
    from ..index.lexicon import Lexicon
    from .resolve import Search

MOST_WORDS = 400
"""Maximum number of index words that may contain a piece; a piece in more words is not used."""
_PARTIAL: IndexTerm = (WORD, PARTIAL)
Pieces = Sequence[Sequence[IndexTerm]]
"""Pieces of a text, each with the index words that contain it: a row with the text holds a word of each piece."""


class SourceHolders(NamedTuple):
    """The rows of a source that can match, by id."""

    both: Sequence[int]
    """Rows that may hold both a tag and a keyword, newest first."""
    others: Sequence[int]
    """Other rows that can match, newest first."""
    is_all: bool
    """Whether no older rows were left out."""


class _Audience(NamedTuple):
    """Flags of an audience's rows that may hold a keyword, a tag as a word, or a tag."""

    view: Visible
    keywords: Flags
    tag_words: Flags
    tags: Flags


@dataclass(frozen=True, eq=False)
class Holders:
    """The rows that can match, by audience."""

    search: Search
    audiences: Sequence[_Audience]

    def list_rows(self, source: SourceTable, most: int) -> SourceHolders:
        """Return the rows of a source that can match in the time asked for, among its newest `most` rows."""
        query, columns = self.search.query, list[tuple[Ints, Ints, Flags]]()
        least = find_nth_newest(self.search, source, most)
        since = None if query.since is None else microseconds(query.since)
        for one in self.audiences:
            view, tagged = one.view, one.tag_words if source is CHAT else one.tags
            may = one.keywords | tagged
            may[view.gone] = False
            rows = may.nonzero()[0]
            rows = rows[view.source[rows] == source.number]
            at_us = view.at_us[rows]
            within = np.ones(len(rows), bool)
            for start in (each for each in (since, least) if each is not None):
                within &= at_us >= start
            if query.until is not None:
                within &= at_us < microseconds(query.until)
            rows = rows[within]
            columns.append((view.row_id[rows], view.at_us[rows], one.keywords[rows] & tagged[rows]))
        is_all = least is None or (since is not None and since >= least)
        if not columns:
            return SourceHolders((), (), is_all)
        row_id, at_us, is_both = (np.concatenate(column) for column in zip(*columns, strict=True))
        newest = np.lexsort((-row_id, -at_us))
        row_id, is_both = row_id[newest], is_both[newest]
        return SourceHolders(row_id[is_both].tolist(), row_id[~is_both].tolist(), is_all)


def find_holders(search: Search) -> Holders | None:
    """Return the rows that can match; None if every piece of some keyword is in too many words."""
    assert search.index is not None
    lexicon = search.index.lexicon
    keywords = [_find_pieces(term.text, lexicon) for term in search.terms if term.is_keyword]
    tag_words = [_find_pieces(term.text, lexicon) for term in search.terms if term.is_tag_word]
    if not all((*keywords, *tag_words)):
        return None
    texts = keywords, tag_words, [[[(TAG, tag)]] for tag in search.query.tags]
    words = (word for some in texts for pieces in some for piece in pieces for word in piece)
    found = search.index.read(dict.fromkeys((_PARTIAL, *words)))
    return Holders(search, [_Audience(view, *(_find_rows(view, held, some) for some in texts)) for view, held in found])


def _find_pieces(text: str, lexicon: Lexicon) -> Pieces:
    """Return the pieces of a text that are in at most MOST_WORDS index words."""
    every = (lexicon.list_holding(piece.text, MOST_WORDS) for piece in fragments(text))
    return [[(WORD, word) for word in words] for words in every if words is not None]


def _find_rows(view: Visible, held: Postings, texts: Iterable[Pieces]) -> Flags:
    """Return the flags of an audience's rows that may hold one of the texts."""
    may = np.zeros(len(view), bool)
    for pieces in texts:
        holds = np.ones(len(view), bool)
        for piece in pieces:
            has_one = np.zeros(len(view), bool)
            for word in (_PARTIAL, *piece):
                has_one[held.find(word)[0]] = True
            holds &= has_one
        may |= holds
    return may


def find_nth_newest(search: Search, source: SourceTable, count: int) -> int | None:
    """Return the time in microseconds of the `count`-th newest row of a source; None if there are no more rows."""
    if search.index is None or search.count_rows([source.number])[0] <= count:
        return None
    views = [one.view for one in search.index.audiences.values()]
    times = np.concatenate([view.at_us[view.source == source.number] for view in views])
    return int(np.partition(times, -count)[-count])
