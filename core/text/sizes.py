"""How large a prompt is, and how it is written as JSON."""

from __future__ import annotations

import json
from typing import Any

from .strict_json import make_strict

BASE64_KEYS = frozenset({"data", "base64"})
MEDIA_KEYS = frozenset({"attachments", "images", "image", "audio", "documents", "videos", "video"})
BASE64_FROM_CHARS = 1024
"""Texts up to this length count in full, also under `BASE64_KEYS`."""

write_json = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": "), allow_nan=False).encode
"""A value as JSON text; raises TypeError, ValueError or RecursionError where it is no strict JSON."""


def to_json(value: Any) -> str:
    """Return the value as JSON text, letters as they are; what is no strict JSON is made so first.

    Args:
        value: JSON values; a prompt or any part of one.

    Returns:
        One line of text.

    >>> to_json({"text": 'é"😀'}), to_json([1, float("nan")])
    ('{"text": "é\\\\"😀"}', '[1, null]')
    """
    try:
        return write_json(value)
    except (TypeError, ValueError, RecursionError):
        return write_json(make_strict(value)[0])


def size(prompt: Any) -> int:
    """Return the characters of the prompt as it is sent, base64 text of media left out."""
    try:
        bare = without_base64(prompt)
    except RecursionError:
        bare = without_base64(make_strict(prompt)[0])
    return len(to_json(bare))


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
