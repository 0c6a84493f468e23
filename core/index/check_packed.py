"""Compares the packed rows with those they stand for: a part of `index.check`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import select

from ..database.engine import Database
from ..database.schema import search_block, search_gone, search_segment
from .differences import Difference
from .entries import Progress
from .packing import find_staying
from .segment import POSTING, read_head

_64_BITS = 2**64 - 1
_S, _B, _G = search_segment.c, search_block.c, search_gone.c


@dataclass
class Packed:
    """The packed rows there are."""

    rows: dict[tuple[int, int, int], tuple[int, int]] = field(default_factory=dict)
    """Audience, source and id to time and sign (`check.packed_sign`), as the segments tell them."""
    damaged: list[tuple[int, int]] = field(default_factory=list)
    """Audience and segment of those that cannot be read."""
    twice: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Audience, source, id and time of rows that stand in two segments."""


def read_packed(db: Database, tell: Progress) -> Packed:
    """Return what the segments tell of their rows, segment by segment."""
    made = Packed()
    gone: dict[int, dict[tuple[int, int], int]] = {}
    for row in db.read(select(_G.audience_id, _G.source, _G.row_id, _G.segment_id), source="search_gone"):
        gone.setdefault(row[0], {})[row[1], row[2]] = row[3]
    listed = db.read(
        select(_S.audience_id, _S.segment_id).where(_S.segment_id > 0).order_by(_S.audience_id, _S.segment_id),
        source="search_segment",
    )
    for done, (audience, segment) in enumerate(listed, 1):
        try:
            _read_one(db, audience, segment, gone.get(audience, {}), made)
        except (ValueError, IndexError):
            made.damaged.append((audience, segment))
        tell("search_segment", done, len(listed))
    return made


def _read_one(db: Database, audience: int, segment: int, gone: Mapping[tuple[int, int], int], made: Packed) -> None:
    where = (_S.audience_id == audience, _S.segment_id == segment)
    heads = db.read(select(_S.head).where(*where), source="search_segment")
    if not heads:  # merged meanwhile
        return
    rows = read_head(bytes(heads[0][0]))
    sums = np.zeros(len(rows), np.uint64)
    blocks = select(_B.kind, _B.term, _B.postings).where(_B.audience_id == audience, _B.segment_id == segment)
    for kind, term, postings in db.read(blocks, source="search_block"):
        held = np.frombuffer(bytes(postings), POSTING)
        with np.errstate(over="ignore"):
            sums[held["place"]] += np.uint64(hash((kind, term)) & _64_BITS) * held["times"].astype(np.uint64)
    stays = find_staying(rows, segment, gone)
    columns = (rows.source, rows.row_id, rows.at_us, rows.words, rows.local_only, sums)
    for source, row_id, at_us, words, local, total in zip(*(c[stays].tolist() for c in columns), strict=True):
        place = (audience, source, row_id)
        if place in made.rows:
            made.twice.append((*place, at_us))
        made.rows[place] = (at_us, (total + hash((at_us, words, local))) & _64_BITS)


def compare(packed: Packed, given: Mapping[tuple[int, int], tuple[int, int]]) -> Iterator[Difference]:
    """Yield segments that are damaged, and packed rows that are not what the rows give."""
    for audience, segment in packed.damaged:
        yield Difference("damaged", "search_segment", audience, str(segment), 0)
    for audience, source, row_id, at_us in packed.twice:
        yield Difference("extra", "search_segment", audience, "", source, row_id, at_us)
    for (audience, source, row_id), (at_us, sign) in packed.rows.items():
        wanted = given.get((source, row_id))
        if wanted is None or wanted[0] != audience:
            yield Difference("extra", "search_segment", audience, "", source, row_id, at_us)
        elif wanted[1] != sign:
            yield Difference("stale", "search_segment", audience, "", source, row_id, at_us)
