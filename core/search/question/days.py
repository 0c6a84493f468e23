"""The days a question names: `7 May 2023`, `last March`, `two weeks ago`, `вчера`, `去年5月` (ten languages).

Reads no clock: what time it is comes in. Called by `search.question.question`.

| said | days that come back |
|---|---|
| a day | that day |
| a day or month without a year | the one in each of the last six years, the newest first |
| last, this, next week, month, year, weekend, season, Monday, March | the calendar's one beside now |
| three days ago, a week ago today | that day |
| the 6th | the last one |
| two weeks, months, years ago | the seven days around it; that month; that year |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache

from ...base.patterns import lazy_pattern
from ...text.calendar_words import Calendar, Unit, calendar
from ...text.languages import bare

MOST_DAYS = 24
"""Most ranges that come back: more are no question."""
MOST_TOKENS = 400
_OF_TIME = frozenset({"uhr", "h", "heures", "horas", "ore", "uur"})
"""What follows a number that is an hour."""
Range = tuple[datetime, datetime]

_ISO = lazy_pattern(r"(?<!\d)(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")
_NUMERIC = lazy_pattern(r"(?<!\d)(\d{1,2})([./])(\d{1,2})\2(\d{4}|\d{2})(?!\d)")
_TOKEN = lazy_pattern(r"\d+|[^\W\d_]+")
YEARLESS = 6
"""Years in which a day or month without a year is looked for."""
YEARS = (1900, 2100)
"""Numbers outside are no years."""
Days = tuple[date, date]
"""First day, and the day after the last."""


def days_in(text: str, *, now: datetime, zone: tzinfo, languages: Sequence[str]) -> tuple[Range, ...]:
    """Return the days a text names as `(since, until)` in UTC, since included, until not; in the order found."""
    today = _today(now, zone)
    found: dict[Days, None] = {}
    for days in _all(text, today, languages):
        found.setdefault(days)
        if len(found) >= MOST_DAYS:
            break
    return tuple(made for days in found if (made := _in_utc(days, zone)) is not None)


def _today(now: datetime, zone: tzinfo) -> date:
    try:
        return now.astimezone(zone).date()
    except (OverflowError, ValueError):
        return now.date()


def _in_utc(days: Days, zone: tzinfo) -> Range | None:
    try:
        since, until = (datetime.combine(day, time.min, zone).astimezone(UTC) for day in days)
    except (OverflowError, ValueError):
        return None
    return since, until


def _all(text: str, today: date, languages: Sequence[str]) -> Iterator[Days]:
    said = bare(text)
    yield from _in_digits(said, "en" in languages[:1])
    rest = _NUMERIC.sub(" ; ", _ISO.sub(" ; ", said))
    yield from cjk_days(rest, today)
    words, as_said = _TOKEN.findall(rest)[:MOST_TOKENS], _TOKEN.findall(text)[:MOST_TOKENS]
    dated = any(word.isdecimal() for word in words)
    spoken = (code for code in languages if dated or not _telling(code).isdisjoint(words))
    readings = [list(_Reader(known, today, words, as_said).read()) for known in map(calendar, spoken) if known]
    # Of several languages the one that reads most into the words: `7 mai 2023` is a year in English, a day in French.
    yield from min(filter(None, readings), key=_length, default=[])


@lru_cache(maxsize=64)
def _telling(language: str) -> frozenset[str]:
    """Return the words of a language without which nothing but digits names a day."""
    known = calendar(language)
    if known is None:
        return frozenset()
    phrases = frozenset(phrase[0] for phrase in known.days)
    return phrases.union(known.months, known.weekdays, known.units, known.seasons)


def _length(days: Sequence[Days]) -> tuple[int, int]:
    lengths = [(until - since).days for since, until in days]
    return min(lengths), max(lengths)


def _in_digits(said: str, month_first: bool) -> Iterator[Days]:
    for match in _ISO.finditer(said):
        year, month, day = int(match[1]), int(match[2]), int(match[3] or 0)
        yield from days_of(year, month, day or None)
    for match in _NUMERIC.finditer(said):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        year += 2000 if year < 100 else 0
        swapped = (month_first and match[2] == "/" and first <= 12) or second > 12
        yield from days_of(year, first if swapped else second, second if swapped else first)


@dataclass(slots=True)
class _Reader:
    """One reading of a question's words in one language, from left to right, the longest thing first."""

    known: Calendar
    today: date
    words: Sequence[str]
    """Bare."""
    said: Sequence[str]
    """As said; as many as `words`, or useless."""
    at: int = field(default=0, init=False)

    def read(self) -> Iterator[Days]:
        """Yield the days in the order they are named."""
        while self.at < len(self.words):
            before = self.at
            steps = (
                self._named_day,
                self._date,
                self._counted,
                self._day_of_month,
                self._beside,
                self._month,
                self._year,
            )
            for step in steps:
                yield from step()
                if self.at > before:
                    break
            else:
                self.at += 1

    def _word(self, at: int) -> str:
        return self.words[at] if 0 <= at < len(self.words) else ""

    def _after_joins(self, at: int) -> int:
        for _ in range(2):
            at += self._word(at) in self.known.joins
        return at

    def _number(self, at: int) -> int | None:
        word = self._word(at)
        if word.isdecimal():
            return int(word) if len(word) <= 4 else None
        return self.known.numbers.get(word)

    def _year_at(self, at: int) -> int | None:
        word = self._word(at)
        is_year = len(word) == 4 and word.isdecimal() and YEARS[0] <= int(word) <= YEARS[1]
        return int(word) if is_year else None

    def _day_at(self, at: int) -> int | None:
        word = self._word(at)
        return int(word) if len(word) <= 2 and word.isdecimal() and 1 <= int(word) <= 31 else None

    def _named_day(self) -> Iterator[Days]:
        """Read `yesterday`, `the day before yesterday`."""
        for length in (3, 2, 1):
            phrase = tuple(self.words[self.at : self.at + length])
            back = self.known.days.get(phrase) if len(phrase) == length else None
            if back is not None:
                self.at += length
                counted = self._read_count()  # `heute vor einer Woche`
                weeks = counted[0] if counted is not None and counted[1] == "week" else 0
                self.at = counted[2] if counted is not None and weeks else self.at
                yield from span("day", self.today, back + 7 * weeks)
                return

    def _date(self) -> Iterator[Days]:
        """Read `7 May 2023`, `7th of May`, `May 7, 2023`."""
        day, place = self._day_at(self.at), self._after_joins(self.at + 1)
        if day is not None and self._word(place) in self.known.months:
            month, end = self.known.months[self._word(place)], place + 1
        elif self._word(self.at) in self.known.months:
            place = self._after_joins(self.at + 1)
            day, month, end = self._day_at(place), self.known.months[self._word(self.at)], place + 1
        else:
            return
        if day is None:
            return
        yield from self._with_year(month, day, end)

    def _with_year(self, month: int, day: int | None, end: int) -> Iterator[Days]:
        place = self._after_joins(end)
        year = self._year_at(place)
        self.at = end if year is None else place + 1
        yield from yearless(self.today, month, day) if year is None else days_of(year, month, day)

    def _counted(self) -> Iterator[Days]:
        """Read `two weeks ago`, `vor zwei Wochen`, `неделю назад`, and `a week ago today`."""
        counted = self._read_count()
        if counted is None:
            return
        count, unit, self.at = counted
        back = self.known.days.get((self._word(self.at),)) if unit == "week" else None
        if back is None:
            yield from count_back(count, unit, self.today)
        else:
            self.at += 1
            yield from span("day", self.today, back + 7 * count)

    def _read_count(self) -> tuple[int, Unit, int] | None:
        """Return how many of which unit are counted back here, and where the words go on; None where none are."""
        known = self.known
        start = self.at
        has_back = self._word(start) in known.back
        start += has_back
        count = self._number(start)
        place = start + (count is not None)
        while count is not None and self._word(place) in ("of", "de", "di"):
            place += 1
        unit = known.units.get(self._word(place))
        if unit is None or not ((has_back and count is not None) or self._word(place + 1) in known.ago):
            return None
        return (1 if count is None else count), unit, place + 1 + (not has_back)

    def _day_of_month(self) -> Iterator[Days]:
        """Read `on the 6th`, `am 6.`: the last such day."""
        day, known = self._day_at(self.at), self.known
        if day is None or not (
            self._word(self.at - 1) in known.before_day or self._word(self.at + 1) in known.after_day
        ):
            return
        if self._word(self.at + 1) in _OF_TIME:
            return
        self.at += 1
        yield from last_day_of_month(self.today, day)

    def _beside(self) -> Iterator[Days]:
        """Read `last week`, `la semaine dernière`, `next Friday`, `this summer`, `on Monday`."""
        first, second = self._word(self.at), self._word(self.at + 1)
        steps, thing, length = self._steps(first), second, 2
        if steps is None and self._is_thing(first):
            steps, thing = self._steps(second), first
        if steps is None or not self._is_thing(thing):
            # A weekday alone is the last one; a month alone has a reading of its own.
            if first not in self.known.weekdays or first in self.known.ambiguous:
                return
            steps, thing, length = 1, first, 1
        self.at += length
        yield from self._near(thing, steps)

    def _steps(self, word: str) -> int | None:
        known = self.known
        return 1 if word in known.last else 0 if word in known.this else -1 if word in known.next else None

    def _is_thing(self, word: str) -> bool:
        known = self.known
        return word in known.units or word in known.weekdays or word in known.months or word in known.seasons

    def _near(self, thing: str, steps: int) -> Iterator[Days]:
        known, today = self.known, self.today
        if thing in known.units:
            yield from span(known.units[thing], today, steps)
        elif thing in known.weekdays:
            back = (today.weekday() - known.weekdays[thing]) % 7
            back = (back or 7) if steps > 0 else back - 7 if steps < 0 else today.weekday() - known.weekdays[thing]
            yield from span("day", today, back)
        elif thing in known.months:
            yield from self._year_of(known.months[thing], 1, steps)
        else:
            yield from self._year_of(known.seasons[thing], 3, steps)

    def _year_of(self, first: int, months: int, steps: int) -> Iterator[Days]:
        """Yield the month or season, of `months` months, beside now: over by now, this year's, or still to come."""
        year = self.today.year
        if steps > 0:
            while month_span(year, first, months)[1] > self.today:
                year -= 1
        elif steps < 0 and date(year, first, 1) <= self.today:
            year += 1
        yield month_span(year, first, months)

    def _month(self) -> Iterator[Days]:
        """Read `May 2023`, `in March`, `summer 2022`."""
        word = self._word(self.at)
        place = self._after_joins(self.at + 1)
        year = self._year_at(place)
        month = self.known.months.get(word)
        if month is not None and (year is not None or word not in self.known.ambiguous or self._is_meant()):
            yield from self._with_year(month, None, self.at + 1)
        elif month is None and word in self.known.seasons and year is not None:
            self.at = place + 1
            yield month_span(year, self.known.seasons[word], 3)

    def _is_meant(self) -> bool:
        """Return whether an ambiguous month is one: a word before it says so, and it is written as a name."""
        word = self._word(self.at)
        said = self.said[self.at] if len(self.said) == len(self.words) else ""
        return self._word(self.at - 1) in self.known.into and not (word in self.known.names and said.islower())

    def _year(self) -> Iterator[Days]:
        year = self._year_at(self.at)
        if year is not None:
            self.at += 1
            if year >= 1970:
                yield from days_of(year)


