"""Word files of `prompts/`: the phrases of each language, and the patterns of refusals.

A file in TEMPLATES_DIR replaces the shipped one and is read again after a change. Shipped files are read once.
"""

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from ..base import logs, resources
from ..base.patterns import lazy_pattern
from ..base.yaml_text import read_value
from ..config import Settings
from ..text.languages import likely_languages
from ..text.remember_phrases import GROUPS, Phrases
from .files import version

Words = TypeVar("Words")

LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pt")
"""Languages with phrases that are written in Latin script; other languages are recognised by their script."""
_BY_SCRIPT = ("ja", "ru", "zh")
REFUSED = "refused.yaml"
_AMBIGUOUS = lazy_pattern(r"(?i)\bim\b")
"""A German word, and `I'm` in chats, so that it does not show the language."""


def _read(name: str, templates_dir: str | Path | None, parse: Callable[[str], Words]) -> Words | None:
    own = f"{templates_dir}/{name}" if templates_dir else ""
    if own and any(changed := version(own)):
        try:
            words: Words = _parse(own, changed, parse)
            return words
        except (OSError, ValueError) as error:
            _warn(own, changed, type(error).__name__)
    path = resources.find("prompts") / name
    return _parse(str(path), (0, 0), parse) if path.is_file() else None


@lru_cache(maxsize=128)
def _parse(file: str, changed: tuple[int, int], parse: Callable[[str], Words]) -> Words:  # noqa: ARG001 - the key
    return parse(Path(file).read_text(encoding="utf-8"))


@lru_cache(maxsize=64)
def _warn(file: str, changed: tuple[int, int], error: str) -> None:  # noqa: ARG001 - one warning for each version
    logs.warning("word_file_replaced", file=file, error=error)


def phrases_for(text: str, settings: Settings) -> tuple[Phrases, ...]:
    """Return the phrases of each language that a text may be in; of all languages if the text shows none."""
    return _load_each(likely_languages(_AMBIGUOUS.sub("", text), (*settings.languages, *LANGUAGES)), settings)


def phrases_by_language(groups: Collection[str], settings: Settings) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the phrases of these groups in each language of LANGUAGES and in each shipped language."""
    codes = tuple(dict.fromkeys((*map(str.lower, settings.languages), *LANGUAGES, *_BY_SCRIPT)))
    known = zip(codes, _load_each(codes, settings), strict=True)
    return tuple((code, tuple(phrase for group in groups for phrase in phrases[group])) for code, phrases in known)


def _load_each(codes: Sequence[str], settings: Settings) -> tuple[Phrases, ...]:
    if settings.remember_phrases or settings.templates_dir:
        return tuple(load_phrases(code, settings.remember_phrases, settings.templates_dir) for code in codes)
    return tuple(map(_load_shipped, codes))


@lru_cache(maxsize=64)
def _load_shipped(code: str) -> Phrases:
    return load_phrases(code)


def load_phrases(
    language: str, overlay: Phrases | None = None, templates_dir: str | Path | None = None
) -> dict[str, tuple[str, ...]]:
    """Load the phrases of a language by group; groups in the overlay replace the shipped groups."""
    code = language.lower()
    known = _read(f"remember/{code}.yaml", templates_dir, _parse_phrases) if code.isalpha() else None
    groups = dict(known) if known else dict.fromkeys(GROUPS, tuple[str, ...]())
    for group, given in (overlay or {}).items():
        if group in GROUPS:
            groups[group] = _list_texts(given)
        else:
            logs.warning("remember_phrases_unknown_group", group=group, known=GROUPS)
    return groups


def _parse_phrases(text: str) -> dict[str, tuple[str, ...]]:
    data = read_value(text)
    if not isinstance(data, dict):
        raise ValueError("The file maps no groups to phrases. Write one list for each group.")
    spoken = {each.split("|")[0]: f"({each})" for each in _list_texts(data.get("spoken"))}
    words = re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in spoken) or r"(?!)")
    texts = {group: dict.fromkeys(_list_texts(data.get(group))) for group in GROUPS}
    return {group: tuple(words.sub(lambda word: spoken[word[0]], each) for each in texts[group]) for group in texts}


def _list_texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, (list, tuple)) else ()


def refused_patterns(templates_dir: str | Path | None = None) -> tuple[str, ...]:
    return _read(REFUSED, templates_dir, _parse_patterns) or ()


def _parse_patterns(text: str) -> tuple[str, ...]:
    data = read_value(text)
    groups = data if isinstance(data, dict) else {"": data}
    if not all(isinstance(entries, list) for entries in groups.values()):
        raise ValueError("The file holds no lists of patterns.")
    numbered = ((name, at, entry) for name, entries in groups.items() for at, entry in enumerate(entries, 1))
    return tuple(entry for name, at, entry in numbered if _is_usable(entry, name, at))


def _is_usable(entry: object, group: object, at: int) -> bool:
    with suppress(re.error):
        if isinstance(entry, str) and entry.strip():
            re.compile(entry)
            return True
    logs.warning("refused_pattern_passed_over", file=REFUSED, group=group, entry=at)
    return False
