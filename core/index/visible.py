"""All rows of an audience as arrays, by conversation and time: the packed ones, and among them those that are not."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..database import sources
from ..text.folding import fold
from ..text.times import LEAST_GAP, MOST_GAP, USUAL_STEPS
from ..text.words import words
from .entries import Entry, Said
from .numbers import IndexTerm
from .segment import MOST_TIMES, POSTING, Rows, as_rows, join_rows, rows_of

NAME_BEGINS = 2
"""Letters by which the words of names are told apart before they are compared."""
TAKES_PART = 0.5
"""How near other conversations of who asks are, against the one asked in."""
_CHAT = sources.CHAT.number
_SOURCES = len(sources.ALL)
Block = tuple[int, int, bytes]
"""The postings of a word or tag in a segment: its number, the segment, the postings."""
FreshPosting = tuple[int, int, int, int]
"""A word or tag in a fresh row: its number, source and id of the row, how often."""


@dataclass(eq=False)
class Table(Rows):
    """The packed rows of an audience."""

    segment: Any
    """The segment that each row came in."""
    to_index: Any
    """Place in the segments, one behind the other, to the index here."""
    offsets: Mapping[int, int]
    """Segment to where its places begin in `to_index`."""

    @cached_property
    def gaps(self) -> Any:
        """Return for each conversation the pause in microseconds that ends a session of it."""
        return gaps_of(self.thread, self.at_us, len(self.threads))

    @cached_property
    def begins_session(self) -> Any:
        """Return which rows begin a session."""
        return find_beginnings(self, self.gaps, np.arange(len(self)))

    @cached_property
    def source_sums(self) -> Any:
        """Return how many rows each source has, and how many words."""
        return count_rows(self.source, self.words, _SOURCES)

    @cached_property
    def thread_sums(self) -> Any:
        """Return how many rows each conversation has, and how many words."""
        return count_rows(self.thread, self.words, len(self.threads))

    @cached_property
    def _by_id(self) -> Any:
        return np.argsort(self.row_id).astype(np.int32)

    def find_rows(self, places: Iterable[tuple[int, int]]) -> list[int]:
        """Return the rows with these sources and ids; one that was changed may still lie in an older segment too."""
        wanted = set(places)
        ids = np.array([row_id for _, row_id in wanted], np.int64)
        if not len(self) or not len(ids):
            return []
        first, last = (np.searchsorted(self.row_id, ids, side, sorter=self._by_id) for side in ("left", "right"))
        at = np.concatenate([self._by_id[a:b] for a, b in zip(first.tolist(), last.tolist(), strict=True)])
        here = zip(at.tolist(), self.source[at].tolist(), self.row_id[at].tolist(), strict=True)
        return sorted(i for i, source, row_id in here if (source, row_id) in wanted)

    def find_gone(self, last: Mapping[tuple[int, int], int]) -> Any:
        """Return the rows that are gone, each given with the last segment that may hold it."""
        rows = self.find_rows(last)
        facts = zip(rows, self.source[rows].tolist(), self.row_id[rows].tolist(), self.segment[rows], strict=True)
        return np.array([i for i, source, row_id, segment in facts if last[source, row_id] >= segment], np.int64)

    @cached_property
    def thread_number(self) -> dict[str, int]:
        """Return the number of each conversation."""
        return {thread: n for n, thread in enumerate(self.threads)}

    @cached_property
    def speaker_number(self) -> dict[Said, int]:
        """Return the number of everybody who spoke."""
        return {who: n for n, who in enumerate(self.speakers)}

    @cached_property
    def speakers_by_value(self) -> dict[tuple[str, str], list[int]]:
        """Return the numbers of those who spoke by ("name", name), ("key", key) and ("role", role)."""
        numbers: dict[tuple[str, str], list[int]] = {}
        for number, who in enumerate(self.speakers):
            for item in who._asdict().items():
                numbers.setdefault(item, []).append(number)
        return numbers

    @cached_property
    def names_by_beginning(self) -> dict[str, set[str]]:
        """Return names by how their words begin; under a blank those with letters beyond ASCII, told by other rules."""
        names: dict[str, set[str]] = {}
        for name in {who.name for who in self.speakers}:
            for begins in {word[:NAME_BEGINS] for word in words(name, 1)} if name.isascii() else ("",):
                names.setdefault(begins, set()).add(name)
        return names

    @cached_property
    def thread_start(self) -> Any:
        """Return where each conversation begins, and where the last one ends."""
        return np.searchsorted(self.thread, np.arange(len(self.threads) + 1))

    def find_place(self, thread: str, at_us: int, row_id: int) -> int:
        """Return before which row another one stands."""
        number = self.thread_number.get(thread)
        if number is None:
            return int(self.thread_start[bisect_left(self.threads, thread)])
        start, end = int(self.thread_start[number]), int(self.thread_start[number + 1])
        at = start + int(np.searchsorted(self.at_us[start:end], at_us, "left"))
        while at < end and self.at_us[at] == at_us and self.row_id[at] < row_id:
            at += 1
        return at


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


def find_beginnings(rows: Rows, gaps: Any, index: Any) -> Any:
    """Return which of some rows begin a session: they follow no message of their conversation closely."""
    before = index - 1
    same = (rows.thread[index] == rows.thread[before]) & (rows.source[index] == _CHAT) & (index > 0)
    return ~same | (rows.at_us[index] - rows.at_us[before] > gaps[rows.thread[index]])


def count_rows(numbers: Any, words: Any, size: int) -> Any:
    """Return for each number below `size` how many rows have it, and how many words these have."""
    sums = np.bincount(numbers, minlength=size), np.bincount(numbers, weights=words, minlength=size)
    return np.stack(sums).astype(np.int64)


def insert_rows(packed: Any, places: Any, rows: Any) -> Any:
    """Return an array with further values before these places: `numpy.insert` takes twice as long."""
    parts = np.split(packed, places)
    between = [one for n, part in enumerate(parts[1:]) for one in (rows[n : n + 1], part)]
    return np.concatenate([parts[0], *between])


def build_table(parts: Sequence[tuple[int, Rows]]) -> Table:
    """Return the rows of an audience's segments, `(segment, rows)`, in one order."""
    rows, order = join_rows([rows for _, rows in parts])
    sizes = [len(rows) for _, rows in parts]
    to_index = np.empty(len(order), np.int32)
    to_index[order] = np.arange(len(order), dtype=np.int32)
    segments = [segment for segment, _ in parts]
    offsets = dict(zip(segments, np.cumsum([0, *sizes]).tolist(), strict=False))
    segment = np.repeat(np.array(segments, np.int64), sizes)[order]
    return Table(**vars(rows), segment=segment, to_index=to_index, offsets=offsets)


