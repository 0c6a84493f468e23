"""Which look-ups bring the rows most likely to score best.

Promise: rows of the rarest words and tags in full, within a budget, and the newest rows of the others; the number of
postings and rows read is bounded whatever the tables hold, and so is the number of look-ups. Called by
`search`; reads no database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...index.lookups import UNLISTED, Count, Kind, Known, Lookup, Plan, Wanted, by_key, packed, plain_terms, total

MOST_LOOKUPS = 48
"""Most branches of one statement (each costs parsing and planning, whatever it finds)."""
MERGED_POSTINGS = 1000
"""Most postings of one key that are sorted together."""
MOST_WALKS = 3
"""Most audiences in which one key, or the rows, are walked one by one: those with most rows."""
PLACES = 4000
"""Most (audience, key) places of one branch."""
MOST_INDEX_ROWS = 18_000
"""Most index rows that the look-ups of the first round may read together; what would read more is left out."""
WALKED = 3
"""Index rows that one row of a walk takes: its entry, the row, and its conversation, of which MySQL asks for each."""
MOST_LEADING, MOST_BESIDE = 2, 2
"""Most commoner words whose rows are looked through for one of the next commoner, and most of these."""
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
    most: int = MOST_INDEX_ROWS
    """Most index rows of all look-ups."""


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
    """
    plan = _Planned(words, known, depth, filtered)
    rest = plan.in_full()
    plan.compared()
    plan.on_days(rest, days)
    plan.together(rest)
    plan.beyond_budget(rest)
    return Plan(tuple(plan.lookups), plan.complete and not any(w.cut for w in words))


@dataclass(slots=True)
class _Planned:
    words: Sequence[Wanted]
    known: Known
    depth: Depth
    filtered: bool
    lookups: list[Lookup] = field(default_factory=list)
    complete: bool = True
    reads: int = 0
    """Index rows that the look-ups may read."""

    def add(self, lookup: Lookup, reads: int) -> None:
        """Take a look-up that may read so many index rows, unless all together may read too many with it."""
        if len(self.lookups) >= MOST_LOOKUPS or self.reads + reads > self.depth.most:
            self.complete = False
            return
        self.reads += reads
        self.lookups.append(lookup)

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
                self.add(Lookup(kind, audiences, keys, known.sources, None), _docs(found, audiences, keys))
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
                self.add(Lookup(kind, audiences, keys, (source,), None), _docs(cells, audiences, keys))
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
                    newest = min(cell.docs, self.depth.newest)
                    self.add(Lookup(kind, (cell.audience,), (key,), (cell.source,), newest, between=span), newest)

    def together(self, rest: Sequence[tuple[Kind, str, list[Count]]]) -> None:
        """Plan the rows that hold two commoner words: among many rows with either, those are the ones that are meant.

        The newest rows of the rarer word are looked through for the others, each by one probe.
        """
        words = self._of_texts([(key, found) for kind, key, found in rest if kind == "words"])
        for place, (_, key, found) in enumerate(words[:MOST_LEADING]):
            text = words[place][0]
            beside = tuple(other for own, other, _ in words[place + 1 :] if own != text)[:MOST_BESIDE]
            cell = max(found, key=lambda c: (c.docs, -c.audience))
            if not beside or cell.docs <= self.depth.newest:
                continue
            scan = self.depth.scan * 3 // 4
            reads = min(cell.docs, scan) * (1 + len(beside))
            where = ((cell.audience,), (key,), (cell.source,))
            self.add(Lookup("words", *where, self.depth.newest, scan=scan, also=beside), reads)

    def _of_texts(self, keys: Sequence[tuple[str, list[Count]]]) -> list[tuple[int, str, list[Count]]]:
        """Return the keys that are whole words of a text, each with the number of the text."""
        of = {t: i for i, w in reversed(list(enumerate(self.words))) for t, is_whole in w.terms.items() if is_whole}
        return [(of[key], key, found) for key, found in keys if key in of]

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
            self.add(walked, WALKED * min(rows[a], self.depth.scan))

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
        each = 1 if scan is None else 2  # the row of each posting is looked at, too
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
            docs = _docs(cells, audiences, found)
            walked = len(audiences) == len(found) == 1
            lookup = Lookup(kind, audiences, found, (source,), most, groups, proves=proves, scan=scan)
            # One key in one audience is walked from its newest end; several are read whole and sorted.
            self.add(lookup, each * (min(docs, scan or most) if walked else docs))


def _docs(cells: Sequence[Count], audiences: Sequence[int], keys: Sequence[str]) -> int:
    """Return how many rows the cells of these audiences and keys have."""
    among, of = frozenset(audiences), frozenset(keys)
    return sum(c.docs for c in cells if c.audience in among and c.key in of)
