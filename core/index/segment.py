"""A segment: some thousand rows of one audience packed for the search, and the postings of their words."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from .entries import Entry, Said
from .lookups import TAG, WORD

MOST_ROWS = 65_536
"""A place has 2 bytes."""
MOST_TIMES = 255
POSTING = np.dtype([("place", "<u2"), ("times", "u1")])
"""How a posting lies in a block."""
_COLUMNS: tuple[tuple[str, str], ...] = (
    ("row_id", "<i8"),
    ("at_us", "<i8"),
    ("words", "<u2"),
    ("source", "u1"),
    ("local_only", "u1"),
    ("thread", "<u4"),
    ("speaker", "<u4"),
)
_LEVEL = 3

Term = tuple[int, str]
"""Kind (a word or a tag) and text of what is looked up."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a segment, each array in the order of their places."""

    row_id: Any
    at_us: Any
    words: Any
    source: Any
    local_only: Any
    thread: Any
    """Number in `threads`."""
    speaker: Any
    """Number in `speakers`."""
    threads: Sequence[str]
    speakers: Sequence[Said]

    def __len__(self) -> int:
        return len(self.row_id)

    @property
    def size(self) -> int:
        """Return how many bytes the arrays take in memory."""
        return int(sum(getattr(self, name).nbytes for name, _ in _COLUMNS))


Blocks = dict[Term, bytes]
"""The postings of each word and tag."""


def pack_rows(rows: Iterable[Entry]) -> tuple[Rows, Blocks]:
    """Return a segment of some rows, at most MOST_ROWS."""
    ordered = sorted(rows, key=lambda row: (row.place.thread, row.at_us, row.source, row.row_id))
    threads: dict[str, int] = {}
    speakers: dict[Said, int] = {}
    made = _rows_of(
        [row.row_id for row in ordered],
        [row.at_us for row in ordered],
        [row.words for row in ordered],
        [row.source for row in ordered],
        [row.local_only for row in ordered],
        [threads.setdefault(row.place.thread, len(threads)) for row in ordered],
        [speakers.setdefault(row.place.speaker, len(speakers)) for row in ordered],
        threads=list(threads),
        speakers=list(speakers),
    )
    tags = [dict.fromkeys(row.tags, 1) for row in ordered]
    return made, _pack_terms(WORD, [row.terms for row in ordered]) | _pack_terms(TAG, tags)


