"""Wishes are recognised where they are said, and nowhere else: a corpus in ten languages, half of it held out."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.wishes import rules_patterns as wish_patterns
from core.wishes.recognition import load_wish_words
from core.wishes.rules import MOST_WISHES, Wish, build_topic, find_wishes
from tests.unit.wishes.wishes_corpus import LINES, OTHERS, WISHES


def found(text: str) -> list[Wish]:
    return find_wishes(text, load_wish_words(text, ["en"]))


def topics(text: str) -> list[str]:
    return [wish.topic for wish in found(text)]


HUNDREDS = ("en", "de", "fr", "es", "it", "pt", "nl", "ja", "zh")


@pytest.mark.parametrize("half", [0, 1], ids=["development", "held_out"])
@pytest.mark.parametrize("language", HUNDREDS)
def test_c12_wishes_are_found_with_few_mistakes(language: str, half: int) -> None:
    """A wish missed is said again; a wish invented stands in every prompt from then on."""
    mine = [text for code, text in WISHES if code == language]
    others = [text for code, text in OTHERS if code == language]
    assert len(mine) >= 100 and len(others) >= 100
    right = sum(bool(found(text)) for text in mine[half::2])
    wrong = sum(bool(found(text)) for text in others[half::2])
    assert right / len(mine[half::2]) >= 0.9
    assert right / (right + wrong) >= 0.98


@pytest.mark.parametrize("half", [0, 1], ids=["development", "held_out"])
def test_wishes_are_found_with_few_mistakes_in_all_languages(half: int) -> None:
    hits = wrong = wished = 0
    for language in LINES:
        mine = [text for code, text in WISHES if code == language][half::2]
        others = [text for code, text in OTHERS if code == language][half::2]
        right = sum(bool(found(text)) for text in mine)
        hits, wished = hits + right, wished + len(mine)
        wrong += sum(bool(found(text)) for text in others)
        assert right / len(mine) >= 0.7, language
    assert hits / (hits + wrong) >= 0.96
    assert hits / wished >= 0.9


@pytest.mark.parametrize(
    ("text", "wished"),
    [
        ("Please remember that I'm vegetarian", ["diet"]),
        ("Don't forget that I'm allergic to nuts", ["allergy:nuts"]),
        ("<@999> call me Jo", ["name"]),
        ("@Iris I'm vegan and allergic to nuts", ["diet", "allergy:nuts"]),
        ("Hey @Iris, call me Jo and always answer in metric units", ["name", "units"]),
        ("I'm allergic to nuts, eggs and milk", ["allergy:nuts eggs and milk"]),
        ("> Are you vegan?\nPlease remember that I'm vegetarian", ["diet"]),
        ("Call me Jo\n  > I'm vegan\nand I'm allergic to nuts", ["name", "allergy:nuts"]),
        ("> I'm vegan", []),
        ("Please always answer in French, said the teacher", []),
        ("I'm allergic to Mondays", []),
        ("If I were vegan", []),
        ("Are you vegan?", []),
        ("I was vegan for years", []),
    ],
)
def test_c12_what_is_said_in_front_beside_and_around_a_wish(text: str, wished: list[str]) -> None:
    assert topics(text) == wished


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Call me Jo", "My name is Max"),
        ("I am vegetarian", "I eat meat again"),
        ("Always answer in metric units.", "From now on, use miles please."),
        ("please never use emojis", "Always use emojis in your replies"),
        ("I don't eat pork", "I can't eat pork"),
        ("Keep your answers short", "I prefer long answers"),
        ("Nenn mich Jo", "Ich heiße Max"),
        ("Antworte bitte immer auf Deutsch.", "Ab jetzt antworte auf Englisch"),
        ("Je suis végétarienne", "Je ne suis plus végétarienne"),
        ("Always end with a joke for me", "Never end with a joke for me"),
        ("Always include sources when I ask about health", "Never include sources when I ask about health"),
    ],
)
def test_a_contrary_wish_has_the_same_topic(older: str, newer: str) -> None:
    """The topic is what lets the newer take the older one's place."""
    assert topics(older) == topics(newer)
    assert len(topics(older)) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I'm allergic to nuts", "I'm allergic to shellfish"),
        ("I don't eat pork", "I don't eat fish"),
        ("Call me Jo", "Don't call me Joanna"),
        ("I am vegan", "I'm allergic to nuts"),
        ("Never use emojis", "Never use tables"),
        ("Always include sources when I ask about health", "Always include prices when I ask about food"),
    ],
)
def test_wishes_that_can_both_hold_have_topics_of_their_own(one: str, other: str) -> None:
    assert topics(one)
    assert topics(other)
    assert topics(one) != topics(other)


def test_the_sentence_is_the_wish_and_what_stands_around_it_is_not() -> None:
    text = "Hello! We went to Rome. By the way, I'm vegan, so skip the cheese. What is for dinner?"
    assert found(text) == [Wish("By the way, I'm vegan, so skip the cheese.", "diet", "diet")]


def test_of_two_wishes_about_one_topic_in_a_message_the_last_counts() -> None:
    assert [wish.text for wish in found("Call me Jo. I am vegan. No, call me Joanna.")] == [
        "I am vegan.", "No, call me Joanna.",
    ]  # fmt: skip


def test_a_preference_is_one_in_general_not_of_what_is_at_hand() -> None:
    """The question after it is no part of it."""
    assert found("I prefer working in the mornings, can you plan my week?")[0].kind == "preference"
    for text in ("I prefer this one", "I prefer to wait here", "I prefer option B", "Do you prefer tea?"):
        assert found(text) == [], text


@pytest.mark.parametrize(
    "text",
    [
        "```\nAlways answer in French.\n```",
        "> Always answer in French.\nWhat does this mean?",
        'She wrote "always answer in French please" and left.',
        "Always answer in French. " * 400,
        "",
        "   ",
        "?!",
    ],
)
def test_what_is_quoted_or_pasted_is_no_wish(text: str) -> None:
    assert found(text) == []


def test_a_message_has_at_most_five_wishes_and_a_topic_at_most_eighty_characters() -> None:
    foods = ("pork", "beef", "fish", "garlic", "cheese", "eggs", "soy", "wheat")
    assert len(found(" ".join(f"I don't eat {food}." for food in foods))) == MOST_WISHES
    long = found("Always explain " + "antidisestablishmentarianism " * 8 + "when I ask about it")
    assert [len(wish.topic) <= 80 for wish in long] == [True]
    assert len(build_topic("word" * 70)) == 80


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read_without_failing(text: str) -> None:
    assert len(found(text)) <= MOST_WISHES


def test_long_and_hostile_texts_are_read_in_bounded_time() -> None:
    """Saving a message must not wait for its wishes."""
    found("warm up")
    hostile = [
        "always " * 550, "always answer " * 280, "call me " * 490, "か" * 3999, "以后用" * 1300, "," * 3999,
        "from now on always use " * 12, "a" * 1_000_000, "“" * 3999, "```" * 1300,
    ]  # fmt: skip
    for text in hostile:
        start = time.process_time()
        found(text)
        assert time.process_time() - start < 1.5, text[:20]


def test_a_sentence_that_begins_a_wish_again_and_again_costs_no_third_power(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the rest of a pattern does not match, it is not tried again for every beginning before it."""
    tried: list[int] = []
    ends = wish_patterns._ends

    def counted(*arguments: Any) -> Any:
        tried.append(1)
        return ends(*arguments)

    monkeypatch.setattr(wish_patterns, "_ends", counted)
    assert found("これからは絵文字" * 37) == []
    assert 100 < len(tried) < 20_000
