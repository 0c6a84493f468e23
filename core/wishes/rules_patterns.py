"""Patterns of wishes: sequences of words and lists of words, matched over the words of a sentence.

Called by `wishes.rules`. A pattern matches from the first word to the last; in scripts without spaces it matches
anywhere, character by character. Regular expressions over lists this long would take a third of a second to compile.

| in a pattern | stands for |
|---|---|
| word | itself |
| {list} | one phrase of the list of that name |
| {list?} | one, or none |
| {list!} | nothing, where no phrase of the list begins |
| {name} | one to three words that may be a name |
| * | one word or more |
| *ending | a word that ends so |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from ..text.languages import bare
from ..text.remember_phrases import phrase_form

NAME = "name"
MOST_NAME_WORDS = 3
MOST_NAME_CHARS = 12
"""Characters of a name in a script without spaces."""
WITHOUT_SPACES = frozenset({"ja", "zh", "th"})

_TOKEN = re.compile(r"\w+'(?=\w)|\w+")
_PIECE = re.compile(r"\{(\w+)([?!]?)\}|(\*)(\w*)|([^{}*]+)")
_SIGNS = re.compile(r"[\s。、！？!?,.，．…]+")

Found = dict[str, tuple[str, ...]]
Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tokens:
    """The words of a sentence, or its characters."""

    bare: tuple[str, ...]
    """Folded and without accents."""
    said: tuple[str, ...]
    """As said; as many as `bare`, or none where folding changed their number."""


def tokens_of(text: str, spaced: bool) -> Tokens:
    """Return the words of a text, in a script without spaces its characters."""
    if spaced and text.isascii() and text.isprintable() and "`" not in text:
        words = tuple(_TOKEN.findall(text))
        return Tokens(tuple(map(str.lower, words)), words)
    form = bare(phrase_form(text))
    if not spaced:
        plain = _SIGNS.sub("", form)
        return Tokens(tuple(plain), ())
    found = tuple(_TOKEN.findall(form))
    said = tuple(_TOKEN.findall(text.translate(_APOSTROPHES)))
    return Tokens(found, said if len(said) == len(found) else ())


_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u201b\u02bc\u00b4`\u2032", "'"))


@dataclass(frozen=True, slots=True)
class _List:
    """The phrases of one list, by length, the longest first."""

    lengths: tuple[int, ...]
    phrases: frozenset[Phrase]
    first: frozenset[str]

    def ends(self, tokens: Sequence[str], at: int) -> Iterator[int]:
        """Yield where the phrases that stand at a place end."""
        if at >= len(tokens) or tokens[at] not in self.first:
            return
        for length in self.lengths:
            if at + length <= len(tokens) and tuple(tokens[at : at + length]) in self.phrases:
                yield at + length


def _list(phrases: Sequence[str], spaced: bool) -> _List:
    made = frozenset(p for p in (tokens_of(phrase, spaced).bare for phrase in phrases) if p)
    lengths = tuple(sorted({len(p) for p in made}, reverse=True))
    return _List(lengths, made, frozenset(p[0] for p in made))


@dataclass(frozen=True, slots=True)
class _Piece:
    kind: str
    """words, list, unless, name, any or ending."""
    words: Phrase = ()
    list: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way to put a wish."""

    pieces: tuple[_Piece, ...]

    @classmethod
    def read(cls, text: str, spaced: bool) -> Pattern:
        """Return the pattern a text writes."""
        made = []
        for name, sign, star, ending, words in _PIECE.findall(text):
            if star and ending and spaced:
                made.append(_Piece("ending", (bare(ending),)))
            elif star:
                made.append(_Piece("any"))
                made += [_Piece("words", tokens_of(ending, spaced).bare)] if ending else []
            elif name:
                kind = "unless" if sign == "!" else "name" if name == NAME else "list"
                made.append(_Piece(kind, list=name, optional=sign == "?"))
            elif found := tokens_of(words, spaced).bare:
                made.append(_Piece("words", found))
        return cls(tuple(made))

    def beginnings(self, words: WishWords) -> frozenset[str]:
        """Return the words one of which a match begins with; none where that may be any."""
        found: set[str] = set()
        for piece in self.pieces:
            if piece.kind not in ("words", "list"):
                return frozenset()
            found |= {piece.words[0]} if piece.kind == "words" else words.list(piece.list).first
            if not piece.optional:
                return frozenset(found)
        return frozenset()

    def needs(self, words: WishWords) -> tuple[frozenset[str], ...]:
        """Return sets of words of each of which a match holds one, the smallest set first."""
        made = [
            frozenset(piece.words[:1]) if piece.kind == "words" else words.list(piece.list).first
            for piece in self.pieces
            if piece.kind in ("words", "list") and not piece.optional
        ]
        return tuple(sorted(made, key=len))

    def match(self, said: Tokens, words: WishWords) -> Found | None:
        """Return what the lists of the pattern and its last `*` stand for, None where it does not match."""
        starts = (0,) if words.spaced else range(len(said.bare))
        failed: set[tuple[int, int]] = set()
        for start in starts:
            found: Found = {}
            if _match(self.pieces, 0, said, start, words, found, failed):
                return found
        return None


