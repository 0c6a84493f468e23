"""The templates of `prompts/`, overlaid by single files of TEMPLATES_DIR: found, rendered and checked."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..base import logs, resources
from ..base.hints import find_nearest
from ..errors import ConfigError

if TYPE_CHECKING:
    from .compiled import Kind

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
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.j2"))


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


# Rendering

_warned: set[str] = set()
"""Notes that were logged, each naming one version of one file: an operator is told once, the report every time."""


class Renderer:
    """Renders templates for one call; made at its start, thrown away at its end."""

    def __init__(
        self,
        templates_dir: str | Path | None = None,
        on_note: Callable[[str], None] | None = None,
    ) -> None:
        self.notes: list[str] = []
        """What could not be used and what was used instead, without repetition."""
        self._on_note = on_note
        self._overlay = str(templates_dir) if templates_dir else None
        if self._overlay and not Path(self._overlay).is_dir():
            self._note(f"TEMPLATES_DIR {self._overlay!r} is no folder, the shipped templates are used")
            self._overlay = None

    def text(self, name: str, /, **values: Any) -> str:
        """Return the text of a `*.txt.j2` template; None among the values is shown as nothing."""
        return str(self._render("text", name, values))

    def json(self, name: str, /, **values: Any) -> Any:
        """Return what a `*.json.j2` template makes, parsed; its keys and types are those of its `result` header."""
        return self._render("json", name, values)

    def _render(self, kind: Kind, name: str, values: Mapping[str, Any]) -> Any:
        """Return what the overlay's template makes, or where it fails the shipped one, with a note."""
        runner = _runner()
        failed = None
        if self._overlay:
            try:
                return runner.run(runner.environment(self._overlay, kind), name, values)
            except TemplateError as error:
                failed = error
        result = runner.run(runner.environment(None, kind), name, values)
        if failed:
            place = f"template {failed.template} ({failed.source or self._overlay}) line {failed.line or 1}"
            self._note(f"{place}: {failed.reason}; the shipped one is used", failed)
        return result

    def _note(self, note: str, error: TemplateError | None = None) -> None:
        if note in self.notes:
            return
        self.notes.append(note)
        if self._on_note:
            self._on_note(note)
        key = f"{note} {error.source if error else ''} {version(error.source if error else '')}"
        if key not in _warned:
            _warned.add(key)
            logs.warning("template_replaced", note=note, file=error.source if error else self._overlay)


def check_templates(templates_dir: str | Path | None) -> list[TemplateError]:
    """Return every problem of an overlay, or with None of the shipped templates; empty when all is well."""
    folder = Path(templates_dir) if templates_dir else resources.find("prompts")
    if not folder.is_dir():
        return [TemplateError(str(folder), "TEMPLATES_DIR is no folder", file=str(folder))]
    shipped = names(resources.find("prompts"))
    problems: list[TemplateError] = []
    for name in names(folder):
        near = find_nearest(name, shipped)
        if name not in shipped and near:
            problems.append(
                TemplateError(name, "no shipped template has this name", file=str(folder / name), nearest=near)
            )
        try:
            _try_out(name, str(folder) if templates_dir else None)
        except TemplateError as error:
            problems.append(error)
    return problems


def _try_out(name: str, overlay: str | None) -> None:
    """Compile one template, and render it where what it is given is known."""
    runner = _runner()
    env = runner.environment(overlay, "json" if name.endswith(".json.j2") else "text")
    runner.run(env, name, None)
    given = header(name, "variables") or {}
    for sample in (1, 2) if given else ():
        try:
            runner.run(env, name, {word: TYPES[kind][sample] for word, (kind, _) in given.items()})
        except TemplateError as error:
            if "has no " not in error.reason:  # a field that samples lack and real values may have
                raise


def _runner() -> ModuleType:
    """Return the module that runs templates; loading it loads jinja2."""
    from . import compiled as running  # noqa: PLC0415 - takes tens of milliseconds, which importing a door may not cost

    return running
