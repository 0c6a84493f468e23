"""Template files: finding them, reading their headers, and the error for an unusable one."""

import re
import stat
from functools import lru_cache
from pathlib import Path

from ..base import resources
from ..base.hints import find_nearest
from ..errors import ConfigError

_HEADER = r"\{{#-?\s*{}:\s*(.*?)\s*-?#\}}"
_HEADERS = {word: re.compile(_HEADER.format(word), re.DOTALL) for word in ("variables", "result")}
_NAMES = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*\.(txt|json)\.j2")

TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,), "number": (int, float, type(None)), "switch": (bool,), "list": (list,), "object": (dict,),
}  # fmt: skip
"""Python types for each type word of a header."""


class TemplateError(ConfigError):
    def __init__(self, name: str, reason: str, *, line: int | None = None, file: str = "", nearest: str = "") -> None:
        place = f"Template {name!r}{f', line {line}' if line else ''}"
        hint = f" Did you mean {nearest!r}?" if nearest else ""
        remedy = f" Mend {file}, or remove it to use the shipped one." if file else ""
        super().__init__(f"{place}: {reason}.{hint}{remedy}", flag="TEMPLATES_DIR", source=file, line=line)
        self.template = name
        self.reason = reason


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.j2"))


def find(name: str, folders: list[Path]) -> Path:
    if not _NAMES.fullmatch(name) or ".." in name:
        raise TemplateError(name[:100], "this is no name of a template below prompts/")
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    raise TemplateError(name, "there is no such template", nearest=find_nearest(name, names(folders[-1])) or "")


def version(file: str) -> tuple[int, int]:
    """Return modification time and size of a file; zeros if it is missing or not an ordinary file."""
    try:
        facts = Path(file).stat()
    except OSError:
        return 0, 0
    return (facts.st_mtime_ns, facts.st_size) if stat.S_ISREG(facts.st_mode) else (0, 0)


@lru_cache(maxsize=256)
def header(name: str, word: str) -> dict[str, tuple[str, bool]] | None:
    """Return {name: (type, whether required)} from the header `word` of a shipped template; None if it is missing."""
    path = resources.find("prompts") / name
    match = _HEADERS[word].search(path.read_text("utf-8")) if path.is_file() else None
    if match is None:
        return None
    items = (item.strip() for item in match.group(1).split(";"))
    pairs = ((item.strip("[]").partition(":"), not item.startswith("[")) for item in items if item)
    return {name.strip(): (kind.strip(), needed) for (name, _, kind), needed in pairs}
