"""G10, G11: how texts are folded for comparing, and what a text loses on its way in."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.text.folding import clean, fold, fold_case

ANY = st.text(st.characters(exclude_categories=()), max_size=80)
"""Texts with every code point there is, lone surrogates and NUL too."""


def test_g10_fold_is_nfkc_then_case_folding_then_no_accents() -> None:
    """Accents go from Latin and Greek letters alone: elsewhere a mark makes another letter."""
    folded = {"ＡＢＣ Straße": "abc strasse", "ﬁn": "fin", "Café": "cafe", "cafe\u0301": "cafe", "città": "citta",
              "ΣΊΣΥΦΟΣ": "σισυφοσ", "σίσυφος": "σισυφοσ", "Tiếng Việt ǟ ẛ̣ İ": "tieng viet a s i"}  # fmt: skip
    assert {text: fold(text) for text in folded} == folded
    assert all(fold(one) != fold(other) for one, other in ("йи", "がか", ("कि", "क")))


@pytest.mark.parametrize("spellings", [
    "ёлка елка", "إلى الى الي", "قِطّة قطة قطه", "ﻻ لا", "مـدرسة مدرسه", "کتاب كتاب", "٣٤ ۳۴ 34", "शहर३ शहर3",
    "スシ すし ｽｼ", "Isparta ısparta İsparta", "łódź lodz", "Øre ore", "œuf oeuf", "Straße strasse", "שָׁלוֹם שלום",
    "за́мок замок", "м'яч м’яч мʼяч", "Oʻzbek O‘zbek o'zbek",
])  # fmt: skip
def test_t57_spellings_of_one_word_are_equal(spellings: str) -> None:
    assert len({fold(each) for each in spellings.split()}) == 1


@given(ANY)
def test_g10_no_latin_or_greek_letter_keeps_an_accent_and_a_folded_text_is_folded(text: str) -> None:
    assert fold_case(text) == unicodedata.normalize("NFKC", text).casefold()
    assert fold(fold(fold(text))) == fold(fold(text))
    for char in fold(text):
        first, *marks = unicodedata.normalize("NFD", char)
        assert not (marks and unicodedata.name(first, "").startswith(("LATIN SMALL", "GREEK SMALL"))), char


@given(ANY)
@example("a\x00b \ud800x\udfff Ａ\u200b\r\n\t\u202e😀 ")
def test_g11_a_text_loses_nul_and_lone_surrogates_and_nothing_else(text: str) -> None:
    wanted = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text if char != "\x00")
    assert clean(text) == wanted == clean(clean(text))
    clean(text).encode("utf-8")
