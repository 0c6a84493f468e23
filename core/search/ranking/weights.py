"""Weights of the ranking reasons, and BM25. Pure."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from ...index.numbers import Floats

Number = TypeVar("Number", float, "Floats")

K1 = 1.2
"""BM25 k1: how soon repetitions of a word stop counting."""
B = 0.75
"""BM25 b: how much its length lowers the score of a text; 0 not at all, 1 in proportion to its length."""
EARLIER = 0.7
"""Weight of a word of the turns before a question that refers to them, as a share of the weight of its own words."""
INSIDE = 0.25
"""Weight of letters inside another word, as a share of the whole word's weight."""


def rarity_weight(docs: int, rows: int) -> float:
    """BM25 inverse document frequency of a word in `docs` of `rows` visible rows; above 0."""
    rows = max(rows, docs)
    return math.log(1 + (rows - docs + 0.5) / (docs + 0.5))


def saturation(times: Number, words: Number, mean_words: float) -> Number:
    """BM25 term saturation: weight of `times` occurrences in a text of `words` words, at most K1 + 1."""
    return times * (K1 + 1) / (times + hold_back(words, mean_words))


def hold_back(words: Number, mean_words: float) -> Number:
    """BM25 length normalization of a text of `words` words."""
    return K1 * (1 - B + B * words / max(1.0, mean_words))


class Weight(NamedTuple):
    """Weight of a ranking reason in conversations of short turns, and in conversations of long turns."""

    short: float
    long: float


WEIGHTS: dict[str, Weight] = {
    "context": Weight(6.0, 0.0),
    "own": Weight(0.0, 3.3),
    "turn": Weight(0.0, 2.0),
    "share": Weight(1.0, 2.25),
    "session": Weight(2.5, 1.1),
    "beside": Weight(1.0, 5.0),
    "meaning": Weight(3.0, 2.25),
    "meaning_near": Weight(4.5, 0.0),
    "meaning_after": Weight(0.0, 2.25),
    "person": Weight(1.5, 0.7),
    "near": Weight(1.0, 1.0),
    "first": Weight(0.0, 2.25),
    "length": Weight(1.0, 0.0),
    "time": Weight(2.0, 0.0),
    "number": Weight(1.5, 0.9),
    "spelling": Weight(-4.0, -4.0),
    "quote": Weight(-4.0, -4.0),
    "day": Weight(8.0, 8.0),
    "days_after": Weight(6.0, 6.0),
    "month": Weight(4.0, 4.0),
    "coming": Weight(4.0, 4.0),
    "told": Weight(3.0, 3.0),
    "statement": Weight(30.0, 30.0),
}

BY_MEANING = {"context": Weight(4.0, 0.0), "turn": Weight(0.0, 0.9), "session": Weight(1.25, 0.55)}
"""Weights that replace those of WEIGHTS if rows have vectors, which give much of the same evidence."""

FULL_SHARE = 0.6
"""Minimum score of a row's own words, as a share of the best, to be ordered by time if first or last is asked for."""

REPEAT = Weight(0.4, 2.7)
"""Deduction from a row for a better row of its session; larger in long turns, which repeat each other more."""
REPEAT_ROWS = 20
"""Session length up to which REPEAT is deducted in full; longer sessions have many subjects and lose less."""
REPEAT_AGAIN = 0.25
"""Factor from one deduction for a session to the next: the fourth row loses little more than the third."""

LEAST_CONTEXT, LEAST_REFERRED = 0.1, 0.25
"""Values of `RankingQuery.least_context`: for most questions, and for a question that refers to earlier turns."""

SHORT_TURNS, LONG_TURNS = 40.0, 100.0
"""Mean words of a turn up to which turns are short, and from which they are long."""

PASSAGE = 60
"""Length of a passage in words."""
WHOLE = 90
"""Maximum number of words of a text that is read as one passage."""
SHORT_ROW = 60.0
"""Length of a row in words at which its neighbour's score fades to 1/e."""
MOST_LENGTH = 60
"""Length in words above which a longer text is no better."""
USUAL_LENGTH = 20
"""Length in words that neither raises nor lowers the score: a short `Wow, cool!` is seldom an answer."""

OF_WORDS = frozenset(
    {"own", "turn", "share", "context", "session", "beside", "meaning", "meaning_near", "meaning_after"}
)
"""Reasons from words or vectors, which count in full; other reasons are multiplied by `reasons.find_fitting`."""
FULL_MATCH = 0.1
"""Word score from which the reasons outside OF_WORDS count in full; below it, they count in proportion."""
LIKE = 0.2
"""Factor by which the reason `meaning` counts in the score that is compared with FULL_MATCH."""


@lru_cache(maxsize=1024)
def find_weight(name: str, long: float) -> float:
    return between(WEIGHTS[name], long)


def between(weight: Weight, long: Number) -> Number:
    """Return a weight between its values for short turns (`long` 0) and long turns (1); `long` may be an array."""
    return weight.short + (weight.long - weight.short) * long