class Postings(NamedTuple):
    """Where the words and tags asked for stand, those of one after those of the other."""

    numbers: Mapping[IndexTerm, int]
    """Words, tags and phrases, each with its number here."""
    index: Any
    """Row of each posting; a row has one of a word at most."""
    times: Any
    starts: Any
    """Where those of each number begin, and where the last ones end."""

    def of(self, term: IndexTerm) -> tuple[Any, Any]:
        """Return the rows that hold a word, tag or phrase, and how often."""
        number = self.numbers[term]
        first, last = self.starts[number], self.starts[number + 1]
        return self.index[first:last], self.times[first:last]

    def only(self, keep: Any) -> Postings:
        """Return those of some rows alone."""
        before = np.concatenate([np.zeros(1, np.int64), keep.cumsum()])
        return Postings(self.numbers, self.index[keep], self.times[keep], before[self.starts])

    def count_rows(self) -> dict[IndexTerm, int]:
        """Return how many rows hold each word, tag or phrase."""
        return dict(zip(self.numbers, (self.starts[1:] - self.starts[:-1]).tolist(), strict=True))

    def held_by(self, rows: Sequence[int], count: int) -> dict[int, dict[IndexTerm, int]]:
        """Return the words, tags and phrases of each row, and how often it holds them."""
        wanted = np.zeros(count, bool)
        wanted[rows] = True
        mine = wanted[self.index].nonzero()[0]
        numbers = self.starts.searchsorted(mine, "right") - 1
        terms, held_by_row = list(self.numbers), {row: dict[IndexTerm, int]() for row in rows}
        columns = self.index[mine].tolist(), numbers.tolist(), self.times[mine].tolist()
        for row, number, times in zip(*columns, strict=True):
            held_by_row[row][terms[number]] = times
        return held_by_row


