"""Rows by their meaning, where an embedder is configured (docs/embeddings.md): imported by no other search.

Promise: the newest SEMANTIC_NEWEST vectors of the audiences seen are compared with the message in one product of numpy;
of them the nearest that the words did not find become candidates, after the conditions of every other reader. Rows that
words found are compared too, however old they are. What the embedder cannot do is noted, and the words alone decide.

How near two texts are depends on the model: one gives 0.1 to texts that have nothing in common, another 0.7. So it is
not the likeness that counts but how far it stands above that of the other rows.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..database import sources
from ..database.dialects import NEVER_US
from ..database.engine import Database
from ..index import embeddings
from ..index.embeddings import Vector
from ..llm import embedder as semantic_embedder
from ..llm.embedder import EmbedderError
from .ranking.ranking import Candidate
from .terms import Search

MOST_ADDED = 24
"""Rows that become candidates by their meaning alone."""
LEAST_LIKE = 0.45
"""What their meaning must be worth for that, on the scale of `Meanings`."""
STEPS = 5.0
"""Standard deviations above the mean that are worth 1."""
FEWEST = 30
"""Fewer rows than these tell little about what is usual: their spread is taken as no less than USUAL_SPREAD."""
USUAL_SPREAD = 0.1
MOST_AUDIENCES = 32
FRESH_SECONDS = 60.0
"""Vectors held are read whole again after this time; what is newer than the newest is read for every search."""
COMMIT_SECONDS = 15.0
"""A change is noted before it is committed: vectors read until so long after it may be those from before."""
MOST_HELD = 64
"""Audiences whose vectors are held, for one database."""

Place = tuple[int, int]
"""Source and id of a row."""


class _Held:
    """The newest vectors of an audience that one model made, newest first; those of one row follow each other."""

    def __init__(
        self, rows: Sequence[Place], at_us: Sequence[int], matrix: Any, lengths: Any, read_at: float, most: int
    ) -> None:
        self.of = rows
        """The row of each vector."""
        self.at_us = at_us
        self.matrix: Any
        self.lengths: Any
        self.matrix, self.lengths = matrix, lengths
        self.read_at: float
        self.most: int
        self.read_at, self.most = read_at, most
        self.starts: list[int] = [n for n, row in enumerate(rows) if n == 0 or row != rows[n - 1]]
        """The first vector of each row."""
        self.rows: list[Place] = [rows[n] for n in self.starts]
        self.number: dict[Place, int] = {row: n for n, row in enumerate(self.rows)}

    def likeness(self, asked: Any) -> Any:
        """Return the cosine of the best vector of each row."""
        # Not `@`: on a busy machine the threads of BLAS wait for each other ten times as long as one takes for this.
        values = np.einsum("ij,j->i", self.matrix.astype(np.float32), asked) / self.lengths
        return values if len(self.starts) == len(values) else np.maximum.reduceat(values, self.starts)

    def vectors(self, places: Iterable[Place], asked: Any) -> dict[Place, Any]:
        """Return the vector of each row that is here, of length 1: of several the one nearest to what is asked."""
        here = [(place, n) for place in places if (n := self.number.get(place)) is not None]
        if not here:
            return {}
        chosen = [self._nearest(n, asked) for _, n in here]
        found = self.matrix[chosen].astype(np.float32) / self.lengths[chosen, None]
        return {place: vector for (place, _), vector in zip(here, found, strict=True)}

    def without(self, rows: Collection[Place]) -> _Held:
        """Return the same without the vectors of some rows."""
        kept = [n for n, row in enumerate(self.of) if row not in rows]
        if len(kept) == len(self.of):
            return self
        of, at_us = [self.of[n] for n in kept], [self.at_us[n] for n in kept]
        return _Held(of, at_us, self.matrix[kept], self.lengths[kept], self.read_at, self.most)

    def _nearest(self, n: int, asked: Any) -> int:
        start, end = self.starts[n], self.starts[n + 1] if n + 1 < len(self.starts) else len(self.of)
        if end - start == 1:
            return start
        return start + int(np.argmax(self.matrix[start:end].astype(np.float32) @ asked / self.lengths[start:end]))


@dataclass(slots=True)
class Meanings:
    """How near rows are to what is asked: 0 for as near as the others, 1 for STEPS standard deviations nearer."""

    asked: Any
    """The vector of the message: a search that goes deeper does not ask for it again."""
    mean: float
    spread: float
    held: list[_Held] = field(default_factory=list)
    worth: dict[Place, float] = field(default_factory=dict)
    weight: float = 1.0
    """SEMANTIC_WEIGHT."""
    is_whole: bool = False
    """All vectors of the audiences seen are among those held."""

    def add(self, held: _Held, like: Any) -> None:
        """Add rows, with the cosine of each."""
        self.held.append(held)
        self.worth.update(zip(held.rows, self.scaled(like).tolist(), strict=True))

    @property
    def share(self) -> float:
        """Return how far meaning stands beside the words, 0 to 1; 0 where no row has a vector."""
        return min(1.0, self.weight) if self.worth else 0.0

    def of(self, source: int, row_id: int) -> float:
        """Return what the meaning of a row is worth, weighted; 0 where nothing is known of it."""
        return self.weight * self.worth.get((source, row_id), 0.0)

    def vectors(self, places: Sequence[Place]) -> dict[Place, Any]:
        """Return the vectors of rows, each of length 1, as far as they are known."""
        return {place: vector for one in self.held for place, vector in one.vectors(places, self.asked).items()}

    def as_one(self, groups: Sequence[Sequence[Any]]) -> list[float]:
        """Return what the vectors of each group are worth as those of one text: the direction they have in common."""
        if not groups:
            return []
        first = np.cumsum([0, *(len(group) for group in groups[:-1])])
        sums = np.add.reduceat(np.stack([vector for group in groups for vector in group]), first)
        like = np.einsum("ij,j->i", sums, self.asked) / np.maximum(np.linalg.norm(sums, axis=1), 1e-9)
        return self.scaled(like, self.weight).tolist()  # type: ignore[no-any-return]

    def scaled(self, like: Any, weight: float = 1.0) -> Any:
        """Return cosines as what they are worth."""
        return np.maximum(0.0, (like - self.mean) * (weight / self.spread / STEPS))


class _Cache:
    """The vectors held for one database, those used last."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.held: OrderedDict[tuple[str, int], _Held] = OrderedDict()


