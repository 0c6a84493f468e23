"""G23, C5: without a model, sentences and words are chosen from what was said, in every script."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.extracts import build_extract, rarest_words, sentences

MOVED = "ada moved to rome. the cat is called tofu."


@pytest.mark.parametrize(("texts", "limits", "expected"), [
    ([MOVED], {}, MOVED),
    (["ada moved to rome", "hi!", "the cat is called tofu", "ok"], {}, MOVED),
    (["Ada moved to Rome.", "The cat purrs."], {}, "Ada moved to Rome. The cat purrs."),
    # a statement goes before a question, and the first person before others
    (["do trains stop in florence?", "trains stop in florence."], {"most_sentences": 1},
     "trains stop in florence."),
    (["he planted roses.", "i planted tulips."], {"most_sentences": 1}, "i planted tulips."),
    # a sentence adds what those before have not said
    (["ada moved to rome with tofu.", "ada moved to rome with luggage.", "bob paints."], {"most_sentences": 2},
     "ada moved to rome with tofu. bob paints."),
    # one that is too long is cut before a word
    (["Gardeners planted tulips yesterday afternoon"], {"most_chars": 30}, "Gardeners planted tulips…"),
    (["x" * 50], {"most_chars": 10}, "x" * 9 + "…"), (["x y z"], {"most_chars": 0}, ""),
])  # fmt: skip
def test_g23_sentences_are_chosen_and_cut(texts: list[str], limits: dict[str, int], expected: str) -> None:
    assert build_extract(texts, **limits) == expected


def test_g23_what_says_more_is_chosen_and_stays_in_order_with_who_speaks_where_it_changes() -> None:
    moved = "I moved to Rome in 2024 with my cat Tofu."
    others = ("My sister Ada is a nurse at the hospital.", "I am allergic to peanuts.")
    small_talk = ("Oh, really?", "It is what it is.", "How are you doing today?", "Nice.")
    texts = ["Hello there!", moved, *small_talk[:2], others[0], small_talk[2], others[1], small_talk[3]]
    assert build_extract(texts) == " ".join((moved, *others)) and build_extract(texts, most_sentences=1) == moved
    assert build_extract(texts, most_sentences=0) == ""
    texts = ["I moved to Rome.", "My cat is called Tofu.", "I like grey cats."]
    said = "Ann: I moved to Rome. My cat is called Tofu. Bob: I like grey cats."
    assert build_extract(texts, speakers=["Ann", "Ann", "Bob"]) == said
    assert build_extract(texts, speakers=["Ann", "Ann", "Bob"], most_chars=len(said) - 1) != said


SCRIPTS = {
    "japanese": (["元気ですか？", "昨日ローマに引っ越しました。猫の名前はトーフです"],
                 "昨日ローマに引っ越しました。猫の名前はトーフです。"),
    "chinese": (["你好吗？我搬到罗马了！我的猫叫豆腐"], "我搬到罗马了！我的猫叫豆腐。"),
    "thai": (["ฉันย้ายไปกรุงโรม", "แมวชื่อโทฟุ"], "ฉันย้ายไปกรุงโรม แมวชื่อโทฟุ"),
    "arabic": (["انتقلت إلى روما. كيف حالك؟ اسم قطتي توفو"], "انتقلت إلى روما. اسم قطتي توفو."),
    "russian": (["Я переехала в Рим. Как дела? Кота зовут Тофу"], "Я переехала в Рим. Кота зовут Тофу."),
    "korean": (["나는 로마로 이사했어요. 잘 지내?", "고양이는 두부예요"], "나는 로마로 이사했어요. 고양이는 두부예요."),
    "hindi": (["मैं रोम चली गई। आप कैसे हैं? बिल्ली का नाम टोफू है।"], "मैं रोम चली गई। बिल्ली का नाम टोफू है।"),
    "german": (["Ich bin nach Rom gezogen! Wie geht's? Sie heißt Tofu"], "Ich bin nach Rom gezogen! Sie heißt Tofu."),
}  # fmt: skip


@pytest.mark.parametrize(("texts", "expected"), SCRIPTS.values(), ids=SCRIPTS.keys())
def test_g23_every_script_is_served(texts: list[str], expected: str) -> None:
    assert build_extract(texts, most_sentences=2) == expected


def test_g23_sentences_end_where_people_end_them() -> None:
    assert list(sentences("Mr. A. Smith came at 3.5 km/h, e.g. slowly. \"Stop!\" he said. See a.b/c.html now")) == [
        "Mr. A. Smith came at 3.5 km/h, e.g. slowly.", '"Stop!"', "he said.", "See a.b/c.html now",
    ]  # fmt: skip
    german = ["z.B. heute.", "Am 3. Mai.", "eins", "zwei"]
    assert list(sentences("z.B. heute. Am 3. Mai.\n\n- **eins**\n- zwei\n")) == german
    assert list(sentences("Is it well-known - or not? Yes… maybe")) == ["Is it well-known - or not?", "Yes…", "maybe"]
    assert (list(sentences("a\x00b \ud800.")), list(sentences(" \n "))) == (["ab �."], [])


any_texts = st.lists(st.text(st.sampled_from("ab AB.!?\n。猫เ👍١*-#\"'5"), max_size=60), max_size=6)


@given(any_texts, st.integers(0, 5), st.integers(0, 80))
def test_g23_an_extract_is_one_line_within_its_limits(texts: list[str], most_sentences: int, most_chars: int) -> None:
    before = list(texts)
    made = build_extract(texts, most_sentences=most_sentences, most_chars=most_chars)
    assert made == build_extract(tuple(texts), most_sentences=most_sentences, most_chars=most_chars)
    assert len(made) <= most_chars and "\n" not in made and texts == before


@pytest.mark.parametrize(("text", "expected"), [
    ('He steps out. "I am Tomas, Marta\'s grandson. You forgot your compass!"', "I am Tomas, Marta's grandson."),
    ('"Is anyone here? I was told to ask for Captain Brask!"', "I was told to ask for Captain Brask!"),
    ("Oh. “My sister works in Rome. Really?”", "My sister works in Rome."),
    ("「猫はローマに引っ越した。元気？」", "猫はローマに引っ越した。"),
    ('The old note says: "Meet me at Grey Harbour. Go."', 'The old note says: "Meet me at Grey Harbour."'),
    ('"Two silver coins for the small room," she says.', '"Two silver coins for the small room," she says.'),
    ('A 27" screen stands in my room.', 'A 27" screen stands in my room.'),
])  # fmt: skip
def test_g23_no_half_of_a_pair_of_quotation_marks_is_left(text: str, expected: str) -> None:
    """In a story quotes hold several sentences; one of them alone would open what nothing closes."""
    assert build_extract([text], most_sentences=1) == expected


def test_c5_the_rarest_words_in_the_order_and_spelling_of_the_text() -> None:
    talk = ["I booked the flight to Rome with Ada", "Which flight?", "The Rome flight at seven"]
    assert rarest_words(talk[:1], talk) == ["booked", "flight", "Rome", "Ada"]
    assert rarest_words(talk[:1], talk, 2) == ["booked", "Ada"]
    assert rarest_words(talk[:1], talk, 0) == rarest_words(["the and you"], talk) == rarest_words([], talk) == []
    assert rarest_words(["Rome, ROME, rome!"], talk) == ["Rome"]
    assert len(rarest_words(["alpha beta gamma delta epsilon zeta eta theta iota kappa"], [])) == 8
    began = process_time()
    rarest_words(["e" + "\u0301\u0323" * 40_000], [])
    assert process_time() - began < 30  # the square of their number took minutes
    # stretches of scripts without spaces stay whole
    assert rarest_words(["数学の宿題"], ["数学の宿題"]) == ["数学の宿題"]
    assert rarest_words(["数学の宿題", "tofu"], ["数学の本", "数学"], 3) == ["の宿題", "tofu"]
