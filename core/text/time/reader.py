"""Read the time spans in a text, in the language that recognizes most of it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import groupby, islice, pairwise

from ...base.patterns import lazy_pattern
from ...base.text_caches import cache_texts
from ..languages import bare, likely_languages
from ..times import EARLIEST, LATEST
from . import calendar
from .calendar import BREAK
from .grammar import EVERY, read_parts
from .parts import TimePart, cut
from .patterns import FAR_AHEAD, Found, Moment
from .spans import DAY, Role, Span, in_utc, name_days, name_recurring, name_years
from .tense import read_tenses

LOOKED_AT = 4_000
MOST_SPANS = 24
MOST_ABOUT, MOST_DAYS, MOST_LONG, MOST_YEARS = 3, 14, 100, 30
"""Maximum number of spans used of a stored text; of days in a short span; of days in a span of weeks or months; of
years in a span of years.
"""
_ANY_TIME = datetime(2001, 1, 1, tzinfo=UTC)
"""Arbitrary moment for finding the positions of time words, which do not depend on the moment."""
_HAN_DATED = lazy_pattern("[一二三四五六七八九十]月")
_DATED = lazy_pattern(
    r"\d[./:-]\d|\d\.(?!\d)|(?<!\d)(?:19|20)\d\d(?!\d)|\d ?(?:[ap]\.?m|st|nd|rd|th|h|er|[\u00ba\u00aa])\b"
    r"|\d(?:s?te[nr]?|de|eme|e)\b|\b(?:[ei]l|le) \d|\d ?[年月日号號년월일시时時点點]"
)
"""Digits that may be a date or a time without a word of time."""
_SENTENCE = lazy_pattern(r"[^.!?\n。！？]*[.!?\n。！？]+|[^.!?\n。！？]+")
_MOST_AROUND = 3
"""Maximum number of sentences of a text that is read whole."""
_DIGIT = lazy_pattern(r"\d")
_JOINED = lazy_pattern(r"(?<=[^\W_])[-'\u2019\u02bc](?=[^\W\d_])(?!w\d)")
"""Character that joins two words: `terça-feira`, `l'année`."""
_ABOUT = frozenset({"minute", "part of day", "day"})
_LONG = {"week": len("2026-W11")} | dict.fromkeys(("part of month", "month", "season"), len("2026-03"))
"""Length of the names of weeks and months (`2026-W11`, `2026-03`), by the precision of a span."""
_DAY_KINDS, _COUNTED, _UNITS, _NUMBERS = frozenset("D{HWwq"), frozenset("agrb"), frozenset("U/uQJ"), frozenset("N")
"""Kinds of words that may name a day: relative days and weekdays, or `ago` with a number and a unit."""
_NAMING = frozenset("Z%")


def read_spans(text: str, now: datetime, zone: tzinfo, languages: Sequence[str]) -> list[Span]:
    """Return the spans that a question names, in the order of its words; [] if none is certain.

    A recurring time means its latest occurrence that has begun (for a weekday, that has ended); in a text about the
    future, the first that has not ended. If neither past nor future is clear, the next occurrence is added with the
    role `about`. `first` and `last` give a span with open ends and that word as role. `zone` is the speaker's.
    """
    found: list[Span] = []
    folds = _Folds(text[:LOOKED_AT])
    read = _read(folds, now, zone, languages, is_question=True)
    parts = [part for part, _ in read]
    is_sure = _holds(parts, "+") != _holds(parts, "-")
    for part, named, moment in _iter_named(read):
        before, word, after = folds.text[: part.begin], folds.text[part.begin : part.end], folds.text[part.end :]
        is_alone = word.isalpha() and not any(map(str.isalnum, after))  # `who is April?`
        is_name = is_alone and calendar.asks_who(_JOINED.sub(" ", before), languages)
        if is_name or (named.end in (None, moment.now) and _is_denied(parts, part)):
            continue
        words = (folds.place(part.begin, part.end),)
        start, end = in_utc(named.start, zone), in_utc(named.end, zone)
        role: Role = "about" if start is not None and start > now else "said"
        found.append(Span(start, end, named.precision, role, words))
        if named.coming is not None and not is_sure:
            start, end = (in_utc(each, zone) for each in named.coming)
            found.append(Span(start, end, named.precision, "about", words))
    if (order := _find_order(parts)) is not None:
        role, part = order
        found.append(Span(None, None, "day", role, (folds.place(part.begin, part.end),)))
    return found[:MOST_SPANS]


def find_about_days(text: str, said_at: datetime, zone: tzinfo, languages: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the days, weeks, months and years that a stored text is about, each with the position of its words.

    `every Friday`, and a day beside words such as `birthday`, also give a day that recurs (`name_recurring`).
    """
    days: dict[str, tuple[int, int]] = {}
    folds = _Folds(text[:LOOKED_AT])
    read = _read(folds, said_at, zone, languages, is_question=False)
    for part, named, moment in _iter_named(read)[:MOST_ABOUT]:
        start, end = named.due or (named.start, named.end)
        if "@" in part.kinds or start is None or end is None:  # `my exams are coming up` names no day
            continue
        first, last = start.date(), (end - timedelta(microseconds=1)).date()
        place = folds.place(part.begin, part.end)
        if named.precision == "year":
            days = dict.fromkeys(islice(name_years(first, last), MOST_YEARS), place) | days
            continue
        is_short = named.precision in _ABOUT or (named.precision == "week" and (last - first).days < 3)
        is_over = not is_short and end == moment.now  # `since March` is no month
        if is_over or (last - first).days >= (MOST_DAYS if is_short else MOST_LONG):
            continue
        length = len("2026-03-12") if is_short else _LONG.get(named.precision)
        last = first if named.precision in ("minute", "part of day") else last
        period, coming = part.kinds["Z"].period if "Z" in part.kinds else "", first
        if period and named.coming and moment.tense == "unsure" and named.coming[0] - moment.now < FAR_AHEAD:
            coming = named.coming[0].date()
        later = (first + 7 * DAY if period == "either" else coming).isoformat()
        names = (*name_days(first, last, named.precision), later)
        days |= {day: place for day in names if len(day) == length and day not in days}
    for part, _ in read:
        if EVERY in part.kinds:
            days.setdefault(name_recurring(part.kinds[EVERY]), folds.place(part.begin, part.end))
    if days and calendar.is_yearly(folds.text, languages):
        days |= {name_recurring(day[5:]): place for day, place in days.items() if day[:1].isdigit() and len(day) == 10}
    return days


