"""Patterns of parts that name a time, and what they mean: `L U` is `last week`, `W x* L U` is `Tuesday of last week`.

A pattern is a sequence of kinds (`calendar.KINDS`, `parts.build_kinds`): `x*` allows small words, `_*` other words, `?`
makes a kind optional, `[ab]` allows either kind, and `!ab` forbids both kinds next. The tables are applied one after
another, each from left to right, the longest pattern first; a match becomes one part, which later patterns can use:

Z  a time (`spans.Time`), with a letter for its length: t part of a day, 9 day, k week, 0 month, z year, l other
q  a number and its unit
%  a span with its ends: `Found`
)  a weekday of a stored text, which may be the day on which it was said
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, tzinfo
from typing import Any

from . import spans
from .calendar import FEW, Lexicon
from .parts import yearly
from .spans import DAY, HOUR, Precision, Range, Time, at_midnight, every_day, every_year, fixed, of_days, of_month

MOST_COUNT = 400
AROUND = 8 * DAY
JUST_OVER, FAR_AHEAD = 31 * DAY, 300 * DAY
"""In a stored text, a yearly date means the past one if that is under JUST_OVER ago and the next over FAR_AHEAD off."""
NEAR = 45 * DAY
"""Maximum distance from now of the day of `vendredi 6`. `Friday the 6th` is the one within it, if only one is."""

_SOUTHERN = (
    "Australia/", "Antarctica/", "Pacific/Auckland", "America/Argentina", "America/Buenos_Aires", "America/Santiago",
    "America/Sao_Paulo", "America/Montevideo", "America/Asuncion", "America/La_Paz", "America/Lima",
    "Africa/Johannesburg", "Africa/Maseru", "Africa/Harare", "Africa/Maputo", "Africa/Windhoek", "Indian/Mauritius",
)  # fmt: skip
_LENGTHS = {"": 0, "day": 1, "week": 2, "month": 3, "year": 4, "either": 0}


@dataclass(frozen=True, slots=True)
class Found:
    start: datetime | None
    end: datetime | None
    precision: Precision
    coming: Range | None = None
    """Next occurrence of a recurring time."""
    due: Range | None = None
    """Time of a deadline: Friday in `by Friday`."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The time and zone of a text, and whether it is about the future."""

    now: datetime
    zone: tzinfo
    lexicon: Lexicon
    is_plan: bool = False
    is_told: bool = False
    """Whether the text is a stored text without a word for a plan."""
    is_past: bool = False
    """Whether the text has a word for the past, and no word for a plan."""
    tense: str | None = None
    """Tense of a stored text; "unsure": a weekday may mean the last or the next such day: `She told me Sunday`."""

    @property
    def today(self) -> date:
        return self.now.date()

    def day(self, step: int) -> Time:
        return fixed(of_days(self.today + step * DAY), "day")

    @property
    def is_this_over(self) -> bool:
        """Whether `this weekend` means the last one: the text is about the past and, if stored, of Mon to Wed."""
        return self.is_past and (not self.is_told or self.today.weekday() < 3)

    def choose(self, time: Time) -> Range | None:
        """Return the span of days of a time; for a recurring time, the span of its most likely occurrence."""
        if not time.period:
            return next(iter(time.occur(self.today)), None)
        newest, coming = time.newest(self.now), time.coming(self.now)
        if self.is_told and newest and coming:
            behind, ahead = self.now - newest[1], coming[0] - self.now
            if behind < JUST_OVER and ahead > FAR_AHEAD and time.period == "year":
                coming = newest
            elif time.period == "month" and min(behind, ahead) < NEAR < max(behind, ahead):
                newest = coming = newest if behind < ahead else coming
        return (coming or newest) if self.is_plan else (newest or coming)

    def find(self, time: Time) -> Found | None:
        if (span := self.choose(time)) is None:
            return None
        coming = time.coming(self.now) if time.period else None
        return Found(*span, time.precision, None if coming == span else coming)


def choose_unit(m: Moment, unit: str, step: int) -> Time | None:
    """Return the week, month ... `step` units from now; for weekends, -1 is the last weekend that is over."""
    if unit in ("minute", "hour") or (unit == "day" and step):
        return None
    if unit == "weekend" and m.today.weekday() < 5 and (step > 0 or (step == 0 and m.is_this_over)):
        step -= 1  # before the weekend, the next one is the coming one
    span = spans.of_unit(unit, m.today, step)
    return fixed(span, "week" if unit == "weekend" else unit)  # type: ignore[arg-type]


