"""The words of time of each language, from the lists in `prompts/calendar` (`prompts/README.md`), as a lexicon."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ...base.patterns import lazy_pattern
from ..folding import SPACELESS
from ..forms.paradigms import list_letters, read_numbers, transliterate
from ..languages import bare
from ..words import read_lists
from .spans import FEASTS, PART_HOURS

MARKS = "\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0962\u0963\u0bbe-\u0bcd"
"""Combining marks inside words that `\\w` does not match."""
SIGNS = SPACELESS + "\uac00-\ud7a3"
"""Scripts that are read character by character, since words of time are inside longer runs."""
_SIGN = lazy_pattern(f"[{SIGNS}]")
WORD_CHARS = f"(?:[a-z]+|[^\\W\\d_{SIGNS}]+|[{MARKS}]+)+"
"""Regular expression of a word. It must end a pattern: its letters match in several ways, so backtracking is slow."""
_WORD, _ASCII_WORD = lazy_pattern(WORD_CHARS), lazy_pattern("[a-z]+")
_FORM = lazy_pattern(r"[^\s|]+")
_SPLIT = lazy_pattern(f"[{SIGNS}]|{WORD_CHARS}")

CALENDARS = ("en", "de", "fr", "es", "it", "pt", "nl", "ru")
"""Languages tried for time words if the language of a text is unknown."""
UNITS = ("minute", "hour", "day", "week", "month", "year")
COUPLE, FEW = 2, 4.01
"""Values of the vague numbers `couple` and `few`; 4.01 differs from every exact number."""
BREAK = "|"
"""Kind of a part between two sentences, such as a full stop."""
KINDS = {
    "months": "M", "short_months": "m", "weekdays": "W", "short_weekdays": "w", "seasons": "S", "units": "U",
    "single": "/", "weekend": "U", "at_weekend": "}",
    "days": "D", "either": "{", "near": "E", "moments": "H", "ago": "g", "back": "b", "later": "r", "ahead": "a",
    "last": "L", "previous": "L", "next": "L", "this": "L", "before_last": "B", "after_next": "B", "numbers": "N",
    "ordinals": "o", "dates": "d", "couple": "N", "few": "N", "one_and_half": "N", "half": "h", "since": "1",
    "after": "2", "before": "3", "until": "4", "from": "5", "to": "6", "between": "7", "and": "8", "since_behind": "i",
    "after_behind": "j", "before_behind": "&", "until_behind": "v", "onward": "n", "early": "e", "mid": "e",
    "late": "e", "begin": "e", "end": "e", "first_half": "e", "second_half": "e", "rolling": "#", "counted": "q",
    "coming": "@", "parts": "P", "recent": "R", "other_day": "O", "now": "G", "feasts": "F", "first": "K",
    "latest": "T", "telling": "V", "said": "V", "not_order": "X", "joins": "x", "before_day": "I", "after_event": "I",
    "into": "I", "at": "A", "oclock": "C", "half_past": "p", "half_to": "s", "half_behind": "f", "year_sign": "Q",
    "month_sign": "J", "day_sign": "u", "hour_sign": "C", "plan": "+", "plan_behind": "^", "done": "-", "perfect": "-",
    "moved": "_", "moved_to": "_", "clause": "]", "not": "~", "over": "(", "not_day": "=", "next_or_after": "»",
    "after_clause": '"', "before_clause": ";", "around": ":", "around_behind": "'", "from_behind": "`",
}  # fmt: skip
"""Kind (one letter) of each list, as used in the patterns of `grammar`."""
_VALUES = {
    "months": range(1, 13), "short_months": range(1, 13), "weekdays": range(7), "short_weekdays": range(7),
    "seasons": range(4), "numbers": range(1, 13), "ordinals": range(1, 32), "dates": range(1, 32), "units": UNITS,
    "single": UNITS, "parts": tuple(PART_HOURS), "feasts": tuple(FEASTS),
}  # fmt: skip
"""Values of the words of a list, in order, for lists whose words have different values."""
_VALUE = {
    "weekend": "weekend", "last": -1, "previous": -1, "this": 0, "next": 1, "before_last": -2, "after_next": 2,
    "couple": COUPLE, "few": FEW, "one_and_half": 1.5, "half": 0.5,
    "early": "early", "mid": "mid", "late": "late", "begin": "begin",
    "end": "end", "first": 1, "latest": -1, "first_half": "half1", "second_half": "half2", "before": -1, "after": 1,
    "perfect": "perfect", "telling": "tells", "moved_to": "to", "before_day": "day", "after_event": "event",
}  # fmt: skip
LEADING = frozenset("MmWwS$U!D{EHRFPOTKq@ed")
"""Kinds of words: a text that names a time without digits has a word of one of these kinds."""
_TELLING = frozenset("MWSUD{HERgT1")
"""Kinds of words that always mean a time."""
_NAMING = frozenset("MWD{E")
_UNSURE = {"M": "m", "W": "w", "S": "$", "F": "!", "D": "!", "U": "!", "P": "!", "H": "!", "E": "!"}
"""Kind of an ambiguous word, by its usual kind. m, w, $: a time only next to certain words. !: a homonym.

