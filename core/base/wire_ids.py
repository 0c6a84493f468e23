"""Row ids as JSON carries them: texts of digits, since clients in JavaScript round numbers above 2^53."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LARGEST_ID = 2**63 - 1
MOST_EXACT = 2**53
"""The largest whole number every client reads exactly."""

_ONE = frozenset({"id", "superseded_by"})
_LISTS = frozenset({"ids", "depends_on", "included", "queued", "sources", "unknown"})
"""Fields that hold one id, and lists of ids; besides them those that end in `_id` and `_ids`."""
_DATA = "metadata"


def write_ids(value: Any) -> Any:
    """Return a JSON value with every row id as text of digits, and with no number a client would round."""
    return _write(value)


def _write(value: Any, *, is_id: bool = False, by_name: bool = True) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return str(value) if is_id or abs(value) > MOST_EXACT else value
    if isinstance(value, Mapping):
        return {
            key: _write(each, is_id=by_name and _holds_ids(key, each), by_name=by_name and key != _DATA)
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_write(each, is_id=is_id, by_name=by_name) for each in value]
    return value


def _holds_ids(key: object, value: object) -> bool:
    if not isinstance(key, str):
        return False
    if isinstance(value, (list, tuple)):
        return key in _LISTS or key.endswith("_ids")
    return key in _ONE or key.endswith("_id")


def find_id(value: object) -> int | None:
    """Return the row id a value holds as whole number or as text of digits, None where it is none."""
    try:
        return read_id(value)
    except ValueError:
        return None


def read_id(value: object, name: str = "id") -> int:
    """Return a row id that came as whole number or as text of digits."""
    row_id: object = value
    if isinstance(value, str):
        is_digits = value.isascii() and value.isdigit() and len(value) <= len(str(LARGEST_ID))
        row_id = int(value) if is_digits else None
    elif isinstance(value, float) and value.is_integer() and abs(value) <= MOST_EXACT:
        row_id = int(value)
    if not isinstance(row_id, int) or isinstance(row_id, bool) or not 0 <= row_id <= LARGEST_ID:
        shown = repr(value)[:40] if isinstance(value, (str, int, float)) else f"of type {type(value).__name__}"
        raise ValueError(
            f"{name} is {shown}. It must be an id as it was handed out: digits, as text or as a whole number."
        )
    return row_id
