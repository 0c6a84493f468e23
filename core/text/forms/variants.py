"""Other forms of a word that may be in the index: their first letters and possible endings."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from ...base.groups import group
from ..folding import fold, fold_case
from ..languages import SHARING
from ..stems import list_with_stem, script_language, stems, with_prefixes
from .paradigms import Paradigm, read_families, read_paradigms, read_rules, to_letters

_UKRAINIAN = re.compile("[іїєґ]")
LONGEST_WORD = 40

Beginning = Callable[[str], Iterable[str]]
"""Returns the words of the index that begin with a text."""
_OF_SCRIPT = frozenset({"el", "ru", "uk", "he", "ar", "fa", "hi", "ne", "ta", "hy", "ko", "ja", "zh", "th"})
_REGULAR = 4
"""Minimum length of an irregular form that takes one-letter endings: a shorter one plus a letter may be a new word."""
_SHORTEST_STEM = 3
_NO_ENDING = frozenset({""})
_FIRST, _LAST, _PER_VOWEL = 0xAC00, 0xD7A3, 28
"""First and last Hangul syllable, and the number of syllables with the same first consonant and vowel."""
_SURE_ENDING = 4
"""Minimum length of an ending so reliable that the stem before it may be one letter shorter than usual."""
_SHORTEST_BEGINNING = 2
SHORTEST_HEAD = 4
"""Minimum number of letters of a compound before its last word."""


def languages_of_word(word: str, languages: Sequence[str]) -> list[str]:
    """Return those of `languages` that a word's script allows; if it allows none, the language that it suggests."""
    if not (own := script_language(word)):
        return [code for code in languages if code not in _OF_SCRIPT]
    if own == "ru":
        given = [code for code in languages if code in ("ru", "uk", "sr")]
        return ["uk", *given] if _UKRAINIAN.search(word) and "uk" not in given else given or [own]
    return [next((code for code in languages if code in (own, SHARING.get(own))), own)]


def find_forms(written: str, languages: Sequence[str], beginning: Beginning) -> list[str]:
    """Return the index words that are forms of `written`, a word with its accents."""
    if len(written) > LONGEST_WORD:
        return []
    found: dict[str, None] = {}
    for language in languages_of_word(written, languages):
        paradigms = read_paradigms(language)
        found |= _find_of_stem(fold(written), language, beginning)
        for paradigm in paradigms:
            for start, endings in list_patterns(written, language, paradigm).items():
                found |= dict.fromkeys(match_words(start, endings, language, beginning))
        for member in find_relatives(written, language):
            found |= dict.fromkeys(match_words(to_letters(member, language), _NO_ENDING, language, beginning))
            for one in paradigms:
                endings = one.endings if len(member) >= _REGULAR else frozenset(e for e in one.endings if len(e) > 1)
                for prefix in (prefix for prefix, initial in one.prefixes if not initial):
                    start = to_letters(prefix + member, language)
                    found |= dict.fromkeys(match_words(start, endings, language, beginning))
    return list(found)


def _find_of_stem(word: str, language: str, beginning: Beginning) -> dict[str, None]:
    (stem, *_) = stems(word, (language,))
    found, is_long = dict[str, None](), len(stem) >= int(read_rules(language).get("stems", _SHORTEST_STEM))
    shorter = stem[:-1] if len(stem) > _SHORTEST_STEM else stem
    for start in (shorter, *with_prefixes(stem)) if is_long else ():
        found |= dict.fromkeys(list_with_stem(beginning(start), stem, language))
    for other in list_look_alikes(word, language):
        found.pop(other, None)
    return found


def list_look_alikes(word: str, language: str) -> frozenset[str]:
    """Return words of another meaning that share a stem with a word: `university` for `universe`."""
    return _look_alikes(language).get(word, _NO_ENDING)


@lru_cache(maxsize=64)
def _look_alikes(language: str) -> dict[str, frozenset[str]]:
    groups = [frozenset(group.split()) for group in read_rules(language).get("apart", "").split("/")]
    return {group_word: group - {group_word} for group in groups for group_word in group}


