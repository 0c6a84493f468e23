"""When a row was said and which times it tells, against the days and the time a question asks for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

A_DAY_OR_TWO = timedelta(days=3)
"""Shorter spans are days, longer ones months or years."""
SOON = timedelta(days=8)
"""How long after a day people speak of it."""
EVE = timedelta(days=1)
"""How long before."""
AFTER_MONTH = timedelta(days=10)
"""How long after a month people speak of it."""
HALF = 0.5


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment_of(at_us: int) -> datetime | None:
    """Return the time of microseconds since 1970, None for one that no calendar has: nobody can read it."""
    try:
        return _EPOCH + timedelta(microseconds=at_us)
    except OverflowError:
        return None


def on_days(days: Iterable[tuple[datetime, datetime]], said: datetime | None) -> dict[str, float]:
    """Return the reasons `day`, `days_after` and `month` of a row said at a time, each 0 to 1."""
    found: dict[str, float] = {}
    for since, until in days if said is not None else ():
        assert said is not None
        inside = since <= said < until
        if until - since < A_DAY_OR_TWO:
            near = {"day": 1.0} if inside else {"days_after": 1.0} if since - EVE <= said < until + SOON else {}
        else:
            near = {"month": 1.0} if inside else {"month": HALF} if until <= said < until + AFTER_MONTH else {}
        for name, value in near.items():
            found[name] = max(value, found.get(name, 0.0))
    if "day" in found:
        found.pop("days_after", None)
    return found
