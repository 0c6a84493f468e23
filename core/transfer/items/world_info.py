"""World Info files of SillyTavern, and character books: entries that become items, their keys as tags.

A World Info file has its entries under their numbers, a character book as a list; the names of the fields differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...text.folding import clean
from .rows import EMPTY, Row, uid_of

_TEXT, _COMMENT = "content", "comment"


def fits(entries: Any) -> bool:
    """Return whether a value is the entries of a World Info file.

    >>> fits({"0": {"uid": 0, "key": ["Rome"], "content": ""}}), fits({"0": 7}), fits({})
    (True, False, True)
    """
    return isinstance(entries, dict) and (not entries or any(isinstance(entry, dict) for entry in entries.values()))


def rows(entries: Mapping[str, Any], book: str = "") -> Iterator[Row]:
    """Yield a row for each entry of a World Info file, in their order.

    >>> entry = {"uid": 3, "key": ["Rome"], "content": "A city.", "disable": True}
    >>> [(row.uid, row.value) for row in rows({"0": entry})]
    [(3, {'text': 'A city.', 'tags': ['Rome'], 'metadata': {'uid': 3, 'disabled': True, 'constant': False}})]
    """
    for number, (name, entry) in enumerate(entries.items(), 1):
        if not isinstance(entry, dict):
            yield Row(number, uid_of(name), None, "the entry is no object")
            continue
        uid = entry.get("uid", name)
        yield row_of(number, uid, entry, ("key", "keysecondary"), is_disabled=entry.get("disable") is True, book=book)


def row_of(
    number: int, uid: Any, entry: Mapping[str, Any], keys: tuple[str, str], *, is_disabled: bool, book: str
) -> Row:
    """Return the row of an entry; a blank one is not taken.

    Args:
        number: its place in the file.
        uid: what the file calls it.
        keys: names of the fields that hold its keys and its further keys.
        is_disabled: whether it is switched off.
        book: name of the book.
    """
    told = uid_of(uid, number)
    text = entry.get(_TEXT)
    if text is None or (isinstance(text, str) and not clean(text).strip()):
        return Row(number, told, None, EMPTY)
    found = [key for name in keys for key in _keys(entry.get(name))]
    left = {name: value for name, value in entry.items() if name not in (_TEXT, "disable", "enabled", "uid", *keys)}
    patterns = [key for key in found if _is_pattern(key)]
    metadata: dict[str, Any] = {"uid": told, "disabled": is_disabled, "constant": entry.get("constant") is True}
    metadata |= {"book": book} if book else {}
    metadata |= {"patterns": patterns} if patterns else {}
    metadata |= {
        name: value for name, value in left.items() if name not in metadata and value not in (None, "", [], {})
    }
    tags = [key for key in found if not _is_pattern(key)]
    return Row(number, told, {"text": text, "tags": tags, "metadata": metadata})


def _keys(value: Any) -> list[str]:
    """Return the keys of an entry; older files hold them as one text with commas."""
    if isinstance(value, str):
        value = value.split(",")
    return [key.strip() for key in value if isinstance(key, str) and key.strip()] if isinstance(value, list) else []


def _is_pattern(key: str) -> bool:
    """Return whether a key is a regular expression, which is no tag.

    >>> _is_pattern("/rom(e|a)/i"), _is_pattern("and/or"), _is_pattern("/")
    (True, False, False)
    """
    return len(key) > 2 and key.startswith("/") and key.rstrip("dgimsuvy").endswith("/")
