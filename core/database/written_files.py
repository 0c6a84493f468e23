"""Lists this process's export files, which forgetting cannot delete."""

from __future__ import annotations

import os
from pathlib import Path

from .engine import Database

_NAME = "exported_files"


def note_file(db: Database, persona: str, path: str | os.PathLike[str]) -> None:
    db.caches.setdefault(_NAME, {})[persona, str(Path(path).absolute())] = None


def list_files(db: Database, persona: str) -> list[str]:
    """Return the files with rows of a persona that still exist, in the order they were written."""
    kept: dict[tuple[str, str], None] = db.caches.get(_NAME, {})
    return [path for who, path in list(kept) if who == persona and os.path.exists(path)]  # noqa: PTH110 - never raises
