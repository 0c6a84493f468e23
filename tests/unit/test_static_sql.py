"""T25: no value is written into a statement; looked for in the source. Whose rows a statement touches is looked at in
test_static_scope.py."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import core

PACKAGE = Path(str(core.__file__)).parent
STORE_FOLDERS = ("database", "upkeep", "index", "access")
STORE = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if path.stem.startswith("table") or path.parent.relative_to(PACKAGE).as_posix() in STORE_FOLDERS
)
"""The modules that own tables or know the servers; no other one sends SQL."""
RUNNERS = {"exec_driver_sql", "text", "read_driver", "literal_column", "prefix_with"}
"""Calls whose first argument is SQL as it goes to the server."""

TEXT_ARGUMENTS = {"text", "statement", "sql"}
JOINING = {"format", "join", "replace", "format_map"}

PUT_TOGETHER = {
    "upkeep/ddl.py": "statements that make and alter tables, of names in our schema",
    "upkeep/migration.py": "the same, run step by step",
    "upkeep/check.py": "names of our tables and columns, and of the server's own settings",
    "upkeep/inspection.py": "the server's catalogue, by names of our tables",
    "database/schema_base.py": "defaults and checks of columns, by names in our schema",
    "database/dialects.py": "names of our columns, in what an upsert changes",
    "database/connections.py": "PRAGMA, which takes no parameters",
    "transfer/table_original.py": "names of three tables of another program",
    "database/engine.py": "PRAGMA with a whole number of ours",
    "context/table.py": "texts of compiled parts, one in front of the other",
    "search/table_rows.py": "how many characters of a text are compared, a constant of ours",
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


def joined_lines(source: str) -> list[int]:
    """Return the lines on which SQL text runs that was put together there, or in a name of the same function."""
    tree = ast.parse(source)
    found = []
    for scope in [tree, *(node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.Lambda)))]:
        made = set()
        for node in ast.walk(scope):
            if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Add, ast.Mod)):
                made.add(getattr(node.target, "id", ""))
            elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value and is_joined(node.value):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                made |= {getattr(target, "id", "") for target in targets}
        if scope is not tree or not made:
            found += [
                line
                for line, argument in sql_arguments(scope)
                if is_joined(argument) or (isinstance(argument, ast.Name) and argument.id in made and made)
            ]
    found += [line for line, argument in sql_arguments(tree) if is_joined(argument)]
    return sorted(set(found))


def test_t25_no_value_is_written_into_a_statement() -> None:
    """Modules that put statements together are listed with what they put in; the doors' own use parameters alone."""
    for path in STORE:
        name = path.relative_to(PACKAGE).as_posix()
        if name not in PUT_TOGETHER:
            assert joined_lines(path.read_text(encoding="utf-8")) == [], name


def test_t25_only_the_store_sends_sql() -> None:
    """No other module knows the database packages."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path in STORE or "_data" in path.parts:
            continue
        # Indented is what only a type checker reads.
        found = re.findall(r"^(?:from|import) (?:sqlalchemy|pymysql)\b.*", path.read_text(), re.MULTILINE)
        assert found == [], path


@pytest.mark.parametrize(
    "code",
    [
        "connection.exec_driver_sql(f'SELECT {x}')",
        "connection.exec_driver_sql('SELECT ' + x)",
        "connection.exec_driver_sql('SELECT %s' % x)",
        "connection.exec_driver_sql('SELECT {}'.format(x))",
        "connection.exec_driver_sql(' '.join(['SELECT', x]))",
        "connection.exec_driver_sql('SELECT :x'.replace(':x', x))",
        "connection.execute(text(f'SELECT {x}'))",
        "from sqlalchemy import text as sql\nconnection.execute(sql('SELECT ' + x))",
        "select(literal_column('a' if y else 'a' + x))",
        "select(c).prefix_with('/* %s */' % x)",
        "getattr(connection, 'exec_driver' + '_sql')('SELECT ' + x)",
        "def f(x):\n    asked = f'SELECT {x}'\n    return db.read_driver(asked, [])",
        "def f(x):\n    asked = 'SELECT 1'\n    asked += x\n    return db.read_driver(asked, [])",
        "def f(x):\n    if asked := 'SELECT %s' % x:\n        return db.read_driver(asked, [])",
    ],
)
def test_t25_the_check_finds_values(code: str) -> None:
    """A check that finds nothing must be able to find something: each way, planted once."""
    assert joined_lines(code), code


@pytest.mark.parametrize(
    "code",
    [
        "connection.exec_driver_sql('SELECT 1')",
        "connection.execute(text('SELECT :x'), {'x': x})",
        "db.read_driver(statements.union(parts, family), values)",
        "select(literal_column('1'))",
        "rows.text(value, 'content')",
    ],
)
def test_t25_the_check_lets_parameters_through(code: str) -> None:
    assert joined_lines(code) == []
