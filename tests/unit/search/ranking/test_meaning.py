"""What the meaning of a row and of the turns around it tells (docs/embeddings.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.search.ranking import relevance
from core.search.ranking.rows import Asked, Candidate
from core.search.ranking.weights import BY_MEANING, WEIGHTS, weights_for

NOTHING_KNOWN = Asked([2.0], 2.0, 20.0)


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

    relevance.match_words(rows, NOTHING_KNOWN, as_one)
    by_value = {float(n + 1): group for n, group in enumerate(seen)}
    return {one.place: by_value[one.reasons["meaning_near"]] for one in rows if "meaning_near" in one.reasons}


def test_t29_a_row_is_compared_together_with_the_two_turns_before_it_and_the_one_after() -> None:
    """The answer is far from the question, the turn that asked for it is near."""
    assert groups_of([row(n, 0.0) for n in range(1, 6)]) == {
        1: [1, 2],
        2: [1, 2, 3],
        3: [1, 2, 3, 4],
        4: [2, 3, 4, 5],
        5: [3, 4, 5],
    }


def test_t29_the_turn_after_tells_about_a_row() -> None:
    """Who asks an assistant says in a line what the assistant then says at length."""
    rows = [row(1, 0.0), row(2, 0.7), row(4, 0.2)]
    relevance.match_words(rows, NOTHING_KNOWN, lambda groups: [0.0] * len(groups))
    assert [one.reasons["meaning"] for one in rows] == [0.0, 0.7, 0.2]
    assert [one.reasons.get("meaning_after") for one in rows] == [0.7, None, None]
    assert not any("meaning_near" in one.reasons for one in rows)
    # Without an embedder nothing is said of any of it.
    relevance.match_words(rows, NOTHING_KNOWN)
    assert not any(name.startswith("meaning") for one in rows for name in one.reasons)


def test_t29_beside_a_known_meaning_words_around_a_row_count_less() -> None:
    """Both tell the same thing; without an embedder the words count as ever."""
    assert BY_MEANING.keys() <= WEIGHTS.keys()
    assert weights_for(0.5, 0.0) == weights_for(0.5)
    for long in (0.0, 1.0):
        alone, half, beside = weights_for(long), weights_for(long, 0.5), weights_for(long, 1.0)
        assert {name for name in alone if alone[name] != beside[name]} <= BY_MEANING.keys()
        assert beside["session"] < half["session"] < alone["session"]
