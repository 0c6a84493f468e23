"""A vocabulary made ready for finding its tags in texts; `tags.rules` is the way in."""

from __future__ import annotations

import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from ..base.patterns import lazy_pattern
from ..shapes import Vocabulary
from ..text.folding import SPACELESS, clean, fold, marks_class
from ..text.stems import stems
from ..text.words import MIN_CHARS

MOST_WORDS = 3
"""Longest stretch of words looked up as one tag."""

FUZZY_CHARS = 5
"""Shorter words are not compared by near spelling."""

FUZZY_COMPARISONS = 1_000_000
"""Most comparisons for one text, so that a text of a megabyte of unknown words is done in well under a second."""

KEPT = 4
"""Vocabularies whose index `index_of` keeps."""

_SPACES = lazy_pattern(r"\s+")
_TOKENS = lazy_pattern(f"[{SPACELESS}]+|(?:(?![{SPACELESS}])[\\w{marks_class()}])+|[^\\w\\s\x00-\x7f]")
_SPACELESS_CHAR = lazy_pattern(f"[{SPACELESS}]")
_LEADING = lazy_pattern(r"^\W+")


class _Token(NamedTuple):
    start: int
    end: int
    text: str
    spaceless: bool


def _plain(text: str) -> str:
    """Fold a text for comparing it with tags: white space as one space, curly apostrophes straight."""
    return _SPACES.sub(" ", fold(clean(text)).replace("\u2019", "'"))


def _tokens(plain: str) -> Iterator[_Token]:
    """Yield words, runs of scripts without spaces, and symbols such as emoji one by one."""
    for match in _TOKENS.finditer(plain):
        text = match.group()
        start = match.start()
        if not text.isascii():
            if _SPACELESS_CHAR.match(text):
                yield _Token(start, match.end(), text, True)
                continue
            # Marks in front belong to what stands before them, such as the variation selector of an emoji.
            if unicodedata.category(text[0])[0] != "L" and (len(text) > 1 or unicodedata.category(text) != "So"):
                start += len(text) - len(_LEADING.sub("", text))
                text = _LEADING.sub("", text)
        word = text.strip("_")
        if word:
            start += len(text) - len(text.lstrip("_"))
            yield _Token(start, start + len(word), word, False)


class TagIndex:
    """The known tags and aliases of one vocabulary, by words, by stem and by first letter and length."""

    def __init__(self, vocabulary: Vocabulary, languages: Sequence[str]) -> None:
        self.vocabulary = vocabulary
        self.languages: tuple[str, ...] = tuple(languages)
        self._exact: dict[str, str] = {}
        self._spelt: dict[tuple[str, ...], list[tuple[str, int, str]]] = {}
        self._longest: dict[str, int] = {}
        self._within: dict[str, set[int]] = {}
        self._within_names: dict[str, str] = {}
        for name, tag in self._names():
            self._add(name, tag)
        self._lengths = {head: tuple(sorted(sizes, reverse=True)) for head, sizes in self._within.items()}

    def _names(self) -> Iterable[tuple[str, str]]:
        """Yield `(name, tag)`; an alias that is also a tag does not hide the tag."""
        yield from ((alias, tag) for alias, tag in self.vocabulary.aliases.items() if alias not in self.vocabulary.tags)
        yield from ((tag, tag) for tag in self.vocabulary.tags)

    def _add(self, name: str, tag: str) -> None:
        plain = _plain(name)
        if not plain.isascii() and _SPACELESS_CHAR.search(plain):
            self._within.setdefault(plain[:2], set()).add(len(plain))
            self._within_names[plain] = tag
            return
        tokens = list(_tokens(plain))
        if not 0 < len(tokens) <= MOST_WORDS:
            return
        head = tokens[0].text
        self._longest[head] = max(len(tokens), self._longest.get(head, 0))
        key = " ".join(token.text for token in tokens)
        if key == plain:
            self._exact[plain] = tag
        else:
            # Signs belong to such a tag: "c++" is not every "c", "o'brien" not "o brien".
            self._spelt.setdefault(tuple(token.text for token in tokens), []).append((plain, tokens[0].start, tag))

    def find(self, text: str, fuzzy_score: float) -> Iterator[str]:
        """Yield the tags of the text, unique, in order of appearance."""
        seen: set[str] = set()
        for tag in self._appearing(_plain(text), fuzzy_score):
            if tag not in seen:
                seen.add(tag)
                yield tag

    def _appearing(self, plain: str, fuzzy_score: float) -> Iterator[str]:
        tokens = list(_tokens(plain))
        near = _NearSpelling(self, fuzzy_score)
        covered = 0
        for at, token in enumerate(tokens):
            found = self._inside(plain, token)
            if not token.spaceless:
                found = [*found, *self._stretches(plain, tokens, at)]
                found.sort(key=lambda item: -item[0])
            for end, tag in found:
                covered = max(covered, end)
                yield tag
            if covered < token.end and not token.spaceless:
                yield from near.tags(token.text)

    def _stretches(self, plain: str, tokens: list[_Token], at: int) -> list[tuple[int, str]]:
        """Return `(end, tag)` for the stretches that begin at this token."""
        found = []
        for size in range(self._longest.get(tokens[at].text, 0), 0, -1):
            stretch = tokens[at : at + size]
            if len(stretch) < size or any(token.spaceless for token in stretch):
                continue
            parts = tuple(token.text for token in stretch)
            tag = self._exact.get(" ".join(parts))
            if tag is not None:
                found.append((stretch[-1].end, tag))
            for spelt, lead, name in self._spelt.get(parts, ()) if self._spelt else ():
                if plain.startswith(spelt, max(stretch[0].start - lead, 0)):
                    found.append((stretch[-1].end, name))
        return found

    def _inside(self, plain: str, token: _Token) -> list[tuple[int, str]]:
        """Return `(end, tag)` for tags with characters of a script without spaces that begin in this token."""
        if not self._within:
            return []
        found = []
        for start in range(token.start, token.end if token.spaceless else token.start + 1):
            for head in (plain[start : start + 2], plain[start : start + 1]):
                for size in self._lengths.get(head, ()) if head else ():
                    name = plain[start : start + size]
                    tag = self._within_names.get(name)
                    if tag is not None and _ends_well(plain, start + size):
                        found.append((start + size, tag))
                if len(head) == 1:
                    break
        return found

    @cached_property
    def by_stem(self) -> dict[str, str]:
        """Stem, in any of the languages, to the most used tag of one word with it; of equals the first by name."""
        best: dict[str, str] = {}
        for name, tag in self._exact.items():
            if " " not in name and len(name) >= MIN_CHARS:
                for form in stems(name, self.languages):
                    known = best.get(form)
                    if known is None or self.order(tag) < self.order(known):
                        best[form] = tag
        return best

    @cached_property
    def names(self) -> dict[str, str]:
        """Every name, tag or alias, to its tag."""
        return dict(self._names())

    @cached_property
    def by_letter(self) -> dict[str, dict[int, list[str]]]:
        """First letter, then length, to names, for near spelling."""
        found: dict[str, dict[int, list[str]]] = {}
        for name in self.names:
            if len(name) >= FUZZY_CHARS:
                found.setdefault(name[0], {}).setdefault(len(name), []).append(name)
        return found

    def order(self, tag: str) -> tuple[int, str]:
        """Return the place of a tag among equals: the most used first, then by name."""
        return -self.vocabulary.tags.get(tag, 0), tag


