"""JSON as a stream of pieces: a document element by element, or one value a line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TextIO

from ...errors import TransferError
from .pieces import (
    LINES,
    MAX_BLANK_LINES,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_ITEMS,
    MAX_VALUES,
    ROOT,
    BadValue,
    Piece,
    is_deep,
    too_deep,
    too_many_blank_lines,
    too_many_items,
    too_many_values,
)

_PART = 1 << 16
_BETWEEN = frozenset(" \t\r\n,:]}")
_BLANK = re.compile(r"[ \t\r\n]*")
_NAME = re.compile(r"[A-Za-z_][\w .-]{0,39}\Z")


class _TwiceError(ValueError):
    """A key stands twice in one object."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _TwiceError(f"the key {shown(key)} stands twice in one object")
    if len(pairs) > MAX_ITEMS:
        raise _TwiceError(f"an object has more than {MAX_ITEMS:,} keys")
    return made


def shown(key: str) -> str:
    """Return a key as errors show it; one that does not look like a name may be what somebody said."""
    return repr(key) if _NAME.match(key) else "of an entry"


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def lines(stream: TextIO) -> Iterator[Piece]:
    """Yield the value of each line that is not blank; a `BadValue` where it is no JSON."""
    row = values = blank = 0
    while line := stream.readline(MAX_BYTES + 1):
        row += 1
        if not line.strip():
            blank += 1
            if blank > MAX_BLANK_LINES:
                raise too_many_blank_lines()
            continue
        values += _values(line)
        if values > MAX_VALUES:
            raise too_many_values()
        try:
            value, end = _DECODER.raw_decode(line, _BLANK.match(line).end())  # type: ignore[union-attr]
            if line[end:].strip():
                yield Piece(LINES, row, BadValue(f"not JSON: more than one value, from character {end + 1} on"))
                continue
        except json.JSONDecodeError as error:
            yield Piece(LINES, row, BadValue(f"not JSON: {error.msg} at character {error.pos + 1}"))
            continue
        except RecursionError:
            raise too_deep(row) from None
        except ValueError as error:
            yield Piece(LINES, row, BadValue(f"not usable: {_why(error)}"))
            continue
        if is_deep(value, MAX_DEPTH):
            raise too_deep(row)
        yield Piece(LINES, row, value)


def _why(error: ValueError) -> str:
    return str(error) if isinstance(error, _TwiceError) else "a number is too long"


def _values(text: str) -> int:
    """Return at least how many values a text of JSON holds; commas inside texts count too."""
    return text.count(",") + text.count("[") + text.count("{")


def document(stream: TextIO) -> Iterator[Piece]:
    """Yield the pieces of one document."""
    window = _Window(stream)
    first = window.next()
    if first == "{":
        yield from _members(window)
    elif first == "[":
        yield from _elements(window, ROOT, 1)
    else:
        window.value(0)  # what is no JSON is told as such
        raise TransferError("The file holds a single value, where an object with a list is needed.")
    if window.next():
        raise window.wrong("there is more after the end")


class _Window:
    """The part of a text that is looked at; it moves on over the text, and grows where a value does not fit in."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text = ""
        self._at = 0
        self._line = 1
        self._values = 0
        self._ended = False

    def _more(self, chars: int) -> None:
        """Let go of what was read and take more of the text."""
        part = self._stream.read(chars)
        self._ended = len(part) < chars
        self._values += _values(part)
        if self._values > MAX_VALUES:
            raise too_many_values()
        self._line += self._text.count("\n", 0, self._at)
        self._text, self._at = self._text[self._at :] + part, 0

    def next(self) -> str:
        """Return the next character that is not blank, without taking it; "" at the end."""
        while True:
            self._at = _BLANK.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._more(_PART)

    def take(self, *allowed: str) -> str:
        """Take the next character, which must be one of those allowed."""
        found = self.next()
        if found not in allowed or not found:
            raise self.wrong(f"expecting {' or '.join(allowed)}")
        self._at += 1
        return found

    def value(self, depth: int) -> Any:
        """Take the next value, which stands inside `depth` lists and objects."""
        self.next()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._ended:
                    raise self.wrong(error.msg, error.pos) from None
            except RecursionError:
                raise too_deep() from None
            except ValueError as error:
                raise self.wrong(_why(error)) from None
            else:
                if self._ended or self._text[end : end + 1] in _BETWEEN:  # else a number may go on
                    self._at = end
                    if is_deep(value, MAX_DEPTH - depth):
                        raise too_deep()
                    return value
            self._more(max(_PART, len(self._text)))

    def wrong(self, what: str, at: int | None = None) -> TransferError:
        """Return the error for what stands here."""
        line = self._line + self._text.count("\n", 0, self._at if at is None else at)
        return TransferError(f"The file is not usable JSON: {what}, line {line}.")


def _members(window: _Window) -> Iterator[Piece]:
    window.take("{")
    seen: set[str] = set()
    if window.next() == "}":
        window.take("}")
        return
    while True:
        if window.next() != '"':
            raise window.wrong("expecting a key in double quotes")
        key = window.value(1)
        if key in seen:
            raise window.wrong(f"the key {shown(key)} stands twice in one object")
        seen.add(key)
        if len(seen) > MAX_ITEMS:
            raise window.wrong(f"an object has more than {MAX_ITEMS:,} keys")
        window.take(":")
        if window.next() == "[":
            yield from _elements(window, key, 2)
        else:
            yield Piece(key, 0, window.value(1))
        if window.take(",", "}") == "}":
            return


def _elements(window: _Window, key: str, depth: int) -> Iterator[Piece]:
    window.take("[")
    yield Piece(key, 0, [])
    if window.next() == "]":
        window.take("]")
        return
    row = 0
    while True:
        row += 1
        if row > MAX_ITEMS:
            raise too_many_items()
        yield Piece(key, row, window.value(depth))
        if window.take(",", "]") == "]":
            return
