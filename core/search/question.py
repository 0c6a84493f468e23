"""Facts that a question gives in addition to search words: people, days and the kind of answer.

All facts come from rules over the word tables of `prompts/questions`; nothing is guessed that they do not contain. The
tables of some languages are short and give fewer facts.

| question | result |
|---|---|
| What did Ada say about the trip? | people {Ada} |
| Wo wohne ich? | self_person: the asker is meant (I, my) |
| What is your favourite colour? | other: the persona is addressed (you, your) |
| What happened on 7 May 2023? | spans: that day |
| What was the first thing I told you? | order: first |
| When did we meet? | wants_time |
| How many cats do I have? | wants_number, self_person |
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

from ..base.groups import group
from ..base.patterns import lazy_pattern
from ..base.text_caches import cache_texts
from ..text import question_words
from ..text.folding import all_runs, clean, fold, runs
from ..text.languages import bare, common_words, read_language
from ..text.stems import script_language
from ..text.time import (
    CALENDARS,
    Span,
    asks_who,
    name_days,
    name_recurring,
    name_words,
    name_yearly,
    name_years,
    names_feast,
    read_spans,
    time_words,
)
from ..text.words import read_lists


@dataclass(frozen=True, slots=True)
class Question:
    people: frozenset[str] = frozenset()
    """Speaker names that the question mentions, as given."""
    called: frozenset[str] = frozenset()
    """Speaker names that the question only addresses, as in `Iris, what did I say?`."""
    self_person: bool = False
    """Whether the question speaks of the asker: I, my, me."""
    other: bool = False
    """Whether the question speaks to the persona: you, your."""
    spans: tuple[Span, ...] = ()
    days: tuple[str, ...] = ()
    """Days, weeks ... of the spans: rows about them match too. For `When is ...?`: next days, ranked first."""
    moved: Mapping[tuple[int, int], Collection[str]] = field(default_factory=dict)
    """Rows that are about other days in the asker's zone than the index says, with these days."""
    has_unread_time: bool = False
    """Whether the question has words of time that cannot be read as a span."""
    is_limited: bool = False
    """Whether rows outside the spans do not match. False if a third person is named: others may mention them later."""
    order: Literal["", "first", "last"] = ""
    beside: question_words.Side = ""
    """Whether the question asks what happened "before", "after" or "since" an event; "" if not."""
    wants_time: bool = False
    """Whether the question asks when or how long."""
    wants_number: bool = False
    """Whether the question asks how many, how much or how old."""
    wants_list: bool = False
    """Whether the question asks for several things or their number."""
    is_hint: bool = False
    """Whether the spans do not exclude rows, for instance if they are part of a name or of a statement before."""
    is_present: bool = False
    languages: tuple[str, ...] = ()
    """Language of the question; if unknown, the languages given."""

    @property
    def is_of_days(self) -> bool:
        """Return whether equal texts of different days are different answers: `Did I run on Friday?`"""
        return self.wants_time or bool(self.spans or self.order)


def read_question(text: str, *, now: datetime, zone: tzinfo, languages: Sequence[str]) -> Question:
    """Return the facts about a question, without people; only the first 4,000 characters are read; never raises."""
    said = clean(text[: question_words.LOOKED_AT])
    if not said or said.isspace():
        return Question()
    given = tuple(dict.fromkeys(code.lower() for code in languages))
    known, is_found, is_sure = find_spoken(said, given)
    # A few words such as `7 mai 2023` leave the language uncertain: they are read in all languages.
    any_of = known if is_sure else tuple(dict.fromkeys((*known, *given, *CALENDARS)))
    asked = question_words.find_asked(said, known)
    words = question_words.asked_words(asked)
    spans = read_spans(asked, now, zone, any_of)
    names_time, said = bool(spans), asked if spans else said
    if not names_time and asked != said:
        spans = read_spans(said, now, zone, any_of)
    if (
        spans
        and is_found
        and not is_sure
        and all(said[begin:end].isalpha() for span in spans for begin, end in span.words)
    ):
        # One word, such as `main`, may be a month in another language.
        spans = read_spans(said, now, zone, tuple(dict.fromkeys((*known, *given))))
    named_spans = tuple(span for span in spans if span.role in ("said", "about"))
    order = next((span.role for span in spans if span.role in ("first", "last")), "")
    is_present = (
        not names_time
        and not question_words.begins_with(words, "request", known)
        and question_words.asks_about_now(words, known)
    )
    other, wants_time = question_words.holds(words, "other", known), question_words.holds(words, "when", any_of)
    is_coming = wants_time and is_present and not question_words.holds(words, "habit", any_of)
    comes = [Span(now, None)] if is_coming else named_spans
    # `Do I still have the bike of May?` asks about the present.
    is_over = bool(named_spans) and all(span.end is not None and span.end <= now for span in named_spans)
    return Question(
        # `I need a book. What do you suggest?` asks about both.
        self_person=question_words.holds(question_words.asked_words(said) if other else words, "self", known),
        other=other,
        spans=named_spans,
        days=list_days(comes, now, zone),
        has_unread_time=not spans
        and not wants_time
        and any(not name_words(code).isdisjoint(words.split()) for code in known)
        and not asks_who(f"{words.rsplit(maxsplit=1)[0]} ", known),
        order=order,  # type: ignore[arg-type]
        beside="" if spans else question_words.find_side(words, known),
        wants_time=wants_time,
        wants_number=question_words.holds(words, "count", any_of),
        wants_list=question_words.holds(words, "list", any_of),
        is_hint=question_words.holds(words, "duration", any_of)
        or (bool(named_spans) and _asks_for_more(words, said, named_spans, now, known))
        or (is_over and question_words.holds(words, "now", known))
        or any(_is_aside(said, span) or _is_in_name(said, span, known) for span in named_spans),
        is_present=is_present,
        languages=known,
    )


