"""What a question tells a search: whom it names, which days, what is asked for (T16)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.search.question.question import Question, has_number, read_question, time_expressions

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)  # a Tuesday
NAMES = ("Caroline", "Anna Schmidt", "Will", "Anna Berg", "Борис", "田中", "ada_92", "김민수", "Μαρία")


def read(text: str, **more: Any) -> Question:
    given = {"now": NOW, "zone": UTC, "speaker_names": NAMES, "languages": ("en",), **more}
    return read_question(text, **given)


def days(text: str, **more: Any) -> list[tuple[str, str]]:
    return [(since.date().isoformat(), until.date().isoformat()) for since, until in read(text, **more).days]


def month(text: str) -> tuple[str, str]:
    year, number = int(text[:4]), int(text[5:])
    return f"{text}-01", f"{year + number // 12}-{number % 12 + 1:02}-01"


WEEK_2 = ("2026-02-21", "2026-02-28")
MAY_7 = ("2023-05-07", "2023-05-08")
LAST_WEEK = ("2026-03-02", "2026-03-09")
YESTERDAY = ("2026-03-09", "2026-03-10")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did Caroline do on 7 May 2023?", MAY_7),
        ("What happened on May 7th, 2023?", MAY_7),
        ("2023-05-07", MAY_7),
        ("in May 2023", month("2023-05")),
        ("What did I do last March?", month("2025-03")),
        ("yesterday", YESTERDAY),
        ("Where was I two weeks ago?", WEEK_2),
        ("a couple of weeks ago", WEEK_2),
        ("Where did we go in 2022?", ("2022-01-01", "2023-01-01")),
        ("What did we plan on Monday?", YESTERDAY),
        ("last weekend", ("2026-03-07", "2026-03-09")),
        ("last week", LAST_WEEK),
        ("last summer", ("2025-06-01", "2025-09-01")),
        ("next Friday", ("2026-03-13", "2026-03-14")),
        ("the day before yesterday", ("2026-03-08", "2026-03-09")),
        ("am 7. Mai 2023", MAY_7),
        ("Was war vor zwei Wochen?", WEEK_2),
        ("le 7 mai 2023", MAY_7),
        ("il y a deux semaines", WEEK_2),
        ("el 7 de mayo de 2023", MAY_7),
        ("hace dos semanas", WEEK_2),
        ("il 7 maggio 2023", MAY_7),
        ("due settimane fa", WEEK_2),
        ("no dia 7 de maio de 2023", MAY_7),
        ("há duas semanas", WEEK_2),
        ("7 mei 2023", MAY_7),
        ("twee weken geleden", WEEK_2),
        ("7 мая 2023 года", MAY_7),
        ("что было две недели назад", WEEK_2),
        ("2023年5月7日", MAY_7),
        ("先週どこに行った", LAST_WEEK),
        ("上周我去了哪里", LAST_WEEK),
        ("三天前", ("2026-03-07", "2026-03-08")),
        ("지난주에 뭐 했어", LAST_WEEK),
        ("2023년 5월 7일", MAY_7),
    ],
)
def test_t16_days_are_read_in_ten_languages(text: str, expected: tuple[str, str]) -> None:
    assert days(text) == [expected]


@pytest.mark.parametrize(
    "text",
    ["I may go", "march on", "Tell me about Mars", "How many cats do I have?", "room 2341", "99/99/9999", "31 Feb"],
)
def test_words_that_only_look_like_days_are_none(text: str) -> None:
    assert days(text) == []


def test_a_month_or_day_without_a_year_is_that_of_each_of_the_last_years() -> None:
    assert days("What did we do in May?")[:2] == [month("2025-05"), month("2024-05")]
    assert days("on 5 March")[:2] == [("2026-03-05", "2026-03-06"), ("2025-03-05", "2025-03-06")]
    assert len(days("in January")) == 6


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("What did Caroline say?", {"Caroline"}),
        ("caroline's cat", {"Caroline"}),
        ("Carolines cat", {"Caroline"}),
        ("What does Anna like?", {"Anna Schmidt", "Anna Berg"}),
        ("What does Anna Berg like?", {"Anna Berg"}),
        ("Did Schmidt call?", {"Anna Schmidt"}),
        ("Will it rain?", set()),
        ("Did you see Will there?", {"Will"}),
        ("Что сказала Борису мама?", {"Борис"}),
        ("Кот Бориса", {"Борис"}),
        ("田中さんの猫は?", {"田中"}),
        ("What did Ada eat?", {"ada_92"}),
        ("김민수가 뭐라고 했어?", {"김민수"}),
        ("Τι είπε η Μαρίας;", {"Μαρία"}),
        ("carol", set()),
        ("", set()),
    ],
)
def test_t16_people_are_named_by_whole_and_first_names_possessives_and_cases(text: str, named: set[str]) -> None:
    assert read(text).people == named


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("What did Ben cook yesterday?", {"Ben"}),
        ("Where does Ben's sister live?", {"Ben"}),
        ("What did Omar ben Salah cook?", {"Omar ben Salah"}),
        ("What does Salah like?", {"Omar ben Salah"}),
        ("waar ben ik geweest?", set()),
        ("What did Omar Ben Salah say?", {"Omar ben Salah"}),
    ],
)
def test_t16_ben_is_a_first_name_and_no_name_as_a_particle(text: str, named: set[str]) -> None:
    assert read(text, speaker_names=("Ben", "Omar ben Salah", "Ada"), languages=("en", "nl")).people == named


@pytest.mark.parametrize(
    ("text", "own", "other"),
    [
        ("Where do I live?", True, False),
        ("What's my cat called?", True, False),
        ("What is your favourite colour?", False, True),
        ("Did you tell me?", True, True),
        ("Wo wohne ich?", True, False),
        ("Où est mon chat ?", True, False),
        ("¿Cuál es mi color favorito?", True, False),
        ("Qual è il mio colore preferito?", True, False),
        ("Qual é a minha cor favorita?", True, False),
        ("Wat is mijn lievelingskleur?", True, False),
        ("Как зовут мою кошку?", True, False),
        ("私の猫の名前は?", True, False),
        ("我的猫叫什么?", True, False),
        ("你喜欢什么?", False, True),
        ("내 고양이 이름은?", True, False),
        ("What did Ann say?", False, False),
    ],
)
def test_t16_i_and_you_are_understood(text: str, own: bool, other: bool) -> None:
    asked = read(text)
    assert (asked.self_person, asked.other) == (own, other)


WHEN = (
    "When did we meet?", "Wann war das?", "Quand ?", "¿Cuándo fue?", "Quando è stato?", "Wanneer was dat?",
    "Когда это было?", "いつ会った?", "什么时候见的?", "언제 만났어?", "What day was it?",
)  # fmt: skip
HOW_MANY = (
    "How many cats?", "how old is Ann", "Wie viele Katzen?", "Combien de chats ?", "¿Cuántos gatos?", "Quanti gatti?",
    "Quantos gatos?", "Hoeveel katten?", "Сколько кошек?", "猫は何匹?いくつ?", "有几只猫?", "고양이가 몇 마리?",
)  # fmt: skip


@pytest.mark.parametrize("text", [*WHEN, *HOW_MANY, "What is it?"])
def test_t16_when_and_how_many_are_understood(text: str) -> None:
    asked = read(text)
    assert (asked.wants_time, asked.wants_number) == (text in WHEN, text in HOW_MANY)


def test_turns_that_tell_a_time_or_a_number_are_told() -> None:
    timed = ("We met last May, two years ago", "Das war gestern", "先週行った", "in 2019", "на прошлой неделе")
    assert all(map(time_expressions, (*timed, "le mois dernier")))
    assert not any(map(time_expressions, ("I may go", "I like tea")))
    assert all(map(has_number, ("two cats", "3 cats", "zwei Katzen", "猫が三匹", "три кошки"))) and not has_number(
        "cats"
    )


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 9999),
    st.integers(0, 99),
    st.integers(0, 99),
    st.sampled_from(["{0}-{1}-{2}", "{2}.{1}.{0}", "{2} May {0}"]),
)
def test_any_date_in_digits_is_read_without_failing(year: int, month: int, day: int, form: str) -> None:
    for since, until in read(form.format(year, month, day)).days:
        assert since < until


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where do I live?", True),
        ("Is the pump fine?", True),
        ("What is the current price?", True),
        ("Where did I live before?", False),
        ("What was the price last week?", False),
        ("Wo wohne ich jetzt?", True),
        ("Wo war ich im Urlaub?", False),
        ("¿Dónde vive Ana ahora?", True),
        ("¿Dónde fue la fiesta?", False),
        ("Où en est le projet ?", True),
        ("Qu'est-ce que c'était ?", False),
        ("Где сейчас работает Иван?", True),
        ("Где была Анна вчера?", False),
        ("今どこで働いていますか?", True),
    ],
)
def test_t63_a_question_asks_what_holds_now_or_what_was(text: str, expected: bool) -> None:
    assert read(text).is_present is expected
