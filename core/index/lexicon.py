"""The words that the rows of some audiences hold, looked up by their beginnings and by letters inside them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .entries import Entry
from .lookups import TAG, WORD
from .segment import Term

MOST_WORDS = 160
"""Words that are taken for one beginning, the commonest."""
MOST_INNER = 64
"""Words that are taken for letters inside them."""
_BREAK = 10
_HEAD_BYTES = 8
"""Bytes of each word that are looked up at once; among those that begin alike the text itself tells."""


class SegmentWords:
    """The words of a segment, sorted in one text."""

    __slots__ = ("_docs", "_heads", "_starts", "_text")

    def __init__(self, text: bytes, docs: Any) -> None:
        self._text = text
        """The words, each between line breaks."""
        self._docs = docs
        breaks = (np.frombuffer(text, np.uint8) == _BREAK).nonzero()[0]
        self._starts = (breaks[:-1] + 1).astype(np.uint32) if len(docs) else np.empty(0, np.uint32)
        self._heads = np.array(text.split(b"\n")[1:-1] if len(docs) else [], f"S{_HEAD_BYTES}")

    @property
    def size(self) -> int:
        """Return how many bytes they take."""
        return len(self._text) + self._starts.nbytes + self._heads.nbytes

    def _word(self, at: int) -> bytes:
        start = int(self._starts[at])
        return self._text[start : self._text.index(b"\n", start)]

    def _find(self, beginning: bytes) -> int:
        head = beginning[:_HEAD_BYTES]
        first = int(self._heads.searchsorted(head))
        if len(beginning) <= _HEAD_BYTES:
            return first
        last = int(self._heads.searchsorted(head, "right"))
        return first if first == last else bisect_left(range(last), beginning, first, key=self._word)

    def add_beginning(self, beginning: str, counts: Counter[str]) -> None:
        """Count the rows of the words that begin with a text."""
        key = beginning.encode("utf-8", "surrogatepass")
        at = self._find(key)
        while at < len(self._starts) and (word := self._word(at)).startswith(key):
            counts[word.decode("utf-8", "surrogatepass")] += int(self._docs[at])
            at += 1

    def add_holding(self, letters: str, counts: Counter[str]) -> None:
        """Count the rows of the words that hold a text anywhere."""
        key = letters.encode("utf-8", "surrogatepass")
        at = self._text.find(key)
        while at >= 0:
            start = self._text.rindex(b"\n", 0, at) + 1
            end = self._text.index(b"\n", at)
            word = self._text[start:end]
            counts[word.decode("utf-8", "surrogatepass")] += int(self._docs[self._find(word)])
            at = self._text.find(key, end)


class FreshWords:
    """The words and tags of rows that are not packed, and where they stand."""

    __slots__ = ("_rows", "_sorted")

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._rows: dict[Term, list[tuple[int, int, int]]] = {}
        for one in entries:
            for word, times in one.terms.items():
                self._rows.setdefault((WORD, word), []).append((one.source, one.row_id, times))
            for tag in one.tags:
                self._rows.setdefault((TAG, tag), []).append((one.source, one.row_id, 1))
        self._sorted = sorted(word for kind, word in self._rows if kind == WORD)

    def rows(self, term: Term) -> Sequence[tuple[int, int, int]]:
        """Return the rows that hold a word or tag: source, id and how often."""
        return self._rows.get(term, ())

    def add_beginning(self, beginning: str, counts: Counter[str]) -> None:
        """Count the rows of the words that begin with a text."""
        at = bisect_left(self._sorted, beginning)
        while at < len(self._sorted) and (word := self._sorted[at]).startswith(beginning):
            counts[word] += len(self._rows[WORD, word])
            at += 1

    def add_holding(self, letters: str, counts: Counter[str]) -> None:
        """Count the rows of the words that hold a text anywhere."""
        for word in self._sorted:
            if letters in word:
                counts[word] += len(self._rows[WORD, word])


class Lexicon:
    """The words of all rows that a search may read."""

    def __init__(self, parts: Sequence[SegmentWords | FreshWords]) -> None:
        self._parts = parts
        self._beginnings: dict[str, Counter[str]] = {}

    def beginning(self, beginning: str) -> Counter[str]:
        """Return the words that begin with a text, each with the number of rows that hold it."""
        counts = self._beginnings.get(beginning)
        if counts is None:
            counts = self._beginnings[beginning] = Counter()
            for part in self._parts:
                part.add_beginning(beginning, counts)
        return counts

    def commonest(self, beginning: str) -> Counter[str]:
        """Return the MOST_WORDS commonest of the words that begin with a text."""
        counts = self.beginning(beginning)
        if len(counts) <= MOST_WORDS:
            return counts
        return Counter(dict(sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:MOST_WORDS]))

    def holding(self, letters: str, most: int = MOST_INNER) -> Counter[str]:
        """Return the commonest words that hold a text anywhere, each with the number of rows that hold it."""
        counts: Counter[str] = Counter()
        for part in self._parts:
            part.add_holding(letters, counts)
        return Counter(dict(sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:most]))

    def rows(self, word: str) -> int:
        """Return how many rows hold a word."""
        return self.beginning(word)[word]
