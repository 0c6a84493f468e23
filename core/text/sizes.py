"""How large a prompt is, and how it is written as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any

from .strict_json import make_strict

Dumps = Callable[[Any], str | bytes]
"""Another way of sending: a value to its text."""

BASE64_KEYS = frozenset({"data", "base64"})
MEDIA_KEYS = frozenset({"attachments", "images", "image", "audio", "documents", "videos", "video"})
BASE64_FROM_CHARS = 1024
"""Texts up to this length count in full, also under `BASE64_KEYS`."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": "), allow_nan=False).encode

_UNWRITABLE = (TypeError, ValueError, RecursionError)
"""What writing a value raises that is no strict JSON: foreign types, NaN and cycles, deep nesting."""


def to_json(value: Any, dumps: Dumps | None = None) -> str:
    """Return the value as JSON text, letters as they are.

    A value that is no strict JSON is made so first, so the default way of sending never raises.

    Args:
        value: JSON values; a prompt or any part of one.
        dumps: another way of sending; bytes it returns are read as UTF-8.

    Returns:
        One line of text; `dumps` decides where it is given.

    >>> to_json({"text": 'é"😀'}), to_json([1, float("nan")])
    ('{"text": "é\\\\"😀"}', '[1, null]')
    """
    text = _written(value, dumps)
    return text.decode("utf-8") if isinstance(text, bytes) else text


def size(prompt: Any, dumps: Dumps | None = None) -> int:
    """Return the characters of the prompt as it is sent, base64 text of media left out."""
    try:
        bare = without_base64(prompt)
    except RecursionError:
        bare = without_base64(make_strict(prompt)[0])
    return len(_written(bare, dumps))


def _written(value: Any, dumps: Dumps | None) -> str | bytes:
    write: Dumps = _encode if dumps is None else dumps
    try:
        return write(value)
    except _UNWRITABLE:
        return write(make_strict(value)[0])


def without_base64(value: Any, *, _in_media: bool = False) -> Any:
    """Return the value with each base64 text replaced by an empty one; parts without any are the same objects."""
    if isinstance(value, dict):
        changed: dict[Any, Any] = {}
        for key, item in value.items():
            if isinstance(item, str):
                if _in_media and len(item) > BASE64_FROM_CHARS and key in BASE64_KEYS:
                    changed[key] = ""
            elif isinstance(item, (dict, list, tuple)) and item:
                new = without_base64(item, _in_media=_in_media or key in MEDIA_KEYS)
                if new is not item:
                    changed[key] = new
        return {**value, **changed} if changed else value
    if isinstance(value, (list, tuple)):
        replaced: list[Any] | None = None
        for index, item in enumerate(value):
            if isinstance(item, (dict, list, tuple)) and item:
                new = without_base64(item, _in_media=_in_media)
                if new is not item:
                    replaced = list(value) if replaced is None else replaced
                    replaced[index] = new
        return value if replaced is None else replaced
    return value


class Measure:
    """Sizes of values and members for one way of sending."""

    def __init__(self, dumps: Dumps | None = None) -> None:
        self.dumps = dumps
        self._write: Dumps = _encode if dumps is None else dumps
        self.brackets: int = 2
        """Characters of an empty list."""
        self.braces: int = 2
        """Characters of an empty object."""
        self.comma: int = 2
        """Characters between two items, and between two members."""
        self.additive: bool = dumps is None or self._probe()

    def value(self, value: Any) -> int:
        """Return the size of one value written on its own."""
        if type(value) is str and self.dumps is None:
            return len(encode_basestring(value))
        return len(self._write(value))

    def overhead(self, key: Any) -> int:
        """Return what a member takes beside its value."""
        return self.member(key, []) - self.brackets

    def member(self, key: Any, value: Any) -> int:
        """Return the size of one member of an object: key, colon and value."""
        return len(self._write({key: value})) - self.braces

    def _probe(self) -> bool:
        """Return whether sizes add up; takes the sizes of brackets and commas from the way of sending."""
        try:
            self.brackets, self.braces = self.value([]), self.value({})
            item = self.value("a")
            self.comma = self.value(["a", "a"]) - self.brackets - 2 * item
            rows = [["a", "bc"], {"k": "a", "l": ["bc", {"m": 1}]}, "d"]
            inner = self.member("l", ["bc", {"m": 1}])
            if (
                self.value({"k": "a", "l": ["bc", {"m": 1}]})
                != self.braces + self.member("k", "a") + self.comma + inner
            ):
                return False
            if self.value(rows) != self.brackets + sum(self.value(row) for row in rows) + 2 * self.comma:
                return False
            return self.member("k", rows) == self.member("k", []) - self.brackets + self.value(rows)
        except Exception:  # noqa: BLE001 - foreign code that cannot write the probes is measured as a whole instead
            return False
