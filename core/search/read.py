"""Third stage of a search: read the candidates from the database, and compare vectors if there is an embedder.

docs/embeddings.md describes the comparison.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ..base import logs
from ..database.engine import Database
from ..errors import ConfigError, StoreReadError
from ..index import held_vectors
from ..index.held_vectors import VectorPart
from ..index.numbers import Column, Floats
from ..index.shapes import RowId
from ..llm import embedder as semantic_embedder
from ..llm.embedder import Embedder, EmbedderError
from . import rank, table
from .rank import Ranked, leave_best, list_excluded
from .ranking import ranking
from .ranking.relevance import BEFORE, Near
from .ranking.rows import UNKNOWN, Candidate
from .resolve import Search

SEARCH_SECONDS = 5.0
"""Longest wait of a search for the vector of its text, in seconds."""
MOST_ADDED = 24
"""Maximum number of rows that become candidates by their meaning alone."""
MOST_ASKED = 1920
"""Maximum number of nearest rows that are checked for whether they may be hits."""
NEAR_BEST = 24
"""Number of best rows, by words and meaning together, whose neighbours become candidates."""
LEAST_LIKE = 0.45
"""Minimum scaled similarity of a row that becomes a candidate by its meaning."""
STEPS = 5.0
"""Number of standard deviations above the mean that gives the scaled similarity 1."""
FEWEST = 30
"""Number of rows below which the spread is at least USUAL_SPREAD."""
USUAL_SPREAD = 0.1
MOST_MEAN, MOST_SPREAD = 1.6, 2.2
"""Bounds of mean and spread, taken from the less similar half of the rows, so that related rows do not distort them.

