"""Split a text into parts: words with their possible meanings, numbers, dates and clock times in digits."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple

from ...base.patterns import lazy_pattern
from .calendar import BREAK, SHORTEST_STEM, SIGNS, WORD_CHARS, Lexicon
from .spans import DAY, YEARS, Time, every_year, fixed, of_date, of_days, of_month

MOST_PARTS = 400
_TOKEN = lazy_pattern(
    rf"(?P<word>{WORD_CHARS})"
    r"|(?P<iso>(?<!\d)\d{4}-\d\d?-\d\d?(?:t(?=\d\d:)|(?:/\d{1,4}(?:-\d\d?){0,2})?(?!\d)))|(?P<week>(?<!\d)\d{4}-?w\d\d?(?!\d))"
    r"|(?P<month>(?<!\d)\d{4}[-/](?:0[1-9]|1[0-2])(?!\d|[-/]\d\d?(?!\d)))"
    r"|(?P<dotted>(?<![\d.])\d\d?\. ?\d\d?\.(?: ?\d{4}|\d\d)?(?!\d))"
    r"|(?P<full>(?<![\d/.])(?<!(?<!\d\d)-)(?:\d\d?(?P<sign1>[/.-])\d\d?(?P=sign1)(?:\d{4}|\d\d)"
    r"|\d{4}(?P<sign2>[/.]) ?\d\d?(?P=sign2) ?\d\d?\.?)(?![\d/]))"
    r"|(?P<slashed>(?<![\d/])(?!24/7)\d\d?/\d\d?(?![\d/]))|(?P<decimal>\d+[.,]\d+(?![\d:])|\d+0'?(?:s|er)\b)"
    r"|(?P<clock>(?<!\d)\d\d?:\d\d(?!\d)(?: ?[ap]\.?m\b\.?)?|(?<!\d)\d\d? ?[ap]\.?m\b\.?"
    r"|(?<!\d)\d\d? ?h ?(?:\d\d)?(?![\w]))"
    r"|(?P<number>\d+)(?P<ordinal>(?:st|nd|rd|th|er|s?te[nr]?|de|eme|e|o|a|º|ª|(?<!\d{3})\.)(?=[^\w]|$))?"
    rf"|(?P<sign>[{SIGNS}])"
    r"|(?P<dash>[-\u2013\u2014\u301c~\uff5e])|(?P<break>[!?;\n]|[.](?= |\n|$))|(?P<comma>[,、:])"
)
_FRACTIONS = frozenset({"1/2", "1/3", "2/3", "1/4", "3/4", "1/8"})
"""Texts that are more often fractions than dates: they are dates only after a word such as `on`."""
_HAN = {char: at for at, char in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2, "十": 10}
_MARKS = {"dash": {"6": 0, "x": 0}, "break": {BREAK: 0}}
_SHORT = frozenset("mw")
_LENGTHS = {"minute": "t", "hour": "t", "part of day": "t", "day": "9", "week": "k", "month": "0", "year": "z"}


class TimePart(NamedTuple):
    kinds: Mapping[str, Any]
    """Value for each kind of the part (`calendar.KINDS`, `build_kinds`)."""
    begin: int
    end: int


def cut(text: str, lexicon: Lexicon) -> list[TimePart]:
    """Return the parts of a folded text, in order; adjacent words without a meaning form one part without kinds."""
    parts: list[TimePart] = []
    phrases, stems = lexicon.phrases, lexicon.stems
    tokens = list(_TOKEN.finditer(text))[: 6 * MOST_PARTS]
    words = [token[0] if token.lastgroup in ("word", "sign") else "" for token in tokens]
    at = 0
    while at < len(tokens) and len(parts) < MOST_PARTS:
        token, length, extra = tokens[at], 1, None
        kinds: Mapping[str, Any] = {}
        if not words[at]:
            kinds = _read_token(token, lexicon)
            is_dot = BREAK in kinds and parts and not _SHORT.isdisjoint(parts[-1].kinds)
            if is_dot and text[token.end() :].lstrip()[:1].isdigit():  # `Feb. 3`
                parts[-1], at = parts[-1]._replace(end=token.end()), at + 1
                continue
            if token.lastgroup == "decimal" and parts and lexicon.has_dotted_days:
                kinds = _read_dotted(token[0], parts[-1].kinds)
            if parts and "A" in parts[-1].kinds and token["ordinal"] == ".":
                kinds = {kind: value for kind, value in kinds.items() if kind != "o"}  # `at 9.` ends a sentence
        elif words[at] in phrases or words[at][:SHORTEST_STEM] in stems:  # most words have no meaning
            kinds, length, extra = lexicon.read(words, at)
        if words[at] in _HAN and (not kinds or (parts and "J" in parts[-1].kinds)):
            length, kinds = _read_han(words, at)
        end = tokens[at + length - 1].end()
        if kinds or not parts or parts[-1].kinds:
            parts.append(TimePart(kinds, token.start(), end))
        if extra:
            parts.append(TimePart(extra, end, end))
        at += length
    return parts


def _read_han(words: list[str], at: int) -> tuple[int, Mapping[str, Any]]:
    """Return the length of a number in Han characters, and its value: digits, or a number below 100 with `十`."""
    length = next((n for n, word in enumerate(words[at : at + 4]) if word not in _HAN), min(4, len(words) - at))
    tens, ten, ones = "".join(words[at : at + length]).partition("十")
    if ten:
        return length, {"N": (_HAN.get(tens, 1) if tens else 1) * 10 + (_HAN.get(ones, 0) if ones else 0)}
    value = int("".join(str(_HAN[word]) for word in words[at : at + length]))
    return length, {"N": value, "Y": value} if YEARS[0] <= value <= YEARS[1] else {"N": value}


def _read_token(token: re.Match[str], lexicon: Lexicon) -> Mapping[str, Any]:
    kind = next(name for name, found in token.groupdict().items() if found is not None)
    numbers = [int(each) for each in re.findall(r"\d+", token[0])]
    if kind == "number":
        return _read_number(token, numbers[0])
    if kind in _MARKS:
        return _MARKS[kind]
    if kind == "comma":
        return {"x": 0, ",": token[0]}
    if kind == "clock":
        return _read_clock(token[0], numbers)
    if kind == "slashed":
        dated = _yearless(numbers[0], numbers[1], lexicon)
        return {} if dated is None else {"." if token[0] in _FRACTIONS else "y": dated}
    time = _read_date(kind, token[0], numbers, lexicon)
    return {} if time is None else build_kinds(time)


def _read_dotted(text: str, before: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the date in a number behind a weekday or a word such as `am`: `pt 6.11`."""
    day, _, month = text.partition(".")
    is_date = "W" in before or "w" in before or before.get("I") == "day"
    return {".": yearly(int(month), int(day))} if is_date and month.isdigit() and 1 <= int(month) <= 12 else {}