@cache_texts(4096)
def find_day_meant(text: str, said_at: datetime, zone: tzinfo, languages: tuple[str, ...]) -> date | None:
    """Return the day that a stored text names relative to its own day, such as `tomorrow`; None if not certain."""
    languages = likely_languages(text, languages)
    folds = _Folds(text[:LOOKED_AT])
    if not _may_name_day(folds.text, languages):
        return None
    read = _read(folds, said_at, zone, languages, is_question=False)
    named = [one for one in _iter_named(read) if one[1].precision != "year"]
    if len(named) != 1 or "Z" not in named[0][0].kinds:
        return None
    part, span, moment = named[0]
    parts = [each for each, _ in read]
    n, begin = parts.index(part), folds.place(part.begin, part.end)[0]
    before = parts[n - 1].kinds if n else {BREAK: 0}
    day = _find_only_day(span)
    is_morning = {"D", "P"} <= part.kinds.keys() and BREAK not in before  # `morgen`, but not `der Morgen`
    if day is None or day == moment.today or "N" in before or (is_morning and ("x" in before or text[begin].isupper())):
        return None
    if part.kinds["Z"].period:  # a weekday is the next or the last one
        is_weekday = part.kinds["Z"].period == "week" and (moment.is_past or not moment.is_told)
        is_weekday = is_weekday and not (moment.is_past and day.weekday() == moment.today.weekday())
        return day if is_weekday else None
    later = replace(moment, now=moment.now + 7 * DAY)  # a relative day is a week later if the text is
    again = read_parts(later, cut(_JOINED.sub(" ", folds.text[part.begin : part.end]), moment.lexicon))
    days = [_find_only_day(each) for _, each, _ in _iter_named([(each, later) for each in again])]
    return day if days == [day + 7 * DAY] else None


