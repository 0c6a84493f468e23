"""How languages name days, months and spans of time, for `search.question.days`: the lists of `prompts/calendar`.

In these a `|` separates things, a space the forms of one thing.

| list | what it holds |
|---|---|
| months, weekdays, seasons | from January, Monday, spring on |
| units | day, week, weekend, month, year, as in UNITS |
| days | phrases that name one day, each with how many days it lies back: `yesterday=1`, `_` for a space |
| last, this, next | what stands beside a unit, month or weekday to say which one |
| ago, back | what stands after, or before, a span to say it is counted back from now |
| numbers, few | words from one to twelve; words for a number left open, which count as two |
| into | words before a month or year that show it is one (`in May`); needed where its name is also another word |
| ambiguous, names | months that are also other words; of these the ones written with a capital where they are months |
| joins | what may stand between a day, its month and its year |
| before_day, after_day | what stands around a number that is a day of the month: `on the 6th` |
| loose | other words that make a text one that tells a time |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from .languages import bare
from .words import read_lists

Unit = Literal["day", "week", "weekend", "month", "year"]
UNITS: tuple[Unit, ...] = ("day", "week", "weekend", "month", "year")
CALENDARS = ("en", "de", "fr", "es", "it", "pt", "nl", "ru")
"""The languages that have lists."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """The words of one language, ready to be looked up."""

    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    units: Mapping[str, Unit]
    days: Mapping[tuple[str, ...], int]
    numbers: Mapping[str, int]
    seasons: Mapping[str, int]
    """To the first month of the season."""
    last: frozenset[str]
    next: frozenset[str]
    this: frozenset[str]
    ago: frozenset[str]
    back: frozenset[str]
    into: frozenset[str]
    ambiguous: frozenset[str]
    names: frozenset[str]
    joins: frozenset[str]
    loose: frozenset[str]
    before_day: frozenset[str]
    after_day: frozenset[str]


_FIRST = {"months": 1, "weekdays": 0, "units": 0, "numbers": 1, "seasons": 0}
_SETS = (
    "last", "next", "this", "ago", "back", "into", "ambiguous", "names", "joins", "loose", "before_day", "after_day",
)  # fmt: skip


def _number(listed: str, first: int) -> dict[str, int]:
    return {bare(form): at for at, forms in enumerate(listed.split("|"), first) for form in forms.split()}


def _split(listed: str) -> frozenset[str]:
    return frozenset(bare(word).rpartition("_")[2] for word in listed.split())


@lru_cache(maxsize=32)
def calendar(language: str) -> Calendar | None:
    """Return the words of a language, None for one that is not known."""
    lists = read_lists(f"calendar/{language}")
    if not lists:
        return None
    phrases = (phrase.partition("=") for phrase in lists["days"].split())
    numbered = {name: _number(lists.get(name, ""), first) for name, first in _FIRST.items()}
    return Calendar(
        months=numbered["months"],
        weekdays=numbered["weekdays"],
        units={form: UNITS[at] for form, at in numbered["units"].items()},
        days={tuple(bare(name).split("_")): int(back) for name, _, back in phrases},
        numbers=numbered["numbers"] | dict.fromkeys(_split(lists.get("few", "")), 2),
        seasons={form: (3, 6, 9, 12)[at] for form, at in numbered["seasons"].items()},
        **{name: _split(lists.get(name, "")) for name in _SETS},
    )
