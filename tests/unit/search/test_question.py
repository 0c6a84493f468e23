"""What a question tells a search: whom it names, which days, what is asked for (T16)."""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from core.config import Settings
from core.search.query import SearchRequest, asks, list_words, prepare, refers_back, shorten_asked
from core.search.question import Question, find_called, has_number, named, read_question, tells_time
from core.text.question_words import asked_words, asking_words, leave_call

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)  # a Tuesday
NAMES = ("Caroline", "Anna Schmidt", "Will", "Anna Berg", "Борис", "田中", "ada_92", "김민수", "Μαρία", "Ben",
         "Omar ben Salah")  # fmt: skip


def read(text: str, speaker_names: Collection[str] = NAMES, **more: Any) -> Question:
    question = read_question(text, **{"now": NOW, "zone": UTC, "languages": ("en",), **more})
    return replace(question, people=named(text, speaker_names, question.languages))


def test_t62_a_question_names_spans_their_days_and_an_order() -> None:
    asked = read("What did I say last weekend?")
    assert [(span.start, span.role) for span in asked.spans] == [(datetime(2026, 3, 7, tzinfo=UTC), "said")]
    assert (asked.days, asked.order) == (("2026-03-07", "2026-03-08"), "")
    assert read("What do I have tomorrow?").days == ("2026-03-11", "every-2", "every-03-11")
    assert {f"every-{weekday}" for weekday in range(7)} <= {*read("What is coming up?").days}
    assert read("Was habe ich gestern gesagt?").days == ("2026-03-09",)
    assert read("What did I say before March?").days[-1] == "2026-02-28"
    assert read("What was the first thing I told you?").order == "first"
    assert not (read("What is my cat called?").spans or read("").spans)


REFERRING = (
    "Where does she live?/And when is it?/What about the other one?/Which one was cheaper?/Who paid?/And Tessa?/"
    "When is his birthday?/Is there anything she can't eat?/Wo wohnt sie?/Und wann ist der?/Und die andere?/"
    "Elle habite où ?/Et c'est quand ?/Où est sa clé ?/¿Dónde vive?/¿Y cuándo es?/Waar woont ze?/Dove abita lei?"
)
NAMING = (
    "Where does my sister live?/Does my sister like her job?/Did Tom say when he is coming?/How are you?/"
    "Who lives in Dublin?/When is my flight?/What's on today?/What did I say this morning?/And where do I work?/"
    "What about my PC?/Wo wohnt mein Onkel?/Quand est l'atelier de poterie ?/¿Dónde vive mi tío?/She is here./"
    "민수가 누구야?"
)


def test_t59_a_question_that_names_little_refers_to_the_turns_before_it() -> None:
    settings = Settings(languages=("en", "de", "fr", "es", "nl", "it", "ko"))
    for texts, refers in ((REFERRING, True), (NAMING, False)):
        asked = [(text, prepare(SearchRequest(query=text), settings)) for text in texts.split("/")]
        assert [text for text, query in asked if refers_back(query) is not refers] == []


def test_t16_behind_a_time_a_message_may_ask_to_repeat_what_was_said() -> None:
    asked = "this morning i said smth, repeat it pls/gestern war was, erinner mich/в пятницу было что-то, напомни"
    assert all(asks(text, ("en", "de", "ru")) for text in asked.split("/"))
    asked = "<@1> catch me up on the weekend/@iris yesterday what happened/<@!1> tldr of saturday pls"
    assert all(asks(text, ("en",)) for text in asked.split("/"))
    told = "this morning i said smth/gestern hab ich was erzählt/the echo says hi, repeat it"
    assert not any(asks(text, ("en", "de")) for text in told.split("/"))


def test_t62_one_word_is_not_read_as_a_time_of_another_language() -> None:
    for text in ("What is John's main focus in politics?", "What is my most recent LDL level?", "Qui a vu la mer ?",
                 "¿Quién fue al mar?"):  # fmt: skip
        assert not read(text).spans
    nickname = read("Who is April?")
    assert not nickname.spans and not nickname.has_unread_time
    assert read("mai 2023").spans and read("gestern").spans
    assert read("was gabs an silvester", languages=("de",)).spans


