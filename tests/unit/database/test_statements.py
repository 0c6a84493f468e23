"""Statements put together from parts that are compiled once."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Integer, bindparam, select

from core.database.schema import memories
from core.database.statements import MOST_FILLED, Part

BY_ID = select(memories.c.id).where(memories.c.id.in_(bindparam("ids", expanding=True, type_=Integer())))


def text_of(part: Part, count: int) -> tuple[str, list[Any]]:
    """Return the text for so many ids, and its values."""
    values: list[Any] = []
    return part.text({"ids": list(range(count))}, values), values


@pytest.mark.parametrize(("first", "last", "filled"), [(3, 4, 4), (33, 64, 64), (257, 512, 512)])
def test_d35_lists_of_many_lengths_have_one_text_on_sqlite(first: int, last: int, filled: int) -> None:
    """It keeps the plans of the texts it had; planning the last statement of a prompt takes longer than running it."""
    part = Part(BY_ID, "sqlite")
    made = [text_of(part, count) for count in (first, (first + last) // 2, last)]
    assert len({text for text, _ in made}) == 1 and made[0][0].count("?") == filled
    for count, (_, values) in zip((first, (first + last) // 2, last), made, strict=True):
        assert len(values) == filled and set(values) == set(range(count))


def test_d35_other_lists_are_bound_as_they_are() -> None:
    """Servers keep no plans; of very long lists SQLite would have more values than it allows; none is no row."""
    for family, count in (("mysql", 5), ("sqlite", 1), ("sqlite", 2), ("sqlite", MOST_FILLED + 1)):
        text, values = text_of(Part(BY_ID, family), count)
        assert values == list(range(count)) and text.count("?" if family == "sqlite" else "%s") == count
    assert "IN (NULL)" in text_of(Part(BY_ID, "sqlite"), 0)[0]
