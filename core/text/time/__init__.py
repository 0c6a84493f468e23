"""Words of time as spans: one reader for questions, for stored texts, and for `since` and `until`. Pure."""

from .calendar import CALENDARS as CALENDARS
from .calendar import asks_who as asks_who
from .calendar import may_name_time as may_name_time
from .calendar import name_words as name_words
from .calendar import names_talk as names_talk
from .calendar import talk_words as talk_words
from .calendar import time_words as time_words
from .reader import LOOKED_AT as LOOKED_AT
from .reader import find_about_days as find_about_days
from .reader import find_day_meant as find_day_meant
from .reader import mask_time as mask_time
from .reader import names_feast as names_feast
from .reader import read_moment as read_moment
from .reader import read_spans as read_spans
from .spans import Span as Span
from .spans import name_days as name_days
from .spans import name_recurring as name_recurring
from .spans import name_yearly as name_yearly
from .spans import name_years as name_years
