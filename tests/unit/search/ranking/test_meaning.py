"""What the meaning of a row and of the turns around it tells (docs/embeddings.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.search.ranking import relevance
from core.search.ranking.rows import Candidate
from core.search.ranking.weights import BY_MEANING, WEIGHTS, weight_of


def row(place: int, meaning: float, *, session: int = 1, known: bool = True) -> Candidate:
    """Return a row at a place of its conversation; its vector is that number, so that a group tells who is in it."""
    vector = place if known else None
    return Candidate(2, 1, 0, 20, place=place, session=session, meaning=meaning, vector=vector)


def groups_of(rows: list[Candidate]) -> dict[int, list[int]]:
    """Return the rows that are compared together, by the place of the row they are compared for."""
    seen: list[list[int]] = []

    def as_one(groups: Sequence[Sequence[Any]]) -> list[float]:
        seen.extend(list(group) for group in groups)
        return [float(len(seen) - len(groups) + n + 1) for n in range(len(groups))]

    relevance.compare_meanings(rows, as_one)
    by_value = {float(n + 1): group for n, group in enumerate(seen)}
    return {one.place: by_value[one.reasons["meaning_near"]] for one in rows if "meaning_near" in one.reasons}


def test_t29_a_row_is_compared_together_with_the_two_turns_before_it_and_the_one_after() -> None:
    assert groups_of([row(n, 0.0) for n in range(1, 6)]) == {
        1: [1, 2],
        2: [1, 2, 3],
        3: [1, 2, 3, 4],
        4: [2, 3, 4, 5],
        5: [3, 4, 5],
    }


def test_t29_the_turn_after_tells_about_a_row() -> None:
    rows = [row(1, 0.0), row(2, 0.7), row(4, 0.2)]
    relevance.compare_meanings(rows, lambda groups: [0.0] * len(groups))
    assert [one.reasons["meaning"] for one in rows] == [0.0, 0.7, 0.2]
    assert [one.reasons.get("meaning_after") for one in rows] == [0.7, None, None]
    assert not any("meaning_near" in one.reasons for one in rows)


def test_t29_beside_a_known_meaning_words_around_a_row_count_less() -> None:
    """Both tell the same thing; without an embedder the words count as ever."""
    assert BY_MEANING.keys() <= WEIGHTS.keys()
    for long in (0.0, 1.0):
        changed = {name for name in WEIGHTS if weight_of(name, long) != weight_of(name, long, 1.0)}
        assert changed <= BY_MEANING.keys()
        assert weight_of("session", long, 1.0) < weight_of("session", long, 0.5) < weight_of("session", long)
