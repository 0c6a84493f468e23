"""The ranking of a search: what each reason is, and that none decides alone (T16, T24, T27 to T31)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.search.question.question import Question
from core.search.ranking import relevance, weights
from core.search.ranking.reasons import name_texts, on_days, person_of
from core.search.ranking.relevance import rank_rows
from core.search.ranking.rows import PERSONA, Asked, Candidate, FoundRow, Probe, Speaker, choose, without_many_contexts
from core.search.ranking.weights import weights_for
from core.text.question_words import is_question

MINUTE = 60_000_000
ONE = Asked([2.0], 2.0, 20.0)


def row(place: int, held: dict[int, float] | None = None, words: int = 20, session: int = 1) -> Candidate:
    """Return a row of one passage at a place of its conversation."""
    return passages([held or {}], words, place=place, session=session)


def passages(held: list[dict[int, float]], words: int, **known: Any) -> Candidate:
    """Return a row with these passages."""
    return Candidate(2, 1, 0, words, passages=held, **known)


def scored(rows: list[Candidate], asked: Asked = ONE, **reasons: float) -> list[float]:
    """Return the scores of rows among short turns, each with these further reasons."""
    relevance.match_words(rows, asked)
    for one in rows:
        one.reasons.update(reasons)
        relevance.weigh(one, weights_for(0.0))
    return [one.score for one in rows]


def test_t29_other_reasons_never_decide_alone() -> None:
    """A row around which nothing matches has no score, whoever said it and however long it is."""
    rows = [row(0, {0: 1.0}), row(9)]
    found = scored(rows, person=1.0, length=1.0, time=1.0, number=1.0)
    assert found[0] > 0 == found[1]


def test_t16_a_row_of_the_day_asked_for_fits_by_its_day() -> None:
    """A question that names a day may share no other word with what was said then."""
    rows = [row(0, {0: 1.0}), row(9)]
    assert scored(rows, day=1.0, person=1.0)[1] > 0


def test_t16_whose_row_it_is_decides_who_is_meant() -> None:
    """A name the question gives outweighs `I`, and `I` outweighs `you`."""
    ada, ben, own = Speaker("Ada", "tg/1", ""), Speaker("Ben", "tg/2", ""), Speaker("Iris", "", PERSONA)
    about = Question(people=frozenset({"Ada"}), self_person=True)
    assert [person_of(about, "tg/2", who) for who in (ada, ben, own)] == [1.0, -1.0, -1.0]
    mine = Question(self_person=True, other=True)
    assert [person_of(mine, "tg/2", who) for who in (ada, ben, own)] == [-1.0, 1.0, -1.0]
    yours = Question(other=True)
    assert [person_of(yours, "tg/2", who) for who in (ada, ben, own)] == [-1.0, -1.0, 1.0]
    assert person_of(Question(), "tg/2", ada) == 0.0
    assert name_texts(["Ada King"], ["ada", "king", "kings", "cat"], ["en"]) == {0, 1}


def test_t16_days_near_the_one_asked_for_count_less() -> None:
    """People tell of a day on the days after it."""
    day = datetime(2023, 5, 7, tzinfo=UTC)
    asked = [(day, day + timedelta(days=1))]
    near = [on_days(asked, day + timedelta(days=n)) for n in (-2, -1, 0, 3, 12)]
    assert near == [{}, {"days_after": 1.0}, {"day": 1.0}, {"days_after": 1.0}, {}]
    month = [(datetime(2023, 5, 1, tzinfo=UTC), datetime(2023, 6, 1, tzinfo=UTC))]
    assert [on_days(month, datetime(2023, m, 5, tzinfo=UTC)) for m in (4, 5, 6, 7)] == [
        {}, {"month": 1.0}, {"month": 0.5}, {},
    ]  # fmt: skip
    assert on_days(asked, None) == {}


def test_t27_another_session_goes_before_the_next_row_of_one_already_chosen() -> None:
    """Far more so among long turns; a session where much of the answer stands still gives several rows."""
    scores = ((5.0, 0), (4.5, 0), (4.2, 0), (4.0, 1))

    def rows(long: float) -> list[Candidate]:
        return [
            Candidate(2, n, 0, score=score, session=session, long=long) for n, (score, session) in enumerate(scores)
        ]

    assert spaced(rows(1.0)) == [0, 3, 1, 2]
    assert spaced(rows(0.0)) == [0, 1, 3, 2]
    elsewhere = rows(1.0)
    elsewhere[1].session = 2
    assert spaced(elsewhere) == [0, 1, 3, 2]
    many = [Candidate(2, n, 0, score=5.0, session=0, long=1.0) for n in range(10)]
    last = Candidate(2, 10, 0, score=0.2, session=1, long=1.0)
    assert spaced([*many, last]) == list(range(11))
    many = [Candidate(2, n, 0, score=3.0, session=0, long=1.0) for n in range(relevance.SPACED)]
    beyond = Candidate(2, relevance.SPACED, 0, score=2.9, session=1, long=1.0)
    assert spaced([*many, beyond]) == list(range(relevance.SPACED + 1))


def spaced(rows: list[Candidate]) -> list[int]:
    """Return the ids of rows in the order they are chosen."""
    return [row.id for row in relevance.spaced(rows)]


def test_t27_a_row_gives_way_less_to_another_of_a_session_of_many_rows() -> None:
    """Who talks for hours talks of many things: the next row of such a session tells something else."""

    def rows(session_rows: int) -> list[Candidate]:
        told = enumerate(((5.0, 0), (4.5, 0), (3.9, 1)))
        return [Candidate(2, n, 0, score=s, session=of, session_rows=session_rows, long=1.0) for n, (s, of) in told]

    few, many = weights.REPEAT_ROWS, 10 * weights.REPEAT_ROWS
    assert spaced(rows(few)) == spaced(rows(0)) == [0, 2, 1]
    assert spaced(rows(many)) == [0, 1, 2]


def turn(n: int, text: str, place: int, **known: Any) -> Candidate:
    """Return a message that was read; it matches where it speaks of tea."""
    matched = {0: (1, True)} if "tea" in text else {}
    row = FoundRow(2, n, 0, (text,), text, None)
    return Candidate(2, n, n * MINUTE, place=place, row=row, matched=matched, context=not matched, **known)


def test_t27_what_a_row_is_worth_goes_by_the_turns_of_its_own_conversation() -> None:
    """Among ever more long talk of others, rows of a chat of short turns keep their scores."""
    chat = ["did you see it", "not yet", "we had green tea", "with whom", "ann came along", "how nice"]

    def score_chat(mean_turn_words: float) -> list[float]:
        asked = Asked([2.0], 2.0, 20.0, mean_turn_words, probes=[Probe(0, "tea", {"tea": True})], groups=[0])
        rows = [turn(n, text, n, session=1, long=0.0) for n, text in enumerate(chat)]
        rank_rows(rows, asked)
        return [row.score for row in rows]

    assert score_chat(15.0) == score_chat(80.0)


def test_t24_few_hits_match_nothing_themselves() -> None:
    """And T30: what fits best by its own words stays."""
    rows = [Candidate(2, n, n, score=9.0 - n, context=n < 5) for n in range(9)]
    assert [c.id for c in without_many_contexts(rows, 2)] == [0, 1, 5, 6, 7, 8]
    assert rows[8] in choose(rows, 4, rows[8]) and len(choose(rows, 4, rows[8])) == 4


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Which agency did she pick?", "en", True),
        ("which agency did she pick", "en", True),
        ("I picked an agency", "en", False),
        ("wo wohnt Anna", "de", True),
        ("誰が来た", "ja", True),
        ("كم قطة عندي؟", "ar", True),
        ("agency", "en", False),
        ("", "en", False),
    ],
)
def test_t24_a_question_is_known_by_its_mark_or_its_first_word(text: str, language: str, expected: bool) -> None:
    """Only then may an answer stand beside a matching row."""
    assert is_question(text, [language]) is expected
