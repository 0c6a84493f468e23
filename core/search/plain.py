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

from ..database.dialects import microseconds
from ..database.engine import Database
from ..database.sources import CHAT, SourceTable
from ..errors import StoreReadError
from ..index.lexicon import Lexicon
from ..index.numbers import Flags, Ints
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
"""The same in relevance mode, if the index finds fewer rows than the limit."""
MOST_WORDS = 400
"""Maximum number of index words that may contain a piece; a piece in more words is not used."""
_PARTIAL: IndexTerm = (WORD, PARTIAL)
Pieces = Sequence[Sequence[IndexTerm]]
"""Pieces of a text, each with the index words that contain it: a row with the text holds a word of each piece."""


class _SourceRows(NamedTuple):
    """The ids of the rows of a source that can match."""

    both: Sequence[int]
    """Rows that may hold both a tag and a keyword, newest first."""
    others: Sequence[int]
    """Other rows that can match, newest first."""
    is_all: bool
    """Whether no older rows that can match were left out."""


class _Holders(NamedTuple):
    """For one audience, flags of the rows that may hold a keyword, a tag as a word, or a tag."""

    view: Visible
    keywords: Flags
    tag_words: Flags
    tags: Flags


def add_newest(ranked: Ranked, db: Database, most: int = MOST_FALLBACK) -> Ranked:
    """Return the candidates together with the newest rows that match the plain SQL conditions."""
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
    """Return the newest `pool` matching rows of each source, of the newest `most` that can match.

    Sources that cannot be read are skipped.
    """
    search = current.search
    found: list[Candidate] = []
    rows: dict[RowId, FoundRow] = {}
    errors: dict[int, StoreReadError] = {}
    newest_only: list[int] = []
    holders = _find_holders(search)
    for source in search.query.sources:
        try:
            if holders is None:
                found += table.read_newest(db, search, source, pool, rows)
                continue
            may = _list_rows(search, holders, source, most)
            mine = _read_rows(search, db, source, pool, may, rows)
        except StoreReadError as error:
            errors[source.number] = table.note_unread(source.number, error)
            continue
        found += mine
        is_full = len(mine) >= pool and not (search.query.tags and search.query.keywords)
        newest_only += [] if is_full or may.is_all else [source.number]
    if errors and len(errors) == len(search.query.sources):
        raise next(iter(errors.values()))
    considered = Counter(c.source for c in found)
    return Ranked(current, found, considered=considered, rows=rows, newest_only=tuple(newest_only), errors=errors)


def _read_rows(
    search: Search, db: Database, source: SourceTable, pool: int, may: _SourceRows, rows: dict[RowId, FoundRow]
) -> list[Candidate]:
    """Return the newest `pool` matching rows of a source; rows that may hold tag and keyword are compared first."""
    found, newest = list[Candidate](), list[Candidate]()
    for ids in _grow(may.both, pool):
        if sum(c.tier == 1 for c in found) < pool:
            found += table.read_newest(db, search, source, pool, rows, ids)
    for ids in _grow(may.others, pool):
        if len(newest) < pool:
            newest += table.read_newest(db, search, source, pool - len(newest), rows, ids)
    return sorted([*found, *newest], key=lambda c: (c.tier, -c.at_us, -c.id))[:pool]


def _grow(ids: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """Yield the ids in lists, each longer than the last: most rows that can match do match."""
    at = 0
    while at < len(ids):
        size = min(2 * size, AT_ONCE)
        yield ids[at : at + size]
        at += size


# The rows that can match, from the index


def _find_holders(search: Search) -> list[_Holders] | None:
    """Return the rows of each audience that can match; None without the index, so that every row is compared."""
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
    return [_Holders(view, *(_find_rows(view, held, some) for some in texts)) for view, held in found]


def _find_pieces(text: str, lexicon: Lexicon) -> Pieces:
    """Return the pieces of a text that are in at most MOST_WORDS index words; if no piece is, any row may hold it."""
    every = (lexicon.list_holding(piece.text, MOST_WORDS) for piece in fragments(text))
    return [[(WORD, word) for word in words] for words in every if words is not None]


def _find_rows(view: Visible, held: Postings, texts: Iterable[Pieces]) -> Flags:
    """Return flags that mark the rows of an audience that may hold one of the texts."""
    may = np.zeros(len(view), bool)
    for pieces in texts:
        may |= held.find_all([(_PARTIAL, *piece) for piece in pieces], len(view))
    return may


def _list_rows(search: Search, holders: Sequence[_Holders], source: SourceTable, most: int) -> _SourceRows:
    """Return the newest `most` rows of a source that can match in the time asked for."""
    query, columns = search.query, list[tuple[Ints, Ints, Flags]]()
    for one in holders:
        view, tagged = one.view, one.tag_words if source is CHAT else one.tags
        may = one.keywords | tagged
        may[view.gone] = False
        rows = may.nonzero()[0]
        rows = rows[view.source[rows] == source.number]
        at_us = view.at_us[rows]
        within = np.ones(len(rows), bool)
        if query.since is not None:
            within &= at_us >= microseconds(query.since)
        if query.until is not None:
            within &= at_us < microseconds(query.until)
        rows = rows[within]
        columns.append((view.row_id[rows], view.at_us[rows], one.keywords[rows] & tagged[rows]))
    row_id, at_us, is_both = (np.concatenate(column) for column in zip(*columns, strict=True))
    newest = np.lexsort((-row_id, -at_us))[:most]
    is_all = len(newest) == len(row_id)
    row_id, is_both = row_id[newest], is_both[newest]
    return _SourceRows(row_id[is_both].tolist(), row_id[~is_both].tolist(), is_all)