def choose_step(m: Moment, time: Time, step: int) -> Time | None:
    if step < 0:
        fits = [each for each in time.occur(m.today) if each[1] <= at_midnight(m.today)][step:]
        span = fits[0] if len(fits) == -step else None
    else:
        start, end = spans.of_unit(time.period or "day", m.today, 0)  # the current day, week, month or year
        since = start if step == 0 else at_midnight(m.today + DAY)
        fits = [each for each in time.occur(m.today) if each[0] >= since and (step or each[0] < end)]
        span = next(iter(fits[max(step, 1) - 1 :]), None)
        if step == 0 and m.is_past and not m.is_told and (span is None or span[0] > m.now):
            return time
    return None if span is None else fixed(span, time.precision)


def choose_weekday(m: Moment, weekday: int, step: int) -> Time | None:
    # Said on Saturday, `this Friday` may be yesterday or the next one.
    if step == 0 and (weekday < m.today.weekday() or (m.is_this_over and weekday > m.today.weekday())):
        return spans.every_week(weekday)
    if step == 0 and weekday == m.today.weekday() and m.is_plan:  # more often `today` is said
        return _either_day(m, 0)
    if m.lexicon.is_strict or step == 0:
        return take_day(weekday, fixed(spans.of_unit("week", m.today, step), "week"))
    if step == 1 and weekday == (m.today + DAY).weekday():  # said on Monday, `next Tuesday` is seldom tomorrow
        return _either_day(m, 1)
    return choose_step(m, spans.every_week(weekday), step)


def _either_day(m: Moment, step: int) -> Time:
    return Time("day", lambda _: [of_days(m.today + after * DAY) for after in (step, step + 7)], "either")


def list_seasons(m: Moment, season: int) -> Time:
    """Return a meteorological season; 0 is spring."""
    month = 3 * season + 3
    if str(m.zone).startswith(_SOUTHERN):
        month = (month + 5) % 12 + 1
    return every_year(lambda year: of_month(year, month, 3), "season")


def place_in_year(time: Time, year: int) -> Time | None:
    span = next((each for each in time.occur(date(year, 6, 1)) if each[0].year == year), None)
    return None if span is None else fixed(span, time.precision)


def date_of(year: int, month: int, day: int) -> Time | None:
    span = spans.of_date(year, month, day)
    return None if span is None else fixed(span, "day")


def count_away(m: Moment, side: int, count: float, unit: str) -> Time | None:
    if count > MOST_COUNT * (60 if unit in ("hour", "minute") else 1):
        return None
    if unit in ("minute", "hour"):
        wide = HOUR if unit == "hour" else HOUR / 4
        at = m.now + side * count * (HOUR if unit == "hour" else HOUR / 60)
        return fixed((at - wide, at + wide), "hour")
    day = spans.shift(m.today, unit, side * count)
    if count == FEW and unit != "year":  # the wider limit of an open number
        near = spans.shift(m.today, unit, side)
        return fixed((of_days(min(day, near))[0], of_days(max(day, near))[1]), "day")
    if unit in ("month", "year") and (unit == "year" or count == int(count)):
        whole = unit if count == int(count) else "month"
        return fixed(spans.of_unit(whole, day, 0), whole)  # type: ignore[arg-type]
    if unit == "month":
        return fixed(of_days(day - 3 * DAY, 7), "week")
    if unit == "weekend":
        return fixed(spans.of_unit("weekend", m.today, int(side * count)), "week")
    return fixed(of_days(day) if unit == "day" else of_days(day - DAY, 3), "day" if unit == "day" else "week")


def count_weekdays(m: Moment, count: float, weekday: int, unit: str = "week") -> Time | None:
    return choose_step(m, spans.every_week(weekday), int(count)) if 0 < abs(count) <= FEW and unit == "week" else None


def take_part(day: Time, part: str) -> Time:
    first, last = spans.PART_HOURS[part]
    return day.cut(lambda span: (span[0] + first * HOUR, span[0] + last * HOUR), "part of day")


def take_edge(time: Time, edge: str) -> Time:
    return replace(time.cut(lambda span: spans.of_edge(span, edge), "part of month"), is_middle=edge == "mid")


