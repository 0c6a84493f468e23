"""YAML as a stream of pieces, read in the plain way: no tag, no alias, no key twice, one document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TextIO

from ...errors import TransferError
from .json_stream import shown
from .pieces import (
    MAX_DEPTH,
    MAX_ITEMS,
    MAX_VALUES,
    ROOT,
    Piece,
    too_deep,
    too_many_items,
    too_many_values,
)

_TEXT = "tag:yaml.org,2002:str"


def document(stream: TextIO) -> Iterator[Piece]:
    """Yield the pieces of one document; an empty one has none."""
    import yaml  # noqa: PLC0415 - 14 ms, which only YAML pays

    try:
        yield from _Reader(stream).pieces()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
        raise TransferError(f"The file is not YAML: {what}{where}.") from None


class _Reader:
    """Makes values of the events of one document."""

    def __init__(self, stream: TextIO) -> None:
        import yaml  # noqa: PLC0415 - as above

        self._yaml = yaml
        self._events = yaml.parse(stream, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        self._resolver: Any = yaml.resolver.Resolver()
        self._constructor = yaml.constructor.SafeConstructor()
        self._values = 0

    def pieces(self) -> Iterator[Piece]:
        """Yield what the document holds."""
        yaml = self._yaml
        documents = 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _wrong("holds several documents, one is needed", event)
            elif isinstance(event, yaml.MappingStartEvent):
                self._check(event, 1)
                yield from self._members()
            elif isinstance(event, yaml.SequenceStartEvent):
                self._check(event, 1)
                yield from self._elements(ROOT, 1)
            elif isinstance(event, yaml.ScalarEvent):
                if self._scalar(event) is not None:
                    raise TransferError("The file holds a single value, where an object with a list is needed.")
            elif isinstance(event, yaml.AliasEvent):
                self._check(event, 1)

    def _check(self, event: Any, depth: int) -> None:
        """Refuse what may not stand in a file."""
        self._values += 1
        if self._values > MAX_VALUES:
            raise too_many_values()
        if isinstance(event, self._yaml.AliasEvent):
            raise _wrong("holds an alias (*name). Write the value itself", event)
        if event.tag is not None:
            raise _wrong("holds a tag (!name). Only plain values are read", event)
        if depth > MAX_DEPTH and isinstance(event, self._yaml.CollectionStartEvent):
            raise too_deep(event.start_mark.line + 1 if event.start_mark else None)

    def _members(self) -> Iterator[Piece]:
        seen: set[str] = set()
        while (key := self._key(seen, 1)) is not None:
            event = next(self._events)
            self._check(event, 2)
            if isinstance(event, self._yaml.SequenceStartEvent):
                yield from self._elements(key, 2)
            else:
                yield Piece(key, 0, self._value(event, 2))

    def _elements(self, key: str, depth: int) -> Iterator[Piece]:
        yield Piece(key, 0, [])
        row = 0
        while not isinstance(event := next(self._events), self._yaml.SequenceEndEvent):
            row += 1
            if row > MAX_ITEMS:
                raise too_many_items()
            self._check(event, depth + 1)
            yield Piece(key, row, self._value(event, depth + 1))

    def _key(self, seen: set[str], depth: int) -> str | None:
        """Return the next key of an object as it is written, None at its end."""
        event = next(self._events)
        if isinstance(event, self._yaml.MappingEndEvent):
            return None
        self._check(event, depth + 1)
        if not isinstance(event, self._yaml.ScalarEvent):
            raise _wrong("has a key that is no text", event)
        key = str(event.value)
        if key in seen:
            raise _wrong(f"says the key {shown(key)} twice in one object. Remove one of the two", event)
        seen.add(key)
        if len(seen) > MAX_ITEMS:
            raise _wrong(f"has an object of more than {MAX_ITEMS:,} keys", event)
        return key

    def _value(self, event: Any, depth: int) -> Any:
        """Return the value that begins with an event, which was checked."""
        if isinstance(event, self._yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, self._yaml.SequenceStartEvent):
            made = []
            while not isinstance(inner := next(self._events), self._yaml.SequenceEndEvent):
                self._check(inner, depth + 1)
                made.append(self._value(inner, depth + 1))
            return made
        pairs: dict[str, Any] = {}
        seen: set[str] = set()
        while (key := self._key(seen, depth)) is not None:
            inner = next(self._events)
            self._check(inner, depth + 1)
            pairs[key] = self._value(inner, depth + 1)
        return pairs

    def _scalar(self, event: Any) -> Any:
        """Return the value of a scalar; what YAML takes for a number or date but cannot read stays the text it is."""
        if event.tag is not None:
            self._check(event, 0)
        if not event.implicit[0]:  # it stands in quotes, or is a block of text
            return event.value
        yaml = self._yaml
        tag = self._resolver.resolve(yaml.ScalarNode, event.value, (True, False))
        if tag == _TEXT:
            return event.value
        try:
            return self._constructor.construct_object(yaml.ScalarNode(tag, event.value))
        except (yaml.YAMLError, ValueError, TypeError, OverflowError, KeyError, IndexError):
            return event.value


def _wrong(what: str, event: Any) -> TransferError:
    line = event.start_mark.line + 1 if event.start_mark else 1
    return TransferError(f"The file is not taken: line {line} {what}.")
