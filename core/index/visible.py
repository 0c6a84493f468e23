"""All rows of an audience as arrays, by conversation and time: rows in segments and later ("fresh") rows together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..base.groups import group
from ..base.patterns import lazy_pattern
from ..shapes import SOURCES
from ..text.folding import fold
from ..text.times import LEAST_GAP, MOST_GAP, USUAL_STEPS
from .numbers import Column, Flags, Floats, Ints, PackedRows, SegmentRows, ViewRows, take
from .segment import MOST_TIMES, POSTING, Rows, as_rows, join_rows, rows_of
from .shapes import Entry, IndexTerm, RowId, RowTime, Said

NAME_BEGINS = 2
"""Number of first letters by which speaker names are looked up before they are compared."""
TAKES_PART = 0.5
"""Nearness of the asker's other conversations; the current conversation has 1."""
_CHAT = SOURCES.index("chat_history")
T = TypeVar("T", bound=np.generic)
Block = tuple[int, int, bytes]
"""Postings of a term in a segment: (number of the term, segment, packed postings)."""
FreshPosting = tuple[int, int, int, int]
"""Posting of a term in an unpacked row: (number of the term, source, id, number of times)."""


@dataclass(eq=False)
class Table(Rows):
    """The rows of an audience that are in segments."""

    segment: Ints
    packed_row: Column
    """Packed row (`numbers`) of each segment row; the rows of the segments follow one another."""
    offsets: Mapping[int, int]
    """Position of each segment's first row in `packed_row`, by segment."""

    def from_segments(self, rows: SegmentRows, segments: Sequence[int], sizes: Sequence[int]) -> PackedRows:
        """Convert row positions in segments to positions in this table; `sizes`: number of `rows` of each segment."""
        at: Column = rows
        if len(self.offsets) > 1:
            at = np.repeat(np.array([self.offsets[segment] for segment in segments], np.int64), sizes) + rows
        return PackedRows(self.packed_row[at].astype(np.int64))

    @cached_property
    def begins_session(self) -> Flags:
        return find_beginnings(self, np.arange(len(self)))

    @cached_property
    def source_sums(self) -> Ints:
        return count_rows(self.source, self.words, len(SOURCES))

    @cached_property
    def thread_sums(self) -> Ints:
        return count_rows(self.thread, self.words, len(self.threads))

    @cached_property
    def _by_id(self) -> Ints:
        return np.argsort(self.row_id)

    def find_rows(self, wanted: Collection[RowId]) -> PackedRows:
        """Return the rows with these sources and ids; a changed row may also be in an older segment."""
        ids = np.array([row_id for _, row_id in wanted], np.int64)
        if not len(self) or not len(ids):
            return PackedRows(ids[:0])
        first, last = (np.searchsorted(self.row_id, ids, side, sorter=self._by_id) for side in ("left", "right"))
        at = np.concatenate([self._by_id[a:b] for a, b in zip(first.tolist(), last.tolist(), strict=True)])
        here = zip(at.tolist(), self.source[at].tolist(), self.row_id[at].tolist(), strict=True)
        return PackedRows(np.array(sorted(i for i, source, row_id in here if (source, row_id) in wanted), np.int64))

    def find_gone(self, last: Mapping[RowId, int]) -> PackedRows:
        """Return the positions of removed rows; `last` holds, by row, the last segment that may still contain it."""
        rows = self.find_rows(last.keys())
        facts = zip(self.source[rows].tolist(), self.row_id[rows].tolist(), self.segment[rows].tolist(), strict=True)
        return take(rows, np.array([last[source, row_id] >= segment for source, row_id, segment in facts], bool))

    @cached_property
    def thread_number(self) -> dict[str, int]:
        return {thread: n for n, thread in enumerate(self.threads)}

    @cached_property
    def speaker_number(self) -> dict[Said, int]:
        return {who: n for n, who in enumerate(self.speakers)}

    @cached_property
    def speakers_by_value(self) -> dict[tuple[str, str], list[int]]:
        """Return the speaker numbers by ("name", name), ("key", key), ("role", role) and ("name_form", form)."""
        values = ((*who._asdict().items(), ("name_form", who.name_form)) for who in self.speakers)
        return group((item, number) for number, items in enumerate(values) for item in items)

    @cached_property
    def names_by_beginning(self) -> dict[str, set[str]]:
        """Return the speaker names by the first letters of their words; names beyond ASCII are under ""."""
        names: dict[str, set[str]] = {}
        for name in {who.name for who in self.speakers}:
            for begins in _list_beginnings(name) if name.isascii() else ("",):
                names.setdefault(begins, set()).add(name)
        return names

    @cached_property
    def speaker_threads(self) -> Ints:
        """Return the conversations of each speaker, sorted: the speaker number times `len(threads)` plus the thread."""
        return np.unique(self.speaker * np.int64(len(self.threads)) + self.thread)

    @cached_property
    def thread_start(self) -> Ints:
        """Return the first row of each conversation, followed by the number of rows."""
        return np.searchsorted(self.thread, np.arange(len(self.threads) + 1))

    def find_place(self, thread: str, at_us: int, row_id: int) -> int:
        """Return the position in this table before which a fresh row with these values belongs."""
        number = self.thread_number.get(thread)
        if number is None:
            return int(self.thread_start[bisect_left(self.threads, thread)])
        start, end = int(self.thread_start[number]), int(self.thread_start[number + 1])
        at = start + int(np.searchsorted(self.at_us[start:end], at_us, "left"))
        while at < end and self.at_us[at] == at_us and self.row_id[at] < row_id:
            at += 1
        return at