def compare_rows(
    search: Search, db: Database, candidates: Sequence[Candidate], before: Meanings | None = None
) -> tuple[Meanings | None, Sequence[Candidate]]:
    """Return how near rows are to the message, None where it says nothing or is not weighed, and all candidates.

    Args:
        candidates: what the words found; of the rows compared the nearest come to these.
        before: what an earlier round found out, which has the vector of the message.

    Raises:
        EmbedderError: the embedder gave no vector of the message.
        StoreReadError: the vectors could not be read.
    """
    settings, embedder = search.settings, search.embedder
    if not search.query.text or not search.viewer.audiences or not settings.semantic_weight:
        return None, candidates
    if before is None:
        db.let_go()  # an embedder may take its time
        asked = _asked(embedder, search.query.text, settings.hook_timeout_seconds)
    else:
        asked = before.asked
    held = _held(db, search, embedder.name, len(asked))
    changed = _changed(db, held)
    held = [one.without(changed) for one in held]
    known = {place for one in held for place in one.rows}
    found = [place for c in candidates if (place := (c.source, c.id)) not in known]
    older = _older(search, db, len(asked), [*found, *changed])
    like = [one.likeness(asked) for one in (*held, older)]
    # What is usual is told by rows of any kind, not by those that hold the words, where there are enough of them.
    is_whole = len(held) == len(_rows_of(search)) and all(len(one.of) < one.most for one in held)
    usual = _usual(like[:-1] if len(known) >= FEWEST else like, young=is_whole and len(known) < FEWEST)
    meanings = Meanings(asked, *usual, weight=settings.semantic_weight, is_whole=is_whole)
    for one, values in zip((*held, older), like, strict=True):
        meanings.add(one, values)
    return meanings, [*candidates, *_nearest(search, db, meanings, candidates)]


def compare_neighbours(search: Search, db: Database, meanings: Meanings, rows: Iterable[Place]) -> None:
    """Compare rows too that were brought for their neighbours.

    All of them are, but where the audiences seen have more vectors than are held.

    Raises:
        StoreReadError: the vectors could not be read.
    """
    missing = [] if meanings.is_whole else [place for place in rows if place not in meanings.worth]
    older = _older(search, db, len(meanings.asked), missing)
    meanings.add(older, older.likeness(meanings.asked))


def _changed(db: Database, held: Sequence[_Held]) -> set[Place]:
    """Return the rows held that this handle has changed since they were read: what they say now is looked up."""
    known: dict[Place, float] = db.caches.setdefault(embeddings.CHANGED, {})
    now = time.monotonic()
    changed = set()
    for place, at in list(known.items()):
        if at < now - FRESH_SECONDS - COMMIT_SECONDS:
            known.pop(place, None)
        elif any(place in one.number and one.read_at < at + COMMIT_SECONDS for one in held):
            changed.add(place)
    return changed


def _older(search: Search, db: Database, dimensions: int, rows: Iterable[Place]) -> _Held:
    """Return the vectors of rows that are not among those held."""
    return _matrix(embeddings.of_rows(db, search.embedder.name, search.viewer.audiences, rows), dimensions)


