"""The contracts of pyproject.toml name what they are about: a list that is not complete holds nothing."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import core

PACKAGE = Path(str(core.__file__)).parent
ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PURE = next(
    contract["source_modules"]
    for contract in PROJECT["tool"]["importlinter"]["contracts"]
    if "pure" in contract["name"]
)
CLOCKS = {("datetime", "now"), ("datetime", "utcnow"), ("date", "today"), ("time", "time"), ("time", "monotonic")}


def pure_files() -> list[Path]:
    """Return every file that is under the contract."""
    places = [PACKAGE / name.removeprefix("core.").replace(".", "/") for name in PURE]
    return sorted(
        path for place in places for path in (place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")])
    )


def test_every_module_of_rules_is_under_the_contract() -> None:
    rules = {path for path in PACKAGE.rglob("rules*.py") if "_data" not in path.parts}
    assert rules <= set(pure_files()) and len(rules) > 15


def test_no_rule_asks_for_the_time() -> None:
    """What is decided depends on what is handed in alone."""
    for path in pure_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) not in CLOCKS, f"{path}:{node.lineno}"
