"""Matches, snippets and digests of hits (rules T20, T21, T33 to T36, F58)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.folding import clean, fold
from core.text.hits import content_digest, find_match, snippet, snippet_around, snippet_of_match, stored_tags

texts = st.text(
    st.sampled_from("aé\u0301ßﬁ\u1100\u1161\u11a8각ｶﾞ猫😀 İ…\u0640न्द") | st.characters(codec="utf-8"), max_size=60
)


def test_t33_f58_a_broken_row_is_put_right() -> None:
    for tags in ('{"a": 1}', '"food"', '["a", 7]', "[broken", None, 7, "[" * 100_000):
        assert stored_tags(tags) == []


@pytest.mark.parametrize(("length", "expected"), [(399, 399), (400, 400), (401, 403)])
def test_t34_a_snippet_is_400_characters_and_three_dots(length: int, expected: int) -> None:
    assert len(snippet("a" * length, 400)) == expected and len(snippet("😀" * length, 400)) == expected
    for whole in ("\U0001f468\u200d\U0001f469\u200d\U0001f467", "🇩🇪", "👍🏽", "e\u0301"):
        assert snippet(f"x{whole * 400}", 400).endswith(f"{whole}...")


@pytest.mark.parametrize(("at", "length"), [(5000, 406), (0, 403), (9994, 403)])
def test_t35_the_snippet_stands_around_the_match(at: int, length: int) -> None:
    text = "x" * at + "needle" + "x" * (9994 - at)
    place = find_match(text.upper(), ["needle"])
    assert place == (at, 6)
    shown = snippet_around(text, *place, 400)
    assert len(shown) == length and "needle" in shown
    assert snippet_of_match([None, "nothing", text], ["needle"], 400) == shown
    assert snippet_of_match([None, "nothing"], ["needle"], 400) is None


def test_t35_the_passage_with_the_most_keywords_is_shown() -> None:
    text = f"A plum cake. {'Flour, then wait. ' * 45}Bake the plum cake at 180 degrees. {'Let it cool. ' * 50}"
    shown = snippet_of_match([text], ["plum", "cake", "degrees"], 100)
    assert shown is not None and "plum cake at 180 degrees" in shown
    assert (snippet_of_match([text], ["plum"], 100) or "").startswith("A plum cake.")
    # a short text comes whole and a long match from its beginning
    assert snippet_around("a cat", 2, 3, 400) == "a cat"
    assert snippet_around("ab" + "c" * 500 + "d", 2, 500, 400) == "..." + "c" * 400 + "..."


def test_t35_the_first_match_counts_and_folding_does_not_move_it() -> None:
    for keywords in (["tea", "fine"], ["fine", "tea"], ["fi", "fine", "tea"]):
        assert find_match("ß ß ﬁne tea", keywords) == (4, 3)
    for text, keyword, place in (
        ("ﬁﬁﬁ" * 1000 + "tea", "tea", (3000, 3)), ("e\u0301" * 3000 + "tea", "tea", (6000, 3)),
        ("😀" * 3000 + "tea", "😀tea", (2999, 4)), ("Cafe\u0301", "cafe", (0, 5)), ("a", "", None),
        ("e\u0640\u0301" * 30 + "tea", "tea", (90, 3)), ("हिन्दी " * 90 + "बैठक", "बैठक", (630, 4)),
        ("cats, bobcat, cat", "cat", (14, 3)),
    ):  # fmt: skip
        assert find_match(text, [keyword]) == place


@given(texts, st.data())
def test_t35_the_place_found_holds_the_keyword(text: str, data: st.DataObject) -> None:
    """The window must show what matched, whatever folding does to the lengths."""
    folded = fold(text)
    start = data.draw(st.integers(0, len(folded)))
    keyword = folded[start : data.draw(st.integers(start, len(folded)))]
    place = find_match(text, [fold(clean(keyword))])
    if fold(clean(keyword)) and fold(clean(keyword)) in folded:
        assert place is not None
        at, length = place
        assert 0 <= at < at + length <= len(text) and fold(clean(keyword)) in fold(text[at : at + length])


def test_t36_the_digest_follows_the_collapsed_text() -> None:
    assert content_digest("Jay  likes\ntea") == content_digest("jay likes TEA ")
    assert content_digest("tea") != content_digest("teas") and len(content_digest("\ud800\x00")) == 32
