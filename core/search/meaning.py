"""Rows by their meaning, where an embedder is configured (docs/embeddings.md): imported by no other search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ..database import sources
from ..database.dialects import microseconds
from ..database.engine import Database
from ..index import held_vectors
from ..llm import embedder as semantic_embedder
from ..llm.embedder import EmbedderError
from . import gather
from .gather import Round
from .likeness import STEPS, Compared, Meanings
from .ranking import all_rows
from .ranking.relevance import BEFORE
from .ranking.rows import UNKNOWN, Candidate, Place
from .resolve import Search

SEARCH_SECONDS = 5.0
"""Longest wait of a search for the vector of its text."""
MOST_ADDED = 24
"""Rows that become candidates by their meaning alone."""
ASKED_AT_ONCE = 96
"""Nearest rows that are asked at once whether they may be found."""
MOST_ASKED = 20
"""How often, where the nearest may not."""
NEAR_BEST = 24
"""Best rows by words and meaning together around which others are brought, beside those found by meaning alone."""
LEAST_LIKE = 0.45
"""What their meaning must be worth for that, on the scale of `Meanings`."""
FEWEST = 30
"""Fewer rows than these tell little about what is usual: their spread is taken as no less than USUAL_SPREAD."""
USUAL_SPREAD = 0.1
MOST_MEAN, MOST_SPREAD = 1.6, 2.2
"""What is usual lies at most so many deviations of the lower half above the mean of that, and spreads at most so many
times as far. For a bell these are 1.3 and 1.7: it is left as it is, and so is one that leans."""
LEAST_SPREAD = 0.25
"""And at least so far, of the spread of all."""


def compare_rows(current: Round, db: Database, before: Meanings | None = None) -> None:
    """Find out how near rows are to the message, and add those that are near to the candidates, with what stands around
    the best of all."""
    search, embedder = current.search, current.search.embedder
    if not search.query.text or not search.viewer.audiences:
        return
    if before is None:
        db.release_connection()  # an embedder may take its time
        asked = ask_vector(embedder, search.query.text, SEARCH_SECONDS)
    else:
        asked = before.asked
    if asked is None:
        return
    parts = held_vectors.read_parts(db, embedder.name, _list_audiences(search), len(asked))
    compared = [Compared(part, part.compare(asked)) for part in parts]
    current.meaning = meanings = Meanings(asked, *find_usual([one.like for one in compared]), compared)
    near = _list_nearest(current, meanings, [c for c in current.candidates if not c.context])
    found_near = {c.key for c in near}
    current.candidates = [*(c for c in current.candidates if c.key not in found_near), *near]
    meanings.know([c.key for c in current.candidates])
    _bring_neighbours(current, meanings)


def _bring_neighbours(current: Round, meanings: Meanings) -> None:
    """Add what stands around the candidates that are best by words and meaning together."""
    if current.ranking is None or current.asked is None:
        return
    candidates = [c for c in current.candidates if not c.context]
    most = max((c.score for c in candidates), default=0.0) or 1.0
    best = sorted(candidates, key=lambda c: -c.score - most * meanings.of(*c.key))[:NEAR_BEST]
    wanted = dict.fromkeys(c.key for c in (*best, *(c for c in candidates if c.by_meaning)))
    known = {c.key: c for c in current.candidates}
    more: list[Candidate] = []
    reach = min(BEFORE, gather.CONTEXT_REACH)
    for row in all_rows.find_around(current.ranking, current.asked, list(wanted), reach):
        one = known.get(row.key)
        if one is None:
            row.context = True
            more.append(row)
        elif one.session == UNKNOWN:  # found by its meaning: where it stands is known only now
            for name in ("words", "place", "session", "session_rows", "long", "reasons"):
                setattr(one, name, getattr(row, name))
    current.candidates = [*current.candidates, *more]


def ask_vector(embedder: Any, text: str, timeout_seconds: float) -> Any:
    """Return the vector of a text, of length 1; None where the embedder knows nothing of it."""
    with np.errstate(over="ignore"):  # a number too large for it is refused below
        made = np.asarray(semantic_embedder.ask(embedder, [text], timeout_seconds)[0], dtype=np.float32)
        length = float(np.linalg.norm(made))
    if not np.isfinite(length):
        raise EmbedderError("vector")
    return made / length if length > 0.0 else None


def find_usual(like: Sequence[Any]) -> tuple[float, float]:
    """Return mean and spread of how near rows are to a message: what is usual, however many are what is looked for."""
    rows = np.sort(np.concatenate([*like, np.zeros(0, np.float32)]))[:-1]
    if not len(rows):
        return 0.0, USUAL_SPREAD
    half = rows[: (len(rows) + 1) // 2]
    mean, spread = (float(each) for each in (rows.mean(dtype=np.float64), rows.std(dtype=np.float64)))
    low_mean, low_spread = (float(each) for each in (half.mean(dtype=np.float64), half.std(dtype=np.float64)))
    spread = max(min(spread, MOST_SPREAD * low_spread), LEAST_SPREAD * spread, 1e-6)
    if len(rows) < FEWEST:
        spread = max(spread, USUAL_SPREAD)
    return min(mean, low_mean + MOST_MEAN * max(low_spread, spread / MOST_SPREAD)), spread


def _list_audiences(search: Search) -> list[int]:
    """Return the audiences seen that have rows."""
    index, numbers = search.index, range(len(sources.ALL))
    return [] if index is None else [a for a in search.viewer.audiences if index.count_rows(numbers, [a])[0]]


def _list_nearest(current: Round, meanings: Meanings, candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return rows that are no candidates yet and near enough, the nearest first, as far as they may be found."""
    search, known = current.search, {c.key for c in candidates}
    known |= {(sources.BY_NAME[name].number, row_id) for name, row_id in search.query.exclude.rows}
    added: list[Candidate] = []
    near = (place for place in _by_nearness(search, meanings) if place not in known)
    for _ in range(MOST_ASKED):
        places = list(islice(near, ASKED_AT_ONCE))
        seen = {} if current.matches is None else current.matches.find_times(places)
        added += [Candidate(*place, seen[place], by_meaning=True) for place in places if place in seen]
        if len(added) >= MOST_ADDED or not places:
            break
    return added[:MOST_ADDED]


def _by_nearness(search: Search, meanings: Meanings) -> Iterable[Place]:
    """Yield the rows near enough of the sources and the time asked for: the nearest first, of equals the newest."""
    wanted = np.array([s.number for s in search.query.sources], np.uint8)
    least, query = meanings.mean + LEAST_LIKE * STEPS * meanings.spread, search.query
    columns: list[list[Any]] = [[], [], [], []]
    for one in meanings.compared:
        row_id, source, at_us = one.part.rows
        near = (one.like >= least) & np.isin(source, wanted)
        if query.since is not None:
            near &= at_us >= microseconds(query.since)
        if query.until is not None:
            near &= at_us < microseconds(query.until)
        for column, values in zip(columns, (one.like, at_us, source, row_id), strict=True):
            column.append(values[near])
    if not columns[0]:
        return
    like, at_us, source, row_id = (np.concatenate(column) for column in columns)
    order = np.lexsort((row_id, source, -at_us, -like))
    yield from zip(source[order].tolist(), row_id[order].tolist(), strict=True)