def _pack_terms(kind: int, held: Sequence[Mapping[str, int]]) -> Blocks:
    """Return the postings of all words, or tags, of some rows, each given with what it holds."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    of = np.array([numbers[term] for terms in held for term in terms], np.int64)
    places = np.repeat(np.arange(len(held)), np.array([len(terms) for terms in held], np.int64))
    times = np.array([n for terms in held for n in terms.values()], np.int64)
    return _blocks_of([(kind, term) for term in numbers], of, places, np.minimum(times, MOST_TIMES).astype(np.uint8))


def merge_segments(parts: Sequence[tuple[Rows, Blocks, Any]]) -> tuple[Rows, Blocks]:
    """Return one segment of the rows of several, without those that are gone."""
    threads = sorted({thread for rows, _, _ in parts for thread in rows.threads})
    number = {thread: n for n, thread in enumerate(threads)}
    speakers: dict[Said, int] = {}
    columns: dict[str, list[Any]] = {name: [] for name, _ in _COLUMNS}
    for rows, _, stays in parts:
        of_thread = np.array([number[thread] for thread in rows.threads] or [0], np.int64)
        of_speaker = np.array([speakers.setdefault(who, len(speakers)) for who in rows.speakers] or [0], np.int64)
        renamed = {"thread": of_thread, "speaker": of_speaker}
        for name, values in columns.items():
            kept = getattr(rows, name)[stays]
            values.append(renamed[name][kept] if name in renamed else kept)
    joined = {name: np.concatenate(values) for name, values in columns.items()}
    order = np.lexsort((joined["row_id"], joined["source"], joined["at_us"], joined["thread"]))
    # Who and where nobody is any more leaves the lists.
    kept_threads, thread = np.unique(joined["thread"][order], return_inverse=True)
    kept_speakers, speaker = np.unique(joined["speaker"][order], return_inverse=True)
    everybody = list(speakers)
    made = _rows_of(
        *(joined[name][order] for name, _ in _COLUMNS[:5]),
        thread,
        speaker,
        threads=[threads[n] for n in kept_threads],
        speakers=[everybody[n] for n in kept_speakers],
    )
    new_place = np.empty(len(order), np.int64)
    new_place[order] = np.arange(len(order))
    return made, _merge_blocks(parts, new_place)


def _merge_blocks(parts: Sequence[tuple[Rows, Blocks, Any]], new_place: Any) -> Blocks:
    terms: dict[Term, int] = {}
    of, places, times = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.uint8)]
    before = 0
    for rows, blocks, stays in parts:
        to = np.full(len(rows), -1, np.int64)
        count = int(np.count_nonzero(stays))
        to[stays] = new_place[before : before + count]
        before += count
        if not blocks:
            continue
        every = np.frombuffer(b"".join(blocks.values()), POSTING)
        numbers = np.array([terms.setdefault(term, len(terms)) for term in blocks], np.int64)
        owner = np.repeat(numbers, [len(block) // POSTING.itemsize for block in blocks.values()])
        at = to[every["place"]]
        kept = at >= 0
        of.append(owner[kept])
        places.append(at[kept])
        times.append(every["times"][kept])
    return _blocks_of(list(terms), np.concatenate(of), np.concatenate(places), np.concatenate(times))


def _rows_of(*columns: Any, threads: Sequence[str], speakers: Sequence[Said]) -> Rows:
    arrays = [np.asarray(values).astype(kind) for values, (_, kind) in zip(columns, _COLUMNS, strict=True)]
    columns_of: dict[str, Any] = {name: array for (name, _), array in zip(_COLUMNS, arrays, strict=True)}
    return Rows(**columns_of, threads=threads, speakers=speakers)


def _blocks_of(terms: Sequence[Term], of: Any, places: Any, times: Any) -> Blocks:
    order = np.lexsort((places, of))
    postings = np.empty(len(order), POSTING)
    postings["place"], postings["times"] = places[order], times[order]
    data, size = postings.tobytes(), POSTING.itemsize
    ends = np.searchsorted(of[order], np.arange(len(terms) + 1))
    bounds = zip(terms, ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    return {term: data[first * size : last * size] for term, first, last in bounds if last > first}


def write_head(rows: Rows) -> bytes:
    """Return the rows of a segment as they are stored."""
    told = {"rows": len(rows), "threads": list(rows.threads), "speakers": [list(one) for one in rows.speakers]}
    arrays = b"".join(getattr(rows, name).tobytes() for name, _ in _COLUMNS)
    return zlib.compress(json.dumps(told, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n" + arrays, _LEVEL)


def read_head(stored: bytes) -> Rows:
    """Return the rows of a segment."""
    try:
        told, _, data = zlib.decompress(stored).partition(b"\n")
        facts = json.loads(told.decode("utf-8", "surrogatepass"))
        at, columns = 0, dict[str, Any]()
        for name, kind in _COLUMNS:
            columns[name] = np.frombuffer(data, kind, int(facts["rows"]), at)
            at += columns[name].nbytes
        return Rows(**columns, threads=facts["threads"], speakers=[Said(*one) for one in facts["speakers"]])
    except (zlib.error, KeyError, TypeError) as error:
        raise ValueError(f"A segment of the search index cannot be read: {type(error).__name__}.") from None


def write_terms(blocks: Blocks) -> bytes:
    """Return the words of a segment as they are stored: sorted, each with the number of rows that hold it."""
    words = sorted((term, len(block) // POSTING.itemsize) for (kind, term), block in blocks.items() if kind == WORD)
    docs = np.array([count for _, count in words], "<u4")
    text = "\n".join(word for word, _ in words).encode("utf-8", "surrogatepass")
    return zlib.compress(len(words).to_bytes(4, "little") + docs.tobytes() + text, _LEVEL)


def read_terms(stored: bytes) -> tuple[bytes, Any]:
    """Return the sorted words of a segment, each between line breaks, and in how many rows each stands."""
    try:
        data = zlib.decompress(stored)
        count = int.from_bytes(data[:4], "little")
        return b"\n" + data[4 + 4 * count :] + b"\n", np.frombuffer(data, "<u4", count, 4)
    except (zlib.error, ValueError) as error:
        raise ValueError(f"A segment of the search index cannot be read: {type(error).__name__}.") from None
