"""The ranking of a search: what each reason is, meanings too, and that none decides alone (T16, T24, T27 to T31)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.index.shapes import WORD
from core.search.ranking import reasons, relevance, weights
from core.search.ranking.reasons import SessionScores
from core.search.ranking.relevance import AsOne, Near
from core.search.ranking.rows import (
    Candidate,
    FoundRow,
    RankingQuery,
    ScoredRow,
    WordScorer,
    choose,
    without_many_contexts,
)
from core.search.ranking.weights import BY_MEANING, WEIGHTS, between
from core.search.terms import GroupShare, QueryTerm


def scored(*rows: dict[str, float]) -> list[float]:
    """Return the scores of rows among short turns that have these reasons."""
    columns = {name: np.array([row.get(name, 0.0) for row in rows]) for name in {**rows[0], **rows[-1]}}
    parts = reasons.weigh(columns, reasons.find_fitting(columns), np.zeros(len(rows)))
    return sum(parts.values(), np.zeros(len(rows))).tolist()


def read(candidate: Candidate, text: str = "hm") -> ScoredRow:
    stored = FoundRow(2, candidate.id, 0, (text,), text, None)
    return ScoredRow(candidate, stored, candidate.matched, context=candidate.context, score=candidate.score,
                     reasons=candidate.reasons)  # fmt: skip


def test_t16_t29_other_reasons_never_decide_alone_but_the_day_asked_for_does() -> None:
    others = {"person": 1.0, "length": 1.0, "time": 1.0, "number": 1.0}
    found = scored({"context": 1.0, **others}, others)
    assert found[0] > 0 == found[1]
    others = {"context": 0.0, "length": 1.0}
    found = scored({**others, "day": 1.0}, {**others, "time": 1.0})
    assert found[0] > 8 and found[1] == 0


@pytest.mark.parametrize(("word", "tag"), [("cafe", "cafe"), ("cafe", "café"), ("かめら", "カメラ"), ("елка", "ёлка")])
def test_t29_a_tag_that_a_text_holds_as_a_word_counts_once(word: str, tag: str) -> None:
    alone = WordScorer([QueryTerm(word, "keyword"), QueryTerm(tag, "tag")], [1.0, 1.0], 10.0)
    assert alone.score({0: (1, True), 1: (1, True)}, 10) == alone.score({0: (1, True)}, 10)


def test_t27_a_short_row_gains_what_the_best_passage_of_its_neighbour_is_worth() -> None:
    text = f"tofu tofu {'word ' * 200}"
    long = Candidate(2, 2, 0, 202, place=2, session=1, long=1.0, tag_worth=0.5, reasons={"own": 0.1})
    rows = [Candidate(2, place, 0, 5, place=place, session=1, long=1.0) for place in (1, 4)]
    elsewhere = Candidate(2, 3, 0, 5, place=3, session=2, long=1.0)
    terms = [QueryTerm("tofu", "keyword", group=0)]
    asked = RankingQuery(terms, [1.0], 1.0, 50.0, shares={(WORD, "tofu"): [GroupShare(0)]})
    made = relevance.rank_rows([*map(read, rows), read(long, text), read(elsewhere)], asked)
    near, apart, ranked, other = made
    assert ranked.own > 1.5
    assert near.reasons["beside"] == pytest.approx(ranked.own * math.exp(-5 / weights.SHORT_ROW))
    assert apart.reasons["beside"] == other.reasons["beside"] == 0


def test_t27_another_session_goes_before_the_next_row_of_one_already_chosen() -> None:
    scores = ((5.0, 0), (4.5, 0), (4.2, 0), (4.0, 1))

    def rows(long: float) -> list[Candidate]:
        return [Candidate(2, n, 0, score=score, session=of, long=long) for n, (score, of) in enumerate(scores)]

    assert spaced(rows(1.0)) == [0, 3, 1, 2] and spaced(rows(0.0)) == [0, 1, 3, 2]
    elsewhere = rows(1.0)
    elsewhere[1] = replace(elsewhere[1], session=2)
    assert spaced(elsewhere) == [0, 1, 3, 2]
    many = [Candidate(2, n, 0, score=5.0, session=0, long=1.0) for n in range(10)]
    last = Candidate(2, 10, 0, score=0.2, session=1, long=1.0)
    assert spaced([*many, last]) == list(range(11))
    many = [Candidate(2, n, 0, score=3.0, session=0, long=1.0) for n in range(relevance.SPACED)]
    beyond = Candidate(2, relevance.SPACED, 0, score=2.9, session=1, long=1.0)
    assert spaced([*many, beyond]) == list(range(relevance.SPACED + 1))


def spaced(rows: list[Candidate]) -> list[int]:
    return [row.row.id for row in relevance.space_rows([read(row) for row in rows])]


def test_t27_a_row_gives_way_less_to_another_of_a_session_of_many_rows_which_is_found_by_its_number() -> None:
    """Who talks for hours talks of many things: the next row of such a session tells something else."""

    def rows(session_rows: int) -> list[Candidate]:
        told = enumerate(((5.0, 0), (4.5, 0), (3.9, 1)))
        return [Candidate(2, n, 0, score=s, session=of, session_rows=session_rows, long=1.0) for n, (s, of) in told]

    few, many = weights.REPEAT_ROWS, 10 * weights.REPEAT_ROWS
    assert spaced(rows(few)) == spaced(rows(0)) == [0, 2, 1] and spaced(rows(many)) == [0, 1, 2]
    sessions = np.array([5, 1, 2, 9])
    scores = SessionScores(np.array([2, 5]), np.array([1.0, 3.0], np.float32))
    assert scores.find(sessions).tolist() == [3.0, 0.0, 1.0, 0.0]
    assert SessionScores(sessions[:0], scores.worth[:0]).find(sessions).tolist() == [0.0] * 4


def test_t24_few_hits_match_nothing_themselves() -> None:
    rows = [read(Candidate(2, n, n, score=9.0 - n, context=n < 5)) for n in range(9)]
    assert [row.row.id for row in without_many_contexts(rows, 2)] == [0, 1, 5, 6, 7, 8]
    assert rows[8] in choose(rows, 4, rows[8]) and len(choose(rows, 4, rows[8])) == 4


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


def test_t29_a_row_is_compared_with_the_two_turns_before_it_and_the_one_after_which_tells_about_it() -> None:
    assert groups_of(range(1, 6)) == {1: [1, 2], 2: [1, 2, 3], 3: [1, 2, 3, 4], 4: [2, 3, 4, 5], 5: [3, 4, 5]}
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
