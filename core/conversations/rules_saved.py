"""Which saved memories a prompt shows when it cannot show all, and with whose name."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ..text.folding import fold, one_line
from ..text.hits import known_name


class Saved(NamedTuple):
    """A saved memory, and whose it is."""

    text: str
    participant: str | None = None
    """Key of who asked for it; None for the persona's own."""
    person: str = ""
    """That person's name; blank where it is not known."""


def name_texts(saved: Sequence[Saved], own: Collection[str | None]) -> list[str]:
    """Return the texts, each with its person's name in front where any is of somebody else than who is answered."""
    if all(not one.participant or one.participant in own for one in saved):
        return [one.text for one in saved]
    names = [known_name(one.person, (one.participant or "").partition("/")[2]) for one in saved]
    return [f"{name}: {one_line(one.text)}" if name else one.text for name, one in zip(names, saved, strict=True)]


def choose_saved(
    texts: Sequence[str], pinned: Sequence[bool], words: Sequence[str], *, most: int, most_chars: int
) -> list[int]:
    """Return the positions of the memories that are shown, in the order given."""
    if len(texts) <= most and sum(map(len, texts)) <= most_chars:
        return list(range(len(texts)))
    matches = [count_words(text, words) for text in texts]
    order = sorted(range(len(texts)), key=lambda at: (not pinned[at], -matches[at], -at))
    chosen: list[int] = []
    room = most_chars
    for at in order:
        if len(chosen) == most:
            break
        if len(texts[at]) <= room:
            chosen.append(at)
            room -= len(texts[at])
    return sorted(chosen)


def count_words(text: str, words: Sequence[str]) -> int:
    """Return how many of the words stand in the text; in scripts that divide words, at the beginning of one."""
    folded = fold(text)
    return sum(_stands_in(folded, word) for word in dict.fromkeys(map(fold, words)) if word)


def _stands_in(folded: str, word: str) -> bool:
    at = folded.find(word)
    while at >= 0:
        if at == 0 or word[0] > "\u052f" or not (folded[at - 1].isalnum() or folded[at - 1] == "_"):
            return True
        at = folded.find(word, at + 1)
    return False
