"""The days a question names in Japanese, Chinese, Korean and Thai: patterns, since words have no spaces between."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from ...base.patterns import lazy_pattern
from ...text.calendar_words import Unit
from .day_spans import Days, count_back, days_of, last_day_of_month, span, yearless

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
