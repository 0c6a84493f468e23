"""What is looked for in the search tables, and how rare it is. Called by `search`; reads no database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

HELD = "search.held"
"""In the caches of a database handle: what the process holds of packed rows."""
WORD, TAG = 0, 1
"""Kinds of what is looked up, in postings and counts."""
TERM_BYTES = 160
"""Most bytes of a word in the index."""
UNLISTED = "\x01"
"""The index term of rows that hold a word which is not in the index."""
NO_MATCH = "\x02"
"""A pattern no stored text matches: fills the places of a statement that are not needed."""


class Segment(NamedTuple):
    """A segment of the packed index."""

    audience_id: int
    segment_id: int
    stamp: int
    """Tells it from every other one there was."""
    docs: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """One text looked for inside texts: a keyword, or a tag where the chat is searched."""

    text: str
    """Folded."""
    is_keyword: bool
    is_tag: bool
    whole_only: bool = False
    """It counts as a whole word alone: so few letters stand in many words that have nothing to do with it."""
    is_minor: bool = False
    """Words of the message beside those asked for, which lend a row weight: `text` is how they begin."""
    stem: str = ""
    """The stem of minor words."""
    terms: Mapping[str, bool] = field(default_factory=dict)
    """Known words that hold it, each with whether it is the whole word (T29a)."""
    verify: bool = False
    """The known words alone do not prove a match: the row is compared with LIKE."""
    walk: bool = False
    """No known word leads to its rows: they are compared one by one."""
    cut: bool = False
    """More known words hold it than `terms` names, so that rows may be missed."""

    def applies(self, source: int, chat: int) -> bool:
        """Return whether it is looked for in the texts of a source: tags are in the chat alone."""
        return self.is_keyword or self.is_minor or source == chat


class Count(NamedTuple):
    """In how many rows of an audience and source a key stands."""

    audience: int
    key: str
    source: int
    docs: int


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the visible rows before any is read."""

    words: Sequence[Count]
    """Counts of the known words and of UNLISTED."""
    tags: Sequence[Count]
    audiences: tuple[int, ...]
    sources: tuple[int, ...]
    """Numbers of the sources asked."""
    chat: int
    """Number of the chat source, where tags are looked for as words and no tag can stand."""
    rows: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """(audience, source) to rows."""

    def cells(self, source: int, keys: Iterable[str]) -> list[Count]:
        """Return the counts of these words in a source."""
        wanted = set(keys)
        return [c for c in self.words if c.source == source and c.key in wanted]


def total(cells: Iterable[Count]) -> int:
    """Return the rows of the cells, a row that holds two keys counted twice."""
    return sum(c.docs for c in cells)


def by_key(cells: Iterable[Count]) -> list[tuple[str, list[Count]]]:
    """Return the cells of each key, the rarest key first."""
    found: dict[str, list[Count]] = {}
    for c in cells:
        found.setdefault(c.key, []).append(c)
    return sorted(found.items(), key=lambda item: (total(item[1]), item[0]))


def packed(cells: Iterable[Count], most_places: int) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Return `(audiences, keys)` whose products cover the cells, each of at most `most_places` places where
    it can be.
    """
    made: list[tuple[tuple[int, ...], tuple[str, ...]]] = []
    audiences: set[int] = set()
    keys: list[str] = []
    for key, found in by_key(cells):
        wider = audiences | {c.audience for c in found}
        if keys and len(wider) * (len(keys) + 1) > most_places:
            made.append((tuple(sorted(audiences)), tuple(sorted(keys))))
            keys, wider = [], {c.audience for c in found}
        keys.append(key)
        audiences = wider
    if keys:
        made.append((tuple(sorted(audiences)), tuple(sorted(keys))))
    return made


def rarity(words: Sequence[Wanted], word_counts: Iterable[Count], chat: int) -> list[int]:
    """Return in how many visible rows each text stands as a whole word, or, where it never does, inside others."""
    whole = [0] * len(words)
    inner = [0] * len(words)
    places: dict[str, list[tuple[int, bool]]] = {}
    for i, w in enumerate(words):
        for term, is_whole in w.terms.items():
            places.setdefault(term, []).append((i, is_whole))
    for count in word_counts:
        for i, is_whole in places.get(count.key, ()):
            if words[i].applies(count.source, chat):
                if is_whole:
                    whole[i] += count.docs
                else:
                    inner[i] += count.docs
    return [w or i for w, i in zip(whole, inner, strict=True)]
