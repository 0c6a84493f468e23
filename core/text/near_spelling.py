"""Misspelt words: which known words are looked at for one that found nothing, and which of them is meant."""

from __future__ import annotations

from collections.abc import Mapping

from .folding import SPACELESS_PATTERN
from .stems import script_language
from .words import Fragment

SHORTEST, LONGEST = 5, 40
"""Characters of words that are tried: a shorter one is one slip away from too many."""
TWO_SLIPS = 9
"""Characters from which two slips are forgiven, else one."""
MOST_LONGER = 2
"""Most characters by which the two may differ in length."""
WITHOUT = frozenset({"ko", "he", "ar"})
"""Languages whose words are too short, or bend inside, for this to mean anything."""


_LAST_LETTERS = 3
"""Fewest letters of the second half of a word: fewer end very many words."""


def may_be_misspelt(word: str) -> bool:
    """Return whether a word that found nothing is worth a second look."""
    if not SHORTEST <= len(word) <= LONGEST or not word.isalpha() or SPACELESS_PATTERN.search(word):
        return False
    return script_language(word) not in WITHOUT


def split_halves(word: str) -> tuple[Fragment, Fragment]:
    """Return the pieces by which the known words are found that may be meant; asked only where nothing has the word."""
    middle = min((len(word) + 1) // 2, len(word) - _LAST_LETTERS)
    first = Fragment(word[:middle], "word", at_start=False, at_end=True, unless=word)
    return first, Fragment(word[middle:], "word", at_start=True, at_end=False, unless=word)


def choose_nearest(word: str, known: Mapping[str, int], score: float) -> str:
    """Return the known word that is meant by a misspelt one, "" where none is near enough."""
    if score <= 0 or not may_be_misspelt(word):
        return ""
    from rapidfuzz import fuzz  # noqa: PLC0415 - only where a word found nothing
    from rapidfuzz.distance import OSA  # noqa: PLC0415

    best: tuple[float, int, str] = (0.0, 0, "")
    for other, rows in sorted(known.items()):
        if other == word or other[:1] != word[:1] or abs(len(other) - len(word)) > MOST_LONGER:
            continue
        slips = 2 if min(len(word), len(other)) >= TWO_SLIPS else 1
        alike = fuzz.ratio(word, other, score_cutoff=score)
        if alike >= score and alike and OSA.distance(word, other, score_cutoff=slips) <= slips:
            best = max(best, (alike, rows, other))
    return best[2]
