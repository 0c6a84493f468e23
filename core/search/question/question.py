"""What a question tells a search beside its words: whom it names, which days, and what kind of answer it wants.

Called by `search`. Everything is found by rules over tables of words, in ten languages and, for what needs a
few words alone, in more; nothing is guessed where the tables are silent.

| question | what it gives |
|---|---|
| What did Ada say about the trip? | people {Ada} |
| Wo wohne ich? | self_person |
| What is your favourite colour? | other |
| What happened on 7 May 2023? | days: that day |
| When did we meet? | wants_time |
| How many cats do I have? | wants_number, self_person |
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from ...text.calendar_words import CALENDARS
from ...text.folding import clean
from ...text.languages import SURE, language_of
from ...text.question_words import LOOKED_AT, asked_words, holds
from .days import Range, days_in
from .kind import has_number, time_expressions
from .people import named

__all__ = ["Question", "has_number", "read_question", "time_expressions"]


@dataclass(frozen=True, slots=True)
class Question:
    """What a question tells."""

    people: frozenset[str] = frozenset()
    """Those of the speaker names given that it names, as given."""
    self_person: bool = False
    """It speaks of the one who asks: I, my, me."""
    other: bool = False
    """It speaks to the persona: you, your."""
    days: tuple[Range, ...] = ()
    """The days it names, as `(since, until)` in UTC: since is included, until is not. A day or month without a year
    comes once for each of the last years, the newest first."""
    wants_time: bool = False
    """It asks when, or for how long."""
    wants_number: bool = False
    """It asks how many, how much, how old."""
    languages: tuple[str, ...] = ()
    """The language it is in; where that cannot be told, the languages given."""


def read_question(
    text: str, *, now: datetime, zone: tzinfo, speaker_names: Collection[str], languages: Sequence[str]
) -> Question:
    """Return what a question tells; never raises for a text, and reads of a long one the first 4,000 characters."""
    said = clean(text[:LOOKED_AT])
    if not said or said.isspace():
        return Question()
    found = language_of(said)
    known = (found,) if found else tuple(dict.fromkeys(code.lower() for code in languages))
    # A few words such as `7 mai 2023` are of no language for certain: what they ask is looked for in all.
    any_of = known if language_of(said, SURE) else tuple(dict.fromkeys((*known, *CALENDARS)))
    words = asked_words(said)
    return Question(
        people=named(said, speaker_names, known),
        self_person=holds(words, "SELF", known),
        other=holds(words, "OTHER", known),
        days=days_in(said, now=now, zone=zone, languages=any_of),
        wants_time=holds(words, "WHEN", any_of),
        wants_number=holds(words, "COUNT", any_of),
        languages=known,
    )