HINTS = (
    "en What do I give Mum for Christmas?", "de Was schenke ich Mama zu Weihnachten?",
    "fr Qu'est-ce que j'offre à maman pour Noël ?", "es ¿Qué le regalo a mamá en Navidad?",
    "en What did I get on New Year's Eve?", "en It is for Saturday. What should I cook?",
    "en What can I cook today?", "en What should I wear tomorrow?", "de Was kann ich mir heute kochen?",
    "de Was soll ich uns heute Abend kochen?", "es ¿Qué puedo cocinar hoy?",
    "fr Qu'est-ce que je peux cuisiner ce soir ?", "it Cosa posso cucinare stasera?", "pt O que posso cozinhar hoje?",
    "nl Wat kan ik vanavond koken?", "ru Что мне приготовить сегодня?", "ja 今日は何を作ればいい？",
    "zh 今天我可以做什么菜？", "pl Co mogę dziś ugotować?", "sv Vad kan jag laga idag?",
    "en How many books do I want to read in my winter reading challenge?",
    "en Who speedruns Sunday Gold?", "en Who finished Friday Night Funkin?",
    "en Who brings the cake to the Friday meeting?", "en What do people say of the upcoming grand opening?",
)  # fmt: skip
CONDITIONS = ("en Where are we at Christmas?", "en What did I buy this year?", "de Was essen wir an Weihnachten?",
              "en What did I say today?", "en What do I have to do today?", "en What should I have done yesterday?",
              "de Was habe ich heute gesagt?", "de Was muss ich heute noch machen?", "de Was habe ich gestern gekocht?",
              "es ¿Qué dije hoy?", "fr Qu'est-ce que j'ai dit aujourd'hui ?", "zh 今天我说了什么？",
              "en How many books did I read in the winter?", "en What did we do on the Friday before Easter?",
              "en What happened in my summer?", "en What did we do last winter in Riga?")  # fmt: skip


@pytest.mark.parametrize("asked", [*HINTS, *CONDITIONS])
def test_t62_a_time_of_a_gift_of_advice_or_in_a_name_is_no_condition(asked: str) -> None:
    """With a condition, an allergy of last year is missing in "What can I cook today?"."""
    question = read(asked[3:], languages=(asked[:2],))
    assert question.spans and question.is_hint is (asked in HINTS)


@pytest.mark.parametrize("text", [
    "What time do I usually take the kids to school?", "Wann gehe ich normalerweise ins Bett?",
    "À quelle heure est-ce que je me lève d'habitude ?", "¿A qué hora suelo cenar?", "Когда я обычно обедаю?",
    "私はいつも何時に起きますか?",
])  # fmt: skip
def test_t62_what_somebody_usually_does_asks_for_no_coming_day(text: str) -> None:
    assert read(text).wants_time and read(text).days == ()
    assert read("When do I see the dentist?").days


def test_t62_a_week_is_counted_ahead_and_these_days_are_a_span_only_if_that_is_sure() -> None:
    assert not read("what did i do in the week after my birthday").spans
    assert not read("Where do I live these days?").spans and read("Where do I live these days?").is_present
    assert read("What have I been up to these days?").spans and read("Was mache ich in einer Woche?").spans


@pytest.mark.parametrize(("text", "side"), [
    ("What happened after the flood?", "after"), ("and after the flood, what did we do", "after"),
    ("what did i do the day before the wedding", "before"), ("what happened since i came back", "since"),
    ("Was habe ich nach dem Umzug gemacht?", "after"), ("搬家以后我做了什么", "after"),
    ("What did I do after Christmas?", ""), ("What did I do for a living before the army?", ""),
    ("Did I say where I lived before Hull?", ""), ("What happened to the bike after all?", ""),
])  # fmt: skip
def test_t62_what_happened_beside_an_event_is_asked_with_the_event_behind_or_first(text: str, side: str) -> None:
    assert read(text).beside == side


@pytest.mark.parametrize(("text", "of"), [
    ("My phone nearly died today. What did Tom say last week?", "What did Tom say last week?"),
    ("What did Tom say last week? I forgot again. I was ill in May.", "What did Tom say last week?"),
    ("I was ill in May. Where do I live? Long day today!", "Where do I live?"),
    ("Ich war gestern krank. Wann fliegt Tom nach Rom?", "Wann fliegt Tom nach Rom?"),
    ("I need a book. What would you suggest?", "What would you suggest to me?"),
    ("hey iris? how many times did I go to the cinema", "how many times did I go to the cinema"),
    ("really? list all films I saw", "list all films I saw"),
    ("see https://example.org/a?b=c so where do I work", "where do I work"),
])  # fmt: skip
def test_t62_a_question_beside_other_sentences_is_read_alone(text: str, of: str) -> None:
    asked, alone = read(text), read(of)
    for name in ("self_person", "other", "order", "wants_time", "wants_list", "is_present"):
        assert getattr(asked, name) == getattr(alone, name), name
    if alone.spans:
        assert asked.days == alone.days and not asked.is_hint


@pytest.mark.parametrize("name", ["Zoe", "zoe_7", "Zoe Ziegler", "田中"])
def test_t16_a_person_is_named_whatever_the_number_of_speakers(name: str) -> None:
    """The names of a large server came in the order of a set, and all after the first 2,000 were lost."""
    crowd = [f"Ann{n} Bell" for n in range(3_000)]
    for names in ([*crowd, name], [name, *crowd]):
        assert read("What did Zoe say? 田中さんは?", speaker_names=names).people == {name}


