"""Read values of hosts: objects, dicts, and nestings of these."""

from collections.abc import Iterable, Mapping, Reversible
from enum import Enum
from itertools import islice
from typing import Any

from ..errors import MessageError
from .folding import clean

_ABSENT = object()
_PLAIN = (str, bytes, bytearray, memoryview, int, float, complex, list, tuple, set, frozenset, type(None))
"""Types without fields: their methods (`"x".title`, `[].index`) must not be read as attributes of a host's object."""
MOST_READ = 10_000


def is_plain(value: Any) -> bool:
    """Return whether the value is a text, number, plain sequence, set or None; a named tuple is not plain."""
    return isinstance(value, _PLAIN) and not hasattr(type(value), "_fields")


def _field(value: Any, name: str) -> Any:
    """Return the item or attribute `name` of a value, or `_ABSENT` if it is missing or reading it raises an error."""
    if type(value) is dict:  # the most frequent type of host values
        return value.get(name, _ABSENT)
    try:
        if isinstance(value, Mapping):
            return value.get(name, _ABSENT)
        return _ABSENT if is_plain(value) else getattr(value, name, _ABSENT)
    except Exception:  # noqa: BLE001 - an accessor of the host may raise anything; it then has nothing to say
        return _ABSENT


def has(value: Any, name: str) -> bool:
    return _field(value, name) is not _ABSENT


def get(value: Any, *names: str, default: Any = None) -> Any:
    """Return the first of these items or attributes that exists and is not None, or `default`."""
    for name in names:
        found = _field(value, name)
        if found is not _ABSENT and found is not None:
            return found
    return default


def as_text(value: Any) -> tuple[str | None, str]:
    """Return `(text, note)`: the value as clean text, or None; the note says what is wrong, "" if nothing."""
    if value is None:
        return None, ""
    if isinstance(value, str):
        return clean(value), ""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return clean(bytes(value).decode("utf-8", "replace")), "was bytes and is read as UTF-8"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return str(value), ""
        except ValueError:  # integers of more than 4,300 digits
            return None, "is a number too long to write and is left out"
    return None, f"is of type {type(value).__name__} and is left out"


def text_at(value: Any, *names: str) -> str:
    """Return the cleaned text of the first of these fields that has a text, or ""."""
    for name in names:
        given = get(value, name)
        text = clean(given) if type(given) is str else as_text(given)[0]
        if text and not text.isspace():
            return text
    return ""


def word_at(value: Any, name: str) -> str:
    """Return a field's string, enum value or enum name in lower case; "" for other values."""
    found = get(value, name)
    if isinstance(found, Enum):
        found = found.value if isinstance(found.value, str) else found.name
    return clean(found).strip().lower() if isinstance(found, str) else ""


def newest_items(values: Iterable[Any], name: str) -> list[Any]:
    """Return the last items of a list, or all items of an iterator, since its last items are unknown until its end."""
    if isinstance(values, Reversible):
        return list(islice(reversed(values), MOST_READ))[::-1]
    return all_items(values, name)


def all_items(values: Iterable[Any], name: str) -> list[Any]:
    """Return the items of a list or an iterator; raise MessageError for more than MOST_READ."""
    if not isinstance(values, Iterable):
        raise MessageError.of_type(name, values, "a list")
    items = list(islice(values, MOST_READ + 1))
    if len(items) > MOST_READ:
        raise MessageError(f"{name} gives more than {MOST_READ} items. Pass only the newest of them.", fields=(name,))
    return items
