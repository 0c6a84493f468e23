"""Tags: normal form, finding known ones, expansion, and what is refused (rules T1 to T6, T12, T13, T15)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.shapes import Vocabulary
from core.tags.rules import expand, extract, normal, stored_form
from core.text.folding import fold

EN = ("en",)


def found(text: str | None, vocabulary: Vocabulary | None) -> list[str]:
    return extract(text, vocabulary=vocabulary, languages=EN)


def test_t1_a_tag_in_normal_form() -> None:
    forms = {"  Ｐizza  NIGHT\n": "pizza night", "   ": "", "a\tb\x00\x07c": "a bc", "a \x01 b": "a b",
             "a\x01\u0301": "á", "İstanbul": "istanbul"}  # fmt: skip
    assert {text: normal(text) for text in forms} == forms
    assert normal("ß\u0301") == "sś", "folding makes an s that takes the accent behind it"


@given(st.text() | st.text("aß \x01\x1c\u0301\u0345\u0323¨´\u1100\u1161ｶﾞ", max_size=8))
def test_t1_normal_form_of_a_normal_form_is_itself(text: str) -> None:
    once = normal(text)
    assert normal(once) == once == once.strip() and not any(ord(char) < 32 for char in once)


def test_t2_stored_tags_are_unique_and_in_first_seen_order() -> None:
    for tags, kept in ((["Food", "food ", " Café", 7], ["food", "café", "7"]), ('["a","b"]', ["a", "b"]),
                       ("food", ["food"]), (None, []), ([None, "", "x"], ["x"]), ("[not json", ["[not json"]),
                       ('{"a": 1}', ['{"a": 1}'])):  # fmt: skip
        assert stored_form(tags) == (kept, [])
    assert stored_form("[" * 1_000_000) == ([], [1_000_000])
    assert stored_form(["a" * 255, "é" * 128]) == (["a" * 255], [256]), "longer tags are named by their length"
    with pytest.raises(TypeError, match=r"tags\[1\].*list"):
        stored_form(["a", ["b"]])


@given(st.lists(st.text(max_size=20) | st.sampled_from(['say "hi"', "back\\slash", '["x"'])))
def test_t2_t3_what_is_stored_is_stored_again_unchanged(tags: list[str]) -> None:
    once, _ = stored_form(tags)
    assert stored_form(once) == stored_form(json.dumps(once)) == (once, [])


def test_t4_without_a_vocabulary_the_words_come_back() -> None:
    assert found("Hi Jay, 2024 jay RETRODECK a_b", None) == ["jay", "retrodeck", "a_b"]
    assert found(" ".join(f"word{n}" for n in range(20)), None) == [f"word{n}" for n in range(12)]
    assert found("", None) == found(None, None) == found("   ", None) == []


PIZZA = Vocabulary(tags={"pizza night": 1, "pizza": 3, "cat": 2}, aliases={"kitty": "cat"})


def test_t5_known_tags_longest_first_in_order_of_appearance() -> None:
    assert found("Kitty came to pizza night", PIZZA) == ["cat", "pizza night", "pizza"]
    assert (found("a cat, a kitty, a CAT", PIZZA), found("night pizza", PIZZA)) == (["cat"], ["pizza"])
    assert found("", PIZZA) == found(None, PIZZA) == found("category", PIZZA) == []
    known = Vocabulary(tags={"a b c": 1, "b c": 1, "c": 1, "a b c d": 1})
    assert found("x a b c d", known) == ["a b c", "b c", "c"], "stretches reach three words"


@pytest.mark.parametrize(("text", "tags"), [
    ("Remember that the club is called Orion", ["remember", "club", "called", "orion"]),
    ("Ich mag die Katze und das Haus", ["katze", "haus"]),
    ("Où est la maison, et pourquoi pas la voiture, mon frère ?", ["maison", "voiture", "frere"]),
])  # fmt: skip
def test_t58_a_stop_word_is_never_a_tag(text: str, tags: list[str]) -> None:
    """One row with the tag `the` would be recalled by nearly every message."""
    assert found(text, None) == tags
    stored = Vocabulary(tags=dict.fromkeys([*text.casefold().replace("?", "").replace(",", "").split()], 1))
    assert [fold(tag) for tag in found(text, stored)] == tags


STATES = Vocabulary(tags={"open": 3, "done": 5, "offen": 2, "will": 1, "urgent": 1}, aliases={"ended": "done"})


@pytest.mark.parametrize(("text", "tags"), [
    ("What is still open?", ["open"]), ("which notes are done", ["done"]), ("What has ended?", ["done"]),
    ("Was ist noch offen?", ["offen"]), ("open", ["open"]), ("open or done", ["open", "done"]), ("Will it rain?", []),
    ("Who opens the shop?", []), ("I left the window open again this morning", []), ("I am done with it", []),
])  # fmt: skip
def test_t58_a_question_finds_a_stop_word_that_is_a_tag_unless_the_host_tags_every_word(text: str, tags: Any) -> None:
    """An agent asked what is still open, of notes with the tag `open`, and got none of them."""
    assert found(text, STATES) == tags
    every = Vocabulary(tags=dict.fromkeys(["there", "what", "that", "shop", "open"], 1))
    assert found("Is the shop open now?", every) == ["shop"]


@pytest.mark.parametrize(("text", "tags"), [
    ("I write C++ daily", ["c++"]), ("vitamin c daily", []), ("see O\u2019Brien there", ["o'brien"]),
    ("science sci-fi", ["sci-fi"]), ("an ai thing", ["ai"]), ("we had ❤\ufe0f and 🍕!", ["🍕"]),
    ("数学の宿題は", ["数学", "宿題"]),
    ("新しいtシャツです", ["tシャツ"]), ("tofu😀cat", []), ("ein 猫cafe hier", ["猫cafe"]), ("die 猫cafeteria", []),
])  # fmt: skip
def test_t5_t8_tags_with_signs_symbols_and_scripts_without_spaces(text: str, tags: list[str]) -> None:
    known = ["c++", "o'brien", "sci-fi", "ai", "🍕", "数学", "宿題", "tシャツ", "猫cafe"]
    assert found(text, Vocabulary(tags=dict.fromkeys(known, 1))) == tags


def test_t6_stems_then_near_spelling() -> None:
    known = Vocabulary(tags={"cat": 1, "recipe": 1, "fried": 1})
    assert (found("cats", known), found("recipie", known)) == (["cat"], ["recipe"])
    assert found("friend", known) == found("xyz", known) == []
    assert found("precipe", known) == []  # another first letter
    aliases = Vocabulary(tags={"cat": 1}, aliases={"kitty": "cat", "moggiecat": "cat"})
    assert found("kitties", aliases) == found("moggicat", aliases) == ["cat"]
    equal = Vocabulary(tags={"abcdefghijkx": 1, "abcdefghijkz": 5, "abcdefghijky": 5})
    assert found("abcdefghijkl", equal) == ["abcdefghijky"], "the most used of equals, then the first by name"
    several = Vocabulary(tags={"pizza night": 1, "nights": 1})
    assert found("pizza night", several) == ["pizza night"], "a word that found something is not tried again"
    assert found("one night", several) == ["nights"]


def test_t12_t13_the_largest_weight_counts_and_cycles_add_nothing_twice() -> None:
    weights = Vocabulary(links={"a": (("x", 0.1), ("y", 2.0)), "b": (("x", 5.0),)})
    assert expand(["a", "b"], weights) == ["a", "b", "x", "y"]
    cycle = Vocabulary(links={"a": (("b", 1.0), ("a", 1.0), ("b", 1.0)), "b": (("a", 1.0),)})
    assert expand(["a"], cycle) == expand(["a", "b"], cycle) == ["a", "b"]
