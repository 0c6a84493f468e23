"""Relationships as rules: how affinity fades, what is refused, whose key it is (L26 to L31, F71)."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import MessageError
from core.relationships import rules
from core.scope import Scope
from tests.store.world import NOW

MICROSECOND = timedelta(microseconds=1)


@pytest.mark.parametrize(("base", "days", "value"), [
    (60, 30, 30), (-60, 30, -30), (60, 0, 60), (60, 1, 59), (45, 10, 37), (100, 1, 98), (1, 29, 1), (1, 30, 0),
    (7, 1, 7), (60, 60, 0), (-100, 60, 0), (1, 61, 0), (100, 100_000, 0),
])  # fmt: skip
def test_l29_affinity_fades_with_absence(base: int, days: int, value: int) -> None:
    assert rules.decay(base, days, 60) == value


def test_l29_a_day_counts_when_it_is_full() -> None:
    for age, days in ((0, 0), (1, 1), (30, 30)):
        since = NOW - timedelta(days=age)
        assert rules.inactive_days(since, NOW) == rules.inactive_days(since - MICROSECOND, NOW) == days
        assert rules.inactive_days(since + MICROSECOND, NOW) == max(0, days - 1)
    assert rules.inactive_days(NOW - timedelta(days=30), NOW, 10) == 20 and rules.inactive_days(None, NOW) == 0


@given(st.integers(-100, 100), st.integers(-5, 5000), st.integers(1, 3650))
def test_l29_it_goes_toward_zero_and_never_past_it(base: int, days: int, decay_days: int) -> None:
    now, later = rules.decay(base, days, decay_days), rules.decay(base, days + 1, decay_days)
    assert abs(later) <= abs(now) <= abs(base) and now * base >= 0 and rules.decay(-base, days, decay_days) == -now
    if days <= 0:
        assert now == base
    if days >= decay_days:
        assert now == 0


@pytest.mark.parametrize("bad", [float("nan"), -float("inf"), 0.5, "5", True, None])
def test_l27_f71_what_is_no_whole_number_is_refused(bad: Any) -> None:
    with pytest.raises(MessageError, match=r"trust_delta is .*whole number") as caught:
        rules.read_delta(bad, "trust_delta")
    assert caught.value.fields == ("trust_delta",)


def test_f70_nobody_named_is_refused_and_keys_are_left_as_they_are() -> None:
    with pytest.raises(MessageError, match="names no participant"):
        rules.key_of(None, Scope("p", "tg/42"))
    for key in ("u1", "u10", "U1", "u1 ", "u%", "tg/7"):
        assert rules.key_of(key, Scope("p")) == key
    assert rules.key_of(7, Scope("p", "tg/42")) == "tg/7"
    with pytest.raises(MessageError, match="256 bytes"):
        rules.key_of("u" * 253, Scope("p", "tg/42"))