def match_words(start: str, endings: frozenset[str], language: str, beginning: Beginning) -> Iterator[str]:
    if language == "ko":
        for text in _list_beginnings(start):
            for term in beginning(text):
                letters = to_letters(term, language)
                if letters.startswith(start) and letters[len(start) :] in endings:
                    yield term
        return
    for term in beginning(start):
        if term[len(start) :] in endings:
            yield term


def _list_beginnings(letters: str) -> list[str]:
    """Return the prefixes (in whole Hangul syllables) with which to look up words that begin with these letters."""
    text = unicodedata.normalize("NFC", letters)
    last = ord(text[-1]) if text else 0
    is_open = _FIRST <= last <= _LAST and (last - _FIRST) % _PER_VOWEL == 0
    if len(text) == 1 and is_open:
        return [chr(code) for code in range(last, last + _PER_VOWEL)]
    is_whole = _FIRST <= last <= _LAST and not is_open
    return [text] if is_whole else [text[:-1]] if len(text) > 1 else []


def list_patterns(written: str, language: str, paradigm: Paradigm) -> dict[str, frozenset[str]]:
    """Return the possible forms of a word: a map of each folded stem, with or without prefix, to possible endings."""
    made: dict[str, frozenset[str]] = {}
    for word in dict.fromkeys((fold_case(written), *_list_spelt(written, language))):
        for stem, ending in _list_stems(to_letters(word, language), paradigm):
            for other, endings in _list_variants(stem, ending, paradigm):
                plain = fold(other) if language != "ko" else other
                for prefix, initial in paradigm.prefixes:
                    if plain.startswith(initial):
                        start = prefix + plain[len(initial) :]
                        made[start] = made.get(start, frozenset()) | endings
    return made


def _list_spelt(written: str, language: str) -> Iterator[str]:
    """Yield a folded word, and its spellings on keyboards that lack some of its letters: `tuer` for `tür`."""
    word, typed, meant = fold_case(written), "", fold(written)
    yield meant
    for pair in read_rules(language).get("spelt", "").split():
        letter, _, letters = pair.partition(":")
        typed, meant = (typed or word).replace(letter, letters), meant.replace(letters, fold(letter))
    if typed:
        yield from (typed, meant)


def _list_stems(word: str, paradigm: Paradigm) -> Iterator[tuple[str, str]]:
    for prefix, initial in paradigm.prefixes:
        if not word.startswith(prefix):
            continue
        base = initial + word[len(prefix) :]
        if "" in paradigm.endings and len(base) >= (paradigm.shortest if paradigm.shortest > _SHORTEST_STEM else 2):
            yield base, ""
        for at in range(max(paradigm.shortest - 1, len(base) - paradigm.longest), len(base)):
            is_long = at >= paradigm.shortest or len(base) - at >= _SURE_ENDING
            if not (is_long and base[at:] in paradigm.endings):
                continue
            if not paradigm.last_letters or base[at - 1] in paradigm.last_letters:
                yield base[:at], base[at:]


def _list_variants(stem: str, ending: str, paradigm: Paradigm) -> Iterator[tuple[str, frozenset[str]]]:
    is_closed = ending in paradigm.closed
    for other, endings in ((stem, paradigm.endings), *_list_bent(stem, is_closed, paradigm)):
        yield other, endings
        for vowel in paradigm.fleeting:
            at = len(other) - 1
            if is_closed and at > len(vowel) and other[:at].endswith(vowel):
                yield other[: at - len(vowel)] + other[at:], paradigm.open
            elif not is_closed and at > 0:
                yield other[:at] + vowel + other[at:], paradigm.closed


