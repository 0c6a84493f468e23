"""Files of words by language below `prompts/`: one of TEMPLATES_DIR takes the place of the shipped one."""

from __future__ import annotations

import stat
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from ..base import logs, resources

Words = TypeVar("Words")


def read_words(
    folder: str, language: str, read: Callable[[str, int], Words], templates_dir: str | Path | None = None
) -> Words | None:
    """Return what a file of words holds, None where the language has none."""
    if not language.isalpha():  # a code is a word, never a way out of the folder
        return None
    name = f"{folder}/{language}.yaml"
    if templates_dir:
        own = _place(str(templates_dir), name)
        changed = _changed_at(own)
        if changed is not None:
            try:
                return read(str(own), changed)
            except (OSError, ValueError) as error:
                _warn(str(own), changed, type(error).__name__)
    shipped = _place("", name)
    changed = _changed_at(shipped)
    return None if changed is None else read(str(shipped), changed)


@lru_cache(maxsize=256)
def _place(root: str, name: str) -> Path:
    """Return where a file is looked for: below a folder, or, with no folder, below the shipped `prompts`."""
    return (Path(root) if root else resources.find("prompts")) / name


def _changed_at(path: Path) -> int | None:
    """Return when a file was changed, None where there is none. Every message asks: one question to the system each."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns if stat.S_ISREG(found.st_mode) else None


@lru_cache(maxsize=64)
def _warn(path: str, changed: int, error: str) -> None:  # noqa: ARG001 - one warning for each version of a file
    logs.warning("word_file_replaced", file=path, error=error)
