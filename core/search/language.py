"""The language of a message joins LANGUAGES for the search it starts: its stop words and its endings are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from ..config import Settings
from ..text.languages import languages_of


@lru_cache(maxsize=256)
def _languages(text: str, given: tuple[str, ...]) -> tuple[str, ...]:
    return languages_of(text, given)


def spoken_in(text: str, languages: Sequence[str]) -> tuple[str, ...]:
    """Return the languages a message is searched in: the one it is in, where that can be told, then LANGUAGES."""
    return _languages(text[:2_000], tuple(languages))


def with_languages_of(text: str, settings: Settings) -> Settings:
    """Return the settings with the languages of a message; the same where nothing is added."""
    languages = spoken_in(text, settings.languages) if text else settings.languages
    return settings if languages == settings.languages else replace(settings, languages=languages)


def forget_kept() -> None:
    """Drop the texts that are kept, so that no forgotten one stays in memory."""
    _languages.cache_clear()
