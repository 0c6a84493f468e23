"""Other forms of words: each language by pairs of its kinds, and look-alikes that are other words."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from core.base.resources import find
from core.text.folding import fold
from core.text.forms import spellings
from core.text.forms.paradigms import read_paradigms, read_rules
from core.text.forms.spellings import holds_tone, list_joined, list_other_numbers, list_other_scripts, split_figures
from core.text.forms.variants import find_forms, list_compounds
from core.text.languages import SpokenCounts, languages_of, listed_words, spoken_languages
from core.text.question_words import is_question
from core.text.search_words import inner_names, least_pairs, salient_words
from tests import language_table


def _list(kind: str) -> list[tuple[str, ...]]:
    text = Path(__file__).with_name("forms.txt").read_text(encoding="utf-8")
    lines = text.partition(f"# {kind}\n")[2].partition("\n#")[0].splitlines()
    rows = (line.split(" ", 1) for line in lines)
    return [(code, *pair.split()) for code, pairs in rows for pair in pairs.split("; ")]


def _finds(code: str, asked: str, held: str) -> bool:
    terms = fold(held).replace("\u200c", " ").split()[-1:]
    return bool(find_forms(asked, (code,), lambda text: [term for term in terms if term.startswith(text)]))


@pytest.mark.parametrize(("code", "one", "other"), _list("one word"))
def test_t65_forms_of_one_word_lead_to_each_other(code: str, one: str, other: str) -> None:
    """Who says `Helsingissä` is found by `Helsinki`; half of what people say holds another form."""
    assert _finds(code, one, other) and _finds(code, other.rpartition("\u200c")[2], one)


@pytest.mark.parametrize(("code", "one", "other"), _list("two words"))
def test_t65_words_that_look_alike_stay_apart(code: str, one: str, other: str) -> None:
    assert not _finds(code, one, other) and not _finds(code, other, one)


def test_t65_every_file_of_word_forms_is_read() -> None:
    kinds = {"endings", "stem", "tail", "changes", "fleeting", "prefixes", "shortest"}
    for path in find("prompts/word_forms").iterdir():
        names = [line.partition(":")[0] for line in path.read_text(encoding="utf-8").splitlines() if ":" in line]
        assert max(Counter(names).values(), default=1) == 1, path.stem
        whole = {"stems", "apart", "links", "spelt", "letters", "numbers", "participle", "patterns", "before", "behind"}
        assert all(name in whole or name.split()[-1] in kinds for name in names), (path.stem, names)
        assert all(paradigm.endings for paradigm in read_paradigms(path.stem))
        assert len(read_rules(path.stem).get("numbers", "").split()) in (0, 28), path.stem


@pytest.mark.parametrize(("code", "word", "held", "parts"), [
    ("de", "zahnarzttermin", ["termin", "zahnarzt"], ["zahnarzt", "termin"]),
    ("de", "geburtstagskuchen", ["kuchen", "geburtstag"], ["geburtstag", "kuchen"]),
    ("nl", "tandartsafspraak", ["afspraak", "tandarts"], ["tandarts", "afspraak"]),
    ("en", "dishwasher", ["dish", "washer"], ["dish", "washer"]),
    ("de", "autobahnraststätte", ["auto", "bahn", "raststätte"], ["auto", "bahn", "raststätte"]),
    ("de", "kartoffel", ["kar", "tor"], []),
])  # fmt: skip
def test_t65_a_compound_comes_apart_into_what_is_held(code: str, word: str, held: list[str], parts: list[str]) -> None:
    found = spellings.split_compound(word, lambda part: [part] if part in held else [], (code,))
    assert [each[0] for each in found] == parts and spellings.joins_words(code) is (code != "en")


def test_t65_a_short_word_is_found_at_the_end_of_a_compound() -> None:
    """`winterjas` holds `jas`; `tas` and `jasmijn` are other words."""
    held = ["winterjas", "jasmijn", "vinterjakka", "alarm", "winterjassen"]
    assert list_compounds("jas", ("nl",), lambda text: [t for t in held if text in t]) == ["winterjas", "winterjassen"]
    assert list_compounds("jakke", ("no",), lambda text: [t for t in held if text in t]) == ["vinterjakka"]
    assert not list_compounds("arm", ("nl",), lambda text: [t for t in held if text in t])


def test_t57_other_spellings_of_a_message() -> None:
    assert "zwolf" in list_other_numbers("12 Stühle", ("de",))["12"]
    eighty = ["quatre vingt", "quatre vingts", "huitante", "octante"]
    assert list_other_numbers("20 or 80", ("fr",)) == {"20": ["vingt"], "80": eighty}
    assert list_other_numbers("п'ятнадцять кур", ("uk",)) == {"п ятнадцять": ["15"]}
    assert list_other_numbers("twelve chairs", ("en",)) == {"twelve": ["12"]}
    assert list_other_numbers("1250000 euros", ("en",)) == {"1250000": ["1 250 000"]}
    assert list_other_numbers("on iki sandalye", ("tr",))["on iki"] == ["12"]
    assert list_other_numbers("at 6.45 pm", ("en",)) == list_other_numbers("at 18:45", ("en",)) == {
        "45": ["6 45", "18 45"]
    }  # fmt: skip
    assert not list_other_numbers("in 2012, or 1.5 km", ("en",))
    assert "ねこ" in list_other_scripts("猫はどこ", ("ja",))["猫"]
    assert list_other_scripts("frižider", ("sr",)) == {"frizider": ["фрижидер"]}
    assert list_other_scripts("macka", ("sr",)) == {"macka": ["мацка", "мачка", "маћка"]}
    assert list_joined("the ice cream")["icecream"] == ["ice", "cream"]
    assert list_joined("a ZX-90 PL, hi-fi")["zx90pl"] == ["zx", "90", "pl"]
    assert {"2500", "30000"} < list_joined("2,500, 1.250.000 or 30'000").keys() > {"1250000"}
    assert not list_joined("2.5, 2,5, 12,34, 1.2.3 and 3.5.2024, 2500.").keys() & {"25", "1234", "123", "352024", "12"}
    assert split_figures("zx90pl") == ["zx", "90", "pl"] and split_figures("5km") == ["5", "km"]
    assert not split_figures("chair")
    assert spellings.list_quoted('Who said "over the moon"? And "never"?') == ["over the moon"]


@pytest.mark.parametrize(("written", "text", "share"), [
    (["año"], "El médico examinó el ano", 1.0), (["año"], "Hoy cumple un año", 0.0),
    (["schon"], "Das Bild ist schön", 1.0), (["schon"], "Ich habe schon gegessen", 0.0),
    (["Polish"], "I polish my shoes", 1.0), (["Polish"], "She speaks Polish", 0.0), (["polish"], "Polish it", 0.0),
    (["saç", "makinesi"], "Sac levha makinesi", 0.5), (["cat"], "naïve cat", 0.0), ([], "any", 0.0),
])  # fmt: skip
def test_t65_the_exact_spelling_comes_first(written: list[str], text: str, share: float) -> None:
    """Without accents two words are one, and the one that was asked for is meant."""
    assert spellings.share_spelt_otherwise(written, text) == share


@pytest.mark.parametrize(("code", "asked", "told"), [
    ("ko", "생일이 언제야/점심 먹었니/우리 갈까요/회의 몇 시야", "나는 언제나 행복해/어제 학교에 갔어/내일 갈게"),
    ("ja", "誕生日はいつ/鍵はどこ/昨日何を食べた/元気かな", "昨日魚を食べた/いつもありがとう/何も食べなかった"),
    ("th", "กุญแจอยู่ที่ไหน/คุณกินข้าวหรือยัง/ไปด้วยกันไหม", "ฉันไปตลาด/เมื่อวานฝนตก"),
    ("zh", "钥匙在哪里/你吃了吗", "我去了图书馆/什么都没有"),
    ("en", "hey can you remind me/so whatd i do/since May what have i read/ok did i tell you/you left, what was it",
     "today is my birthday/please buy milk/I know what I want"),
    ("de", "hey was hab ich gesagt/bis wann warst du weg/wo wohnt Anna", "hab mir Tee gemacht/heute war ich müde"),
    ("en", "everything up to Dec. 20, please/everything since Monday", "everything hurts since Monday"),
    ("fr", "j'ai dit quoi/c'était quand/qu'ai-je fait", "je fais du thé/je mange n'importe quoi"),
    ("ja", "今朝なんて言ったっけ/何をしたか教えて/誰が来た", "先生が教えてくれた"), ("ar", "كم قطة عندي؟", ""),
    ("en", "catch me up on the trip/tldr of it pls/a quick recap please", "i caught up with Ann/my summary is bad"),
    ("de", "bring mich auf den neuesten Stand/kurze Zusammenfassung bitte", "die Zusammenfassung ist schlecht"),
    ("fr", "fais-moi un résumé du week-end/mets-moi au courant", "j'ai fait un résumé"),
    ("es", "ponme al día/hazme un resumen de ayer", "hice un resumen"),
    ("ja", "昨日の話を要約して", "昨日はまとめて買った"),
    ("en", "<@123> recap of the trip/<@!1>, what happened/@iris what is it", "<@123> my trip/@iris thanks"),
    ("en", "Which agency did she pick?/Tofu?/which agency did she pick", "I picked an agency/agency"),
])  # fmt: skip
def test_t16_t24_questions_are_known_with_and_without_their_mark(code: str, asked: str, told: str) -> None:
    """In a chat hardly anybody types it."""
    assert all(is_question(text, (code, "en")) for text in asked.split("/"))
    assert not any(is_question(text, (code, "en")) for text in told.split("/"))


def test_t57_a_name_that_is_a_stop_word_and_accents_are_looked_for_and_most_signs_without_spaces() -> None:
    """`thé` is not the English `the`, nor `mẹ` a small `me`; a Vietnamese tone stands on either vowel."""
    assert "will" in salient_words("Who is Will?", ["en"]) and "will" not in salient_words("Will you come?", ["en"])
    assert "das" in salient_words("Wer ist Das?", ["de"]) and "sie" not in salient_words("Wie heißen Sie?", ["de"])
    assert inner_names("Where Did You Go For Lunch Today") == []
    assert salient_words("où est le thé", ["fr", "en"]) == ["the"] and not salient_words("the", ["fr", "en"])
    assert salient_words("mẹ nuôi gà", ["vi", "en"]) == ["me", "nuoi", "ga"] and salient_words("ga", ["vi"]) == []
    assert salient_words("kő", ["hu", "en"]) == ["ko"]
    assert holds_tone("thúy", "Chị Thuý") and holds_tone("gà", "ga") and not holds_tone("gà", "gã")
    # `图书` is not `图书馆`; the verb of `食べた` is that of `食べる`, and a question may hold anything
    assert least_pairs("图书馆") == (frozenset({"书馆", "图书"}), 2) and least_pairs("食べる")[1] == 0
    assert least_pairs("我的大学在哪里?") == least_pairs("the car") == (frozenset(), 0)


def test_t57_the_language_of_what_is_stored_is_told_by_its_small_words() -> None:
    """A chat in Finnish needs no setting; English with a foreign word in it stays English."""
    finnish = {"kanssa": 4, "mutta": 3, "että": 0, "minun": 5, "milloin": 2}
    held = {word: rows for word, rows in finnish.items() if word in listed_words()}
    assert spoken_languages([SpokenCounts(held)], 40) == ("fi",)
    english = {"the": 90, "and": 90, "dog": 9, "face": 4, "care": 5}
    assert spoken_languages([SpokenCounts({w: n for w, n in english.items() if w in listed_words()})], 100) == ()
    assert spoken_languages([], 0) == ()
    assert languages_of("نوشتن", ("fa", "en")) == ("fa", "en") and languages_of("نوشتن", ("en",)) == ("ar", "en")


def test_t57_the_page_of_recall_says_what_each_language_has() -> None:
    assert language_table.PAGE.read_text(encoding="utf-8") == language_table.build_page()
    assert "| `fi` |" in language_table.build_table()


def test_t65_irregular_forms_have_one_order_in_every_process() -> None:
    """The order decides between equal hits: two workers must not show different prompts."""
    program = (
        "from core.text.forms.paradigms import read_families\n"
        "from core.text.forms.variants import find_relatives\n"
        "print([find_relatives(f'{prefix}{word}', code) for code in ('de', 'pl', 'ar', 'he')"
        " for family in read_families(code) for word in family for prefix in ('', 'ge')])"
    )
    environments = [{**os.environ, "PYTHONHASHSEED": seed} for seed in ("1", "2", "3")]
    assert len({subprocess.check_output([sys.executable, "-c", program], env=each) for each in environments}) == 1