MOST_MEAN: maximum distance of the mean from the half's mean, in standard deviations of the half. MOST_SPREAD: maximum
ratio of the spread to the half's standard deviation. A normal distribution has 1.3 and 1.7 and is not changed.
"""
LEAST_SPREAD = 0.25
"""Minimum spread, as a share of the standard deviation of all rows."""


def read_rows(ranked: Ranked, db: Database) -> Ranked:
    """Return the candidates with their rows; rows that were loaded before are not loaded again."""
    missing = [key for c in ranked.candidates if (key := (c.source, c.id)) not in ranked.rows]
    search = ranked.search
    values = table.read_values(search.viewer, db, search.chars, search.searched_chars)
    rows, errors = table.read_rows(db, missing, values)
    return replace(ranked, rows={**ranked.rows, **rows}, errors={**ranked.errors, **errors})


def read_by_meaning(ranked: Ranked, db: Database, before: Ranked | None) -> Ranked:
    """Read the rows of candidates similar in words or meaning; if the embedder fails, of those similar in words."""
    known, candidates = None, list(ranked.candidates)
    failed = None if before is None else before.meaning_error
    if failed is None:
        try:
            known, candidates = compare_rows(ranked, db, None if before is None else before.asked)
        except (EmbedderError, StoreReadError, ConfigError) as error:
            logs.warning("embedder_failed", error=type(error).__name__, reason=getattr(error, "reason", ""))
            failed = error
    if known is not None:
        most = max((c.score for c in candidates), default=0.0) or 1.0
        candidates = [replace(c, score=c.score + most * known.worth.get(c.key, 0.0)) for c in candidates]
    candidates, is_whole = leave_best(candidates, ranked.round)
    is_complete = ranked.is_complete and is_whole
    ranked = read_rows(replace(ranked, candidates=candidates, is_complete=is_complete, meaning_error=failed), db)
    if known is None:
        return ranked
    keys = list(ranked.rows)
    return replace(ranked, asked=known.asked, near=known.with_rows(keys).find_near(keys))


# The meaning of rows


class _Compared(NamedTuple):
    part: VectorPart
    like: Floats
    """Cosine between the message and the most similar vector of each row."""


@dataclass(frozen=True, slots=True, eq=False)
class Meanings:
    """Scaled similarity of rows to the message: 0 at the mean, 1 at STEPS standard deviations above it."""

    asked: Floats
    mean: float
    spread: float
    compared: Sequence[_Compared] = ()
    worth: Mapping[RowId, float] = field(default_factory=dict)
    """Similarity of the rows given to `with_rows`."""

    def with_rows(self, ids: Sequence[RowId]) -> Meanings:
        """Return a copy that includes the similarity of these rows."""
        worth = dict(self.worth)
        for one in self.compared:
            rows = one.part.find(ids)
            like = self.scaled(one.like[[n for _, n in rows]]).tolist() if rows else ()
            for (row_id, _), value in zip(rows, like, strict=True):
                worth[row_id] = max(value, worth.get(row_id, 0.0))
        return replace(self, worth=worth)

    def find_near(self, ids: Sequence[RowId]) -> Near | None:
        """Return the similarities and vectors for the ranking; None if no vectors were compared."""
        found = [(one.part, key, n) for one in self.compared for key, n in one.part.find(ids)]
        nearest = {key: part.nearest_vector(n, self.asked) for part, key, n in found}
        return Near(self.worth, nearest, self.as_one) if self.compared else None

    def as_one(self, groups: Sequence[Sequence[Floats]]) -> list[float]:
        """Return, for each group of vectors, the scaled similarity of their sum to the message."""
        if not groups:
            return []
        first = np.cumsum([0, *(len(group) for group in groups[:-1])])
        sums = np.add.reduceat(np.stack([vector for group in groups for vector in group]), first)
        like = np.einsum("ij,j->i", sums, self.asked) / np.maximum(np.linalg.norm(sums, axis=1), 1e-9)
        return self.scaled(like).tolist()  # type: ignore[no-any-return]

    def scaled(self, like: Floats) -> Floats:
        worth: Floats = np.maximum(0.0, (like - self.mean) * (1.0 / self.spread / STEPS))
        return worth


def compare_rows(ranked: Ranked, db: Database, asked: Floats | None = None) -> tuple[Meanings | None, list[Candidate]]:
    """Return (similarities to the message, the candidates with similar rows and the neighbours of the best added)."""
    search, candidates = ranked.search, list(ranked.candidates)
    if search.embedder is None or not search.query.text or not search.viewer.audiences:
        return None, candidates
    if asked is None:
        db.release_connection()  # an embedder may take its time
        asked = ask_vector(search.embedder, search.query.text, SEARCH_SECONDS)
    if asked is None:
        return None, candidates
    indexes = search.index.audiences.items() if search.index else ()
    audiences = [audience for audience, one in indexes if one.view.sources]
    parts = held_vectors.read_parts(db, search.embedder.name, audiences, len(asked))
    compared = [_Compared(part, part.compare(asked)) for part in parts]
    meanings = Meanings(asked, *find_usual([one.like for one in compared]), compared)
    near = _list_nearest(ranked, meanings)
    found_near = {c.key for c in near}
    candidates = [*(c for c in candidates if c.key not in found_near), *near]
    meanings = meanings.with_rows([c.key for c in candidates])
    return meanings, _bring_neighbours(ranked, meanings, candidates)


def _bring_neighbours(ranked: Ranked, meanings: Meanings, every: Sequence[Candidate]) -> list[Candidate]:
    """Add to the candidates the neighbours of those that are best by words and meaning together."""
    if ranked.ranking is None or ranked.query is None:
        return list(every)
    candidates = [c for c in every if not c.context]
    most = max((c.score for c in candidates), default=0.0) or 1.0
    best = sorted(candidates, key=lambda c: -c.score - most * meanings.worth.get(c.key, 0.0))[:NEAR_BEST]
    wanted = dict.fromkeys(c.key for c in (*best, *(c for c in candidates if c.by_meaning)))
    known = {c.key: c for c in every}
    reach = min(BEFORE, rank.CONTEXT_REACH)
    for row in ranking.find_around(ranked.ranking, ranked.query, list(wanted), reach):
        one = known.get(row.key)
        if one is None:
            known[row.key] = replace(row, context=True)
        elif one.session == UNKNOWN:  # found by its meaning, or a statement: its place was unknown
            place = {name: getattr(row, name) for name in ("words", "place", "session", "session_rows", "long")}
            known[row.key] = replace(one, **place, reasons={**row.reasons, **one.reasons})
    return list(known.values())


def ask_vector(embedder: Embedder, text: str, timeout_seconds: float) -> Floats | None:
    """Return the vector of a text, of length 1; None if the embedder returned zeros."""
    with np.errstate(over="ignore"):  # an overflow to infinity is refused below
        made = np.asarray(semantic_embedder.ask(embedder, [text], timeout_seconds)[0], dtype=np.float32)
        length = float(np.linalg.norm(made))
    if not np.isfinite(length):
        raise EmbedderError("vector")
    return made / length if length > 0.0 else None


def find_usual(like: Sequence[Floats]) -> tuple[float, float]:
    """Return the mean and spread of the similarity of unrelated rows."""
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


def _list_nearest(ranked: Ranked, meanings: Meanings) -> list[Candidate]:
    """Return rows similar to the message that may be hits and are no candidates yet, the most similar first."""
    search, known = ranked.search, {c.key for c in ranked.candidates if not c.context}
    known |= {*list_excluded(search)}
    ids = [row_id for row_id in _by_nearness(search, meanings)[:MOST_ASKED] if row_id not in known]
    seen = {} if ranked.matches is None else ranked.matches.find_times(ids)
    return [Candidate(*row_id, seen[row_id], by_meaning=True) for row_id in ids if row_id in seen][:MOST_ADDED]


def _by_nearness(search: Search, meanings: Meanings) -> list[RowId]:
    """Return similar rows in the searched sources and time span, the most similar first, then by time."""
    wanted = np.array([s.number for s in search.query.sources], np.uint8)
    least, query = meanings.mean + LEAST_LIKE * STEPS * meanings.spread, search.query
    columns = list[tuple[Floats, Column, Column, Column]]()
    for one in meanings.compared:
        row_id, source, at_us = one.part.rows
        near = (one.like >= least) & np.isin(source, wanted) & query.are_within(at_us)
        columns.append((one.like[near], row_id[near], source[near], at_us[near]))
    if not columns:
        return []
    like, row_id, source, at_us = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.lexsort((row_id, source, -at_us, -like))
    return list(zip(source[order].tolist(), row_id[order].tolist(), strict=True))
