"""Keeps the vectors of audiences in use in memory, as arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import bindparam, select

from ..database.dialects import ID, Key
from ..database.engine import Database
from ..database.schema import search_vector
from . import embeddings
from .embeddings import KEPT
from .lru_cache import LruCache
from .numbers import Column, Flags, Floats, Ints
from .shapes import RowId

HELD = "vectors.held"
"""Key under which the caches of a database handle hold the vectors."""
CHUNK = 8192
"""Maximum number of vectors in a merged part."""
COMPARED = 1024
"""Number of vectors compared in one step: their arrays fit into the cache of a processor."""

_V = search_vector.c
_ARRAYS = ("row_id", "source", "at_us", "stamp", "matrix", "lengths")
_Vector = tuple[int, int, int, int, bytes]
"""(source, id and time of the row; version at which the vector was written; vector)."""


@dataclass(frozen=True, eq=False)
class VectorPart:
    """Array of vectors of one audience, sorted by id and source of their rows; a row's vectors are adjacent."""

    row_id: Column
    source: Column
    at_us: Column
    stamp: Column
    matrix: NDArray[np.int8]
    """Vectors as rows, each number one signed byte."""
    lengths: Floats

    def __len__(self) -> int:
        return len(self.row_id)

    @property
    def size(self) -> int:
        return int(sum(getattr(self, name).nbytes for name in _ARRAYS))

    @cached_property
    def starts(self) -> Ints:
        """Return the position at which each row's vectors begin."""
        new = np.ones(len(self), bool)
        new[1:] = (self.row_id[1:] != self.row_id[:-1]) | (self.source[1:] != self.source[:-1])
        return np.flatnonzero(new)

    @cached_property
    def rows(self) -> tuple[Column, Column, Column]:
        """Return id, source and time of each row."""
        return self.row_id[self.starts], self.source[self.starts], self.at_us[self.starts]

    def find(self, places: Sequence[RowId]) -> list[tuple[RowId, int]]:
        """Return those of `places` (row ids) that have vectors here, each with its position in `rows`."""
        row_id, source, _ = self.rows
        if not len(row_id) or not places:
            return []
        ids = np.array([place[1] for place in places], np.int64)
        starts, ends = np.searchsorted(row_id, ids, "left"), np.searchsorted(row_id, ids, "right")
        bounds = zip(places, starts.tolist(), ends.tolist(), strict=True)
        return [(place, at) for place, start, end in bounds for at in range(start, end) if source[at] == place[0]]

    def compare(self, asked: Floats) -> Floats:
        """Return, for each row, the cosine similarity of `asked` to the row's nearest vector."""
        values: Floats = np.empty(len(self), np.float32)
        for at in range(0, len(self), COMPARED):
            # Not `@`: on a busy machine, BLAS threads wait for each other ten times as long as the product takes.
            some = self.matrix[at : at + COMPARED].astype(np.float32)
            values[at : at + COMPARED] = np.einsum("ij,j->i", some, asked)
        values /= self.lengths
        return values if len(self.starts) == len(values) else np.maximum.reduceat(values, self.starts)

    def nearest_vector(self, row: int, asked: Floats) -> Floats:
        """Return the row's vector that is nearest to the message, scaled to length 1."""
        start, end = np.append(self.starts[row : row + 2], len(self))[:2].tolist()
        found: Floats = self.matrix[start:end].astype(np.float32) / self.lengths[start:end, None]
        nearest: Floats = found[np.argmax(np.einsum("ij,j->i", found, asked))]
        return nearest

    def without(self, gone: Mapping[RowId, int]) -> VectorPart:
        """Return this array without outdated vectors; `gone`: by row, the version that last deleted its vectors."""
        at = np.flatnonzero(np.isin(self.row_id, np.array([row_id for _, row_id in gone], np.int64)))
        facts = zip(*(column[at].tolist() for column in (self.source, self.row_id, self.stamp)), strict=True)
        kept = np.ones(len(self), bool)
        kept[at] = [stamp >= gone.get((source, row_id), 0) for source, row_id, stamp in facts]
        return self if kept.all() else self.take(kept)

    def take(self, which: Flags | Ints) -> VectorPart:
        return VectorPart(*(getattr(self, name)[which] for name in _ARRAYS))


