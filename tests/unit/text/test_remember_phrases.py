"""What is worth remembering (rules T46, T47)."""

from __future__ import annotations

import time

import pytest

from core.templates.phrases import load_phrases
from core.text.remember_phrases import (
    GROUPS,
    REFUSALS,
    WANTED_GROUPS,
    groups_in,
    holds_phrase,
    is_explicit_wish,
    should_remember,
)

LANGUAGES = ("en", "de", "es", "fr", "it", "pt", "ja", "zh")
ENGLISH = load_phrases(["en"])


@pytest.mark.parametrize(
    ("user_text", "response_text", "expected"),
    [
        ("Please remember that my sister is called Ada", None, True),
        ("ＲＥＭＥＭＢＥＲ ＴＨＡＴ", None, True),
        ("My name is Jonas", None, True),
        ("I really love rainy days", None, True),
        ("I feel lonely today", None, True),
        ("ok", "That made me feel happy", True),
        ("Don't remember that, please", None, False),
        ("What time is it?", "Noon.", False),
        (None, "  ", False),
        (None, None, False),
        ("Don\u2019t remember that, please", "I feel happy", False),
        ("I feel happy", "I will do as you ask: off the record.", False),
        ("I don\u00b4t remember that", "My name is Jonas", False),
    ],
)
def test_t46_t47_the_table(user_text: str | None, response_text: str | None, expected: bool) -> None:
    assert should_remember(user_text, response_text, ENGLISH) is expected


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("Please remember that my sister is called Ada", "explicit"),
        ("My name is Jonas", "facts"),
        ("I really love rainy days", "preferences"),
        ("I feel lonely today", "feelings"),
        ("Don't remember that, please", "refusals"),
    ],
)
def test_t46_the_reason_is_the_group_of_the_table(text: str, group: str) -> None:
    assert group in groups_in(text, ENGLISH)


def test_t46_all_groups_empty_is_false() -> None:
    empty = load_phrases(["en"], {group: [] for group in GROUPS})
    assert should_remember("remember that", None, empty) is False
    assert should_remember("remember that", None, {}) is False


def test_t46_given_phrases_replace_their_group_alone() -> None:
    own = load_phrases(["en"], {"explicit": ["mark my words"]})
    assert should_remember("Mark my words, it rains", None, own) is True
    assert should_remember("remember that it rains", None, own) is False
    assert should_remember("My name is Jonas", None, own) is True
    assert should_remember("Mark my words", None, ENGLISH) is False


def test_t46_an_unknown_group_is_logged_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert load_phrases(["en"], {"explicitly": ["x"]}) == ENGLISH
    assert "explicitly" in caplog.text


def test_t46_languages_add_up_and_unknown_ones_add_nothing() -> None:
    several = load_phrases(["en", "de", "xx", "../en"])
    assert set(several["explicit"]) > set(ENGLISH["explicit"])
    assert should_remember("Merk dir: ich wohne in Rom", None, several)
    assert load_phrases([]) == dict.fromkeys(GROUPS, ())


@pytest.mark.parametrize("language", LANGUAGES)
def test_t46_every_shipped_phrase_does_what_its_group_says(language: str) -> None:
    """A refusal that stands inside a wish (`forget that` in `don't forget that`) would turn it round."""
    phrases = load_phrases([language])
    together = load_phrases(LANGUAGES)
    for group in WANTED_GROUPS:
        assert len(phrases[group]) >= 5
        for phrase in phrases[group]:
            for known in (phrases, together):
                assert should_remember(f"... {phrase} ...", None, known), phrase
    assert len(phrases[REFUSALS]) >= 5
    for phrase in phrases[REFUSALS]:
        assert not should_remember(f"{phrase}", None, together), phrase


@pytest.mark.parametrize(
    "text",
    [
        "Bitte merk dir, dass ich Tee mag",
        "Ich heiße Jonas",
        "Recuerda que mi hermana se llama Ada",
        "Me gustan los días de lluvia",
        "N\u2019oublie pas que je pars lundi",
        "Je m'appelle Jonas",
        "Ricordati che domani parto",
        "Mi sento sola oggi",
        "Não esqueças que eu moro em Lisboa",
        "名前を覚えておいてね",
        "请记住我的名字",
    ],
)
def test_t46_people_are_understood_in_their_language(text: str) -> None:
    assert should_remember(text, None, load_phrases(LANGUAGES))


@pytest.mark.parametrize(
    "text",
    [
        "Merk dir das bitte nicht, ich heiße Jonas",
        "No lo guardes, me llamo Ada",
        "N'enregistre pas ça, je m'appelle Ada",
        "Non ricordarlo, mi chiamo Ada",
        "Não guarde isso, meu nome é Ada",
        "私の名前はエイダ、でも覚えないで",
    ],
)
def test_t46_refusals_win_in_every_language(text: str) -> None:
    assert not should_remember(text, None, load_phrases(LANGUAGES))


def test_t47_phrases_match_on_word_boundaries() -> None:
    assert holds_phrase("Note  that I moved", ["note that"])
    assert not holds_phrase("a notebook that", ["note that"])
    assert not holds_phrase("footnote that", ["note that"])
    assert holds_phrase("footnote that; note\nthat", ["note that"])
    assert holds_phrase("NOTE THAT", ["Note  that"])
    assert holds_phrase("don\u2019t forget", ["don't forget"])
    assert holds_phrase("don't forget", ["don\u2019t forget"])
    assert not holds_phrase("cafe\u0301s", ["cafe"])
    assert holds_phrase("hey @memory!", ["@memory"])
    assert not holds_phrase(None, ["x"])
    assert not holds_phrase("anything", ["", "  "])


def test_t47_an_explicit_wish_is_the_explicit_group_without_refusal() -> None:
    assert is_explicit_wish("please remember that I like tea", ENGLISH)
    assert not is_explicit_wish("I bought a notebook", ENGLISH)
    assert not is_explicit_wish("my notebook", ENGLISH)
    assert not is_explicit_wish("don't remember that", ENGLISH)
    assert not is_explicit_wish("My name is Jonas", ENGLISH)


def test_t46_a_megabyte_is_read_in_bounded_time() -> None:
    phrases = load_phrases(LANGUAGES)
    start = time.process_time()
    assert not should_remember("noteb that rememberx " * 50_000, None, phrases)
    assert time.process_time() - start < 5
