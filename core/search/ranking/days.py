"""Finds rows written in, or about, the times that a question names, and computes their ranking reasons."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from ...index.numbers import Column, Flags, Floats, Ints, ViewRows, is_among, take
from ...index.shapes import DAY, RowId
from ...index.visible import Postings, Visible
from ...text.question_words import Side
from ...text.time import Span
from ..question import Question
from .frame import AudienceMatches, Frame, Seen, find_persons
from .rows import CHAT, Candidate, RankingQuery

DAY_US = 86_400_000_000
A_DAY_OR_TWO = 3 * DAY_US
"""Maximum length of a span that counts as days; a longer span counts as months or years."""
EVE, SOON = DAY_US, 8 * DAY_US
"""Time before and after a day in which people usually speak of that day."""
AFTER_MONTH = 10 * DAY_US
"""Time after a month in which people still speak of the month; rows of this time count half."""
_ALWAYS = 2**62
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SHORT_US = 8 * DAY_US
"""Longest span of a limited question in which any row may be a hit; in longer spans, any row only if none matches."""
MOST_OF_DAYS = 400
"""Maximum number of rows of an audience within the spans that are ranked; the longest texts are used."""
MOST_IN_ORDER = 24
"""Maximum number of first or last rows among the matches, or in each audience if the question names nothing else."""

NAMES_EVENT, AS_WELL = 0.5, 0.9
"""Minimum share of the question's words in a row about the event it names. The newest row with at least AS_WELL of the
best share is the event.
"""
BESIDE, ROWS_BESIDE = 7 * DAY_US, 12
"""Minimum time, and minimum number of rows, that `before` or `after` an event covers."""


def find_span_beside(audiences: Sequence[AudienceMatches], candidates: Sequence[Candidate], side: Side) -> Span | None:
    """Return the time before, after or since the event that a question names; None if no row is clearly about it."""
    shares = [(c.reasons.get("share", 0.0), c) for c in candidates if c.matched]
    most = max((share for share, _ in shares), default=0.0)
    if most < NAMES_EVENT:
        return None
    _, event = max((c.source == CHAT, c.at_us) for share, c in shares if share >= AS_WELL * most)
    times = np.sort(np.concatenate([one.view.at_us[one.list_readable()] for one in audiences]))
    step = -ROWS_BESIDE if side == "before" else ROWS_BESIDE
    edge = int(times[np.clip(times.searchsorted(event) + step, 0, len(times) - 1)])
    ends = (min(event - BESIDE, edge), event) if side == "before" else (event, max(event + BESIDE, edge + 1))
    start, end = (_EPOCH + timedelta(microseconds=each) for each in ends)
    return Span(start, None if side == "since" else end)


def find_inside(question: Question, view: Visible, postings: Postings) -> Flags:
    """Return which rows of an audience were said within a span of the question or are about one of its days."""
    inside = are_inside(question, view.at_us)
    for day in question.days:
        inside[find_day(day, view, postings, question.moved)] = True
    return inside


def find_day(day: str, view: Visible, postings: Postings, moved: Mapping[RowId, Collection[str]]) -> ViewRows:
    """Return the rows about a day; for rows in `moved`, its days replace those of the index."""
    rows = postings.find((DAY, day))[0]
    if not moved:
        return rows
    added = view.find_rows(key for key, days in moved.items() if day in days)
    return ViewRows(np.concatenate([rows[~is_among(rows, view.find_rows(moved))], added]))


def _in_us(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def list_ranges(question: Question) -> list[tuple[int, int]]:
    """Return the time spans in which rows may have been said, in microseconds."""
    return [
        (_in_us(span.start) if span.start else -_ALWAYS, _in_us(span.end) if span.end else _ALWAYS)
        for span in question.spans
        if span.role == "said"
    ]


def are_inside(question: Question, at_us: Column) -> Flags:
    inside = np.zeros(len(at_us), bool)
    for since, until in list_ranges(question):
        inside |= (at_us >= since) & (at_us < until)
    return inside


def find_days(question: Question, at_us: Column) -> dict[str, Floats]:
    """Return the reasons `day`, `days_after`, `month` of rows of these times; only `day` if limited or ordered."""
    if question.is_limited or question.order:
        return {"day": np.ones(len(at_us), np.float32)}
    day, after, month = (np.zeros(len(at_us), np.float32) for _ in range(3))
    for since, until in list_ranges(question):
        inside = (at_us >= since) & (at_us < until)
        if until - since < A_DAY_OR_TWO:
            day[inside] = 1.0
            after[(at_us >= since - EVE) & (at_us < until + SOON)] = 1.0
        else:
            month[(at_us >= until) & (at_us < until + AFTER_MONTH) & (month == 0)] = 0.5
            month[inside] = 1.0
    after[day > 0] = 0.0
    return {"day": day, "days_after": after, "month": month}


def find_coming(question: Question, seen: Sequence[Seen], frame: Frame) -> Floats:
    """Return, for each row, the ranking reason `coming`: 1 if the row is about a day of the question, else 0."""
    coming = np.zeros(len(frame), np.float32)
    for n, one in enumerate(seen):
        view, postings = one.matches.view, one.matches.postings
        about = np.concatenate([find_day(day, view, postings, question.moved) for day in question.days])
        coming[frame.starts[n] : frame.starts[n + 1]] = np.isin(frame.rows_of(n), about)
    return coming


def are_short(question: Question) -> bool:
    """Return whether the spans are so short that all their rows may be hits, even without a match."""
    longest = SHORT_US if question.is_limited else A_DAY_OR_TWO
    return all(until - since <= longest for since, until in list_ranges(question))


def list_inside(audiences: Sequence[AudienceMatches], question: Question) -> list[ViewRows]:
    """Return, by audience, the sorted rows in the times that the question names; of too many rows, the longest."""
    inside = []
    for one in audiences:
        if question.is_limited:  # only rows within the spans are readable
            rows = one.list_readable()
        else:
            rows = one.keep_readable(ViewRows(find_inside(question, one.view, one.postings).nonzero()[0]))
        if len(rows) > MOST_OF_DAYS:
            longest = np.argsort(-one.view.words[rows].astype(np.int64), kind="stable")[:MOST_OF_DAYS]
            rows = take(rows, np.sort(longest))
        inside.append(rows)
    return inside


def list_in_order(audiences: Sequence[AudienceMatches], query: RankingQuery) -> list[ViewRows]:
    """Return, by audience, the first or last rows, sorted; if the question is about a person, only their messages."""
    found = []
    for one in audiences:
        view, rows, persons = one.view, one.list_readable(), find_persons(query.question, query.asker, one.view)
        if persons is not None and (query.question.people or query.asker):
            rows = take(rows, view.is_chat[rows] & (persons[view.speaker[rows]] > 0))
        found.append(take(rows, np.sort(choose_ends(view.at_us[rows], query.question.order))))
    return found


def choose_ends(at_us: Column, order: str) -> Ints:
    """Return the positions of the first or last times, in order of time."""
    by_time = np.argsort(at_us, kind="stable")
    return by_time[:MOST_IN_ORDER] if order == "first" else by_time[-MOST_IN_ORDER:]
