"""A segment: at most 65,536 rows of one audience in compact form for searches, and the postings of their words."""

import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

import numpy as np

from .numbers import Column, Flags, Ints
from .shapes import DAY, TAG, WORD, Entry, IndexTerm, Said

MOST_ROWS = 65_536
"""Maximum number of rows of a segment: a posting stores the place of a row in 2 bytes."""
MOST_TIMES = 255
POSTING = np.dtype([("place", "<u2"), ("times", "u1")])
"""Format of a posting: place of the row in the segment, and number of occurrences."""
COLUMNS: tuple[tuple[str, str], ...] = (
    ("row_id", "<i8"),
    ("at_us", "<i8"),
    ("words", "<u2"),
    ("source", "u1"),
    ("local_only", "u1"),
    ("thread", "<u4"),
    ("speaker", "<u4"),
)
_LEVEL = 3
T = TypeVar("T")


@dataclass(eq=False)
class Rows:
    """Rows of an audience, one array for each column."""

    row_id: Column
    at_us: Column
    words: Column
    source: Column
    local_only: Column
    thread: Column
    """Index of each row's conversation in `threads`."""
    speaker: Column
    """Index of each row's speaker in `speakers`."""
    threads: Sequence[str]
    speakers: Sequence[Said]

    def __len__(self) -> int:
        return len(self.row_id)

    @property
    def columns(self) -> dict[str, Column]:
        return {name: getattr(self, name) for name, _ in COLUMNS}

    @property
    def size(self) -> int:
        return int(sum(array.nbytes for array in self.columns.values()))


def as_rows(columns: Mapping[str, Column | Sequence[int]], threads: Sequence[str], speakers: Sequence[Said]) -> Rows:
    arrays = {name: np.asarray(columns[name]).astype(kind, copy=False) for name, kind in COLUMNS}
    return Rows(**arrays, threads=threads, speakers=speakers)


def join_rows(parts: Sequence[Rows]) -> tuple[Rows, Ints]:
    """Join parts and sort the rows by conversation and time; also return where each row was in the joined parts."""
    threads = sorted({thread for rows in parts for thread in rows.threads})
    number = {thread: n for n, thread in enumerate(threads)}
    speakers: dict[Said, int] = {}
    columns: dict[str, list[Column]] = {name: [np.empty(0, kind)] for name, kind in COLUMNS}
    for rows in parts:
        of_thread = np.array([number[thread] for thread in rows.threads], np.int64)
        of_speaker = np.array([speakers.setdefault(who, len(speakers)) for who in rows.speakers], np.int64)
        renumbered = {"thread": of_thread[rows.thread], "speaker": of_speaker[rows.speaker]}
        for name, values in {**rows.columns, **renumbered}.items():
            columns[name].append(values)
    joined = {name: np.concatenate(values) for name, values in columns.items()}
    order = np.lexsort((joined["row_id"], joined["at_us"], joined["thread"]))
    # Drop conversations and speakers without rows.
    kept_threads, joined["thread"] = _list_used(threads, joined["thread"])
    kept_speakers, joined["speaker"] = _list_used(list(speakers), joined["speaker"])
    return as_rows({name: values[order] for name, values in joined.items()}, kept_threads, kept_speakers), order


def _list_used(names: Sequence[T], numbers: Column) -> tuple[list[T], Column]:
    """Drop the names that the indexes in `numbers` never use; return the remaining names and the adapted indexes."""
    used = np.bincount(numbers, minlength=len(names)) > 0
    return [names[n] for n in used.nonzero()[0].tolist()], (used.cumsum() - 1)[numbers]


Blocks = dict[IndexTerm, bytes]
"""Packed postings of each word, tag and day."""


def pack_rows(entries: Iterable[Entry]) -> tuple[Rows, Blocks]:
    """Return the rows and posting blocks of a segment of these entries; the caller gives at most MOST_ROWS."""
    ordered = sorted(entries, key=lambda one: (one.place.thread, one.at_us, one.row_id))
    rows = rows_of(ordered)
    tags, days = ([dict.fromkeys(getattr(one, name), 1) for one in ordered] for name in ("tags", "days"))
    words = _pack_terms(WORD, [one.terms for one in ordered])
    return rows, words | _pack_terms(TAG, tags) | _pack_terms(DAY, days)


def rows_of(entries: Sequence[Entry]) -> Rows:
    """Return entries as arrays, one array for each column, in the same order."""
    threads: dict[str, int] = {}
    speakers: dict[Said, int] = {}
    columns: dict[str, list[int]] = {
        name: [getattr(one, name) for one in entries] for name in ("row_id", "at_us", "words", "source", "local_only")
    }
    columns["thread"] = [threads.setdefault(one.place.thread, len(threads)) for one in entries]
    columns["speaker"] = [speakers.setdefault(one.place.speaker, len(speakers)) for one in entries]
    return as_rows(columns, list(threads), list(speakers))