@pytest.mark.parametrize(("text", "named"), [
    ("What did Caroline say?", {"Caroline"}), ("caroline's cat", {"Caroline"}), ("Carolines cat", {"Caroline"}),
    ("What does Anna like?", {"Anna Schmidt", "Anna Berg"}), ("What does Anna Berg like?", {"Anna Berg"}),
    ("Did Schmidt call?", {"Anna Schmidt"}), ("Will it rain?", set()), ("Did you see Will there?", {"Will"}),
    ("Что сказала Борису мама?", {"Борис"}), ("Кот Бориса", {"Борис"}), ("田中さんの猫は?", {"田中"}),
    ("What did Ada eat?", {"ada_92"}), ("김민수가 뭐라고 했어?", {"김민수"}), ("Τι είπε η Μαρίας;", {"Μαρία"}),
    ("What did Ben cook yesterday?", {"Ben"}), ("Where does Ben's sister live?", {"Ben"}),
    ("What did Omar ben Salah cook?", {"Omar ben Salah"}), ("What does Salah like?", {"Omar ben Salah"}),
    ("waar ben ik geweest?", set()), ("What did Omar Ben Salah say?", {"Omar ben Salah"}), ("carol", set()),
    ("", set()),
])  # fmt: skip
def test_t16_people_are_named_by_whole_and_first_names_possessives_and_cases(text: str, named: set[str]) -> None:
    """`Ben` is a first name, and a word beside other names."""
    assert read(text, languages=("en", "nl")).people == named


def test_t16_a_last_word_that_many_names_share_names_nobody() -> None:
    crowd = [f"{first}_gg" for first in ("panda", "wolf", "fox", "owl")]
    assert read("Who said gg?", speaker_names=crowd).people == set()
    assert read("Did wolf say gg?", speaker_names=crowd).people == {"wolf_gg"}
    assert read("What do the Bells like?", speaker_names=["Ann Bell", "Tom Bell"]).people == {"Ann Bell", "Tom Bell"}


OWN = ("Where do I live?", "What's my cat called?", "Wo wohne ich?", "Où est mon chat ?", "¿Cuál es mi color favorito?",
       "Qual è il mio colore preferito?", "Qual é a minha cor favorita?", "Wat is mijn lievelingskleur?",
       "Как зовут мою кошку?", "私の猫の名前は?", "我的猫叫什么?", "내 고양이 이름은?", "Co mówiłam wczoraj?",
       "¿Qué dije ayer?", "Mitä sanoin eilen?", "Що я казав учора?")  # fmt: skip


@pytest.mark.parametrize(("text", "own", "other"), [
    *((text, True, False) for text in OWN), ("What is your favourite colour?", False, True),
    ("Did you tell me?", True, True), ("你喜欢什么?", False, True), ("What did Ann say?", False, False),
])  # fmt: skip
def test_t16_i_and_you_are_understood(text: str, own: bool, other: bool) -> None:
    asked = read(text)
    assert (asked.self_person, asked.other) == (own, other)


WHEN = ("When did we meet?", "Wann war das?", "Quand ?", "¿Cuándo fue?", "Quando è stato?", "Wanneer was dat?",
        "Когда это было?", "いつ会った?", "什么时候见的?", "언제 만났어?", "What day was it?")  # fmt: skip
HOW_MANY = (
    "How many cats?", "how old is Ann", "Wie viele Katzen?", "Combien de chats ?", "¿Cuántos gatos?", "Quanti gatti?",
    "Quantos gatos?", "Hoeveel katten?", "Сколько кошек?", "猫は何匹?いくつ?", "有几只猫?", "고양이가 몇 마리?",
)  # fmt: skip


@pytest.mark.parametrize("text", [*WHEN, *HOW_MANY, "What is it?"])
def test_t16_when_and_how_many_are_understood(text: str) -> None:
    asked = read(text)
    assert (asked.wants_time, asked.wants_number) == (text in WHEN, text in HOW_MANY)


@pytest.mark.parametrize(("text", "called"), [
    ("hey Will what did I do yesterday?", {"Will"}), ("Caroline, what did I say in May?", {"Caroline"}),
    ("Where do I work, Caroline?", {"Caroline"}), ("What did Caroline say?", set()),
    ("Caroline said what?", set()), ("Caroline, what did Caroline say?", set()), ("@Will recap May", {"Will"}),
])  # fmt: skip
def test_t16_who_is_asked_is_not_who_is_asked_about(text: str, called: set[str]) -> None:
    """`Iris, what did I do yesterday?` preferred the lines of Iris."""
    assert find_called(text, NAMES, ["en"]) == called