def _match(
    pieces: Sequence[_Piece],
    at: int,
    said: Tokens,
    place: int,
    words: WishWords,
    found: Found,
    failed: set[tuple[int, int]],
) -> bool:
    """Return whether the pieces from one on match from a place on; `failed` keeps those that are known not to."""
    tokens = said.bare
    if at == len(pieces):
        return place == len(tokens) or not words.spaced
    if (at, place) in failed:
        return False
    piece = pieces[at]
    for end in _ends(piece, at == len(pieces) - 1, said, place, words):
        if _match(pieces, at + 1, said, end, words, found, failed):
            key = piece.list or ("*" if piece.kind in ("any", "ending") else "")
            if key and end > place:
                found.setdefault(key, tuple(tokens[place:end]))
            return True
    failed.add((at, place))
    return False


def _ends(piece: _Piece, last: bool, said: Tokens, place: int, words: WishWords) -> Iterator[int]:
    tokens = said.bare
    if piece.kind == "words":
        end = place + len(piece.words)
        if tuple(tokens[place:end]) == piece.words:
            yield end
    elif piece.kind == "list":
        yield from words.list(piece.list).ends(tokens, place)
        if piece.optional:
            yield place
    elif piece.kind == "unless":
        if next(words.list(piece.list).ends(tokens, place), None) is None:
            yield place
    elif piece.kind == "ending":
        if place < len(tokens) and tokens[place].endswith(piece.words[0]) and tokens[place] != piece.words[0]:
            yield place + 1
    elif piece.kind == "name":
        yield from words.name_ends(said, place, last)
    elif last:
        if place < len(tokens):
            yield len(tokens)
    else:
        yield from range(place + 1, len(tokens) + 1)


class _Known(NamedTuple):
    """A pattern and what is known of all its matches."""

    number: int
    kind: str
    pattern: Pattern
    beginnings: frozenset[str]
    """Words one of which a match begins with; none where that may be any."""
    others: tuple[frozenset[str], ...]
    """Of each of these sets a match holds a word."""


