"""Rows that match plain SQL conditions, newest first: all rows of recency mode, a fallback of relevance mode.

The index tells which rows can match, so that no others are compared. A piece of a keyword (`text.words.fragments`) is
inside a word of every text that contains the keyword. A row with words that are not in the index (PARTIAL) can match
any keyword.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..database.engine import Database
from ..database.sources import SourceTable
from ..errors import StoreReadError
from ..index.lexicon import Lexicon
from ..index.numbers import Column, Flags, Ints
from ..index.shapes import PARTIAL, TAG, WORD, IndexTerm, RowId
from ..index.visible import Postings, Visible
from ..text.words import fragments
from . import table
from .rank import Ranked, Round, leave_best, weigh_alone
from .ranking.rows import Candidate, FoundRow
from .resolve import Search

AT_ONCE = 2048
"""Maximum number of rows compared in one statement."""
MOST_COMPARED = 100_000
"""Maximum number of rows of a source compared in recency mode, the newest that can match."""
MOST_FALLBACK = 20_000
"""Maximum number of rows of a source compared in relevance mode, if the index finds fewer rows than the limit."""
MOST_WORDS = 400
"""Maximum number of index words that may contain a piece; a piece in more words is not used."""
_PARTIAL: IndexTerm = (WORD, PARTIAL)
Pieces = Sequence[Sequence[IndexTerm]]
"""Pieces of a text, each with the index words that contain it: a row with the text holds a word of each piece."""


class _Rows(NamedTuple):
    """Columns of the rows that can match, newest first."""

    source: Column
    row_id: Column
    is_both: Flags
    """Whether a row may hold both a tag and a keyword."""

    def keep(self, which: Flags | Ints | slice) -> _Rows:
        return _Rows(self.source[which], self.row_id[which], self.is_both[which])


def add_newest(ranked: Ranked, db: Database, most: int = MOST_FALLBACK) -> Ranked:
    """Add to the candidates up to `most` of the newest rows whose tags or texts match the query by SQL alone."""
    current, pool = ranked.round, ranked.round.plain_pool
    found, known = read_newest(current, db, pool, most), {c.key for c in ranked.candidates}
    # The tier is set again from the texts: a short word matches only as a whole word.
    every = [*ranked.candidates, *(replace(c, tier=2) for c in found.candidates if c.key not in known)]
    alone = ranked.alone or weigh_alone(ranked.search, ranked.matches)
    candidates, is_whole = leave_best(every, current, alone)
    is_all = all(count < pool for count in found.considered.values())
    return replace(
        ranked,
        candidates=candidates,
        is_complete=ranked.is_complete and is_all and is_whole,
        alone=alone,
        considered={**ranked.considered, **found.considered},
        rows={**ranked.rows, **found.rows},
        newest_only=found.newest_only if most == MOST_COMPARED else (),
        errors={**ranked.errors, **found.errors},
    )


def read_newest(current: Round, db: Database, pool: int, most: int) -> Ranked:
    """Return the newest `pool` matches of each readable source, among the newest `most` rows that can match."""
    search = current.search
    found: list[Candidate] = []
    rows: dict[RowId, FoundRow] = {}
    errors: dict[int, StoreReadError] = {}
    newest_only: list[int] = []
    every = _find_rows(search)
    for source in search.query.sources:
        try:
            if every is None:
                found += table.read_newest(db, search, source, pool, rows)
                continue
            may = every.keep(every.source == source.number)
            mine = _read_rows(search, db, source, pool, may.keep(slice(most)), rows)
        except StoreReadError as error:
            errors[source.number] = table.note_unread(source.number, error)
            continue
        found += mine
        is_full = len(mine) >= pool and not (search.query.tags and search.query.keywords)
        newest_only += [] if is_full or len(may.row_id) <= most else [source.number]
    if errors and len(errors) == len(search.query.sources):
        raise next(iter(errors.values()))
    considered = Counter(c.source for c in found)
    return Ranked(current, found, considered=considered, rows=rows, newest_only=tuple(newest_only), errors=errors)


def _read_rows(
    search: Search, db: Database, source: SourceTable, pool: int, may: _Rows, rows: dict[RowId, FoundRow]
) -> list[Candidate]:
    """Return the newest `pool` matching rows of a source; rows that may contain both tag and keyword come first."""
    found, newest = list[Candidate](), list[Candidate]()
    for ids in _grow(may.row_id[may.is_both].tolist(), pool):
        if sum(c.tier == 1 for c in found) < pool:
            found += table.read_newest(db, search, source, pool, rows, ids)
    for ids in _grow(may.row_id[~may.is_both].tolist(), pool):
        if len(newest) < pool:
            newest += table.read_newest(db, search, source, pool - len(newest), rows, ids)
    return sorted([*found, *newest], key=lambda c: (c.tier, -c.at_us, -c.id))[:pool]


def _grow(ids: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """Yield the ids in batches of growing size: most rows that can match do match, so the first is often enough."""
    at = 0
    while at < len(ids):
        size = min(2 * size, AT_ONCE)
        yield ids[at : at + size]
        at += size


# The rows that can match, from the index


def _find_rows(search: Search) -> _Rows | None:
    """Return the rows that can match in the time asked for; None without the index, so that every row is compared."""
    if search.index is None:
        return None
    lexicon = search.index.lexicon
    keywords = [_find_pieces(term.text, lexicon) for term in search.terms if term.is_keyword]
    tag_words = [_find_pieces(term.text, lexicon) for term in search.terms if term.is_tag_word]
    texts = keywords, tag_words, [[[(TAG, tag)]] for tag in search.query.tags]
    words = (word for some in texts for pieces in some for piece in pieces for word in piece)
    try:
        found = search.index.read(dict.fromkeys((_PARTIAL, *words)), every=True)
    except (StoreReadError, ValueError):
        return None
    parts = [_list_rows(search, view, *(_flag_rows(view, held, some) for some in texts)) for view, held in found]
    at_us = np.concatenate([each for each, _ in parts])
    rows = _Rows(*(np.concatenate(column) for column in zip(*(part for _, part in parts), strict=True)))
    return rows.keep(np.lexsort((-rows.row_id, -at_us)))


def _find_pieces(text: str, lexicon: Lexicon) -> Pieces:
    """Return the index words that contain each piece of a text, except pieces that more than MOST_WORDS contain."""
    every = (lexicon.list_holding(piece.text, MOST_WORDS) for piece in fragments(text))
    return [[(WORD, word) for word in words] for words in every if words is not None]


def _flag_rows(view: Visible, held: Postings, texts: Iterable[Pieces]) -> Flags:
    """Return flags that mark the rows of an audience that may hold one of the texts."""
    may = np.zeros(len(view), bool)
    for pieces in texts:
        may[held.find_all([(_PARTIAL, *piece) for piece in pieces], len(view))] = True
    return may


def _list_rows(search: Search, view: Visible, keywords: Flags, tag_words: Flags, tags: Flags) -> tuple[Column, _Rows]:
    """Return (times of the rows of an audience that can match, these rows)."""
    query, may = search.query, keywords | tag_words | tags
    may[view.gone] = False
    rows = may.nonzero()[0]
    rows = rows[query.are_within(view.at_us[rows])]
    is_tagged = np.where(view.is_chat[rows], tag_words[rows], tags[rows])
    can_match = keywords[rows] | is_tagged
    rows, is_tagged = rows[can_match], is_tagged[can_match]
    return view.at_us[rows], _Rows(view.source[rows], view.row_id[rows], is_tagged & keywords[rows])