@pytest.mark.parametrize(("text", "left"), [
    ("@Nova what did Max say?", "what did Max say?"), ("Nova do you know Ann?", "do you know Ann?"),
    ("Nova, any news?", "any news?"), ("I am back. What did Max say, nova?", "I am back. What did Max say?"),
    ("Who is it @Nova Star? Max?", "Who is it? Max?"), ("@Nova I got a bike", "I got a bike"),
    ("Nova was hat Max gesagt?", "was hat Max gesagt?"), ("Zoe, wer ist das?", "wer ist das?"),
    *((same, same) for same in (
        "@Nova", "Who gave Nova her name?", "Who is Nova?", "Nova's name?", "Nova is what?", "Nova Scotia, when?",
        "Who has me@nova.com?", "Ask Nova or Max, who knows?",
    )),
])  # fmt: skip
def test_t16_a_name_is_left_out_where_a_text_addresses_it(text: str, left: str) -> None:
    assert leave_call(text, ("nova", "Nova Star", "Zoé"), ("en", "de")) == left


@pytest.mark.parametrize(("text", "searched"), [
    ("Who am I? Thanks!", "Who am I?"), ("¿Quién soy? Gracias", "¿Quién soy?"), ("thanks!", "thanks!"),
    ("Who am I? In Rome, please", "Who am I? In Rome, please"), ("<@!12>, who am I?", " who am I?"), ("<@1>", "<@1>"),
    ("who is <@1>?", "who is <@1>?"),
])  # fmt: skip
def test_t16_thanks_and_mentions_by_id_around_a_question_are_not_searched_for(text: str, searched: str) -> None:
    assert shorten_asked(text) == searched


@pytest.mark.parametrize(("language", "text", "words"), [
    ("en", "How many times have I seen the news in total?", "how many times in total"),
    ("de", "Wie viele Male sah ich insgesamt Nachrichten?", "wie viele male insgesamt"),
    ("fr", "Combien de fois ai-je nagé ?", "combien de fois"), ("nl", "Hoeveel keer heb ik gezwommen?", "hoeveel keer"),
    ("pl", "Ile razy pływałem?", "ile razy"), ("tr", "Kaç kez yüzdüm?", "kac kez"),
])  # fmt: skip
def test_t16_words_that_only_ask_how_often_are_known(language: str, text: str, words: str) -> None:
    """`times` matched each line about time, before the lines that were asked about."""
    assert asking_words(asked_words(text), [language]) == {*words.split()}
    assert not asking_words(asked_words("These were good times"), [language])


HAPPENED = (
    "en What happened in March?", "en What happens in May 2027?", "de Was ist im März passiert?",
    "de Was war im März los?", "de Was geschah im März?", "fr Qu'est-ce qui s'est passé en mars ?",
    "es ¿Qué pasó en marzo?", "it Cosa è successo a marzo?", "pt O que aconteceu em março?",
    "nl Wat gebeurde er in maart?", "ru Что произошло в марте?", "pl Co się stało w marcu?", "sv Vad hände i mars?",
    "da Hvad skete der i marts?", "no Hva skjedde i mars?", "fi Mitä tapahtui maaliskuussa?",
    "cs Co se stalo v březnu?", "uk Що сталося в березні?", "hu Mi történt márciusban?",
    "tr Martta ne oldu?", "el Τι έγινε τον Μάρτιο;",
    "ja 三月に何が起きた？", "zh 三月发生了什么?", "ko 3월에 무슨 일이 있었어?", "de Erzähl mir, was im März los war",
)  # fmt: skip
ONLY_ASK = {"en What am I reading at the moment?": ["reading"], "en In which month did I get the flu?": ["flu"],
            "en What happened to my bike?": ["bike"], "de Erzähl mir was von meiner Schwester": ["schwester"],
            "de Wie alt ist meine Schwester?": ["schwester"], "en What happened?": ["happened"],
            "en When was the moment I knew?": ["moment"]}  # fmt: skip


@pytest.mark.parametrize("asked", [*HAPPENED, *ONLY_ASK])
def test_t62_words_that_only_ask_are_not_searched_for(asked: str) -> None:
    """`What happened in March?` found each `What happened then?` of March, not what had happened."""
    assert list_words(asked[3:], (asked[:2],), is_asking=True) == ONLY_ASK.get(asked, [])


def test_turns_that_tell_a_time_or_a_number_are_told() -> None:
    timed = ("We met last May, two years ago", "Das war gestern", "先週行った", "in 2019", "на прошлой неделе")
    assert all(map(tells_time, (*timed, "le mois dernier")))
    assert not any(map(tells_time, ("I may go", "I like tea")))
    assert all(map(has_number, ("two cats", "3 cats", "zwei Katzen", "猫が三匹", "три кошки")))
    assert not has_number("cats")
