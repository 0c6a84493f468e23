"""What a file of memory items is made of, whatever its syntax, and how much of it is taken."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ...errors import TransferError

MAX_BYTES = 20 * 1024**2
"""Most bytes of a file, unpacked."""
MAX_ITEMS = 50_000
"""Most items of a file, and most keys of one object."""
MAX_DEPTH = 20
"""Most lists and objects inside one another, the outermost counted."""
MAX_VALUES = 3_000_000
"""Most values of a file. Each takes many times its bytes once it is read; 50,000 full items have half as many."""

MAX_BLANK_LINES = 100_000
"""Lines with nothing in them that a file may have: a packed file of line ends alone would be read for minutes."""

LINES: Final = "lines"
"""Stands for the key in a file that holds one value a line."""
ROOT: Final = "[]"
"""Stands for the key where the document is a list."""


class Piece(NamedTuple):
    """A part of a document."""

    key: str
    """Key of the outermost object; `LINES`, or `ROOT`."""
    row: int
    """1-based place in the list under the key, or number of the line; 0 for a value that is no list, and for the list
    itself, which comes before its elements as `[]`."""
    value: Any


class BadValue(NamedTuple):
    """A line that cannot be read, and why; never what it holds."""

    reason: str


def check_bytes(most: object) -> int:
    """Return the most bytes of a file."""
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        said = repr(most)[:40] if isinstance(most, (str, int, float)) else f"of type {type(most).__name__}"
        raise ValueError(f"max_bytes is {said}. It must be a whole number of at least 1.")
    return most


def too_deep(line: int | None = None) -> TransferError:
    """Return the error for a file whose values stand too deep inside one another."""
    where = f" in line {line}" if line else ""
    return TransferError(f"The file is nested deeper than {MAX_DEPTH} levels{where}, which no list of memories is.")


def too_many_values() -> TransferError:
    """Return the error for a file of too many values."""
    return TransferError(f"The file holds more than {MAX_VALUES:,} values. Split it into smaller files.")


def too_large(limit: int) -> TransferError:
    """Return the error for a file of too many bytes."""
    return TransferError(f"The file is larger than {limit:,} bytes. Split it into smaller files.")


def too_many_blank_lines(name: str = "The file") -> TransferError:
    """Return the error for a file of too many lines with nothing in them."""
    return TransferError(f"{name} has over {MAX_BLANK_LINES:,} lines with nothing in them. Take them out.")


def too_many_items() -> TransferError:
    """Return the error for a file of too many items."""
    return TransferError(f"The file holds more than {MAX_ITEMS:,} items. Split it into smaller files.")


def is_deep(value: Any, levels: int) -> bool:
    """Return whether lists and objects of a value stand more than `levels` inside one another."""
    level = [value]
    for _ in range(levels + 1):
        level = [item for item in level if isinstance(item, (dict, list))]
        if not level:
            return False
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return True
