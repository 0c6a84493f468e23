"""Recency mode: the newest matching rows of each source, as far as their texts hold what is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..database import sources
from ..database.engine import Database
from ..index.lookups import TAG, UNLISTED, WORD
from .gathered import PROVED_AT_ONCE, list_excluded, note_matches, pool_size, prove
from .matches import AudienceMatches, Matches, Terms
from .ranking import ranking
from .ranking.ranking import Candidate
from .terms import Search

_CHAT = sources.CHAT.number


def find_newest(search: Search, db: Database, matches: Matches, number: int, depth: int) -> list[Candidate]:
    """Return the newest matching rows of a source, tier 1 first, as far as their texts hold what is asked."""
    both, most = bool(search.query.tags and search.query.keywords), pool_size(search, number, depth)
    sides = _sides(search, matches.terms, number) if both else None
    asked = _asked_of(search, matches.terms, number)
    excluded = np.array(list_excluded(search, number), np.int64)
    parts = [(n, *_rows_of(one, number, asked, sides, excluded)) for n, one in enumerate(matches.audiences)]
    if not parts:
        return []
    rows, tier = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
    audience = np.repeat([part[0] for part in parts], [len(part[1]) for part in parts])
    at_us, ids = (
        np.concatenate([matches.audiences[part[0]].view.take(name, part[1]) for part in parts])
        for name in ("at_us", "row_id")
    )
    # Where a text decides about the tier, all are looked at.
    is_open = any(w.verify for w in search.words)
    is_sure = not is_open and not any(len(one.postings.of(matches.terms.unlisted)[0]) for one in matches.audiences)
    made: list[Candidate] = []
    for some in _newest_first(tier, at_us, ids, most if is_sure else max(PROVED_AT_ONCE, most)):
        if len(made) >= most and not (is_open and both):
            break
        held = {
            n: one.postings.held_by(rows[some[audience[some] == n]].tolist(), len(one.view))
            for n, one in enumerate(matches.audiences)
        }
        candidates = []
        for place in some.tolist():
            c = Candidate(number, int(ids[place]), int(at_us[place]))
            stands = held[int(audience[place])][int(rows[place])]
            note_matches(search, c, {matches.terms.keys[t]: times for t, times in stands.items()})
            candidates.append(c)
        unproved = [c for c in candidates if is_open or not (c.matched or c.tags)]
        proved = prove(search, db, unproved) if unproved else set()
        made += [c for c in candidates if c.matched or c.tags or (c.source, c.id) in proved]
    return ranking.tier_then_newest(made)[:most]


def _rows_of(
    one: AudienceMatches, number: int, asked: list[int], sides: tuple[list[int], list[int]] | None, excluded: Any
) -> tuple[Any, Any]:
    """Return the rows of a source in one audience that may match, and the tier of each."""
    view, postings = one.view, one.postings
    is_row = np.zeros(len(view), bool)
    for term in asked:
        is_row[postings.of(term)[0]] = True
    rows = np.flatnonzero(is_row)
    rows = rows[view.take("source", rows) == number]
    if len(excluded):
        rows = rows[~np.isin(view.take("row_id", rows), excluded)]
    tier = np.full(len(rows), 2)
    for side in sides or ():
        holds = np.zeros(len(view), bool)
        for term in side:
            holds[postings.of(term)[0]] = True
        is_row &= holds
    if sides:
        tier[is_row[rows]] = 1
    return rows, tier


def _newest_first(tier: Any, at_us: Any, ids: Any, size: int) -> Iterator[Any]:
    """Yield the places of rows, so many at once, tier 1 and the newest first."""
    for number in (1, 2):
        places = np.flatnonzero(tier == number)
        if len(places) > size:  # seldom more are needed
            at = at_us[places]
            newest = places[at >= np.partition(at, len(at) - size)[len(at) - size]]
            yield newest[np.lexsort((-ids[newest], -at_us[newest]))][:size]
        order = places[np.lexsort((-ids[places], -at_us[places]))]
        for start in range(size if len(places) > size else 0, len(order), size):
            yield order[start : start + size]


def _asked_of(search: Search, terms: Terms, number: int) -> list[int]:
    """Return the numbers of the words and tags that lead to rows of a source."""
    words = {t for w in search.words if w.applies(number, _CHAT) and not w.walk for t in w.terms} | {UNLISTED}
    return [n for n, (kind, term) in enumerate(terms.keys) if kind == TAG or term in words]


def _sides(search: Search, terms: Terms, number: int) -> tuple[list[int], list[int]]:
    """Return the numbers of the words and tags asked for that are tags of a source's rows, and those of keywords."""
    tags = {n for n, (kind, _) in enumerate(terms.keys) if kind == TAG}
    keywords: set[int] = set()
    for word in search.words:
        for term in word.terms if word.applies(number, _CHAT) and not (word.walk or word.verify) else ():
            at = terms.numbers[WORD, term]
            if word.is_keyword:
                keywords.add(at)
            if word.is_tag and number == _CHAT:
                tags.add(at)
    return sorted(tags), sorted(keywords)
