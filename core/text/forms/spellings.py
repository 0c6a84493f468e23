"""Other spellings of words in a message: numbers, the two scripts of a language, words written apart or joined."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise, product

from ...base.patterns import lazy_pattern
from ..folding import all_runs, fold, fold_case
from ..words import small_words
from .paradigms import list_letters, read_families, read_numbers, read_rules, transliterate

_NUMBER = lazy_pattern(r"(?<![\w.,:])(?:[1-9]\d?|100)(?![\w:]|[.,]\d)")
_LARGE = lazy_pattern(r"(?<![\w.,:])(?!(?:19|20)\d\d(?!\d))[1-9]\d{3,8}(?![\w:]|[.,]\d)")
"""Number that is often written with thousands separators; years are excluded."""
_CLOCK = lazy_pattern(r"(?<![\d.:])([01]?\d|2[0-3])[:.]([0-5]\d)(?![\d:]|\.\d)(?: ?([ap])\.?m\b)?")
_MIXED = lazy_pattern(r"[^\W\d_]+|\d+")
_NEXT = lazy_pattern(r"\d[.,'\u2019]\d{3}|(?!\d\.\d).[\s\-\u2010-\u2012/.]{1,2}[^\W_]+")
"""Last character of a word, and a next word that may be joined to it; digits after a point only if thousands."""
_QUOTED = lazy_pattern(
    '["\u201c\u201e\u00ab\u300c]([^"\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d]{3,80})["\u201c\u201d\u00bb\u300d]'
)
LOOKED_AT = 400
"""Maximum number of characters of a message that are searched for words with other spellings."""
LONGEST_JOINED = 24
SHORTEST_PART = 3
SHORTEST_COMPOUND, LONGEST_COMPOUND = 7, 80
MOST_PARTS = 3
MOST_SPELLINGS = 16
"""Maximum number of spellings, in the other script, of a word typed without its accents."""
_TYPED = lazy_pattern("dj|.")
_WORD = lazy_pattern(r"[^\W_]+")
Find = Callable[[str], list[str]]
"""Returns the index words that are forms of a part of a compound."""
_TONES = "\u0300\u0301\u0303\u0309\u0323"


def list_quoted(text: str) -> list[str]:
    """Return the quoted phrases of several words, folded."""
    return [phrase for phrase in (" ".join(fold(said).split()) for said in _QUOTED.findall(text)) if " " in phrase]


def list_other_numbers(text: str, languages: Sequence[str]) -> dict[str, list[str]]:
    """Return the folded numbers and number words of a message, each with its other spellings."""
    folded = fold(text[:LOOKED_AT])
    made: dict[str, list[str]] = {}
    digits = dict.fromkeys(_NUMBER.findall(folded))
    said = f" {' '.join(all_runs(folded))} "
    for language in languages:
        for number, words in read_numbers(language).items():
            if number in digits:
                made.setdefault(number, []).extend(words)
            for word in words:
                if f" {word} " in said and len(word) >= SHORTEST_PART:
                    made.setdefault(word, []).append(number)
    for hour, minute, half in _CLOCK.findall(folded):
        hours = {int(hour), (int(hour) + 12) % 24 if half != "a" and int(hour) < 12 or int(hour) > 12 else int(hour)}  # noqa: RUF021
        made.setdefault(minute, []).extend(f"{one} {minute}" for one in sorted(hours))
    for number in _LARGE.findall(folded):
        made[number] = [f"{int(number):,}".replace(",", " ")]
    return made


def list_other_scripts(text: str, languages: Sequence[str]) -> dict[str, list[str]]:
    """Return the folded words of a message that can be written in another script, each with its other spellings."""
    made: dict[str, list[str]] = {}
    if not text.isascii():
        folded = fold(text[:LOOKED_AT])
        for family in read_families("ja"):
            for word in family:
                if word in folded:
                    made.setdefault(word, []).extend(other for other in family if other != word)
    if "sr" in languages:
        for word in fold_case(text[:LOOKED_AT]).split():
            made[fold(word)] = [other for other in _list_in_other_script(word) if other != word]
    return made


def _list_in_other_script(word: str) -> Iterator[str]:
    """Yield a Serbian word in the other script: `macka` may be `мацка`, `мачка` or `маћка`."""
    rules = read_rules("sr")
    letters = list_letters(rules["letters"])
    spelt: dict[str, list[str]] = {}
    for letter, _, typed in (pair.partition(":") for pair in rules["spelt"].split() if word.isascii()):
        spelt.setdefault(typed, [typed]).append(letter)
    signs = [spelt.get(sign, [sign]) for sign in _TYPED.findall(word)]
    for meant in map("".join, islice(product(*signs), MOST_SPELLINGS)):
        yield transliterate(meant, letters)
    yield transliterate(word, [(new, old) for old, new in letters])


def list_joined(text: str) -> dict[str, list[str]]:
    """Return adjacent words joined into one, each with its parts: `icecream` for `ice cream`, `5km` for `5 km`."""
    folded = fold(text[:LOOKED_AT])
    made: dict[str, list[str]] = {}
    spans = [match.span() for match in _WORD.finditer(folded)]
    words = [folded[start:end] for start, end in spans]
    joins = [_NEXT.fullmatch(folded[end - 1 : last]) is not None for (_, end), (_, last) in pairwise(spans)]
    for first in range(len(words)):
        for last in range(first + 1, min(first + MOST_PARTS, len(words))):
            parts = words[first : last + 1]
            is_code = any(map(str.isdigit, parts))
            if not (is_code or last == first + 1) or not small_words("tells_nothing").isdisjoint(parts):
                break
            if sum(map(len, parts)) <= LONGEST_JOINED and all(joins[first:last]):
                made["".join(parts)] = parts
    return made


def split_figures(word: str) -> list[str]:
    """Return the letters and the digits of a word as separate texts; [] if the word lacks letters or digits."""
    parts = _MIXED.findall(word)
    return parts if 1 < len(parts) <= MOST_PARTS and "".join(parts) == word else []


def split_compound(word: str, find: Find, languages: Sequence[str], most: int = MOST_PARTS) -> list[list[str]]:
    """Return, for each part of a compound, the index words that are its forms; [] if the word is not a compound."""
    links = ["", *(link.strip("_") for code in languages for link in read_rules(code).get("links", "").split())]
    for at in range(len(word) - SHORTEST_PART, SHORTEST_PART - 1, -1):
        second = find(word[at:])
        if not second and most <= 2:
            continue
        for link in links:
            head = word[: at - len(link)] if word[:at].endswith(link) else ""
            first = find(head) if len(head) >= SHORTEST_PART else []
            rest = [second] if second else split_compound(word[at:], find, languages, most - 1) if first else []
            if first and rest:
                return [first, *rest]
    return []


def joins_words(language: str) -> bool:
    return "links" in read_rules(language)


def share_spelt_otherwise(written: Sequence[str], text: str) -> float:
    """Return the share of `written` that `text` spells differently: with other accents, or as a name in lower case."""
    unsure = [
        word for word in written if not (text.isascii() and word.isascii() and word.islower()) and word not in text
    ]
    if not unsure:
        return 0.0
    as_said = set(_WORD.findall(unicodedata.normalize("NFKC", text)))
    spelt = {word.casefold() for word in as_said}
    folded = {word if word.isascii() else fold(word) for word in spelt}
    as_spelt = {word for word in unsure if not as_said.isdisjoint((word, word.upper()))}
    as_spelt |= {word for word in unsure if word == word.casefold() and word in spelt}
    return sum(fold(word) in folded and word not in as_spelt for word in unsure) / len(written)


def holds_tone(word: str, text: str) -> bool:
    """Return whether a text contains a Vietnamese word with the same tone marks, or without any marks."""
    spelt = {_place_tone(each) for each in _WORD.findall(fold_case(text)) if len(each) == len(word)}
    return word.isascii() or _place_tone(word) in spelt or fold(word) in spelt


def _place_tone(word: str) -> str:
    """Return a word with its tone mark at the end, since both `thuý` and `thúy` are written."""
    return word if word.isascii() else "".join(sorted(unicodedata.normalize("NFD", word), key=_TONES.count))
