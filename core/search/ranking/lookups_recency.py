"""Which look-ups bring the newest matching rows.

Promise: they bring every row that can be among the newest `pool` of a source, tier 1 first, and nothing that does not
match. Keys of few rows are read and sorted together; each of the others is walked from its newest posting, which stops
as soon as it has found enough. Called by `search`; reads no database.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...index.lookups import UNLISTED, Count, Kind, Known, Lookup, Plan, Wanted, by_key, packed, plain_terms, total

MERGED_POSTINGS = 4000
"""Most postings that are read and sorted together."""
SMALL = 150
"""A key of so few rows is sorted along with others: a branch of its own costs as much."""
MOST_WALKS = 8
"""Most branches that walk one key, or the rows, audience by audience; more audiences are sorted together."""
DENSE_KEYS = 16
"""A text that more common words hold than these is found sooner by walking the rows."""
PLACES = 4000
"""Most (audience, key) places of one branch."""


def by_recency(words: Sequence[Wanted], known: Known, *, pool: int) -> Plan:
    """Return look-ups that bring the newest `pool` matching rows of every source.

    Args:
        words: texts looked for; their `terms` name the known words.
        pool: newest rows taken of each source.

    Returns:
        A plan that misses no row: where none of its look-ups comes back full, it brings every matching row.
    """
    lookups: list[Lookup] = []
    for source in known.sources:
        asked = _Asked(words, known, source, pool)
        lookups += asked.of_texts(asked.applying)
        lookups += asked.newest("tags", asked.tag_cells)
        lookups += _first_tier(asked)
    return Plan(tuple(dict.fromkeys(lookups)), complete=True)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked of one source."""

    words: Sequence[Wanted]
    known: Known
    source: int
    pool: int

    @property
    def applying(self) -> list[int]:
        return [i for i, w in enumerate(self.words) if w.applies(self.source, self.known.chat)]

    @property
    def tag_cells(self) -> list[Count]:
        return [c for c in self.known.tags if c.source == self.source]

    def weight(self, which: Iterable[int]) -> float:
        """Return how many postings lead to these texts; infinite where rows have to be walked."""
        chosen = list(which)
        if any(self.walks(i) for i in chosen):
            return float("inf")
        return total(self.known.cells(self.source, {t for i in chosen for t in self.words[i].terms}))

    def walks(self, i: int) -> bool:
        """Return whether rows are walked for a text: no word leads to it, or too many common ones do."""
        w = self.words[i]
        if w.walk or w.cut or len(w.terms) <= DENSE_KEYS:
            return w.walk or w.cut
        if len(self.known.audiences) > MOST_WALKS:
            return False
        cells = by_key(self.known.cells(self.source, w.terms))
        return sum(total(found) > max(self.pool, SMALL) for _, found in cells) > DENSE_KEYS

    def of_texts(self, which: Sequence[int], groups: tuple[tuple[int, ...], ...] = (), **more: Any) -> list[Lookup]:
        """Return look-ups of the newest rows that hold one of the texts, and one text of each of the groups too."""
        if not which:
            return []
        walked = [i for i in which if self.walks(i)]
        terms = plain_terms(self.words, [i for i in which if i not in walked])
        made = self.newest("words", self.known.cells(self.source, terms), groups=groups, **more)
        for i in which:
            own = {**more, "groups": ((i,), *groups), "proves": i}
            if i in walked:
                made += self.walk(**own)
            elif self.words[i].verify:
                made += self.newest("words", self.known.cells(self.source, self.words[i].terms), **own)
        listed = tuple(i for i in which if i not in walked)
        unlisted = self.known.cells(self.source, (UNLISTED,)) if listed else []
        return made + self.newest("words", unlisted, groups=(listed, *groups), **more)

    def walk(self, **more: Any) -> list[Lookup]:
        """Return look-ups that walk the rows."""
        seen = [a for a in self.known.audiences if self.known.rows.get((a, self.source), 1)]
        each = [(a,) for a in seen] if len(seen) <= MOST_WALKS else [tuple(seen)]
        return [Lookup("walk", a, (), (self.source,), self.pool, **more) for a in each]

    def newest(self, kind: Kind, cells: Sequence[Count], **more: Any) -> list[Lookup]:
        """Return look-ups of the newest rows with any of the keys."""
        made: list[Lookup] = []
        merged: list[Count] = []
        spent, small = 0, max(self.pool, SMALL)
        for key, found in by_key(cells):
            docs = total(found)
            if spent + docs <= MERGED_POSTINGS or docs <= small:
                merged += found
                spent += docs
                continue
            walked = [c.audience for c in found if c.docs > small]
            walked = walked if len(walked) <= MOST_WALKS else []
            rest = tuple(sorted({c.audience for c in found} - set(walked)))
            each = [(a,) for a in walked] + ([rest] if rest else [])
            made += [Lookup(kind, a, (key,), (self.source,), self.pool, **more) for a in each]
        together = [
            Lookup(kind, audiences, keys, (self.source,), self.pool, **more, distinct=len(keys) > 1)
            for audiences, keys in packed(merged, PLACES)
        ]
        return together + made


def _first_tier(asked: _Asked) -> list[Lookup]:
    """Return look-ups of the newest rows that match a tag and a keyword, led by the side that stands in fewer rows.

    They are asked for on their own, since older ones come before every row that matches either alone.
    """
    words = asked.words
    keywords = [i for i, w in enumerate(words) if w.is_keyword]
    if asked.source == asked.known.chat:
        tags = [i for i, w in enumerate(words) if w.is_tag]
        # A text asked for as both is a match of both by itself.
        both = [i for i in keywords if i in tags]
        made = asked.of_texts(both, first_tier=True) if len(both) < len(asked.applying) else []
        keywords, tags = [i for i in keywords if i not in both], [i for i in tags if i not in both]
        if not keywords or not tags:
            return made
        side, other = (keywords, tags) if asked.weight(keywords) <= asked.weight(tags) else (tags, keywords)
        return made + asked.of_texts(side, (tuple(other),), first_tier=True)
    if not keywords or not asked.tag_cells:
        return []
    if asked.weight(keywords) <= total(asked.tag_cells):
        return asked.of_texts(keywords, tagged=True, first_tier=True)
    return asked.newest("tags", asked.tag_cells, groups=(tuple(keywords),), first_tier=True)
