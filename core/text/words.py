"""Words of a text, the stop words of a language, and the terms the search index holds of a text."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from ..base import resources
from ..base.patterns import lazy_pattern
from .folding import SPACELESS_PATTERN, clean, fold, runs, simplify, word_runs

MIN_CHARS = 3
"""Shortest word that is looked for; Hangul words need two characters, scripts without spaces have no shortest."""
MIN_HANGUL = 2

_LISTED = "ar ca cs da de el en es fa fi fr he hi hu hy id it ja ko nl no pl pt ro ru sv ta th tr uk zh"
STOP_WORD_LANGUAGES = frozenset(_LISTED.split())
"""The languages that have a list in `prompts/stop_words`."""

_HANGUL = lazy_pattern("[\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff]")
_OTHER = lazy_pattern(r"[^\x00-\x7f\w]")


def pairs(run: str) -> Iterator[str]:
    """Yield the overlapping pairs of characters of a run, a single character itself."""
    if len(run) == 1:
        yield run
    for at in range(len(run) - 1):
        yield run[at : at + 2]


def candidates_of(run: str, spaceless: bool, min_chars: int = MIN_CHARS) -> Iterator[str]:
    """Yield the words of a run of word characters: itself, where it is long enough, or its pairs."""
    if spaceless:
        yield from (pair for pair in pairs(run) if not pair.isdigit())
        return
    word = run.strip("_")
    if not word.isascii():
        word = _without_leading_marks(word)
        if min_chars > MIN_HANGUL and _HANGUL.search(word):
            min_chars = MIN_HANGUL
    if len(word) >= min_chars and word and not word.isdigit():
        yield word


def _without_leading_marks(word: str) -> str:
    """Drop leading marks that belong to the character before, such as the variation selector of an emoji."""
    at = 0
    while at < len(word) and unicodedata.category(word[at])[0] == "M":
        at += 1
    return word[at:].strip("_") if at else word


def iter_words(text: str, min_chars: int = MIN_CHARS) -> Iterator[str]:
    """Yield what `words` lists, one by one, for callers that need the first few of a long text."""
    seen: set[str] = set()
    for run, spaceless in runs(fold(clean(text))):
        for word in candidates_of(run, spaceless, min_chars):
            if word not in seen:
                seen.add(word)
                yield word


def words(text: str, min_chars: int = MIN_CHARS) -> list[str]:
    """Return the folded words of a text, unique, in first-seen order."""
    return list(iter_words(text, min_chars))


@lru_cache(maxsize=64)
def stop_words(language: str) -> frozenset[str]:
    """Return the folded stop words of a language, empty for one without a list."""
    code = language.lower()
    if code not in STOP_WORD_LANGUAGES:
        return frozenset()
    entries = (resources.find("prompts/stop_words") / f"{code}.txt").read_text(encoding="utf-8").split()
    stops: set[str] = set()
    for folded in map(fold, entries):
        stops.add(folded)
        if "'" in folded:
            stops.update(words(folded))
    return frozenset(stops)


def list_terms(folded: str) -> list[str]:
    """Return the words and pairs of a folded text in their order, as the search index holds them."""
    if folded.isascii():
        return word_runs(folded)
    return [term for run, spaceless in runs(folded) for term in (pairs(simplify(run)) if spaceless else (run,))]


@lru_cache(maxsize=128)
def read_lists(name: str) -> Mapping[str, str]:
    """Return the word lists of a file of `prompts/`, each by its name; empty where there is no such file."""
    try:
        lines = resources.find(f"prompts/{name}.txt").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    return {listed: words.strip() for listed, _, words in (line.partition(":") for line in lines)}


@lru_cache(maxsize=8)
def small_words(name: str) -> frozenset[str]:
    """Return a list of words with little meaning, folded, from `prompts/small_words.txt`.

    two_letters: of any language, where written small. tells_nothing: of English, even where a message says little else.
    about_talk: of English, about the talk itself. polite: written with a capital, and no names. courtesy: what people
    say whatever they talk about. first_person.
    """
    return frozenset(read_lists("small_words")[name].split())


def rough_words(folded: str) -> int:
    """Estimate the number of words: between spaces, and each character of scripts without spaces."""
    count = folded.count(" ") + 1
    return count if folded.isascii() else count + len(SPACELESS_PATTERN.findall(folded))


def index_terms(folded: str) -> dict[str, int]:
    """Return the index terms of a folded text with their counts."""
    terms = Counter(list_terms(folded))
    for char in () if folded.isascii() else _OTHER.findall(folded):
        if unicodedata.category(char) == "So":
            terms[char] += 1
    return dict(terms)


class Fragment(NamedTuple):
    """A piece of a keyword: a term of the index holds it in any text that holds the keyword."""

    text: str
    """Characters of the piece, as the index holds them."""
    kind: Literal["word", "pair", "char", "symbol"]
    """word: part of a run with spaces around. pair, char: of a script without spaces. symbol: of category So."""
    at_end: bool = False
    """It touches the keyword's end, so that the text's term may go on and only begins with it."""


def fragments(folded_keyword: str) -> list[Fragment]:
    """Return the index terms a keyword is made of, when it is looked for as a part of folded texts."""
    found: dict[Fragment, None] = {}
    at, end = 0, len(folded_keyword)
    for run, spaceless in runs(folded_keyword):
        start = folded_keyword.index(run, at)
        found.update(dict.fromkeys(_symbols(folded_keyword[at:start])))
        at = start + len(run)
        if spaceless and len(run) > 1:
            # Pairs inside the keyword are pairs of the text too: nothing to the left or right can change them.
            found.update(dict.fromkeys(Fragment(pair, "pair") for pair in pairs(simplify(run))))
        else:
            found[Fragment(simplify(run), "char" if spaceless else "word", at == end)] = None
    found.update(dict.fromkeys(_symbols(folded_keyword[at:])))
    return list(found)


def _symbols(between: str) -> Iterator[Fragment]:
    yield from (Fragment(char, "symbol") for char in between if unicodedata.category(char) == "So")


MOST_LETTERS = 3
"""A word of at most so many letters occurs inside many unrelated words."""


def is_short_word(text: str) -> bool:
    """Return whether a text is a word of so few letters that it is looked for as a whole word alone."""
    return len(text) <= MOST_LETTERS and text.isalpha() and all(c.upper() != c.lower() for c in text)
