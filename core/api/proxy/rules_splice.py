"""A message put into the body of a request, every other byte of which stays as it came. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

_BLANKS = " \t\n\r"
_DECODER = json.JSONDecoder()


class Span(NamedTuple):
    """Where a value stands in the text of a body."""

    start: int
    end: int
    value: Any


def find_members(text: str) -> dict[str, Span]:
    """Return the members of a JSON object with their places; of a name that comes twice the last, as readers do."""
    members: dict[str, Span] = {}
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        raise ValueError("no object")
    at = _skip(text, at + 1)
    if text[at : at + 1] == "}":
        at += 1
    else:
        while True:
            if text[at : at + 1] != '"':
                raise ValueError("no name")
            name, at = scanstring(text, at + 1)
            at = _skip(text, at)
            if text[at : at + 1] != ":":
                raise ValueError("no value")
            start = _skip(text, at + 1)
            value, end = _DECODER.raw_decode(text, start)
            members[name] = Span(start, end, value)
            at = _skip(text, end)
            mark, at = text[at : at + 1], at + 1
            if mark == "}":
                break
            if mark != ",":
                raise ValueError("no end")
            at = _skip(text, at)
    if _skip(text, at) != len(text):
        raise ValueError("more than an object")
    return members


def iter_items(text: str, start: int) -> Iterator[Span]:
    """Yield the items of the JSON list that begins at `start`; the text is known to be JSON."""
    at = _skip(text, start + 1)
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield Span(at, end, value)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def insert_message(text: str, messages_at: int, before: int, message: dict[str, Any]) -> str:
    """Return the body with a message put before the one at an index; nothing else of it changes."""
    for index, item in enumerate(iter_items(text, messages_at)):
        if index == before:
            made = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
            return f"{text[: item.start]}{made},{text[item.start :]}"
    raise IndexError(before)


def replace_value(text: str, span: Span, value: Any) -> str:
    """Return the body with another value in the place of one."""
    return f"{text[: span.start]}{json.dumps(value, ensure_ascii=False)}{text[span.end :]}"


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at
