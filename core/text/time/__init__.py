"""Words of time as spans: one reader for questions, for stored texts and for `since` and `until`. Pure.

| module | does |
|---|---|
| `calendar` | the words of a language, from `prompts/calendar`, as a lexicon of parts |
| `parts` | cuts a text into parts: numbers, units, weekdays, directions, dates in digits |
| `patterns`, `grammar` | which rows of parts name a time; applies them |
| `meanings` | what they mean beside a moment: `last week`, `since Monday`, `from 3 to 5 March` |
| `spans` | days, weeks, seasons and feasts in local time, and `Span` in UTC |
| `reader` | `read_spans` and `find_about_days`, which choose the language and put it together |
"""

from .calendar import CALENDARS, name_words, talk_words, time_words
from .reader import find_about_days, find_relative_day, mask_time, read_moment, read_spans
from .spans import Span

__all__ = [
    "CALENDARS",
    "Span",
    "find_about_days",
    "find_relative_day",
    "mask_time",
    "name_words",
    "read_moment",
    "read_spans",
    "talk_words",
    "time_words",
]
