"""What a model wants changed in a list of saved memories: its answer read, and refused as a whole when one part is
impossible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..text.folding import collapsed, one_line
from ..text.refusals import judge_refusal
from ..text.replies import read_object

MOST_OPERATIONS = 1000
REASON_CHARS = 100
MERGED = "another says the same"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What becomes of a numbered list; places count from 0."""

    replaced: tuple[tuple[int, str], ...] = ()
    """Place and the text that takes the place of it."""
    dropped: tuple[tuple[int, str], ...] = ()
    """Place and the reason."""
    added: tuple[str, ...] = ()


class ImpossibleError(ValueError):
    """An answer that cannot be followed; the text says why in words without anything that was said."""


def read_rewrite(reply: str, items: Sequence[str], *, most_chars: int, patterns: Sequence[str]) -> Rewrite:
    """Return what a reply wants changed."""
    answer = read_object(reply, ("operations",), fits=lambda each: isinstance(each.get("operations"), list))
    if answer is None:
        raise ImpossibleError("it cannot be read")
    if len(answer["operations"]) > MOST_OPERATIONS:
        raise ImpossibleError("it holds too many operations")
    reader = _Reader(items, most_chars, patterns)
    for operation in answer["operations"]:
        reader.take(operation)
    return reader.finish()


class _Reader:
    """Takes one operation after the other."""

    def __init__(self, items: Sequence[str], most_chars: int, patterns: Sequence[str]) -> None:
        self.items = items
        self.most_chars = most_chars
        self.patterns = patterns
        self.named: set[int] = set()
        self.replaced: dict[int, str] = {}
        self.dropped: dict[int, str] = {}
        self.added: list[str] = []

    def take(self, operation: Any) -> None:
        """Take one operation."""
        if not isinstance(operation, Mapping):
            raise ImpossibleError("an operation is no object")
        kind = operation.get("op")
        if kind == "add":
            self.added.append(self._text(operation))
            return
        if kind not in ("keep", "replace", "drop"):
            raise ImpossibleError("an operation is none of keep, replace, drop, add")
        place = self._place(operation)
        if kind == "replace":
            self.replaced[place] = self._text(operation)
        elif kind == "drop":
            reason = operation.get("reason")
            if not isinstance(reason, str) or not reason.strip():
                raise ImpossibleError("it drops an item without a reason")
            self.dropped[place] = one_line(reason).strip()[:REASON_CHARS]

    def _place(self, operation: Mapping[str, Any]) -> int:
        number = operation.get("item")
        if isinstance(number, str) and number.strip().isascii() and number.strip().isdigit():
            number = int(number.strip()[:9])
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(self.items):
            raise ImpossibleError("it names an item that is not on the list")
        if number in self.named:
            raise ImpossibleError("it names an item twice")
        self.named.add(number)
        return number - 1

    def _text(self, operation: Mapping[str, Any]) -> str:
        given = operation.get("text")
        text = one_line(given).strip() if isinstance(given, str) else ""
        if len(text) > self.most_chars:
            raise ImpossibleError("a text is too long")
        why = judge_refusal(text, "", patterns=self.patterns, min_ratio=0.0)
        if why:
            raise ImpossibleError("a text is blank" if why == "empty" else "a text looks like an error")
        return text

    def finish(self) -> Rewrite:
        """Return the whole."""
        if self.items and len(self.dropped) == len(self.items):
            raise ImpossibleError("it drops everything")
        same = {place for place, text in self.replaced.items() if collapsed(text) == collapsed(self.items[place])}
        replaced = tuple((place, text) for place, text in sorted(self.replaced.items()) if place not in same)
        gone = set(self.dropped) | {place for place, _ in replaced}
        there = {collapsed(text) for place, text in enumerate(self.items) if place not in gone}
        merged = {place: MERGED for place, text in replaced if collapsed(text) in there}
        replaced = tuple(each for each in replaced if each[0] not in merged)
        there |= {collapsed(text) for _, text in replaced}
        added = []
        for text in self.added:
            if collapsed(text) not in there:
                there.add(collapsed(text))
                added.append(text)
        if not (replaced or merged or self.dropped or added):
            raise ImpossibleError("it changes nothing")
        return Rewrite(replaced, tuple(sorted({**self.dropped, **merged}.items())), tuple(added))
