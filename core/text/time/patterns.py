"""Patterns of parts that name a time: `L U` is `last week`, `W x* L U` is `Tuesday of last week`.

A pattern is a sequence of kinds (`calendar.KINDS`, `parts.level`): `x*` allows small words, `_*` other words, `?`
makes a kind optional, `[ab]` allows either kind, and `!ab` forbids both kinds next. The tables are applied one after
another, each from left to right, the longest pattern first; a match becomes one part, which later patterns can use:

Z  a time (`spans.Time`), with a letter for its length: t part of a day, 9 day, k week, 0 month, z year, l other
q  a number and its unit
%  a span with its ends: `Found`
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import spans
from .meanings import (
    Found,
    Moment,
    choose_step,
    choose_unit,
    choose_weekday,
    choose_weekday_beside,
    count_away,
    count_beside,
    count_weekdays,
    count_window,
    date_of,
    join_times,
    list_seasons,
    move_beside,
    move_day,
    place_at_hour,
    place_in_year,
    place_in_year_of,
    read_moment,
    relate,
    take_clock,
    take_day,
    take_edge,
    take_edge_of,
    take_hour,
    take_part,
    take_unit,
    take_week,
    take_weekday,
    widen,
)
from .parts import yearly
from .spans import DAY, Time, at_midnight, every_day, fixed, of_days, of_month

Read = Callable[[Moment, Any], "Time | Found | dict[str, Any] | None"]
"""Function from the values of a pattern's parts to their meaning; None if they have none together."""
Table = Sequence[tuple[str, Read]]


def _steps(*units: str) -> Callable[[Moment, Any], Time | None]:
    """Return a function that reads the last, this or next of these units."""
    return lambda m, v: choose_unit(m, *v) if v[0] in units else None


def _next_day(day: Time) -> Time:
    return day.cut(lambda span: (span[1], span[1] + DAY), "day")


def _either(one: str, others: str, read: Read) -> Table:
    """Return the patterns of a part and others in either order; `read` takes the value of the one part first."""
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
    ("D", lambda m, v: fixed(of_days(m.today + v[0] * DAY), "day")),
    ("{", lambda m, v: Time("day", lambda _: [of_days(m.today + side * v[0] * DAY) for side in (-1, 1)], "week")),
    ("H", lambda m, v: read_moment(m, v[0])),
    ("E", lambda m, v: choose_unit(m, v[0][:-2], int(v[0][-2:]))),
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
    ("q x* 5 x* D", lambda m, v: move_day(m, v[2], v[0], 1)),
    ("N x* W x* g", lambda m, v: count_weekdays(m, v[0], v[1])),
    ("b x* N x* W", lambda m, v: count_weekdays(m, v[1], v[2])),
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
    ("E x* 0", lambda _, v: take_unit(v[1], "week", -1) if v[0] == "week-1" else None),
)
_DAYS: Table = (
    ("L x* U x* 3 x* 9", lambda m, v: move_beside(m, v[3], -1, v[1]) if v[0] < 0 else None),
    ("U x* L x* 3 x* 9", lambda m, v: move_beside(m, v[3], -1, v[0]) if v[1] < 0 else None),
    ("L x* W x* 3 x* 9", lambda m, v: choose_weekday_beside(m, v[3], -1, v[1]) if v[0] < 0 else None),
    ("L x* W x* 9", lambda m, v: choose_weekday_beside(m, _next_day(v[2]), -1, v[1]) if v[0] < 0 else None),
    ("}", lambda *_: spans.every_week(5, 2)),
    *_either("U", "[LB]", _WEEKS),
    *_either("W", "[LB]", lambda m, v: choose_weekday(m, v[0], v[1])),
    *_either("W", "[LB] x* U", lambda m, v: take_day(v[0], _WEEKS(m, (v[2], v[1])))),
    *_either("W", "U x* [LB]", lambda m, v: take_day(v[0], _WEEKS(m, v[1:]))),
    ("U x* 3 T !UWMSF", lambda m, v: _WEEKS(m, (v[0], -2)) or _MONTHS(m, (v[0], -2))),
    ("W x* U x* 3 T !UWMSF", lambda m, v: take_day(v[0], _WEEKS(m, (v[1], -2)))),
    ("W x* 3 T !UWMSF", lambda m, v: choose_weekday(m, v[0], -2)),
    ("[LB] x* P", lambda m, v: take_part(fixed(of_days(m.today + v[0] * DAY), "day"), v[1]) if abs(v[0]) < 2 else None),
    *_either("W", "k", lambda _, v: take_day(v[0], v[1])),
    ("U x* 5? x* 9", lambda _, v: take_week(v[2]) if v[0] == "week" else None),
    ("W x* 9", lambda _, v: v[1]),
    ("W", lambda _, v: spans.every_week(v[0])),
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
    ("H x* A? x* [Nc]", take_hour),
    *_either("P", "A? x* c", lambda _, v: take_clock(every_day(lambda day: day), v[2], v[0])),
    ("A? x* c", lambda _, v: every_day(lambda day: spans.of_clock(day, v[1]))),
)
_BESIDE: Table = (
    ("U x* [23] x* Z", lambda m, v: move_beside(m, v[2], v[1], v[0])),
    ("q x* [23] x* Z", lambda m, v: count_beside(m, v[2], v[1], *v[0])),
    ("W x* [23] x* Z", lambda m, v: choose_weekday_beside(m, v[2], v[1], v[0])),
)
_RANGES: Table = (
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
"""Tables in the order they are applied."""
