"""How well a row answers a search, from what it matches and how rare that is among visible rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

K1 = 1.2
"""How soon repeating a word stops counting."""
B = 0.75
"""How much a long text is held back; 0 not at all, 1 in proportion."""
INSIDE = 0.25
"""Worth of the same letters inside another word, against the whole word (T29a)."""


_NONE: frozenset[str] = frozenset()
_NO_PARTS: Mapping[str, float] = MappingProxyType({})


@dataclass(slots=True, eq=False)
class Candidate:
    """A row that may become a hit."""

    source: int
    id: int
    at_us: int
    words: int = 0
    """Length of its text in words; 0 when unknown."""
    matched: dict[int, tuple[int, bool]] = field(default_factory=dict)
    """Index of the text looked for to (times found, as a whole word)."""
    tags: frozenset[str] = _NONE
    """Tags asked for that it holds."""
    tier: int = 2
    score: float = 0.0
    parts: Mapping[str, float] = field(default_factory=lambda: _NO_PARTS)
    """What the score is made of, by the reasons of `search.ranking.weights`."""
    context: bool = False
    """It matches nothing itself and stands close to a row that does."""
    is_offered: bool = False
    """It matches nothing and was said on a day asked for, or by whom nothing else is known of."""
    by_meaning: bool = False
    """It matches nothing itself and was found by its vector (docs/embeddings.md)."""

    def match(self, wanted: int, times: int, whole: bool) -> None:
        """Note that the row holds a text; whole words add up, letters inside other words count where none is whole."""
        matched = self.matched
        before = matched.get(wanted)
        if before is None or (whole and not before[1]):
            matched[wanted] = (times, whole)
        elif whole == before[1]:
            matched[wanted] = (before[0] + times, whole)


def rarity_weight(docs: int, rows: int) -> float:
    """Return what finding a word is worth when it stands in `docs` of `rows` visible rows; always above 0."""
    rows = max(rows, docs)
    return math.log(1 + (rows - docs + 0.5) / (docs + 0.5))


def saturation(times: float, words: float, mean_words: float) -> float:
    """Return how much `times` in a text of `words` counts: 1 for once in a text of mean length, at most K1 + 1."""
    return times * (K1 + 1) / (times + hold_back(words, mean_words))


def hold_back(words: float, mean_words: float) -> float:
    """Return what `saturation` holds a text of so many words back by: one number for all that is found in it."""
    return K1 * (1 - B + B * (words or mean_words) / (max(1.0, mean_words)))


def score(
    candidate: Candidate,
    texts: Sequence[str],
    worth: Sequence[float],
    tag_worth: Mapping[str, float],
    *,
    mean_words: float,
) -> float:
    """Return the sum of what the row's matches are worth; always above 0 where a text is looked for."""
    total = 0.0
    held_back = hold_back(candidate.words, mean_words)
    matched = candidate.matched
    for wanted, (times, whole) in matched.items():
        gained = worth[wanted] * (times * (K1 + 1) / (times + held_back))  # `saturation`
        total += gained if whole else INSIDE * gained
    if candidate.tags:
        for tag in sorted(candidate.tags - {texts[wanted] for wanted in matched}):
            total += tag_worth.get(tag, 0.0)
    if not total and worth:
        # It holds one of the texts, further in than was looked: worth no more than the commonest of them.
        return INSIDE * min(worth)
    return total


def best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates by score, then tier, newest, source and id (T29f)."""
    return sorted(candidates, key=lambda c: (-c.score, c.tier, -c.at_us, c.source, -c.id))


def newest_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates in the order hits are handed out."""
    return sorted(candidates, key=lambda c: (-c.at_us, c.source, -c.id))


def tier_then_newest(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates in the order of recency mode."""
    return sorted(candidates, key=lambda c: (c.tier, -c.at_us, c.source, -c.id))


def without_many_contexts(ordered: Iterable[Candidate], most: int) -> list[Candidate]:
    """Return the candidates with at most the first `most` of those that match nothing themselves."""
    kept = []
    for candidate in ordered:
        if candidate.context:
            most -= 1
        if most >= 0 or not candidate.context:
            kept.append(candidate)
    return kept


def choose(ordered: Sequence[Candidate], limit: int, always: Candidate | None = None) -> list[Candidate]:
    """Return at most `limit` of the candidates, best first: each source that has one keeps its best."""
    first: dict[int, int] = {}
    for place, candidate in enumerate(ordered):
        first.setdefault(candidate.source, place)
    kept = set(sorted(first.values())[:limit])
    if always is not None and len(kept) < limit:
        kept.update(place for place, candidate in enumerate(ordered) if candidate is always)
    for place in range(len(ordered)):
        if len(kept) >= limit:
            break
        kept.add(place)
    return [ordered[place] for place in sorted(kept)]