def take_weekday(time: Time, weekday: int, nth: int) -> Time:
    """Return the nth `weekday` in the month `time`; the last if `nth` is -1."""

    def cut(span: Range) -> Range:
        first = span[0].date() + (weekday - span[0].weekday()) % 7 * DAY
        last = (span[1] - DAY).date()
        return of_days(last - (last.weekday() - weekday) % 7 * DAY if nth < 0 else first + 7 * (nth - 1) * DAY)

    return time.cut(cut, "day")


def take_unit(time: Time, unit: str, nth: int) -> Time | None:
    """Return the nth day, week or weekend in the month `time`; the last if `nth` is -1."""
    if unit == "weekend":
        return take_weekday(time, 5, nth).cut(lambda span: (span[0], span[1] + DAY), "week")
    if (size := {"week": 7, "day": 1}.get(unit)) is None:
        return None

    def cut(span: Range) -> Range:
        start = span[1] - size * DAY if nth < 0 else span[0] + size * (nth - 1) * DAY
        return start, start + size * DAY

    return time.cut(cut, "week" if unit == "week" else "day")


def move_beside(m: Moment, time: Time, side: int, unit: str) -> Time | None:
    """Return the day, week or weekend right before (`side` < 0) or after a time: `the day after Christmas`."""
    span = m.choose(time)
    if span is None or unit in ("minute", "hour"):
        return None
    if unit == "weekend":
        day = span[0].date() - DAY if side < 0 else span[1].date() + 6 * DAY
        return fixed(spans.of_unit("weekend", day, -1 if side < 0 and day.weekday() < 5 else 0), "week")
    if unit == "week":
        edge = span[0].date() - DAY if side < 0 else span[1].date()
        return fixed(of_days(edge - 6 * DAY if side < 0 else edge, 7), "week")
    return fixed(of_days(spans.shift(_edge(span, side), unit, side)), "day")


def _edge(span: Range, side: int) -> date:
    """Return the first (`side` < 0) or last day of a span."""
    return span[0].date() if side < 0 else (span[1] - DAY).date()


def count_beside(m: Moment, time: Time, side: int, count: float, unit: str) -> Time | None:
    """Return the time N days, weeks ... before or after another time: `two weeks before 11 August`."""
    span = m.choose(time)
    if span is None or unit in ("minute", "hour"):
        return None
    return count_away(replace(m, now=at_midnight(_edge(span, side))), side, count, unit)


def choose_weekday_beside(m: Moment, time: Time, side: int, weekday: int) -> Time | None:
    if (span := m.choose(time)) is None:
        return None
    edge = _edge(span, side)
    return fixed(of_days(edge + side * ((side * (weekday - edge.weekday()) - 1) % 7 + 1) * DAY), "day")


def count_window(m: Moment, side: int, amount: tuple[float, str]) -> Found | None:
    """Return the last N days, weeks or months until now, or the next N."""
    count, unit = amount
    if unit in ("minute", "hour"):
        length = count * (HOUR if unit == "hour" else HOUR / 60)
        return Found(m.now, m.now + length, "hour") if side > 0 else Found(m.now - length, m.now, "hour")
    if count > MOST_COUNT:
        return None
    if side > 0:
        return Found(at_midnight(m.today), at_midnight(spans.shift(m.today, unit, count) + DAY), "day")
    if unit == "weekend":
        start, end = spans.of_unit("weekend", m.today, -int(count))
        return Found(start, m.now if count > 1 else end, "day")
    return Found(at_midnight(spans.shift(m.today, unit, -count)), m.now, "day")


def move_day(m: Moment, day: int, amount: tuple[float, str], side: int) -> Time | None:
    if amount[0] > MOST_COUNT or amount[1] in ("minute", "hour"):
        return None
    return fixed(of_days(spans.shift(m.today + day * DAY, amount[1], side * amount[0])), "day")


def take_day(weekday: int, week: Time | None) -> Time | None:
    """Return the given weekday in the calendar week with the middle of `week`: `Tuesday of last week`."""
    if week is None or week.period:
        return None
    start, end = next(iter(week.occur(date.min)))
    middle = (start + (end - start) / 2).date()
    return fixed(of_days(middle + (weekday - middle.weekday()) * DAY), "day")


