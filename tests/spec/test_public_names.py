"""What docs/public.md promises: the names of a release, which change only as it says."""

import difflib
import importlib
import inspect
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Unpack

import prompt_engine
import prompt_engine.db
from prompt_engine.calls.call import CallOptions

from tests import public_names

PACKAGE = Path(prompt_engine.__file__).parent
WHAT_TO_DO = """Public names differ from tests/golden/public_names.txt:

{difference}

If that is meant: a new name needs a line under Added in CHANGELOG.md. What goes or changes its meaning stays for two
minor releases first, with a DeprecationWarning that names what to use instead (docs/public.md).
Then run: python -m tests.public_names"""


def test_r2_public_names_change_only_where_somebody_says_so() -> None:
    old = public_names.FILE.read_text(encoding="utf-8").splitlines()
    lines = difflib.unified_diff(old, public_names.build_text().splitlines(), "the file", "the code", n=0, lineterm="")
    difference = "\n".join(lines)
    assert not difference, WHAT_TO_DO.format(difference=difference)


def test_r2_only_public_modules_have_an_all() -> None:
    """`__all__` is for public names; what a module offers within the package alone it imports as `import x as x`."""
    public = {name.replace(".", "/") for name in ("prompt_engine", *public_names.list_modules())}
    for file in PACKAGE.rglob("*.py"):
        if re.search(r"^__all__\b", file.read_text(encoding="utf-8"), re.MULTILINE):
            path = f"prompt_engine/{file.relative_to(PACKAGE).as_posix()}"
            assert re.sub(r"(/__init__)?\.py$", "", path) in public, path


def test_r2_every_type_that_a_public_function_names_is_public() -> None:
    """Who writes down the type of a result must not have to import it from where it may move tomorrow."""
    named = dict(public_names.list_values())
    hidden = {
        f"{path}: {kind.__qualname__}"
        for path, value in named.items()
        for kind in list_types(value)
        if kind.__module__.partition(".")[0] in ("core", "prompt_engine") and kind not in named.values()
    }
    assert hidden == set()


def list_types(value: Any) -> Iterator[type]:
    if inspect.isfunction(value):
        for_type_checkers = {"Database": prompt_engine.db.Database, "Copied": prompt_engine.db.Copied}
        names = {**for_type_checkers, **vars(importlib.import_module(value.__module__))}
        hints = typing.get_type_hints(value, names)
        if hints.get("options") == Unpack[CallOptions]:
            hints |= {"options": tuple[*typing.get_type_hints(CallOptions).values()]}
        for hint in hints.values():
            yield from list_parts(hint)


def list_parts(hint: Any) -> Iterator[type]:
    if inspect.isclass(hint):
        yield hint
    for part in typing.get_args(hint):
        yield from list_parts(part)
