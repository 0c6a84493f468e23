"""Stems of words by Snowball, and of Hebrew and Korean, which it has not, one language after the other."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Protocol

_SCRIPTS = (
    ("el", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("ru", re.compile("[\u0400-\u052f]")),
    ("he", re.compile("[\u05d0-\u05ea]")),
    ("ar", re.compile("[\u0620-\u06d3]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("ta", re.compile("[\u0b80-\u0bff]")),
    ("hy", re.compile("[\u0531-\u0587]")),
    ("ko", re.compile("[\uac00-\ud7a3]")),
)


def script_language(word: str) -> str:
    """Return the language that the script of a word speaks for, "" for Latin letters and scripts without stems."""
    if word.isascii():
        return ""
    return next((language for language, letters in _SCRIPTS if letters.search(word)), "")


class Hebrew:
    """Takes off the prefixes of `and`, `the`, `in`, `to`, `from`, `that`, `as`, and the endings of plural
    and gender.
    """

    shortest = 3
    _prefixes = frozenset("והבלמשכ")
    _endings = ("יהם", "יכם", "ותיי", "ותיו", "ות", "ים", "יה", "יו", "ה", "ת", "י")

    def stemWord(self, word: str) -> str:  # noqa: N802 - the name Snowball's stemmers have
        """Return the stem of a word."""
        for _ in range(3):
            if len(word) <= self.shortest or word[0] not in self._prefixes:
                break
            word = word[1:]
        for ending in self._endings:
            if word.endswith(ending) and len(word) - len(ending) >= self.shortest:
                return word[: -len(ending)]
        return word


_PARTICLES = (
    "은 는 을 를 에 의 도 만 로 으로 에서 에게 에게서 한테 한테서 와 과 하고 랑 이랑 부터 까지 보다 처럼 마다 조차 "
    "밖에 께서 께 이나 이야 이다 입니다 이에요 예요 이라고 라고 에는 에도 에서는 으로는 에게는 이가 이는 이를 들은 "
    "들이 들을 들"
)


class Korean:
    """Takes off particles: a noun and its particle are written as one word."""

    shortest = 2
    _particles = tuple(sorted(_PARTICLES.split(), key=len, reverse=True))

    def stemWord(self, word: str) -> str:  # noqa: N802 - the name Snowball's stemmers have
        """Return the stem of a word."""
        for particle in self._particles:
            if word.endswith(particle) and len(word) - len(particle) >= self.shortest:
                # `이` is part of many nouns: it goes only where another particle does not follow it.
                word = word[: -len(particle)] + ("이" if particle in ("이가", "이는", "이를") else "")
                break
        else:
            if word.endswith("가") and len(word) > self.shortest:
                word = word[:-1]
        return word


SNOWBALL = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "st": "sesotho",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
"""ISO 639-1 code to the name Snowball gives the language."""

LONGEST_WORD = 64
"""Longer words are no words of a language: they are their own stem and take no room in the cache."""


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - PyStemmer's own spelling


_OWN: dict[str, type[_Stemmer]] = {"he": Hebrew, "ko": Korean}
"""Languages that Snowball does not know."""


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.stemmers: dict[str, _Stemmer | None] = {}


_per_thread = _PerThread()


def _stemmer(language: str) -> _Stemmer | None:
    known = _per_thread.stemmers
    if language not in known and language in _OWN:
        known[language] = _OWN[language]()
    if language not in known:
        # Loaded by name: the package has neither stubs nor a type marker.
        snowball = import_module("Stemmer")
        name = SNOWBALL.get(language.lower(), "")
        # No cache inside the stemmer: `_stems` caches across languages, and for all threads.
        known[language] = snowball.Stemmer(name, 0) if name in snowball.algorithms() else None
    return known[language]


@lru_cache(maxsize=50_000)
def _stems(word: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for language in languages:
        stemmer = _stemmer(language)
        if stemmer is not None:
            found.setdefault(stemmer.stemWord(word))
    return tuple(stem for stem in found if stem) or (word,)


def stems(word: str, languages: Sequence[str]) -> tuple[str, ...]:
    """Return the word's stem in each language, unique, in the order of the languages; the word itself where none is."""
    if len(word) > LONGEST_WORD:
        return (word,)
    own = script_language(word)
    asked = tuple(languages) if not own or own in languages else (*languages, own)
    try:
        return _stems(word, asked)
    except UnicodeEncodeError:
        return (word,)


def stem(word: str, languages: Sequence[str]) -> str:
    """Return the stem of the first language that shortens or changes the word, else the word itself."""
    return next((form for form in stems(word, languages) if form != word), word)


def forget_kept() -> None:
    """Drop the words that are kept, so that no forgotten one stays in memory."""
    _stems.cache_clear()
