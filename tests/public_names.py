"""Writes tests/golden/public_names.txt: each public name of a release, one a line: `python -m tests.public_names`.

docs/public.md says what public means. `tests/spec/test_public_names.py` compares the file, so that a review sees each
change. Settings and columns are in config.yaml and sql/schema, which other tests compare.
"""

import ast
import dataclasses
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import prompt_engine
import typer.main
from prompt_engine import adapters, aio, open_database
from prompt_engine.base import resources
from prompt_engine.cli.app import app
from prompt_engine.web import create_app
from prompt_engine.web.mcp.tools import TOOLS

from tests.api_page import DOORS, write_call

FILE = Path(__file__).parent / "golden" / "public_names.txt"
FRAMEWORKS = "anthropic discord langgraph llama_index openai openai_agents pydantic_ai telegram"
ADAPTERS = tuple(f"prompt_engine.adapters.{name}" for name in FRAMEWORKS.split())
OTHERS: dict[str, tuple[str, ...]] = {
    "prompt_engine.config": (), "prompt_engine.llm": (),
    "prompt_engine.errors": (
        "ConfigError", "CoreError", "DuplicateKeyError", "ItemNotFoundError", "MessageError", "ModelError",
        "PromptTooLargeError", "ScopeError", "StoreError", "StoreReadError", "StoreWriteError", "TransferError",
    ),
    "prompt_engine.shapes": (
        "ChatLine", "Citation", "DiaryEntry", "Hit", "LoadedMemory", "ProfileStatement", "RecentConversation",
        "SavedMemory", "SimilarMemory", "ToolAnswer", "ToolCall", "Vocabulary", "WriteReason", "WriteResult",
    ),
}  # fmt: skip
"""Public modules that docs/api.md shows in part or not at all."""
HANDLES = {"prompt_engine.db.Database": ("close",), "prompt_engine.config.Settings": ()}
"""Public methods of the classes that have others for the package itself; the fields of Settings are the settings."""
HEAD = "# What docs/public.md promises, one name a line. Written by: python -m tests.public_names\n"


def build_text() -> str:
    sections = {"Python": list_python(), "Scripts": list_scripts(), "Routes": list_routes(), "MCP tools": list_tools(),
                "Commands": list_commands()}  # fmt: skip
    return HEAD + "".join(f"\n## {title}\n\n" + "".join(f"{x}\n" for x in lines) for title, lines in sections.items())


# Python


def list_modules() -> dict[str, tuple[str, ...]]:
    """Return the public names of each public module: its `__all__`, or those that are listed here or in `DOORS`."""
    listed = {**{door: names or () for door, names in DOORS.items()}, **OTHERS, **dict.fromkeys(ADAPTERS, ())}
    for module in [name for name in listed if name not in ADAPTERS]:
        listed[module] = tuple(getattr(importlib.import_module(module), "__all__", listed[module]))
    return listed


def list_values() -> Iterator[tuple[str, Any]]:
    """Yield each public name with what it stands for; those of the adapters are only read."""
    for module, names in list_modules().items():
        yield from ((f"{module}.{name}", getattr(importlib.import_module(module), name)) for name in sorted(names))


def list_python() -> Iterator[str]:
    yield from (f"prompt_engine.{name}" for name in sorted(prompt_engine.__all__))
    for path, value in list_values():
        yield from describe(path, value)
    yield from (f"prompt_engine.aio.{name}" for name, _ in inspect.getmembers(aio, inspect.iscoroutinefunction))
    for adapter in ADAPTERS:
        yield from list_adapter(adapter)
    yield "prompt_engine.as_core"


def describe(path: str, value: Any) -> Iterator[str]:
    """Yield a function with its arguments, or a class with its fields and methods; an alias of types by its name."""
    if not inspect.isclass(value):
        yield write_call(path, value) if inspect.isfunction(value) else path
        return
    kinds = {name: kind for name, kind in inspect.get_annotations(value).items() if name[0] != "_"}
    fields = [f"{name}: {getattr(kind, '__forward_arg__', kind)}" for name, kind in kinds.items()]
    if path in HANDLES or issubclass(value, Exception):  # who makes one of these is the package itself
        yield path
    elif fields and not dataclasses.is_dataclass(value):
        yield f"{path} {{{', '.join(fields)}}}"
    else:
        yield write_call(path, value) if "__init__" in vars(value) else path
    for name in HANDLES.get(path, [name for name in vars(value) if name[0] != "_"]):
        member = getattr(vars(value)[name], "__func__", vars(value)[name])
        if inspect.isfunction(member) or isinstance(member, property):
            yield f"{path}.{name}" if isinstance(member, property) else write_call(f"{path}.{name}", member)


def list_adapter(module: str) -> Iterator[str]:
    """Yield the names of an adapter; it is read and not imported, since its framework may be missing."""
    tree = ast.parse((Path(adapters.__file__).parent / f"{module.rpartition('.')[2]}.py").read_text(encoding="utf-8"))
    nodes: dict[str, Any] = {node.name: node for node in tree.body if hasattr(node, "name")}
    made = [ast.unparse(node.args) for node in ast.walk(tree) if getattr(node, "name", "") == "__init__"]
    (names,) = (one.value for one in tree.body if isinstance(one, ast.Assign) and "__all__" in ast.unparse(one))
    for name in ast.literal_eval(names):
        fields = ", ".join(ast.unparse(part) for part in nodes[name].body if isinstance(part, ast.AnnAssign))
        given = ast.unparse(nodes[name].args) if hasattr(nodes[name], "args") else made[0] if made else fields
        yield f"{module}.{name}({given})"


# What is no Python


def list_scripts() -> Iterator[str]:
    for file in sorted(resources.find("sql/maintenance").glob("*.mysql.sql")):
        values = re.findall(r"^SET (@\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
        yield f"sql/maintenance/{file.name.split('.')[0]} {' '.join(values)}".rstrip()


def list_routes() -> Iterator[str]:
    """Yield each route with the parameters of its address; bodies and answers are in its OpenAPI page."""
    with closing(open_database("sqlite://")) as db:
        paths = create_app(db=db, settings={"ADMIN_TOKEN": "x" * 32}).openapi()["paths"]
    for path, methods in paths.items():
        for method, about in methods.items():
            names = [each["name"] for each in about.get("parameters", ()) if each["in"] == "query"]
            yield f"{method.upper()} {path}{'?' if names else ''}{'&'.join(names)}"


def list_tools() -> Iterator[str]:
    for name, tool in TOOLS.items():
        yield f"{name}({', '.join(tool.listed.input_schema['properties'])})"


def list_commands(group: Any = None, words: str = "prompt-engine") -> Iterator[str]:
    for name, command in (group or typer.main.get_command(app)).commands.items():
        if hasattr(command, "commands"):
            yield from list_commands(command, f"{words} {name}")
        else:
            yield " ".join([words, name, *(o for each in command.params for o in (*each.opts, *each.secondary_opts))])


if __name__ == "__main__":
    FILE.write_text(build_text(), encoding="utf-8")
    sys.stdout.write(f"{FILE}\n")
