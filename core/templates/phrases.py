"""The phrases that say something is worth remembering: shipped by language, replaced group by group.

They lie in `prompts/remember/<language>.yaml`; the flag REMEMBER_PHRASES replaces groups. How they are matched is
decided in `text.remember_phrases`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from ..base import logs
from ..config.file import read_yaml_value
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
    """Return the phrases of all five groups for these languages, the overlay's groups in place of the shipped ones.

    Args:
        languages: ISO 639-1 codes; one without a file in `prompts/remember` adds nothing.
        overlay: REMEMBER_PHRASES, group to phrases. A group it names replaces that group, an empty list empties it; a
            group that does not exist is logged and passed over.
        templates_dir: TEMPLATES_DIR; a file `remember/<language>.yaml` there takes the place of the shipped one.

    Raises:
        FileNotFoundError: the installation has no `prompts`.
        ValueError: a file is no mapping.

    >>> load_phrases(["en"], {"explicit": ["mark my words"]})["explicit"]
    ('mark my words',)
    """
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
