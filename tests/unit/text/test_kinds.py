"""Tests of class nouns and their kinds (T64)."""

import pytest

from core.base import resources
from core.text.kinds import find_kinds
from core.text.words import words

FOLDER = resources.find("prompts") / "kinds"


@pytest.mark.parametrize(("language", "question", "noun", "kind"), [
    ("en", "Which musical instruments can she play?", "instruments", "oboe"),
    ("en", "What pets did they keep?", "pets", "hamster"),
    ("en", "Which countries have we been to?", "countries", "norway"),
    ("en", "Does Bo have any allergies?", "allergies", "pollen"), ("en", "What is her job?", "job", "hired"),
    ("en", "What is his current address?", "address", "moved"), ("en", "How old is he?", "old", "turned"),
    ("en", "What is Ida's father called?", "father", "dad"), ("en", "Is she a vegetarian?", "vegetarian", "meat"),
    ("en", "How heavy is he?", "heavy", "kilos"), ("en", "When do they get married?", "married", "wedding"),
    ("en", "Where does she live?", "live", "home"), ("de", "Welche Haustiere hatte sie?", "haustiere", "hamster"),
    ("de", "Wie alt ist er?", "alt", "geworden"), ("es", "¿Cuántos años tiene?", "anos", "cumpli"),
    ("es", "¿En qué trabaja?", "trabaja", "cartero"), ("de", "Was ist sein Beruf?", "beruf", "eingestellt"),
    ("de", "Wo arbeite ich?", "arbeite", "job"), ("de", "Wo arbeitet Ben?", "arbeitet", "job"),
    ("fr", "Où est-ce que je travaille ?", "travaille", "job"), ("pt", "Onde eu trabalho?", "trabalho", "emprego"),
    ("nl", "Waar werk ik?", "werk", "baan"), ("ru", "Где я работаю?", "работаю", "работу"),
    ("ja", "私はどこで働いている？", "働い", "仕事"), ("zh", "我在哪里上班？", "上班", "工作"),
    ("en", "Which sports does he play?", "sports", "bouldering"),
    ("fr", "Quels instruments joue-t-elle ?", "instruments", "clarinette"),
    ("es", "¿Qué frutas compró?", "frutas", "manzana"), ("it", "Quali lingue parla?", "lingue", "tedesco"),
    ("pt", "Quais países visitou?", "paises", "franca"), ("nl", "Welke talen spreekt hij?", "talen", "frans"),
    ("ru", "Какие языки она знает?", "языки", "французский"), ("ja", "どんな果物が好きですか?", "果物", "桃"),
    ("zh", "她会哪些乐器?", "乐器", "钢琴"), ("en", "How do I take my coffee?", "coffee", "oat"),
    ("en", "Am I seeing anyone?", "seeing", "tinder"), ("de", "Was mache ich beruflich?", "beruflich", "ofen"),
    ("es", "¿A qué me dedico?", "dedico", "pacientes"), ("es", "¿A qué me dedico?", "dedico", "trabajo"),
    ("de", "Was mache ich beruflich?", "beruflich", "krankenpfleger"), ("it", "Di cosa mi occupo?", "occupo", "lavoro"),
    ("fr", "Qu'est-ce que je fais dans la vie ?", "vie", "infirmiere"),
    ("nl", "Wat doe ik voor de kost?", "kost", "werk"), ("pt", "O que eu faço da vida?", "vida", "enfermeira"),
    ("ru", "Чем я занимаюсь?", "занимаюсь", "работаю"), ("pl", "Gdzie pracuję?", "pracuje", "piekarnia"),
    ("tr", "Nerede çalışıyorum?", "calisiyorum", "firin"), ("ko", "나는 어디서 일해?", "일해", "빵집"),
    ("ar", "أين أعمل؟", "اعمل", "مخبز"),
])  # fmt: skip
def test_t64_a_class_noun_names_its_kinds(language: str, question: str, noun: str, kind: str) -> None:
    assert kind in find_kinds(question, words(question), [language])[noun]


def test_t64_a_question_without_a_class_noun_names_no_kinds_and_no_line_replaces_another() -> None:
    for question in ("Who called yesterday?", "What are these?", "Whom did I see?", "¿Cómo fue?", "Tell me a joke", "",
                     "Why?"):  # fmt: skip
        assert find_kinds(question, words(question), [file.stem for file in FOLDER.glob("*.txt")]) == {}
    for file in FOLDER.glob("*.txt"):
        nouns = [line.partition(":")[0] for line in file.read_text(encoding="utf-8").splitlines()]
        assert sorted(set(nouns)) == sorted(nouns), file.stem
    assert "Princeton University" in (FOLDER / "LICENSE.wordnet").read_text(encoding="utf-8")
    assert "WordNet 3.0" in (FOLDER / "en.txt").read_text(encoding="utf-8")
