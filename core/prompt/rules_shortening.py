"""An item that is too large for its share of a prompt keeps its beginning."""

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
    """Return an estimate from above of how small `shorten` can make an item, its own size where it cannot."""
    if isinstance(item, str):
        return measure(item[:LEAST_CHARS] + MARK) if len(item) > LEAST_CHARS else item_size
    gain = 0
    for text in _texts(item):
        if len(text) > LEAST_CHARS:
            gain += max(0, measure(text) - measure(text[:LEAST_CHARS] + MARK))
    return item_size - gain


def shorten(item: Any, most: int, measure: MeasureValue) -> Any:
    """Return the item with its texts cut so that its size is at most `most`; None where that cannot be."""
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
    """Return the text, or its beginning up to a word with an ellipsis; at most `most_chars` and the ellipsis."""
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
