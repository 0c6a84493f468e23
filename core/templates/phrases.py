"""The phrases that say something is worth remembering: shipped by language, replaced group by group."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from ..base import logs
from ..config import Settings
from ..config.file import read_yaml_value
from ..text.languages import likely_languages
from ..text.remember_phrases import GROUPS, Phrases
from .words import read_words


@lru_cache(maxsize=32)
def _read(path: str, changed: int) -> dict[str, tuple[str, ...]]:  # noqa: ARG001 - the key
    """Read one language's file; `changed` is part of the key, so that an edited file is read anew."""
    data = read_yaml_value(Path(path).read_text(encoding="utf-8"))
    if not isinstance(data, dict):
        raise ValueError(f"{path} does not map groups to phrases. Restore the file, or write one list per group.")
    return {group: _texts(data.get(group)) for group in GROUPS}


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, (list, tuple)) else ()


def load_phrases(
    languages: Iterable[str], overlay: Phrases | None = None, templates_dir: str | Path | None = None
) -> dict[str, tuple[str, ...]]:
    """Return the phrases of all groups for these languages, the overlay's groups in place of the shipped ones."""
    found: dict[str, tuple[str, ...]] = dict.fromkeys(GROUPS, ())
    for language in dict.fromkeys(code.lower() for code in languages):
        for group, phrases in (read_words("remember", language, _read, templates_dir) or {}).items():
            found[group] = tuple(dict.fromkeys((*found[group], *phrases)))
    for group, given in (overlay or {}).items():
        if group in GROUPS:
            found[group] = _texts(given)
        else:
            logs.warning("remember_phrases_unknown_group", group=group, known=GROUPS)
    return found


LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pt")
"""Languages in Latin letters with a file; the others are recognised by their script."""


def phrases_for(text: str, settings: Settings) -> tuple[Phrases, ...]:
    """Return the phrases of each language a text may be in; all there are where that is unclear."""
    codes = likely_languages(text, (*settings.languages, *LANGUAGES))
    return tuple(load_phrases([code], settings.remember_phrases, settings.templates_dir) for code in codes)
