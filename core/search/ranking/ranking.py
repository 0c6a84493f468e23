"""Rank all matching rows over arrays, without reading rows from the database.

Rows are scored by their own words and their place; the best of each audience (LEADING) are scored again with their
neighbours. The best rows of all audiences are returned with their reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...index.numbers import LocalRows, MatchRows, ViewRows
from ...index.shapes import IndexTerm, RowId
from .around import Around, list_words, look_around
from .frame import AudienceMatches, Frame, Seen, build_frame, look_at
from .own_words import HeldWords, read_words
from .reasons import (
    MOST_RANKED,
    SessionScores,
    choose_leads,
    find_in_order,
    find_newest,
    find_open,
    is_said_by_others,
    keep_fullest,
    list_reasons,
    weigh_sessions,
)
from .rows import Candidate, Kept, Matched, RankingQuery

ReadHeld = Callable[[int, Mapping[IndexTerm, int]], tuple[Matched, bool]]
"""Returns the terms that a row of a source holds, from its index terms, and whether it holds none."""

LEADING = 200
"""Best rows of each audience by their own words that are scored with their neighbours."""
MOST_OTHERS = 2
"""Maximum number of hits for rows of other people that match better than the named person's own rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The result of a ranking."""

    considered: Mapping[int, int] = field(default_factory=dict)
    """Number of matching rows, by source."""
    open: int = 0
    """Number of matches not excluded."""
    around: Around | None = None
    """Rows that were scored with their neighbours; None if nothing matches."""
    best: LocalRows = field(default_factory=lambda: LocalRows(np.zeros(0, np.int64)))
    """Best rows, best first."""
    kept: Sequence[tuple[LocalRows, Kept]] = ()
    """Rows that are read whatever their rank, each with the reason why it gets one of the first places."""
    seen: Sequence[Seen] = ()
    held: HeldWords | None = None
    sessions: SessionScores | None = None


def rank_rows(
    audiences: Sequence[AudienceMatches],
    query: RankingQuery,
    offered: Sequence[ViewRows],
    count: int,
) -> Ranking:
    """Return the best rows, at most `count`, and the number of matching rows.

    Args:
        offered: for each audience, rows that are ranked although they do not match, sorted.
    """
    if not audiences:
        return Ranking()
    held = read_words(audiences, query, offered)
    seen = look_at(audiences, query)
    is_open = find_open(seen, held.rows)
    counts = _count_sources(seen, held), int(np.count_nonzero(is_open))
    most = max(count, LEADING)
    if query.by_words:
        at_us = np.concatenate([one.matches.view.at_us[rows] for one, rows in zip(seen, held.rows, strict=True)])
        around = list_words(seen, held, choose_leads(held, is_open, at_us, most, {}, held.turn))
        return Ranking(*counts, around, around.list_best(count), (), seen, held)
    order = query.question.order
    fullest = held if order else keep_fullest(held, max(MOST_RANKED, count), offered)
    if fullest is not held:
        held, is_open = fullest, find_open(seen, fullest.rows)
    frame = build_frame(seen, held.rows)
    sessions = weigh_sessions(seen, held, frame)
    of_row = sessions.find(frame.session)
    reasons = list_reasons(seen, frame, query, held.own, held.turn, held.share, of_row)
    leads = choose_leads(held, is_open, frame.at_us, most, reasons, frame.long)
    by_time = find_in_order(held, frame, is_open, order) if order else find_newest(held, frame, is_open, query.newest)
    placed = list(_split(frame, by_time))
    for n, rows in placed:
        leads[n] = ViewRows(np.concatenate([leads[n], rows]))
    around = look_around(seen, held, sessions, leads, query, query.reach)
    best = around.list_best(count)
    kept: list[tuple[LocalRows, Kept]] = [(around.find(n, rows), "" if order else "newest") for n, rows in placed]
    if query.question.people and is_said_by_others(held, frame):
        others = around.is_match[best] & (around.reasons["person"][best] < 0)
        kept.append((LocalRows(best[others][:MOST_OTHERS]), "others"))
    return Ranking(*counts, around, best, kept, seen, held, sessions)


def _count_sources(seen: Sequence[Seen], held: HeldWords) -> dict[int, int]:
    """Return the number of matching rows of each source."""
    matching: Counter[int] = Counter()
    for one, rows in zip(seen, held.rows, strict=True):
        matching.update(dict(enumerate(np.bincount(one.matches.view.source[rows]).tolist())))
    return {source: n for source, n in matching.items() if n}


def _split(frame: Frame, rows: MatchRows) -> Iterator[tuple[int, ViewRows]]:
    """Yield each matching row as (position of its audience, view row)."""
    for row in rows.tolist():
        n = int(frame.starts.searchsorted(row, "right")) - 1
        yield n, ViewRows(frame.row[row : row + 1])


def find_around(ranking: Ranking, query: RankingQuery, wanted: Sequence[RowId], reach: int) -> list[Candidate]:
    """Return rows found by meaning, and their neighbours within `reach`, with reasons."""
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
    """Return rows as candidates, in the order given.

    Args:
        read_held: returns the terms that a row holds.
        kept: rows with a place among the first hits, with the reason.
        offers: rows without a match may be hits.
    """
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
            of_rows, sources = seen[n].matches.postings.list_held(own.tolist(), len(view)), view.source[own].tolist()
            for at, row, source in zip(here.tolist(), own.tolist(), sources, strict=True):
                held[at] = read_held(source, of_rows[row])
    context, why = (~around.is_match[rows]).tolist(), kept or {}
    names = list(around.reasons)
    values = np.array([around.reasons[name][rows] for name in names], np.float64).T.tolist() or [()] * len(rows)
    columns = {
        "source": frame.source[rows].tolist(),
        "id": row_id.tolist(),
        "at_us": frame.at_us[rows].tolist(),
        "words": frame.words[rows].astype(np.int64).tolist(),
        "score": np.round(around.score[rows].astype(np.float64), 6).tolist(),
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
    return [Candidate(**dict(zip(columns, each, strict=True))) for each in zip(*columns.values(), strict=True)]
