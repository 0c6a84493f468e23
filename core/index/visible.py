"""All rows of an audience as arrays, the packed ones and those that are not, with a place for each among the others."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..database import sources
from ..text.folding import fold
from ..text.times import LEAST_GAP, MOST_GAP, USUAL_STEPS
from ..text.words import words
from .entries import Entry, Said
from .segment import MOST_TIMES, POSTING, Rows

NAME_BEGINS = 2
"""Letters by which the words of names are told apart before they are compared."""
_CHAT = sources.CHAT.number
_COLUMNS = ("row_id", "at_us", "words", "source", "local_only", "thread", "speaker")
_SOURCES = len(sources.ALL)
TAKES_PART = 0.5
"""How near other conversations of who asks are, against the one asked in."""
Block = tuple[int, int, bytes]
"""The postings of a word or tag in a segment: its number, the segment, the postings."""
FreshPosting = tuple[int, int, int, int]
"""A word or tag in a fresh row: its number, source and id of the row, how often."""
MOST_SPEAKERS = 300
"""Of so many every name is compared with what is asked."""


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


class Postings(NamedTuple):
    """Where the words and tags asked for stand, those of one after those of the other."""

    index: Any
    """Row of each posting; a row has one of a word at most."""
    times: Any
    starts: Any
    """Where those of each number begin, and where the last ones end."""

    def of(self, number: int) -> tuple[Any, Any]:
        """Return the rows that hold a word or tag, and how often."""
        first, last = self.starts[number], self.starts[number + 1]
        return self.index[first:last], self.times[first:last]

    def only(self, keep: Any) -> Postings:
        """Return those of some rows alone."""
        before = np.concatenate([np.zeros(1, np.int64), keep.cumsum()])
        return Postings(self.index[keep], self.times[keep], before[self.starts])

    @property
    def counts(self) -> list[int]:
        """Return how many rows hold each word or tag."""
        return (self.starts[1:] - self.starts[:-1]).tolist()  # type: ignore[no-any-return]

    def held_by(self, rows: Sequence[int], count: int) -> dict[int, dict[int, int]]:
        """Return for each of some rows the numbers of what it holds, with how often."""
        wanted = np.zeros(count, bool)
        wanted[rows] = True
        mine = wanted[self.index].nonzero()[0]
        numbers = self.starts.searchsorted(mine, "right") - 1
        made: dict[int, dict[int, int]] = {row: {} for row in rows}
        columns = self.index[mine].tolist(), numbers.tolist(), self.times[mine].tolist()
        for row, number, times in zip(*columns, strict=True):
            made[row][number] = times
        return made


class Visible:
    """All rows of an audience: the packed ones, and behind them those that are not packed."""

    def __init__(
        self, audience: int, table: Table, fresh: Sequence[Entry], gone: Mapping[tuple[int, int], int]
    ) -> None:
        self.audience: int = audience
        self.table: Table = table
        self.packed: int = len(table)
        ordered = [(one.place.thread, one.at_us, one.row_id, one, one.place.speaker) for one in fresh]
        ordered.sort(key=lambda each: each[:3])
        new_threads, new_speakers = dict[str, int](), dict[Said, int]()
        places, threads, speakers = [], [], []
        for thread, at_us, row_id, _, who in ordered:
            number, speaker = table.thread_number.get(thread), table.speaker_number.get(who)
            if number is None:
                number = new_threads.setdefault(thread, len(table.threads) + len(new_threads))
            if speaker is None:
                speaker = new_speakers.setdefault(who, len(table.speakers) + len(new_speakers))
            places.append(self._place(thread, at_us, row_id))
            threads.append(number)
            speakers.append(speaker)
        self.threads: Sequence[str] = [*table.threads, *new_threads] if new_threads else table.threads
        self.speakers: Sequence[Said] = [*table.speakers, *new_speakers] if new_speakers else table.speakers
        self._new_threads, self._new_speakers = new_threads, new_speakers
        rows = [each[3] for each in ordered]
        self._fresh: dict[str, Any] = {
            "row_id": np.array([row.row_id for row in rows], np.int64),
            "at_us": np.array([row.at_us for row in rows], np.int64),
            "words": np.array([row.words for row in rows], np.uint16),
            "source": np.array([row.source for row in rows], np.uint8),
            "local_only": np.array([row.local_only for row in rows], np.uint8),
            "thread": np.array(threads, np.int32),
            "speaker": np.array(speakers, np.int32),
        }
        self._fresh_index = {(row.source, row.row_id): self.packed + n for n, row in enumerate(rows)}
        # Of rows in new conversations the order among each other is the one they are listed in.
        self._places = np.maximum.accumulate(np.array(places, np.int64)) if places else np.empty(0, np.int64)
        self._ranks = self._places + np.arange(len(places))
        self.sessions: int = int(table.session[-1]) + 1 if self.packed else 0
        self._fresh["session"] = self._sessions(rows, threads)
        self.gone: Any = self._find_gone(gone)
        """The packed rows that are gone, in order."""

    def __len__(self) -> int:
        return self.packed + len(self._places)

    def _place(self, thread: str, at_us: int, row_id: int) -> int:
        """Return before which packed row a row stands."""
        table = self.table
        number = table.thread_number.get(thread)
        if number is None:
            return int(table.thread_start[bisect_left(table.threads, thread)])
        start, end = int(table.thread_start[number]), int(table.thread_start[number + 1])
        at = start + int(np.searchsorted(table.at_us[start:end], at_us, "left"))
        while at < end and table.at_us[at] == at_us and table.row_id[at] < row_id:
            at += 1
        return at

    def _sessions(self, rows: Sequence[Entry], threads: Sequence[int]) -> Any:
        """Return the sessions of rows that are not packed: that of the row before, of the one after, or their own."""
        made: list[int] = []
        table, places, gaps = self.table, self._places.tolist(), dict[int, int]()
        for n, (row, thread, place) in enumerate(zip(rows, threads, places, strict=True)):
            found = None
            if row.source == _CHAT:
                if thread not in gaps:
                    gaps[thread] = int(table.gaps[thread]) if thread < len(table.threads) else self._own_gap(thread)
                before = after = None
                if n and places[n - 1] == place and threads[n - 1] == thread:
                    before = rows[n - 1].at_us, made[n - 1]
                elif place and table.thread[place - 1] == thread:
                    before = int(table.at_us[place - 1]), int(table.session[place - 1])
                if place < self.packed and table.thread[place] == thread:
                    after = int(table.at_us[place]), int(table.session[place])
                if before is not None and row.at_us - before[0] <= gaps[thread]:
                    found = before[1]
                elif after is not None and after[0] - row.at_us <= gaps[thread]:
                    found = after[1]
            if found is None:
                found, self.sessions = self.sessions, self.sessions + 1
            made.append(found)
        return np.array(made, np.int32)

    def _own_gap(self, thread: int) -> int:
        """Return the pause that ends a session of a conversation of which nothing is packed."""
        at = self._fresh["at_us"][self._fresh["thread"] == thread]
        return int(gaps_of(np.zeros(len(at), np.int32), at, 1)[0])

    def take(self, name: str, index: Any) -> Any:
        """Return a column of rows."""
        packed = getattr(self.table, name)
        if not len(self._places):
            return packed[index]
        own = self._fresh[name]
        if not self.packed:
            return own[index]
        made = packed[np.minimum(index, self.packed - 1)]
        fresh = (index >= self.packed).nonzero()[0]
        made[fresh] = own[index[fresh] - self.packed]
        return made

    def is_chat(self, index: Any) -> Any:
        """Return which rows are messages: they alone have neighbours."""
        return self.take("source", index) == _CHAT

    @cached_property
    def has_local_only(self) -> bool:
        """Return whether a row is for callers nearby alone."""
        return bool(self.table.local_only.any() or self._fresh["local_only"].any())

    @cached_property
    def sources(self) -> frozenset[int]:
        """Return the numbers of the sources that rows are of."""
        packed = np.bincount(self.table.source).nonzero()[0]
        return frozenset((*packed.tolist(), *self._fresh["source"].tolist()))

    def read_postings(self, fresh: Iterable[FreshPosting], blocks: Iterable[Block], count: int) -> Postings:
        """Return the rows of each of so many words and tags."""
        table = self.table
        kept = sorted((number, table.offsets[segment], postings) for number, segment, postings in blocks)
        every = np.frombuffer(b"".join([postings for _, _, postings in kept]), POSTING)
        sizes = [len(postings) // POSTING.itemsize for _, _, postings in kept]
        if len(table.offsets) > 1:
            offsets = np.repeat(np.array([before for _, before, _ in kept], np.int64), sizes)
            index = table.to_index[offsets + every["place"]].astype(np.int64)
        else:
            index = table.to_index[every["place"]].astype(np.int64)
        counts = np.zeros(count + 1, np.int64)
        np.add.at(counts, [1 + number for number, _, _ in kept], sizes)
        starts, times = counts.cumsum(), every["times"]
        mine = sorted(
            (number, self._fresh_index[source, row_id], min(n, MOST_TIMES)) for number, source, row_id, n in fresh
        )
        if mine:
            columns, at, own_times = np.array(mine, np.int64).T
            ends = starts[columns + 1]
            index, times = np.insert(index, ends, at), np.insert(times, ends, own_times)
            starts = starts + columns.searchsorted(np.arange(len(starts)), "left")
        return Postings(index, times, starts)

    @cached_property
    def totals(self) -> tuple[Any, Any]:
        """Return how many rows each source has, and how many words; those that are gone do not count."""
        rows, words = self.table.totals
        gone = self.table.source[self.gone]
        rows = rows - np.bincount(gone, minlength=_SOURCES)
        words = words - np.bincount(gone, weights=self.table.words[self.gone], minlength=_SOURCES)
        np.add.at(rows, self._fresh["source"], 1)
        np.add.at(words, self._fresh["source"], self._fresh["words"])
        return rows, words

    @cached_property
    def names(self) -> Any:
        """Return the names of everybody who spoke."""
        return np.array([who.name for who in self.speakers], object)

    @cached_property
    def keys(self) -> Any:
        """Return their participant keys."""
        return np.array([who.key for who in self.speakers], object)

    @cached_property
    def roles(self) -> Any:
        """Return their roles."""
        return np.array([who.role for who in self.speakers], object)

    def names_in(self, text: str) -> set[str]:
        """Return the names of those whom a text may name: all, of very many those with a word that begins alike."""
        if len(self.speakers) <= MOST_SPEAKERS:
            return {who.name for who in self.speakers}
        by_beginning = self._names_by_beginning
        begins = {word[:NAME_BEGINS] for word in words(fold(text[:4000]), 1)}
        return set().union(by_beginning.get("", ()), *(by_beginning.get(one, ()) for one in begins))

    @cached_property
    def _names_by_beginning(self) -> dict[str, set[str]]:
        """Return the names by how their words begin, under a blank those that count for every text."""
        of_table, made = self.table.names_by_beginning, dict[str, set[str]]()
        for one, names in names_by_beginning(self._new_speakers).items():
            made[one] = of_table.get(one, set()) | names
        return {**of_table, **made}

    def find_rows(self, places: Iterable[tuple[int, int]]) -> Any:
        """Return the rows with these sources and ids, as far as they are here, in order."""
        wanted = set(places)
        fresh = [self._fresh_index[place] for place in wanted if place in self._fresh_index]
        at = self.table.find_ids([row_id for _, row_id in wanted])
        here = zip(at.tolist(), self.table.source[at].tolist(), self.table.row_id[at].tolist(), strict=True)
        packed = [i for i, source, row_id in here if (source, row_id) in wanted]
        return np.array(sorted(fresh + packed), np.int64)

    def _find_gone(self, last: Mapping[tuple[int, int], int]) -> Any:
        """Return the packed rows that are gone, each given with the last segment that may hold it."""
        table = self.table
        rows = table.find_ids([row_id for _, row_id in last])
        if not len(rows):
            return rows
        segments = table.segment_of(rows)
        places = zip(rows.tolist(), table.source[rows].tolist(), table.row_id[rows].tolist(), segments, strict=True)
        found = [i for i, source, row_id, of in places if last.get((source, row_id), 0) >= of]
        return np.array(sorted(found), np.int64)

    def rank(self, index: Any) -> Any:
        """Return where rows stand among all of the audience."""
        if not len(self._places):
            return index
        shifted = index + self._places.searchsorted(index, "right")
        own = (index - self.packed).clip(0, len(self._ranks) - 1)
        return np.where(index < self.packed, shifted, self._ranks[own])

    def at_rank(self, rank: Any) -> Any:
        """Return the rows that stand at these places."""
        if not len(self._places):
            return rank
        before = self._ranks.searchsorted(rank, "right")
        last = np.maximum(before - 1, 0)
        is_own = (before > 0) & (self._ranks[last] == rank)
        return np.where(is_own, self.packed + last, rank - before)

    @cached_property
    def thread_means(self) -> Any:
        """Return the mean length of the rows of each conversation in words."""
        words, count = np.zeros(len(self.threads)), np.zeros(len(self.threads))
        base_words, base_count = self.table.lengths
        words[: len(base_words)] += base_words
        count[: len(base_count)] += base_count
        np.add.at(words, self._fresh["thread"], self._fresh["words"])
        np.add.at(count, self._fresh["thread"], 1)
        return words / np.maximum(count, 1)

    @cached_property
    def session_words(self) -> Any:
        """Return the length of each session in words."""
        words = np.bincount(self.table.session, weights=self.table.words, minlength=self.sessions)
        np.add.at(words, self._fresh["session"], self._fresh["words"])
        return words

    @cached_property
    def session_rows(self) -> Any:
        """Return how many rows each session has."""
        rows = np.bincount(self.table.session, minlength=self.sessions)
        np.add.at(rows, self._fresh["session"], 1)
        return rows

    @cached_property
    def all_words(self) -> float:
        """Return the length of all sessions together in words."""
        return float(self.session_words.sum())

    def nearness(self, here: str, person: str) -> Any:
        """Return for each conversation how near it is to who asks: 1 the one asked in, less where the person spoke."""
        near = np.zeros(len(self.threads), np.float32)
        near[self._threads_of(self._numbers_of(person))] = TAKES_PART
        for thread in (here, "\x00" + here) if here else ():
            number = self.table.thread_number.get(thread, self._new_threads.get(thread))
            if number is not None:
                near[number] = 1.0
        return near

    def _numbers_of(self, person: str) -> list[int]:
        if not person:
            return []
        new = [number for who, number in self._new_speakers.items() if who.key == person]
        return [*self.table.numbers_by_key.get(person, ()), *new]

    def _threads_of(self, speakers: Sequence[int]) -> Any:
        if not speakers:
            return np.empty(0, np.int64)
        table = self.table
        of = [self._fresh["thread"][self._fresh["speaker"] == one] for one in speakers]
        of += [table.threads_of(one) for one in speakers if one < len(table.speakers)]
        return np.unique(np.concatenate(of))