If a weekday or month also has "!", only a date, an hour or another weekday beside it proves it: `mer 5 mars`.
"""
_MAY_END = frozenset("MWSUFPDE")
SHORTEST_STEM = 3
_ANY_ENDING = 8
_LISTED_NUMBERS = 10
"""Largest number for which the list `numbers` has all forms; larger numbers are in `prompts/word_forms`."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    order: str = "dmy"
    is_strict: bool = False
    has_bare_years: bool = False
    has_dotted_days: bool = False
    phrases: dict[str, dict[tuple[str, ...], dict[str, Any]]] = field(default_factory=dict)
    """Phrases by their first word or character; each phrase has its meanings by kind."""
    stems: dict[str, dict[str, tuple[int, dict[str, Any]]]] = field(default_factory=dict)
    """Stems by their first three letters; each has the maximum number of letters after it and its meanings by kind."""
    suffixes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Meaning that each ending adds to its word."""

    def read(self, words: Sequence[str], at: int) -> tuple[Mapping[str, Any], int, Mapping[str, Any] | None]:
        """Return (meanings of the longest phrase at `at`, number of its words, meanings that its ending adds)."""
        length, kinds = 0, dict[str, Any]()
        for phrase, meanings in self.phrases.get(words[at], {}).items():
            if len(phrase) > length and tuple(words[at : at + len(phrase)]) == phrase:
                length, kinds = len(phrase), meanings
        if length:
            return kinds, length, None
        word, longest, ending = words[at], 0, ""
        for stem, (more, meanings) in self.stems.get(word[:SHORTEST_STEM], {}).items():
            if longest < len(stem) <= len(word) <= len(stem) + more and word.startswith(stem):
                longest, kinds, ending = len(stem), meanings, word[len(stem) :]
        if not ending:
            return kinds, 1, None
        return kinds, 1, next((added for each, added in self.suffixes.items() if ending.endswith(each)), None)


def is_yearly(folded: str, languages: Sequence[str]) -> bool:
    """Return whether a folded text has a word such as `birthday`, whose day recurs every year."""
    return any(phrase in f" {folded} " for phrase in _list_phrases("yearly", languages))


def asks_who(folded: str, languages: Sequence[str]) -> bool:
    """Return whether a folded text ends with words such as `who is`, after which a month or weekday is a name."""
    return folded.endswith(tuple(_list_phrases("who", languages)))


def _list_phrases(name: str, languages: Sequence[str]) -> list[str]:
    lists = (bare(read_lists(f"calendar/{code}").get(name, "")).split() for code in languages)
    return [word.replace("_", " ") for words in lists for word in words]


def find_words(folded: str) -> set[str]:
    return set((_ASCII_WORD if folded.isascii() else _WORD).findall(folded))


@dataclass(frozen=True, slots=True)
class Leading:
    """Words and stems of a language: a text that names a time contains one of them."""

    words: frozenset[str]
    stems: Mapping[str, tuple[str, ...]]
    signs: tuple[str, ...]

    def stands_in(self, text: str, words: Collection[str]) -> bool:
        """Return whether a folded text contains one of the words or stems; `words` are the words of the text."""
        if not self.words.isdisjoint(words) or (self.signs and any(each in text for each in self.signs)):
            return True
        by_start = self.stems
        return bool([1 for word in words if (stems := by_start.get(word[:SHORTEST_STEM])) and word.startswith(stems)])


@lru_cache(maxsize=64)
def load(language: str) -> Lexicon | None:
    """Return the words of time of a language; None for a language without a file."""
    if not (lists := read_lists(f"calendar/{language}")):
        return None
    if letters := list_letters(lists.get("spelt", "")):

        def spell(form: re.Match[str]) -> str:
            return " ".join(dict.fromkeys((form[0], transliterate(form[0], letters))))

        lists = {name: _FORM.sub(spell, forms) for name, forms in lists.items()}
    lexicon = Lexicon(lists.get("order", "dmy"), "strict" in lists, "bare_years" in lists, "dotted" in lists)
    for ending, _, said in (each.partition("=") for each in lists.get("suffixes", "").split()):
        name, _, value = said.partition(".")
        lexicon.suffixes[bare(ending)] = {KINDS[name]: value or 0}
    homonyms = {_phrase(form) for form in lists.get("homonyms", "").split()}
    unsure = homonyms.union(map(_phrase, lists.get("ambiguous", "").split()))
    endings = int(lists.get("endings", "0"))
    for name, letter in KINDS.items():
        for form, value in _iter_forms(name, lists.get(name, "")):
            phrase = _phrase(form)
            kind = _UNSURE.get(letter, letter) if phrase in unsure else letter
            more = _ANY_ENDING if form.endswith("*") else endings if letter in _MAY_END else 0
            _add(lexicon, phrase, kind, value, more)
            if phrase in homonyms:
                _add(lexicon, phrase, "!", "homonym", 0)
            if name == "last":
                _add(lexicon, phrase, "T", -1, more)
            if letter in "I1234567A:" and form in lists.get("joins", "").split():
                _add(lexicon, phrase, "x", 0, 0)
    for number, words in read_numbers(language).items() if language not in ("ja", "zh") else ():  # `parts` reads theirs
        for word in words if int(number) > _LISTED_NUMBERS else ():
            _add(lexicon, _phrase(word), "N", int(number), 0)
    return lexicon


@lru_cache(maxsize=64)
def time_words(language: str) -> frozenset[str]:
    return _find_words(language, lambda kinds: bool(_TELLING & kinds.keys() or kinds.get("L")))


@lru_cache(maxsize=64)
def may_name_time(language: str) -> frozenset[str]:
    """Return the single words for a time, also those with another meaning, such as `march`."""
    return _find_words(language, lambda kinds: bool((_TELLING | set(_UNSURE.values())) & kinds.keys()))


@lru_cache(maxsize=64)
def name_words(language: str) -> frozenset[str]:
    """Return the single words for a time or a unit, without `day`: `How was my day?` names no time."""
    return _find_words(language, lambda kinds: bool(_NAMING & kinds.keys()) or kinds.get("U", "day") != "day")


@lru_cache(maxsize=64)
def talk_words(language: str) -> frozenset[str]:
    """Return the single words about the conversation itself, such as `said`."""
    return _find_words(language, lambda kinds: "V" in kinds)


def names_talk(words: str, languages: Iterable[str]) -> bool:
    """Return whether a text, as `asked_words` gives it, has one of these languages' `talk_words`."""
    return any(not talk_words(language).isdisjoint(words.split()) for language in languages)