_LETTERS = lazy_pattern("[a-z]+")


def _list_beginnings(text: str) -> set[str]:
    """Return the first letters of the runs of ASCII letters in a text."""
    return {run[:NAME_BEGINS] for run in _LETTERS.findall(fold(text))}


def gaps_of(thread: Column, at_us: Column, count: int) -> Ints:
    """Return, for each conversation, the pause in microseconds that ends a session: a multiple of its median pause."""
    gaps = np.full(count, MOST_GAP, np.int64)
    same = thread[1:] == thread[:-1]
    of, steps = thread[1:][same].astype(np.int64), np.minimum(np.diff(at_us)[same], MOST_GAP)
    sizes = np.bincount(of, minlength=count)
    has_steps, each = sizes > 0, MOST_GAP + 1
    middle = (sizes.cumsum() - sizes + sizes // 2)[has_steps]
    usual = np.partition(of * each + steps, middle)[middle] % each  # a sort of all steps takes ten times as long
    gaps[has_steps] = np.clip(USUAL_STEPS * usual, LEAST_GAP, MOST_GAP)
    return gaps


def find_beginnings(rows: Rows, index: Ints) -> Flags:
    """Return which rows begin a session: no message of the same conversation is shortly before.

    `index` has all rows of some conversations, in order: the pause that ends a session depends on all of them.
    """
    thread, at_us = rows.thread[index], rows.at_us[index]
    begins = np.ones(len(index), bool)
    same = (thread[1:] == thread[:-1]) & (rows.source[index[1:]] == _CHAT)
    begins[1:] = ~same | (np.diff(at_us) > gaps_of(thread, at_us, len(rows.threads))[thread[1:]])
    return begins


def count_rows(numbers: Column, words: Column, size: int) -> Ints:
    """Return how many rows, and how many words, there are for each value below `size` in the column `numbers`."""
    sums = np.bincount(numbers, minlength=size), np.bincount(numbers, weights=words, minlength=size)
    return np.stack(sums).astype(np.int64)


def build_table(parts: Sequence[tuple[int, Rows]]) -> Table:
    """Return the rows of an audience's segments, `(segment, rows)`, as one table."""
    rows, order = join_rows([rows for _, rows in parts])
    sizes = [len(rows) for _, rows in parts]
    packed_row = np.empty(len(order), np.int32)
    packed_row[order] = np.arange(len(order), dtype=np.int32)
    segments = [segment for segment, _ in parts]
    offsets = dict(zip(segments, np.cumsum([0, *sizes]).tolist(), strict=False))
    segment = np.repeat(np.array(segments, np.int64), sizes)[order]
    return Table(**vars(rows), segment=segment, packed_row=packed_row, offsets=offsets)


@dataclass(frozen=True, eq=False)
class FreshOffsets:
    """Converts positions in the table to positions among all rows, by adding the number of fresh rows before them."""

    before: Ints
    """Packed row that follows each unpacked row, in order."""
    ids: Sequence[RowId] = ()
    """Source and id of each unpacked row."""

    def to_view(self, packed: PackedRows) -> ViewRows:
        return ViewRows(packed + self.before.searchsorted(packed, "right") if len(self.before) else packed)

    @cached_property
    def fresh(self) -> ViewRows:
        return ViewRows(self.before + np.arange(len(self.before)))

    @cached_property
    def by_id(self) -> Mapping[RowId, int]:
        return dict(zip(self.ids, self.fresh.tolist(), strict=True))

    def insert(self, packed: NDArray[T], fresh: NDArray[T]) -> NDArray[T]:
        """Merge a column of the table with that of the fresh rows, in order; `numpy.insert` takes twice as long."""
        parts = np.split(packed, self.before)
        between = [one for n, part in enumerate(parts[1:]) for one in (fresh[n : n + 1], part)]
        return np.concatenate([parts[0], *between])


class Postings(NamedTuple):
    """Postings of the search terms, one term after another."""

    numbers: Mapping[IndexTerm, int]
    """Number of each index term, used as index into `starts`."""
    rows: ViewRows
    """View row of each posting; a row has at most one posting of a term."""
    times: Column
    starts: Ints
    """Position of the first posting of each term number, followed by the number of postings."""

    def find(self, term: IndexTerm) -> tuple[ViewRows, Column]:
        """Return the rows that contain a term, and how often each contains it."""
        number = self.numbers[term]
        first, last = self.starts[number], self.starts[number + 1]
        return ViewRows(self.rows[first:last]), self.times[first:last]

    def find_all(self, pieces: Iterable[Iterable[IndexTerm]], count: int) -> ViewRows:
        """Return which of the `count` rows hold a term of every piece; a row may be listed repeatedly."""
        held: ViewRows | None = None
        for piece in pieces:
            rows = ViewRows(np.concatenate([self.rows[:0], *(self.find(term)[0] for term in piece)]))
            if held is not None:
                holds = np.zeros(count, bool)
                holds[held] = True
                rows = take(rows, holds[rows])
            held = rows
        return ViewRows(np.arange(count)) if held is None else held

    def keep(self, which: Flags) -> Postings:
        before = np.concatenate([np.zeros(1, np.int64), which.cumsum()])
        return Postings(self.numbers, take(self.rows, which), self.times[which], before[self.starts])

    def count_rows(self) -> dict[IndexTerm, int]:
        return dict(zip(self.numbers, (self.starts[1:] - self.starts[:-1]).tolist(), strict=True))

    def list_held(self, rows: Sequence[int], count: int) -> Iterable[dict[IndexTerm, int]]:
        """Return, for each of these rows, its terms and how often it has each; `count` is the number of all rows."""
        wanted = np.zeros(count, bool)
        wanted[rows] = True
        mine = wanted[self.rows].nonzero()[0]
        numbers = self.starts.searchsorted(mine, "right") - 1
        terms, held_by_row = list(self.numbers), {row: dict[IndexTerm, int]() for row in rows}
        columns = self.rows[mine].tolist(), numbers.tolist(), self.times[mine].tolist()
        for row, number, times in zip(*columns, strict=True):
            held_by_row[row][terms[number]] = times
        return held_by_row.values()


@dataclass(eq=False)
class Visible(Rows):
    audience: int
    table: Table
    thread_number: Mapping[str, int]
    offsets: FreshOffsets
    gone: ViewRows
    """Removed packed rows, sorted."""

    def find_rows(self, ids: Iterable[RowId]) -> ViewRows:
        """Return the rows of this audience with these sources and ids, sorted."""
        wanted = set(ids)
        packed = self.offsets.to_view(self.table.find_rows(wanted))
        fresh = [row for row_id, row in self.offsets.by_id.items() if row_id in wanted]
        return ViewRows(np.array(sorted([*fresh, *packed.tolist()]), np.int64))

    def read_postings(
        self, numbers: Mapping[IndexTerm, int], fresh: Iterable[FreshPosting], blocks: Iterable[Block]
    ) -> Postings:
        """Join the postings of fresh rows and of segments; `numbers` holds the number that stands for each term."""
        kept = sorted(blocks)
        every = np.frombuffer(b"".join([postings for _, _, postings in kept]), POSTING)
        sizes = [len(postings) // POSTING.itemsize for _, _, postings in kept]
        packed = self.table.from_segments(SegmentRows(every["place"]), [segment for _, segment, _ in kept], sizes)
        rows, times = self.offsets.to_view(packed), every["times"]
        owners = np.repeat(np.array([number for number, _, _ in kept], np.int32), sizes)
        by_id = self.offsets.by_id
        mine = sorted((number, by_id[source, row_id], min(n, MOST_TIMES)) for number, source, row_id, n in fresh)
        if mine:
            own, at, own_times = zip(*mine, strict=True)
            owners = np.concatenate([owners, np.array(own, np.int32)])
            order = owners.argsort(kind="stable")  # two sorted runs: merged in one pass
            owners = owners[order]
            rows = ViewRows(np.concatenate([rows, np.array(at, np.int64)])[order])
            times = np.concatenate([times, np.array(own_times, np.uint8)])[order]
        return Postings(numbers, rows, times, owners.searchsorted(np.arange(len(numbers) + 1, dtype=np.int32)))

    @cached_property
    def is_chat(self) -> Flags:
        is_chat: Flags = self.source == _CHAT
        return is_chat

    @cached_property
    def _begins_session(self) -> Flags:
        fresh = self.offsets.fresh
        begins = self.offsets.insert(self.table.begins_session, np.ones(len(fresh), bool))
        changed = np.isin(self.thread, self.thread[np.concatenate([fresh, self.gone])])
        changed[self.gone] = begins[self.gone] = False
        rows = changed.nonzero()[0]
        begins[rows] = find_beginnings(self, rows)
        begins[:1] = True
        return begins

    @cached_property
    def session(self) -> Column:
        """Return, for each row, the number of its session, counted over all conversations."""
        return self._begins_session.cumsum(dtype=np.int32) - 1

    @cached_property
    def session_start(self) -> Ints:
        """Return the first row of each session, followed by the number of rows."""
        return np.append(self._begins_session.nonzero()[0], len(self))

    @property
    def sessions(self) -> int:
        return len(self.session_start) - 1

    @cached_property
    def session_words(self) -> Floats:
        sums = np.bincount(self.session, weights=self.words, minlength=self.sessions)
        sums -= np.bincount(self.session[self.gone], weights=self.words[self.gone], minlength=self.sessions)
        return sums.astype(np.float64)

    @cached_property
    def source_sums(self) -> Ints:
        """Return the number of rows and the number of words of each source, without removed rows."""
        parts = (self.offsets.fresh, self.gone)
        fresh, gone = (count_rows(self.source[at], self.words[at], len(SOURCES)) for at in parts)
        return self.table.source_sums + fresh - gone

    @cached_property
    def thread_sums(self) -> Ints:
        """Return the number of rows and of words of each conversation, without removed rows."""
        at = self.offsets.fresh
        sums = count_rows(self.thread[at], self.words[at], len(self.threads))
        sums -= count_rows(self.thread[self.gone], self.words[self.gone], len(self.threads))
        sums[:, : len(self.table.threads)] += self.table.thread_sums
        return sums

    @cached_property
    def has_local_only(self) -> bool:
        return bool(self.local_only.any())

    @cached_property
    def sources(self) -> frozenset[int]:
        return frozenset(self.source_sums[0].nonzero()[0].tolist())

    def find_speakers(self, field: str, values: Collection[str]) -> list[int]:
        """Return the numbers of speakers whose `field` (name, key, role or form of name) has one of these values."""
        packed, by_value = len(self.table.speakers), self.table.speakers_by_value
        found = [n for value in values for n in by_value.get((field, value), ())]
        if len(self.speakers) > packed:
            found += [n for n, who in enumerate(self.speakers[packed:], packed) if getattr(who, field) in values]
        return found

    def find_spans(
        self, speakers: Sequence[int], sees_local_only: bool, thread: str | None = None
    ) -> Iterator[tuple[RowTime, RowTime, Said]]:
        """Yield the times of the first and the newest row of each of these speakers, in one conversation or in all."""
        stays = np.isin(self.speaker, speakers) & (self.local_only <= sees_local_only)
        if thread is not None:
            stays &= self.thread == self.thread_number.get(thread, -1)
        stays[self.gone] = False
        rows = stays.nonzero()[0]
        rows = rows[np.lexsort((self.row_id[rows], self.at_us[rows]))]
        numbers, firsts = np.unique(self.speaker[rows], return_index=True)
        lasts = len(rows) - 1 - np.unique(self.speaker[rows][::-1], return_index=True)[1]
        for number, *ends in zip(numbers, rows[firsts], rows[lasts], strict=True):
            first, last = ((int(self.at_us[at]), int(self.row_id[at])) for at in ends)
            yield first, last, self.speakers[number]

    def names_in(self, text: str) -> set[str]:
        """Return the speaker names that a text may contain: those with a word that begins like a word of the text."""
        by_beginning = self.table.names_by_beginning
        new = {who.name for who in self.speakers[len(self.table.speakers) :]}
        return new.union(*[by_beginning.get(one, ()) for one in ("", *_list_beginnings(text[:4000]))])

    def nearness(self, here: str, asker: Collection[str]) -> Floats:
        """Return the nearness of each conversation: 1 (the current one), TAKES_PART (the asker spoke in it) or 0."""
        near, packed = np.zeros(len(self.threads), np.float32), len(self.table.threads)
        for speaker in self.find_speakers("key", asker):
            first, last = self.table.speaker_threads.searchsorted([speaker * packed, (speaker + 1) * packed])
            near[self.table.speaker_threads[first:last] - speaker * packed] = TAKES_PART
            near[self.thread[take(self.offsets.fresh, self.speaker[self.offsets.fresh] == speaker)]] = TAKES_PART
        for thread in (here, "\x00" + here) if here else ():
            number = self.thread_number.get(thread)
            if number is not None:
                near[number] = 1.0
        return near


def add_fresh(audience: int, table: Table, entries: Sequence[Entry], gone: Mapping[RowId, int]) -> Visible:
    """Join a table with the fresh entries of its audience; `gone` names the removed rows."""
    ordered = sorted(entries, key=lambda one: (one.place.thread, one.at_us, one.row_id))
    fresh, threads, speakers = rows_of(ordered), list(table.threads), list(table.speakers)
    thread_number = table.thread_number
    # Rows in new conversations share one position: they stay in the order of `ordered`.
    before = np.array([table.find_place(one.place.thread, one.at_us, one.row_id) for one in ordered], np.int64)
    offsets = FreshOffsets(np.maximum.accumulate(before), [(one.source, one.row_id) for one in ordered])
    view_columns = table.columns
    if ordered:
        new_threads = [thread for thread in fresh.threads if thread not in thread_number]
        if new_threads:
            thread_number = {**thread_number, **{thread: n for n, thread in enumerate(new_threads, len(threads))}}
            threads += new_threads
        new_speakers = [who for who in fresh.speakers if who not in table.speaker_number]
        speaker_number = table.speaker_number | {who: n for n, who in enumerate(new_speakers, len(speakers))}
        speakers += new_speakers
        own = fresh.columns
        own["thread"] = np.array([thread_number[thread] for thread in fresh.threads])[fresh.thread]
        own["speaker"] = np.array([speaker_number[who] for who in fresh.speakers])[fresh.speaker]
        view_columns = {name: offsets.insert(packed, own[name]) for name, packed in view_columns.items()}
    rows, removed = vars(as_rows(view_columns, threads, speakers)), offsets.to_view(table.find_gone(gone))
    return Visible(**rows, audience=audience, table=table, thread_number=thread_number, offsets=offsets, gone=removed)