# Days, weeks, months and years as spans of the calendar, counted from today


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


# Japanese, Chinese, Korean and Thai: patterns, since words have no spaces between

_N = "([0-9]{1,4}|[一二三四五六七八九十两兩]{1,3}|하루|이틀|사흘|한|두|세|네|다섯|여섯)"
_DIGITS = {char: at for at, char in enumerate("〇一二三四五六七八九")} | {"两": 2, "兩": 2}
_KOREAN = {"하루": 1, "이틀": 2, "사흘": 3, "한": 1, "두": 2, "세": 3, "네": 4, "다섯": 5, "여섯": 6}

_NAMED: tuple[tuple[str, Unit, int], ...] = (
    ("一昨日|おととい|前天|그저께|그제|เมื่อวานซืน", "day", 2),
    ("昨日|きのう|昨夜|昨晩|昨天|昨晚|어제|เมื่อวาน", "day", 1),
    ("今日|きょう|今朝|今夜|今晩|今天|今晚|오늘|วันนี้", "day", 0),
    ("明日|あした|明天|내일|พรุ่งนี้", "day", -1),
    ("先週末|上周末|上週末|上个周末|지난 주말", "weekend", 1),
    ("先週|上周|上週|上星期|上个星期|上個星期|上礼拜|지난주|지난 주|สัปดาห์ที่แล้ว|อาทิตย์ที่แล้ว", "week", 1),
    ("今週|本周|这周|這週|这个星期|이번 주|이번주|สัปดาห์นี้", "week", 0),
    ("来週|下周|下週|下星期|다음 주|다음주|สัปดาห์หน้า", "week", -1),
    ("先月|上个月|上個月|지난달|지난 달|เดือนที่แล้ว", "month", 1),
    ("今月|这个月|這個月|本月|이번 달|이번달|เดือนนี้", "month", 0),
    ("来月|下个月|下個月|다음 달|다음달|เดือนหน้า", "month", -1),
    ("一昨年|おととし|前年|재작년", "year", 2),
    ("去年|昨年|作年|작년|지난해|ปีที่แล้ว", "year", 1),
    ("今年|올해|금년|ปีนี้", "year", 0),
    ("来年|明年|내년|ปีหน้า", "year", -1),
)
_UNITS: tuple[tuple[str, Unit], ...] = (
    ("週間|周|週|个星期|個星期|星期|주일|주", "week"),
    ("か月|ヶ月|ヵ月|カ月|个月|個月|개월|달", "month"),
    ("年", "year"),
    ("년", "year"),
    ("日|天|일", "day"),
)
_BEFORE = " ?(?:前|전|以前|之前)"
_FULL = lazy_pattern(rf"(?:([0-9]{{4}})\s?[年년]\s?)?{_N}\s?[月월](?:\s?{_N}\s?[日号號일])?")
_YEAR = lazy_pattern(r"(?<![0-9])([0-9]{4})\s?[年년]")
_DAY = lazy_pattern("(?<![0-9月월])([0-9]{1,2})\\s?[日号號일](?![前間间전후])")
_PATTERNS = tuple((lazy_pattern(pattern), unit, back) for pattern, unit, back in _NAMED)
_COUNTED = tuple(
    (lazy_pattern(f"{_N} ?(?:{pattern}){_BEFORE}|(하루|이틀|사흘){_BEFORE}"), unit) for pattern, unit in _UNITS
)
_WEEKDAY = lazy_pattern("([月火水木金土日])曜|(?:周|週|星期|礼拜|禮拜)([一二三四五六日天])|([월화수목금토일])요일")
_WEEKDAYS = {
    char: at
    for at, chars in enumerate(("月一월", "火二화", "水三수", "木四목", "金五금", "土六토", "日天일"))
    for char in chars
}
_ANY = lazy_pattern("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


def number(text: str) -> int:
    """Return a number written in digits, in Han up to 99, or as a Korean word; 0 for none."""
    if text.isdecimal() and text.isascii():
        return int(text)
    if text in _KOREAN:
        return _KOREAN[text]
    tens, ten, ones = text.partition("十")
    if not ten:
        return _DIGITS.get(text, 0)
    return (_DIGITS.get(tens, 1) if tens else 1) * 10 + (_DIGITS.get(ones, 0) if ones else 0)


def cjk_days(text: str, today: date) -> Iterator[Days]:
    """Yield the days that are named, month by month, then those counted from today."""
    if not _ANY.search(text):
        return
    last_year = re.search("去年|昨年|작년", text) is not None
    for match in _FULL.finditer(text):
        month, day = number(match[2]), number(match[3]) if match[3] else None
        if match[1] or last_year:
            yield from days_of(int(match[1]) if match[1] else today.year - 1, month, day)
        elif 1 <= month <= 12:
            yield from yearless(today, month, day)
    rest = _FULL.sub(" ", text)
    for match in _YEAR.finditer(rest):
        yield from days_of(int(match[1]))
    for match in _DAY.finditer(rest):
        yield from last_day_of_month(today, int(match[1]))
    for pattern, unit in _COUNTED:
        for match in pattern.finditer(rest):
            # Days that are words of their own, such as 이틀, come without a unit.
            yield from count_back(number(match[1] or match[2]), "day" if match[2] else unit, today)
        rest = pattern.sub(" ", rest)
    for pattern, unit, back in _PATTERNS:
        if pattern.search(rest):
            yield from span(unit, today, back)
            rest = pattern.sub(" ", rest)
    for match in _WEEKDAY.finditer(rest):
        day = _WEEKDAYS[next(group for group in match.groups() if group)]
        yield from span("day", today, (today.weekday() - day) % 7 or 7)
