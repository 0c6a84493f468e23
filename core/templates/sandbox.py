"""The environment that templates run in: Jinja's sandbox, strict about names, without functions of the host."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal

from jinja2 import TemplateAssertionError, meta, nodes, pass_context
from jinja2.loaders import BaseLoader
from jinja2.runtime import Context, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range

Kind = Literal["text", "json"]

MARK = "\x00"
"""Begins the text that stands for a value while a JSON template is parsed; nobody writes it by accident."""

VALUES: ContextVar[list[Any]] = ContextVar("prompt_engine_template_values")
"""The values that the JSON template of this thread put out."""


def _put_text(value: Any) -> Any:
    return "" if value is None else value


@pass_context  # a constant of the template is put out while it runs, too, not while it is compiled
def _put_json(_context: Context, value: Any) -> str:
    if isinstance(value, StrictUndefined):
        str(value)  # raises, naming the variable
    values = VALUES.get()
    values.append(list(value) if isinstance(value, Iterator) else value)
    return f'"\\u0000{len(values) - 1}"'


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """An environment in which a template can reach nothing but its variables."""

    def __init__(
        self, kind: Kind, loader: BaseLoader, folders: list[Path], known: Callable[[str], Iterable[str] | None]
    ) -> None:
        super().__init__(
            loader=loader,
            undefined=StrictUndefined,
            finalize=_put_text if kind == "text" else _put_json,
            trim_blocks=kind == "text",
            lstrip_blocks=kind == "text",
            autoescape=False,
        )
        self.kind: Kind = kind
        self.folders = folders
        """Where templates are looked for, in this order; the last one is the shipped one."""
        self.broken: dict[str, tuple[str, tuple[int, int], dict[str, Any]]] = {}
        """Template that does not compile to (file, its version, facts of the error)."""
        self.known = known
        """Variables a template is given, by its name; None when nobody has written them down."""
        self.globals = {"range": safe_range}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree: nodes.Template = super()._parse(source, name, filename)
        known = self.known(name or "")
        if known is not None:
            for unknown in sorted(meta.find_undeclared_variables(tree) - {*known, *self.globals}):
                lines = [node.lineno for node in tree.find_all(nodes.Name) if node.name == unknown]
                raise TemplateAssertionError(f"'{unknown}' is undefined", min(lines), name, filename)
        return tree
