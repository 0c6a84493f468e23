"""A JSON document read part by part: the elements of the lists that are opened, one after the other, never all at
once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TextIO

Path = tuple[str | int, ...]

_PART = 1 << 18
MAX_VALUE_CHARS = 128 * 1024**2
"""Longest element; a conversation of 100,000 lines takes some 50 MB."""
_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\n\r\ufeff\x00]*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{},]', re.DOTALL)
_NEAR_END = 32
"""Characters at the end of what was read in which an error may come of the text going on."""


class BadPart(NamedTuple):
    """What stands in place of an element that is no JSON."""

    reason: str


class Part(NamedTuple):
    """One value of a document."""

    path: Path
    """Keys and positions (from 0) from the root to it."""
    value: Any


class _BrokenError(Exception):
    """Nothing more can be read."""


def read_parts(stream: TextIO, opens: Callable[[Path], bool]) -> Iterator[Part]:
    """Yield the values of a document; lists and objects whose path `opens` says are opened, others come whole."""
    window = _Window(stream)
    try:
        yield from _value(window, (), opens)
    except _BrokenError as error:
        yield Part((), BadPart(f"the file breaks off or is no JSON: {error}"))
        return
    if window.next():
        yield Part((), BadPart("there is more after the end"))


def _value(window: _Window, path: Path, opens: Callable[[Path], bool]) -> Iterator[Part]:
    first = window.next()
    if not first:
        if path:
            raise _BrokenError("a value is missing")
        return
    if first == "{" and opens(path):
        yield from _members(window, path, opens)
    elif first == "[" and opens(path):
        yield from _elements(window, path, opens)
    else:
        yield Part(path, window.value())


def _members(window: _Window, path: Path, opens: Callable[[Path], bool]) -> Iterator[Part]:
    window.take("{")
    while window.next() != "}":
        key = window.value()
        if not isinstance(key, str):
            raise _BrokenError("a key is needed")
        window.take(":")
        yield from _value(window, (*path, key), opens)
        if window.next() == "}":
            break
        window.take(",")
    window.take("}")


def _elements(window: _Window, path: Path, opens: Callable[[Path], bool]) -> Iterator[Part]:
    window.take("[")
    at = 0
    while window.next() != "]":
        yield from _value(window, (*path, at), opens)
        at += 1
        following = window.next()
        if following == "]":
            break
        if following == ",":
            window.take(",")
        elif following in ('"', "{"):  # a comma was left out
            yield Part((*path, at), BadPart("a comma is missing before it"))
        else:
            raise _BrokenError("a comma or the end of a list is missing")
    window.take("]")


class _Window:
    """The part of a text that is looked at."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text = ""
        self._at = 0
        self._ended = False

    def _more(self, chars: int = _PART) -> None:
        part = self._stream.read(chars)
        self._ended = not part
        self._text, self._at = self._text[self._at :] + part, 0

    def next(self) -> str:
        """Return the next character that is not blank, without taking it; "" at the end."""
        while True:
            self._at = _BLANK.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._more()

    def take(self, wanted: str) -> None:
        """Take the next character, which must be this one."""
        if self.next() != wanted:
            raise _BrokenError(f"{wanted} is missing")
        self._at += 1

    def value(self) -> Any:
        """Take the next value; where it is no JSON, pass over it and return why."""
        self.next()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                goes_on = (
                    error.msg.startswith(("Unterminated", "Invalid \\")) or error.pos >= len(self._text) - _NEAR_END
                )
                if self._ended or not goes_on:
                    return self._pass_over(f"not JSON: {error.msg}")
            except RecursionError:
                return self._pass_over("nested too deeply")
            except ValueError:  # a number of more digits than Python reads
                return self._pass_over("a number is too long")
            else:
                if self._ended or end < len(self._text):  # else a number may go on
                    self._at = end
                    return value
            if len(self._text) - self._at > MAX_VALUE_CHARS:
                raise _BrokenError(f"one element is longer than {MAX_VALUE_CHARS} characters")
            self._more(max(_PART, len(self._text) - self._at))

    def _pass_over(self, reason: str) -> BadPart:
        """Go to the end of an element that is no JSON, by its brackets."""
        depth, at = 0, self._at
        while True:
            for token in _TOKEN.finditer(self._text, at):
                at = token.end()
                char = token[0]
                if char in "[{":
                    depth += 1
                elif depth == 0 and char in ",]}":
                    self._at = token.start()
                    return BadPart(reason)
                elif char in "]}":
                    depth -= 1
            if self._ended:
                self._at = len(self._text)
                return BadPart(reason)
            if len(self._text) - self._at > MAX_VALUE_CHARS:
                raise _BrokenError(f"one element is longer than {MAX_VALUE_CHARS} characters")
            held = self._at
            self._more(max(_PART, len(self._text) - self._at))
            at -= held
