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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from core import semantic_embedder
from core.errors import StoreReadError
from core.rules.ranking import Candidate
from core.semantic_embedder import EmbedderError
from core.store import embeddings, sources
from core.store.dialects import NEVER_US
from core.store.embeddings import Vector
from core.store.engine import Database

if TYPE_CHECKING:
    from core.searching.state import Search

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
MOST_HELD = 64
"""Audiences whose vectors are held, for one database."""

Place = tuple[int, int]
"""Source and id of a row."""


@dataclass(slots=True)
class Meanings:
    """How near rows are to what is asked: 0 for as near as the others, 1 for STEPS standard deviations nearer."""

    worth: dict[Place, float] = field(default_factory=dict)
    asked: Any = None
    """The vector of the message: a search that goes deeper does not ask for it again."""

    def of(self, source: int, row_id: int) -> float:
        """Return what the meaning of a row is worth; 0 where nothing is known of it."""
        return self.worth.get((source, row_id), 0.0)


@dataclass(slots=True)
class _Held:
    """The newest vectors of an audience that one model made, newest first."""

    places: list[Place]
    at_us: list[int]
    matrix: Any
    lengths: Any
    read_at: float
    most: int


class _Cache:
    """The vectors held for one database, those used last."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.held: OrderedDict[tuple[str, int], _Held] = OrderedDict()


def add(search: Search, db: Database, embedder: Any) -> None:
    """Compare rows with the message, and add the nearest to the candidates; what fails is noted and changes nothing.

    Source: docs/embeddings.md, F57, T26.
    """
    settings, before = search.settings, search.meaning
    search.meaning = None
    given_up = search.meaning_error is not None
    if given_up or not search.query.text or not search.viewer.audiences or not settings.semantic_weight:
        return
    try:
        asked = before.asked if before else _asked(embedder, search.query.text, settings.hook_timeout_seconds)
        held = _held(db, search, embedder.name, len(asked))
        like, at_us = _likeness(held, asked)
        missing = [p for c in search.candidates if (p := (c.source, c.id)) not in like]
        older = embeddings.of_rows(db, embedder.name, search.viewer.audiences, missing)
        mean, spread = _usual(like.values())
        like |= _likeness([_matrix(older, len(asked))], asked)[0]
        meanings = Meanings({p: max(0.0, (value - mean) / spread / STEPS) for p, value in like.items()}, asked)
        _add_nearest(search, db, meanings, at_us)
        search.meaning = meanings
    except (EmbedderError, StoreReadError) as error:
        search.fail_meaning(error)


def _asked(embedder: Any, text: str, timeout_seconds: float) -> Any:
    with np.errstate(over="ignore"):  # a number too large for it is refused below
        made = np.asarray(semantic_embedder.ask(embedder, [text], timeout_seconds)[0], dtype=np.float32)
    length = float(np.linalg.norm(made))
    if not np.isfinite(length) or length <= 0.0:
        raise EmbedderError("vector")
    return made / length


def _held(db: Database, search: Search, model: str, dimensions: int) -> list[_Held]:
    """Return the vectors of the audiences seen, the newest SEMANTIC_NEWEST of them about; what is missing is read."""
    newest, viewer = search.settings.semantic_newest, search.viewer
    if not newest:
        return []
    rows = {a: sum(viewer.docs.get((a, s.number), (0, 0))[0] for s in sources.ALL) for a in viewer.audiences}
    seen = sorted((a for a in rows if rows[a]), key=lambda a: (-rows[a], a))[:MOST_AUDIENCES]
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
        elif fresh.places:
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
    most = max(known.most, len(fresh.places))
    return _Held(
        (fresh.places + known.places)[:most],
        (fresh.at_us + known.at_us)[:most],
        np.concatenate([fresh.matrix, known.matrix])[:most],
        np.concatenate([fresh.lengths, known.lengths])[:most],
        known.read_at,
        known.most,
    )


def _likeness(held: Iterable[_Held], asked: Any) -> tuple[dict[Place, float], dict[Place, int]]:
    """Return the cosine of the best piece of each row, and the row's time."""
    like: dict[Place, float] = {}
    at_us: dict[Place, int] = {}
    for one in held:
        if not one.places:
            continue
        # Not `@`: on a busy machine the threads of BLAS wait for each other ten times as long as one takes for this.
        values = (np.einsum("ij,j->i", one.matrix.astype(np.float32), asked) / one.lengths).tolist()
        for place, moment, value in zip(one.places, one.at_us, values, strict=True):
            if value > like.get(place, -2.0):
                like[place] = value
                at_us[place] = moment
    return like, at_us


def _usual(values: Iterable[float]) -> tuple[float, float]:
    """Return mean and spread of all but the nearest, which may be what is looked for."""
    found = np.sort(np.fromiter(values, dtype=np.float32))[:-1]
    if not len(found):
        return 0.0, USUAL_SPREAD
    spread = float(found.std())
    return float(found.mean()), max(spread, 1e-6) if len(found) >= FEWEST else max(spread, USUAL_SPREAD)


def _add_nearest(search: Search, db: Database, meanings: Meanings, at_us: Mapping[Place, int]) -> None:
    known = {(c.source, c.id) for c in search.candidates}
    wanted = {s.number for s in search.query.sources}
    left_out = search.query.exclude.rows
    nearest = sorted(
        (
            place
            for place, worth in meanings.worth.items()
            if worth >= LEAST_LIKE
            and place not in known
            and place in at_us
            and place[0] in wanted
            and (sources.BY_NUMBER[place[0]].name, place[1]) not in left_out
        ),
        key=lambda place: (-meanings.worth[place], -at_us[place], place),
    )[:MOST_ADDED]
    seen = embeddings.allowed(db, search.viewer.audiences, search.limits, nearest)
    for place in nearest:
        if place in seen:
            search.candidates.append(Candidate(*place, seen[place], by_meaning=True))
