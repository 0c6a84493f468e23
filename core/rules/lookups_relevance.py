"""Which look-ups bring the rows most likely to score best (rules T27, T29, T30).

Promise: rows of the rarest words and tags in full, within a budget, and the newest rows of the others; the number of
postings and rows read is bounded whatever the tables hold, and so is the number of look-ups. Called by
`core.searching`; reads no database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from core.rules.lookups import UNLISTED, Count, Kind, Known, Lookup, Plan, Wanted, by_key, packed, plain_terms, total

MOST_LOOKUPS = 48
"""Most branches of one statement (each costs parsing and planning, whatever it finds)."""
MERGED_POSTINGS = 1000
"""Most postings of one key that are sorted together."""
MOST_WALKS = 3
"""Most audiences in which one key, or the rows, are walked one by one: those with most rows."""
PLACES = 4000
"""Most (audience, key) places of one branch."""
MOST_KEYS_OF_DAYS, MOST_DAYS = 4, 3
"""Most commoner keys, and most spans, that are looked up for the days asked for."""
SHARED, LEAST = 4, 8
"""The commoner keys of a search share `SHARED` times `Depth.newest` rows, each at least LEAST of them."""


@dataclass(frozen=True, slots=True)
class Depth:
    """How much is read."""

    budget: int
    """Most postings read in full; the rarest keys come first."""
    newest: int
    """Most rows taken of each key beyond the budget."""
    scan: int
    """Newest postings or rows that are compared with LIKE, or looked through for what is not excluded."""


def by_relevance(
    words: Sequence[Wanted],
    known: Known,
    depth: Depth,
    *,
    filtered: bool = False,
    days: Sequence[tuple[int, int]] = (),
) -> Plan:
    """Return look-ups that bring the rows most likely to score best.

    Args:
        words: texts looked for; their `terms` name the known words.
        filtered: rows of some conversations are left out, so that postings may be looked through in vain.
        days: spans in microseconds that are asked for: of commoner keys the newest rows of each come along.

    Source: T27, T29, T30.
    """
    plan = _Planned(words, known, depth, filtered)
    rest = plan.in_full()
    plan.compared()
    plan.on_days(rest, days)
    plan.beyond_budget(rest)
    complete = plan.complete and len(plan.lookups) <= MOST_LOOKUPS and not any(w.cut for w in words)
    return Plan(tuple(plan.lookups[:MOST_LOOKUPS]), complete)


@dataclass(slots=True)
class _Planned:
    words: Sequence[Wanted]
    known: Known
    depth: Depth
    filtered: bool
    lookups: list[Lookup] = field(default_factory=list)
    complete: bool = True

    def in_full(self) -> list[tuple[Kind, str, list[Count]]]:
        """Plan the rarest keys in full; return the others, the rarest first."""
        known, cells = self.known, self._cells()
        every = [(kind, key, found) for kind in cells for key, found in by_key(cells[kind])]
        ordered = sorted(every, key=lambda item: (total(item[2]), item[0], item[1]))
        full: dict[Kind, list[Count]] = {"words": [], "tags": []}
        rest: list[tuple[Kind, str, list[Count]]] = []
        spent = 0
        for kind, key, found in ordered:
            docs = total(found)
            if spent + docs <= self.depth.budget:
                spent += docs
                full[kind] += found
            else:
                rest.append((kind, key, found))
        for kind, found in full.items():
            for audiences, keys in packed(found, PLACES):
                self.lookups.append(Lookup(kind, audiences, keys, known.sources, None))
        return rest

    def beyond_budget(self, rest: Sequence[tuple[Kind, str, list[Count]]]) -> None:
        """Plan the newest rows of the commoner keys, the rarest first; where a source has few of them, all of these."""
        inner = self._inner()
        self.complete &= all(kind == "tags" or key not in inner for kind, key, _ in rest)
        few: dict[tuple[Kind, int], list[Count]] = {}
        many: list[tuple[Kind, int, list[Count]]] = []
        for kind, key, found in rest:
            if kind == "words" and key in inner:
                continue
            for source in self.known.sources:
                cells = [c for c in found if c.source == source]
                if total(cells) <= LEAST:
                    few.setdefault((kind, source), []).extend(cells)
                else:
                    many.append((kind, source, cells))
        for (kind, source), cells in few.items():
            for audiences, keys in packed(cells, PLACES):
                self.lookups.append(Lookup(kind, audiences, keys, (source,), None))
        share = max(LEAST, min(self.depth.newest, SHARED * self.depth.newest // max(len(many), 1)))
        for kind, source, cells in many:
            self.newest(kind, source, cells, share=share)

    def on_days(self, rest: Sequence[tuple[Kind, str, list[Count]]], days: Sequence[tuple[int, int]]) -> None:
        """Plan the newest rows of the rarest commoner keys on the days asked for, each audience walked by itself."""
        inner = self._inner()
        keys = [(kind, key, found) for kind, key, found in rest if kind == "tags" or key not in inner]
        for kind, key, found in keys[:MOST_KEYS_OF_DAYS]:
            largest = sorted(found, key=lambda c: (-c.docs, c.audience))
            for cell in largest[:MOST_WALKS]:
                for span in days[:MOST_DAYS]:
                    self.lookups.append(
                        Lookup(kind, (cell.audience,), (key,), (cell.source,), self.depth.newest, between=span)
                    )

    def _inner(self) -> set[str]:
        """Return the words that hold texts only inside them, where each of these texts has a whole word of its own.

        They score least (T29a), and a common text stands inside dozens of words: beyond the budget they are left.
        """
        whole = {t for w in self.words for t, is_whole in w.terms.items() if is_whole}
        alone = {t for w in self.words if not any(w.terms.values()) for t in w.terms}
        return {t for w in self.words for t in w.terms} - whole - alone

    def _cells(self) -> dict[Kind, list[Count]]:
        known = self.known
        terms = {
            s: plain_terms(self.words, [i for i, w in enumerate(self.words) if w.applies(s, known.chat)])
            for s in known.sources
        }
        return {
            "words": [c for c in known.words if c.key in terms.get(c.source, ())],
            "tags": [c for c in known.tags if c.source in known.sources],
        }

    def compared(self) -> None:
        """Plan the look-ups whose rows are compared with LIKE."""
        known = self.known
        for source in known.sources:
            applying = [i for i, w in enumerate(self.words) if w.applies(source, known.chat)]
            for i in applying:
                w = self.words[i]
                if w.walk:
                    self._walk(source, i)
                elif w.verify:
                    self.newest("words", source, known.cells(source, w.terms), groups=((i,),), proves=i)
            listed = tuple(i for i in applying if not self.words[i].walk)
            if listed:
                self.newest("words", source, known.cells(source, (UNLISTED,)), groups=(listed,))

    def _walk(self, source: int, i: int) -> None:
        """Plan a walk of the newest rows, in the audiences that have most."""
        rows = {a: self.known.rows.get((a, source), 0) for a in self.known.audiences}
        seen = sorted((a for a in rows if rows[a]), key=lambda a: (-rows[a], a))
        self.complete &= len(seen) <= MOST_WALKS and all(n <= self.depth.scan for n in rows.values())
        for a in seen[:MOST_WALKS]:
            walked = Lookup("walk", (a,), (), (source,), self.depth.newest, ((i,),), proves=i, scan=self.depth.scan)
            self.lookups.append(walked)

    def newest(
        self,
        kind: Kind,
        source: int,
        cells: Sequence[Count],
        *,
        groups: tuple[tuple[int, ...], ...] = (),
        proves: int = -1,
        share: int = 0,
    ) -> None:
        """Plan the newest rows of some keys of a source: the cells with few rows together, the largest on their own."""
        most = share or self.depth.newest
        scan = self.depth.scan if groups or self.filtered else None
        largest = sorted(cells, key=lambda c: (-c.docs, c.audience, c.key))
        left = total(largest)
        first = 0
        while left > MERGED_POSTINGS:
            left -= largest[first].docs
            first += 1
        # A branch reads each of its keys in each of its audiences: what is left of a key with large cells stays apart.
        apart = {c.key for c in largest[:first]}
        alone, rest = largest[: min(first, MOST_WALKS)], largest[first:]
        self.complete &= first <= MOST_WALKS
        self.complete &= scan is None or all(c.docs <= scan for c in alone)
        places = [((c.audience,), (c.key,)) for c in alone] + packed([c for c in rest if c.key not in apart], PLACES)
        for key in sorted(apart):
            places += packed([c for c in rest if c.key == key], PLACES)
        for audiences, found in places:
            self.lookups.append(Lookup(kind, audiences, found, (source,), most, groups, proves=proves, scan=scan))