def _find_words(language: str, fits: Callable[[Mapping[str, Any]], bool]) -> frozenset[str]:
    phrases = (load(language) or Lexicon()).phrases.values()
    return frozenset(words[0] for each in phrases for words, kinds in each.items() if len(words) == 1 and fits(kinds))


@lru_cache(maxsize=256)
def load_leading(language: str, needed: Set[str] = LEADING) -> Leading:
    """Return the words and stems of some kinds, and the longest word of each phrase of these kinds."""
    lexicon = load(language) or Lexicon()
    words, signs = set[str](), set[str]()
    for phrases in lexicon.phrases.values():
        for phrase, kinds in phrases.items():
            is_short = kinds.keys() <= {"w"} and len(phrase[0]) < SHORTEST_STEM  # `so` is seldom a Sunday
            if not needed.isdisjoint(kinds) and not is_short:
                is_signs = _SIGN.match(phrase[0]) is not None
                (signs if is_signs else words).add("".join(phrase) if is_signs else max(reversed(phrase), key=len))
    stems = {
        start: tuple(stem for stem, (_, kinds) in each.items() if needed & kinds.keys())
        for start, each in lexicon.stems.items()
    }
    return Leading(frozenset(words), {start: each for start, each in stems.items() if each}, tuple(sorted(signs)))


def _iter_forms(name: str, listed: str) -> Iterator[tuple[str, Any]]:
    if name in ("days", "either", "near", "moments", "counted"):
        for form, _, said in (each.partition("=") for each in listed.split()):
            number, _, word = said.partition(".")
            is_unit = name == "near"  # `week+1`
            yield form, (said[:-2], int(said[-2:])) if is_unit else (int(number), word) if word else int(number)
    elif name in _VALUES:
        for value, forms in zip(_VALUES[name], listed.split("|"), strict=False):
            yield from ((form, value) for form in forms.split())
    else:
        yield from ((form, _VALUE.get(name, 0)) for form in listed.split())


def _phrase(form: str) -> tuple[str, ...]:
    """Split a form into words, or into characters in scripts that are read character by character."""
    if form.isascii() and form.isalpha():  # most forms
        return (form.lower(),)
    return tuple(_SPLIT.findall(bare(form.rstrip("*"))))


def _add(lexicon: Lexicon, phrase: tuple[str, ...], kind: str, value: Any, more: int) -> None:
    if not phrase:
        return
    lexicon.phrases.setdefault(phrase[0], {}).setdefault(phrase, {}).setdefault(kind, value)
    word = phrase[0]
    if len(phrase) > 1 or not more or len(word) < SHORTEST_STEM:
        return
    known = lexicon.stems.setdefault(word[:SHORTEST_STEM], {})
    longer, meanings = known.get(word, (0, {}))
    meanings.setdefault(kind, value)
    known[word] = max(more, longer), meanings