def _may_name_day(text: str, languages: Sequence[str]) -> bool:
    """Return whether a folded text contains a word for a day relative to its own day, such as `tomorrow`."""
    words, has_digit = calendar.find_words(text), _DIGIT.search(text) is not None

    def holds(language: str, kinds: frozenset[str]) -> bool:
        return calendar.load_leading(language, kinds).stands_in(text, words)

    return any(
        holds(code, _DAY_KINDS)
        or (holds(code, _COUNTED) and holds(code, _UNITS) and (has_digit or holds(code, _NUMBERS)))
        for code in languages
    )


def _find_only_day(span: Found) -> date | None:
    if span.start is None or span.end is None or span.end - span.start > DAY or span.precision not in _ABOUT:
        return None
    return (span.start + (span.end - span.start) / 2 if span.precision == "minute" else span.start).date()


def read_moment(text: str, now: datetime, zone: tzinfo, languages: Sequence[str]) -> Span | None:
    """Return the span that a text such as `last week` names; None if the text names no span or several."""
    spans = [span for span in read_spans(text, now, zone, languages) if span.role in ("said", "about")]
    return spans[0] if len({span.words for span in spans}) == 1 else None


def names_feast(text: str, languages: Sequence[str]) -> bool:
    said, lexicons = _JOINED.sub(" ", bare(text[:LOOKED_AT])), map(calendar.load, languages)
    return any(_holds(cut(said, lexicon), "F") for lexicon in lexicons if lexicon is not None)


def mask_time(text: str, languages: Sequence[str]) -> str:
    """Replace the time words of a question by spaces, since they are no search words; feasts and seasons stay."""
    masked = list(text)
    for span in read_spans(text, _ANY_TIME, UTC, languages):
        for begin, end in span.words if span.precision != "season" else ():
            masked[begin:end] = " " * (end - begin)
    return "".join(masked)


def may_tell_time(text: str, languages: Sequence[str]) -> list[str]:
    """Return the languages in which a folded text has a possible word of time; all languages if it has a date."""
    known = [language for language in languages if calendar.load(language) is not None]
    if (_DIGIT.search(text) and _DATED.search(text)) or (not text.isascii() and _HAN_DATED.search(text)):
        return known
    words = calendar.find_words(text)
    return [language for language in known if calendar.load_leading(language).stands_in(text, words)]


class _Folds:
    """A folded text, with the positions of its characters in the original text; `marked` still has its accents."""

    def __init__(self, text: str) -> None:
        self.text, self.marked = bare(text), text
        self._places: list[int] | None = None
        if len(self.text) != len(text):
            pieces = [bare(char) for char in text]
            self.text = "".join(pieces)
            self.marked = "".join(char if len(piece) == 1 else piece for char, piece in zip(text, pieces, strict=True))
            self._places = [at for at, piece in enumerate(pieces) for _ in piece]

    def place(self, begin: int, end: int) -> tuple[int, int]:
        if self._places is None:
            return begin, end
        return self._places[begin], self._places[end - 1] + 1


def _read(
    folds: _Folds, now: datetime, zone: tzinfo, languages: Sequence[str], *, is_question: bool
) -> list[tuple[TimePart, Moment]]:
    """Return the parts of a text, each with its moment, in the language that recognizes most of the text."""
    best: tuple[int, list[tuple[TimePart, Moment]]] = (0, [])
    if not (telling := may_tell_time(folds.text, languages)):
        return best[1]
    local = min(max(now, EARLIEST), LATEST).astimezone(zone).replace(tzinfo=None)
    said = _JOINED.sub(" ", folds.text if is_question else _leave_telling(folds.text, languages))
    for language in telling:
        lexicon = calendar.load(language)
        assert lexicon is not None
        parts = _find_plan(cut(said, lexicon))
        if is_question:
            parts = _leave_have(parts, folds.marked, language)
        says_past, says_plan = _holds(parts, "-"), _holds(parts, "+")
        is_plan, is_told = not says_past and (says_plan or not is_question), not is_question and not says_plan
        whole = Moment(local, zone, lexicon, is_plan, is_told, says_past and not says_plan)
        tenses = [None] * len(parts) if is_question else read_tenses(parts, folds.marked, language)
        read: list[tuple[TimePart, Moment]] = []
        for tense, group in groupby(zip(parts, tenses, strict=True), lambda one: one[1]):
            moment = whole
            if tense is not None:
                is_plan = tense not in ("past", "unsure")
                moment = replace(whole, is_plan=is_plan, is_told=tense != "plan", is_past=tense == "past", tense=tense)
            read += [(part, moment) for part in read_parts(moment, [part for part, _ in group])]
        # Use the language that reads most: `7 mai 2023` is a year in English, a day in French.
        length = sum(part.end - part.begin for part, _ in read if part.kinds.keys() & {*_NAMING, EVERY}) + 1
        if length > best[0]:
            best = length, read
    return best[1]


