"""Entries of SillyTavern that become items, their keys as tags: World Info files, and books of character cards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...memories.rules import SAVED
from ...text.folding import clean
from .rows import EMPTY, Row, uid_of

_TEXT = "content"
_MACRO = re.compile(r"\{\{\s*(?:(char)|(user))\s*\}\}|<(?:(BOT|CHAR)|(USER))>", re.IGNORECASE)


def is_world_info(entries: Any) -> bool:
    """Return whether a value is the entries of a World Info file."""
    return isinstance(entries, dict) and (not entries or any(isinstance(entry, dict) for entry in entries.values()))


def read_world_info(entries: Mapping[str, Any], book: str = "") -> Iterator[Row]:
    """Yield a row for each entry of a World Info file, in their order."""
    for number, (name, entry) in enumerate(entries.items(), 1):
        if not isinstance(entry, dict):
            yield Row(number, uid_of(name), None, "the entry is no object")
            continue
        uid = entry.get("uid", name)
        yield _read_entry(
            number, uid, entry, ("key", "keysecondary"), is_disabled=entry.get("disable") is True, book=book
        )


def _read_entry(
    number: int, uid: Any, entry: Mapping[str, Any], keys: tuple[str, str], *, is_disabled: bool, book: str
) -> Row:
    """Return the row of an entry; a blank one is not taken."""
    told = uid_of(uid, number)
    text = entry.get(_TEXT)
    if text is None or (isinstance(text, str) and not clean(text).strip()):
        return Row(number, told, None, EMPTY)
    found = [key for name in keys for key in _keys(entry.get(name))]
    left = {name: value for name, value in entry.items() if name not in (_TEXT, "disable", "enabled", "uid", *keys)}
    patterns = [key for key in found if _is_pattern(key)]
    is_constant = entry.get("constant") is True
    metadata: dict[str, Any] = {"uid": told, "disabled": is_disabled, "constant": is_constant}
    metadata |= {"book": book} if book else {}
    metadata |= {"patterns": patterns} if patterns else {}
    metadata |= {
        name: value for name, value in left.items() if name not in metadata and value not in (None, "", [], {})
    }
    tags = [key for key in found if not _is_pattern(key)]
    value: dict[str, Any] = {"text": text, "tags": tags, "metadata": metadata}
    if is_constant:
        value["kind"] = SAVED  # shown in every prompt, whatever is said
    if is_disabled:
        value["quarantined"] = True  # shown in none until somebody releases it
    return Row(number, told, value, character="")


def fill_macros(value: Mapping[str, Any], character: str, user: str) -> dict[str, Any]:
    """Return an entry with names in place of {{char}} and {{user}}, in its text and its keys."""

    def fill(text: Any) -> Any:
        return _MACRO.sub(lambda found: character if found[1] or found[3] else user, text) if _is_text(text) else text

    return {**value, "text": fill(value["text"]), "tags": [fill(tag) for tag in value["tags"]]}


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _keys(value: Any) -> list[str]:
    """Return the keys of an entry; older files hold them as one text with commas."""
    if isinstance(value, str):
        value = value.split(",")
    return [key.strip() for key in value if isinstance(key, str) and key.strip()] if isinstance(value, list) else []


def _is_pattern(key: str) -> bool:
    """Return whether a key is a regular expression, which is no tag."""
    return len(key) > 2 and key.startswith("/") and key.rstrip("dgimsuvy").endswith("/")


# Character books


def find_book(value: Any) -> Mapping[str, Any] | None:
    """Return the book of a card's data, or the value itself where it is one; None for everything else."""
    if isinstance(value, dict) and isinstance(value.get("character_book"), dict):
        value = value["character_book"]
    if not isinstance(value, dict):
        return None
    entries = value.get("entries")
    return value if isinstance(entries, list) or is_world_info(entries) else None


def read_book(book: Mapping[str, Any]) -> Iterator[Row]:
    """Yield a row for each entry of a book, in their order."""
    name = book.get("name") if isinstance(book.get("name"), str) else ""
    if isinstance(book["entries"], dict):
        yield from read_world_info(book["entries"], name or "")
        return
    for number, entry in enumerate(book["entries"], 1):
        yield read_book_entry(number, entry, name or "")


def read_book_entry(number: int, entry: Any, book: str = "") -> Row:
    """Return the row of one entry."""
    if not isinstance(entry, dict):
        return Row(number, number, None, "the entry is no object")
    uid = entry.get("uid", entry.get("id"))
    if isinstance(entry.get("extensions"), dict) and uid is None:
        uid = entry["extensions"].get("uid")
    keys = ("keys", "secondary_keys") if "keys" in entry else ("key", "keysecondary")
    is_disabled = entry.get("enabled") is False or entry.get("disable") is True
    left = {name: value for name, value in entry.items() if name != "id"}
    return _read_entry(number, number if uid is None else uid, left, keys, is_disabled=is_disabled, book=book)