def build_part(rows: Sequence[_Vector], dimensions: int) -> VectorPart:
    """Join stored vectors into one sorted array; vectors with another number of dimensions are left out."""
    fitting = [row for row in rows if len(row[4]) == dimensions]
    source, row_id, at_us, stamp = (
        np.array([row[n] for row in fitting], kind) for n, kind in enumerate((np.uint8, np.int64, np.int64, np.int64))
    )
    matrix = np.frombuffer(b"".join([row[4] for row in fitting]), np.int8).reshape(len(fitting), dimensions)
    lengths = np.empty(len(matrix), np.float32)
    for at in range(0, len(matrix), COMPARED):
        lengths[at : at + COMPARED] = np.linalg.norm(matrix[at : at + COMPARED].astype(np.float32), axis=1)
    return _sort(VectorPart(row_id, source, at_us, stamp, matrix, np.maximum(lengths, 1e-9)))


def _sort(part: VectorPart) -> VectorPart:
    return part.take(np.lexsort((part.source, part.row_id)))


@dataclass(frozen=True, eq=False)
class _Held:
    """All vectors that one model made for an audience, as of the audience's `version`."""

    version: int
    parts: tuple[VectorPart, ...]

    @cached_property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def can_follow(self, version: int) -> bool:
        """Return whether these vectors can be updated to `version`: all deletions since `self.version` are recorded."""
        return 0 <= version - self.version <= KEPT


_NOTHING = _Held(-1, ())
_Key = tuple[str, int, int]
"""Model, dimensions and audience."""


def read_parts(db: Database, model: str, audiences: Collection[int], dimensions: int) -> list[VectorPart]:
    cache: LruCache[_Key, _Held] = db.caches.setdefault(HELD, LruCache())
    held = cache.list_held()
    versions = embeddings.read_versions(db, {*audiences, *(audience for _, _, audience in held)})
    in_use: dict[_Key, _Held] = {}
    for audience in sorted(audiences):
        key, version = (model, dimensions, audience), versions.get(audience, 0)
        one = held.get(key, _NOTHING)
        if not one.can_follow(version):
            one = _NOTHING
        if one.version != version:
            one = _follow(db, model, audience, dimensions, one, version)
        in_use[key] = one
    outdated = {key for key, one in held.items() if not one.can_follow(versions.get(key[2], 0))}
    cache.keep(in_use, outdated)
    return [part for one in in_use.values() for part in one.parts if len(part)]


def _follow(db: Database, model: str, audience: int, dimensions: int, one: _Held, version: int) -> _Held:
    """Return the vectors `one`, held in memory, updated to this version of their audience."""
    removed = embeddings.read_gone(db, audience, one.version) if one.parts else ()
    gone = {(source, row_id): stamp for source, row_id, stamp in removed}
    values = {"audience": audience, "model": model, "since": one.version}
    rows = db.read(_SINCE, values, source="search_vector")
    fresh = build_part([(*row[:4], bytes(row[4])) for row in rows], dimensions)
    # A row with new vectors loses its old ones.
    gone |= dict.fromkeys(zip(fresh.source.tolist(), fresh.row_id.tolist(), strict=True), 2**63 - 1)
    parts = [part.without(gone) for part in one.parts] if gone else list(one.parts)
    return _Held(version, tuple(_merged(part for part in (*parts, fresh) if len(part))))


def _merged(parts: Iterable[VectorPart]) -> list[VectorPart]:
    """Return the arrays, each small array merged with the array before it."""
    made: list[VectorPart] = []
    for part in parts:
        while made and len(made[-1]) + len(part) <= CHUNK:
            before = made.pop()
            joined = VectorPart(*(np.concatenate([getattr(before, name), getattr(part, name)]) for name in _ARRAYS))
            part = _sort(joined)  # noqa: PLW2901 - grows until it is large enough
        made.append(part)
    return made


_OWN = (_V.audience_id == bindparam("audience", type_=ID), _V.model == bindparam("model", type_=Key(100)))
_SINCE = select(_V.source, _V.row_id, _V.at_us, _V.stamp, _V.vector)
_SINCE = _SINCE.where(*_OWN, _V.stamp > bindparam("since", type_=ID))
