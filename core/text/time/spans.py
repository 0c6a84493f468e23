"""Spans of the calendar: days, weeks, months, seasons, feasts and parts of days, in local time; and `Span` in UTC."""

from __future__ import annotations

from calendar import isleap, monthrange
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal

Precision = Literal["minute", "hour", "part of day", "day", "week", "part of month", "month", "season", "year"]
Role = Literal["said", "about", "first", "last"]
"""said: rows said at this time or about it. about: only rows about this future time. first, last: oldest or newest."""
Period = Literal["", "day", "week", "month", "year", "either"]
"""How often a time recurs; "": never. either: tomorrow or a week later."""
Range = tuple[datetime, datetime]
"""Local times without a zone, half-open."""
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
YEARS = (1900, 2100)
"""Smallest and largest number that is parsed as a year."""
RECENT_DAYS, COMING_DAYS = 14, 7
PART_HOURS = {
    "morning": (5, 12), "noon": (11, 14), "afternoon": (12, 18), "evening": (17, 23), "night": (21, 29),
    "dark": (17, 29), "eve": (-3, 5),
}  # fmt: skip
"""Parts of a day; dark: evening or night, in languages with one word for both; eve: the night before the day."""
FEASTS = {
    "christmas eve": (12, 24, 1), "christmas": (12, 24, 3), "new year's eve": (12, 31, 1), "new year": (1, 1, 1),
    "halloween": (10, 31, 1), "valentine": (2, 14, 1), "easter": (0, 0, 2), "christmas day": (12, 25, 1),
    "pentecost": (0, 49, 2), "good friday": (0, -2, 1), "easter monday": (0, 1, 1), "whit monday": (0, 50, 1),
    "ascension": (0, 39, 1), "corpus christi": (0, 60, 1), "shrove monday": (0, -48, 1),
    "shrove tuesday": (0, -47, 1), "ash wednesday": (0, -46, 1), "maundy thursday": (0, -3, 1),
    "holy saturday": (0, -1, 1), "easter days": (0, -2, 4), "holy week": (0, -7, 8),
}  # fmt: skip
"""Month, day and number of days of each feast; month 0: days after Easter Sunday."""


@dataclass(frozen=True, slots=True)
class Span:
    start: datetime | None
    """Start in UTC, inclusive; None is an open end."""
    end: datetime | None
    """End in UTC, exclusive; None is an open end."""
    precision: Precision = "day"
    role: Role = "said"
    words: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Time:
    """A time in words: one span, or a span that recurs every day, week, month or year."""

    precision: Precision
    occur: Callable[[date], Iterable[Range]] = field(repr=False)
    """Returns the occurrences of the time around a day, ascending."""
    period: Period = ""
    is_middle: bool = False
    """Whether it is the middle of a month or year: "since mid-May" starts about 15 May."""

    def cut(self, change: Callable[[Range], Range], precision: Precision) -> Time:
        return Time(precision, lambda around: [change(each) for each in self.occur(around)], self.period)

    def as_edge(self) -> Time:
        """Return the time for use as an end of a longer span: `mid-May` is then only the middle fifth of its span."""
        if not self.is_middle:
            return self

        def narrow(span: Range) -> Range:
            margin = (span[1] - span[0]).days * 2 // 5 * DAY
            return span[0] + margin, span[1] - margin

        return self.cut(narrow, self.precision)

    def newest(self, now: datetime) -> Range | None:
        """Return the latest occurrence that has begun; for a weekday, the latest that began before today."""
        today = at_midnight(now.date())
        is_weekday = self.period == "week" and self.precision in ("day", "part of day", "hour", "minute")
        fits = [each for each in self.occur(now.date()) if (each[0] < today if is_weekday else each[0] <= now)]
        return fits[-1] if fits else None

    def coming(self, now: datetime) -> Range | None:
        """Return the first occurrence that did not end before today; for a weekday, the first after today."""
        after = at_midnight(now.date()) + (DAY if self.period == "week" else timedelta())
        return next((each for each in self.occur(now.date()) if each[1] > after), None)


def fixed(span: Range, precision: Precision) -> Time:
    return Time(precision, lambda _: (span,))


def at_midnight(day: date) -> datetime:
    return datetime.combine(day, time.min)


def of_days(first: date, count: int = 1) -> Range:
    return at_midnight(first), at_midnight(first + count * DAY)