def _find_plan(parts: list[TimePart]) -> list[TimePart]:
    """Let perfect tenses count as plans in sentences that end with a word that makes them a plan."""
    ends = [each for each, after in pairwise([*parts, TimePart({BREAK: 0}, 0, 0)]) if BREAK in after.kinds]
    if not any("^" in each.kinds for each in ends):
        return parts
    plans = [{"+" if value == "perfect" else kind: value for kind, value in each.kinds.items()} for each in parts]
    return [each._replace(kinds=kinds) for each, kinds in zip(parts, plans, strict=True)]


def _leave_have(parts: list[TimePart], text: str, language: str) -> list[TimePart]:
    """Remove the meaning "past" of `have` without a participle: `Was habe ich am Dienstag?`"""
    past = {each.kinds["-"] for each in parts if "-" in each.kinds}
    if past != {"perfect"} or "past" in read_tenses(parts, text, language):
        return parts
    return [each._replace(kinds={k: value for k, value in each.kinds.items() if k != "-"}) for each in parts]


def _leave_telling(text: str, languages: Sequence[str]) -> str:
    """Replace sentences by spaces if neither they nor adjacent sentences contain a word of time."""
    sentences = _SENTENCE.findall(text)
    tells = [bool(may_tell_time(each, languages)) for each in sentences] if len(sentences) > _MOST_AROUND else [True]
    if all(tells):
        return text
    near = [any(tells[max(n - 1, 0) : n + 2]) for n in range(len(tells))]
    return "".join(each if is_near else " " * len(each) for each, is_near in zip(sentences, near, strict=True))


def _holds(parts: Sequence[TimePart], kind: str) -> bool:
    return kind in set[str]().union(*[part.kinds for part in parts])


def _is_denied(parts: Sequence[TimePart], part: TimePart) -> bool:
    at, breaks = parts.index(part), [n for n, each in enumerate(parts) if BREAK in each.kinds]
    begin = max((n for n in breaks if n < at), default=0)
    return _holds(parts[begin : min((n for n in breaks if n > at), default=len(parts))], "~")


def _iter_named(read: Sequence[tuple[TimePart, Moment]]) -> list[tuple[TimePart, Found, Moment]]:
    times = [(part, moment) for part, moment in read if _NAMING & part.kinds.keys()]
    found = ((part, part.kinds.get("%") or moment.find(part.kinds["Z"]), moment) for part, moment in times)
    named = [(part, span, moment) for part, span, moment in found if span is not None]
    return [one for one in named if "@" not in one[0].kinds] or named  # `coming up on Friday` is Friday


def _find_order(parts: Sequence[TimePart]) -> tuple[Role, TimePart] | None:
    """Return "first" or "last" and its part, if the text asks for an order: `the first thing I told you`."""
    for n, part in enumerate(parts) if _holds(parts, "V") else ():
        kinds = part.kinds
        follows = parts[n + 1].kinds if n + 1 < len(parts) else {BREAK: 0}
        is_begun = kinds.get("e") == "begin" and n and "V" in parts[n - 1].kinds and BREAK in follows
        if ({"K", "T"} & kinds.keys() or is_begun) and not _NAMING & kinds.keys() and "X" not in follows:
            return ("last" if "T" in kinds and "K" not in kinds else "first"), part
    return None
