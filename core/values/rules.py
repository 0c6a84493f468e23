"""How the namespace of a value is written in its column, and which of its texts are searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

END = "\x1f"
"""Ends each part of a namespace, so that `u1` is no beginning of `u10`."""
_ESCAPE = "\x1e"
_DEEPEST = 50


def write_namespace(parts: Sequence[str]) -> str:
    """Return a namespace as one text; that of a namespace below it begins with it, and no other does."""
    return "".join(part.replace(_ESCAPE, _ESCAPE + "0").replace(END, _ESCAPE + "1") + END for part in parts)


def read_namespace(stored: str) -> tuple[str, ...]:
    """Return the parts of a namespace."""
    return tuple(part.replace(_ESCAPE + "1", END).replace(_ESCAPE + "0", _ESCAPE) for part in stored.split(END)[:-1])


def texts_in(value: Any) -> str:
    """Return the texts of a JSON value, in its order, a line each; blank where there is none.

    Args:
        value: text, number, list or dictionary, as JSON has them. What lies in more than 50 of them is left out.

    Returns:
        The texts that are not blank, without the keys. Any value is taken; it never raises.

    >>> texts_in({"text": "Ann likes tea", "score": 3, "tags": ["drinks"]})
    'Ann likes tea\\ndrinks'
    """
    return "\n".join(_walk(value, 0))


def _walk(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        if value.strip():
            yield value
    elif depth < _DEEPEST and isinstance(value, (dict, list, tuple)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _walk(each, depth + 1)
