"""A file that is handed in, as a stream of text: opened as often as it is read, never more of it than is allowed."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from ...errors import TransferError
from . import pieces

Source = str | os.PathLike[str] | bytes | BinaryIO
_GZIP = b"\x1f\x8b"


class _Counted(io.RawIOBase):
    """Bytes of a stream, counted: more of them, or more values in them, than allowed end the reading."""

    def __init__(self, inner: Any, limit: int) -> None:
        self._inner = inner
        self._limit = limit
        self.taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._inner.read(len(buffer))
        self.taken += len(part)
        if self.taken > self._limit:
            raise pieces.too_large(self._limit)
        buffer[: len(part)] = part
        return len(part)


_PATH_CHARS = 4096
"""No system takes a longer path."""


class File:
    """A source that can be read again from its beginning."""

    def __init__(self, source: Source, max_bytes: int = pieces.MAX_BYTES) -> None:
        self._max_bytes = pieces.check_bytes(max_bytes)
        self.path: Path | None = None
        self._stream: Any = None
        self.name: str
        if isinstance(source, (bytes, bytearray)):
            self._stream, self.name = io.BytesIO(source), ""
        elif isinstance(source, (str, os.PathLike)):
            self.path = Path(source)
            self.name = self.path.name
            _check(self.path)
        else:
            if not callable(getattr(source, "read", None)):
                raise TypeError(
                    f"source is of type {type(source).__name__}. It must be a path, bytes, or a stream opened in "
                    "binary mode."
                )
            self.name = Path(str(getattr(source, "filename", None) or getattr(source, "name", "") or "")).name
            self._stream = source if _goes_back(source) else io.BytesIO(_taken(source, max_bytes))

    @contextmanager
    def text(self) -> Iterator[TextIO]:
        """Yield the text from its beginning; a mark of the byte order is left out."""
        try:
            with self._opened() as raw:
                packed = raw.read(2) == _GZIP
                raw.seek(0)
                inner = gzip.GzipFile(fileobj=raw, mode="rb") if packed else raw
                counted = io.BufferedReader(_Counted(inner, self._max_bytes), 1 << 16)
                text = io.TextIOWrapper(counted, encoding="utf-8-sig", newline="")
                try:
                    yield text
                finally:
                    text.detach()
        except UnicodeDecodeError:
            raise TransferError("The file is not UTF-8. Save it as UTF-8.") from None
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise TransferError("The file is a broken or cut off gzip file. Copy it again.") from None
        except OSError as error:
            raise TransferError(f"The file cannot be read: {error.strerror or type(error).__name__}.") from None

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        if self.path is not None:
            with self.path.open("rb") as raw:
                yield raw
            return
        self._stream.seek(0)
        yield self._stream


def _check(path: Path) -> None:
    """Refuse a path that is no file; a text of memories handed over by mistake is not repeated."""
    shown = str(path)
    if len(shown) > _PATH_CHARS or "\n" in shown:
        raise TransferError(
            f"source is a text of {len(shown)} characters, which is no path. Pass what a file holds as bytes."
        )
    try:
        if path.is_file():
            return
        what = "is a folder" if path.is_dir() else "does not exist" if not path.exists() else "is not a regular file"
    except (OSError, ValueError) as error:
        raise TransferError(f"{str(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    raise TransferError(f"{str(path)!r} {what}. Name a file of memories.", path=str(path))


def _goes_back(stream: Any) -> bool:
    try:
        stream.seek(0)
    except (AttributeError, OSError, ValueError):
        return False
    return True


def _taken(stream: Any, limit: int) -> bytes:
    try:
        content = stream.read(limit + 1)
    except (OSError, ValueError) as error:
        raise TransferError(f"The file cannot be read: {type(error).__name__}.") from None
    if not isinstance(content, (bytes, bytearray)):
        raise TypeError(f"source gives {type(content).__name__} where bytes are needed. Open it in binary mode.")
    if len(content) > limit:
        raise pieces.too_large(limit)
    return bytes(content)
