"""Ranks all matching rows by arrays of the index, without reading rows from the database.

Rows are scored by their words, time, speaker and conversation; the best of each audience (LEADING) are scored again
with their neighbours. The best rows of all audiences are returned with their ranking reasons.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...index.numbers import Flags, Floats, Ints, LocalRows, MatchRows, ViewRows, put_in_order
from ...index.shapes import IndexTerm, RowId
from . import reasons
from .days import are_inside
from .frame import AudienceMatches, Frame, HeldWords, Seen, build_frame, choose_best, look_at, read_words
from .rows import Candidate, Kept, Matched, RankingQuery
from .weights import SHORT_ROW, saturation

ReadHeld = Callable[[Iterable[int], Iterable[Mapping[IndexTerm, int]]], list[tuple[Matched, bool]]]
"""Returns the query terms that rows hold, given their sources and index terms, and whether each holds no term."""

LEADING = 200
"""Number of best rows of each audience, by their own words, that are scored again with their neighbours."""
MOST_OTHERS = 2
"""Maximum number of rows that get one of the first places for who said them (`Kept`: others, person)."""
REACH = 6
"""Minimum number of rows on either side of the best that are included as neighbours."""
FADE_BACK, FADE_ON = 150.0, 50.0
"""Distance in words at which the weight of an earlier or a later row's word falls to 1/e: answers follow questions."""


@dataclass(frozen=True, eq=False)
class Around:
    """The best rows of all audiences and their neighbours."""

    frame: Frame
    score: Floats
    is_match: Flags
    may_be_hit: Flags
    visible: Flags
    """Rows that may be read and are not left out."""
    run: Ints
    """Number of the run of adjacent messages that each row belongs to."""
    tags: Floats
    reasons: Mapping[str, Floats] = field(default_factory=dict)

    def list_best(self, most: int) -> LocalRows:
        """Return the `most` best rows that may be hits, best first; rows of equal score are ordered newest first."""
        may = self.may_be_hit.nonzero()[0]
        return LocalRows(may[choose_best(self.score[may], self.frame.at_us[may], most)])

    def find(self, n: int, rows: ViewRows) -> LocalRows:
        """Return the positions of these rows of audience `n`; all of them must be among the rows of this object."""
        return LocalRows(self.frame.starts[n] + self.frame.rows_of(n).searchsorted(rows))

    def list_own(self, rows: LocalRows) -> list[float]:
        own: list[float] = self.reasons["own"][rows].tolist() if self.reasons else [0.0] * len(rows)
        return own


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    considered: Mapping[int, int] = field(default_factory=dict)
    """Number of matching rows, by source."""
    open: int = 0
    """Number of matching rows that are not left out."""
    around: Around | None = None
    """Rows that were scored with their neighbours; None if nothing matches."""
    best: LocalRows = field(default_factory=lambda: LocalRows(np.zeros(0, np.int64)))
    """Best rows, best first."""
    kept: Sequence[tuple[LocalRows, Kept]] = ()
    """Rows that are read whatever their rank, each with the reason why it gets one of the first places."""
    seen: Sequence[Seen] = ()
    held: HeldWords | None = None
    sessions: reasons.SessionScores | None = None


def rank_rows(
    audiences: Sequence[AudienceMatches], query: RankingQuery, offered: Sequence[ViewRows], count: int
) -> Ranking:
    """Return at most `count` of the rows that match or are in `offered`, the best, and the number of matching rows."""
    if not audiences:
        return Ranking()
    held = read_words(audiences, query, offered)
    seen = look_at(audiences, query)
    is_open = reasons.find_open(seen, held.rows)
    sources = np.concatenate([one.matches.view.source[rows] for one, rows in zip(seen, held.rows, strict=True)])
    considered = {source: n for source, n in enumerate(np.bincount(sources).tolist()) if n}
    counts = considered, int(np.count_nonzero(is_open))
    most = max(count, LEADING)
    if query.by_words:
        at_us = np.concatenate([one.matches.view.at_us[rows] for one, rows in zip(seen, held.rows, strict=True)])
        around = list_words(seen, held, reasons.choose_leads(held, is_open, at_us, most, {}, held.turn))
        return Ranking(*counts, around, around.list_best(count), (), seen, held)
    order = query.question.order
    fullest = held if order else reasons.keep_fullest(held, max(reasons.MOST_RANKED, count), offered)
    if fullest is not held:
        held, is_open = fullest, reasons.find_open(seen, fullest.rows)
    frame = build_frame(seen, held.rows)
    sessions = reasons.weigh_sessions(seen, held, frame)
    of_row = sessions.find(frame.session)
    by_reason = reasons.list_reasons(seen, frame, query, held.own, held.turn, held.share, of_row)
    leads = reasons.choose_leads(held, is_open, frame.at_us, most, by_reason, frame.long)
    if order:
        by_time = reasons.find_in_order(held, frame, is_open, order)
    else:
        by_time = reasons.find_newest(held, frame, is_open, query.newest)
    placed = list(_split(frame, by_time))
    for n, rows in placed:
        leads[n] = ViewRows(np.concatenate([leads[n], rows]))
    around = look_around(seen, held, sessions, leads, query, query.reach)
    best = around.list_best(count)
    kept: list[tuple[LocalRows, Kept]] = [(around.find(n, rows), "" if order else "newest") for n, rows in placed]
    if query.question.people:
        by_others = reasons.is_said_by_others(held, frame)
        whose = around.reasons["person"][best]
        said = best[around.is_match[best] & (whose < 0 if by_others else whose > 0)]
        if by_others or (len(best) and whose[0] < 0):
            kept.append((LocalRows(said[:MOST_OTHERS]), "others" if by_others else "person"))
    return Ranking(*counts, around, best, kept, seen, held, sessions)


