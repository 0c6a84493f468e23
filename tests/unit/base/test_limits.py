"""P50, F65: a limit is a whole number of at least 1, or it is refused; from a hook it counts as none, with a note."""

from __future__ import annotations

from typing import Any

import pytest

from core.base.limits import read_engine_limit, read_limit_argument

BAD: list[Any] = [0, -(10**30), "x", True, float("nan"), 2.5, [], pytest.param(object(), id="an object")]


@pytest.mark.parametrize("value", BAD, ids=repr)
def test_f65_a_bad_limit_is_refused_with_its_value_and_the_range(value: Any) -> None:
    with pytest.raises(ValueError, match=r"max_chars is .*at least 1") as caught:
        read_limit_argument("max_chars", value)
    if isinstance(value, (str, float, bool)):
        assert repr(value) in str(caught.value)


def test_p50_the_hooks_limit_is_read_leniently() -> None:
    assert read_engine_limit(30000) == (30000, None)
    assert read_engine_limit(None) == (None, None)
    limit, note = read_engine_limit("many")
    assert limit is None
    assert note is not None
    assert "'many'" in note


@pytest.mark.parametrize("value", BAD, ids=repr)
def test_p50_a_bad_limit_of_the_hook_counts_as_none_with_a_note(value: Any) -> None:
    limit, note = read_engine_limit(value)
    assert limit is None
    assert note
