"""The section `upcoming`: earlier statements about the next days, the nearest day first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

from ..base.patterns import lazy_pattern
from ..context.history import HistoryLists
from ..context.lines import mark_opening, stamp
from ..context.section_base import Built
from ..database.dialects import from_microseconds, microseconds
from ..database.sources import BY_NUMBER, CHAT, MEMORIES
from ..index.entries import calendar_of
from ..index.numbers import is_among, take
from ..index.shapes import DAY, RowId
from ..index.state import IndexState
from ..search.query import asks
from ..search.ranking.rows import FoundRow
from ..search.table import read_rows, read_values
from ..shapes import LeftOut
from ..text.folding import one_line
from ..text.hits import snippet_around
from ..text.languages import likely_languages
from ..text.question_words import asked_words, says_only
from ..text.time import LOOKED_AT
from .call import PromptCall, Recalled, VisibleContext, with_asker_zone

KEY = "upcoming"
DAYS = 7
MOST_LINES = 3
AT_ONCE, MOST_READ = 24, 240
"""Number of rows read at once, and maximum in total, to choose the section from; the nearest days come first."""
_CLAUSE_END, _DIGIT = lazy_pattern(r"[,.;:!?\n\u3001\u3002\uff01\uff1f]"), lazy_pattern(r"\d")
OLDEST = timedelta(days=366)
"""Greatest age of a row: older ones seldom mean the coming days."""


def build_upcoming(
    call: PromptCall, seeing: VisibleContext, lists: HistoryLists, recalled: Recalled, drop: Callable[[FoundRow], str]
) -> Built:
    """Return what people said earlier about the next days, without rows that the prompt shows or `drop` leaves out."""
    call, db = with_asker_zone(call), call.db
    assert db is not None and seeing.index is not None and seeing.viewer is not None
    about = sorted((day, -at_us, row) for day, at_us, row in _find_rows(call, seeing, seeing.index))[:MOST_READ]
    chars = call.settings.snippet_chars
    values = read_values(seeing.viewer, db, max(chars + 1, LOOKED_AT))
    shown = {one.row.digest for one in recalled.chosen[: call.caps.memories]} - {None}
    lines: dict[RowId, str] = {}
    while about and len(lines) < MOST_LINES:
        days = {row: day for day, _, row in reversed(about[:AT_ONCE]) if row not in lines}
        about, (rows, errors) = about[AT_ONCE:], read_rows(db, days, values)
        for error in errors.values():
            raise error
        people = " ".join([lists.names.persona, *(row.said_by or "" for row in rows.values())])
        for key, day in sorted(days.items(), key=lambda one: one[1]):
            row = rows.get(key)
            if row is None or row.digest in shown or drop(row):
                continue
            said, at = row.shown_text, from_microseconds(row.at_us)
            begin, end = calendar_of(db).find_places(said, at).get(day, (0, 0))
            text = one_line(said if len(said) <= chars else snippet_around(said, begin, end - begin, chars))
            languages = likely_languages(text, call.settings.languages)
            if text.strip() and not asks(text, languages) and not _is_goodbye(said, begin, end, people, languages):
                shown.add(row.digest)
                name = lists.names.label_participant(row.said_by_key, row.said_by) if row.said_by else ""
                lines[key] = f"{day}: {stamp(at, call.zone)} {f'{name}: {text}' if name else mark_opening(text)}"
    ids = [f"{BY_NUMBER[source].name}/{row}" for source, row in lines]
    left_out = tuple(LeftOut(KEY, "limit", each) for each in ids[MOST_LINES:])
    return Built(list(lines.values())[:MOST_LINES], left_out, tuple(ids[:MOST_LINES]))


def _is_goodbye(text: str, begin: int, end: int, people: str, languages: Sequence[str]) -> bool:
    """Return whether the words from `begin` to `end`, which name a day, belong to a goodbye without hour or place."""
    said = text[begin:end]
    before, after = _CLAUSE_END.split(text[:begin])[-1], _CLAUSE_END.split(text[end:])[0]
    others = asked_words(f"{said} {people}").split()
    return not _DIGIT.search(said) and says_only(before + said + after, "goodbye", others, languages)


def _find_rows(call: PromptCall, seeing: VisibleContext, index: IndexState) -> Iterator[tuple[str, int, RowId]]:
    """Yield (day, time, row) for rows of the last year that are about one of the next days, said before that day."""
    today = call.message.date.astimezone(call.zone).date()
    terms = [(DAY, (today + timedelta(days=step)).isoformat()) for step in range(DAYS + 1)]
    oldest = microseconds(call.message.date - OLDEST)
    sees_local_only = seeing.viewer is not None and seeing.viewer.sees_local_only
    for view, postings in index.read(terms):
        for term in terms:
            rows = postings.find(term)[0]
            rows = take(rows, ~is_among(rows, view.gone))
            facts = (view.source, view.row_id, view.at_us, view.local_only, view.speaker)
            for source, row_id, at_us, is_local, who in zip(*(fact[rows].tolist() for fact in facts), strict=True):
                said_at = from_microseconds(at_us)
                roles = {MEMORIES.number: "user", CHAT.number: view.speakers[who].role}
                if said_at is None or at_us < oldest or is_local > sees_local_only or roles.get(source) != "user":
                    continue
                if said_at.astimezone(call.zone).date().isoformat() < term[1]:
                    yield term[1], at_us, (source, row_id)
