"""D1, T25: no value is written into a statement, and no statement touches rows of more than one persona.

The first is looked for in the source; the second in every statement that a whole story over all doors sends.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

import core
from core.store.registry import REGISTRY
from tests.store import scenario
from tests.store.world import open_db

PACKAGE = Path(str(core.__file__)).parent
STORE = sorted((PACKAGE / "store").glob("*.py"))
RUNNERS = {"exec_driver_sql", "text", "read_driver", "literal_column", "prefix_with"}
"""Calls whose first argument is SQL as it goes to the server."""

PUT_TOGETHER = {
    "adopting.py": "tables of another application, whose names and columns are read from the server",
    "ddl.py": "statements that make and alter tables, of names in our schema",
    "migrating.py": "the same, run step by step",
    "restoring.py": "the same",
    "checking.py": "names of our tables, and of the server's own settings",
    "inspecting.py": "the server's catalogue, by names of our tables",
    "maintenance.py": "scripts of our own files",
    "adopted_people.py": "tables of another application",
    "schema_base.py": "defaults and checks of columns, by names in our schema",
    "dialects.py": "names of our columns, in what an upsert changes",
    "connecting.py": "PRAGMA, which takes no parameters",
}
"""Modules that join SQL from parts, and of what: names, never values."""


def sql_arguments(path: Path) -> Iterator[tuple[int, ast.expr]]:
    """Yield line and first argument of each call that runs SQL text."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and node.args:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in RUNNERS:
                yield node.lineno, node.args[0]


def is_joined(argument: ast.expr) -> bool:
    """Return whether a text is put together on the spot: f-string, `%`, `+` or `.format` with something in it."""
    if isinstance(argument, ast.JoinedStr):
        return any(isinstance(part, ast.FormattedValue) for part in argument.values)
    if isinstance(argument, ast.BinOp):
        return isinstance(argument.op, (ast.Mod, ast.Add))
    return isinstance(argument, ast.Call) and getattr(argument.func, "attr", "") == "format"


@pytest.mark.parametrize("path", STORE, ids=lambda path: path.name)
def test_t25_no_value_is_written_into_a_statement(path: Path) -> None:
    """Modules that put statements together are listed with what they put in; the doors' own use parameters alone."""
    joined = [line for line, argument in sql_arguments(path) if is_joined(argument)]
    assert path.name in PUT_TOGETHER or joined == [], f"{path.name}: lines {joined}"


def test_t25_only_the_store_sends_sql() -> None:
    """No other module knows the database packages."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent.name == "store" or "_data" in path.parts:
            continue
        # Indented is what only a type checker reads.
        found = re.findall(r"^(?:from|import) (?:sqlalchemy|pymysql)\b.*", path.read_text(), re.MULTILINE)
        assert found == [], path


def test_t25_the_check_finds_values() -> None:
    """A check that finds nothing must be able to find something."""
    for code in ("f(f'SELECT {x}')", "f('SELECT ' + x)", "f('SELECT %s' % x)", "f('SELECT {}'.format(x))"):
        call = ast.parse(code).body[0].value  # type: ignore[attr-defined]
        assert is_joined(call.args[0]), code


# Every statement is about one persona

EXEMPT = {
    "search_repair": "compares and mends the search tables of the whole database, in ranges of row ids",
    "search_check": "compares them range by range, and counts for each audience there is",
    "search_entries": "reads the rows those ranges stand for",
    "migrating": "makes tables and says how far the index is, for all personas",
    "world": "the tests' own comparison of the search tables",
}
"""Modules whose statements are about the whole database, with the reason."""

SCOPE_OF = {entry.table: entry.persona for entry in REGISTRY if entry.persona}


def unscoped(statement: str) -> list[str]:
    """Return the scoped tables of a statement that names neither persona nor audience."""
    text = re.sub(r"\s+", " ", statement)
    touched = set(re.findall(r"\b(?:FROM|JOIN|UPDATE|INTO) [`\"]?(\w+)", text)) & set(SCOPE_OF)
    if text.startswith("INSERT"):
        return [name for name in touched if SCOPE_OF[name] not in text.split(" VALUES")[0]]
    condition = text.partition(" WHERE ")[2] + text.partition(" ON ")[2]
    return [] if "persona_id" in condition or "audience_id" in condition else sorted(touched)


def test_d1_every_statement_of_a_whole_story_names_its_persona() -> None:
    """Saving, searching in both ways, listing, moving, linking, prompts: what they send is looked at on its way."""
    import sys

    found: dict[str, str] = {}
    seen: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)
        tables = unscoped(statement)
        if tables:
            frame: Any = sys._getframe()
            callers = []
            while frame is not None:
                callers.append(Path(frame.f_code.co_filename).stem)
                frame = frame.f_back
            if not set(callers) & set(EXEMPT):
                found[statement] = f"{tables} by {[name for name in callers if name in _OWN][:4]}"

    db = open_db("sqlite://")
    engines = set(db.engines())
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    scenario.play(db)
    db.close()
    assert len(seen) > 500
    assert found == {}


_OWN = {path.stem for path in PACKAGE.rglob("*.py")}


def test_d1_the_check_finds_a_statement_for_all() -> None:
    assert unscoped("SELECT id FROM memories WHERE id = ?") == ["memories"]
    assert unscoped("DELETE FROM search_term") == ["search_term"]
    assert unscoped("INSERT INTO tags (tag) VALUES (?)") == ["tags"]
    assert unscoped("SELECT id FROM memories WHERE persona_id = ? AND id = ?") == []