def find_spoken(text: str, languages: Sequence[str]) -> tuple[tuple[str, ...], bool, bool]:
    """Return (language of a text, or else `languages`; whether it was detected; whether the detection is certain)."""
    found, is_sure = read_language(clean(text[: question_words.LOOKED_AT]))
    return (found,) if found else tuple(dict.fromkeys(code.lower() for code in languages)), bool(found), is_sure


def _asks_for_more(words: str, said: str, spans: Sequence[Span], now: datetime, languages: Sequence[str]) -> bool:
    """Return whether rows outside the named times help to answer, too: `What shall I give Ann for Christmas?`"""
    return (
        (all(span.role == "about" for span in spans) and question_words.holds(words, "request", languages))
        or (all(not span.end or span.end > now for span in spans) and question_words.holds(words, "advice", languages))
        or (question_words.holds(words, "purpose", languages) and names_feast(said, languages))
    )


_ASKS = lazy_pattern("[?\uff1f\u061f]")
_ENDS = lazy_pattern("[.!?\u3002\uff01\uff1f\u061f\\n]")


def _is_aside(text: str, span: Span) -> bool:
    """Return whether a named time is in a statement before the question, rather than in the question."""
    end = _ENDS.search(text, max((end for _, end in span.words), default=0))
    return end is not None and not _ASKS.match(end[0]) and bool(_ASKS.search(text))


_OWNER = lazy_pattern(r"(?i)\b(?:a|an|the|my|your|our|his|her|their)\s+$")
_NOUN = lazy_pattern(r"\s+([^\W\d_]+)")


def _is_in_name(text: str, span: Span, languages: Sequence[str]) -> bool:
    """Return whether words of time are part of a name in English: `my winter reading challenge`, `Sunday Gold`."""
    begin, end = span.words[0]
    noun = _NOUN.match(text, end)
    if "en" not in languages or noun is None or noun[1].lower() in common_words("en"):
        return False
    is_owned = text[begin:end].isalpha() and _OWNER.search(text[:begin]) is not None
    return is_owned or (text[begin:end].istitle() and noun[1].istitle())


# Times and numbers in a turn, for questions that ask when or how many

TURN_CHARS = 20_000
"""Maximum number of characters of a turn that are searched for times and numbers."""

_DIGITS = lazy_pattern(r"\d")
_DATE = lazy_pattern(r"\b(?:19|20)\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b")
_CJK_NUMBER = lazy_pattern("[一二三四五六七八九十百千万両两]|ひとつ|ふたつ|みっつ|หนึ่ง|สอง|สาม|สี่|ห้า|หก|เจ็ด|แปด|เก้า|สิบ")
_CAPITAL_MONTH = lazy_pattern(r"(?<![.!?] )(?<!^)\b(?:May|March)\b")


@lru_cache(maxsize=64)
def _list_telling(name: Literal["times", "numbers"], languages: tuple[str, ...]) -> frozenset[str]:
    """Return these languages' words for times or numbers, except common words of another (`an`: French for year)."""
    found: set[str] = set()
    for language in languages or (CALENDARS if name == "times" else question_words.NUMBERS):
        others = (common_words(other) for other in languages or CALENDARS if other != language)
        numbers = map(bare, question_words.list_phrases("numbers", language))
        found |= set(time_words(language) if name == "times" else numbers).difference(*others)
    return frozenset(found)


