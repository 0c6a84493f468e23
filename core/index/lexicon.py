"""The words that the rows of some audiences hold, looked up by their beginnings and by letters inside them."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

MOST_WORDS = 160
"""Words that are taken for one beginning, the commonest."""
MOST_INNER = 64
"""Words that are taken for letters inside them."""
_BREAK = 10


class SegmentWords:
    """The words of a segment, sorted in one text."""

    __slots__ = ("_docs", "_starts", "_text")

    def __init__(self, text: bytes, docs: Any) -> None:
        self._text = text
        """The words, each between line breaks."""
        self._docs = docs
        breaks = np.flatnonzero(np.frombuffer(text, np.uint8) == _BREAK)
        self._starts = array("I", (breaks[:-1] + 1).tolist() if len(docs) else [])

    @property
    def size(self) -> int:
        """Return how many bytes they take."""
        return len(self._text) + 8 * len(self._starts)

    def _word(self, at: int) -> bytes:
        start = self._starts[at]
        return self._text[start : self._text.index(b"\n", start)]

    def _find(self, beginning: bytes, low: int = 0) -> int:
        return bisect_left(range(len(self._starts)), beginning, low, key=self._word)

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
    """The words of rows that are not packed."""

    __slots__ = ("_counts", "_sorted")

    def __init__(self, rows: Iterable[Mapping[str, int]]) -> None:
        self._counts: Counter[str] = Counter(word for words in rows for word in words)
        self._sorted = sorted(self._counts)

    def add_beginning(self, beginning: str, counts: Counter[str]) -> None:
        """Count the rows of the words that begin with a text."""
        at = bisect_left(self._sorted, beginning)
        while at < len(self._sorted) and (word := self._sorted[at]).startswith(beginning):
            counts[word] += self._counts[word]
            at += 1

    def add_holding(self, letters: str, counts: Counter[str]) -> None:
        """Count the rows of the words that hold a text anywhere."""
        for word in self._sorted:
            if letters in word:
                counts[word] += self._counts[word]


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
