"""Where in a text a word stands, and how a long text is cut into passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..base.patterns import lazy_pattern
from .folding import SPACELESS, marks_class

PASSAGE = 60
"""Words of a passage."""
WHOLE = 90
"""A text of no more words than these is one passage."""
MOST_PLACES = 20
"""Places of one word that are looked at in one text."""

_SPACELESS_CHAR = lazy_pattern(f"[{SPACELESS}]")

_BEHIND = lazy_pattern(f"[\\w{marks_class()}]*")
_BEFORE = lazy_pattern(f"[\\w{marks_class()}]*\\Z")
LONGEST_WORD = 80
"""Characters before a place that are looked at for the beginning of its word."""

Place = tuple[int, bool]
"""Where it begins, and whether it is the whole word there (T29a)."""


def rough_words(folded: str) -> int:
    """Return about how many words a text has: what is between spaces, and every character of scripts without spaces."""
    count = folded.count(" ") + 1
    return count if folded.isascii() else count + len(_SPACELESS_CHAR.findall(folded))


def is_spaceless(text: str) -> bool:
    """Return whether a text holds characters of a script without spaces, where no word is around a word."""
    return not text.isascii() and _SPACELESS_CHAR.search(text) is not None


def find_places(folded: str, text: str, terms: Mapping[str, bool], *, always_whole: bool = False) -> list[Place]:
    """Return where a text looked for stands in a folded text, at most MOST_PLACES places."""
    found: list[Place] = []
    at = folded.find(text) if text else -1
    while at >= 0 and len(found) < MOST_PLACES:
        end = at + len(text)
        if always_whole:
            found.append((at, True))
        else:
            start = at
            if at and not folded[at - 1].isspace():
                after = max(folded.rfind(" ", 0, at) + 1, at - LONGEST_WORD)
                start = _BEFORE.search(folded, after, at).start()  # type: ignore[union-attr]
            end = _BEHIND.match(folded, end).end()  # type: ignore[union-attr]
            found.append((at, terms.get(folded[start:end], end - start == len(text))))
        at = folded.find(text, end)
    return found


def parts_of(words: int) -> int:
    """Return how many passages a text of so many words is cut into."""
    return 1 if words <= WHOLE else round(words / PASSAGE)


def by_passage(places: Mapping[int, Sequence[Place]], chars: int, parts: int, inside: float) -> list[dict[int, float]]:
    """Return for each of `parts` equal passages how often each text stands in it."""
    if parts == 1:
        return [{n: sum([1.0 if whole else inside for _, whole in found]) for n, found in places.items()}]
    made: list[dict[int, float]] = [{} for _ in range(parts)]
    for number, found in places.items():
        for at, whole in found:
            held = made[min(parts - 1, at * parts // max(chars, 1))]
            held[number] = held.get(number, 0.0) + (1.0 if whole else inside)
    return made