@lru_cache(maxsize=1)
def _build_signed_times() -> re.Pattern[str]:
    lists = (read_lists(f"calendar/{code}")["signs"].split() for code in _SIGNED)
    return re.compile(fold("|".join(each for signs in lists for each in signs)))


_SIGNED = ("ja", "zh", "ko", "th", "ar", "he", "el", "hi")
_LETTERS = lazy_pattern(r"[^\W\d_]+")


def tells_time(text: str, languages: Sequence[str] = ()) -> bool:
    """Return whether a text contains words of time: days, months, years, spans, `yesterday`, `last`, `ago`."""
    said = text[:TURN_CHARS]
    known = _list_telling("times", tuple(languages))
    return (
        not known.isdisjoint(_LETTERS.findall(bare(said)))
        or (_DATE.search(said) or _CAPITAL_MONTH.search(said)) is not None
        or (not said.isascii() and _build_signed_times().search(fold(said)) is not None)
    )


def has_number(text: str, languages: Sequence[str] = ()) -> bool:
    """Return whether a turn contains a number, in digits or words; `languages` as in `tells_time`."""
    said = text[:TURN_CHARS]
    if _DIGITS.search(said) or (not said.isascii() and _CJK_NUMBER.search(said)):
        return True
    return not _list_telling("numbers", tuple(languages)).isdisjoint(all_runs(bare(said)))


# Days in spans of time

MOST_DAYS = 370
"""Maximum number of days, in all spans of a question, for which rows are looked up."""
SOON_DAYS = 62
"""Number of days that are looked up for a span with an open end."""
_DAY = timedelta(days=1)


def list_days(spans: Sequence[Span], now: datetime, zone: tzinfo) -> tuple[str, ...]:
    """Return the days, weeks, months and years in spans. A span without start or end is SOON_DAYS long.

    A span since a past time gives no days; one of up to 8 days, not over yet, also gives weekdays and yearly dates.
    """
    days: dict[str, None] = {}
    for span in spans:
        start, end = span.start, span.end
        if end is None:
            if start is None or start < now - _DAY:
                continue
            end = start + SOON_DAYS * _DAY
        start = start or end - SOON_DAYS * _DAY
        first, last = start.astimezone(zone).date(), (end - timedelta(microseconds=1)).astimezone(zone).date()
        days |= dict.fromkeys(name_years(first, last))
        last = min(last, date.fromordinal(min(first.toordinal() + MOST_DAYS - len(days) - 1, date.max.toordinal())))
        days |= dict.fromkeys(name_days(first, last, span.precision))
        if last >= now.astimezone(zone).date() and (last - first).days <= 7:  # today and the week after it
            each = (first + n * _DAY for n in range((last - first).days + 1))
            days |= dict.fromkeys(name for day in each for name in (name_recurring(day.weekday()), *name_yearly(day)))
    return tuple(days)


def describe_span(span: Span, zone: tzinfo) -> str:
    """Return a sentence that nothing is stored of a span."""
    exact = "%Y-%m-%d" if span.precision not in ("minute", "hour", "part of day") else "%Y-%m-%d %H:%M"
    start = "" if span.start is None else span.start.astimezone(zone).strftime(exact)
    last = None if span.end is None else span.end - (timedelta(microseconds=1) if exact == "%Y-%m-%d" else timedelta())
    end = "" if last is None else last.astimezone(zone).strftime(exact)
    if start == end:
        return f"Nothing is stored of {start}."
    return "Nothing is stored" + (f" from {start}" if start else "") + (f" to {end}" if end else "") + "."


# The people it names: whole names, first names, possessives, declined forms

MOST_NAMES = 2_000
"""Maximum number of speaker names compared with a question; names that share a word with it come first."""

MOST_SHARING = 3
"""Maximum number of names that share their last word and are found by it."""
_PARTS = lazy_pattern(r"[^\W\d_]+")
_SHORTEST = 2
_SHORTEST_DECLINED = 3
_VOWELS = "аяьиоеayiouě\u03b1\u03b7\u03bfς"
_WITH_PREFIXES = frozenset({"ar", "he"})
"""Scripts in which prefixes are written as one word with a name."""


