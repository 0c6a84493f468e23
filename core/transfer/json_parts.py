"""A JSON document as its parts: the elements of the lists that are opened, one after the other.

A document of ordinary size is read whole. A larger one, and one that is broken, is read part by part with ijson, which
gives everything before the place where it breaks off.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TextIO

Path = tuple[str | int, ...]

WHOLE_CHARS = 16 * 1024**2
"""Longest document that is read whole: Python's values take many times its size."""
_BLANK = "\ufeff\x00 \t\r\n"


class BadPart(NamedTuple):
    """What stands in place of the rest of a document that cannot be read."""

    reason: str


class Part(NamedTuple):
    """One value of a document."""

    path: Path
    """Keys and positions (from 0) from the root to it."""
    value: Any


def read_parts(stream: TextIO, opens: Callable[[Path], bool]) -> Iterator[Part]:
    """Yield the values of a document; lists and objects whose path `opens` says are opened, others come whole."""
    text = stream.read(WHOLE_CHARS + 1).lstrip(_BLANK)
    if not text:
        return
    if len(text) <= WHOLE_CHARS:
        try:
            value = json.loads(text.rstrip(_BLANK))
        except RecursionError:
            yield Part((), BadPart("it is nested too deeply"))
            return
        except ValueError:
            pass
        else:
            yield from _walk((), value, opens)
            return
    yield from _stream(text, stream, opens)


def _walk(path: Path, value: Any, opens: Callable[[Path], bool]) -> Iterator[Part]:
    if not isinstance(value, (dict, list)) or not opens(path):
        yield Part(path, value)
        return
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _walk((*path, step), inner, opens)


class _Bytes:
    """The text and the rest of its stream, as ijson reads them."""

    def __init__(self, text: str, stream: TextIO) -> None:
        self._text, self._stream = text, stream

    def read(self, size: int) -> bytes:
        if size == 0:
            return b""
        text, self._text = self._text[:size], self._text[size:]
        return (text or self._stream.read(size)).encode("utf-8", "surrogatepass")


def _stream(text: str, rest: TextIO, opens: Callable[[Path], bool]) -> Iterator[Part]:
    try:
        import ijson  # noqa: PLC0415 - an extra, which large and broken documents alone need
    except ImportError:
        said = "it is broken, or too large to read at once; pip install 'prompt-engine[import]' reads it part by part"
        yield Part((), BadPart(said))
        return
    events = ijson.basic_parse(_Bytes(text, rest), use_float=True)
    try:
        yield from _parts(events, ijson.ObjectBuilder, opens)
    except (ijson.JSONError, ValueError, RecursionError):
        yield Part((), BadPart("from here on the file is broken or cut off"))


def _parts(events: Iterable[tuple[str, Any]], builder: Any, opens: Callable[[Path], bool]) -> Iterator[Part]:
    """Yield the values that events make; `builder` makes those that come whole."""
    path: list[str | int] = []
    building: Any = None
    depth = 0
    for event, value in events:
        is_start, is_end = event.startswith("start_"), event.startswith("end_")
        if building is not None:
            building.event(event, value)
            depth += is_start - is_end
            if depth == 0:
                yield Part(tuple(path), building.value)
                building = None
        elif event == "map_key":
            path[-1] = value
        elif is_end:
            path.pop()
        else:
            if path and isinstance(path[-1], int):
                path[-1] += 1
            if is_start and opens(tuple(path)):
                path.append("" if event == "start_map" else -1)
            elif is_start:
                building, depth = builder(), 1
                building.event(event, value)
            else:
                yield Part(tuple(path), value)