@dataclass(frozen=True)
class WishWords:
    """What one language's file says, ready to be matched."""

    language: str
    lists: Mapping[str, Sequence[str]]
    wishes: Mapping[str, Sequence[str]]
    not_wishes: Sequence[str] = ()
    not_names: Sequence[str] = ()
    after_names: Sequence[str] = ()
    topic_words: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def spaced(self) -> bool:
        """Whether its words have spaces between."""
        return self.language not in WITHOUT_SPACES

    @cached_property
    def _lists(self) -> dict[str, _List]:
        return {name: _list(phrases, self.spaced) for name, phrases in self.lists.items()}

    @cached_property
    def _patterns(self) -> dict[str, list[_Known]]:
        """The patterns by a word that a match holds; under "" those that hold no certain one."""
        made: dict[str, list[_Known]] = {}
        read = [(kind, Pattern.read(text, self.spaced)) for kind, texts in self.wishes.items() for text in texts]
        for number, (kind, pattern) in enumerate(read):
            first, *others = pattern.needs(self) or (frozenset({""}),)
            known = _Known(number, kind, pattern, pattern.beginnings(self), tuple(others))
            for word in first:
                made.setdefault(word, []).append(known)
        return made

    def patterns_in(self, tokens: Sequence[str]) -> list[_Known]:
        """Return the patterns that may match within a sentence of these words, in the order of the file."""
        certain = self._patterns.keys()
        first = [word for word in tokens if word in certain]
        if "" in certain:
            first.append("")
        if not first:
            return []
        there = frozenset(tokens)
        found = {
            known.number: known
            for word in first
            for known in self._patterns[word]
            if not any(map(there.isdisjoint, known.others))
        }
        return [found[number] for number in sorted(found)]

    @cached_property
    def topics(self) -> dict[str, tuple[Phrase, ...]]:
        """The phrases that tell a topic, in the order of the file."""
        return {topic: tuple(_list(words, self.spaced).phrases) for topic, words in self.topic_words.items()}

    @cached_property
    def unimportant(self) -> frozenset[str]:
        """Words that do not tell what a wish is about."""
        return frozenset(
            word
            for name in ("soft", "standing", "later", "dont", "end", "neg", "never")
            for phrase in self.list(name).phrases
            for word in phrase
        )

    @cached_property
    def _ruled_out(self) -> _List:
        return _list(self.not_wishes, self.spaced)

    @cached_property
    def _not_names(self) -> _List:
        return _list(self.not_names, self.spaced)

    @cached_property
    def _after_names(self) -> _List:
        return _list(self.after_names, self.spaced)

    def list(self, name: str) -> _List:
        """Return the list of that name, an empty one where the file has none."""
        return self._lists.get(name) or _List((), frozenset(), frozenset())

    def begins_with(self, name: str, tokens: Sequence[str]) -> bool:
        """Return whether a phrase of the list stands at the beginning."""
        return any(True for _ in self.list(name).ends(tokens, 0))

    def is_ruled_out(self, tokens: Sequence[str]) -> bool:
        """Return whether a sentence holds a phrase by which it is no wish."""
        return any(True for at in range(len(tokens)) for _ in self._ruled_out.ends(tokens, at))

    def holds(self, tokens: Sequence[str], phrase: Phrase) -> bool:
        """Return whether the phrase stands somewhere among the words."""
        size = len(phrase)
        return any(tuple(tokens[at : at + size]) == phrase for at in range(len(tokens) - size + 1))

    def joined(self, tokens: Sequence[str]) -> str:
        """Return words as one text."""
        return (" " if self.spaced else "").join(tokens)

    def split(self, text: str) -> Sequence[str]:
        """Return the pieces of a text between the words of the list `and`."""
        tokens = tokens_of(text, True)
        said = tokens.said or tokens.bare
        joints = self.list("and")
        pieces: list[list[str]] = [[]]
        at = 0
        while at < len(tokens.bare):
            end = next(joints.ends(tokens.bare, at), at)
            if end > at:
                pieces.append([])
                at = end
            else:
                pieces[-1].append(said[at])
                at += 1
        return [" ".join(piece).replace("' ", "'") for piece in pieces if piece]

    def subject(self, tokens: Tokens, most: int) -> str:
        """Return who a piece speaks of and how, as its first words say it: `I'm`; blank where it does not."""
        rest = self.without_lead(tokens, most)
        end = next(self.list("iam").ends(rest.bare, 0), 0)
        return " ".join(rest.bare[:end]).replace("' ", "'")

    def without_lead(self, tokens: Tokens, most: int) -> Tokens:
        """Return the words after what leads up to a wish: `hey`, `by the way`, `just so you know`."""
        *_, last = self.leads(tokens, most)
        return last

    def leads(self, tokens: Tokens, most: int) -> Iterator[Tokens]:
        """Yield the words, then these without each further phrase that leads up to a wish."""
        yield tokens
        at = 0
        for _ in range(most):
            end = next(self.list("lead").ends(tokens.bare, at), at)
            if end == at:
                return
            at = end
            yield Tokens(tokens.bare[at:], tokens.said[at:])

    def name_ends(self, said: Tokens, place: int, last: bool) -> Iterator[int]:
        """Yield where a name that begins at a place may end; words beyond it are allowed after `name_ends` alone."""
        tokens = said.bare
        if place >= len(tokens) or any(True for _ in self._not_names.ends(tokens, place)):
            return
        most = MOST_NAME_WORDS if self.spaced else MOST_NAME_CHARS
        for end in range(place + 1, min(place + most, len(tokens)) + 1):
            if not self._is_name(said, place, end):
                return
            if not last or end == len(tokens):
                yield end
            elif self.spaced and any(True for _ in self._after_names.ends(tokens, end)):
                yield len(tokens)

    def _is_name(self, said: Tokens, place: int, end: int) -> bool:
        if not all(any(char.isalpha() for char in token) for token in said.bare[place:end]):
            return False
        if not self.spaced or end - place == 1 or not said.said:
            return True
        # Several words are a name when they are written as one.
        return all(not word[0].islower() for word in said.said[place:end])
