"""Words of time as spans: one reader for questions, for stored texts, and for `since` and `until`. Pure.

| module | content |
|---|---|
| `calendar` | the words of a language, from `prompts/calendar`, as a lexicon |
| `parts` | splitting a text into parts: numbers, units, weekdays, directions, dates in digits |
| `patterns`, `grammar` | patterns of parts that name a time; applying them |
| `meanings` | the meaning of parts at a moment: `last week`, `since Monday`, `from 3 to 5 March` |
| `spans` | days, weeks, seasons and feasts in local time, and `Span` in UTC |
| `reader` | `read_spans` and `find_about_days`, which choose the language and read the text |
"""

from .calendar import CALENDARS as CALENDARS
from .calendar import name_words as name_words
from .calendar import talk_words as talk_words
from .calendar import time_words as time_words
from .reader import find_about_days as find_about_days
from .reader import find_relative_day as find_relative_day
from .reader import mask_time as mask_time
from .reader import read_moment as read_moment
from .reader import read_spans as read_spans
from .spans import Span as Span