def _ends_well(plain: str, end: int) -> bool:
    if end >= len(plain):
        return True
    last, following = plain[end - 1], plain[end]
    if _SPACELESS_CHAR.match(last) or _SPACELESS_CHAR.match(following):
        return True
    return not (following.isalnum() or following == "_")


class _NearSpelling:
    """Tags for the words of one text that are none themselves: by stem, then by spelling, each word once."""

    def __init__(self, index: TagIndex, score: float) -> None:
        self._index = index
        self._score = score
        self._left = FUZZY_COMPARISONS
        self._tried: set[str] = set()

    def tags(self, word: str) -> Iterator[str]:
        """Yield the one tag the word stands for, or nothing; a word that was tried before gives nothing."""
        if len(word) < MIN_CHARS or word.isdigit() or word in self._tried:
            return
        self._tried.add(word)
        for form in stems(word, self._index.languages):
            tag = self._index.by_stem.get(form)
            if tag is not None:
                yield tag
                return
        if self._score > 0 and len(word) >= FUZZY_CHARS:
            nearest = self._nearest(word)
            if nearest is not None:
                yield nearest

    def _nearest(self, word: str) -> str | None:
        comparable = list(self._comparable(word))
        if not comparable:
            return None
        from rapidfuzz import fuzz, process  # noqa: PLC0415 - 40 ms that only words like a tag need

        tag_of = self._index.names
        best: tuple[float, tuple[int, str]] | None = None
        for names in comparable:
            if self._left < len(names):
                return None
            self._left -= len(names)
            for name, ratio, _ in process.extract(word, names, scorer=fuzz.ratio, score_cutoff=self._score, limit=None):
                place = (-ratio, self._index.order(tag_of[name]))
                if best is None or place < best:
                    best = place
        return best[1][1] if best else None

    def _comparable(self, word: str) -> Iterator[list[str]]:
        """Yield the names whose length alone does not rule out the score."""
        length = len(word)
        for size, names in self._index.by_letter.get(word[0], {}).items():
            common = min(length, size) - (length == size)
            if 200 * common / (length + size) >= self._score - 1e-9:
                yield names


_kept: OrderedDict[tuple[int, tuple[str, ...]], TagIndex] = OrderedDict()
_lock = threading.Lock()


def index_of(vocabulary: Vocabulary, languages: Sequence[str]) -> TagIndex:
    """Return the index of this vocabulary object, built at most once while it is among the last KEPT used."""
    key = (id(vocabulary), tuple(languages))
    with _lock:
        index = _kept.get(key)
        if index is not None:
            _kept.move_to_end(key)
            return index
    index = TagIndex(vocabulary, languages)
    with _lock:
        _kept[key] = index
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return index


def forget_kept() -> None:
    """Drop every kept index, so that no forgotten tag stays in memory."""
    with _lock:
        _kept.clear()
