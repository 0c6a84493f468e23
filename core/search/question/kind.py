"""What a question asks for, and whether it is about the one who asks or the one who is asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ...base.patterns import lazy_pattern
from ...text import question_words as tables
from ...text.calendar_words import CALENDARS, calendar
from ...text.folding import fold, runs
from ...text.languages import bare, common_words

TURN_CHARS = 20_000
"""Characters of a turn that are looked through for times and numbers."""

_DIGITS = lazy_pattern(r"\d")
_DATE = lazy_pattern(r"\b(?:19|20)\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b")
_CJK_TIME = lazy_pattern(
    fold(
        "昨日|一昨日|今日|明日|昨夜|今朝|先週|先月|去年|昨年|来週|来月|来年|今週|今月|今年|週末|"
        "昨天|前天|今天|明天|上周|上週|上个月|上個月|下周|下個月|明年|周末|最近|先日|この間|"
        "[0-9一二三四五六七八九十〇]{1,4}[年月日号號]|[月火水木金土日]曜|[周週]末?[一二三四五六日天]|"
        "[0-9一二三四五六七八九十]{1,9}(?:日|週間|か月|ヶ月|年|天|周|週|个月|個月)前|"
        "어제|오늘|내일|그제|지난|작년|올해|내년|요일|주말|[0-9]{1,9}[년월일]|"
        "เมื่อวาน|วันนี้|พรุ่งนี้|สัปดาห์|อาทิตย์|เดือน|ปีที่แล้ว|วัน(?:จันทร์|อังคาร|พุธ|พฤหัส|ศุกร์|เสาร์)|"
        "أمس|اليوم|غدا|الأسبوع|الشهر|السنة|العام|يوم|אתמול|היום|מחר|שבוע|חודש|שנה|"
        "χθες|σημερα|σήμερα|αυριο|αύριο|εβδομάδα|μήνα|χρόνο|कल|आज|परसों|हफ्ते|महीने|साल|पिछले"
    )
)
_CJK_NUMBER = lazy_pattern("[一二三四五六七八九十百千万両两]|ひとつ|ふたつ|みっつ|หนึ่ง|สอง|สาม|สี่|ห้า|หก|เจ็ด|แปด|เก้า|สิบ")
_CAPITAL_MONTH = lazy_pattern(r"(?<![.!?] )(?<!^)\b(?:May|March)\b")


@lru_cache(maxsize=32)
def _time_words(languages: tuple[str, ...]) -> frozenset[str]:
    found: set[str] = set()
    for language in languages or tuple(CALENDARS):
        known = calendar(language)
        if known is not None:
            named = {phrase[0] for phrase in known.days if len(phrase) == 1}
            named.update(known.months, known.weekdays, known.units, known.seasons, known.loose)
            found |= named - known.ambiguous - _words_of_others(language, languages)
    return frozenset(found)


def _words_of_others(language: str, languages: tuple[str, ...]) -> set[str]:
    """Return what is a common word in another language that is looked for: `an` is a year in French."""
    others = set(languages or CALENDARS) - {language}
    return {word for other in others for word in common_words(other)}


@lru_cache(maxsize=32)
def _number_words(languages: tuple[str, ...]) -> frozenset[str]:
    found: set[str] = set()
    for language in languages or tuple(tables.NUMBERS):
        named = {bare(word) for word in tables.NUMBERS.get(language, "").split()}
        found |= named - _words_of_others(language, languages)
    return frozenset(found)


_LETTERS = lazy_pattern(r"[^\W\d_]+")


def time_expressions(text: str, languages: Sequence[str] = ()) -> int:
    """Return how many words of a turn tell a time: days, months, years, spans, `yesterday`, `last`, `ago`."""
    said = text[:TURN_CHARS]
    known = _time_words(tuple(languages))
    found = sum(word in known for word in _LETTERS.findall(bare(said))) + len(_DATE.findall(said))
    if not said.isascii():
        found += len(_CJK_TIME.findall(fold(said)))
    return found + len(_CAPITAL_MONTH.findall(said))


def has_number(text: str, languages: Sequence[str] = ()) -> bool:
    """Return whether a turn tells a number, in digits or in words; arguments as for `time_expressions`."""
    said = text[:TURN_CHARS]
    if _DIGITS.search(said) or (not said.isascii() and _CJK_NUMBER.search(said)):
        return True
    known = _number_words(tuple(languages))
    return any(word in known for word in _words(said))


def _words(said: str) -> list[str]:
    return [run for run, _ in runs(bare(said))]