def of_month(year: int, month: int, count: int = 1) -> Range:
    """Return `count` months from a month on; month 13 is January of the next year."""
    first, after = (year * 12 + month - 1, year * 12 + month - 1 + count)
    return tuple(datetime(at // 12, at % 12 + 1, 1) for at in (first, after))  # type: ignore[return-value]  # noqa: DTZ001


def of_unit(unit: str, today: date, steps: int) -> Range:
    """Return the day, week, weekend, month or year `steps` units after that of today."""
    if unit == "year":
        return of_month(today.year + steps, 1, 12)
    if unit == "month":
        return of_month(today.year, today.month + steps)
    if unit == "week":
        return of_days(today + (steps * 7 - today.weekday()) * DAY, 7)
    if unit == "weekend":
        return of_days(today + (steps * 7 + 5 - today.weekday()) * DAY, 2)
    return of_days(today + steps * DAY)


def shift(day: date, unit: str, count: float) -> date:
    """Return a day moved by a number of days, weeks, months or years; half a week is 3 days, half a month 15."""
    if unit in ("month", "year"):
        months = count * (12 if unit == "year" else 1)
        first = of_month(day.year, day.month + int(months))[0].date()
        last = monthrange(first.year, first.month)[1]
        return first.replace(day=min(day.day, last)) + int((months - int(months)) * 30) * DAY
    return day + int(count * (7 if unit in ("week", "weekend") else 1)) * DAY


def of_date(year: int, month: int, day: int) -> Range | None:
    if not (YEARS[0] <= year <= YEARS[1] and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]):
        return None
    return of_days(date(year, month, day))


def name_days(first: date, last: date, precision: Precision) -> Iterator[str]:
    """Yield the days, whole weeks and whole months of a span, and the month it is part of: 2026-03-12, 2026-W11."""
    is_of_month = precision == "part of month" and (last - first).days > 5  # not of a week
    if is_of_month and first.replace(day=1) == last.replace(day=1):
        yield f"{first:%Y-%m}"
    for day in (first + step * DAY for step in range((last - first).days + 1)):
        if day.day == 1 and day.replace(day=monthrange(day.year, day.month)[1]) <= last:
            yield f"{day:%Y-%m}"
        if day.weekday() == 0 and (last - day).days >= 6:
            yield f"{day:%G-W%V}"
        yield day.isoformat()


def name_years(first: date, last: date) -> Iterator[str]:
    """Yield the whole years of a span."""
    begins_whole, ends_whole = (first.month, first.day) == (1, 1), (last.month, last.day) == (12, 31)
    yield from map(str, range(first.year + (not begins_whole), last.year + ends_whole))


def name_recurring(day: int | str) -> str:
    """Return the name of a day that recurs every week (0 is Monday) or every year (`03-12`)."""
    return f"every-{day}"


def name_yearly(day: date) -> list[str]:
    """Return the names of the yearly days that fall on a day: 29 February on the 28th in a year without a 29th."""
    is_last = (day.month, day.day) == (2, 28) and not isleap(day.year)
    return [name_recurring(f"{day:%m-%d}"), *([name_recurring("02-29")] if is_last else [])]


def of_clock(day: Range, minutes: int) -> Range:
    """Return the span from half an hour before to half an hour after a time of day."""
    at = day[0] + timedelta(minutes=minutes)
    return at - HOUR / 2, at + HOUR / 2


def of_edge(span: Range, edge: str) -> Range:
    start, end = span
    days = (end - start).days
    if edge == "mid" and days < 4:  # the middle of a weekend
        return span
    if edge in ("half1", "half2"):
        middle = at_midnight((start + (end - start) / 2).date())
        return (start, middle) if edge == "half1" else (middle, end)
    if days > 40:  # year or season
        thirds, ends = days // 3, days // 6
    elif days > 10:
        thirds, ends = 10, 7
    else:
        thirds, ends = 2 + days // 7, 2 + days // 7
    if edge in ("early", "begin"):
        return start, start + (thirds if edge == "early" else ends) * DAY
    if edge == "mid":
        return start + (thirds if days > 10 else 1) * DAY, start + 2 * thirds * DAY if days > 10 else end - 2 * DAY
    return (start + 2 * thirds * DAY if edge == "late" and days > 10 else end - ends * DAY), end


def every_year(build: Callable[[int], Range | None], precision: Precision) -> Time:
    def occur(around: date) -> list[Range]:
        years = range(max(around.year - 8, YEARS[0]), min(around.year + 9, YEARS[1]))
        return [span for span in map(build, years) if span is not None]

    return Time(precision, occur, "year")


def every_month(day: int) -> Time:
    def occur(around: date) -> list[Range]:
        this = around.year * 12 + around.month - 1
        days = (of_date(month // 12, month % 12 + 1, day) for month in range(this - 13, this + 14))
        return [span for span in days if span is not None]

    return Time("day", occur, "month")


def every_week(weekday: int, days: int = 1) -> Time:
    def occur(around: date) -> list[Range]:
        monday = around - around.weekday() * DAY
        return [of_days(monday + (7 * week + weekday) * DAY, days) for week in range(-4, 5)]

    return Time("day" if days == 1 else "week", occur, "week")


def every_day(cut: Callable[[Range], Range]) -> Time:
    return Time("minute", lambda around: [cut(of_days(around + step * DAY)) for step in range(-2, 3)], "day")


def every_feast(feast: str) -> Time:
    def build(year: int) -> Range | None:
        month, day, count = FEASTS[feast]
        return of_days(date(year, month, day) if month else easter(year) + day * DAY, count)

    return every_year(build, "day")


def easter(year: int) -> date:
    century, golden = year // 100, year % 19
    moon = (19 * golden + century - century // 4 - (8 * century + 13) // 25 + 15) % 30
    moon -= moon > 28 or (moon == 28 and golden > 10)
    return date(year, 3, 22) + (moon + (6 - date(year, 3, 22).weekday() - moon) % 7) * DAY


def in_utc(moment: datetime | None, zone: tzinfo) -> datetime | None:
    """Convert a local time to UTC; return None, an open end, if it is outside the calendar."""
    if moment is None:
        return None
    try:
        return moment.replace(tzinfo=zone).astimezone(UTC)
    except (OverflowError, ValueError):
        return None