def _split(frame: Frame, rows: MatchRows) -> Iterator[tuple[int, ViewRows]]:
    """Yield each matching row as (position of its audience, view row)."""
    for row in rows.tolist():
        n = int(frame.starts.searchsorted(row, "right")) - 1
        yield n, ViewRows(frame.row[row : row + 1])


def find_around(ranking: Ranking, query: RankingQuery, wanted: Sequence[RowId], reach: int) -> list[Candidate]:
    """Return the rows `wanted`, found by meaning, and neighbours at most `reach` rows away, with ranking reasons."""
    leads = [one.matches.view.find_rows(wanted) for one in ranking.seen]
    if ranking.held is None or ranking.sessions is None or not any(map(len, leads)):
        return []
    around = look_around(ranking.seen, ranking.held, ranking.sessions, leads, query, reach)
    close = around.visible.copy()
    for n, rows in enumerate(leads):
        here = slice(around.frame.starts[n], around.frame.starts[n + 1])
        steps = np.abs(np.subtract.outer(around.frame.rows_of(n), rows))
        same_run = np.equal.outer(around.run[here], around.run[around.find(n, rows)])
        close[here] &= ((steps <= reach) & same_run).any(axis=1)
    return build_candidates(ranking.seen, around, LocalRows(close.nonzero()[0]))


def build_candidates(
    seen: Sequence[Seen],
    around: Around,
    rows: LocalRows,
    read_held: ReadHeld | None = None,
    kept: Mapping[int, Kept] | None = None,
    *,
    offers: bool = False,
) -> list[Candidate]:
    """Make candidates of rows; `kept` says why some must stay, and with `offers` rows without a match may be hits."""
    frame, which = around.frame, around.frame.starts.searchsorted(rows, "right") - 1
    row_id, session_rows = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    held: list[tuple[Matched, bool]] = [({}, False)] * len(rows)
    for n in sorted(set(which.tolist())):
        here = (which == n).nonzero()[0]
        view, own = seen[n].matches.view, frame.row[rows[here]]
        session = view.session[own]
        row_id[here] = view.row_id[own]
        session_rows[here] = view.session_start[session + 1] - view.session_start[session]
        if read_held is not None:
            of_rows = seen[n].matches.postings.list_held(own.tolist(), len(view))
            for at, matched in zip(here.tolist(), read_held(view.source[own].tolist(), of_rows), strict=True):
                held[at] = matched
    context, why = (~around.is_match[rows]).tolist(), kept or {}
    names = list(around.reasons)
    values = np.array([around.reasons[name][rows] for name in names], np.float64).T.tolist() or [()] * len(rows)
    columns = {  # in the order of the fields
        "source": frame.source[rows].tolist(),
        "id": row_id.tolist(),
        "at_us": frame.at_us[rows].tolist(),
        "words": frame.words[rows].astype(np.int64).tolist(),
        "score": around.score[rows].astype(np.float64).round(6).tolist(),
        "context": context,
        "place": frame.places[rows].tolist(),
        "session": frame.session[rows].tolist(),
        "session_rows": session_rows.tolist(),
        "long": frame.long[rows].tolist(),
        "tag_worth": around.tags[rows].tolist(),
        "reasons": [dict(zip(names, row, strict=True)) for row in values],
        "matched": [matched for matched, _ in held],
        "is_offered": [offers and is_offered and not near for (_, is_offered), near in zip(held, context, strict=True)],
        "kept": [why.get(row, "") for row in rows.tolist()],
    }
    return list(map(Candidate, *columns.values()))


# The best rows with their neighbours: an answer follows its question


def list_words(seen: Sequence[Seen], held: HeldWords, leads: Sequence[ViewRows]) -> Around:
    """Return matching rows scored by their own words only, without neighbours."""
    frame = build_frame(seen, [put_in_order(rows) for rows in leads])
    at, is_match = _find_held(held, frame)
    nothing = np.zeros(len(frame), np.float32)
    return Around(frame, held.turn[at], is_match, is_match, is_match, np.zeros(len(frame), np.int64), nothing)


