"""Change one value in the text of a JSON body; every other byte stays as it came. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

_BLANKS = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()

Path = tuple[str | int, ...]
"""Names of members and indexes of items, from the outside in."""


class Span(NamedTuple):
    """Where a value stands in the text of a body."""

    start: int
    end: int
    value: Any


def iter_children(text: str, start: int) -> Iterator[tuple[str | int, Span]]:
    """Yield the members of the object, or the items of the list, that begins at `start` of a valid JSON text."""
    is_object, index = text[start] == "{", 0
    at = _skip_blanks(text, start + 1)
    while text[at] not in "}]":
        key: str | int = index
        if is_object:
            key, at = scanstring(text, at + 1)
            at = _skip_blanks(text, _skip_blanks(text, at) + 1)
        value, end = _DECODER.raw_decode(text, at)
        yield key, Span(at, end, value)
        at = _skip_blanks(text, end)
        if text[at] == ",":
            at = _skip_blanks(text, at + 1)
        index += 1


def find_value(text: str, path: Path) -> Span:
    """Return where a value of a valid JSON text stands; of a name that comes twice the last, as readers do."""
    span = Span(_skip_blanks(text, 0), len(text), None)
    for step in path:
        span = [child for key, child in iter_children(text, span.start) if key == step][-1]
    return span


def insert_text(text: str, path: Path, inserted: str) -> str:
    """Return the body with a text put in front of the text at a path."""
    start = find_value(text, path).start + 1
    return f"{text[:start]}{json.dumps(inserted, ensure_ascii=False)[1:-1]}{text[start:]}"


def replace_value(text: str, path: Path, value: Any) -> str:
    """Return the body with another value at a path."""
    span = find_value(text, path)
    return f"{text[: span.start]}{json.dumps(value, ensure_ascii=False)}{text[span.end :]}"


def _skip_blanks(text: str, at: int) -> int:
    return _BLANKS.match(text, at).end()  # type: ignore[union-attr]
