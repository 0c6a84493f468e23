"""How well the rows of a search answer it, with the reasons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heapreplace

from ...text.passages import PASSAGE
from . import neighbours
from .meaning import AsOne, meanings
from .ranking import K1, hold_back
from .rows import Asked, Row, together
from .weights import REPEAT, REPEAT_AGAIN, REPEAT_ROWS, between

OF_WORDS = frozenset(
    {"own", "turn", "share", "context", "session", "beside", "meaning", "meaning_near", "meaning_after"}
)
"""Reasons that stand on words found, or on the meaning of the whole; the others never decide alone."""
MOST_LENGTH = 60
"""Words beyond which a longer text is no better."""
USUAL_LENGTH = 20
"""Words of a text that is neither favoured nor held back for its length."""
SPACED = 80
"""Rows that are looked at for what stands in the session of a better one."""
LEAST_CONTEXT = 0.1
"""What the words around a row must be worth, of all that is asked, before it is shown though it matches nothing."""
CONTEXT_SHARE = 0.3
"""Most of the hits that may match nothing themselves; one at least."""
LIKE = 0.2
"""What a meaning counts beside words for FULL_MATCH."""
_LENGTHS = [0.0, *(math.log(words / USUAL_LENGTH) for words in range(1, MOST_LENGTH + 1))]
FULL_MATCH = 0.1
"""Reasons beside the words count in full from here on, and less below: they never decide alone."""


def matches(rows: Sequence[Row], asked: Asked, as_one: AsOne | None = None) -> None:
    """Give each row the reasons that stand on the words asked for."""
    mean = min(float(PASSAGE), asked.mean_words)
    for row in rows:
        own = turn = share = row.tags / asked.total
        if len(row.passages) == 1:
            held = row.passages[0]
            if held:
                value = _bm25(held, max(1, row.words), mean, asked)
                alike = row.words and mean == asked.mean_words  # usual: one passage of turns that are not long
                own += value
                turn += value if alike else _bm25(held, row.words, asked.mean_words, asked)
                share += _share(held, asked)
        elif any(row.passages):
            size = max(1, row.words) / len(row.passages)
            found = [held for held in row.passages if held]
            own += max([_bm25(held, size, mean, asked) for held in found])
            turn += _bm25(together(found), row.words, asked.mean_words, asked)
            share += max([_share(held, asked) for held in found])
        row.reasons = {"own": own, "turn": turn, "share": share}
    of_threads = neighbours.threads(rows)
    neighbours.contexts(of_threads, asked, mean)
    neighbours.sessions(of_threads, asked)
    neighbours.besides(of_threads)
    if as_one is not None:
        meanings(of_threads, as_one)


def _bm25(held: Mapping[int, float], words: float, mean: float, asked: Asked) -> float:
    worth, held_back = asked.worth, hold_back(words, mean)
    found = [worth[n] * (times * (K1 + 1) / (times + held_back)) for n, times in held.items()]  # `saturation`
    return sum(found) / asked.total


def _share(held: Mapping[int, float], asked: Asked) -> float:
    return sum([asked.worth[n] * min(1.0, times) for n, times in held.items()]) / asked.total


def length_of(words: int) -> float:
    """Return what speaks for a row by its length: `Wow, cool!` seldom holds an answer; 0 for one of usual length."""
    return _LENGTHS[min(max(1, words), MOST_LENGTH)]


def weigh(row: Row, weights: Mapping[str, float]) -> None:
    """Give the row its score: its reasons, weighted."""
    reasons = row.reasons
    match = reasons["context"]
    beside = 1.0
    if match < FULL_MATCH and not any(reasons.get(name) and weights[name] for name in ("day", "month")):
        match = max(match, reasons.get("own", 0.0), LIKE * reasons.get("meaning", 0.0))
        beside = min(1.0, match / FULL_MATCH)
    total = 0.0  # the sum of `parts`, which is wanted for a few rows of hundreds
    for name, value in reasons.items():
        if value:
            total += weights[name] * value if beside == 1.0 or name in OF_WORDS else weights[name] * value * beside
    row.score = round(total, 6)


def parts(row: Row, weights: Mapping[str, float]) -> dict[str, float]:
    """Return what each reason adds to the score of the row."""
    made = {name: weights[name] * value for name, value in row.reasons.items() if value and weights[name]}
    match = max(row.reasons["context"], row.reasons.get("own", 0.0), LIKE * row.reasons.get("meaning", 0.0))
    if match < FULL_MATCH and not ("day" in made or "month" in made):
        for name in made.keys() - OF_WORDS:
            made[name] *= match / FULL_MATCH
    return made


def spaced(ordered: Sequence[Row]) -> list[int]:
    """Return the places of the rows in the order they are chosen: a little is off for a better row of the session."""
    off: dict[tuple[str, int], float] = {}
    less: dict[tuple[str, int], float] = {}
    left = [(-row.score, n) for n, row in enumerate(ordered[:SPACED])]
    heapify(left)
    chosen: list[int] = []
    while left:
        worth, n = left[0]
        row = ordered[n]
        session = (row.thread, row.session)
        now = off.get(session, 0.0) - row.score
        if now > worth:  # rows of its session were chosen since
            heapreplace(left, (now, n))
            continue
        heappop(left)
        chosen.append(n)
        step = less.get(session, between(REPEAT, row.long) * REPEAT_ROWS / max(REPEAT_ROWS, row.plain.session_rows))
        off[session] = off.get(session, 0.0) + step
        less[session] = step * REPEAT_AGAIN
    chosen += range(len(chosen), len(ordered))
    return chosen
