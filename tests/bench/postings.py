"""What the search tables hold of generated rows, written in the order of the primary keys without any sorting."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO


@dataclass
class Postings:
    """What the search tables hold of one source, gathered row by row in order of time."""

    source: int
    places: list[str] = field(default_factory=list)
    """at_us and row id of each row, as they stand in a file."""
    lengths: array[int] = field(default_factory=lambda: array("H"))
    terms: dict[tuple[int, int], array[int]] = field(default_factory=dict)
    """(audience, word) to the numbers of the rows that hold it."""
    often: dict[tuple[int, int], int] = field(default_factory=dict)
    """(word, row number) to how often, where it is more than once."""
    tags: dict[tuple[int, int], array[int]] = field(default_factory=dict)
    totals: dict[int, list[int]] = field(default_factory=dict)

    def add(self, audience: int, at_us: int, row_id: int, words: Sequence[int], tags: Sequence[int]) -> None:
        """Take one row; rows come in order of time."""
        number = len(self.places)
        self.places.append(f"{at_us}\t{row_id}")
        self.lengths.append(len(words))
        different = set(words)
        if len(different) < len(words):
            self.often.update({(w, number): n for w, n in Counter(words).items() if n > 1})
        for wanted, keys in ((self.terms, different), (self.tags, tags)):
            for key in keys:
                found = wanted.get((audience, key))
                if found is None:
                    found = wanted[audience, key] = array("I")
                found.append(number)
        total = self.totals.setdefault(audience, [0, 0])
        total[0] += 1
        total[1] += len(words)


def open_file(folder: Path, table: str) -> TextIO:
    """Return the file of a table, open for writing."""
    return (folder / f"{table}.tsv").open("w", encoding="utf-8", newline="\n", buffering=1 << 20)


def counts(words: Sequence[str], tags: Sequence[str], postings: Sequence[Postings]) -> Iterator[str]:
    """Yield the lines of search_count."""
    rows = [(a, 0, words[n], p.source, len(rows)) for p in postings for (a, n), rows in p.terms.items()]
    rows += [(a, 1, tags[n], p.source, len(rows)) for p in postings for (a, n), rows in p.tags.items()]
    rows.sort()
    return ("\t".join(map(str, row)) + "\n" for row in rows)


def write_postings(folder: Path, table: str, keys: Sequence[str], postings: Sequence[Postings]) -> None:
    """Write the postings in the order of the table's primary key."""
    is_term = table == "search_term"
    tails: list[list[str]] = []
    for p in postings:
        if is_term:
            tails.append([f"{at}\t1\t{n}\t0\n" for at, n in zip(p.places, p.lengths, strict=True)])
        else:
            tails.append([f"{at}\t0\n" for at in p.places])
    order = {key: n for n, key in enumerate(keys)}
    in_order = [order[key] for key in sorted(keys)]
    with open_file(folder, table) as file:
        for audience in sorted({a for p in postings for a in p.totals}):
            for number in in_order:
                for p, tail in zip(postings, tails, strict=True):
                    rows = (p.terms if is_term else p.tags).get((audience, number))
                    if rows is None:
                        continue
                    ready = [tail[n] for n in rows]
                    if is_term and p.often:
                        _put_in_counts(ready, rows, number, p)
                    start = f"{audience}\t{keys[number]}\t{p.source}\t"
                    file.write(start + start.join(ready))


def _put_in_counts(ready: list[str], rows: Sequence[int], word: int, postings: Postings) -> None:
    often = postings.often
    for at, row in enumerate(rows):
        times = often.get((word, row))
        if times:
            ready[at] = f"{postings.places[row]}\t{times}\t{postings.lengths[row]}\t0\n"
