"""S3: the keys of a message's data."""

from __future__ import annotations

from typing import Any

import pytest

from core.errors import MessageError
from core.stories.recaps.rules_keys import read_value


@pytest.mark.parametrize(
    ("key", "value", "kept"),
    [
        ("memory", "x", "x"), ("edited", True, True), ("edited", False, None), ("exclude", 1, True),
        ("scene_recap_versions", ("A", "B"), ["A", "B"]), ("scene_recap_current_index", 0, 0),
        ("scene_recap_metadata", {"a": 1}, {"a": 1}), ("memory", None, None),
    ],
)  # fmt: skip
def test_s3_values_are_of_their_kind(key: str, value: Any, kept: Any) -> None:
    assert read_value(key, value) == kept


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("memory", 3), ("exclude", 2), ("scene_recap_versions", ["A", 2]), ("scene_recap_current_index", -1),
        ("scene_recap_metadata", ["a"]),
    ],
)  # fmt: skip
def test_s3_another_kind_is_refused_without_repeating_the_value(key: str, value: Any) -> None:
    with pytest.raises(MessageError, match=f"^{key} is of type {type(value).__name__}.") as raised:
        read_value(key, value)
    assert raised.value.fields == (key,)
