"""The search words of a message: salient words, their stems, rarity, and similar spellings."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice

from ..base.patterns import lazy_pattern
from .folding import SPACELESS_PATTERN, clean, fold, fold_case, fold_letters, runs
from .forms.paradigms import VOWEL, to_letters
from .languages import bare, common_words
from .question_words import MARKS, asked_words, begins_with, holds, is_question
from .stems import script_language, stem
from .time import mask_time
from .words import candidates_of, list_symbols, pairs, small_words, stop_words
from .words import words as plain_words

TAGS_LIMIT = 12
KEYWORD_LIMIT = 24
"""Maximum number of words of one message that are searched for, the rarest: more words do not find more."""
_ACCENTED = lazy_pattern("(?<![^\\W_])[a-z]*[\u00df-\u024f\u1e00-\u1eff][a-z\u00df-\u024f\u1e00-\u1eff]*")
_CAPITAL = lazy_pattern(r"(?<![^\W_])(?<!['’])[^\W\d_]{3,}(?![^\W_])")
_LONGEST_RUN = 8
_HIRAGANA = lazy_pattern("[\u3041-\u309f]")
_HAN = lazy_pattern("[\u3400-\u4dbf\u4e00-\u9fff]")
FEW_WORDS = 3
"""Maximum number of words of a message that may be a query typed into a search field."""
SHORTEST_STEM = 3
"""Minimum number of letters of a stem: a shorter one would be found inside too many words."""
_SHORT = 2
_SIGNED = lazy_pattern(r"(?<![^\W_])[a-z](?:\+\+|#)")
"""Letter that is a name with its sign: `c#`."""
_SHORT_NAME = lazy_pattern(r"(?<![^\W_])(?<!['’])[^\W\d_]{1,2}(?![^\W_])")
_OPENS_SENTENCE = lazy_pattern(r"(?:^|[.!?:;\n])[\W_]*$")
_LETTER_WORDS = frozenset("IAOEYUÀÉÓÈ")
"""Capital letters that are words in some language."""
_READ_FOR_NAMES = 2_000
_DATE = lazy_pattern(
    r"\d{4}-\d{1,2}(?:-\d{1,2})?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,4} ?[年月日号號년월일]|\d{1,2}:\d{2}"
)
_NUMBER = lazy_pattern(r"(?<![^\W_])[0-9]{1,12}(?![^\W_])")


def salient_words(text: str, languages: Sequence[str], limit: int | None = None) -> list[str]:
    """Return the salient words: not stop words of the languages, unique, in first-seen order."""
    accents = () if text.isascii() else _ACCENTED.findall(fold_case(clean(text)))
    accented = frozenset(fold(" ".join(accents)).split())  # so that `thé` is not taken for the stop word `the`
    stops = [stop_words(one) - accented if one == "en" else stop_words(one) for one in languages]
    words, certain = _find_salient(text, languages, accented)
    telling = {*words}.difference(*stops) | certain
    return list(islice(dict.fromkeys(filter(telling.__contains__, words)), limit))


def _find_salient(text: str, languages: Sequence[str], accented: frozenset[str]) -> tuple[list[str], set[str]]:
    """Return (words that may be salient, the stop words among these words that count as salient)."""
    said = clean(text)
    folded = fold(said)
    # With an accent, a word of two letters may be a noun: `gà`, `kő`.
    nothing = small_words("two_letters") - (accented - common_words("vi"))
    words: list[str] = _SIGNED.findall(folded)
    certain = {*words, *_short_names(said), *map(fold, inner_names(said)), *_numbers(folded, languages)}
    for run, spaceless in runs(folded):
        if spaceless:
            signs = _single_signs(run)
            words += signs
            certain.update(signs)
        elif run in certain:
            words.append(run)
            continue
        elif len(run) == 1 and script_language(run) == "ko":
            words.append(run)
        elif len(run) <= _SHORT or run.isdigit():
            if len(run) == _SHORT and not run.isdigit() and run not in nothing:
                words += candidates_of(run, spaceless, _SHORT)
            continue
        words += candidates_of(run, spaceless)
    return words, certain


def _short_names(said: str) -> frozenset[str]:
    """Return the words of one or two letters that are written as names, folded: `TV`, `Bo`, `team B`."""
    if said.isupper() or said == said.lower():
        return frozenset()
    found = set()
    for match in _SHORT_NAME.finditer(said):
        word = match[0]
        if not word[0].isupper() or word in _LETTER_WORDS:
            continue
        is_inside = not _OPENS_SENTENCE.search(said, max(0, match.start() - 8), match.start())
        if is_inside or (len(word) == _SHORT and word.isupper()):
            found.add(fold(word))
    return frozenset(found)


def inner_names(said: str) -> list[str]:
    """Return the words that are capitalized as names inside a sentence: `Who is Will?`, `Polish`."""
    words = [(match.start(), match[0]) for match in _CAPITAL.finditer(said[:_READ_FOR_NAMES])]
    large = [(at, word) for at, word in words if word[0].isupper() and word[1:].islower()]
    if len(words) > 3 and len(large) * 2 > len(words):  # a title
        return []
    inside = [word for at, word in large if not _OPENS_SENTENCE.search(said, max(0, at - 8), at)]
    return [word for word in inside if word.casefold() not in small_words("polite")]


def _numbers(folded: str, languages: Sequence[str]) -> frozenset[str]:
    """Return the numbers of a text that are not part of a date."""
    if not _NUMBER.search(folded):
        return frozenset()
    rest = _DATE.sub(" ", folded)
    years = {number for number in _NUMBER.findall(rest) if len(number) == 4}
    return frozenset(years.union(_NUMBER.findall(mask_time(rest, languages))))


def _single_signs(run: str) -> list[str]:
    """Return single Han characters between function characters: nouns of one character."""
    function = _function_signs()
    parts = "".join(sign if _HAN.match(sign) and sign not in function else " " for sign in run).split()
    return [part for part in parts if len(part) == 1]


def least_pairs(text: str) -> tuple[frozenset[str], int]:
    """Return the character pairs of a text that is one spaceless word, and the least number of pairs that must match.

    So `大学士` does not match `大学`. Pairs with an ending (Hiragana after Han) or function characters are left out.
    """
    found = list(islice(runs(fold_letters(clean(text[: _LONGEST_RUN * 2]))), 2))
    if len(found) != 1 or not found[0][1] or not _SHORT < len(found[0][0]) <= _LONGEST_RUN:
        return frozenset(), 0
    run = found[0][0]
    telling = [pair for pair in pairs(run) if _function_signs().isdisjoint(pair)]
    if _HAN.match(run):
        telling = [pair for pair in telling if not _HIRAGANA.search(pair)]
    if MARKS.intersection(text) or not telling:
        return frozenset(), 0
    is_kana = all(map(_HIRAGANA.match, run))
    return frozenset(map(fold, telling)), (len(telling) + 1) // 2 if is_kana else len(telling) // 2 + 1


@lru_cache(maxsize=1)
def _function_signs() -> frozenset[str]:
    return frozenset(word for code in ("zh", "ja") for word in stop_words(code) if len(word) == 1)


def telling_symbols(text: str, limit: int) -> list[str]:
    """Return the symbols of a text that name a thing, such as the emoji of a key; faces, hands and hearts do not."""
    feelings = re.compile(f"[{''.join(small_words('feelings'))}]")  # faces, hands, hearts, sparks
    named = (char for char in list_symbols(fold(clean(text))) if not feelings.match(char))
    return list(islice(dict.fromkeys(named), limit))


# Stop words, for messages with few other words


def minor_words(words: Sequence[str], languages: Sequence[str], limit: int) -> list[str]:
    """Return the less common stop words of a message: stop words that are not among the commonest words."""
    others = {*words}.difference(*map(stop_words, languages)) | small_words("tells_nothing")
    stops = [(word, bare(word)) for word in words if word not in others]
    rare = {form for _, form in stops}.difference(small_words("courtesy"), *map(common_words, languages))
    return [word for word, form in stops if form in rare][:limit]


def common_words_asked(text: str, languages: Sequence[str], limit: int) -> list[str]:
    """Return search words for a message that has only common words.

    The first language is the message's. The result is the message's less common stop words. If it has none, a question
    gives its less common words, a request or courtesy none, and another message all words if it is short (FEW_WORDS).
    """
    if found := minor_words(plain_words(text), languages, limit):
        return found
    said = asked_words(text)
    if small_words("courtesy").intersection(said.split()) or begins_with(said, "request", languages):
        return []
    plain = [word for word in plain_words(text, _SHORT) if word not in small_words("two_letters")]
    if not is_question(text, languages):
        return plain[:limit] if len(said.split()) <= FEW_WORDS else []
    common = common_words(languages[0]) if languages else frozenset[str]()
    plain = [word for word in plain if bare(word) not in common and word not in small_words("about_talk")]
    if not plain and holds(said, "self", languages):
        plain = [word for word in ("have", "has", "had", "go") if f" {word} " in said]
    return plain[:limit]


def choose_rarest(words_in_order: Sequence[str], rows_by_word: Mapping[str, int], limit: int) -> list[str]:
    """Return the `limit` rarest words, in the order given; words that no row holds are chosen last."""
    rows = {word: rows_by_word.get(word, 0) for word in words_in_order}
    kept = set(sorted(words_in_order, key=lambda word: (rows[word] <= 0, rows[word]))[:limit])
    return [word for word in words_in_order if word in kept]


def search_form(word: str, languages: Sequence[str]) -> str:
    """Return the stem of a word if the word contains it, else the word."""
    form = stem(word, languages)
    own = script_language(word)
    if len(form) < (2 if own == "ko" else SHORTEST_STEM):  # a Hangul syllable counts as two letters
        return word
    if not own:
        return form if word.startswith(form) else word
    at = _plain(word).find(_plain(form))
    return word[at : at + len(form)] if at >= 0 else word


def _plain(text: str) -> str:
    """Return the text with each character stripped of its accents, at the same length."""
    return "".join(unicodedata.normalize("NFD", char)[0] for char in text)


# Misspelt words

SHORTEST, LONGEST = 5, 40
"""Minimum and maximum number of letters of words that are respelt: a shorter word is similar to too many others."""
FUZZY_SCORE = 82.0
"""Minimum similarity, 0 to 100, of a known word that replaces an unknown one; long words may have two wrong letters."""
TWO_SLIPS = 9
"""Minimum number of letters of a word that may have two typing errors instead of one."""
MOST_LONGER = 2
"""Maximum number of letters by which the lengths of two words may differ."""
_SHORTEST_OF = {"ko": 3, "he": 6, "ar": 6}
"""Exceptions to SHORTEST by language: a syllabic script (ko), inflection inside words (he, ar)."""

_LAST_LETTERS = 3
"""Minimum number of letters of the second half of a word: too many words share a shorter end."""


def may_be_misspelt(word: str) -> bool:
    shortest = _SHORTEST_OF.get(script_language(word), SHORTEST)
    return shortest <= len(word) <= LONGEST and word.isalpha() and not SPACELESS_PATTERN.search(word)


def split_halves(word: str) -> tuple[str, str]:
    middle = min((len(word) + 1) // 2, len(word) - (1 if script_language(word) == "ko" else _LAST_LETTERS))
    return word[:middle], word[middle:]


def choose_nearest(word: str, known: Mapping[str, int], *, is_held: bool) -> str:
    """Return the most similar known word or "". `hallon` for `hallen` is allowed if rows hold `hallen` (`is_held`)."""
    likely = [other for other in sorted(known) if other != word and other[:1] == word[:1]]
    comparable = [(other, known[other]) for other in likely if abs(len(other) - len(word)) <= MOST_LONGER]
    if not comparable:
        return ""
    from rapidfuzz import fuzz  # noqa: PLC0415 - 40 ms that only words like a known one need
    from rapidfuzz.distance import OSA  # noqa: PLC0415

    best: tuple[float, int, str] = (0.0, 0, "")
    own = script_language(word)
    for other, rows in comparable:
        slips = 2 if min(len(word), len(other)) >= TWO_SLIPS else 1
        one, two = to_letters(word, own), to_letters(other, own)
        alike = fuzz.ratio(one, two, score_cutoff=FUZZY_SCORE)
        is_near = alike >= FUZZY_SCORE and OSA.distance(one, two, score_cutoff=slips) <= slips
        if is_near and (own == "ko" or is_held or not _ends_otherwise(one, two)):
            best = max(best, (alike, rows, other))
    return best[2]


def _ends_otherwise(word: str, other: str) -> bool:
    """Return whether the words differ only in one of their last two letters, both vowels: `hallen`, `hallon`."""
    if len(word) != len(other) or word[:-2] != other[:-2]:
        return False
    differing = [pair for pair in zip(word[-2:], other[-2:], strict=True) if pair[0] != pair[1]]
    return len(differing) == 1 and all(map(VOWEL.match, differing[0]))
