"""From what was said to what is kept, with a model's reply and without one (L13 to L18, L20, L21)."""

import json
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from core.config import Settings
from core.lifelong.rules_consolidation import choose_facts, date_facts, read_reply, window
from core.shapes import Line
from core.templates.words import phrases_for, refused_patterns

ANN, BOB = "tg/ann", "tg/bob"


def facts(**lists: Any) -> list[tuple[Any, ...]]:
    found = read_reply(json.dumps(lists), patterns=refused_patterns())
    assert found is not None
    return [(f.text, f.kind, f.importance, f.tier, f.tags) for f in found]


def test_l15_g23_importance_texts_and_tags_and_no_words_of_a_failure() -> None:
    assert facts(key_facts=["Error 429: too many requests", "Ann has a cat"])[0][0] == "Ann has a cat"
    entries = ["a", {"text": "b", "importance": 3, "tags": ["x", 7, " "]}, {"text": "c", "importance": "high"}]
    expected = (("a", 0.6, ()), ("b", 1.0, ("x",)), ("c", 0.6, ()))
    assert facts(key_facts=entries) == [(t, "KeyFacts", importance, "long_term", g) for t, importance, g in expected]
    assert facts(key_facts=["x" * 300])[0][0] == "x" * 200
    assert facts(key_facts=[{"text": "a", "temporary": True}])[0][3] == "long_term"
    assert facts(key_facts=[{"text": 7}, None, "", "  ", {"other": "x"}, ["a"]]) == []
    assert facts(key_facts="one text") == [("one text", "KeyFacts", 0.6, "long_term", ())]


def test_l14_the_window_is_within_20_to_500() -> None:
    given = (5, 20, 300, 500, 9000, None, "x", True)
    assert [window(each, 120) for each in given] == [20, 20, 300, 500, 500, 120, 120, 120]


def test_l18_sentences_worth_keeping() -> None:
    said = ["I really love rainy days.", "I feel lonely today.", "Remember that the key is under the mat.", "ok"]
    phrases = partial(phrases_for, settings=Settings())
    made = choose_facts([Line(text=text, participant=ANN) for text in said], phrases, deep=False)
    kinds = [("FactsAboutUser", "long_term"), ("Emotions", "session"), ("KeyFacts", "long_term")]
    assert [(fact.kind, fact.tier) for fact in made] == kinds
    refused = Line(text="My name is Jonas. Don't remember that, please.")
    for line in (Line(text="My name is Iris.", role="persona"), refused):
        assert choose_facts([line], phrases, deep=False) == []


@pytest.mark.parametrize(("text", "named", "day"), [
    ("Ann has a cat", 1, 1), ("Ann has a cat", None, 1),
    ("Ann has a cat", 2, 1),  # a model that numbers its facts
    ("Ann keeps an animal", "3", 3), ("Ann keeps an animal", 9, 4), ("Ann keeps an animal", [1], 4),
])  # fmt: skip
def test_f84_a_fact_has_the_time_of_the_message_that_states_it(text: str, named: Any, day: int) -> None:
    said = ["My cat is old", "The weather is fine", "I saw him", "ok"]
    lines = [Line(text=one, at=datetime(2026, 3, at, tzinfo=UTC)) for at, one in enumerate(said, 1)]
    found = read_reply(json.dumps({"key_facts": [{"text": text, "n": named}]}), patterns=())
    assert found is not None and [fact.at for fact in date_facts(found, lines)] == [lines[day - 1].at]
