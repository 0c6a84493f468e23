"""JSON text as SillyTavern writes it, stored in metadata columns."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from ...json_values import is_deeper

KEY, DIGEST = "sillytavern", "sillytavern_digest"
BEFORE, AFTER = "sillytavern_before", "sillytavern_after"
"""Keys of a metadata column. KEY: the line of a message, or the header. DIGEST: a digest of the imported message.
BEFORE: the blank lines before a message. AFTER: the blank lines after the last message."""
_SEPARATORS = (",", ":")
KEPT_BYTES = 4 * 1024**2
"""Maximum number of bytes of one stored line, without its texts; a server accepts 16 MB in one statement."""
KEPT_DEPTH = 100

_LONE = re.compile("[\ud800-\udfff]")


def write(value: Any) -> str:
    """Return a value as one line of JSON: lone surrogates escaped, NaN as null."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=_SEPARATORS, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, separators=_SEPARATORS)
    return text if text.isascii() else _LONE.sub(lambda lone: f"\\u{ord(lone[0]):04x}", text)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value


def keep(value: Any) -> str | None:
    """Return a value as JSON text for the metadata; None if it exceeds KEPT_BYTES or KEPT_DEPTH."""
    try:
        text = write(value)
    except RecursionError:
        return None
    if len(text) * 4 > KEPT_BYTES and len(text.encode("utf-8")) > KEPT_BYTES:
        return None
    is_flat = text.count("[") + text.count("{") <= KEPT_DEPTH
    return text if is_flat or not is_deeper(value, KEPT_DEPTH) else None


def kept(metadata: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the object stored under KEY in a metadata column; None if there is none."""
    text = (metadata or {}).get(KEY)
    if not isinstance(text, str):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def kept_lines(metadata: Mapping[str, Any] | None, key: str) -> list[str]:
    """Return the blank lines stored under BEFORE or AFTER."""
    lines = (metadata or {}).get(key)
    return [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []
