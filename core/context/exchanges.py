"""The exchange window: how many turns of somebody else, with the persona's answers, stay in a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpokenLine:
    """A rendered line and whether the persona said it."""

    text: str
    persona: bool


def newest_exchanges(lines: Sequence[SpokenLine], count: int, cap_chars: int) -> list[SpokenLine]:
    """Return the last `count` exchanges that fit under the cap, always the newest one whole.

    An exchange is a line of somebody else and all persona lines after it; persona lines before the first of somebody
    else belong to none. Exchanges go whole, the oldest first. Where only the persona spoke, single lines go, the
    oldest first, and the newest stays.

    Args:
        lines: chronological, oldest first.
        count: CONTEXT_EXCHANGE_WINDOW, 0 to 50; 0 (and less) returns the lines unchanged.
        cap_chars: CONTEXT_EXCHANGE_CHAR_CAP, most characters of all lines together, 100 to 1000000.

    Returns:
        The end of `lines`, oldest first; empty when there is none.

    >>> said = [SpokenLine(text, text[0] == "A") for text in ("H1", "A1", "A2", "H2", "A3", "A4", "H3", "A5")]
    >>> [line.text for line in newest_exchanges(said, 2, 8000)]
    ['H2', 'A3', 'A4', 'H3', 'A5']
    """
    if count <= 0:
        return list(lines)
    only_persona = all(line.persona for line in lines)
    start = len(lines)
    size = pending = kept = 0
    for index in range(len(lines) - 1, -1, -1):
        pending += len(lines[index].text)
        if lines[index].persona and not only_persona:
            continue
        if kept and size + pending > cap_chars:
            break
        start, size, pending, kept = index, size + pending, 0, kept + 1
        if kept == count and not only_persona:
            break
    return list(lines[start:])
