"""Words of time become spans (core/text/time/): sentences in four languages, then what others and stored texts say."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.config.flag_types import LANGUAGE_CODES
from core.text.languages import likely_languages
from core.text.time import find_about_days, find_day_meant, read_spans
from core.text.time.calendar import load

NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)  # a Wednesday
LANGUAGES = ("en", "de", "fr", "es")
WORDS = (
    "last", "next", "3", "400", "9999",
    "days", "weeks", "years", "ago", "in", "since", "from", "to", "Monday", "May",
    "2026-02-30", "31.", "first", "week", "of", "before", "the", "and", "half", "Christmas", "at",
    "25:61", "7pm", "vor",
    "letzten", "Tage", "先週", "月曜日", "3月", "31日",
    "前", "0", "2100", "1900-01-01", "99/99/9999", "morning", "until",
)  # fmt: skip
CARRIERS = {
    "en": ("What did I say {}?", "{}, what happened?", "Remind me what we did {}"),
    "de": ("Was habe ich {} gesagt?", "{}: was war da?", "Was haben wir {} gemacht?"),
    "fr": ("Qu'est-ce que j'ai dit {} ?", "{}, que s'est-il passé ?", "Qu'avons-nous fait {} ?"),
    "es": ("¿Qué dije {}?", "{}, ¿qué pasó?", "¿Qué hicimos {}?"),
}


def _moment(text: str) -> datetime | None:
    if text in ("-", "now"):
        return NOW if text == "now" else None
    text = text if text[:2] == "20" else f"2026-{text}"
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _rows(*kinds: str) -> list[tuple[str, str, str]]:
    """Return what is expected, language and text of the sentences of some kinds, in the carriers of their language."""
    rows, kind, number = [], "", 0
    for line in Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            kind = line[2:]
            continue
        expected, *phrases = (each.strip() for each in line.split("|"))
        for language, phrase in zip(LANGUAGES, phrases, strict=True):
            carrier = CARRIERS[language][number % 3] if kind in SPANS else "{}"
            rows += [(expected, language, carrier.format(phrase))] if kind in kinds else []
        number += 1
    return rows


SPANS = ("last_n", "open", "range", "weekday", "part", "relative")

PECULIAR = [
    ("02-01..02-11", "zh", "2月初我说了什么?"), ("02-01..02-11", "zh", "上个月初"),
    ("03-08..03-09", "hu", "Mit mondtam három napja?"), ("02-23..03-02", "hu", "két hete"),
    ("2022-01-21..2022-01-22", "en", "What did Joan finish last Friday on 23 January, 2022?"),
    ("2022-01-23..2022-01-24", "en", "What did Joan finish last Sunday, 23 January 2022?"),
    ("03-07..03-08", "en", "what did i do 4 days ago"),
    ("03-03..03-06", "en", "from mar 3rd til mar 5th what was wrong with me"),
    ("02-14..02-15", "en", "what did i do saturday 4 weeks ago, i was ill"),
    ("03-04..now", "en", "what did i do the past week"), ("02-11..now", "en", "highlights of my past month"),
    ("2025-06-01..2025-09-01", "en", "what did i do this past summer"),
    ("03-01..06-01", "en", "what happened in spring"),
    ("2025-09-01..2025-12-01", "en", "what happened in the fall of 2025"),
    ("03-02..now", "en", "what did we close since i took over the desk on the 2nd of march"),
    ("03-09..03-10", "en", "since you asked, was i home on monday"),
    ("03-07T17:00..03-08T05:00", "en", "what did i do sat night"), ("02-17..02-20", "en", "what did i do 3 wks ago"),
    ("03-06..03-07", "en", "what was planned for friday"), ("02-01..now", "ja", "二月から何をした"),
    ("02-03..02-23", "ja", "二月三日から二十二日まで何があった"), ("03-08..03-09", "ja", "三日前に何をした"),
    ("02-02..02-03", "en", "what happened on 2, 5 and 8 february"),
    ("02-02..02-03", "fr", "j'ai fait quoi le 2 et le 9 février"),
    ("02-02..02-09", "en", "what happened between 2 and 8 february"),
    ("02-25..03-11", "en", "what did i do the other day"), ("03-14..03-15", "en", "what happens 3 days from now"),
    ("02-19..02-20", "en", "what did i buy twenty days ago"), ("02-18..02-19", "ru", "двадцать один день назад"),
    ("02-24..02-25", "tr", "on beş gün önce"), ("02-24..02-27", "ko", "2주 전"),
    ("2018-01-01..2021-01-01", "en", "what did we do between 2018 and 2020"),
    ("2025-03-05..2025-03-06", "zh", "二零二五年三月五日"), ("03-04..03-05", "en", "what happened on 3/4"),
    ("01-24..01-31", "en", "what happened a month and a half ago"), ("2025-09-01..2025-10-01", "ru", "полгода назад"),
    ("2026-01-24..01-31", "zh", "一个半月前"), ("03-09..03-10", "es", "antes de ayer"),
    ("03-07..03-09", "ko", "주말에 뭐 했지?"),
    ("03-10T14:30..03-10T15:30", "ja", "午後3時に何を言った"), ("2024-09-01..2024-10-01", "tr", "bir buçuk yıl önce"),
    ("03-08..03-09", "tr", "pazar günü ne yaptım"),
    ("03-07..03-09", "en", "what happened in the middle of the weekend"), ("03-01..03-02", "it", "il primo marzo"),
    ("02-24..02-27", "id", "dua minggu yang lalu"), ("03-03..03-06", "tr", "3'ten 5 Mart'a kadar ne yaptık?"),
    ("03-03..03-06", "tr", "3 Mart'tan 5 Mart'a kadar ne yaptık?"),
    ("2025-05-16..2025-06-01", "en", "what did i do in the second half of may"),
    ("02-03..02-04", "en", "What did I do on Feb. 3?"), ("03-01..03-02", "en", "what did i say on the first of march"),
    ("03-01..03-02", "de", "Was war am ersten März?"), ("2015-01-01..2016-01-01", "de", "Was ist 2015 passiert?"),
    ("03-09..now", "en", "starting from Monday, what did I say?"),
    ("03-02..03-09", "en", "what did i say in the week of 5 march"),
    ("03-07..03-09", "en", "what did i do the past weekend"), ("03-13..03-14", "en", "What's coming up on Friday?"),
    ("03-16..03-17", "en", "What do I have this Monday?"), ("03-09..03-10", "en", "What did I do this Monday?"),
    ("03-11..03-14", "en", "what is due by Friday"), ("03-25..04-01", "de", "Was ist am Ende des Monats?"),
    ("01-01..now", "en", "since the start of the year"), ("03-12..03-13", "de", "Was steht morgen an?"),
    ("03-08..now", "pl", "w ostatnich trzech dniach"), ("2027-02-01..2027-03-01", "de", "Was machen wir im Februar?"),
    ("2027-02-01..2027-03-01", "de", "Was machen wir im nächsten Februar?"),
    ("2027-02-01..2027-03-01", "en", "What are we doing in February?"),
    ("2027-02-01..2027-03-01", "fr", "Qu'est-ce qu'on fait en février ?"),
    ("2027-02-01..2027-03-01", "es", "¿Qué hacemos en febrero?"),
    ("2027-02-01..2027-03-01", "it", "Cosa facciamo a febbraio?"),
    ("2027-02-01..2027-03-01", "pt", "O que fazemos em fevereiro?"),
    ("2027-02-01..2027-03-01", "nl", "Wat doen we in februari?"),
    ("2027-02-01..2027-03-01", "ru", "Что делаем в феврале?"),
    ("02-01..03-01", "de", "Was haben wir im Februar gemacht?"),
    ("2027-02-01..2027-03-01", "de", "Was habe ich im Februar vor?"),
    ("03-13..03-14", "de", "Was hast du diesen Freitag vor?"),
    ("03-06..03-07", "de", "Was rief ich am Freitag in den Saal?"),
    ("02-01..03-01", "de", "Was hatten wir im Februar vor?"),
    ("2026-01-01..2026-02-01", "tr", "Ocak ayında ne yaptım?"), ("2026-01-01..2026-02-01", "tr", "Ocak'ta ne yaptım?"),
    ("2025-10-01..2025-11-01", "tr", "Ekimde ne yaptım?"), ("2026-01-01..now", "tr", "Ocak ayından beri ne yaptım?"),
    ("2025-06-08..2025-06-10", "de", "Was war Pfingsten los?"),
    ("2025-06-09..2025-06-10", "de", "Was war am Pfingstmontag?"),
    ("2025-04-21..2025-04-22", "de", "Was war am Ostermontag?"),
    ("2025-04-18..2025-04-19", "en", "What did we do on Good Friday?"),
    ("2025-04-21..2025-04-22", "en", "What did we do on Easter Monday?"),
    ("2025-05-29..2025-05-30", "de", "Was war an Christi Himmelfahrt?"),
    ("2025-06-19..2025-06-20", "de", "Was war an Fronleichnam?"), ("02-16..02-17", "de", "Was war am Rosenmontag?"),
    ("02-18..02-19", "en", "What was on Ash Wednesday?"),
    ("2025-04-18..2025-04-22", "de", "Was war am Osterwochenende?"),
    ("2025-04-13..2025-04-21", "es", "¿Qué hicimos en Semana Santa?"),
    ("2025-04-18..2025-04-19", "fr", "Qu'avons-nous fait le vendredi saint ?"),
    ("2025-04-18..2025-04-19", "pt", "O que fizemos na sexta-feira santa?"),
    ("2025-04-21..2025-04-22", "it", "Cosa abbiamo fatto a Pasquetta?"),
    ("2025-06-08..2025-06-10", "nl", "Wat deden we met Pinksteren?"),
    ("2024-05-19..2024-05-21", "de", "Was war Pfingsten 2024?"),
    ("03-05..03-06", "fr", "le jeu 5 mars on a fait quoi ?"), ("03-04..03-05", "fr", "on a fait quoi mer 4 mars ?"),
    ("03-10T13:30..03-10T14:30", "fr", "qu'est-ce qu'on a fait mar. 14h ?"),
    ("03-05T05:00..03-05T12:00", "fr", "on a fait quoi jeu matin ?"),
    ("03-05..03-06", "fr", "t'as fait quoi jeu, ven et sam ?"),
    ("03-08..03-09", "de", "was haben wir am So gemacht?"), ("03-07..03-08", "en", "what did we do on sat?"),
    ("03-10..03-11", "es", "¿qué hicimos mar 10 de marzo?"),
    ("2025-04-05..2025-04-06", "pl", "spotkamy się 5 kwietnia"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text", "written"), [
    ("de", "Was war im März los?", "Was war im Maerz los?"), ("de", "vor fünf Tagen", "vor fuenf Tagen"),
    ("de", "Was ist übermorgen?", "Was ist uebermorgen?"), ("de", "nächste Woche", "naechste Woche"),
    ("de", "vor fünfzehn Tagen", "vor fuenfzehn Tagen"), ("de", "im Jänner", "im Jaenner"),
    ("de", "heute früh", "heute frueh"), ("de", "letztes Frühjahr", "letztes Fruehjahr"),
    ("da", "i går", "i gaar"), ("da", "i lørdags", "i loerdags"), ("no", "forrige måned", "forrige maaned"),
])  # fmt: skip
def test_t62_letters_with_a_mark_may_be_written_as_two(language: str, text: str, written: str) -> None:
    one, other = (read_spans(each, NOW, UTC, (language,)) for each in (text, written))
    assert one and [(x.start, x.end) for x in one] == [(x.start, x.end) for x in other]


@pytest.mark.parametrize(("start", "hours", "language", "text"), [
    (17, 12, "en", "what happened sunday night?"), (17, 6, "en", "what happened on sunday evening?"),
    (21, 8, "de", "Was war Sonntagnacht los?"), (21, 8, "de", "Was war in der Nacht auf Montag los?"),
    (21, 8, "de", "Was war in der Nacht zum Montag los?"), (17, 12, "es", "¿Qué pasó el domingo por la noche?"),
    (21, 8, "fr", "Que s'est-il passé dans la nuit de dimanche ?"),
    (21, 8, "fr", "Que s'est-il passé dans la nuit de dimanche à lundi ?"),
    (0, 24, "en", "who won the quiz at community night on sunday?"),
])  # fmt: skip
def test_t62_a_night_is_the_one_that_just_passed(start: int, hours: int, language: str, text: str) -> None:
    """On a Monday, `Sunday night` was eight days ago, because it ends on Monday."""
    begin = datetime(2026, 3, 15, start, tzinfo=UTC)
    for now in (datetime(2026, 3, 16, 12, tzinfo=UTC), datetime(2026, 3, 17, 12, tzinfo=UTC)):
        found = [(each.start, each.end) for each in read_spans(text, now, UTC, (language,))]
        assert found[:1] == [(begin, begin + timedelta(hours=hours))]


THIS_ONE = [
    ("en", "what happened on stream this weekend?"), ("en", "who won the match this weekend?"),
    ("de", "was habe ich dieses Wochenende verpasst?"), ("fr", "qui a gagné ce week-end ?"),
    ("es", "¿quién ganó este fin de semana?"), ("it", "cosa è successo questo fine settimana?"),
    ("pt", "o que aconteceu neste fim de semana?"), ("nl", "wat is er dit weekend gebeurd?"),
    ("ru", "что произошло в эти выходные?"), ("pl", "co się stało w ten weekend?"), ("ja", "今週末に何をした？"),
    ("ko", "이번 주말에 뭐 했지?"), ("zh", "这个周末发生了什么"),
]  # fmt: skip


def test_t62_late_in_a_week_somebody_may_have_told_of_the_coming_weekend() -> None:
    for day, weekend in ((10, 7), (12, 14)):
        about = find_about_days("She said it rains this weekend.", NOW.replace(day=day), UTC, ("en",))
        assert list(about)[:1] == [f"2026-03-{weekend:02}"]


@pytest.mark.parametrize(("language", "text"), THIS_ONE)
def test_t62_this_weekend_is_the_last_one_in_a_question_about_the_past(language: str, text: str) -> None:
    days = [(each.start and each.start.day, each.role) for each in read_spans(text, NOW, UTC, (language,))]
    assert days == [(7, "said")]


@pytest.mark.parametrize(("text", "day"), [
    ("who won this Sunday?", "2026-03-08"), ("what did we do this Christmas?", "2025-12-24"),
    ("what did I do this Tuesday?", "2026-03-10"), ("what did I do this Wednesday?", "2026-03-11"),
    ("what is on this weekend?", "2026-03-14"), ("what are we doing this Sunday?", "2026-03-15"),
    ("what are we doing this Christmas?", "2026-12-24"), ("what did I plan for this weekend?", "2026-03-14"),
])  # fmt: skip
def test_t62_the_tense_of_a_question_tells_which_one_this_is(text: str, day: str) -> None:
    assert [f"{each.start:%Y-%m-%d}" for each in read_spans(text, NOW, UTC, ("en",)) if each.start][:1] == [day]


@pytest.mark.parametrize(("expected", "language", "text"), _rows(*SPANS) + PECULIAR)
def test_t62_words_of_time_name_a_span(expected: str, language: str, text: str) -> None:
    found = [(each.start, each.end) for each in read_spans(text, NOW, UTC, (language,))]
    assert found[:1] == [tuple(map(_moment, expected.split("..")))]


@pytest.mark.parametrize("text", ["What did I spend in January and May so far?", "What was in June and in May?"])
def test_t62_a_second_month_is_as_sure_as_the_first(text: str) -> None:
    assert [each.start and each.start.month for each in read_spans(text, NOW, UTC, ("en",))][1:] == [5]


BEGUN = ("How did our conversation begin?", "how did our chats start", "When did the kayak first come up?")


@pytest.mark.parametrize(("expected", "language", "text"), _rows("order") + [("first", "en", text) for text in BEGUN])
def test_t62_the_first_and_the_last_are_an_order(expected: str, language: str, text: str) -> None:
    assert [each.role for each in read_spans(text, NOW, UTC, (language,))] == [expected]


NO_TIME = [
    ("en", "How did our conversation begin with Ben?"), ("en", "How did the trip begin?"),
    ("en", "Will our conversation end?"), ("en", "How many days ago did I buy milk?"), ("en", "it was years ago"),
    ("tr", "Ocakta ne pişiyor?"), ("tr", "ekim alanı nerede?"),
    ("ru", "сколько дней назад"), ("it", "anni fa"), ("nl", "hoeveel dagen geleden"), ("tr", "kaç gün önce"),
    ("en", "Does the 24/7 shop sell 1/2 litre bottles?"), ("zh", "我生日是几月几号?"), ("ko", "몇 월에 만났지?"),
    ("fr", "c'est quoi ce jeu ?"), ("fr", "qui a fini le jeu ?"), ("fr", "qui joue au jeu de Théo ?"),
    ("fr", "qui est en mer ?"), ("fr", "qui va à la mer ?"), ("it", "qui a vu la mer ?"),
    ("es", "¿quién fue al mar?"), ("es", "¿a quién le gusta el mar?"), ("pt", "depois de ter jantado"),
    ("pt", "quem foi ao mar?"), ("it", "chi vive nel mar Ligure?"), ("sv", "vad gör man efter man ätit?"),
    ("pl", "o co się 5 osób pyta?"), ("cs", "jízdenky pro 5 lidí"), ("en", "what did we do in the sun?"),
    ("en", "who is April?"), ("en", "who's Sunday?"), ("de", "Wer ist April?"), ("fr", "Qui est Avril ?"),
    ("es", "¿Quién es Abril?"), ("en", "what music did i like in the 1990s"),
    ("de", "was mochte ich in den 90er Jahren"),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "language", "text"), _rows("none") + [("-", *each) for each in NO_TIME])
def test_t62_words_that_only_look_like_times_name_none(expected: str, language: str, text: str) -> None:
    assert expected == "-" and read_spans(text, NOW, UTC, (language,)) == []


@pytest.mark.parametrize(("language", "text"), [
    ("en", "Who is coming on Friday?"), ("en", "Who is Monday's meeting with?"), ("de", "Wer ist nächste Woche dran?"),
])  # fmt: skip
def test_t62_who_is_before_more_than_a_name_asks_for_a_time(language: str, text: str) -> None:
    assert read_spans(text, NOW, UTC, (language,))


@pytest.mark.parametrize(("expected", "language", "text"), _rows("stored"))
def test_t62_a_stored_text_is_about_days(expected: str, language: str, text: str) -> None:
    days = [] if expected == "-" else [day if day[:2] == "20" else f"2026-{day}" for day in expected.split()]
    assert [day for day in find_about_days(text, NOW, UTC, (language,)) if not day.startswith("every")] == days


@pytest.mark.parametrize(("language", "present", "past"), [
    ("de", "Was habe ich am Dienstag?", "Was habe ich am Dienstag gemacht?"),
    ("fr", "Qu'est-ce que j'ai mardi ?", "Qu'est-ce que j'ai mangé mardi ?"),
    ("it", "Cosa ho martedì?", "Cosa ho fatto martedì?"),
    ("nl", "Heb ik dinsdag iets?", "Wat heb ik dinsdag gedaan?"),
])  # fmt: skip
def test_t62_have_without_a_participle_may_mean_a_coming_day(language: str, present: str, past: str) -> None:
    assert [span.role for span in read_spans(present, NOW, UTC, (language,))] == ["said", "about"]
    assert [span.role for span in read_spans(past, NOW, UTC, (language,))] == ["said"]


@pytest.mark.parametrize(("language", "text"), [
    ("en", "We stream every Wednesday."), ("en", "Wednesdays are for yoga"), ("de", "Mittwochs gehe ich zum Yoga"),
    ("es", "Los miércoles voy a yoga"), ("fr", "Tous les mercredis je vais au yoga"), ("pt", "Toda quarta tenho yoga"),
    ("ru", "Каждую среду йога"), ("ru", "По средам йога"), ("tr", "Her çarşamba yoga var"), ("zh", "每周三我去瑜伽"),
])  # fmt: skip
def test_t62_a_stored_text_is_about_a_weekday_that_recurs(language: str, text: str) -> None:
    assert list(find_about_days(text, NOW, UTC, (language,))) == ["every-2"]


def test_t62_abbreviated_weekdays_side_by_side_are_no_verbs() -> None:
    for language, text in (
        ("en", "sat and sun we are away"),
        ("de", "Sa/So sind wir weg"),
        ("fr", "sam, dim on est là"),
    ):
        assert list(find_about_days(text, NOW, UTC, (language,))) == ["2026-03-14", "2026-03-15"]


def test_t62_letters_with_an_ampersand_and_a_weekday_do_not_hide_the_language() -> None:
    assert "en" in likely_languages("D&D every Monday at 7pm", ("en",))
    # `at` is Danish too, and the hour alone reads as well in it
    assert "every-2" in find_about_days("every Wednesday 7pm D&D at Kim's", NOW, UTC, ("da", "no", "en"))


@pytest.mark.parametrize(("language", "text"), [
    ("en", "My birthday is on 3 October"), ("en", "I was born on 3 October 1999"), ("en", "Our anniversary: 3 October"),
    ("de", "Am 3. Oktober ist ihre Geburtstagsfeier"), ("fr", "Mon anniversaire est le 3 octobre"),
    ("es", "Nací el 3 de octubre de 1999"), ("nl", "Ik ben jarig op 3 oktober"), ("ru", "Мой день рождения 3 октября"),
    ("pl", "Moje urodziny są 3 października"), ("ja", "誕生日は10月3日です"), ("zh", "我的生日是10月3日"),
])  # fmt: skip
def test_t62_a_birthday_is_about_a_day_that_recurs_every_year(language: str, text: str) -> None:
    day, yearly = find_about_days(text, NOW, UTC, (language,))
    assert (day[4:], yearly) == ("-10-03", "every-10-03")


@pytest.mark.parametrize("text", ["The party is on 3 October", "He was stubborn on 3 October", "My birthday is in May"])
def test_t62_no_other_day_recurs_every_year(text: str) -> None:
    assert not any(day.startswith("every") for day in find_about_days(text, NOW, UTC, ("en",)))


@pytest.mark.parametrize(("day", "language", "text"), [
    ("", "pt", "a segunda vez"), ("", "ru", "берегу окружающую среду"),
    ("", "ja", "明日奈に会った"), ("-4", "ko", "매주 금요일"),
    ("", "en", "Two days later my arm has healed."), ("", "de", "Zehn Tage später war der Arm verheilt."),
    ("", "fr", "Deux jours plus tard, on est partis."), ("", "es", "Dos días después llegó la carta."),
    ("14", "ja", "3日後に引っ越す"), ("14", "ko", "3일 후에 이사"),
    ("12", "hi", "कल बैठक होगी"), ("10", "hi", "कल मैंने खाना खाया"),
    ("", "en", "I finished the book in two days."), ("", "en", "It seems like only yesterday, Ann!"),
    ("", "en", "My exams are coming up."), ("", "en", "Early last week I was ill."),
    ("13", "en", "I lost my key, and in two days I leave."),
    ("13", "en", "I can't wait to see you in two days!"),
    ("11", "de", "Mittwochskuchen bei Oma, sie hat mir Brot geschenkt"), ("11", "en", "Wednesday morning was cold"),
    ("10", "de", "Der Dienstag war schön"), ("04", "en", "I saw her last Wednesday"),
    ("13", "en", "The tyres get fitted on Friday."), ("13", "it", "Venerdì ho il dentista."),
    ("09", "it", "Lunedì sono andata dal dentista."),
    ("15", "ru", "Мы поженились в 2015 году."), ("15", "uk", "Ми одружилися у 2015 році."),
    ("15", "pl", "Wzięliśmy ślub w 2015 roku."), ("15", "hu", "2015-ben házasodtunk össze."),
    ("15", "tr", "2015'te evlendik."), ("15", "hi", "हमने 2015 में शादी की।"), ("15", "sv", "Vi gifte oss 2015."),
    ("13", "pt", "Na sexta-feira começarei."), ("10", "pt", "Na terça esperei por ela."),
    ("13", "nl", "Vrijdag heb ik tandarts."), ("09", "nl", "Maandag ben ik naar de tandarts gegaan."),
    ("13", "ru", "Мама сказала, что приедет в пятницу."), ("09", "en", "I told him that on Monday."),
    ("13", "en", "I found out we have a test on Friday."), ("13", "en", "I asked her and we are eating out on Friday."),
    ("09", "de", "Ich habe aber am Montag gegessen."), ("13", "en", "I had to move my flight to Friday."),
    ("14", "nl", "Het feest is op de 14e om 8 uur."), ("", "nl", "Het feest is op de 14e verdieping."),
    ("14", "nl", "Het feest is op de 14de."), ("14", "de", "Wir treffen uns am 14ten."),
    ("14", "it", "La festa è il 14 alle 20."), ("14", "fr", "On se voit le 14, d'accord ?"),
    ("28", "en", "Ok, the meetup moved to the 28th, same place."), ("28", "en", "It is still 28th 2:30pm"),
    ("28", "en", "It was postponed to the 28th."), ("28", "de", "Das Treffen wurde auf den 28. verschoben."),
    ("28", "en", "Rent is due the 28th."), ("", "en", "I moved to the 3rd floor."), ("", "en", "She came 28th."),
    ("", "en", "Thanks for the 3rd time."), ("11", "en", "ugh wednesday"), ("11", "de", "Endlich Mittwoch!"),
    ("15", "en", "Kessi said sunday is cancelled"), ("15", "en", "Kessi said the sunday game is off"),
    ("15", "de", "Kessi hat gesagt Sonntag fällt aus"), ("08", "en", "He said Sunday was nice."),
    ("15", "de", "Mario Kart hat gewonnen 3:2, also Mario Kart am Sonntag"),
    ("08", "de", "Sonntag hat er mir das gesagt."),
    ("15", "fr", "a gagné Mario Kart, donc dimanche Mario Kart"), ("15", "de", "Ich hab Karten für Sonntag bekommen"),
    ("15", "fr", "On a reçu des places pour dimanche"), ("15", "es", "He conseguido entradas para el domingo"),
    ("15", "nl", "Jan heeft gezegd zondag gaat niet door"), ("15", "it", "Ha detto domenica non si fa"),
    ("14", "en", "sat 3pm works, bring snacks"), ("07", "en", "I sat on the sofa on Saturday"),
    ("", "en", "I sat 3 exams."), ("", "fr", "j'ai fini un jeu 5 étoiles"),
    ("", "fr", "j'adore ce jeu"), ("", "fr", "ce jeu s'appelle Outer Wilds"), ("", "es", "me encanta el mar"),
    ("10", "es", "ayer fui al mar con mi hermana"), ("10", "de", "Gestern war ich in so einem Laden"),
    ("17", "it", "dentista mar 17"), ("15", "pt", "te vejo no dom"),
    ("12", "fr", "RDV jeu. 14h"), ("18", "fr", "mer 18 mars dentiste"), ("12", "fr", "dentiste, jeu 14h"),
    ("18", "en", "The dentist is on Wednesday."), ("18", "de", "Mittwoch gehe ich zum Zahnarzt."),
    ("13", "ru", "Я болела, но в пятницу выхожу на работу."), ("09", "ru", "В понедельник шёл дождь."),
])  # fmt: skip
def test_t62_a_stored_text_is_about_days_in_other_languages(day: str, language: str, text: str) -> None:
    assert [each[-2:] for each in find_about_days(text, NOW, UTC, (language,))] == ([day] if day else [])


@pytest.mark.parametrize(("language", "text"), [
    ("de", "Habe gerade den Termin bekommen: Sonntag 9 Uhr"), ("fr", "j'ai reçu la date : dimanche 9h"),
    ("en", "Pete said sunday"), ("de", "Er hat gesagt Sonntag"),
])  # fmt: skip
def test_t62_a_day_that_may_be_past_or_coming_is_found_on_both_and_shown_on_none(language: str, text: str) -> None:
    assert [*find_about_days(text, NOW, UTC, (language,))] == ["2026-03-08", "2026-03-15"]
    assert find_day_meant(text, NOW, UTC, (language,)) is None


@pytest.mark.parametrize("behind", [".", "!", ", ok", ")", "... Ok.", "\n- ok"])
def test_t62_punctuation_behind_a_time_changes_nothing(behind: str) -> None:
    """`from January to March 2025.` lost its end, and `on Friday at 9.` was a day of December."""
    for _, language, text in _rows(*SPANS):
        plain, ended = (read_spans(each, NOW, UTC, (language,)) for each in (text, text + behind))
        assert [(x.start, x.end, x.role) for x in ended] == [(x.start, x.end, x.role) for x in plain], text


def test_t62_a_name_with_a_weekday_is_about_no_day() -> None:
    about = [find_about_days(f"The saturday {noun} is small.", NOW, UTC, ("en",)) for noun in ("market", "flight")]
    assert list(map(len, about)) == [0, 1]


@pytest.mark.parametrize(("expected", "language", "text"), _rows("beside"))
def test_p73_a_stored_text_names_a_day_beside_its_own_if_that_is_sure(expected: str, language: str, text: str) -> None:
    day = find_day_meant(text, NOW, UTC, (language,))
    assert (f"{day:%m-%d}" if day else "-") == expected


BASICS = (
    "03-10..03-11", "03-02..03-09", "03-08..03-09", "03-09..now", "03-05..03-06", "03-08..now", "03-03..03-04",
    "03-01..04-01", "-..01-05", "03-03..03-06",
)  # fmt: skip


def _languages() -> list[tuple[str, str, str]]:
    lines = Path(__file__).with_name("languages.txt").read_text(encoding="utf-8").splitlines()
    each = ((line.partition("|")[0], line.partition("|")[2].split(";")) for line in lines)
    return [(code, text, span) for code, texts in each for text, span in zip(texts, BASICS, strict=True) if text != "-"]


@pytest.mark.parametrize(("language", "text", "expected"), _languages())
def test_t62_the_same_times_are_named_in_other_languages(language: str, text: str, expected: str) -> None:
    found = [(each.start, each.end) for each in read_spans(text, NOW, UTC, (language,)) if each.role != "about"]
    assert found == [tuple(map(_moment, expected.split("..")))]


@pytest.mark.parametrize("language", sorted(LANGUAGE_CODES))
def test_t62_every_language_has_words_of_time(language: str) -> None:
    lexicon = load(language)
    assert lexicon is not None
    kinds = {kind for phrases in lexicon.phrases.values() for meanings in phrases.values() for kind in meanings}
    assert set("WUDN") <= kinds and kinds & set("MJ")


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80) | st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), st.datetimes())
@example("Monday", datetime(1, 1, 1))  # noqa: DTZ001 - made aware below
@example("Monday of next week", datetime(9999, 12, 31))  # noqa: DTZ001
@example("on the 14th", datetime(9998, 12, 31))  # noqa: DTZ001
def test_t62_no_text_and_no_time_make_the_reader_fail(text: str, now: datetime) -> None:
    at = now.replace(tzinfo=UTC)
    for span in read_spans(text, at, ZoneInfo("Pacific/Auckland"), ("en", "de", "ja")):
        assert span.start is None or span.end is None or span.start <= span.end
        assert all(0 <= begin < end <= len(text) for begin, end in span.words)
    find_about_days(text, at, UTC, ("en", "fr"))
    find_day_meant(text, at, UTC, ("en", "fr"))


@pytest.mark.parametrize("language", sorted(LANGUAGE_CODES))
def test_t62_words_of_time_in_any_order_fail_in_no_language(language: str) -> None:
    lexicon, rng = load(language), Random(7)
    assert lexicon is not None
    words = [" ".join(phrase) for phrases in lexicon.phrases.values() for phrase in phrases] + ["3", "14", "2026"]
    for _ in range(200):
        text = " ".join(rng.choices(words, k=rng.randrange(2, 6)))
        assert all(start <= end for start, end in (span.words[0] for span in read_spans(text, NOW, UTC, [language])))


def test_t62_a_word_for_before_is_no_amount_and_an_amount_no_word_for_before() -> None:
    for language, text in (("zh", "下個之前14?"), ("en", "I told you on Monday fortnight"), ("ko", "전 다음 주")):
        assert all(span.start is not None for span in read_spans(text, NOW, UTC, [language])), text
