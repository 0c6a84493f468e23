"""A file of memory items, read whole: JSON, YAML in the plain way (no tag, no alias), or one value a line."""

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

_NAME = re.compile(r"[A-Za-z_][\w .-]{0,39}\Z")


class _TwiceError(ValueError):
    """A key stands twice in one object."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _TwiceError(f"the key {_shown(key)} stands twice in one object")
    if len(pairs) > MAX_ITEMS:
        raise _TwiceError(f"an object has more than {MAX_ITEMS:,} keys")
    return made


def _shown(key: str) -> str:
    """Return a key as errors show it; one that does not look like a name may be what somebody said."""
    return repr(key) if _NAME.match(key) else "of an entry"


def read_lines(stream: TextIO) -> Iterator[Piece]:
    """Yield the value of each line that is not blank; a `BadValue` where it is no JSON."""
    values = blank = 0
    for row, line in enumerate(iter(lambda: stream.readline(MAX_BYTES + 1), ""), 1):
        if not line.strip():
            blank += 1
            if blank > MAX_BLANK_LINES:
                raise too_many_blank_lines()
            continue
        values += _values(line)
        if values > MAX_VALUES:
            raise too_many_values()
        try:
            value = json.loads(line, object_pairs_hook=_object)
        except json.JSONDecodeError as error:
            value = BadValue(f"not JSON: {error.msg} at character {error.pos + 1}")
        except RecursionError:
            raise too_deep(row) from None
        except ValueError as error:
            value = BadValue(f"not usable: {_why(error)}")
        if is_deep(value, MAX_DEPTH):
            raise too_deep(row)
        yield Piece(LINES, row, value)


def _why(error: ValueError) -> str:
    return str(error) if isinstance(error, _TwiceError) else "a number is too long"


def _values(text: str) -> int:
    """Return at least how many values a text of JSON holds; commas inside texts count too."""
    return text.count(",") + text.count("[") + text.count("{")


def read_json(stream: TextIO) -> Iterator[Piece]:
    """Yield the pieces of a document of JSON."""
    text = stream.read()
    if _values(text) > MAX_VALUES:
        raise too_many_values()
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise TransferError(f"The file is not usable JSON: {error.msg}, line {error.lineno}.") from None
    except RecursionError:
        raise too_deep() from None
    except ValueError as error:
        raise TransferError(f"The file is not usable JSON: {_why(error)}.") from None
    yield from _pieces(value)


def read_yaml(stream: TextIO) -> Iterator[Piece]:
    """Yield the pieces of a document of YAML; an empty one has none."""
    import yaml  # noqa: PLC0415 - 14 ms, which only YAML pays

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Plain(loader):  # type: ignore[misc]
        """Reads keys as they are written, and what looks like a date but is none as text."""

        def construct_object(self, node: Any, deep: bool = False) -> Any:  # noqa: ARG002 - the library's interface
            if isinstance(node, yaml.SequenceNode):
                return [self.construct_object(each) for each in node.value]
            if isinstance(node, yaml.MappingNode):
                return _object([(_key(key), self.construct_object(value)) for key, value in node.value])
            try:
                return super().construct_object(node, deep=True)
            except (yaml.YAMLError, ValueError, TypeError, OverflowError, KeyError, IndexError, AttributeError):
                return node.value

    def _key(node: Any) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise _wrong("has a key that is no text", node)
        return str(node.value)

    text = stream.read()
    try:
        _check_events(yaml.parse(text, Loader=loader), yaml)
        value = yaml.load(text, Loader=Plain)  # noqa: S506 - a SafeLoader
    except _TwiceError as error:
        raise TransferError(f"The file is not taken: {error}. Remove one of the two.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
        raise TransferError(f"The file is not YAML: {what}{where}.") from None
    if value is not None:
        yield from _pieces(value)


def _check_events(events: Any, yaml: Any) -> None:
    """Refuse what may not stand in a document before values are made of it."""
    documents = depth = 0
    for count, event in enumerate(events):
        documents += isinstance(event, yaml.DocumentStartEvent)
        if documents > 1:
            raise _wrong("holds several documents, one is needed", event)
        if count > 2 * MAX_VALUES:
            raise too_many_values()
        if isinstance(event, yaml.AliasEvent):
            raise _wrong("holds an alias (*name). Write the value itself", event)
        if getattr(event, "tag", None) is not None:
            raise _wrong("holds a tag (!name). Only plain values are read", event)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise too_deep(event.start_mark.line + 1)


def _wrong(what: str, at: Any) -> TransferError:
    return TransferError(f"The file is not taken: line {at.start_mark.line + 1} {what}.")


def _pieces(value: Any) -> Iterator[Piece]:
    """Yield the parts of a whole document."""
    if not isinstance(value, (dict, list)):
        raise TransferError("The file holds a single value, where an object with a list is needed.")
    if is_deep(value, MAX_DEPTH):
        raise too_deep()
    for key, member in value.items() if isinstance(value, dict) else ((ROOT, value),):
        yield Piece(key, 0, [] if isinstance(member, list) else member)
        if isinstance(member, list):
            if len(member) > MAX_ITEMS:
                raise too_many_items()
            yield from (Piece(key, row, each) for row, each in enumerate(member, 1))