def _rows_of(search: Search) -> dict[int, int]:
    """Return the audiences seen in which something was said, with how many rows they have."""
    viewer = search.viewer
    rows = {a: sum(viewer.docs.get((a, s.number), (0, 0))[0] for s in sources.ALL) for a in viewer.audiences}
    return {audience: count for audience, count in rows.items() if count}


def _asked(embedder: Any, text: str, timeout_seconds: float) -> Any:
    with np.errstate(over="ignore"):  # a number too large for it is refused below
        made = np.asarray(semantic_embedder.ask(embedder, [text], timeout_seconds)[0], dtype=np.float32)
        length = float(np.linalg.norm(made))
    if not np.isfinite(length) or length <= 0.0:
        raise EmbedderError("vector")
    return made / length


def _held(db: Database, search: Search, model: str, dimensions: int) -> list[_Held]:
    """Return the vectors of the audiences seen, the newest SEMANTIC_NEWEST of them about; what is missing is read."""
    newest, rows = search.settings.semantic_newest, _rows_of(search)
    if not newest:
        return []
    seen = sorted(rows, key=lambda a: (-rows[a], a))[:MOST_AUDIENCES]
    most = max(1, newest if len(seen) == 1 else 2 * newest // max(1, len(seen)))
    cache: _Cache = db.caches.setdefault(__name__, _Cache())
    now = time.monotonic()
    known: dict[int, _Held] = {}
    with cache.lock:
        for audience in seen:
            one = cache.held.get((model, audience))
            if one is None or one.matrix.shape[1] != dimensions:
                continue
            if now - one.read_at < FRESH_SECONDS and one.most >= most:
                known[audience] = one
    after = {a: known[a].at_us[0] if a in known and known[a].at_us else NEVER_US for a in seen}
    read = embeddings.newest(db, model, after, {a: min(most, newest) for a in seen})
    made = []
    for audience in seen:
        one = known.get(audience)
        fresh = _matrix(read[audience], dimensions, read_at=now, most=most)
        if one is None:
            one = fresh
        elif fresh.of:
            one = _joined(fresh, one)
        made.append(one)
        with cache.lock:
            cache.held[model, audience] = one
            cache.held.move_to_end((model, audience))
            while len(cache.held) > MOST_HELD:
                cache.held.popitem(last=False)
    return made


def _matrix(vectors: Sequence[Vector], dimensions: int, *, read_at: float = 0.0, most: int = 0) -> _Held:
    # A model that changed its dimensions and not its name: what it made before cannot be compared.
    fitting = [v for v in vectors if len(v.vector) == dimensions]
    matrix = np.frombuffer(b"".join(v.vector for v in fitting), dtype=np.int8).reshape(len(fitting), dimensions)
    lengths = np.maximum(np.linalg.norm(matrix.astype(np.float32), axis=1), 1e-9)
    return _Held([(v.source, v.row_id) for v in fitting], [v.at_us for v in fitting], matrix, lengths, read_at, most)


def _joined(fresh: _Held, known: _Held) -> _Held:
    most = max(known.most, len(fresh.of))
    return _Held(
        [*fresh.of, *known.of][:most],
        [*fresh.at_us, *known.at_us][:most],
        np.concatenate([fresh.matrix, known.matrix])[:most],
        np.concatenate([fresh.lengths, known.lengths])[:most],
        known.read_at,
        known.most,
    )


def _usual(like: Sequence[Any], *, young: bool = False) -> tuple[float, float]:
    """Return mean and spread of all but the nearest, which may be what is looked for.

    Where little was said yet, two or three rows about what is asked are much of it. They would make each other look
    usual, so that none were found: the nearest third tells nothing about the spread there.
    """
    found = np.sort(np.concatenate([*like, np.zeros(0, np.float32)]))[:-1]
    if not len(found):
        return 0.0, USUAL_SPREAD
    spread = float((found[: -(len(found) // 3) or None] if young else found).std())
    return float(found.mean()), max(spread, 1e-6) if len(found) >= FEWEST else max(spread, USUAL_SPREAD)


def _nearest(search: Search, db: Database, meanings: Meanings, candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return rows that are no candidates yet and near enough, the nearest first, as far as they may be found."""
    known = {(c.source, c.id) for c in candidates}
    wanted = {s.number for s in search.query.sources}
    left_out = search.query.exclude.rows
    at_us = {row: one.at_us[n] for one in meanings.held for row, n in zip(one.rows, one.starts, strict=True)}
    nearest = sorted(
        (
            place
            for place, worth in meanings.worth.items()
            if worth >= LEAST_LIKE
            and place not in known
            and place[0] in wanted
            and (sources.BY_NUMBER[place[0]].name, place[1]) not in left_out
        ),
        key=lambda place: (-meanings.worth[place], -at_us[place], place),
    )[:MOST_ADDED]
    seen = embeddings.allowed(db, search.viewer.audiences, search.limits, nearest)
    return [Candidate(*place, seen[place], by_meaning=True) for place in nearest if place in seen]