@dataclass(eq=False)
class Visible(Rows):
    """All rows of an audience."""

    audience: int
    table: Table
    gaps: Any
    """As of the table, those of further conversations too."""
    thread_number: Mapping[str, int]
    places: Any
    """Of each row that is not packed before which packed one it stands, in order."""
    fresh_index: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """Source and id of the rows that are not packed, with where they are."""
    gone: Any = None
    """The packed rows that are gone, in order."""

    def index_of(self, packed: Any) -> Any:
        """Return where packed rows are among all."""
        return packed + self.places.searchsorted(packed, "right") if len(self.places) else packed

    def find_rows(self, places: Iterable[tuple[int, int]]) -> Any:
        """Return the rows with these sources and ids, as far as they are here, in order."""
        wanted = set(places)
        fresh = [self.fresh_index[place] for place in wanted if place in self.fresh_index]
        packed = self.index_of(np.array(self.table.find_rows(wanted), np.int64))
        return np.array(sorted([*fresh, *packed.tolist()]), np.int64)

    def read_postings(
        self, numbers: Mapping[IndexTerm, int], fresh: Iterable[FreshPosting], blocks: Iterable[Block]
    ) -> Postings:
        """Return the rows of words and tags, each given with its number."""
        table = self.table
        kept = sorted((number, table.offsets[segment], postings) for number, segment, postings in blocks)
        every = np.frombuffer(b"".join([postings for _, _, postings in kept]), POSTING)
        sizes = [len(postings) // POSTING.itemsize for _, _, postings in kept]
        places = every["place"]
        if len(table.offsets) > 1:
            places = np.repeat(np.array([before for _, before, _ in kept], np.int64), sizes) + places
        index = self.index_of(table.to_index[places].astype(np.int64))
        counts = np.zeros(len(numbers) + 1, np.int64)
        np.add.at(counts, [1 + number for number, _, _ in kept], sizes)
        starts, times = counts.cumsum(), every["times"]
        mine = sorted(
            (number, self.fresh_index[source, row_id], min(n, MOST_TIMES)) for number, source, row_id, n in fresh
        )
        if mine:
            columns, at, own_times = np.array(mine, np.int64).T
            ends = starts[columns + 1]
            index, times = np.insert(index, ends, at), np.insert(times, ends, own_times)
            starts = starts + columns.searchsorted(np.arange(len(starts)), "left")
        return Postings(numbers, index, times, starts)

    @cached_property
    def is_chat(self) -> Any:
        """Return which rows are messages: they alone have neighbours."""
        return self.source == _CHAT

    @cached_property
    def _fresh_rows(self) -> Any:
        return self.places + np.arange(len(self.places))

    @cached_property
    def _begins_session(self) -> Any:
        at = self._fresh_rows
        begins = insert_rows(self.table.begins_session, self.places, np.ones(len(at), bool))
        changed = np.minimum(np.concatenate([at, at + 1]), len(self) - 1)
        begins[changed] = find_beginnings(self, self.gaps, changed)
        return begins

    @cached_property
    def session(self) -> Any:
        """Return the number of each row's session, counted over all conversations."""
        return self._begins_session.cumsum(dtype=np.int32) - 1

    @cached_property
    def session_start(self) -> Any:
        """Return where each session begins, and where the last one ends."""
        return np.append(self._begins_session.nonzero()[0], len(self))

    @property
    def sessions(self) -> int:
        """Return how many sessions there are."""
        return len(self.session_start) - 1

    @cached_property
    def session_words(self) -> Any:
        """Return the length of each session in words."""
        return np.bincount(self.session, weights=self.words, minlength=self.sessions)

    @cached_property
    def source_sums(self) -> Any:
        """Return how many rows each source has, and how many words; those that are gone do not count."""
        fresh, gone = (count_rows(self.source[at], self.words[at], _SOURCES) for at in (self._fresh_rows, self.gone))
        return self.table.source_sums + fresh - gone

    @cached_property
    def thread_sums(self) -> Any:
        """Return how many rows each conversation has, and how many words."""
        at = self._fresh_rows
        sums = count_rows(self.thread[at], self.words[at], len(self.threads))
        sums[:, : len(self.table.threads)] += self.table.thread_sums
        return sums

    @property
    def thread_means(self) -> Any:
        """Return the mean length of the rows of each conversation in words."""
        rows, words = self.thread_sums
        return words / np.maximum(rows, 1)

    @property
    def word_count(self) -> float:
        """Return the length of all rows in words."""
        return float(self.thread_sums[1].sum())

    @cached_property
    def has_local_only(self) -> bool:
        """Return whether a row is for callers nearby alone."""
        return bool(self.local_only.any())

    @cached_property
    def sources(self) -> frozenset[int]:
        """Return the numbers of the sources that rows are of."""
        return frozenset(self.source_sums[0].nonzero()[0].tolist())

    def find_speakers(self, field: str, value: str) -> list[int]:
        """Return the numbers of those who spoke with this name, key or role."""
        packed = len(self.table.speakers)
        fresh = (n for n, who in enumerate(self.speakers[packed:], packed) if getattr(who, field) == value)
        return [*self.table.speakers_by_value.get((field, value), ()), *fresh]

    def names_in(self, text: str) -> set[str]:
        """Return the names of those whom a text may name: one of their words begins like one of its own."""
        by_beginning = self.table.names_by_beginning
        begins = {"", *(word[:NAME_BEGINS] for word in words(fold(text[:4000]), 1))}
        new = {who.name for who in self.speakers[len(self.table.speakers) :]}
        return new.union(*(by_beginning.get(one, ()) for one in begins))

    def nearness(self, here: str, person: str) -> Any:
        """Return for each conversation how near it is to who asks: 1 the one asked in, less where the person spoke."""
        near = np.zeros(len(self.threads), np.float32)
        for speaker in self.find_speakers("key", person) if person else ():
            near[self.thread[self.speaker == speaker]] = TAKES_PART
        for thread in (here, "\x00" + here) if here else ():
            number = self.thread_number.get(thread)
            if number is not None:
                near[number] = 1.0
        return near


def add_fresh(audience: int, table: Table, entries: Sequence[Entry], gone: Mapping[tuple[int, int], int]) -> Visible:
    """Return all rows of an audience: those of the table, and among them those that are not packed."""
    ordered = sorted(entries, key=lambda one: (one.place.thread, one.at_us, one.row_id))
    fresh, threads, speakers = rows_of(ordered), list(table.threads), list(table.speakers)
    thread_number, gaps = table.thread_number, table.gaps
    # Of rows in new conversations the order among each other is the one they are listed in.
    places = np.array([table.find_place(one.place.thread, one.at_us, one.row_id) for one in ordered], np.int64)
    places = np.maximum.accumulate(places) if len(places) else places
    view_columns = table.columns
    if ordered:
        new_threads = [thread for thread in fresh.threads if thread not in thread_number]
        if new_threads:
            thread_number = {**thread_number, **{thread: n for n, thread in enumerate(new_threads, len(threads))}}
            of_new = gaps_of(fresh.thread, fresh.at_us, len(fresh.threads))
            gaps = np.concatenate([gaps, of_new[[t not in table.thread_number for t in fresh.threads]]])
            threads += new_threads
        new_speakers = [who for who in fresh.speakers if who not in table.speaker_number]
        speaker_number = table.speaker_number | {who: n for n, who in enumerate(new_speakers, len(speakers))}
        speakers += new_speakers
        own = fresh.columns
        own["thread"] = np.array([thread_number[thread] for thread in fresh.threads])[fresh.thread]
        own["speaker"] = np.array([speaker_number[who] for who in fresh.speakers])[fresh.speaker]
        view_columns = {name: insert_rows(packed, places, own[name]) for name, packed in view_columns.items()}
    at = (places + np.arange(len(places))).tolist()
    view = Visible(
        **vars(as_rows(view_columns, threads, speakers)),
        audience=audience,
        table=table,
        gaps=gaps,
        thread_number=thread_number,
        places=places,
        fresh_index={(one.source, one.row_id): n for one, n in zip(ordered, at, strict=True)},
    )
    view.gone = view.index_of(table.find_gone(gone))
    return view
