"""The numberings that a search uses for rows, and the functions that work on each.

    postings of a word          SegmentRows   position in one packed segment
      | Table.from_segments
    packed rows of an audience  PackedRows    position in all its segments, by conversation and time
      | FreshOffsets.to_view
    rows of an audience         ViewRows      position among packed and unpacked rows
      | HeldWords.find
    matching rows               MatchRows     position in all audiences, one after another
      | Around.find
    rows around the best        LocalRows     position among the best rows and their neighbours, in all audiences

mypy tells them apart; at run time each is an array. Indexing loses the type: `take` keeps it.
"""

from typing import Any, NewType, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]
Flags = NDArray[np.bool_]
Column = NDArray[np.integer[Any]]
"""Array of integers of any size."""

SegmentRows = NewType("SegmentRows", NDArray[np.uint16])
PackedRows = NewType("PackedRows", NDArray[np.int64])
ViewRows = NewType("ViewRows", NDArray[np.int64])
MatchRows = NewType("MatchRows", NDArray[np.int64])
LocalRows = NewType("LocalRows", NDArray[np.int64])
Numbers = TypeVar("Numbers", PackedRows, ViewRows, MatchRows, LocalRows)


def take(rows: Numbers, which: Flags | Ints) -> Numbers:
    return cast("Numbers", rows[which])


def find_in(rows: Numbers, wanted: Numbers) -> tuple[Ints, Flags]:
    """Return the positions of wanted rows in sorted rows, and which of them are present."""
    if not len(rows):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), bool)
    at = np.minimum(rows.searchsorted(wanted), len(rows) - 1)
    return at, rows[at] == wanted


def is_among(wanted: Numbers, rows: Numbers) -> Flags:
    return find_in(rows, wanted)[1]


def put_in_order(rows: Numbers) -> Numbers:
    """Return the rows sorted and without duplicates."""
    ordered = rows.astype(np.int32)
    ordered.sort()
    is_new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return cast("Numbers", ordered[is_new].astype(np.int64))
