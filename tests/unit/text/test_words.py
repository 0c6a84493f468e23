"""Words, salient words, stems and index terms (rules T4, T7 to T11 and T24's decomposition)."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.base.resources import find
from core.text.folding import clean, fold
from core.text.forms.variants import find_forms
from core.text.search_words import choose_rarest, common_words_asked, salient_words, search_form
from core.text.stems import LONGEST_WORD, stem, stems
from core.text.words import STOP_WORD_LANGUAGES, fragments, index_terms, is_short_word, stop_words, words
from tests.store.world import run_at_once

HOSTILE = "aZ_09ß ﬁé\u0301\u0308\ufe0f\u200d😀❤👍🏽🇮🇹5の充猫カｶﾞ한국어ไทย数学%_!\\'\"{}\x00\ud800\n\u0130ǅ²½İ"
texts = st.text(st.sampled_from(HOSTILE) | st.characters(), max_size=40)
dense = st.text(st.sampled_from("ab1_ 猫犬の❤\ufe0f\u0301-"), max_size=25)


@pytest.mark.parametrize(("text", "expected"), [
    ("Hi Jay, 2024 jay RETRODECK a_b", ["jay", "retrodeck", "a_b"]), ("O'Brien", ["brien"]), ("", []),
    ("__init__ _ ___ 123 1_2", ["init", "1_2"]), ("❤\ufe0fpizza", ["pizza"]), ("٢٠٢٤ 2024", []),
    ("数学の宿題", ["数学", "学の", "の宿", "宿題"]), ("猫", ["猫"]), ("한국 가 사람들", ["한국", "사람들"]),
    ("๒๕๖๗ ไทย", ["ไท", "ทย"]), ("5の充", ["の充"]),
])  # fmt: skip
def test_t4_t8_words_are_folded_unique_and_long_enough_or_pairs(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(texts)
def test_t4_t8_words_hold_for_any_text(text: str) -> None:
    found = words(text)
    assert len(found) == len(set(found))
    for word in found:
        assert word in fold(clean(text)) and not word.isdigit()
        assert word.strip("_") == word or len(word) <= 2


def test_t7_t21_salient_words_leave_out_the_stop_words_of_each_language() -> None:
    """A list that nobody names would never be read, and a name is no path."""
    assert all(map(is_short_word, ("ha", "Tom", "été"))) and not any(map(is_short_word, ("cats", "c4t", "猫", "한국")))
    for text, languages, limit, expected in (
        ("you and the retrodeck", ["en"], 24, ["retrodeck"]), ("the and you", ["en"], 24, []),
        ("You NEEDN'T retrodeck", ["en"], 24, ["retrodeck"]), ("und retrodeck", ["en", "de"], 24, ["retrodeck"]),
        ("und retrodeck", ["en"], 24, ["und", "retrodeck"]), ("alpha1 beta1 gamma1", ["en"], 2, ["alpha1", "beta1"]),
    ):  # fmt: skip
        assert salient_words(text, languages, limit) == expected
    assert len(salient_words(" ".join(f"w{n}x" for n in range(300)), ["en"])) == 300
    files = {path.stem for path in find("prompts/stop_words").iterdir()}
    assert files == STOP_WORD_LANGUAGES and all(100 < len(stop_words(code)) < 700 for code in files)
    assert "fur" in stop_words("DE") and "don't" in stop_words("en") and "don" in stop_words("en")
    assert stop_words("zz") == stop_words("") == stop_words("../remember/en") == frozenset()


def test_t9_search_form_is_a_stem_the_word_begins_with() -> None:
    """`going` has the stem `go`, which would be found inside far too many words."""
    forms = {"recipes": "recip", "running": "run", "retrodeck": "retrodeck", "猫": "猫", "going": "going"}
    assert {word: search_form(word, ["en"]) for word in forms} == forms
    assert (stem("häuser", ["de"]), search_form("häuser", ["de"])) == ("haus", "häuser")


@pytest.mark.parametrize(("text", "expected"), [
    ("Who has a TV?", ["tv"]), ("was the tv on", ["tv"]), ("Is Bo in team B, or in IT?", ["bo", "team", "b", "it"]),
    ("Do I write C# or C++?", ["c#", "c++", "write"]), ("Who is number 7, and what costs 120?", ["7", "costs", "120"]),
    ("On 7 May 2023 or 2023-05-07", ["2023"]), ("我去了哪个湖?", ["湖"]), ("鍵はどこ?", ["鍵"]),
])  # fmt: skip
def test_t57_short_words_names_and_numbers_are_looked_for(text: str, expected: list[str]) -> None:
    found = salient_words(text, ["en"])
    assert [word for word in found if word in expected] == expected
    assert {"is", "in", "or", "on", "do", "去", "的"}.isdisjoint(found)


@pytest.mark.parametrize(("language", "family"), [
    ("en", "buy buys buying bought"), ("en", "eat eating ate eaten"), ("en", "child children"),
    ("en", "colour colors coloured"), ("en", "travelled traveling"), ("de", "kaufen kauft kaufte gekauft"),
    ("de", "essen isst gegessen"), ("de", "München Muenchen"), ("fr", "achetée achète acheté"),
    ("es", "dormir duermo durmió"), ("it", "scrivere scritto"), ("pt", "facto fato"), ("nl", "kopen kocht"),
    ("ru", "купил купила покупаю"), ("sv", "köpa köpte"), ("pl", "kupił kupować"), ("ar", "القلعة قلاع قَلعة"),
    ("ar", "مدرستي المدارس"), ("he", "הבית בתים"), ("ko", "고양이가 고양이는 고양이에게"),
])  # fmt: skip
def test_t65_irregular_forms_have_one_stem(language: str, family: str) -> None:
    """Who ate is asked what they eat; each form leads to where the others stand in the index."""
    forms = [fold(word) for word in family.split()]
    assert len({stem(form, [language]) for form in forms}) == 1
    for asked, written in zip(forms, family.split(), strict=True):
        found = find_forms(written, [language], lambda text: [form for form in forms if form.startswith(text)])
        assert {asked, *found} == set(forms), asked


@pytest.mark.parametrize(("text", "languages", "expected"), [
    ("Where do I work?", ["en"], ["work"]), ("Why did I have to go?", ["en"], ["have", "go"]),
    ("Was will ich haben?", ["de", "en"], ["will"]), ("Can you say that again?", ["en"], []),
    ("Thanks, that is all for now.", ["en"], []), ("How are you?", ["en"], []), ("the who", ["en"], ["the", "who"]),
])  # fmt: skip
def test_t57_a_question_of_common_words_is_searched_by_them(text: str, languages: Any, expected: list[str]) -> None:
    found = common_words_asked(text, languages, 12)
    assert set(expected) <= set(found)
    assert expected or not found


@given(texts, st.sampled_from([("en",), ("en", "de"), ("ru", "xx"), ()]))
def test_t9_search_form_always_stands_in_the_word(word: str, languages: tuple[str, ...]) -> None:
    """In Latin letters it begins it; elsewhere articles and prepositions may stand before it."""
    form = search_form(word, languages)
    assert form in word and (word.startswith(form) or not word.isascii())
    assert form == word or len(form) >= (2 if any("\uac00" <= char <= "\ud7a3" for char in word) else 3)


def test_stems_of_every_thread_agree() -> None:
    """Stemmers are not shared between threads; a shared one gives wrong stems or crashes."""
    several = [f"{root}{end}" for root in ("walk", "jump", "recip", "cat", "run") for end in ("s", "ing", "ed", "es")]
    alone = [stems(f"{word}x" * 2 + "ing", ["en", "de"]) for word in several]

    def work() -> Any:
        return [stems(f"{word}x" * 2 + "ing", ["en", "de"]) for word in several * 50][: len(several)]

    assert run_at_once([work] * 8) == [alone] * 8 and stem("a" * (LONGEST_WORD + 1) + "ing", ["en"]).endswith("ing")


def test_t11_the_rarest_are_kept_in_first_seen_order() -> None:
    """The one word that is stored anywhere must not be cut off behind 299 others."""
    many = [f"w{n}" for n in range(300)]
    assert choose_rarest(many, {"w250": 1}, 24) == [*many[:23], "w250"]
    rows = dict.fromkeys(many, 100) | {"w7": 0, "w299": 1, "w5": 2}
    assert choose_rarest(many, rows, 3) == ["w0", "w5", "w299"]
    assert (choose_rarest(["a", "b"], {}, 24), choose_rarest(["a", "b"], {}, 0)) == (["a", "b"], [])


def test_t24_index_terms_are_runs_pairs_and_symbols_and_a_keyword_has_fragments() -> None:
    """What is inside the keyword is whole; what touches its ends may go on in the text."""
    assert index_terms("tofu, a_b 数学の tofu ❤") == {"tofu": 2, "a_b": 1, "数学": 1, "学の": 1, "❤": 1}
    assert index_terms("5の充 猫") == {"5": 1, "の充": 1, "猫": 1}
    assert (index_terms("_x_ %!…"), index_terms("")) == ({"_x_": 1}, {})
    for keyword, pieces in (
        ("izza night ou", [("izza", "word", False), ("night", "word", False), ("ou", "word", True)]),
        ("宿題", [("宿题", "pair", False)]), ("猫", [("猫", "char", True)]), ("%!- ", []),
        ("5の充", [("5", "word", False), ("の充", "pair", False)]),
        ("a猫b", [("a", "word", False), ("猫", "char", False), ("b", "word", True)]),
        ("❤ x", [("❤", "symbol", False), ("x", "word", True)]),
    ):  # fmt: skip
        assert [tuple(piece) for piece in fragments(keyword)] == pieces


@settings(max_examples=200)
@given(st.one_of(texts, dense), st.one_of(texts, dense), st.data())
@example("ab猫", "b猫犬", None)
def test_t24_each_fragment_has_a_term_in_each_text_with_it(before: str, after: str, data: st.DataObject | None) -> None:
    """If this failed, the index would lose rows that the plain predicate finds."""
    text = fold(clean(before + after))
    if data is None:
        keywords = {text[a:b] for a in range(len(text)) for b in range(a + 1, len(text) + 1)}
    else:
        start = data.draw(st.integers(0, len(text)))
        keywords = {text[start : data.draw(st.integers(start, len(text)))]}
    terms = index_terms(text)
    for keyword in keywords:
        for piece in fragments(keyword):
            assert any(piece.text in term for term in terms), (keyword, piece)
            assert piece.kind not in ("pair", "symbol") or piece.text in terms
