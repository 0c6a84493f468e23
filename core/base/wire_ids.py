"""Numbers from hosts: whole numbers of any type, and row ids in requests, which may be texts of digits."""

from numbers import Integral

from .hints import shown

LARGEST_ID = 2**63 - 1
MOST_EXACT = 2**53
"""Largest whole number that every client reads exactly."""


def find_whole(value: object) -> int | None:
    """Convert a whole number of any type, such as numpy's, to int; None for other values and for a bool."""
    return None if isinstance(value, bool) or not isinstance(value, Integral) else int(value)


def find_id(value: object) -> int | None:
    """Convert a whole number, or a text of digits, to a row id; None for other values."""
    try:
        return read_id(value)
    except ValueError:
        return None


def read_id(value: object, name: str = "id") -> int:
    """Convert a whole number, or a text of digits, to a row id; raise ValueError for other values."""
    row_id = find_whole(value)
    if isinstance(value, str):
        is_digits = value.isascii() and value.isdigit() and len(value) <= len(str(LARGEST_ID))
        row_id = int(value) if is_digits else None
    elif isinstance(value, float) and value.is_integer() and abs(value) <= MOST_EXACT:
        row_id = int(value)
    if row_id is None or not 0 <= row_id <= LARGEST_ID:
        what = f"{name} is {shown(value)}. It must be an id as it was handed out: digits, as text or as a whole number."
        raise ValueError(what)
    return row_id