def fall_on(time: Time, weekday: int) -> Time:
    """Return only the occurrences of a day that fall on a weekday: `Friday the 6th`."""
    return replace(time, occur=lambda around: [each for each in time.occur(around) if each[0].weekday() == weekday])


def match_weekday(day: Time, weekday: int) -> Time | None:
    """Return a day, if it falls on the weekday named behind it."""
    if day.period == "month":
        return fall_on(day, weekday)
    same = take_day(weekday, day)
    return day if same is not None and same.occur(date.min) == day.occur(date.min) else None


def take_edge_of(m: Moment, edge: str, step: int, unit: str) -> Time | None:
    whole = choose_unit(m, unit, step)
    return None if whole is None or unit in ("day", "weekend") else take_edge(whole, edge)


def place_in_year_of(time: Time, year: Time) -> Time | None:
    """Return the occurrence of a yearly time in the year `year`: `5 March last year`."""
    is_yearly = time.period == "year" and not year.period
    return place_in_year(time, next(iter(year.occur(date.min)))[0].year) if is_yearly else None


def take_clock(day: Time, minutes: int, part: str = "") -> Time | None:
    """Return a clock time on a day; `part` decides between morning and evening."""
    if minutes > 24 * 60:
        return None
    is_late = part in ("afternoon", "evening", "dark") or (part == "night" and minutes > 5 * 60)
    if is_late and minutes < 12 * 60:
        minutes += 12 * 60
    return day.cut(lambda span: spans.of_clock(span, minutes), "minute")


def place_at_hour(time: Time, hour: int) -> Time:
    """Return an hour on the day of a time, in the afternoon if the time ends in the afternoon."""

    def cut(span: Range) -> Range:
        at = at_midnight(span[1].date()) + (hour + (12 if span[1].hour > 12 > hour else 0)) * HOUR
        return at, at

    return time.cut(cut, "minute")


def relate(m: Moment, time: Time, relation: str, *, is_clause: bool = False) -> Found | None:
    """Return the span since, after, before or until a time; with `due` for `until`, clauses, years, plans `before`."""
    if (span := m.choose(time.as_edge())) is None:
        return None
    start, end = span
    if time.precision == "minute":  # the time itself, without the half hour on each side
        start = end = start + (end - start) / 2
    due = span if is_clause or relation == "until" or time.precision == "year" else None
    if relation == "since":
        return Found(start, m.now if start < m.now else None, time.precision, due=due)
    if relation == "after":
        return Found(end, None, time.precision, due=due)
    # `before noon` is a part of a day, and a plan is not over: `before Friday` it is due
    is_due = time.period != "day" and m.is_plan and end > m.now
    day = start.date() if time.period == "day" else m.today if is_due else None
    due = span if is_due and relation == "before" else due
    return Found(at_midnight(day) if day else None, start if relation == "before" else end, time.precision, due=due)


