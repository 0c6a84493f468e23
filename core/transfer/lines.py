"""A file of JSON lines, plain or gzip, read one line at a time; what is no such file is refused."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..errors import TransferError
from .items.pieces import MAX_BLANK_LINES, check_bytes, too_many_blank_lines

MAX_BYTES = 2 * 1024**3
"""Most bytes of a file, unpacked."""
MAX_LINE_BYTES = 128 * 1024**2
"""Longest line: the longest text that can be stored, 16 MB, every letter of it written as an escape."""

BOMB_RATIO = 200
BOMB_FREE_BYTES = 64 * 1024**2
"""A packed file may unpack to this much whatever its ratio; beyond, chats pack 3 to 20 times, never 200 times."""

_LOOKED_AT = 1 << 16

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """One line that is not blank."""

    row: int
    """1-based number of the line in the file."""
    value: Any
    """What its JSON says; a `BadJson` where it is none."""
    position: int
    """Bytes of the file read so far, for progress."""
    text: str = ""
    """As it is written, blank where it is part of a document."""


class BadJson(NamedTuple):
    """A line that is no JSON, and why; never what it holds."""

    reason: str


def size_of(path: Path) -> int:
    """Return the size of the file in bytes."""
    try:
        if not path.is_file():
            what = (
                "is a folder" if path.is_dir() else "does not exist" if not path.exists() else "is not a regular file"
            )
            raise TransferError(f"{str(path)!r} {what}. Name a file of JSON lines.")
        return path.stat().st_size
    except OSError as error:
        raise TransferError(f"{str(path)!r} cannot be read: {error.strerror}.") from None


def read(path: Path, *, max_bytes: int = MAX_BYTES) -> Iterator[Line]:
    """Yield the lines of a file that are not blank, in order; gzip is told by its first bytes, not by its name."""
    check_bytes(max_bytes)
    size = size_of(path)
    try:
        with path.open("rb") as raw:
            packed = raw.peek(2)[:2] == _GZIP
            stream: BinaryIO = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
            document = _read_document(stream, max_bytes)
            if document is not None:
                yield from (Line(row, value, size) for row, value in enumerate(document, 1))
                return
            raw.seek(0)
            stream = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
            yield from _lines(stream, raw, path, max_bytes, packed)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise TransferError(f"{str(path)!r} is a broken or cut off gzip file. Copy it again.") from None
    except OSError as error:
        raise TransferError(f"{str(path)!r} cannot be read: {error.strerror}.") from None


def _read_document(stream: BinaryIO, max_bytes: int) -> list[Any] | None:
    """Return the lines of a chat that is one document, {"chat_metadata": ..., "messages": [...]}, else None."""
    head = stream.read(_LOOKED_AT).removeprefix(_BOM).lstrip()
    first = head.partition(b"\n")[0]
    is_row = b"\n" in head and isinstance(_value(first.decode(errors="replace")), dict)
    if not head.startswith(b"{") or (is_row and b'"messages"' not in first):
        return None
    content = head + stream.read(max(0, min(max_bytes, MAX_LINE_BYTES) + 1 - len(head)))
    if len(content) > min(max_bytes, MAX_LINE_BYTES):
        return None
    try:
        value = _value(content.decode("utf-8"))
    except UnicodeDecodeError:
        return None
    messages = value.get("messages") if isinstance(value, dict) else None
    if not isinstance(messages, list):
        return None
    return [{name: held for name, held in value.items() if name != "messages"} or {"chat_metadata": {}}, *messages]


def _lines(stream: BinaryIO, raw: BufferedReader, path: Path, max_bytes: int, packed: bool) -> Iterator[Line]:
    row = unpacked = blank = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        row += 1
        unpacked += len(line)
        position = raw.tell() if packed else unpacked
        _refuse_size(path, row, len(line), unpacked, max_bytes)
        if packed and unpacked > BOMB_FREE_BYTES and unpacked > BOMB_RATIO * position:
            raise TransferError(
                f"{str(path)!r} unpacks to over {BOMB_RATIO} times its size, which no conversation does. "
                "Unpack it yourself and look at it.",
                row=row,
            )
        if not line.strip():
            blank += 1
            if blank > MAX_BLANK_LINES:
                raise too_many_blank_lines(repr(str(path)))
            continue
        text = _decoded(line.removeprefix(_BOM) if row == 1 else line, path, row)
        if text.strip():
            yield Line(row, _value(text), position, text.rstrip("\r\n"))


def _refuse_size(path: Path, row: int, line: int, unpacked: int, max_bytes: int) -> None:
    if unpacked > max_bytes:
        raise TransferError(f"{str(path)!r} is larger than {max_bytes} bytes. Split it into smaller files.", row=row)
    if line > MAX_LINE_BYTES:
        raise TransferError(
            f"Line {row} of {str(path)!r} is longer than {MAX_LINE_BYTES} bytes. One object stands on each line.",
            row=row,
        )


def _decoded(line: bytes, path: Path, row: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TransferError(
            f"Line {row} of {str(path)!r} is not UTF-8 (byte {error.start + 1} of the line). Save the file as UTF-8.",
            row=row,
        ) from None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        return BadJson(f"not JSON: {error.msg} at character {error.pos + 1}")
    except RecursionError:
        return BadJson("not usable: nested too deeply")
    except ValueError:  # a number of more digits than Python reads
        return BadJson("not usable: a number is too long")
