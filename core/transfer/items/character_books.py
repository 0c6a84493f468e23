"""Character books: the entries of a character card, or of a book by itself, as items with their keys as tags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .rows import Row
from .world_info import fits as fits_world_info
from .world_info import row_of
from .world_info import rows as world_info_rows


def fits(entry: Any) -> bool:
    """Return whether a value is an entry of a character book.

    >>> fits({"keys": ["Rome"], "content": "A city."}), fits({"content": "hi"})
    (True, False)
    """
    return isinstance(entry, dict) and "content" in entry and bool(entry.keys() & {"keys", "key"})


def book_of(value: Any) -> Mapping[str, Any] | None:
    """Return the book of a card's data, or the value itself where it is one; None for everything else.

    >>> book_of({"character_book": {"entries": []}}), book_of({"entries": {}}), book_of({"name": "Iris"})
    ({'entries': []}, {'entries': {}}, None)
    """
    if isinstance(value, dict) and isinstance(value.get("character_book"), dict):
        value = value["character_book"]
    if not isinstance(value, dict):
        return None
    entries = value.get("entries")
    return value if isinstance(entries, list) or fits_world_info(entries) else None


def rows(book: Mapping[str, Any]) -> Iterator[Row]:
    """Yield a row for each entry of a book, in their order.

    >>> book = {"name": "Cities", "entries": [{"id": 1, "keys": ["Rome"], "content": " ", "enabled": True}]}
    >>> list(rows(book))
    [Row(number=1, uid=1, value=None, reason='empty')]
    """
    name = book.get("name") if isinstance(book.get("name"), str) else ""
    if isinstance(book["entries"], dict):
        yield from world_info_rows(book["entries"], name or "")
        return
    for number, entry in enumerate(book["entries"], 1):
        yield row(number, entry, name or "")


def row(number: int, entry: Any, book: str = "") -> Row:
    """Return the row of one entry.

    >>> row(2, {"keys": ["Rome"], "content": "A city.", "enabled": False}).value["metadata"]
    {'uid': 2, 'disabled': True, 'constant': False}
    """
    if not isinstance(entry, dict):
        return Row(number, number, None, "the entry is no object")
    uid = entry.get("uid", entry.get("id"))
    if isinstance(entry.get("extensions"), dict) and uid is None:
        uid = entry["extensions"].get("uid")
    keys = ("keys", "secondary_keys") if "keys" in entry else ("key", "keysecondary")
    is_disabled = entry.get("enabled") is False or entry.get("disable") is True
    left = {name: value for name, value in entry.items() if name != "id"}
    return row_of(number, number if uid is None else uid, left, keys, is_disabled=is_disabled, book=book)
