"""P50, F65: a limit is a whole number of at least 1, or it is refused; from a hook it counts as none, with a note."""

from __future__ import annotations

from typing import Any

import pytest

from core.prompt.fit import read_engine_limit, read_limit_argument


@pytest.mark.parametrize("value", [0, -(10**30), "x", True, float("nan"), 2.5])
def test_p50_f65_a_bad_limit_is_refused_or_from_the_hook_counts_as_none(value: Any) -> None:
    with pytest.raises(ValueError, match=r"max_chars is .*at least 1"):
        read_limit_argument("max_chars", value)
    limit, note = read_engine_limit(value)
    assert limit is None and note


def test_p50_the_hooks_limit_may_be_left_out() -> None:
    assert read_engine_limit(30000) == (30000, None)
    assert read_engine_limit(None) == (None, None)
