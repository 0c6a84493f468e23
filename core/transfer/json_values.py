"""Read JSON of chat files: one value per line, or one document. A document is read up to a damaged place."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TextIO

from ..errors import MessageError, TransferError
from .files import UNREADABLE, Member
from .shapes import Fault, Read

MAX_LINE_BYTES = 128 * 1024**2
"""Maximum number of bytes of a line: enough for the longest stored text, 16 MB, with every character escaped."""
WHOLE_CHARS = 16 * 1024**2
"""Maximum number of characters of a document that is read whole; its Python values take far more memory."""
MAX_VALUES = 5_000_000
"""Maximum number of values in a part that is read whole; 8 characters of a text count as one value."""
_BLANK = "\ufeff\x00 \t\r\n"


class BadJson(NamedTuple):
    """Placeholder for an unreadable value; its reason never quotes the value's text."""

    reason: str
    is_deep: bool = False


def read_value(text: str) -> Any:
    """Parse a JSON text; return a `BadJson` for an invalid text."""
    if len(text) > WHOLE_CHARS and sum(map(text.count, ",[{")) > MAX_VALUES:
        return BadJson("not usable: it holds too many values")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, " if error.lineno > 1 else ""
        return BadJson(f"not JSON: {error.msg} at {where}character {error.colno}")
    except RecursionError:
        return BadJson("not usable: nested too deeply", is_deep=True)
    except ValueError:  # an integer with more digits than Python reads
        return BadJson("not usable: a number is too long")


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether lists and objects are nested deeper than `levels`, including the outermost."""
    inside = [value]
    for _ in range(levels + 1):
        inside = [item for item in inside if isinstance(item, (dict, list))]
        if not inside:
            return False
        inside = [each for item in inside for each in (item.values() if isinstance(item, dict) else item)]
    return True


def read_lines(member: Member) -> Iterator[tuple[int, Any]]:
    """Yield (number, JSON value) of each line with text; raise TransferError for a damaged file or a line too long."""
    try:
        with member.open() as stream:
            for row, line in enumerate(iter(lambda: stream.readline(MAX_LINE_BYTES + 1), b""), 1):
                if len(line) > MAX_LINE_BYTES:
                    raise _refuse(member, row, f"is longer than {MAX_LINE_BYTES} bytes. One object stands on each line")
                text = line.decode("utf-8-sig" if row == 1 else "utf-8")
                if text.strip():
                    yield row, read_value(text)
    except UnicodeDecodeError as error:
        place = f"(byte {error.start + 1} of the line)"
        raise _refuse(member, row, f"is not UTF-8 {place}. Save the file as UTF-8") from None
    except UNREADABLE:
        raise TransferError(f"{member.name!r} is broken or cut off. Copy it again.") from None


def read_objects(member: Member, read: Callable[[int, dict[str, Any]], Read | None]) -> Iterator[Read]:
    """Call `read` with number and object of each line and yield its results; a line without an object is a `Fault`."""
    for row, value in read_lines(member):
        try:
            if isinstance(value, BadJson):
                raise MessageError(value.reason)
            if not isinstance(value, dict):
                raise MessageError.of_type("the row", value, "an object")
            if (line := read(row, value)) is not None:
                yield line
        except MessageError as error:
            yield Fault(member.name, str(error).rstrip("."), row)


def _refuse(member: Member, row: int, problem: str) -> TransferError:
    return TransferError(f"Line {row} of {member.name!r} {problem}.", row=row)


Path = tuple[str | int, ...]


class JsonPart(NamedTuple):
    path: Path
    """Keys and positions (from 0) from the root to the value."""
    value: Any
    """Value at the path; a `BadJson` for the unreadable rest of a document."""


def _opens(path: Path) -> bool:
    """Return whether the list or object at `path` of the document is read in parts, not as a whole."""
    match path:
        case () | ("messages" | "conversations" | "chats" | "left_chats",):
            return True
        case ("chats" | "left_chats", "list"):
            return True
        case ("chats" | "left_chats", "list", int()) | ("chats" | "left_chats", "list", int(), "messages"):
            return True
    return False


def read_parts(stream: TextIO) -> Iterator[JsonPart]:
    """Yield the parts of a document: each element of a list of chats or messages, and other values as a whole."""
    text = stream.read(WHOLE_CHARS + 1).lstrip(_BLANK)
    if not text:
        return
    value = read_value(text.rstrip(_BLANK)) if len(text) <= WHOLE_CHARS else BadJson("it is large")
    if not isinstance(value, BadJson):
        yield from _walk((), value)
    elif value.is_deep:
        yield JsonPart((), BadJson("it is nested too deeply"))
    else:
        yield from _stream(text, stream)


def _walk(path: Path, value: Any) -> Iterator[JsonPart]:
    if not isinstance(value, (dict, list)) or not _opens(path):
        yield JsonPart(path, value)
        return
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _walk((*path, step), inner)


class _Bytes:
    """Byte file for ijson: a text that was already read from a stream, followed by the rest of the stream."""

    def __init__(self, text: str, stream: TextIO) -> None:
        self._text, self._stream = text, stream

    def read(self, size: int) -> bytes:
        if size == 0:
            return b""
        text, self._text = self._text[:size], self._text[size:]
        return (text or self._stream.read(size)).encode("utf-8", "surrogatepass")


def _stream(text: str, rest: TextIO) -> Iterator[JsonPart]:
    try:
        import ijson  # noqa: PLC0415 - an extra, which large and broken documents alone need
    except ImportError:
        reason = "it is broken, or too large to read at once; pip install 'prompt-engine[import]' reads it part by part"
        yield JsonPart((), BadJson(reason))
        return
    events = ijson.basic_parse(_Bytes(text, rest), use_float=True)
    try:
        yield from _parts(events, ijson.ObjectBuilder)
    except (ijson.JSONError, ValueError, RecursionError):
        yield JsonPart((), BadJson("from here on the file is broken or cut off"))


def _parts(events: Iterable[tuple[str, Any]], builder: Any) -> Iterator[JsonPart]:
    """Yield the parts of a document from ijson's events; `builder()` makes ijson's builder of a whole value."""
    path: list[str | int] = []
    building: Any = None
    depth = size = 0
    for event, value in events:
        is_start, is_end = event.startswith("start_"), event.startswith("end_")
        if building is not None:
            depth += is_start - is_end
            size += 1 + (len(value) // 8 if isinstance(value, str) else 0)
            if size <= MAX_VALUES:
                building.event(event, value)
            if depth == 0:
                whole = building.value if size <= MAX_VALUES else BadJson("it holds too many values")
                yield JsonPart(tuple(path), whole)
                building = None
        elif event == "map_key":
            path[-1] = value
        elif is_end:
            path.pop()
        else:
            if path and isinstance(path[-1], int):
                path[-1] += 1
            if is_start and _opens(tuple(path)):
                path.append("" if event == "start_map" else -1)
            elif is_start:
                building, depth, size = builder(), 1, 0
                building.event(event, value)
            else:
                yield JsonPart(tuple(path), value)


def each_part(member: Member) -> Iterator[JsonPart | Fault]:
    """Yield the parts of a JSON file, as `read_parts` does, and a fault for the unreadable part."""
    broken: list[Fault] = []
    with member.guarded(broken) as text:
        for part in read_parts(text):
            if isinstance(part.value, BadJson):
                steps = [str(step + 1) if isinstance(step, int) else str(step)[:40] for step in part.path]
                yield Fault(": ".join(filter(None, (member.name, " ".join(steps)))), part.value.reason)
            elif not part.path:
                yield Fault(member.name, "it holds neither a list nor an object")
            else:
                yield part
    yield from broken
