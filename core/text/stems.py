"""Stems of words: by Snowball, by own rules for Arabic, Hebrew and Korean, and by lists of irregular forms."""

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import Stemmer

from ..base.patterns import lazy_pattern
from ..base.text_caches import cache_texts
from .forms.paradigms import read_families, read_rules
from .languages import SCRIPTS

_STEMMED = ("el", "ru", "he", "ar", "hi", "ta", "hy", "ko")
"""Languages whose stemmer is chosen by the script of a word; all Cyrillic words are stemmed as Russian."""
_SHORTEST = 3
_SHORTEST_HANGUL = 2
_SPELT_OUT = lazy_pattern("ae|oe|(?<![aeq])ue")
"""An umlaut typed as two letters."""
_FEMININE = lazy_pattern("ee(s?)$")
"""End of a French participle, whose accents are removed by folding."""


def script_language(word: str) -> str:
    """Return the language that the script of a word suggests, "" for Latin script and scripts without stems."""
    if word.isascii():
        return ""
    return next((language for language in _STEMMED if SCRIPTS[language].search(word)), "")


@lru_cache(maxsize=16)
def _list_affixes(language: str, name: str) -> tuple[str, ...]:
    """Return the prefixes (`before`) or endings (`behind`) that a language writes as one word with another word."""
    return tuple(read_rules(language).get(name, "").split())


def _ending_of(word: str, endings: Sequence[str], shortest: int) -> str:
    """Return the first ending that leaves at least `shortest` letters of a word; "" if no ending does."""
    return next((each for each in endings if word.endswith(each) and len(word) - len(each) >= shortest), "")


def _stem_arabic(word: str) -> str:
    """Remove the prefixes for `and` and `the`, and endings of number, gender and possession."""
    for prefix in _list_affixes("ar", "before"):
        if word.startswith(prefix) and len(word) - len(prefix) >= _SHORTEST:
            word = word[len(prefix) :]
            break
    if ending := _ending_of(word, _list_affixes("ar", "behind"), _SHORTEST):
        word = word[: -len(ending)]
        # Before an ending, the last letter of `مدرسة` changes: `مدرستي`.
        return word[:-1] if word[-1] == "ت" and len(word) > _SHORTEST else word
    # Ending of an object without an article; in shorter words it is often a letter of the stem.
    return word[:-1] if word.endswith("ا") and len(word) > _SHORTEST + 1 else word


def _stem_hebrew(word: str) -> str:
    """Remove up to three prefixes of one letter, and the endings of plural and gender."""
    for _ in range(3):
        if len(word) > _SHORTEST and word[0] in _list_affixes("he", "before"):
            word = word[1:]
    return word.removesuffix(_ending_of(word, _list_affixes("he", "behind"), _SHORTEST))


def _stem_korean(word: str) -> str:
    """Remove the particle, which is written as one word with its noun."""
    if particle := _ending_of(word, _list_affixes("ko", "behind"), _SHORTEST_HANGUL):
        # `이` is part of many nouns: it is removed only before another particle.
        return word[: -len(particle)] + ("이" if particle in ("이가", "이는", "이를") else "")
    return word[:-1] if word.endswith("가") and len(word) > _SHORTEST_HANGUL else word


_SNOWBALL = "ca cs da de el en eo es et eu fa fi fr ga hi hu hy id it lt ne nl no pl pt ro ru sr st sv ta tr yi"
SNOWBALL = frozenset(_SNOWBALL.split())

LONGEST_WORD = 64
"""Maximum number of letters of a word that is stemmed; a longer one is its own stem and is not cached."""

Stem = Callable[[str], str]
_OWN: dict[str, Stem] = {"ar": _stem_arabic, "he": _stem_hebrew, "ko": _stem_korean}

_stemmers = threading.local()


def _load_stemmer(language: str) -> Stem | None:
    try:
        # No cache inside the stemmer: `_stems` caches for all languages and threads.
        code = language.lower()
        return Stemmer.Stemmer(code, 0).stemWord if code in SNOWBALL else _OWN.get(language)
    except KeyError:  # an older Snowball release without this language
        return None


def _regular_stem(word: str, language: str) -> str:
    """Return a word's stem by the rules of a language, "" if the language has none."""
    known: dict[str, Stem | None] = _stemmers.__dict__  # of this thread
    stemmer = known[language] if language in known else known.setdefault(language, _load_stemmer(language))
    if stemmer is None:
        return ""
    if language == "de":
        word = _SPELT_OUT.sub(lambda pair: pair[0][0], word)
    elif language == "fr":
        word = _FEMININE.sub(r"e\1", word)
    return stemmer(word)


@lru_cache(maxsize=32)
def _heads(language: str) -> dict[str, str]:
    """Return a map from the stem of each irregular form to the common stem of its family."""
    families = read_families(language) if _load_stemmer(language) else []
    stems_of = [[_regular_stem(word, language) for word in family] for family in families]
    heads = {family[0] for family in stems_of}
    return {form: family[0] for family in reversed(stems_of) for form in family if form not in heads}


@cache_texts(50_000)
def _stems(word: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    own = "" if word.isascii() else script_language(word)
    found: dict[str, None] = {}
    for language in languages if not own or own in languages else (*languages, own):
        try:
            form = _regular_stem(word, language)
        except UnicodeEncodeError:
            return (word,)
        found.setdefault(_heads(language).get(form, form))
    return tuple(filter(None, found)) or (word,)


def stems(word: str, languages: Sequence[str]) -> tuple[str, ...]:
    """Return the word's stems in the order of the languages, unique; the word itself if it has no stem."""
    return (word,) if len(word) > LONGEST_WORD else _stems(word, tuple(languages))


def stem(word: str, languages: Sequence[str]) -> str:
    """Return the first stem, in the order of the languages, that differs from the word; else the word itself."""
    return word if len(word) > LONGEST_WORD else _stem(word, tuple(languages))


@cache_texts(50_000)
def _stem(word: str, languages: tuple[str, ...]) -> str:
    return next((form for form in _stems(word, languages) if form != word), word)


def with_prefixes(form: str) -> list[str]:
    """Return a stem with each article or preposition that is written as one word with it."""
    return [prefix + form for prefix in _list_affixes(script_language(form), "before")]


def list_forms(words: Iterable[str], text: str, languages: Sequence[str], form: str = "") -> list[str]:
    """Return the index words (of `words`) that equal a searched text or have its stem; `form` is the stem if known."""
    codes = tuple(languages)
    forms = (form or stem(text, codes), text)
    return [
        word
        for word in words
        if (bare := word.strip("_")) == text or (len(bare) <= LONGEST_WORD and _stem(bare, codes) in forms)
    ]


def list_with_stem(words: Iterable[str], form: str, language: str) -> list[str]:
    return [word for word in words if len(word) <= LONGEST_WORD and _stems(word, (language,))[0] == form]
