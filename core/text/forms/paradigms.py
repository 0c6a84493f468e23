"""The inflection of words in a language: endings, changes inside stems, and prefixes.

The rules are in `prompts/word_forms`, one file for each language (`prompts/README.md`).
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from ..folding import fold
from ..words import read_lists

_CLOSED = frozenset({"", "ь"})
"""Endings that leave the last syllable of a stem closed."""
_SHORTEST = 3
VOWEL = re.compile("[aeiouyäöüõáéíóúýěůąęаеиоуыэюяіїєαεηιουω]")
_BY_ONE = 20
"""Greatest number up to which the number lists have a word for every number; above it, only for the tens."""
_FINALS = dict(zip("ㄴㄷㄹㅁㅂㅅㅆㅎ", "\u11ab\u11ae\u11af\u11b7\u11b8\u11ba\u11bb\u11c2", strict=True))
_VOWELS = {chr(0x314F + n): chr(0x1161 + n) for n in range(21)}
_ALONE = str.maketrans(_FINALS | _VOWELS)
"""From Hangul letters as the rule files write them (final consonants, vowels) to their form inside a syllable."""


@dataclass(frozen=True, slots=True)
class Change:
    left: str
    right: str
    is_one_way: bool
    """Whether `left` occurs only before endings that close the syllable, and `right` only before other endings."""
    is_inside: bool
    """Whether the change affects the vowel of the last syllable instead of the end of the stem."""

    def apply(self, stem: str, old: str, new: str) -> str:
        """Return the stem with its end or vowel `old` replaced by `new`; "" if the stem does not have `old`."""
        if not self.is_inside:
            return stem[: len(stem) - len(old)] + new if stem.endswith(old) else ""
        if not old:
            return stem[:-1] + new + stem[-1:]
        at = stem.rfind(old)
        after = stem[at + len(old) :]
        return stem[:at] + new + after if at >= 0 and 0 < len(after) <= 2 and VOWEL.search(after) is None else ""


@dataclass(frozen=True, slots=True)
class Paradigm:
    endings: frozenset[str]
    open: frozenset[str]
    """Endings other than those in `_CLOSED`."""
    closed: frozenset[str]
    longest: int
    last_letters: str
    tail: str
    changes: tuple[Change, ...]
    fleeting: tuple[str, ...]
    prefixes: tuple[tuple[str, str], ...]
    shortest: int


@lru_cache(maxsize=64)
def read_rules(language: str) -> dict[str, str]:
    """Return the rules of a language by name; for a language with two scripts, each rule in both scripts."""
    rules = {name: text for name, text in read_lists(f"word_forms/{language}").items() if text}
    if "letters" in rules:
        letters = list_letters(rules["letters"])
        for name, text in rules.items():
            other = transliterate(text, letters)
            if name == "numbers":
                rules[name] = " ".join(map("/".join, zip(text.split(), other.split(), strict=True)))
            elif name not in ("letters", "spelt") and other != text:
                rules[name] = f"{text} {other}"
    return rules


@lru_cache(maxsize=64)
def read_families(language: str) -> list[tuple[str, ...]]:
    """Return the families of irregular forms of a language, folded; for a language with two scripts, in both."""
    lines = [line for line, rule in read_lists(f"word_forms/{language}").items() if line and not rule]
    letters = list_letters(read_rules(language).get("letters", ""))
    lines += [transliterate(line, letters) for line in lines] if letters else []
    return [tuple(map(fold, line.split())) for line in lines]


@lru_cache(maxsize=64)
def read_numbers(language: str) -> dict[str, list[str]]:
    """Return the number words of a language by number, written in digits."""
    listed = enumerate(read_rules(language).get("numbers", "").split(), 1)
    return {
        str(at if at <= _BY_ONE else (at - _BY_ONE + 2) * 10): [fold(w).replace("_", " ") for w in words.split("/")]
        for at, words in listed
    }


@lru_cache(maxsize=8)
def list_letters(rule: str) -> tuple[tuple[str, str], ...]:
    """Parse a rule into pairs (letters of one script, letters of the other), the longest first."""
    pairs = ((one, other) for one, _, other in (pair.partition(":") for pair in rule.split()))
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


def transliterate(text: str, letters: Iterable[tuple[str, str]]) -> str:
    for old, new in letters:
        text = text.replace(old, new)
    return text


def to_letters(text: str, language: str) -> str:
    """Return a text with Hangul syllables split into letters: Korean endings merge with a stem's last syllable."""
    return unicodedata.normalize("NFD", text.translate(_ALONE)) if language == "ko" else text


def _list_endings(text: str, language: str) -> frozenset[str]:
    places = [place.replace("_", " _ ").split() for place in text.split("/")]
    made = {"".join(parts).replace("_", "") for parts in product(*places)}
    return frozenset(to_letters(each, language) for ending in made for each in (ending, fold(ending)))


def _list_changes(text: str, language: str) -> Iterator[Change]:
    for pair in text.split():
        inside, plain = pair.startswith("~"), pair.removeprefix("~")
        mark = ">" if ">" in plain else ":"
        left, _, right = (to_letters(side.replace("_", ""), language) for side in plain.partition(mark))
        yield Change(left, right, mark == ">", inside)
        if mark == ":" and (fold(left), fold(right)) != (left, right) and fold(left) != fold(right):
            yield Change(fold(left), fold(right), is_one_way=False, is_inside=inside)


@lru_cache(maxsize=64)
def read_paradigms(language: str) -> tuple[Paradigm, ...]:
    rules = read_rules(language)
    made = []
    for name in (rule.removesuffix(" endings") for rule in rules if rule.endswith(" endings")):
        endings = _list_endings(rules[f"{name} endings"], language)
        given = (prefix.partition("<") for prefix in rules.get(f"{name} prefixes", "").split())
        prefixes = ((fold(prefix), fold(initial)) for prefix, _, initial in given)
        made.append(
            Paradigm(
                endings,
                endings - _CLOSED,
                endings & _CLOSED,
                max(map(len, endings)),
                rules.get(f"{name} stem", ""),
                rules.get(f"{name} tail", ""),
                tuple(_list_changes(rules.get(f"{name} changes", ""), language)),
                tuple(rules.get(f"{name} fleeting", "").split()),
                (("", ""), *prefixes),
                int(rules.get(f"{name} shortest", _SHORTEST)),
            )
        )
    return tuple(made)
