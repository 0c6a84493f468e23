"""Whose row it is and when it was said, against the people and the days a question names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from ...text.folding import fold
from ...text.question_words import asked_words, holds
from ...text.stems import stem
from ...text.words import words
from ..question.question import Question
from .rows import PERSONA, Speaker

# People


def person_of(question: Question, asker: str, speaker: Speaker) -> float:
    """Return 1 where the question is about who said a row, -1 where it is about somebody else, 0 where it
    names nobody.
    """
    if question.people:
        return 1.0 if speaker.name in question.people else -1.0
    if question.self_person:
        # `Can you tell me when I ...` is about the one who asks, whatever else it says.
        if not asker:
            return -1.0 if speaker.role == PERSONA else 0.0
        return 1.0 if speaker.key == asker else -1.0
    if question.other:
        return 1.0 if speaker.role == PERSONA else -1.0
    return 0.0


def name_texts(names: Collection[str], texts: Sequence[str], languages: Sequence[str]) -> set[int]:
    """Return the numbers of the texts looked for that are no more than words of these names."""
    parts = {stem(part, languages) for name in names for part in words(name, 2)} | {
        part for name in names for part in words(name, 2)
    }
    return {n for n, text in enumerate(texts) if fold(text) in parts}


def speaks_of_self(text: str, languages: Sequence[str]) -> float:
    """Return 1 for a row that says `I` or `my` in one of the languages: what people tell of themselves is asked for."""
    return float(holds(asked_words(text), "SELF", languages))


# Days

A_DAY_OR_TWO = timedelta(days=3)
"""Shorter spans are days, longer ones months or years."""
SOON = timedelta(days=8)
"""How long after a day people speak of it."""
EVE = timedelta(days=1)
"""How long before."""
AFTER_MONTH = timedelta(days=10)
"""How long after a month people speak of it."""
HALF = 0.5


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment_of(at_us: int) -> datetime | None:
    """Return the time of microseconds since 1970, None for one that no calendar has: nobody can read it."""
    try:
        return _EPOCH + timedelta(microseconds=at_us)
    except OverflowError:
        return None


def on_days(days: Iterable[tuple[datetime, datetime]], said: datetime | None) -> dict[str, float]:
    """Return the reasons `day`, `days_after` and `month` of a row said at a time, each 0 to 1."""
    found: dict[str, float] = {}
    for since, until in days if said is not None else ():
        assert said is not None
        inside = since <= said < until
        if until - since < A_DAY_OR_TWO:
            near = {"day": 1.0} if inside else {"days_after": 1.0} if since - EVE <= said < until + SOON else {}
        else:
            near = {"month": 1.0} if inside else {"month": HALF} if until <= said < until + AFTER_MONTH else {}
        for name, value in near.items():
            found[name] = max(value, found.get(name, 0.0))
    if "day" in found:
        found.pop("days_after", None)
    return found
