"""Where templates lie, what their headers say, and the error that names them."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..base import resources
from ..base.hints import find_nearest
from ..errors import ConfigError

_HEADER = r"\{{#-?\s*{}:\s*(.*?)\s*-?#\}}"
_HEADERS = {word: re.compile(_HEADER.format(word), re.DOTALL) for word in ("variables", "result")}
_NAMES = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*\.(txt|json)\.j2")

TYPES: dict[str, tuple[tuple[type, ...], Any, Any]] = {
    "text": ((str,), "sample", ""),
    "number": ((int, float, type(None)), 1, None),
    "switch": ((bool,), True, False),
    "list": ((list,), ["sample"], []),
    "object": ((dict,), {"sample": "sample"}, {}),
}
"""Word of a header to (Python types, a filled sample, an empty sample); `check_templates` renders the samples."""


class TemplateError(ConfigError):
    """A template cannot be used."""

    def __init__(
        self,
        template: str,
        reason: str,
        *,
        line: int | None = None,
        file: str = "",
        variable: str = "",
        nearest: str = "",
    ) -> None:
        place = f"Template {template!r}{f', line {line}' if line else ''}"
        hint = f" Did you mean {nearest!r}?" if nearest else ""
        remedy = f" Mend {file}, or remove it to use the shipped one." if file else ""
        super().__init__(f"{place}: {reason}.{hint}{remedy}", flag="TEMPLATES_DIR", source=file, line=line)
        self.template = template
        self.reason = reason
        self.variable = variable
        self.nearest = nearest


def names(folder: Path) -> list[str]:
    """Return the names of all templates below a folder, sorted."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.j2"))


def source_from(folders: list[Path]) -> Callable[[str], tuple[str, str, Callable[[], bool]]]:
    """Return the function a loader calls: name to (source, file, whether it is still the same file)."""

    def load(name: str) -> tuple[str, str, Callable[[], bool]]:
        path = find(name, folders)
        read_version = version(str(path))
        try:
            source = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TemplateError(name, f"the file cannot be read ({type(error).__name__})", file=str(path)) from None
        # The shipped files belong to the program: only those of a folder of one's own are looked at again.
        return (
            source,
            str(path),
            lambda: len(folders) == 1 or (find(name, folders) == path and version(str(path)) == read_version),
        )

    return load


def find(name: str, folders: list[Path]) -> Path:
    """Return the first file of this name."""
    if not _NAMES.fullmatch(name) or ".." in name:
        raise TemplateError(name[:100], "this is no name of a template below prompts/")
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    raise TemplateError(name, "there is no such template", nearest=find_nearest(name, names(folders[-1])) or "")


def version(file: str) -> tuple[int, int]:
    """Return what tells one version of a file from another; zeros where there is none, or it is a pipe or a device."""
    try:
        facts = Path(file).stat()
    except OSError:
        return 0, 0
    return (facts.st_mtime_ns, facts.st_size) if stat.S_ISREG(facts.st_mode) else (0, 0)


@lru_cache(maxsize=256)
def header(name: str, word: str) -> dict[str, tuple[str, bool]] | None:
    """Return name to (type, needed) of a header of a shipped template; None where there is none."""
    path = resources.find("prompts") / name
    match = _HEADERS[word].search(path.read_text("utf-8")) if path.is_file() else None
    if match is None:
        return None
    items = (item.strip() for item in match.group(1).split(";"))
    pairs = ((item.strip("[]").partition(":"), not item.startswith("[")) for item in items if item)
    return {name.strip(): (kind.strip(), needed) for (name, _, kind), needed in pairs}
