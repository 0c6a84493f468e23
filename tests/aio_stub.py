"""Writes core/aio.pyi: every name of `core.aio` with its signature, as the doors have them.

`make docs` runs `python -m tests.aio_stub`; `tests/unit/test_aio.py` compares the file. An annotation is copied as it
is written in its module, and the names in it are imported from where that module has them.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from core import aio

FILE = Path(aio.__file__).with_suffix(".pyi")
PACKAGE = str(aio.__package__)
WIDTH = 120

HEAD = '''\
"""The names of the other doors, awaitable: signatures as the doors have them. Written by `make docs`."""

'''

Function = Callable[..., Any]
Import = tuple[str, str]
"""Module and name."""


def text() -> str:
    """Return what the file should hold."""
    functions = {name: _function(module, name) for module, names in aio.DOORS.items() for name in names.split()}
    imports: dict[str, Import] = {}
    stubs = []
    for name, function in functions.items():
        variants = typing.get_overloads(function)
        if variants:
            imports["overload"] = ("typing", "overload")
        for each in variants or [function]:
            names = {used: _add(imports, used, _origin(each.__module__, used)) for used in _names(each)}
            stubs.append(_stub(name, each, names, is_overload=bool(variants)))
    return HEAD + _lines(imports) + "\n__all__: list[str]\n\n" + "".join(stubs).rstrip() + "\n"


def _function(module: str, name: str) -> Function:
    door = importlib.import_module(module, PACKAGE)
    found: Function = getattr(door.HistoryEngine() if name == "build_context" else door, name)
    return found


def _stub(name: str, function: Function, names: Mapping[str, str], *, is_overload: bool) -> str:
    signature = inspect.signature(function)

    def written(annotation: str) -> str:
        return re.sub(r"\b[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), annotation)

    shown: list[str] = []
    for each in signature.parameters.values():
        if each.kind is each.KEYWORD_ONLY and not any(one.startswith("*") for one in shown):
            shown.append("*")
        shown.append(_parameter(each, written(each.annotation)))
    start, end = f"async def {name}(", f") -> {written(signature.return_annotation)}:"
    first = "@overload\n" if is_overload else ""
    if len(line := start + ", ".join(shown) + end) > WIDTH:
        inner = ", ".join(shown)
        is_wide = len(inner) > WIDTH - 4
        line = "\n".join([start, *(f"    {each}," for each in shown), end] if is_wide else [start, f"    {inner}", end])
    about = inspect.getdoc(function)
    if not about:
        return f"{first}{line} ...\n"
    return f'{first}{line}\n    """{" ".join(about.partition(chr(10) * 2)[0].split())}"""\n\n'


def _parameter(each: inspect.Parameter, annotation: str) -> str:
    stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
    shown = f"{stars}{each.name}: {annotation}"
    if each.default is each.empty:
        return shown
    is_plain = each.default is None or isinstance(each.default, (bool, int, float, str))
    return f"{shown} = {_quoted(each.default) if is_plain else '...'}"


def _quoted(value: object) -> str:
    return '"' + repr(value)[1:-1].replace('"', '\\"') + '"' if isinstance(value, str) else repr(value)


# Where the names of an annotation come from


def _names(function: Function) -> Iterator[str]:
    """Yield the names that the annotations of a function use, built-in ones left out."""
    for annotation in function.__annotations__.values():
        for node in ast.walk(ast.parse(str(annotation), mode="eval")):
            if isinstance(node, ast.Name) and not hasattr(builtins, node.id):
                yield node.id


@cache
def _imports_of(module: str) -> dict[str, Import]:
    """Return the names that a module imports from others, those for type checkers alone too."""
    source = importlib.import_module(module)
    package = source.__package__ or ""
    found: dict[str, Import] = {}
    for node in ast.walk(ast.parse(Path(str(source.__file__)).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            target = "." * node.level + (node.module or "")
            absolute = importlib.util.resolve_name(target, package) if node.level else target
            found |= {each.asname or each.name: (absolute, each.name) for each in node.names}
    return found


def _origin(module: str, name: str) -> Import:
    """Return the module that a name is defined in, and what it is called there."""
    while (known := _imports_of(module).get(name)) is not None:
        module, name = known
        if not module.startswith(f"{PACKAGE}."):
            break
    return module, name


def _add(imports: dict[str, Import], name: str, origin: Import) -> str:
    """Add an import and return what the name is called here: another where two modules mean different things by it."""
    known = imports.setdefault(name, origin)
    if known == origin or _value(known) == _value(origin):
        return name
    other = origin[0].removeprefix(PACKAGE).split(".")[1].title() + name
    imports[other] = origin
    return other


def _value(origin: Import) -> Any:
    return getattr(importlib.import_module(origin[0]), origin[1])


def _lines(imports: dict[str, Import]) -> str:
    """Return the imports, those of the package behind the others."""
    modules: dict[str, set[str]] = {}
    for name, (module, there) in imports.items():
        near = module.removeprefix(PACKAGE) if module.startswith(f"{PACKAGE}.") else module
        modules.setdefault(near, set()).add(there if there == name else f"{there} as {name}")
    lines = []
    for module in sorted(modules, key=lambda each: (each.startswith("."), each)):
        if module.startswith(".") and lines and not lines[-1].startswith(("from .", "\n", "    ", ")")):
            lines.append("")
        names = sorted(modules[module], key=lambda each: (not each.isupper(), each.lower()))
        line = f"from {module} import {', '.join(names)}"
        lines += [line] if len(line) <= WIDTH else [f"from {module} import (", *(f"    {one}," for one in names), ")"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    sys.stdout.write(f"{FILE}\n")