def widen(m: Moment, time: Time) -> Found | None:
    """Return about a week around a day or feast; `due` is the day or feast itself, which a stored text is about."""
    found = None if time.period == "week" else m.find(time)
    if found is None or found.start is None or found.end is None:
        return None
    margin = max(0, (AROUND - (found.end - found.start)) // 2 // DAY) * DAY
    coming = found.coming and (found.coming[0] - margin, found.coming[1] + margin)
    return Found(found.start - margin, found.end + margin, "day", coming, due=(found.start, found.end))


def _is_night_to(m: Moment, night: Time, day: Time) -> bool:
    """Return whether a part of a day ends on the weekday `day`: `dans la nuit de dimanche à lundi`."""
    one, other = m.choose(night), m.choose(day)
    is_weekday = night.precision == "part of day" and night.period == day.period == "week"
    return is_weekday and one is not None and other is not None and one[1].weekday() == other[0].weekday()


def join_times(m: Moment, one: Time, other: Time) -> Found | None:
    """Return the span from one time to another; missing fields of one are taken from the other."""
    one, other = one.as_edge(), other.as_edge()
    if (not one.period and other.period) or 0 < _LENGTHS[other.period] < _LENGTHS[one.period]:
        first = m.choose(one)  # `from 3 March to the 5th`
        last = first and next((each for each in other.occur(first[0].date()) if each[0] >= first[0]), None)
    else:
        last = m.choose(other)
        fits = [] if last is None else [each for each in one.occur(last[0].date()) if each[0] < last[1]]
        first = fits[-1] if fits else None
    if first is None or last is None:
        return None
    return Found(first[0], last[1], "hour" if other.precision == "minute" else other.precision)


Read = Callable[[Moment, Any], "Time | Found | dict[str, Any] | None"]
"""Function from the values of a pattern's parts to their meaning; None if they have none together."""
Table = Sequence[tuple[str, Read]]


def _steps(*units: str) -> Callable[[Moment, Any], Time | None]:
    """Return a function that reads the last, this or next of these units."""
    return lambda m, v: choose_unit(m, *v) if v[0] in units else None


def _next_day(day: Time) -> Time:
    return day.cut(lambda span: (span[1], span[1] + DAY), "day")


def _either(one: str, others: str, read: Read) -> Table:
    """Return patterns for `one` before and after `others`; in either order, `read` gets the value of `one` first."""
    return (f"{one} x* {others}", read), (f"{others} x* {one}", lambda m, v: read(m, (v[-1], *v[:-1])))


_TENS = range(20, 100, 10)
_MONTHS, _WEEKS = _steps("month", "year", "day"), _steps("week", "weekend", "day")
_DATES: Table = (
    ("[Mm] x* [do] x* [Y]", lambda _, v: date_of(v[2], v[0], v[1])),
    ("[do] x* [Mm] x* Y Q?", lambda _, v: date_of(v[2], v[1], v[0])),
    ("Y Q? x* [Mm] x* [do] u?", lambda _, v: date_of(v[0], v[2], v[3])),
    ("Y Q x* N J x* N u?", lambda _, v: date_of(v[0], v[2], v[4])),
    ("N J x* N u", lambda _, v: yearly(v[0], v[2]) if 1 <= v[0] <= 12 and 1 <= v[2] <= 31 else None),
    ("Y Q x* N J", lambda _, v: fixed(of_month(v[0], v[2]), "month") if 1 <= v[2] <= 12 else None),
    ("N J", lambda _, v: yearly(v[0]) if 1 <= v[0] <= 12 else None),
    ("N u", lambda _, v: spans.every_month(v[0]) if 1 <= v[0] <= 31 else None),
    ("N u x* g", lambda m, v: count_away(m, -1, v[0], "day")),
    ("N u x* r", lambda m, v: count_away(m, 1, v[0], "day")),
    ("L x* N u", lambda m, v: count_window(m, v[0], (v[1], "day"))),
    *_either("[Mm]", "[do]", lambda _, v: yearly(v[0], v[1])),
    ("U x* [do] x* [Mm]", lambda _, v: yearly(v[2], v[1]) if v[0] == "day" else None),
    ("U x* [do] x* [Mm] x* Y", lambda _, v: date_of(v[3], v[2], v[1]) if v[0] == "day" else None),
    ("U [do]", lambda m, v: spans.every_month(v[1]) if v[0] == "day" and m.lexicon.order == "dmy" else None),
    *_either("[Mm]", "Y Q?", lambda _, v: fixed(of_month(v[1], v[0]), "month")),
    ("M", lambda _, v: yearly(v[0])),
    ("y x* Y", lambda _, v: place_in_year(v[0], v[1])),
    ("y", lambda _, v: v[0]),
    ("S x* Y", lambda m, v: place_in_year(list_seasons(m, v[0]), v[1])),
    ("F x* Y", lambda _, v: place_in_year(spans.every_feast(v[0]), v[1])),
    ("U x* Y", lambda _, v: fixed(of_month(v[1], 1, 12), "year") if v[0] == "year" else None),
    ("Y Q", lambda _, v: fixed(of_month(v[0], 1, 12), "year")),
)
_NEAR: Table = (
    ("D", lambda m, v: m.day(v[0])),
    ("{", lambda m, v: Time("day", lambda _: [of_days(m.today + side * v[0] * DAY) for side in (-1, 1)], "week")),
    ("H", lambda m, v: take_part(m.day(v[0][0]), v[0][1])),
    ("E", lambda m, v: choose_unit(m, *v[0])),
    ("# x* U x* 0", lambda _, v: take_unit(v[2], v[1], -1)),
    ("# x* U", lambda m, v: count_window(m, -1, (1, v[1]))),
    ("N x* L x* U", lambda m, v: count_window(m, v[1], (v[0], v[2]))),
    *_either("U", "[LB]", _MONTHS),
    *_either("M", "[LB]", lambda m, v: choose_step(m, yearly(v[0]), v[1])),
    *_either("S", "[LB]", lambda m, v: choose_step(m, list_seasons(m, v[0]), v[1])),
    *_either("F", "[LB]", lambda m, v: choose_step(m, spans.every_feast(v[0]), v[1])),
    ("F", lambda _, v: spans.every_feast(v[0])),
)
_YEARS: Table = (
    *_either("[09]", "z", lambda _, v: place_in_year_of(v[0], v[1])),
    *_either("S", "z", lambda m, v: place_in_year_of(list_seasons(m, v[0]), v[1])),
)
_AMOUNTS: Table = (
    ("N x* U", lambda _, v: {"q": v}),
    ("N x* N x* U", lambda _, v: {"q": (v[1] + (v[0] if v[0] in _TENS and v[1] < 10 else 0), v[2])}),
    ("h x* N? x* U", lambda _, v: {"q": (0.5, v[2])}),
    ("N x* h x* U", lambda _, v: {"q": (0.5 if v[0] == 1 else v[0] + 0.5, v[2])}),
    ("N x* 8 x* N? x* h x* U", lambda _, v: {"q": (v[0] + 0.5, v[4])}),
    ("N x* U x* 8 x* N? x* h", lambda _, v: {"q": (v[0] + 0.5, v[1])}),
    ("N x* U x* f", lambda _, v: {"q": (v[0] + 0.5, v[1])}),
    ("U x* 8 x* N? x* h", lambda _, v: {"q": (1.5, v[0])}),
)
_COUNTS: Table = (
    ("q x* g", lambda m, v: count_away(m, -1, *v[0])),
    *_either("L", "q", lambda m, v: count_window(m, v[0], v[1])),
    ("a x* q x* L", lambda m, v: count_window(m, v[2], v[1])),
    ("# x* q", lambda m, v: count_window(m, -1, v[1])),
    ("1 x* b? x* q g?", lambda m, v: count_window(m, -1, v[2])),
    ("q [iv]", lambda m, v: count_window(m, -1, v[0])),
    ("q x* g x* L", lambda m, v: count_away(m, -1, *v[0])),
    ("b x* q g?", lambda m, v: count_away(m, -1, *v[1])),
    ("/ x* g", lambda m, v: count_away(m, -1, 1, v[0])),
    ("b x* /", lambda m, v: count_away(m, -1, 1, v[1])),
    ("a x* q r?", lambda m, v: count_away(m, 1, *v[1])),
    ("q x* r", lambda m, v: count_away(m, 1, *v[0])),
    ("a x* U x* [23] x* Z", lambda m, v: move_beside(m, v[3], v[2], v[1])),
    ("a U", lambda m, v: count_away(m, 1, 1, v[1]) if v[1] in ("week", "month", "year") else None),
    ("D x* b x* q", lambda m, v: move_day(m, v[0], v[2], -1)),
    ("q x* g x* D", lambda m, v: move_day(m, v[2], v[0], -1)),
    ("D x* a x* q", lambda m, v: move_day(m, v[0], v[2], 1)),
    ("q 5? D", lambda m, v: move_day(m, v[2], v[0], 1)),
    ("q [n5] W", lambda m, v: count_weekdays(m, v[0][0] + 1, v[2], v[0][1])),
    ("W x* a x* q", lambda m, v: count_weekdays(m, v[2][0] + 1, v[0], v[2][1])),
    ("W U !N", lambda m, v: count_weekdays(m, 2, v[0], v[1])),
    (
        "~ x* L x* W x* ] x* W? x* [L2] W? !UMZ",
        lambda m, v: count_weekdays(m, 2 * (v[1] == 0 < v[5] and {v[4], v[6]} <= {None, v[2]}), v[2]),
    ),
    ("N x* W x* g", lambda m, v: count_weekdays(m, -v[0], v[1])),
    ("b x* N x* W", lambda m, v: count_weekdays(m, -v[1], v[2])),
    ("@", lambda m, _: Found(at_midnight(m.today), at_midnight(m.today + (spans.COMING_DAYS + 1) * DAY), "day")),
    ("R", lambda m, _: Found(at_midnight(m.today - spans.RECENT_DAYS * DAY), m.now, "day")),
    ("O", lambda m, _: Found(at_midnight(m.today - spans.RECENT_DAYS * DAY), at_midnight(m.today), "day")),
)
_PORTIONS: Table = (
    *_either("[0z]", "e", lambda _, v: take_edge(*v)),
    ("e x* [kl]", lambda _, v: take_edge(v[1], v[0])),
    ("e x* L? x* U", lambda m, v: take_edge_of(m, v[0], v[1] or 0, v[2])),
    *_either("0", "[TKo] x* U", lambda _, v: take_unit(v[0], v[2], v[1])),
    *_either("0", "[TKo] x* W", lambda _, v: take_weekday(v[0], v[2], v[1])),
    ("E x* 0", lambda _, v: take_unit(v[1], "week", -1) if v[0] == ("week", -1) else None),
)
_DAYS: Table = (
    ("L x* U x* 3 x* 9", lambda m, v: move_beside(m, v[3], -1, v[1]) if v[0] < 0 else None),
    ("U x* L x* 3 x* 9", lambda m, v: move_beside(m, v[3], -1, v[0]) if v[1] < 0 else None),
    ("L x* W x* 3 x* 9", lambda m, v: choose_weekday_beside(m, v[3], -1, v[1]) if v[0] < 0 else None),
    ("L x* W x* 9", lambda m, v: choose_weekday_beside(m, _next_day(v[2]), -1, v[1]) if v[0] < 0 else None),
    ("}", lambda *_: spans.every_week(5, 2)),
    *_either("U", "[LB]", _WEEKS),
    # Said on Monday, `next Friday` may be in four days or in eleven.
    *_either("W", "»", lambda m, v: _either_day(m, v[0] - m.today.weekday()) if v[0] > m.today.weekday() else None),
    *_either("W", "[LB]", lambda m, v: choose_weekday(m, v[0], v[1])),
    *_either("W", "[LB] x* U", lambda m, v: take_day(v[0], _WEEKS(m, (v[2], v[1])))),
    *_either("W", "U x* [LB]", lambda m, v: take_day(v[0], _WEEKS(m, v[1:]))),
    ("U x* 3 T !UWMSF", lambda m, v: _WEEKS(m, (v[0], -2)) or _MONTHS(m, (v[0], -2))),
    ("W x* U x* 3 T !UWMSF", lambda m, v: take_day(v[0], _WEEKS(m, (v[1], -2)))),
    ("W x* 3 T !UWMSF", lambda m, v: choose_weekday(m, v[0], -2)),
    ("[LB] x* P", lambda m, v: take_part(m.day(v[0]), v[1]) if abs(v[0]) < 2 else None),
    *_either("W", "k", lambda _, v: take_day(v[0], v[1])),
    (
        "U x* 5? x* 9",
        lambda _, v: v[2].cut(lambda day: spans.of_unit("week", day[0].date(), 0), "week") if v[0] == "week" else None,
    ),
    ("W x* 9", lambda _, v: fall_on(v[1], v[0]) if v[1].period == "month" else v[1]),
    ("9 x* W", lambda _, v: match_weekday(*v)),
    # Told on a Sunday, `Sunday was nice` and `ugh, Sunday` mean the day itself, `on Sunday we met` the one before.
    (")", lambda _, v: replace(spans.every_week(v[0]), period="month")),
    ("W", lambda m, v: replace(spans.every_week(v[0]), period="either" if m.tense == "unsure" else "week")),
)
_HOURS: Table = (
    ("N x* C", lambda _, v: {"c": v[0] * 60} if v[0] <= 24 else None),
    ("N x* C N", lambda _, v: {"c": v[0] * 60 + v[2]} if v[0] <= 24 and v[2] < 60 else None),
    ("N x* C? f", lambda _, v: {"c": v[0] * 60 + 30} if v[0] <= 24 else None),
    ("p x* N", lambda _, v: {"c": v[1] * 60 + 30} if v[1] <= 24 else None),
    ("s x* [No]", lambda _, v: {"c": v[1] * 60 - 30} if 1 <= v[1] <= 12 else None),
    ("c C", lambda _, v: {"c": v[0]}),
)
_CLOCKS: Table = (
    *_either("9", "P", lambda _, v: take_part(v[0], v[1])),
    *_either("9", "A? x* c", lambda _, v: take_clock(v[0], v[2])),
    ("9 x* P x* A? x* c", lambda _, v: take_clock(v[0], v[3], v[1])),
    *_either("9", "A? x* c x* P", lambda _, v: take_clock(v[0], v[2], v[3])),
    *_either("9", "A x* N", lambda _, v: take_clock(v[0], v[2] * 60)),
    ("9 x* P x* A x* N", lambda _, v: take_clock(v[0], v[3] * 60, v[1])),
    ("A x* N x* P x* 9", lambda _, v: take_clock(v[3], v[1] * 60, v[2])),
    ("H x* A? x* [Nc]", lambda m, v: take_clock(m.day(v[0][0]), v[2] if v[2] > 24 else v[2] * 60, v[0][1])),
    *_either("P", "A? x* c", lambda _, v: take_clock(every_day(lambda day: day), v[2], v[0])),
    ("A? x* c", lambda _, v: every_day(lambda day: spans.of_clock(day, v[1]))),
)
_BESIDE: Table = (
    ("U x* [23] x* Z", lambda m, v: move_beside(m, v[2], v[1], v[0])),
    ("q x* [23] x* Z", lambda m, v: count_beside(m, v[2], v[1], *v[0])),
    ("W x* [23] x* Z", lambda m, v: choose_weekday_beside(m, v[2], v[1], v[0])),
)
_RANGES: Table = (
    ("[57]? x* t x* [64] x* 9", lambda m, v: v[1] if _is_night_to(m, v[1], v[3]) else None),
    ("[57]? x* Z x* [64] x* Z v?", lambda m, v: join_times(m, v[1], v[3])),
    ("[7] x* Z x* [8] x* Z", lambda m, v: join_times(m, v[1], v[3])),
    ("Z x* 8 x* Z x* 7", lambda m, v: join_times(m, v[0], v[2])),
    ("Z [i`] x* Z v?", lambda m, v: join_times(m, v[0], v[2])),
    ("[57]? x* [do] x* [64] x* 9 v?", lambda m, v: join_times(m, spans.every_month(v[1]), v[3])),
    ("[57] x* [do] x* [648] x* 9 v?", lambda m, v: join_times(m, spans.every_month(v[1]), v[3])),
    ("9 [i`] x* [do] v?", lambda m, v: join_times(m, v[0], spans.every_month(v[2]))),
    ("[do] [i`] x* 9 v?", lambda m, v: join_times(m, spans.every_month(v[0]), v[2])),
    ("[57]? x* 9 x* [64] x* [do]", lambda m, v: join_times(m, v[1], spans.every_month(v[3]))),
    ("7 x* 9 x* 8 x* [do]", lambda m, v: join_times(m, v[1], spans.every_month(v[3]))),
    ("[57] x* o x* [648] x* o", lambda m, v: join_times(m, spans.every_month(v[1]), spans.every_month(v[3]))),
    ("[57] x* N x* [648] x* t", lambda m, v: join_times(m, place_at_hour(v[3], v[1]), v[3])),
    ("5 x* Z x* 4? x* G", lambda m, v: relate(m, v[1], "since")),
)
_OPEN: Table = (
    ("1 x* Z", lambda m, v: relate(m, v[1], "since")),
    ("1 _* x* Z", lambda m, v: relate(m, v[1], "since")),
    ("2 x* Z", lambda m, v: relate(m, v[1], "after")),
    ('" _* x* 9', lambda m, v: relate(m, v[1], "since", is_clause=True)),
    ("; _* x* 9", lambda m, v: relate(m, v[1], "before", is_clause=True)),
    (": x* 9", lambda m, v: widen(m, v[1])),
    ("9 x* '", lambda m, v: widen(m, v[0])),
    ("3 x* Z", lambda m, v: relate(m, v[1], "before")),
    ("4 x* Z", lambda m, v: relate(m, v[1], "until")),
    ("5 x* Z x* n", lambda m, v: relate(m, v[1], "since")),
    ("Z x* i", lambda m, v: relate(m, v[0], "since")),
    ("Z x* j", lambda m, v: relate(m, v[0], "after")),
    ("Z x* &", lambda m, v: relate(m, v[0], "before")),
    ("Z x* v", lambda m, v: relate(m, v[0], "until")),
)

TABLES: tuple[Table, ...] = (
    _DATES, _AMOUNTS, _NEAR, _YEARS, _COUNTS, _PORTIONS, _DAYS, _HOURS, _CLOCKS, _BESIDE, _RANGES, _OPEN
)  # fmt: skip
