"""Files of words by language below `prompts/`: one of TEMPLATES_DIR takes the place of the shipped one.

Called by `templates.phrases` and `wishes.recognition`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from ..base import logs, resources
from .files import version

Words = TypeVar("Words")


def read_words(
    folder: str, language: str, read: Callable[[str, int], Words], templates_dir: str | Path | None = None
) -> Words | None:
    """Return what a file of words holds, None where the language has none.

    Args:
        folder: its folder below `prompts/`, such as `remember`.
        language: ISO 639-1 code; what is no word names no file.
        read: gives what a file holds, by its path and the time it was changed at; raises OSError or ValueError where
            it is of no use.
        templates_dir: TEMPLATES_DIR. A file there that is of no use does not take the place of the shipped one, and is
            logged once.

    Raises:
        FileNotFoundError: the installation has no `prompts`.
        ValueError: the shipped file is of no use.
    """
    if not language.isalpha():  # a code is a word, never a way out of the folder
        return None
    name = f"{folder}/{language}.yaml"
    own = Path(templates_dir) / name if templates_dir else None
    if own is not None and own.is_file():
        changed = version(str(own))[0]
        try:
            return read(str(own), changed)
        except (OSError, ValueError) as error:
            _warn(str(own), changed, type(error).__name__)
    shipped = resources.find("prompts") / name
    return read(str(shipped), shipped.stat().st_mtime_ns) if shipped.is_file() else None


@lru_cache(maxsize=64)
def _warn(path: str, changed: int, error: str) -> None:  # noqa: ARG001 - one warning for each version of a file
    logs.warning("word_file_replaced", file=path, error=error)
