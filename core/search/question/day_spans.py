"""Days, weeks, months and years as spans of the calendar, counted from today."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from ...text.calendar_words import Unit

YEARLESS = 6
"""Years in which a day or month without a year is looked for."""
YEARS = (1900, 2100)
"""Numbers outside are no years."""

Days = tuple[date, date]
"""First day, and the day after the last."""


def days_of(year: int, month: int | None = None, day: int | None = None) -> Iterator[Days]:
    """Yield the day, month or year, nothing where the calendar has none."""
    if not YEARS[0] <= year <= YEARS[1] or not (month is None or 1 <= month <= 12):
        return
    if month is None:
        yield date(year, 1, 1), date(year + 1, 1, 1)
    elif day is None:
        yield date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)
    else:
        try:
            start = date(year, month, day)
        except ValueError:
            return
        yield start, start + timedelta(days=1)


def yearless(today: date, month: int, day: int | None = None) -> Iterator[Days]:
    """Yield a day or month of each of the last years, the newest first, none that is still to come."""
    for year in range(today.year, today.year - YEARLESS, -1):
        yield from (days for days in days_of(year, month, day) if days[0] <= today)


def last_day_of_month(today: date, day: int) -> Iterator[Days]:
    """Yield the last day with this number in its month, today included."""
    for back in range(3):
        at = today.year * 12 + today.month - 1 - back
        for days in days_of(at // 12, at % 12 + 1, day):
            if days[0] <= today:
                yield days
                return


def span(unit: Unit, today: date, steps: int) -> Iterator[Days]:
    """Yield the week, weekend, month, year or day that lies `steps` before (negative: after) that of today."""
    try:
        if unit == "year":
            yield from days_of(today.year - steps)
        elif unit == "month":
            at = today.year * 12 + today.month - 1 - steps
            yield from days_of(at // 12, at % 12 + 1)
        elif unit == "day":
            start = today - timedelta(days=steps)
            yield start, start + timedelta(days=1)
        else:
            start = today - timedelta(days=today.weekday(), weeks=steps)
            # On a weekday the weekend that is over is the one meant by `last`.
            first = timedelta(days=5 if unit == "weekend" else 0)
            yield start + first, start + timedelta(days=7)
    except OverflowError:
        return


def count_back(count: int, unit: Unit, today: date) -> Iterator[Days]:
    """Yield what `<count> <unit> ago` means: the day itself, the seven days around it, its month, its year."""
    try:
        if unit in ("week", "weekend"):
            middle = today - timedelta(weeks=count)
            yield middle - timedelta(days=3), middle + timedelta(days=4)
        else:
            yield from span(unit, today, count)
    except OverflowError:
        return


def month_span(year: int, first: int, months: int) -> Days:
    """Return so many months from the first of one on."""
    at = year * 12 + first - 1 + months
    return date(year, first, 1), date(at // 12, at % 12 + 1, 1)
