"""What brings rows into the prompt's last statement: each kind by a number of its own."""

from __future__ import annotations

import gc
import importlib
import pkgutil

import core
from core.database.row_shapes import FIRST, Shape

LEFT_OUT = ("core.adapters", "core.web", "core.as_core")
"""What needs extras, and brings no rows."""


def test_every_kind_of_row_has_a_number_of_its_own() -> None:
    """Two kinds of one number would be read as each other, and their section be lost where both have rows."""
    for module in pkgutil.walk_packages(core.__path__, "core."):
        is_table = module.name.rpartition(".")[2].startswith("table")
        if is_table and not module.name.startswith(LEFT_OUT):
            importlib.import_module(module.name)
    kinds: dict[int, set[str]] = {}
    for each in gc.get_objects():
        if isinstance(each, Shape) and getattr(each.row, "__module__", "").startswith(f"{core.__name__}."):
            kinds.setdefault(each.number, set()).add(f"{each.row.__module__}.{each.row.__qualname__}")
    assert len([number for number in kinds if number >= FIRST]) >= 7
    assert {number: names for number, names in kinds.items() if len(names) > 1} == {}
