"""Reads values of hosts: objects, dicts, and any nesting of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Reversible
from enum import Enum
from itertools import islice
from typing import Any

from ..errors import MessageError
from .folding import clean

_ABSENT = object()
_PLAIN = (str, bytes, bytearray, memoryview, int, float, complex, list, tuple, set, frozenset, type(None))
"""Types that have no fields: their methods (`"x".title`, `[].index`) must never pass for a host's attributes."""


def is_plain(value: Any) -> bool:
    """Return whether the value is a text, number, bare sequence, set or None; a named tuple has fields."""
    return isinstance(value, _PLAIN) and not hasattr(type(value), "_fields")


def _field(value: Any, name: str) -> Any:
    """Return the item or attribute, or `_ABSENT`; a host's accessor may raise anything, so everything is caught."""
    if type(value) is dict:  # most of what hosts hand in
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
    """Return the first of the named items or attributes that is there and not None, else `default`."""
    for name in names:
        found = _field(value, name)
        if found is not _ABSENT and found is not None:
            return found
    return default


def as_text(value: Any) -> tuple[str | None, str]:
    """Return `(text, note)`: the value as clean text, None when it is no text; the note is blank when all is well."""
    if value is None:
        return None, ""
    if isinstance(value, str):
        return clean(value), ""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return clean(bytes(value).decode("utf-8", "replace")), "was bytes and is read as UTF-8"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return str(value), ""
        except ValueError:  # whole numbers of more than 4,300 digits
            return None, "is a number too long to write and is left out"
    return None, f"is of type {type(value).__name__} and is left out"


def text_at(value: Any, *names: str) -> str:
    """Return the first of the named fields with a text that is not blank, cleaned; else blank."""
    for name in names:
        given = get(value, name)
        text = clean(given) if type(given) is str else as_text(given)[0]
        if text and not text.isspace():
            return text
    return ""


def word_at(value: Any, name: str) -> str:
    """Return a keyword in lower case, from a text or an enum's value or name; else blank."""
    found = get(value, name)
    if isinstance(found, Enum):
        found = found.value if isinstance(found.value, str) else found.name
    return clean(found).strip().lower() if isinstance(found, str) else ""


MOST_READ = 10_000
"""Items that are read of one list a host hands in."""


def newest_items(values: Iterable[Any], name: str, most: int = MOST_READ) -> list[Any]:
    """Return the last `most` items of a list, and all items of what can only be read forwards.

    Raises:
        MessageError: an iterator gives more than `most` items: which are the newest cannot be told before its end.
    """
    if isinstance(values, Reversible):
        return list(islice(reversed(values), most))[::-1]
    items = list(islice(values, most + 1))
    if len(items) > most:
        raise MessageError(
            f"{name} gives more than {most} items. Pass a list, or only the newest of them.", fields=(name,)
        )
    return items
