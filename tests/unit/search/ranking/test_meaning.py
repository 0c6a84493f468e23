"""What the meaning of a row and of the turns around it tells (docs/embeddings.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.search.ranking import relevance
from core.search.ranking.relevance import AsOne, Near
from core.search.ranking.rows import Candidate
from core.search.ranking.weights import BY_MEANING, WEIGHTS, between


def row(place: int, *, session: int = 1) -> Candidate:
    return Candidate(2, place, 0, 20, place=place, session=session)


def near(worth: Mapping[int, float], as_one: AsOne) -> Near:
    """Return what is known of rows by their places; the vector of each is that number: a group tells who is in it."""
    vectors = {(2, place): np.array(place, np.float32) for place in worth}
    return Near({(2, place): value for place, value in worth.items()}, vectors, as_one)


def groups_of(places: Sequence[int]) -> dict[int, list[int]]:
    """Return the rows that are compared together, by the place of the row they are compared for."""
    seen: list[list[int]] = []

    def as_one(groups: Sequence[Sequence[Any]]) -> list[float]:
        seen.extend([int(vector) for vector in group] for group in groups)
        return [float(n + 1) for n in range(len(groups))]

    reasons = relevance.compare_meanings([row(n) for n in places], near(dict.fromkeys(places, 0.0), as_one))
    by_value = {float(n + 1): group for n, group in enumerate(seen)}
    told = zip(places, reasons, strict=True)
    return {place: by_value[mine["meaning_near"]] for place, mine in told if "meaning_near" in mine}


def test_t29_a_row_is_compared_together_with_the_two_turns_before_it_and_the_one_after() -> None:
    assert groups_of(range(1, 6)) == {1: [1, 2], 2: [1, 2, 3], 3: [1, 2, 3, 4], 4: [2, 3, 4, 5], 5: [3, 4, 5]}


def test_t29_the_turn_after_tells_about_a_row() -> None:
    known = near({1: 0.0, 2: 0.7, 4: 0.2}, lambda groups: [0.0] * len(groups))
    reasons = relevance.compare_meanings([row(1), row(2), row(4)], known)
    assert [mine["meaning"] for mine in reasons] == [0.0, 0.7, 0.2]
    assert [mine.get("meaning_after") for mine in reasons] == [0.7, None, None]
    assert not any("meaning_near" in mine for mine in reasons)


def test_t29_beside_a_known_meaning_words_around_a_row_count_less() -> None:
    """Both tell the same thing; without an embedder the words count as ever."""
    assert BY_MEANING.keys() <= WEIGHTS.keys()
    for long in (0.0, 1.0):
        assert between(BY_MEANING["session"], long) < between(WEIGHTS["session"], long)