def look_around(
    seen: Sequence[Seen],
    held: HeldWords,
    sessions: reasons.SessionScores,
    leads: Sequence[ViewRows],
    query: RankingQuery,
    reach: int,
) -> Around:
    """Return `leads` of each audience with their neighbours, scored by the ranking reasons that need no text."""
    widest = max(REACH, reach) if reach else 0
    frame = build_frame(seen, [_widen(one, rows, widest) for one, rows in zip(seen, leads, strict=True)])
    touches: Flags = np.zeros(len(frame), bool)
    is_next, is_chat = frame.row[1:] - frame.row[:-1] == 1, frame.is_chat[1:] & frame.is_chat[:-1]
    touches[1:] = is_next & (frame.thread[1:] == frame.thread[:-1]) & is_chat
    is_near = touches.copy()
    is_near[1:] &= frame.session[1:] == frame.session[:-1]
    at, is_row = _find_held(held, frame)
    nothing = np.zeros(len(at), np.float32)  # of a row that does not match
    values = (held.own, held.turn, held.share, held.tags)
    own, turn, share, tags = [np.where(is_row, each[at], nothing) if len(each) else nothing for each in values]
    is_open = reasons.find_open(seen, [frame.rows_of(n) for n in range(len(seen))])
    visible = is_open.copy()
    for n, one in enumerate(seen):
        if one.matches.readable is not None:
            visible[frame.starts[n] : frame.starts[n + 1]] &= one.matches.readable(frame.rows_of(n))
    is_match, run = is_row & is_open, (~touches).cumsum()
    by_reason = reasons.list_reasons(seen, frame, query, own, turn, share, sessions.find(frame.session))
    contexts = _find_contexts(held, frame, at, is_row, is_near, query, max(REACH, reach)) + tags
    by_reason["context"] = np.maximum(contexts, own)
    by_reason["beside"] = _find_beside(own, frame.words, is_near)
    may = is_match.copy()
    if query.has_answers and reach:
        may |= (contexts >= query.least_context) & _stands_near(is_match, run, reach)
        if query.question.spans:
            may |= are_inside(query.question, frame.at_us)
    score = sum(reasons.weigh(by_reason, reasons.find_fitting(by_reason), frame.long).values(), np.zeros(1, np.float32))
    return Around(frame, score, is_match, may & visible, visible, run, tags, by_reason)


def _widen(one: Seen, rows: ViewRows, widest: int) -> ViewRows:
    """Return these rows of an audience and all rows at most `widest` rows before or after them."""
    wide = put_in_order(ViewRows(np.add.outer(rows, np.arange(-widest, widest + 1)).ravel()))
    return ViewRows(wide[wide.searchsorted(0) : wide.searchsorted(len(one.matches.view))])


def _find_held(held: HeldWords, frame: Frame) -> tuple[MatchRows, Flags]:
    found = [held.find(n, frame.rows_of(n)) for n in range(len(held.rows))]
    at, is_there = [np.concatenate(each) for each in zip(*found, strict=True)]
    return MatchRows(np.minimum(at, max(0, len(held) - 1))), is_there


def _stands_near(is_match: Flags, run: Ints, reach: int) -> Flags:
    """Return which rows are at most `reach` rows away from a match."""
    near = is_match.copy()
    for step in range(1, min(reach, len(run) - 1) + 1):
        same = run[step:] == run[:-step]
        near[step:] |= is_match[:-step] & same
        near[:-step] |= is_match[step:] & same
    return near


def _find_contexts(
    held: HeldWords, frame: Frame, at: MatchRows, is_row: Flags, is_near: Flags, query: RankingQuery, steps: int
) -> Floats:
    """Return each row's word score; words of up to `steps` neighbours on each side count too, near ones more."""
    count, words = len(frame), frame.words
    place = np.full(len(held), -1, np.int64)
    place[at[is_row]] = is_row.nonzero()[0]
    middle = words.cumsum() - words / 2
    run = (~is_near).cumsum()
    own = np.zeros((len(held.groups), count), np.float32)
    for line, hits in zip(own, held.groups.values(), strict=True):
        to = place[hits.rows]
        here = to >= 0
        line[to[here]] = saturation(hits.times[here], words[to[here]], query.mean_words)
    reached = own.copy()
    for step in range(1, min(steps, count - 1) + 1):
        same = run[step:] == run[:-step]
        between = middle[step:] - middle[:-step]
        on, back = reached[:, step:], reached[:, :-step]
        np.maximum(on, own[:, :-step] * (same * np.exp(-between / FADE_BACK)), out=on)
        np.maximum(back, own[:, step:] * (same * np.exp(-between / FADE_ON)), out=back)
    total = np.zeros(count, np.float32)
    for hits, line in zip(held.groups.values(), reached, strict=True):
        total += hits.weight * line
    return total / np.float32(query.total)


def _find_beside(own: Floats, words: Floats, is_near: Flags) -> Floats:
    """Return, for each row, the score of its better neighbour, reduced more for longer rows."""
    other = np.zeros(len(own), np.float32)
    if len(own) > 1:
        other[1:] = own[:-1] * is_near[1:]
        other[:-1] = np.maximum(other[:-1], own[1:] * is_near[1:])
    beside: Floats = other * np.exp(-np.maximum(words, 1) / np.float32(SHORT_ROW))
    return beside