@lru_cache(maxsize=16)
def _list(name: str) -> frozenset[str]:
    """Return the words of the list `name` in `prompts/names.txt` (`prompts/README.md`)."""
    return frozenset(read_lists("names").get(name, "").split())


class _Name(NamedTuple):
    parts: tuple[str, ...]
    is_spaceless: bool
    naming: tuple[tuple[str, str], ...]
    """Words of the name that identify the person without the others, each with its script."""


@cache_texts(4096)
def _read_name(name: str) -> _Name:
    found = list(runs(bare(name)))
    spaceless = bool(found) and all(kind for _, kind in found)
    parts = tuple(re.sub(r"[_\d]+", " ", " ".join([run for run, _ in found])).split())
    naming = [
        (part, script_language(part) or "latin")
        for at, part in enumerate(parts)
        if len(part) >= _SHORTEST and part not in _list("particles") and not (at and part in _list("inner"))
    ]
    return _Name(parts, spaceless, tuple(naming))


def named(text: str, names: Collection[str], languages: Sequence[str]) -> frozenset[str]:
    if not names:
        return frozenset()
    said = bare(text)
    words = re.sub(r"[_\d]+", " ", " ".join(all_runs(said))).split()
    capitals = {bare(word) for word in re.findall(r"(?<=[\w,;:] )[A-Z]\w+", text)}  # not at the start of a sentence
    known = set(words)
    by_letter = group((word[0], word) for word in words)
    padded = f" {' '.join(words)} "
    exact: dict[str, int] = {}
    near: set[str] = set()
    if len(names) > MOST_NAMES:  # likely names first, in one order whatever the hash seed
        names = sorted(names, key=lambda name: (not any(part in said for part in _PARTS.findall(bare(name))), name))
    for name in islice(names, MOST_NAMES):
        parts, is_spaceless, naming = _read_name(name)
        if is_spaceless:
            if len(fold(name)) >= _SHORTEST and bare(name).strip() in said:
                exact[name] = 9
            continue
        if len(parts) > 1 and f" {' '.join(parts)} " in padded:
            exact[name] = len(parts)
        elif any(part in known and (part not in _list("words") or part in capitals) for part, _ in naming):
            exact[name] = 1
        for part, script in () if name in exact else naming:
            said_so = words if script in _WITH_PREFIXES else by_letter.get(part[0], ())
            if said_so and _declined(part, script, said_so, languages):
                near.add(name)
    return frozenset(_without_shadowed(exact, known) if exact else near)


def find_called(text: str, names: Collection[str], languages: Sequence[str]) -> frozenset[str]:
    """Return the names that a question only addresses, and does not mention a second time."""
    if not names:
        return frozenset()
    words, said, called = question_words.asked_words(text), bare(text), set()
    for name in names:
        for part in {" ".join(_read_name(name).parts), *_read_name(name).parts[:1]} - {""}:
            if words.count(f" {part} ") == 1 and question_words.leave_call(said, (part,), languages) != said:
                called.add(name)
    return frozenset(called)


def _without_shadowed(found: Mapping[str, int], said: Collection[str]) -> Iterator[str]:
    """Yield names found in full, and names found by one word if no name found in full contains this word.

    A last word that many names share, such as `gg` of `wolf_gg`, identifies nobody.
    """
    whole = {part for name, size in found.items() if size > 1 for part in _read_name(name).parts}
    shared = Counter(part for name in found for part in set(_read_name(name).parts[1:]))
    for name, size in found.items():
        first, *others = _read_name(name).parts or ("",)
        is_shared = first not in said and not any(shared[part] <= MOST_SHARING for part in others if part in said)
        if size > 1 or not (is_shared or first in whole or whole.intersection(others)):
            yield name


def _declined(name: str, script: str, words: Sequence[str], languages: Sequence[str]) -> bool:
    """Return whether one of the words is a form of a name."""
    if len(name) < _SHORTEST_DECLINED and not (len(name) == _SHORTEST and script == "ko"):
        return False
    if script in _WITH_PREFIXES:
        prefixes = _list(f"prefixes {script}")
        return any(word.endswith(name) and word[: len(word) - len(name)] in prefixes for word in words)
    declines = script != "latin" or not _list("declining").isdisjoint(languages)
    endings = _list(f"endings {script}") if declines else frozenset("s")
    root = name[:-1] if declines and script != "ko" and name[-1] in _VOWELS and len(name) > _SHORTEST else ""
    return any(
        word[len(start) :] in endings
        for word in words
        if (start := name if word.startswith(name) else root) and word.startswith(start)
    )
