"""T25: no value is written into a statement; looked for in the source. Whose rows a statement touches is looked at in
test_static_scope.py."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import core

PACKAGE = Path(str(core.__file__)).parent
STORE_FOLDERS = ("database", "upkeep", "index", "access")
STORE = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if path.stem.startswith("table") or path.parent.relative_to(PACKAGE).as_posix() in STORE_FOLDERS
)
"""The modules that own tables or know the servers; no other one sends SQL."""
RUNNERS = {"exec_driver_sql", "text", "read", "literal_column", "prefix_with"}
"""Calls whose first argument is SQL as it goes to the server."""

TEXT_ARGUMENTS = {"text", "statement", "sql"}
JOINING = {"format", "join", "replace", "format_map"}

PUT_TOGETHER = {
    "upkeep/ddl.py": "statements that make and alter tables, of names in our schema",
    "upkeep/migration.py": "the same, run step by step",
    "upkeep/check.py": "names of our tables and columns, and of the server's own settings",
    "upkeep/inspection.py": "the server's catalogue, by names of our tables",
    "upkeep/maintenance.py": "scripts of our own files",
    "database/schema_base.py": "defaults and checks of columns, by names in our schema",
    "database/dialects.py": "names of our columns, in what an upsert changes",
    "database/connections.py": "PRAGMA, which takes no parameters",
    "transfer/table_original.py": "names of three tables of another program",
    "database/engine.py": "PRAGMA with a whole number of ours",
    "context/table.py": "texts of compiled parts, one in front of the other",
    "search/table.py": "how many characters of a text are compared, a constant of ours",
}
"""Modules that join SQL from parts, and of what: names, never values."""


def sql_arguments(tree: ast.AST) -> Iterator[tuple[int, ast.expr]]:
    """Yield line and first argument of each call that runs SQL text, under whatever name the module knows it."""
    known = RUNNERS | {
        each.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sqlalchemy")
        for each in node.names
        if each.asname and each.name in RUNNERS
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if isinstance(node.func, ast.Call) and getattr(node.func.func, "id", "") == "getattr":
                name = "exec_driver_sql"  # a method asked for by name may be any
            for argument in [*node.args[:1], *(each.value for each in node.keywords if each.arg in TEXT_ARGUMENTS)]:
                if name in known:
                    yield node.lineno, argument


def is_joined(argument: ast.expr) -> bool:
    """Return whether a text is put together on the spot: f-string, `%`, `+`, `.format`, `.join`, `.replace`."""
    if isinstance(argument, ast.JoinedStr):
        return any(isinstance(part, ast.FormattedValue) for part in argument.values)
    if isinstance(argument, ast.BinOp):
        return isinstance(argument.op, (ast.Mod, ast.Add))
    if isinstance(argument, ast.IfExp):
        return is_joined(argument.body) or is_joined(argument.orelse)
    return isinstance(argument, ast.Call) and getattr(argument.func, "attr", "") in JOINING


def test_t25_no_value_is_written_into_a_statement() -> None:
    for path in STORE:
        name = path.relative_to(PACKAGE).as_posix()
        if name not in PUT_TOGETHER:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            assert [line for line, argument in sql_arguments(tree) if is_joined(argument)] == [], name


def test_t25_only_the_store_sends_sql() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        if path in STORE or "_data" in path.parts:
            continue
        # Indented is what only a type checker reads.
        found = re.findall(r"^(?:from|import) (?:sqlalchemy|pymysql)\b.*", path.read_text(), re.MULTILINE)
        assert found == [], path
