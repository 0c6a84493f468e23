"""A file with one JSON value a line, read one line at a time; what is no such file is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from ..errors import TransferError
from .files import UNREADABLE, Member

MAX_LINE_BYTES = 128 * 1024**2
"""Longest line: the longest text that can be stored, 16 MB, every letter of it written as an escape."""
MAX_BLANK_LINES = 100_000
"""Lines with nothing in them that a file may have: a packed file of line ends alone would be read for minutes."""
_LOOKED_AT = 1 << 16
_BOM = b"\xef\xbb\xbf"


class JsonLine(NamedTuple):
    """One line that is not blank."""

    row: int
    """1-based number of the line in the file."""
    value: Any
    """What its JSON says; a `BadJson` where it is none."""
    text: str = ""
    """As it is written, blank where it is part of a document."""


class BadJson(NamedTuple):
    """A line that is no JSON, and why; never what it holds."""

    reason: str


def read_lines(member: Member) -> Iterator[JsonLine]:
    """Yield the lines of a file that are not blank, in order.

    A chat that is one document, {"chat_metadata": ..., "messages": [...]}, is given as its header and its messages.

    Raises:
        TransferError: the file is damaged or not UTF-8, or has a line that is too long.
    """
    try:
        with member.open() as stream:
            document = _read_document(stream)
        if document is not None:
            yield from (JsonLine(row, value) for row, value in enumerate(document, 1))
            return
        with member.open() as stream:
            yield from _lines(stream, member.name)
    except UNREADABLE:
        raise TransferError(f"{member.name!r} is broken or cut off. Copy it again.") from None


def _read_document(stream: BinaryIO) -> list[Any] | None:
    """Return the lines of a chat that is one document, else None."""
    head = stream.read(_LOOKED_AT).removeprefix(_BOM).lstrip()
    first = head.partition(b"\n")[0]
    is_row = b"\n" in head and isinstance(read_value(first.decode(errors="replace")), dict)
    if not head.startswith(b"{") or (is_row and b'"messages"' not in first):
        return None
    content = head + stream.read(max(0, MAX_LINE_BYTES + 1 - len(head)))
    if len(content) > MAX_LINE_BYTES:
        return None
    try:
        value = read_value(content.decode("utf-8"))
    except UnicodeDecodeError:
        return None
    messages = value.get("messages") if isinstance(value, dict) else None
    if not isinstance(messages, list):
        return None
    return [{name: held for name, held in value.items() if name != "messages"} or {"chat_metadata": {}}, *messages]


def _lines(stream: BinaryIO, name: str) -> Iterator[JsonLine]:
    row = blank = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        row += 1
        if len(line) > MAX_LINE_BYTES:
            raise TransferError(
                f"Line {row} of {name!r} is longer than {MAX_LINE_BYTES} bytes. One object stands on each line.",
                row=row,
            )
        if not line.strip():
            blank += 1
            if blank > MAX_BLANK_LINES:
                raise TransferError(
                    f"{name!r} has over {MAX_BLANK_LINES:,} lines with nothing in them. Take them out.", row=row
                )
            continue
        text = _decode(line.removeprefix(_BOM) if row == 1 else line, name, row)
        if text.strip():
            yield JsonLine(row, read_value(text), text.rstrip("\r\n"))


def _decode(line: bytes, name: str, row: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TransferError(
            f"Line {row} of {name!r} is not UTF-8 (byte {error.start + 1} of the line). Save the file as UTF-8.",
            row=row,
        ) from None


def read_value(text: str) -> Any:
    """Return what a JSON text says; a `BadJson` where it is none."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        return BadJson(f"not JSON: {error.msg} at character {error.pos + 1}")
    except RecursionError:
        return BadJson("not usable: nested too deeply")
    except ValueError:  # a number of more digits than Python reads
        return BadJson("not usable: a number is too long")
