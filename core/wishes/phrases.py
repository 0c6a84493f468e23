"""The patterns by which wishes are recognised, by language: `prompts/wishes/<language>.yaml`.

How they are matched is decided in `wishes.rules`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from ..base import resources
from ..config.file import read_yaml_value
from ..text.languages import likely_languages
from .rules_patterns import WishWords

LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pt")
"""Languages in Latin letters with a file; the others are told by their script."""

_LISTS = {"not": "not_wishes", "not_names": "not_names", "name_ends": "after_names"}


@lru_cache(maxsize=32)
def _read(path: str, changed: int) -> WishWords:  # noqa: ARG001 - the key
    """Read one language's file; `changed` is part of the key, so that an edited file is read anew."""
    data = read_yaml_value(Path(path).read_text(encoding="utf-8"))
    if not isinstance(data, dict):
        raise ValueError(f"{path} does not map names to lists. Restore the file.")
    return WishWords(
        language=Path(path).stem,
        lists=_by_name(data.get("lists")),
        wishes=_by_name(data.get("wishes")),
        topic_words=_by_name(data.get("topics")),
        **{name: _texts(data.get(key)) for key, name in _LISTS.items()},
    )


def _by_name(value: object) -> Mapping[str, Sequence[str]]:
    return {str(key): _texts(items) for key, items in value.items()} if isinstance(value, dict) else {}


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, (list, tuple)) else ()


def load_wish_words(text: str, languages: Iterable[str]) -> dict[str, WishWords]:
    """Return the patterns of the languages a text may be in, the likeliest first; all there are where that is unclear.

    Raises:
        FileNotFoundError: the installation has no `prompts`.
        ValueError: a file is no mapping.

    >>> list(load_wish_words("Ich bin schon lange kein Vegetarier mehr", ["en"]))
    ['de']
    >>> list(load_wish_words("nenne mich Jo", ["en"]))[:2]
    ['de', 'en']
    """
    folder = resources.find("prompts") / "wishes"
    found: dict[str, WishWords] = {}
    for language in likely_languages(text, (*languages, *LANGUAGES)):
        path = folder / f"{language}.yaml"
        # A code is a word, never a way out of the folder.
        if language.isalpha() and path.is_file():
            found[language] = _read(str(path), path.stat().st_mtime_ns)
    return found
