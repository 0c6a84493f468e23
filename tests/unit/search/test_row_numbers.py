"""Kinds of rows that a prompt's last statement brings together are told apart by their numbers."""

from __future__ import annotations

from collections import defaultdict

from core.database.row_shapes import Shape
from tests import package_modules


def test_no_two_kinds_of_rows_have_one_number() -> None:
    """Rows of the one would be read as the other: two changes made at a time once chose the same."""
    kinds: dict[int, set[object]] = defaultdict(set)
    for module in package_modules.load_all():
        for value in vars(module).values():
            for each in value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,):
                if isinstance(each, Shape):
                    kinds[each.number].add(each.row)
    assert len(kinds) > 10
    assert {number: rows for number, rows in kinds.items() if len(rows) > 1} == {}
