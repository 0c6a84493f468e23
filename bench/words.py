"""The made-up language of the benchmark: pronounceable words, drawn as often as the words of a language are.

The same everywhere and always: `random.Random` with a fixed seed is all that decides.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate, product

WORDS = 60_000
TAGS = 3_000
_STEPS = 1 << 22
"""Places of the table words are drawn from; the rarest word has a few of them."""

_HEADS = (
    "b",
    "d",
    "f",
    "g",
    "h",
    "k",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "t",
    "v",
    "z",
    "br",
    "dr",
    "gl",
    "kr",
    "pl",
    "st",
    "tr",
)
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ou")
_ENDS = ("", "", "", "", "n", "r", "l", "m", "k", "nt")
_SYLLABLES = (0.02, 0.33, 0.42, 0.18, 0.05)
"""Share of words with one, two, three, four and five syllables."""


def vocabulary(count: int = WORDS, seed: int = 1) -> list[str]:
    """Return `count` different words of at least 4 letters, the most frequent first; those tend to be short.

    >>> vocabulary(3) == vocabulary(3), all(word.isalpha() and word.isascii() for word in vocabulary(50))
    (True, True)
    """
    rng = random.Random(seed)
    syllables = ["".join(parts) for parts in product(_HEADS, _VOWELS)]
    sizes = list(accumulate(_SYLLABLES))
    found: dict[str, float] = {}
    while len(found) < count:
        share = rng.random()
        size = next(n for n, upto in enumerate(sizes, 1) if share <= upto or n == len(sizes))
        word = "".join(rng.choices(syllables, k=size)) + rng.choice(_ENDS)
        if len(word) >= 4:
            found.setdefault(word, len(word) + rng.gauss(0, 3))
    return sorted(found, key=lambda word: (found[word], word))


def zipf_table(count: int, steps: int = _STEPS, *, exponent: float = 1.0) -> list[int]:
    """Return numbers below `count`, each in proportion to 1 / (its rank ** exponent), at least once, for `rng.choices`.

    >>> table = zipf_table(4, 100)
    >>> [table.count(n) for n in range(4)]
    [48, 24, 16, 12]
    """
    weights = [1.0 / rank**exponent for rank in range(1, count + 1)]
    total = sum(weights)
    table: list[int] = []
    for number, weight in enumerate(weights):
        table += [number] * max(1, round(steps * weight / total))
    return table


def tag_words(words: Sequence[str], count: int = TAGS) -> list[str]:
    """Return the tags: every twentieth word of the language, so that tags are words of messages too."""
    step = max(1, len(words) // count)
    return [words[n] for n in range(step // 2, len(words), step)][:count]
