"""An item that is too large for its share of a prompt keeps its beginning.

Plain values in and out; nothing is read. Called by `prompt.rules_reduction_plan`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ..context.lines import ChatLine

MARK = "…"
"""Stands where a text goes on that is not shown."""
LEAST_CHARS = 24
"""A text inside an entry is not cut below this: what it says would be lost."""
_WORD_CHARS = 40
"""How far back a cut looks for the end of a word; scripts without spaces have none."""

MeasureValue = Callable[[Any], int]
"""Characters of a value as it is sent."""


def least_size(item: Any, item_size: int, measure: MeasureValue) -> int:
    """Return an estimate from above of how small `shorten` can make an item, its own size where it cannot.

    Args:
        item: a text, or an object or list whose texts are cut.
        item_size: its size as it is.
        measure: gives the size of a value.

    >>> least_size("x" * 100, 102, lambda value: len(value) + 2), least_size(7, 1, lambda value: 1)
    (27, 1)
    """
    if isinstance(item, str):
        return measure(item[:LEAST_CHARS] + MARK) if len(item) > LEAST_CHARS else item_size
    gain = 0
    for text in _texts(item):
        if len(text) > LEAST_CHARS:
            gain += max(0, measure(text) - measure(text[:LEAST_CHARS] + MARK))
    return item_size - gain


def shorten(item: Any, most: int, measure: MeasureValue) -> Any:
    """Return the item with its texts cut so that its size is at most `most`; None where that cannot be.

    A text keeps its beginning up to a word, and an ellipsis. In an entry of several texts the longest are cut, all to
    one length, so that short ones (names, times, tags) stay whole.

    Args:
        item: a text, object or list; it is not changed.
        most: most characters of the result as it is sent.
        measure: gives the size of a value.

    >>> shorten("Ann: one two three four five six seven", 34, lambda value: len(value) + 2)
    'Ann: one two three four five…'
    """
    longest = max((len(text) for text in _texts(item)), default=0)
    low, high = LEAST_CHARS, min(longest, max(most, 0))
    if longest <= LEAST_CHARS or measure(_cut_all(item, low)) > most:
        return None
    while low < high:
        middle = (low + high + 1) // 2
        if measure(_cut_all(item, middle)) <= most:
            low = middle
        else:
            high = middle - 1
    return _cut_all(item, low)


def begin_text(text: str, most_chars: int) -> str:
    """Return the text, or its beginning up to a word with an ellipsis; at most `most_chars` and the ellipsis.

    >>> begin_text("one two three", 9), begin_text("one two three", 13), begin_text("aaaaaaaa", 3)
    ('one two…', 'one two three', 'aaa…')
    """
    if len(text) <= most_chars:
        return text
    kept = text[:most_chars]
    if not text[most_chars].isspace():
        start = max(0, most_chars - min(_WORD_CHARS, most_chars // 2))
        place = max((kept.rfind(sign, start) for sign in (" ", "\n", "\t")), default=-1)
        kept = kept[:place] if place > 0 else kept
    return kept.rstrip() + MARK


def _texts(item: Any) -> Iterator[str]:
    """Yield every text inside; names of members are none."""
    if isinstance(item, str):
        yield item
    elif isinstance(item, (dict, list, tuple)):
        for each in item.values() if isinstance(item, dict) else item:
            yield from _texts(each)


def _cut_all(item: Any, most_chars: int) -> Any:
    """Return the item with each text in it cut to a length."""
    if isinstance(item, ChatLine):
        around = max(len(item) - len(item.turn.text), 0)
        turn = replace(item.turn, text=begin_text(item.turn.text, max(most_chars - around, 1)))
        return ChatLine(begin_text(item, most_chars), turn) if len(item) > most_chars else item
    if isinstance(item, str):
        return begin_text(item, most_chars)
    if isinstance(item, dict):
        return {name: _cut_all(each, most_chars) for name, each in item.items()}
    return [_cut_all(each, most_chars) for each in item] if isinstance(item, (list, tuple)) else item
