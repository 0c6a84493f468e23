"""The beginnings of texts that are an error or a refusal and no answer, from `prompts/refused.yaml`."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from ..base import logs, resources
from ..config.file import read_yaml_value

FILE = "refused.yaml"


def refused_patterns(templates_dir: str | Path | None = None) -> tuple[str, ...]:
    """Return the patterns that `text.replies.judge_refusal` takes."""
    own = Path(templates_dir) / FILE if templates_dir else None
    for path in (own, resources.find("prompts") / FILE):
        if path is None:
            continue
        try:
            changed = path.stat().st_mtime_ns
        except OSError:
            continue
        found = _read(str(path), changed)
        if found is not None:
            return found
    raise FileNotFoundError(f"prompts/{FILE} is not part of this installation. Install the package again.")


@lru_cache(maxsize=32)
def _read(path: str, changed: int) -> tuple[str, ...] | None:  # noqa: ARG001 - the key
    """Return the patterns of one file, None where it is no list or mapping of lists of texts."""
    try:
        data = read_yaml_value(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        logs.warning("refused_patterns_not_read", file=path, error=type(error).__name__)
        return None
    groups = data if isinstance(data, dict) else {"": data}
    if not all(isinstance(entries, list) for entries in groups.values()):
        logs.warning("refused_patterns_not_read", file=path, error="no lists of patterns")
        return None
    return tuple(
        entry
        for name, entries in groups.items()
        for at, entry in enumerate(entries, 1)
        if _usable(entry, path, name, at)
    )


def _usable(entry: object, path: str, group: object, at: int) -> bool:
    try:
        if isinstance(entry, str) and entry.strip():
            re.compile(entry)
            return True
    except re.error:
        pass
    logs.warning("refused_pattern_passed_over", file=path, group=group, entry=at)
    return False
