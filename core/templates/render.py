"""Renders the templates of `prompts/`; single files in TEMPLATES_DIR replace shipped files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base import logs
from .files import TemplateError, version

if TYPE_CHECKING:
    from .compiled import Kind

_warned: set[str] = set()
"""Notes already logged, each for one version of a file: a note is logged once, but is in every report."""


class Renderer:
    def __init__(self, templates_dir: str | Path | None = None, on_note: Callable[[str], None] | None = None) -> None:
        self.notes: list[str] = []
        """Notes on templates that could not be used and their replacements, without repetition."""
        self._on_note = on_note
        self._overlay = str(templates_dir) if templates_dir else None
        if self._overlay and not Path(self._overlay).is_dir():
            self._note(f"TEMPLATES_DIR {self._overlay!r} is no folder, the shipped templates are used")
            self._overlay = None

    def text(self, name: str, /, **values: Any) -> str:
        """Return the text of a `*.txt.j2` template; None among the values renders as nothing."""
        return str(self._render("text", name, values))

    def json(self, name: str, /, **values: Any) -> Any:
        """Return the parsed result of a `*.json.j2` template, with the keys and types of its `result` header."""
        return self._render("json", name, values)

    def _render(self, kind: Kind, name: str, values: Mapping[str, Any]) -> Any:
        """Return the result of the template in TEMPLATES_DIR; if that fails, of the shipped template, with a note."""
        from . import compiled  # noqa: PLC0415 - loads jinja2, which takes tens of milliseconds

        failed = None
        if self._overlay:
            try:
                return compiled.run(compiled.environment(self._overlay, kind), name, values)
            except TemplateError as error:
                failed = error
        result = compiled.run(compiled.environment(None, kind), name, values)
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
