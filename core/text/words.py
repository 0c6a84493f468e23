"""Words of a text, stop words of a language, and the index terms of a text."""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from ..base import resources
from ..base.patterns import lazy_pattern
from .folding import SPACELESS_PATTERN, clean, fold, runs, simplify, word_runs

MIN_CHARS = 3
"""Minimum number of characters of a searched word; Korean words need two, words in scripts without spaces one."""
MIN_HANGUL = 2

_LISTED = "ar ca cs da de el en es fa fi fr he hi hu hy id it ja ko nl no pl pt ro ru sv ta th tr uk zh"
STOP_WORD_LANGUAGES = frozenset(_LISTED.split())

_HANGUL = lazy_pattern("[\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff]")
_OTHER = lazy_pattern(r"[^\x00-\x7f\w]")
MOST_LETTERS = 3
"""Maximum number of letters of a short word, which occurs inside many unrelated words."""


def pairs(run: str) -> Iterator[str]:
    """Yield the overlapping pairs of characters of a run, or its single character."""
    if len(run) == 1:
        yield run
    for at in range(len(run) - 1):
        yield run[at : at + 2]


def candidates_of(run: str, spaceless: bool, min_chars: int = MIN_CHARS) -> Sequence[str]:
    """Return the words of a run: the run itself if it is long enough, or in a spaceless script its character pairs."""
    if spaceless:
        return [pair for pair in pairs(run) if not pair.isdigit()]
    word = run.strip("_")
    if not word.isascii():
        at = 0  # a leading combining mark belongs to the character before the word, such as an emoji
        while at < len(word) and unicodedata.category(word[at])[0] == "M":
            at += 1
        word = word[at:].strip("_") if at else word
        if min_chars > MIN_HANGUL and _HANGUL.search(word):
            min_chars = MIN_HANGUL
    return (word,) if len(word) >= min_chars and word and not word.isdigit() else ()


def words(text: str, min_chars: int = MIN_CHARS) -> list[str]:
    """Return the folded words of a text, unique, in first-seen order."""
    every = (word for run, spaceless in runs(fold(clean(text))) for word in candidates_of(run, spaceless, min_chars))
    return list(dict.fromkeys(every))


@lru_cache(maxsize=64)
def stop_words(language: str) -> frozenset[str]:
    """Return the folded stop words of a language; empty for a language without a list."""
    code = language.lower()
    if code not in STOP_WORD_LANGUAGES:
        return frozenset()
    listed = (resources.find("prompts/stop_words") / f"{code}.txt").read_text(encoding="utf-8")
    stops: set[str] = set()
    for folded in fold(listed).split():
        stops.add(folded)
        if "'" in folded:
            stops.update(words(folded))
    return frozenset(stops)


def list_terms(folded: str) -> list[str]:
    """Return the index terms of a folded text in order: words, and character pairs in scripts without spaces."""
    if folded.isascii():
        return word_runs(folded)
    return [term for run, spaceless in runs(folded) for term in (pairs(simplify(run)) if spaceless else (run,))]


@lru_cache(maxsize=128)
def read_lists(name: str) -> Mapping[str, str]:
    """Return the word lists of a file in `prompts/` by name; empty if there is no such file."""
    try:
        lines = resources.find(f"prompts/{name}.txt").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    return {listed: words.strip() for listed, _, words in (line.partition(":") for line in lines)}


@lru_cache(maxsize=8)
def small_words(name: str) -> frozenset[str]:
    """Return a list of words with little meaning, folded, from `prompts/small_words.txt` (`prompts/README.md`)."""
    return frozenset(read_lists("small_words")[name].split())


def rough_words(folded: str) -> int:
    """Estimate the number of words: those between spaces, and each character of scripts without spaces."""
    count = folded.count(" ") + 1
    return count if folded.isascii() else count + len(SPACELESS_PATTERN.findall(folded))


def index_terms(folded: str) -> dict[str, int]:
    return dict(Counter((*list_terms(folded), *list_symbols(folded))))


def list_symbols(folded: str) -> list[str]:
    """Return the symbols of a folded text in order: its characters of Unicode category So, such as emoji."""
    others = () if folded.isascii() else _OTHER.findall(folded)
    return [char for char in others if unicodedata.category(char) == "So"]


class Fragment(NamedTuple):
    """A piece of a keyword: every text that contains the keyword has an index term that contains this piece."""

    text: str
    """Characters of the piece in their index form."""
    kind: Literal["word", "pair", "char", "symbol"]
    """word: in a script with spaces. pair, char: 2 or 1 characters in a script without. symbol: Unicode category So."""
    at_end: bool = False
    """Whether the piece is the end of the keyword, so that the index term may continue after it."""


def fragments(folded_keyword: str) -> list[Fragment]:
    """Return the pieces of a keyword by which the index finds every text that may contain it, even inside a word."""
    found: dict[Fragment, None] = {}
    at, end = 0, len(folded_keyword)
    for run, spaceless in runs(folded_keyword):
        start = folded_keyword.index(run, at)
        if start > at:
            found.update(_symbols(folded_keyword[at:start]))
        at = start + len(run)
        if spaceless and len(run) > 1:
            # Pairs inside the keyword are pairs of the text too, whatever is next to the keyword.
            found.update(dict.fromkeys(Fragment(pair, "pair") for pair in pairs(simplify(run))))
        else:
            found[Fragment(simplify(run), "char" if spaceless else "word", at == end)] = None
    if at < end:
        found.update(_symbols(folded_keyword[at:]))
    return list(found)


def _symbols(between: str) -> dict[Fragment, None]:
    return dict.fromkeys(Fragment(char, "symbol") for char in list_symbols(between))


def is_short_word(text: str) -> bool:
    """Return whether a text is a short word, which is searched for only as a whole word."""
    return len(text) <= MOST_LETTERS and text.isalpha() and all(c.upper() != c.lower() for c in text)
