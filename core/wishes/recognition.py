"""Recognises the wishes of a message: patterns of its languages, the rules that match them, and screening."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from ..base import logs
from ..calls import screening
from ..config import Settings
from ..config.file import read_yaml_value
from ..memories.rules_modes import MODES
from ..templates.words import read_words
from ..text.languages import likely_languages
from .rules import MOST_CHARS, Wish, find_wishes
from .rules_patterns import WishWords

LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pt")
"""Languages in Latin letters with a file; the others are told by their script."""

_LISTS = {"not": "not_wishes", "not_names": "not_names", "name_ends": "after_names"}


@lru_cache(maxsize=32)
def _read_file(path: str, changed: int) -> WishWords:  # noqa: ARG001 - the key
    """Read one language's file; `changed` is part of the key, so that an edited file is read anew."""
    data = read_yaml_value(Path(path).read_text(encoding="utf-8"))
    if not isinstance(data, dict):
        raise ValueError(f"{path} does not map names to lists. Restore the file.")
    return WishWords(
        language=Path(path).stem,
        lists=_read_lists(data.get("lists")),
        wishes=_read_lists(data.get("wishes")),
        topic_words=_read_lists(data.get("topics")),
        **{name: _read_texts(data.get(key)) for key, name in _LISTS.items()},
    )


def _read_lists(value: object) -> Mapping[str, Sequence[str]]:
    return {str(key): _read_texts(items) for key, items in value.items()} if isinstance(value, dict) else {}


def _read_texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, (list, tuple)) else ()


def load_wish_words(
    text: str, languages: Iterable[str], templates_dir: str | Path | None = None
) -> dict[str, WishWords]:
    """Return the patterns of the languages a text may be in, the likeliest first; all there are where that
    is unclear.
    """
    words: dict[str, WishWords] = {}
    for language in likely_languages(text, (*languages, *LANGUAGES)):
        found = read_words("wishes", language, _read_file, templates_dir)
        if found is not None:
            words[language] = found
    return words


def is_kept(settings: Settings) -> bool:
    """Return whether wishes are stored and shown at all."""
    return bool(settings.record_wishes and settings.enable_saved_memory)


def read_wishes(
    text: str, settings: Settings, *, role: str = "user", excluded: bool = False
) -> tuple[tuple[Wish, bool], ...]:
    """Return the wishes of a message, each with whether the screening hook flags it."""
    if role != "user" or excluded:
        return ()
    if not is_kept(settings) or not MODES[settings.memory_mode].saves or len(text) > MOST_CHARS:
        return ()
    try:
        wishes = find_wishes(text, load_wish_words(text, settings.languages, settings.templates_dir))
    except (OSError, ValueError) as error:
        logs.warning("wishes_unread", error=type(error).__name__)
        return ()
    return tuple((wish, screening.is_flagged(wish.text, "memory")[0]) for wish in wishes)
