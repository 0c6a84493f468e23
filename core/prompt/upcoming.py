"""The section `upcoming`: earlier statements about the next days, the nearest day first."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from functools import partial

from ..access.view import Viewer
from ..base.patterns import lazy_pattern
from ..context.history import HistoryLists
from ..context.lines import mark_opening, stamp
from ..context.section_base import Built
from ..database.dialects import from_microseconds, microseconds
from ..database.engine import Database
from ..database.sources import BY_NUMBER, CHAT, MEMORIES
from ..index.entries import calendar_of
from ..index.numbers import Flags, ViewRows, is_among, take
from ..index.shapes import DAY, RowId
from ..index.state import IndexState
from ..index.visible import Visible
from ..search.changes import find_changes
from ..search.query import asks
from ..search.rank import find_moved
from ..search.ranking.days import find_day
from ..search.ranking.rows import FILLING, FoundRow
from ..search.table import read_rows, read_values
from ..shapes import LeftOut
from ..text.folding import join_lines
from ..text.hits import snippet, snippet_around
from ..text.languages import likely_languages
from ..text.question_words import asked_words, says_only
from ..text.time import LOOKED_AT, name_yearly
from .call import PromptCall, Recalled, VisibleContext, with_asker_zone

KEY = "upcoming"
DAYS = 7
MOST_LINES = 3
MOST_CHECKED = 6
"""Number of lines for which later messages are looked up that move or cancel them."""
AT_ONCE, MOST_READ = 24, 240
"""Number of rows read at once, and maximum in total, to choose the section from; the nearest days come first."""
_CLAUSE_END, _DIGIT = lazy_pattern(r"[,.;:!?\n\u3001\u3002\uff01\uff1f]"), lazy_pattern(r"\d")
OLDEST = timedelta(days=366)
"""Greatest age of a row without a birthday: older rows seldom mean the coming days."""


def build_upcoming(
    call: PromptCall, seeing: VisibleContext, lists: HistoryLists, recalled: Recalled, drop: Callable[[FoundRow], str]
) -> Built:
    """Return what people said earlier about the next days, without rows that the prompt shows or `drop` leaves out."""
    call, db, index, viewer = with_asker_zone(call), call.db, seeing.index, seeing.viewer
    assert db is not None and index is not None and viewer is not None
    about = sorted({(day, -at_us, row) for day, at_us, row in _find_rows(call, db, viewer, index)})[:MOST_READ]
    chars, zone = call.settings.snippet_chars, call.settings.timezone
    values = read_values(viewer, db, max(chars + 1, LOOKED_AT))
    shown = {one.row.digest for one in recalled.chosen if one.scored.tier < FILLING} - {None}
    lines: dict[RowId, str] = {}
    plans: list[FoundRow] = []
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
            said = row.shown_text
            places = calendar_of(db)._replace(zone=zone).find_places(said, from_microseconds(row.at_us))
            names = (day, *name_yearly(date.fromisoformat(day)))
            begin, end = next(filter(None, map(places.get, names)), (0, 0))
            text = join_lines(said if len(said) <= chars else snippet_around(said, begin, end - begin, chars))
            languages = likely_languages(text, call.settings.languages)
            if text.strip() and not asks(text, languages) and not _is_goodbye(said, begin, end, people, languages):
                shown.add(row.digest)
                lines[key] = f"{day}: {_write(call, lists, row, text)}"
                plans += [row] if len(plans) < MOST_CHECKED else []
    changes = find_changes(db, index, plans, values, call.settings.languages, partial(_may_read, viewer))
    for key, row in [(key, row) for key, rows in changes.items() for row in reversed(rows)]:
        if key in lines and not drop(row):
            lines[key] += f" (Later: {_write(call, lists, row, join_lines(snippet(row.shown_text, chars)))})"
            lines.pop((row.source, row.id), None)
    ids = [f"{BY_NUMBER[source].name}/{row}" for source, row in lines]
    left_out = tuple(LeftOut(KEY, "limit", each) for each in ids[MOST_LINES:])
    return Built(list(lines.values())[:MOST_LINES], left_out, tuple(ids[:MOST_LINES]))


def _write(call: PromptCall, lists: HistoryLists, row: FoundRow, text: str) -> str:
    name = lists.names.label_participant(row.said_by_key, row.said_by) if row.said_by else ""
    return f"{stamp(from_microseconds(row.at_us), call.zone)} {f'{name}: {text}' if name else mark_opening(text)}"


def _may_read(viewer: Viewer, view: Visible) -> Callable[[ViewRows], Flags]:
    return lambda rows: ~is_among(rows, view.gone) & (view.local_only[rows] <= viewer.sees_local_only)


def _is_goodbye(text: str, begin: int, end: int, people: str, languages: Sequence[str]) -> bool:
    """Return whether the words from `begin` to `end`, which name a day, belong to a goodbye without hour or place."""
    said = text[begin:end]
    before, after = _CLAUSE_END.split(text[:begin])[-1], _CLAUSE_END.split(text[end:])[0]
    others = asked_words(f"{said} {people}").split()
    return not _DIGIT.search(said) and says_only(before + said + after, "goodbye", others, languages)


def _find_rows(call: PromptCall, db: Database, viewer: Viewer, index: IndexState) -> Iterator[tuple[str, int, RowId]]:
    """Yield (day, time, row) for rows about a coming day, said before it; rows over a year old only for yearly days."""
    today = call.message.date.astimezone(call.zone).date()
    days = [today + timedelta(days=step) for step in range(DAYS + 1)]
    terms = {(DAY, name): str(day) for day in days for name in (str(day), *name_yearly(day))}
    oldest = microseconds(call.message.date - OLDEST)
    moved = find_moved(index, [name for _, name in terms], viewer, db, call.settings.timezone)
    for view, postings in index.read(list(terms), every=bool(moved)):
        for term, day in terms.items():
            rows = find_day(term[1], view, postings, moved)
            rows = take(rows, _may_read(viewer, view)(rows))
            facts = (view.source, view.row_id, view.at_us, view.speaker)
            for source, row_id, at_us, who in zip(*(fact[rows].tolist() for fact in facts), strict=True):
                said_at = from_microseconds(at_us)
                roles = {MEMORIES.number: "user", CHAT.number: view.speakers[who].role}
                is_old = at_us < oldest and term[1] == day
                if said_at is None or is_old or roles.get(source) != "user":
                    continue
                if said_at.astimezone(call.zone).date().isoformat() < day:
                    yield day, at_us, (source, row_id)