def _pack_terms(kind: int, rows_terms: Sequence[Mapping[str, int]]) -> Blocks:
    """Return the postings of all terms of one kind; `rows_terms` has, by row, the count of each term in the row."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    of = np.array([numbers[term] for terms in rows_terms for term in terms], np.int64)
    places = np.repeat(np.arange(len(rows_terms)), np.array([len(terms) for terms in rows_terms], np.int64))
    times = np.array([n for terms in rows_terms for n in terms.values()], np.int64)
    return _blocks_of([(kind, term) for term in numbers], of, places, np.minimum(times, MOST_TIMES).astype(np.uint8))


def merge_segments(parts: Sequence[tuple[Rows, Blocks, Flags]]) -> tuple[Rows, Blocks]:
    """Merge several segments into one that holds only their flagged rows."""
    staying = [
        Rows(**{name: of[stays] for name, of in rows.columns.items()}, threads=rows.threads, speakers=rows.speakers)
        for rows, _, stays in parts
    ]
    merged, order = join_rows(staying)
    new_place = np.empty(len(order), np.int64)
    new_place[order] = np.arange(len(order))
    terms: dict[IndexTerm, int] = {}
    of, places, times = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.uint8)]
    before = 0
    for (rows, blocks, stays), kept_rows in zip(parts, staying, strict=True):
        to = np.full(len(rows), -1, np.int64)
        to[stays] = new_place[before : before + len(kept_rows)]
        before += len(kept_rows)
        every = np.frombuffer(b"".join(blocks.values()), POSTING)
        numbers = np.array([terms.setdefault(term, len(terms)) for term in blocks], np.int64)
        owner = np.repeat(numbers, [len(block) // POSTING.itemsize for block in blocks.values()])
        at = to[every["place"]]
        kept = at >= 0
        of.append(owner[kept])
        places.append(at[kept])
        times.append(every["times"][kept])
    return merged, _blocks_of(list(terms), np.concatenate(of), np.concatenate(places), np.concatenate(times))


def _blocks_of(terms: Sequence[IndexTerm], of: Ints, places: Ints, times: Column) -> Blocks:
    order = np.lexsort((places, of))
    postings = np.empty(len(order), POSTING)
    postings["place"], postings["times"] = places[order], times[order]
    data, size = postings.tobytes(), POSTING.itemsize
    ends = np.searchsorted(of[order], np.arange(len(terms) + 1))
    bounds = zip(terms, ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    return {term: data[first * size : last * size] for term, first, last in bounds if last > first}


def write_head(rows: Rows) -> bytes:
    """Serialize the rows of a segment, without postings."""
    facts = {"rows": len(rows), "threads": list(rows.threads), "speakers": [list(one) for one in rows.speakers]}
    arrays = b"".join(array.tobytes() for array in rows.columns.values())
    header = json.dumps(facts, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return zlib.compress(header + b"\n" + arrays, _LEVEL)


def read_head(stored: bytes) -> Rows:
    try:
        header, _, data = zlib.decompress(stored).partition(b"\n")
        facts = json.loads(header.decode("utf-8", "surrogatepass"))
        at, columns = 0, dict[str, Column]()
        for name, kind in COLUMNS:
            columns[name] = np.frombuffer(data, kind, int(facts["rows"]), at)
            at += columns[name].nbytes
        return Rows(**columns, threads=facts["threads"], speakers=[Said(*one) for one in facts["speakers"]])
    except (zlib.error, KeyError, TypeError) as error:
        raise ValueError(f"A segment of the search index cannot be read: {type(error).__name__}.") from None


def write_terms(blocks: Blocks) -> bytes:
    """Serialize the words of a segment: sorted, each with the number of rows that hold it."""
    words = sorted((term, len(block) // POSTING.itemsize) for (kind, term), block in blocks.items() if kind == WORD)
    docs = np.array([count for _, count in words], "<u4")
    text = "\n".join(word for word, _ in words).encode("utf-8", "surrogatepass")
    return zlib.compress(len(words).to_bytes(4, "little") + docs.tobytes() + text, _LEVEL)


def read_terms(stored: bytes) -> tuple[bytes, Column]:
    """Return the sorted words of a segment, each between line breaks, and the document frequency of each."""
    try:
        data = zlib.decompress(stored)
        count = int.from_bytes(data[:4], "little")
        return b"\n" + data[4 + 4 * count :] + b"\n", np.frombuffer(data, "<u4", count, 4)
    except (zlib.error, ValueError) as error:
        raise ValueError(f"A segment of the search index cannot be read: {type(error).__name__}.") from None
