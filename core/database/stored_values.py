"""Reads stored values: texts, keys, times, JSON, numbers. Broken values are repaired and counted, never an error."""

import codecs
import json
import threading
import zlib
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from ..text.folding import clean
from ..text.times import LATEST

T = TypeVar("T")
FIRST = datetime(1, 1, 3, tzinfo=UTC)
"""Earliest time that every time zone can show."""


class _Repairs(threading.local):
    count: int = 0


_repairs = _Repairs()


def count_repairs() -> int:
    """Return the number of values that the calling thread has repaired so far."""
    return _repairs.count


def _repaired(value: T) -> T:
    _repairs.count += 1
    return value


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Replace all invalid bytes of a text at once, so that they count as one repair."""
    assert isinstance(error, UnicodeDecodeError)
    return _repaired(error.object[error.start :].decode("utf-8", "replace")), len(error.object)


codecs.register_error("prompt_engine.repaired", _replace)
READ_UTF8 = partial(str, encoding="utf-8", errors="prompt_engine.repaired")
"""Decodes bytes; invalid UTF-8 becomes U+FFFD. A `partial` for speed, since SQLite calls it for every text."""


def decode_row(row: Iterable[Any]) -> list[Any]:
    """Return a row's values with bytes decoded: servers return keys as bytes, and an SQLite text may hold any bytes."""
    values = list(row)
    return values if bytes not in map(type, values) else [READ_UTF8(v) if type(v) is bytes else v for v in values]


def read_checked(content: Any, checksum: Any) -> bytes | None:
    """Return the stored bytes `content`; None if the stored CRC-32 `checksum` does not match them."""
    if isinstance(content, (bytes, bytearray)) and zlib.crc32(content) == checksum:
        return bytes(content)
    return _repaired(None)


def read_text(value: Any) -> Any:
    """Return the value of a text column, with bytes decoded; None stays None."""
    if type(value) is str:  # the case of nearly all values
        return value
    return READ_UTF8(value) if isinstance(value, (bytes, bytearray)) else value


def from_key(value: Any) -> str:
    """Return a key as text, even if it was read without its column type."""
    return READ_UTF8(value) if isinstance(value, (bytes, bytearray)) else str(value)


def read_time(value: Any) -> datetime | None:
    """Return a stored time as an aware datetime within the calendar, None if it is unreadable."""
    if isinstance(value, datetime):
        return _within(value.replace(tzinfo=UTC))
    text = value if type(value) is str else read_text(value)
    if not isinstance(text, str):
        return None if value is None else _repaired(None)
    try:
        moment = datetime.fromisoformat(text)
        return _within(moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC))
    except ValueError:
        return _repaired(None)
    except OverflowError:  # its zone moves it past the end of the calendar
        return _repaired(LATEST if text[:1] == "9" else FIRST)


def _within(moment: datetime) -> datetime:
    if FIRST <= moment <= LATEST:
        return moment
    return _repaired(min(max(moment, FIRST), LATEST))


def read_number(value: Any) -> Any:
    """Return a value as a number, parsing texts; None if it is not a number."""
    if value is None or isinstance(value, (int, float)):
        return value
    try:
        return float(read_text(value)) if "." in str(value) else int(read_text(value))
    except (TypeError, ValueError, OverflowError):
        return _repaired(None)


def read_whole(value: Any) -> int | None:
    """Return a value as a whole number, cutting decimals; 0 if it is not a number. None stays None."""
    if type(value) is int or value is None:
        return value
    number = read_number(value)
    try:
        whole = int(number)
    except (TypeError, ValueError, OverflowError):
        return 0 if number is None else _repaired(0)
    if not -(2**63) <= whole < 2**63:  # SQLite may return it as a float or a text
        return _repaired(0)
    return whole if number == whole else _repaired(whole)


def read_bytes(value: Any) -> bytes | None:
    return value if type(value) is bytes or value is None else _repaired(b"")


def read_json(value: object) -> Any:
    """Parse a JSON column; None if it is broken or NULL."""
    text = read_text(value)
    if not isinstance(text, str):
        return value
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return _repaired(None)
    return _without_surrogates(found) if "\\ud" in text.lower() else found


def _without_surrogates(value: Any) -> Any:
    """Return JSON data without lone surrogates, which cannot be encoded."""
    if isinstance(value, str):
        cleaned = clean(value)
        return value if cleaned == value else _repaired(cleaned)
    if isinstance(value, list):
        return [_without_surrogates(each) for each in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(each) for key, each in value.items()}
    return value


def read_list(value: object) -> list[Any]:
    """Return the array in a JSON column, [] for anything else."""
    found = read_json(value)
    return list(found) if isinstance(found, list) else []


def read_texts(value: object) -> list[str]:
    return [item for item in read_list(value) if isinstance(item, str)]


def read_object(value: object) -> dict[str, Any] | None:
    """Return the object in a JSON column, None for anything else."""
    found = read_json(value)
    return found if isinstance(found, dict) else None
