"""The packed rows of an audience as arrays: when, where, by whom and how long, in one order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..database import sources
from ..text.times import LEAST_GAP, MOST_GAP, USUAL_STEPS
from ..text.words import words
from .entries import Said
from .segment import Rows

NAME_BEGINS = 2
"""Letters by which the words of names are told apart before they are compared."""
_CHAT = sources.CHAT.number
_COLUMNS = ("row_id", "at_us", "words", "source", "local_only", "thread", "speaker")


@dataclass(eq=False)
class Table:
    """The packed rows of an audience, by conversation and time."""

    row_id: Any
    at_us: Any
    words: Any
    source: Any
    local_only: Any
    thread: Any
    speaker: Any
    threads: Sequence[str]
    speakers: Sequence[Said]
    to_index: Any
    """Place in the segments, one behind the other, to the index here."""
    offsets: Mapping[int, int]
    """Segment to where its places begin in `to_index`."""

    def __len__(self) -> int:
        return len(self.row_id)

    @property
    def size(self) -> int:
        """Return how many bytes the arrays take."""
        arrays = [*(getattr(self, name) for name in _COLUMNS), self.to_index, self.session]
        return sum(array.nbytes for array in arrays)

    @cached_property
    def totals(self) -> tuple[Any, Any]:
        """Return how many rows each source has, and how many words."""
        count = len(sources.ALL)
        return np.bincount(self.source, minlength=count), np.bincount(self.source, weights=self.words, minlength=count)

    @cached_property
    def gaps(self) -> Any:
        """Return for each conversation the pause in microseconds that ends a session of it."""
        return gaps_of(self.thread, self.at_us, len(self.threads))

    @cached_property
    def session(self) -> Any:
        """Return the number of each row's session, counted over all conversations."""
        if not len(self):
            return np.empty(0, np.int32)
        new = np.ones(len(self), bool)
        same = (self.thread[1:] == self.thread[:-1]) & (self.source[1:] == _CHAT)
        new[1:] = ~same | (np.diff(self.at_us) > self.gaps[self.thread[1:]])
        return (np.cumsum(new) - 1).astype(np.int32)

    @cached_property
    def _from_index(self) -> Any:
        return np.argsort(self.to_index).astype(np.int32)

    def segment_of(self, index: Any) -> list[int]:
        """Return the segment that each row came in."""
        segments, starts = list(self.offsets), np.array(list(self.offsets.values()))
        return [segments[n] for n in np.searchsorted(starts, self._from_index[index], "right") - 1]

    @cached_property
    def _by_id(self) -> Any:
        return np.argsort(self.row_id).astype(np.int32)

    def find_ids(self, ids: Sequence[int]) -> Any:
        """Return the rows with these ids, of whatever source."""
        wanted = np.array(ids, np.int64)
        if not len(self) or not len(wanted):
            return np.empty(0, np.int64)
        first, last = (np.searchsorted(self.row_id, wanted, side, sorter=self._by_id) for side in ("left", "right"))
        return np.concatenate([self._by_id[a:b] for a, b in zip(first.tolist(), last.tolist(), strict=True)])

    @cached_property
    def _spoken(self) -> tuple[Any, Any]:
        pairs = np.unique(self.speaker.astype(np.int64) << 32 | self.thread)
        return pairs >> 32, (pairs & 0xFFFFFFFF).astype(np.int32)

    def threads_of(self, speaker: int) -> Any:
        """Return the conversations in which somebody spoke."""
        speakers, threads = self._spoken
        return threads[np.searchsorted(speakers, speaker) : np.searchsorted(speakers, speaker, "right")]

    @cached_property
    def lengths(self) -> tuple[Any, Any]:
        """Return for each conversation how long its rows are in words, together, and how many there are."""
        count = len(self.threads)
        words = np.bincount(self.thread, weights=self.words, minlength=count)
        return words, np.bincount(self.thread, minlength=count)

    @cached_property
    def thread_number(self) -> dict[str, int]:
        """Return the number of each conversation."""
        return {thread: n for n, thread in enumerate(self.threads)}

    @cached_property
    def speaker_number(self) -> dict[Said, int]:
        """Return the number of everybody who spoke."""
        return {who: n for n, who in enumerate(self.speakers)}

    @cached_property
    def names_by_beginning(self) -> dict[str, set[str]]:
        """Return the names of everybody who spoke by how their words begin."""
        return names_by_beginning(self.speakers)

    @cached_property
    def numbers_by_key(self) -> dict[str, list[int]]:
        """Return the numbers of everybody who spoke by participant key."""
        made: dict[str, list[int]] = {}
        for number, who in enumerate(self.speakers):
            made.setdefault(who.key, []).append(number)
        return made

    @cached_property
    def thread_start(self) -> Any:
        """Return where each conversation begins, and where the last one ends."""
        return np.searchsorted(self.thread, np.arange(len(self.threads) + 1))


def names_by_beginning(speakers: Iterable[Said]) -> dict[str, set[str]]:
    """Return names by how their words begin; under a blank those with letters beyond ASCII, told by other rules."""
    made: dict[str, set[str]] = {}
    for name in {who.name for who in speakers}:
        for begins in {word[:NAME_BEGINS] for word in words(name, 1)} if name.isascii() else ("",):
            made.setdefault(begins, set()).add(name)
    return made


def gaps_of(thread: Any, at_us: Any, count: int) -> Any:
    """Return for each conversation the pause that ends a session of it, from the usual step between its messages."""
    gaps = np.full(count, MOST_GAP, np.int64)
    same = thread[1:] == thread[:-1]
    steps, of = np.diff(at_us)[same], thread[1:][same]
    if len(steps):
        order = np.lexsort((steps, of))
        first = np.searchsorted(of[order], np.arange(count + 1))
        sizes = np.diff(first)
        usual = steps[order][np.minimum(first[:-1] + sizes // 2, len(steps) - 1)]
        gaps = np.where(sizes > 0, np.clip(USUAL_STEPS * usual, LEAST_GAP, MOST_GAP), MOST_GAP)
    return gaps


def build_table(parts: Sequence[tuple[int, Rows]]) -> Table:
    """Return the rows of an audience's segments, `(segment, rows)`, in one order."""
    threads = sorted({thread for _, rows in parts for thread in rows.threads})
    number = {thread: n for n, thread in enumerate(threads)}
    speakers: dict[Said, int] = {}
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    offsets, before = {}, 0
    for segment, rows in parts:
        offsets[segment] = before
        before += len(rows)
        renamed = {
            "thread": np.array([number[thread] for thread in rows.threads] or [0], np.int32),
            "speaker": np.array([speakers.setdefault(who, len(speakers)) for who in rows.speakers] or [0], np.int32),
        }
        for name, values in columns.items():
            of = getattr(rows, name)
            values.append(renamed[name][of] if name in renamed else of)
    empty = {"thread": np.int32, "speaker": np.int32, "words": np.uint16, "source": np.uint8, "local_only": np.uint8}
    joined = {
        name: np.concatenate(values) if values else np.empty(0, empty.get(name, np.int64))
        for name, values in columns.items()
    }
    order = np.lexsort((joined["row_id"], joined["at_us"], joined["thread"]))
    to_index = np.empty(before, np.int32)
    to_index[order] = np.arange(before, dtype=np.int32)
    return Table(
        **{name: values[order] for name, values in joined.items()},
        threads=threads,
        speakers=list(speakers),
        to_index=to_index,
        offsets=offsets,
    )
