"""What a process holds of the packed rows of an audience: when, where, by whom and how long, as arrays.

The rows of all segments of an audience lie in one order, by conversation and time, whatever segment they came in;
those that are not packed yet are put in their places by `Visible`, so that a row has the same neighbours before and
after it is packed. Segments never change, so what was read of them is kept, that of the audiences used last.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import bindparam, select

from ..database import sources
from ..database.dialects import ID
from ..database.engine import Database
from ..database.schema import search_segment
from ..text.folding import fold
from ..text.sessions import LEAST_GAP, MOST_GAP, USUAL_STEPS
from ..text.words import words
from .lookups import HELD, Count, Segment
from .packing import place_of
from .postings import Block, FreshRow, Posting
from .postings import read as read_postings
from .segment import MOST_TIMES, POSTING, Rows, Said, read_head
from .table import WORD

MOST_BYTES = 64 * 2**20
"""Arrays kept for one database, in bytes; those of the audience in use stay whatever they take."""
_CHAT = sources.CHAT.number
TAKES_PART = 0.5
"""How near other conversations of who asks are, against the one asked in."""
READ_AGAIN = 3
"""How often the index is read again that changed while it was read."""
MOST_SPEAKERS, NAME_BEGINS = 300, 2
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
        return np.argsort(self.to_index)

    def segment_of(self, index: Any) -> list[int]:
        """Return the segment that each row came in."""
        segments, starts = list(self.offsets), np.array(list(self.offsets.values()))
        return [segments[n] for n in np.searchsorted(starts, self._from_index[index], "right") - 1]

    @cached_property
    def session_words(self) -> Any:
        """Return the length of each session in words."""
        return np.bincount(self.session, weights=self.words)

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
    def thread_start(self) -> Any:
        """Return where each conversation begins, and where the last one ends."""
        return np.searchsorted(self.thread, np.arange(len(self.threads) + 1))


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


class Visible:
    """All rows of an audience: the packed ones, and behind them those that are not packed.

    An index below `len(table)` is a packed row; `rank` tells where a row stands among all of them.
    """

    def __init__(self, audience: int, table: Table, fresh: Iterable[FreshRow]) -> None:
        self.audience, self.table = audience, table
        self.packed = len(table)
        ordered = []
        for one in fresh:
            thread, who = place_of(one.source, one.conversation, one.name, one.key, one.role)
            ordered.append((thread, one.at_us, one.row_id, one, who))
        ordered.sort(key=lambda each: each[:3])
        self.threads = list(table.threads)
        self.speakers = list(table.speakers)
        thread_number, speaker_number = dict(table.thread_number), dict(table.speaker_number)
        places, threads, speakers = [], [], []
        for thread, at_us, row_id, _, who in ordered:
            places.append(self._place(thread, at_us, row_id))
            threads.append(thread_number.setdefault(thread, len(thread_number)))
            speakers.append(speaker_number.setdefault(who, len(speaker_number)))
        self.threads += list(thread_number)[len(self.threads) :]
        self.speakers += list(speaker_number)[len(self.speakers) :]
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
        self.fresh_index = {(row.source, row.row_id): self.packed + n for n, row in enumerate(rows)}
        # Of rows in new conversations the order among each other is the one they are listed in.
        self._places = np.maximum.accumulate(np.array(places, np.int64)) if places else np.empty(0, np.int64)
        self._ranks = self._places + np.arange(len(places))
        self.sessions = int(table.session[-1]) + 1 if self.packed else 0
        self._fresh["session"] = self._sessions()

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

    def _sessions(self) -> Any:
        """Return the sessions of rows that are not packed: that of the row before, of the one after, or their own."""
        made = np.empty(len(self._places), np.int32)
        fresh, table = self._fresh, self.table
        for n, place in enumerate(self._places.tolist()):
            if fresh["source"][n] != _CHAT:
                made[n], self.sessions = self.sessions, self.sessions + 1
                continue
            thread, at = int(fresh["thread"][n]), int(fresh["at_us"][n])
            gap = int(table.gaps[thread]) if thread < len(table.threads) else self._own_gap(thread)
            before = None
            if n and self._places[n - 1] == place and fresh["thread"][n - 1] == thread:
                before = (int(fresh["at_us"][n - 1]), int(made[n - 1]))
            elif place and table.thread[place - 1] == thread:
                before = (int(table.at_us[place - 1]), int(table.session[place - 1]))
            if before is not None and at - before[0] <= gap:
                made[n] = before[1]
            elif place < self.packed and table.thread[place] == thread and table.at_us[place] - at <= gap:
                made[n] = table.session[place]
            else:
                made[n], self.sessions = self.sessions, self.sessions + 1
        return made

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
        is_packed = index < self.packed
        if is_packed.all():
            return packed[index]
        if not self.packed:
            return own[index]
        return np.where(is_packed, packed[np.minimum(index, self.packed - 1)], own[np.maximum(index - self.packed, 0)])

    def is_chat(self, index: Any) -> Any:
        """Return which rows are messages: they alone have neighbours."""
        return self.take("source", index) == _CHAT

    def read_postings(
        self, own: Sequence[Posting], blocks: Sequence[Block], numbers: Mapping[tuple[int, str], int]
    ) -> tuple[Any, Any, Any]:
        """Return the row, the times and the number of the word of each posting.

        Args:
            own: of rows that are not packed; those of others are left behind.
            numbers: of the words and tags asked for.
        """
        table = self.table
        blocks = [one for one in blocks if one.segment_id in table.offsets and (one.kind, one.term) in numbers]
        every = np.frombuffer(b"".join([one.postings for one in blocks]), POSTING)
        sizes = [len(one.postings) // POSTING.itemsize for one in blocks]
        offset = np.repeat(np.array([table.offsets[one.segment_id] for one in blocks], np.int64), sizes)
        packed = table.to_index[offset + every["place"]] if blocks else np.empty(0, np.int32)
        of = np.repeat(np.array([numbers[one.kind, one.term] for one in blocks], np.int32), sizes)
        mine = [
            (at, one.times, numbers[one.kind, one.term])
            for one in own
            if (at := self.fresh_index.get((one.source, one.row_id))) is not None and (one.kind, one.term) in numbers
        ]
        index, times, term = np.array(mine or np.empty((0, 3)), np.int64).T
        return (
            np.concatenate([packed, index]).astype(np.int64),
            np.concatenate([every["times"].astype(np.int64), np.minimum(times, MOST_TIMES)]),
            np.concatenate([of, term]).astype(np.int64),
        )

    def speakers_named(self, text: str) -> list[Said]:
        """Return those who spoke and whom a text may name: all, of very many those with a word that begins alike."""
        if len(self.speakers) <= MOST_SPEAKERS:
            return self.speakers
        begins = {word[:NAME_BEGINS] for word in words(fold(text[:4000]), 1)}
        return [
            who
            for who in self.speakers
            if not who.name.isascii() or any(word[:NAME_BEGINS] in begins for word in words(who.name, 1))
        ]

    def find_rows(self, places: Iterable[tuple[int, int]]) -> Any:
        """Return the rows with these sources and ids, as far as they are here."""
        wanted = set(places)
        found = [self.fresh_index[place] for place in wanted if place in self.fresh_index]
        table = self.table
        at = np.flatnonzero(np.isin(table.row_id, np.array([row_id for _, row_id in wanted], np.int64)))
        here = zip(at.tolist(), table.source[at].tolist(), table.row_id[at].tolist(), strict=True)
        return np.array(found + [i for i, source, row_id in here if (source, row_id) in wanted], np.int64)

    def find_gone(self, gone: Iterable[tuple[int, int, int]]) -> Any:
        """Return the packed rows that are gone, each given as source, id and the last segment that may hold it."""
        last = {(source, row_id): segment for source, row_id, segment in gone}
        if not last or not self.packed:
            return np.empty(0, np.int64)
        table = self.table
        found = np.flatnonzero(np.isin(table.row_id, np.array([row_id for _, row_id in last], np.int64)))
        segments = table.segment_of(found)
        places = zip(found.tolist(), table.source[found].tolist(), table.row_id[found].tolist(), segments, strict=True)
        return np.array([i for i, source, row_id, of in places if last.get((source, row_id), 0) >= of], np.int64)

    def rank(self, index: Any) -> Any:
        """Return where rows stand among all of the audience."""
        if not len(self._places):
            return index
        shifted = index + np.searchsorted(self._places, index, "right")
        own = np.clip(index - self.packed, 0, len(self._ranks) - 1)
        return np.where(index < self.packed, shifted, self._ranks[own])

    def at_rank(self, rank: Any) -> Any:
        """Return the rows that stand at these places."""
        if not len(self._places):
            return rank
        before = np.searchsorted(self._ranks, rank, "right")
        last = np.maximum(before - 1, 0)
        is_own = (before > 0) & (self._ranks[last] == rank)
        return np.where(is_own, self.packed + last, rank - before)

    def thread_means(self) -> Any:
        """Return the mean length of the rows of each conversation in words."""
        words, count = np.zeros(len(self.threads)), np.zeros(len(self.threads))
        base_words, base_count = self.table.lengths
        words[: len(base_words)] += base_words
        count[: len(base_count)] += base_count
        np.add.at(words, self._fresh["thread"], self._fresh["words"])
        np.add.at(count, self._fresh["thread"], 1)
        return words / np.maximum(count, 1)

    def words_of_sessions(self) -> Any:
        """Return the length of each session in words."""
        words = np.zeros(self.sessions)
        packed = self.table.session_words
        words[: len(packed)] = packed
        np.add.at(words, self._fresh["session"], self._fresh["words"])
        return words

    def nearness(self, here: str, person: str) -> Any:
        """Return for each conversation how near it is to who asks: 1 the one asked in, less where the person spoke."""
        near = np.zeros(len(self.threads), np.float32)
        mine = [n for n, who in enumerate(self.speakers) if person and who.key == person]
        if mine:
            near[self._threads_of(mine)] = TAKES_PART
        if here:
            for n, thread in enumerate(self.threads):
                if thread.removeprefix("\x00") == here:
                    near[n] = 1.0
        return near

    def _threads_of(self, speakers: Sequence[int]) -> Any:
        table = self.table
        of = [self._fresh["thread"][self._fresh["speaker"] == one] for one in speakers]
        of += [table.threads_of(one) for one in speakers if one < len(table.speakers)]
        return np.unique(np.concatenate(of))


class SegmentsMovedError(ValueError):
    """Segments were packed anew between two reads."""


class _Cache:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tables: OrderedDict[tuple[int, ...], Table] = OrderedDict()


def load_tables(db: Database, segments: Sequence[Segment]) -> dict[int, Table]:
    """Return the packed rows of each audience that has some; what is not held yet is read.

    Raises:
        StoreReadError: they could not be read.
        ValueError: a segment is damaged.
    """
    cache: _Cache = db.caches.setdefault(HELD, _Cache())
    of: dict[int, list[Segment]] = {}
    for segment in segments:
        of.setdefault(segment.audience_id, []).append(segment)
    made: dict[int, Table] = {}
    for audience, own in of.items():
        key = (audience, *(one.stamp for one in own))
        with cache.lock:
            table = cache.tables.get(key)
            if table is not None:
                cache.tables.move_to_end(key)
        if table is None:
            table = _load(db, audience, own)
            with cache.lock:
                for old in [k for k in cache.tables if k[0] == audience]:
                    del cache.tables[old]
                cache.tables[key] = table
                taken = sum(each.size for each in cache.tables.values())
                while taken > MOST_BYTES and len(cache.tables) > 1:
                    taken -= cache.tables.popitem(last=False)[1].size
        made[audience] = table
    return made


def _load(db: Database, audience: int, segments: Sequence[Segment]) -> Table:
    wanted = {"audience": audience, "segments": [one.segment_id for one in segments]}
    rows = db.read(_HEADS, wanted, source="search_segment")
    if len(rows) < len(segments):
        raise SegmentsMovedError("The search index changed while it was read.")
    return build_table([(row[0], read_head(bytes(row[1]))) for row in rows])


_S = search_segment.c
_HEADS = (
    select(_S.segment_id, _S.head)
    .where(
        _S.audience_id == bindparam("audience", type_=ID),
        _S.segment_id.in_(bindparam("segments", expanding=True)),
    )
    .order_by(_S.segment_id)
)


def read_audiences(
    db: Database,
    words: Sequence[Count],
    tags: Sequence[Count],
    audiences: Sequence[int],
    numbers: Collection[int],
    persona: str,
) -> Iterator[tuple[Visible, list[Posting], list[Block], list[tuple[int, int, int]]]]:
    """Yield what the search tables hold of what is asked: the rows of an audience, postings, blocks, what is gone.

    Args:
        words: known words asked for, with the audiences they stand in.
        tags: tags asked for, alike.
        numbers: of the sources asked.
        persona: whose the audiences are.

    Raises:
        StoreReadError: it could not be read.
        ValueError: a segment is damaged, or segments are packed again and again meanwhile.
    """
    for attempt in range(READ_AGAIN):
        read = read_postings(db, words, tags, audiences, numbers, persona)
        try:
            tables = load_tables(db, read.segments)
            break
        except SegmentsMovedError:
            if attempt + 1 == READ_AGAIN:
                raise
    postings, blocks = _by_audience(read.postings), _by_audience(read.blocks)
    fresh = _by_audience(read.fresh)
    for audience in sorted(postings.keys() | blocks.keys()):
        view = Visible(audience, tables.get(audience) or build_table(()), fresh.get(audience, ()))
        gone = [(row[1], row[2], row[3]) for row in read.gone if row[0] == audience]
        yield view, postings.get(audience, []), blocks.get(audience, []), gone


T = TypeVar("T", Posting, Block, FreshRow)


def _by_audience(rows: Iterable[T]) -> dict[int, list[T]]:
    made: dict[int, list[T]] = {}
    for row in rows:
        made.setdefault(row.audience, []).append(row)
    return made


def find_ids(db: Database, persona: str, audiences: Sequence[int], source: int, words: Sequence[str]) -> set[int]:
    """Return the ids of a source's rows in which one of the words stands; of some that are gone too.

    Raises:
        StoreReadError: the index could not be read.
    """
    cells = [Count(audience, word, source, 1) for audience in audiences for word in words]
    numbers = {(WORD, word): n for n, word in enumerate(words)}
    found: set[int] = set()
    for view, postings, blocks, _ in read_audiences(db, cells, (), audiences, (source,), persona):
        index, _, _ = view.read_postings(postings, blocks, numbers)
        found.update(view.take("row_id", index[view.take("source", index) == source]).tolist())
    return found
