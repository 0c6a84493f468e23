"""Stems of words by Snowball, one language after the other.

Beside the languages asked for, a word in a script of its own is known by that script: LANGUAGES only adds.

Called by `text.words` and `tags.rules`. A stemmer of PyStemmer may not be used by two threads at once, so
each thread has its own.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Protocol

from .script_stems import Hebrew, Korean, script_language

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
    """Return the word's stem in each language, unique, in the order of the languages; the word itself where none is.

    Args:
        word: a folded word. Over LONGEST_WORD characters, or with a lone surrogate, it is its own stem.
        languages: ISO 639-1 codes; one without a stemmer is passed over. The language of the word's script, where it is
            not Latin, comes last.

    >>> stems("cats", ["en"]), stems("gatti", ["en", "it"]), stems("cats", ["xx"]), stems("γάτες", ["en"])
    (('cat',), ('gatti', 'gatt'), ('cats',), ('γάτες', 'γατ'))
    """
    if len(word) > LONGEST_WORD:
        return (word,)
    own = script_language(word)
    asked = tuple(languages) if not own or own in languages else (*languages, own)
    try:
        return _stems(word, asked)
    except UnicodeEncodeError:
        return (word,)


def stem(word: str, languages: Sequence[str]) -> str:
    """Return the stem of the first language that shortens or changes the word, else the word itself.

    >>> stem("recipes", ["en"]), stem("gatti", ["en", "it"]), stem("retrodeck", ["en"])
    ('recip', 'gatt', 'retrodeck')
    """
    return next((form for form in stems(word, languages) if form != word), word)


def forget_kept() -> None:
    """Drop the words that are kept, so that no forgotten one stays in memory."""
    _stems.cache_clear()
