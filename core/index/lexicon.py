"""The words in the rows of some audiences, looked up by prefix or substring."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from operator import methodcaller

import numpy as np

from ..text.languages import SpokenCounts, listed_words, spoken_languages
from .numbers import Column
from .shapes import DAY, TAG, WORD, Entry, IndexTerm

MOST_WORDS = 160
"""Maximum number of words returned for one prefix; commoner words are preferred."""
MOST_INNER = 64
"""Maximum number of words returned for one substring; commoner words are preferred."""
SMALL = 8_192
"""Texts shorter than this (bytes) are first searched as a whole, since most words are missing in them."""
_AFTER_ALL = b"\xff"
"""Byte that no word contains: a prefix followed by it sorts after all words with the prefix."""
_HEAD_BYTES = 8
"""Number of bytes of each word in the array for binary search; words that share them are compared in the text."""


# Thousands of calls for a search: without a frame of Python.
_encode: Callable[[str], bytes] = methodcaller("encode", "utf-8", "surrogatepass")
_decode: Callable[[bytes], str] = methodcaller("decode", "utf-8", "surrogatepass")


class SortedWords:
    """Sorted words in one text, each with its document frequency."""

    __slots__ = ("_docs", "_heads", "_languages", "_starts", "_text")

    def __init__(self, text: bytes, docs: Column) -> None:
        self._text = text
        """Words, each between line breaks."""
        self._docs = docs
        breaks = (np.frombuffer(text, np.uint8) == ord("\n")).nonzero()[0]
        self._starts = (breaks[:-1] + 1).astype(np.uint32) if len(docs) else np.empty(0, np.uint32)
        self._heads = np.array(text.split(b"\n")[1:-1] if len(docs) else [], f"S{_HEAD_BYTES}")
        self._languages: SpokenCounts | None = None

    @property
    def size(self) -> int:
        return len(self._text) + self._starts.nbytes + self._heads.nbytes

    def count(self, counts: dict[bytes, int]) -> None:
        for word, docs in zip(self._text.split(b"\n")[1:-1], self._docs.tolist(), strict=False):
            counts[word] = counts.get(word, 0) + docs

    def count_languages(self) -> SpokenCounts:
        """Return the frequencies of those words here by which a language is recognised."""
        if self._languages is None:
            listed = listed_words()
            words = [word for each in self._text.split(b"\n") if (word := _decode(each)) in listed]
            self._languages = SpokenCounts({word: int(self._docs[self._find(_encode(word))]) for word in words})
        return self._languages

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

    def may_begin(self, keys: Sequence[bytes]) -> list[bytes]:
        """Return those of `keys` that are the prefix of a word here; only the first bytes of each are compared."""
        if len(self._text) < SMALL:
            return [key for key in keys if b"\n" + key in self._text]
        first = self._heads.searchsorted(np.array(keys, f"S{_HEAD_BYTES}"))
        starts = self._starts[np.minimum(first, len(self._starts) - 1)].tolist()
        return [key for key, at in zip(keys, starts, strict=True) if self._text.startswith(key[:_HEAD_BYTES], at)]

    def add_beginning(self, key: bytes, counts: dict[str, int]) -> None:
        """Add to `counts` the document frequency of each word that begins with `key`."""
        if len(self._text) < SMALL and b"\n" + key not in self._text:
            return  # faster than binary search: most prefixes are missing here
        first = self._find(key)
        if first == len(self._starts) or not self._text.startswith(key, int(self._starts[first])):
            return
        last = self._find(key + _AFTER_ALL)
        end = int(self._starts[last]) if last < len(self._starts) else len(self._text)
        words = _decode(self._text[int(self._starts[first]) : end - 1]).split("\n")
        for word, docs in zip(words, self._docs[first:last].tolist(), strict=True):
            counts[word] = counts.get(word, 0) + docs

    def count_rows(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        """Return the document frequency of each of these words; words that are not stored here are absent."""
        if len(self._text) < SMALL:
            keys = [key for key in keys if b"\n%b\n" % key in self._text]  # faster: most words are missing here
        if not keys:
            return {}
        heads, counts = np.array(keys, f"S{_HEAD_BYTES}"), {}
        first, last = self._heads.searchsorted(heads), self._heads.searchsorted(heads, "right")
        for key, start, end in zip(keys, first.tolist(), last.tolist(), strict=True):
            at = start if len(key) <= _HEAD_BYTES else bisect_left(range(end), key, start, key=self._word)
            if at < end and self._text.startswith(key + b"\n", int(self._starts[at])):
                counts[key] = int(self._docs[at])
        return counts

    def add_holding(self, letters: bytes, beginning: bytes, counts: dict[str, int], most: float) -> None:
        """Add the words with this beginning and substring (its line break ends a word); stop above `most` words."""
        first, last = self._find(beginning), self._find(beginning + _AFTER_ALL)
        if first == last:
            return
        end = int(self._starts[last]) if last < len(self._starts) else len(self._text)
        at = self._text.find(letters, int(self._starts[first]), end)
        while at >= 0 and len(counts) <= most:
            start = self._text.rindex(b"\n", 0, at) + 1
            next_word = self._text.index(b"\n", at) + 1
            key = self._text[start : next_word - 1]
            word = _decode(key)
            counts[word] = counts.get(word, 0) + int(self._docs[self._find(key)])
            at = self._text.find(letters, next_word, end)


def sort_words(counts: Mapping[bytes, int]) -> SortedWords:
    words = sorted(counts)
    return SortedWords(b"\n%b\n" % b"\n".join(words), np.array([counts[word] for word in words], np.uint32))


def merge_words(parts: Iterable[SortedWords]) -> SortedWords:
    """Merge several sorted word lists into one: a search would have to look up each word in each list."""
    counts: dict[bytes, int] = {}
    for part in parts:
        part.count(counts)
    return sort_words(counts)


def _keep_commonest(counts: dict[str, int], most: int) -> dict[str, int]:
    if len(counts) <= most:
        return counts
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:most])


class FreshWords:
    """The index terms, with postings, of rows that are in no segment yet."""

    __slots__ = ("_rows", "words")

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._rows: dict[IndexTerm, list[tuple[int, int, int]]] = {}
        for one in entries:
            once = [*((TAG, tag) for tag in one.tags), *((DAY, day) for day in one.days)]
            held = {(WORD, word): times for word, times in one.terms.items()} | dict.fromkeys(once, 1)
            for term, times in held.items():
                self._rows.setdefault(term, []).append((one.source, one.row_id, times))
        self.words = sort_words({_encode(word): len(rows) for (kind, word), rows in self._rows.items() if kind == WORD})

    def find(self, numbers: Mapping[IndexTerm, int]) -> list[tuple[int, int, int, int]]:
        """Return the postings of these terms, each as (number of the term, source, row id, number of occurrences)."""
        return [(number, *row) for term, number in numbers.items() for row in self._rows.get(term, ())]


class Lexicon:
    """The words of all rows that a search may read, each with its document frequency."""

    def __init__(self, parts: Sequence[SortedWords]) -> None:
        self._parts = parts
        self._beginnings: dict[str, dict[str, int]] = {}
        self._rows: dict[str, int] = {}

    def may_begin(self, beginnings: Iterable[str]) -> set[str]:
        """Return the prefixes that some word may have: a fast check, since most prefixes asked for have no word."""
        keys = list(map(_encode, beginnings))
        return {_decode(key) for part in self._parts if keys for key in part.may_begin(keys)}

    def beginning(self, beginning: str) -> dict[str, int]:
        counts = self._beginnings.get(beginning)
        if counts is None:
            counts, key = {}, _encode(beginning)
            for part in self._parts:
                part.add_beginning(key, counts)
            self._beginnings[beginning] = counts
            self._rows |= counts
        return counts

    def commonest(self, beginning: str) -> dict[str, int]:
        return _keep_commonest(self.beginning(beginning), MOST_WORDS)

    def holding(self, letters: str) -> dict[str, int]:
        """Return the MOST_INNER commonest words that contain a substring."""
        return _keep_commonest(self._find(letters), MOST_INNER)

    def list_holding(self, letters: str, most: int) -> list[str] | None:
        """Return the words that contain a substring; None if there are more than `most`."""
        counts = self._find(letters, most=most)
        return list(counts) if len(counts) <= most else None

    def ending(self, ending: str, beginning: str) -> dict[str, int]:
        return self._find(ending + "\n", beginning)

    def _find(self, letters: str, beginning: str = "", most: float = inf) -> dict[str, int]:
        counts: dict[str, int] = {}
        for part in self._parts:
            part.add_holding(_encode(letters), _encode(beginning), counts, most)
        return counts

    def spoken_languages(self, rows: int) -> tuple[str, ...]:
        """Return the languages of the words; `rows` is the number of rows."""
        return spoken_languages([part.count_languages() for part in self._parts], rows)

    def count_rows(self, words: Iterable[str]) -> Mapping[str, int]:
        """Return a map with the document frequency of these words (0 if unknown), and perhaps of other words."""
        keys = {_encode(word): word for word in words if word not in self._rows}
        self._rows |= dict.fromkeys(keys.values(), 0)
        for part in self._parts if keys else ():
            for key, rows in part.count_rows(list(keys)).items():
                self._rows[keys[key]] += rows
        return self._rows

    def rows(self, word: str) -> int:
        return self._rows[word] if word in self._rows else self.count_rows((word,))[word]