def _read_number(token: re.Match[str], value: int) -> Mapping[str, Any]:
    if len(token["number"]) > 4:
        return {}
    kinds: dict[str, Any] = {"N": value}
    if 1 <= value <= 31:
        kinds["d"] = value
    if len(token["number"]) == 4 and YEARS[0] <= value <= YEARS[1]:
        kinds["Y"] = value
    if token["ordinal"]:
        kinds["o"] = value
        if token["ordinal"] == "." and not token.string[token.end() :].strip():
            kinds[BREAK] = 0
    return kinds


def _read_clock(text: str, numbers: list[int]) -> Mapping[str, Any]:
    hour, minute = numbers[0], numbers[1] if len(numbers) > 1 else 0
    if hour > 24 or minute > 59:
        return {}
    if "p" in text and hour < 12:
        hour += 12
    elif "a" in text and hour == 12:
        hour = 0
    return {"c": (hour * 60 + minute) % 1440}


def build_kinds(time: Time) -> dict[str, Any]:
    """Return the kinds of a time, which patterns match: `Z`, and the letter for its length."""
    return {"Z": time, _LENGTHS.get(time.precision, "l"): time}


def _yearless(first: int, second: int, lexicon: Lexicon, *, is_dotted: bool = False) -> Time | None:
    is_swapped = lexicon.order == "ymd" or (lexicon.order == "mdy" and not is_dotted)
    day, month = (second, first) if is_swapped and first <= 12 else (first, second)
    if month > 12:
        day, month = month, day
    return yearly(month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None


def yearly(month: int, day: int | None = None) -> Time:
    if day is None:
        return every_year(lambda year: of_month(year, month), "month")
    return every_year(lambda year: of_date(year, month, day), "day")


def _read_date(kind: str, text: str, numbers: list[int], lexicon: Lexicon) -> Time | None:
    if kind == "month":
        return fixed(of_month(*numbers), "month") if YEARS[0] <= numbers[0] <= YEARS[1] else None
    if kind == "week":
        if not 1 <= numbers[1] <= 53 or not YEARS[0] <= numbers[0] <= YEARS[1]:
            return None
        return fixed(of_days(date.fromisocalendar(numbers[0], 1, 1) + 7 * (numbers[1] - 1) * DAY, 7), "week")
    if kind == "iso":
        return _read_iso(numbers)
    if kind == "dotted" and len(numbers) == 2:
        return _yearless(numbers[0], numbers[1], lexicon, is_dotted=True)
    if kind == "decimal" or len(numbers) < 3:
        return None
    if numbers[0] > 31:
        span = of_date(numbers[0], numbers[1], numbers[2])
    else:
        first, second, year = numbers
        year += 2000 if year < 100 else 0
        is_swapped = first <= 12 and ((lexicon.order == "mdy" and "/" in text) or second > 12)
        span = of_date(year, first, second) if is_swapped else of_date(year, second, first)
    return None if span is None else fixed(span, "day")


def _read_iso(numbers: list[int]) -> Time | None:
    """Return a date such as `2026-02-10`, or a range such as `2026-02-10/13`, whose end omits the common prefix."""
    first = of_date(*numbers[:3])
    if first is None or len(numbers) == 3:
        return None if first is None else fixed(first, "day")
    last = of_date(*numbers[: 6 - len(numbers)], *numbers[3:])
    return None if last is None or last[1] <= first[0] else fixed((first[0], last[1]), "day")