def _list_bent(stem: str, is_closed: bool, paradigm: Paradigm) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield variants of a stem with their endings: its end, or the consonant before its final vowels, changes."""
    body = stem.rstrip(paradigm.tail) if paradigm.tail else stem
    if body != stem:
        for other, endings in _list_changed(body, is_closed, paradigm):
            yield other + stem[len(body) :], endings
            for more, fewer in _list_changed(other + stem[len(body) :], is_closed, paradigm):
                yield more, endings & fewer
    yield from _list_changed(stem, is_closed, paradigm)


def _list_changed(stem: str, is_closed: bool, paradigm: Paradigm) -> Iterator[tuple[str, frozenset[str]]]:
    for change in paradigm.changes:
        if (is_closed or not change.is_one_way) and (other := change.apply(stem, change.left, change.right)):
            yield other, paradigm.open if change.is_one_way else paradigm.endings
        if not (is_closed and change.is_one_way) and (other := change.apply(stem, change.right, change.left)):
            yield other, paradigm.closed if change.is_one_way else paradigm.endings


@lru_cache(maxsize=64)
def _relatives(language: str) -> dict[str, list[int]]:
    """Return, for each irregular form and for its stem, the positions of its families in `read_families`."""
    listed = ((number, word) for number, family in enumerate(read_families(language)) for word in family)
    return group((each, number) for number, word in listed for each in {word, stems(word, (language,))[0]})


def find_relatives(written: str, language: str) -> list[str]:
    """Return the irregular forms related to a word, which may have an ending: `hånd` for `hænderne`."""
    known, word = _relatives(language), fold(written)
    numbers = dict.fromkeys((*known.get(word, ()), *known.get(stems(word, (language,))[0], ())))
    others = dict[str, None]()
    for paradigm in read_paradigms(language):
        for base in dict.fromkeys(word.removeprefix(prefix) for prefix, initial in paradigm.prefixes if not initial):
            others |= dict.fromkeys(_list_by_pattern(base, language))
            for at in range(2, len(base) + 1):
                if at == len(base) or (at >= paradigm.shortest and base[at:] in paradigm.endings):
                    numbers |= dict.fromkeys(known.get(base[:at], ()))
    families = read_families(language)
    members = dict.fromkeys([member for number in numbers for member in families[number]])
    return list(members | others if word in members else members | others | _list_longer(word, language))


def _list_by_pattern(word: str, language: str) -> Iterator[str]:
    """Yield the plurals of a singular, or the singulars of a plural, by vowel patterns: `أقلام` for `قلم`."""
    for pattern, other in _patterns(language).get(len(word), ()):
        if all(sign.isdigit() or sign == letter for sign, letter in zip(pattern, word, strict=True)):
            yield other.translate({ord(sign): letter for sign, letter in zip(pattern, word, strict=True)})


@lru_cache(maxsize=64)
def _patterns(language: str) -> dict[int, list[tuple[str, str]]]:
    """Return (pattern of a word, pattern of its plural or singular) by length; digits are the root's consonants."""
    listed = (fold(pair).partition(":") for pair in read_rules(language).get("patterns", "").split())
    return group((len(a), (a, b)) for one, _, other in listed for a, b in ((one, other), (other, one)))


def _list_longer(word: str, language: str) -> dict[str, None]:
    """Return the forms of a word that ends in an irregular form: `zerbrach`, `zerbrochen` for `zerbrechen`."""
    known, families = _relatives(language), read_families(language)
    lost, found = read_rules(language).get("participle", ""), dict[str, None]()
    for at in range(_SHORTEST_BEGINNING, len(word) - _SHORTEST_STEM + 1):
        for rest in dict.fromkeys((word[at:], lost + word[at:])):
            for number in known.get(rest, ()):
                if rest in families[number]:
                    found |= dict.fromkeys([word[:at] + member for member in families[number]])
                    found |= dict.fromkeys([word[:at] + member.removeprefix(lost) for member in families[number]])
    return found


def list_compounds(written: str, languages: Sequence[str], holding: Beginning) -> list[str]:
    """Return compounds that end in a form of a word: `vinterjakka` for `jakke`; `holding` finds words by substring."""
    word = fold(written)
    root = word[:-1] if len(word) >= SHORTEST_HEAD else word
    tails = group((term[at:], term) for term in holding(root) if (at := term.rfind(root)) >= SHORTEST_HEAD)
    forms = {word, *find_forms(written, languages, lambda text: [tail for tail in tails if tail.startswith(text)])}
    return [term for tail, terms in tails.items() if tail in forms for term in terms]
