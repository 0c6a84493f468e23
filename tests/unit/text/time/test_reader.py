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
    "last next 3 400 9999 days weeks years ago in since from to Monday May 2026-02-30 31. first week of before the and "
    "half Christmas at 25:61 7pm vor letzten Tage 先週 月曜日 3月 31日 前 0 2100 1900-01-01 99/99/9999 morning until"
)
CARRIERS = {"en": ("What did I say {}?", "{}, what happened?", "Remind me what we did {}"),
            "de": ("Was habe ich {} gesagt?", "{}: was war da?", "Was haben wir {} gemacht?"),
            "fr": ("Qu'est-ce que j'ai dit {} ?", "{}, que s'est-il passé ?", "Qu'avons-nous fait {} ?"),
            "es": ("¿Qué dije {}?", "{}, ¿qué pasó?", "¿Qué hicimos {}?")}  # fmt: skip


def _moment(text: str) -> datetime | None:
    if text in ("-", "now"):
        return NOW if text == "now" else None
    text = text if text[:2] == "20" else f"2026-{text}"
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _rows(*kinds: str) -> list[tuple[str, ...]]:
    """Return what is expected, language and text of the sentences of some kinds, in the carriers of their language."""
    rows, kind, number = list[tuple[str, ...]](), "", 0
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


def _others(kind: str) -> list[tuple[str, ...]]:
    """Return what is expected, language and text of peculiar sentences of a kind, in any language."""
    part = Path(__file__).with_name("others.txt").read_text(encoding="utf-8").partition(f"# {kind}\n")[2]
    return [tuple(line.split(" | ")) for line in part.partition("\n#")[0].splitlines()]


SPANS = ("last_n", "open", "range", "weekday", "part", "relative")


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


def test_t62_late_in_a_week_somebody_may_have_told_of_the_coming_weekend() -> None:
    for day, weekend in ((10, 7), (12, 14)):
        about = find_about_days("She said it rains this weekend.", NOW.replace(day=day), UTC, ("en",))
        assert list(about)[:1] == [f"2026-03-{weekend:02}"]


@pytest.mark.parametrize(("_", "language", "text"), _others("this weekend"))
def test_t62_this_weekend_is_the_last_one_in_a_question_about_the_past(_: str, language: str, text: str) -> None:
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


@pytest.mark.parametrize(("expected", "language", "text"), _rows(*SPANS) + _others("spans"))
def test_t62_words_of_time_name_a_span(expected: str, language: str, text: str) -> None:
    found = [(each.start, each.end) for each in read_spans(text, NOW, UTC, (language,))]
    assert found[:1] == [tuple(map(_moment, expected.split("..")))]


BEGUN = ("How did our conversation begin?", "how did our chats start", "When did the kayak first come up?")


@pytest.mark.parametrize(("expected", "language", "text"), _rows("order") + [("first", "en", text) for text in BEGUN])
def test_t62_the_first_and_the_last_are_an_order(expected: str, language: str, text: str) -> None:
    assert [each.role for each in read_spans(text, NOW, UTC, (language,))] == [expected]


@pytest.mark.parametrize(("expected", "language", "text"), _rows("none") + _others("none"))
def test_t62_words_that_only_look_like_times_name_none(expected: str, language: str, text: str) -> None:
    assert expected == "-" and read_spans(text, NOW, UTC, (language,)) == []


def test_t62_who_is_before_more_than_a_name_asks_for_a_time_and_a_second_month_is_as_sure_as_the_first() -> None:
    said = (("en", "Who is coming on Friday?"), ("en", "Who is Monday's meeting with?"))
    assert all(read_spans(text, NOW, UTC, (code,)) for code, text in (*said, ("de", "Wer ist nächste Woche dran?")))
    for text in ("What did I spend in January and May so far?", "What was in June and in May?"):
        assert [each.start and each.start.month for each in read_spans(text, NOW, UTC, ("en",))][1:] == [5]


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


@pytest.mark.parametrize(("expected", "language", "text"), _others("recurring"))
def test_t62_a_stored_text_is_about_a_day_that_recurs(expected: str, language: str, text: str) -> None:
    """Each week, or each year, as a birthday: that one is about its next day too."""
    *days, recurring = find_about_days(text, NOW, UTC, (language,))
    assert recurring == expected and [day[4:] for day in days] == ["-10-03"] * (expected == "every-10-03")


def test_t62_abbreviated_weekdays_are_no_verbs_and_letters_with_an_ampersand_hide_no_language() -> None:
    said = (("en", "sat and sun we are away"), ("de", "Sa/So sind wir weg"), ("fr", "sam, dim on est là"))
    for language, text in said:
        assert list(find_about_days(text, NOW, UTC, (language,))) == ["2026-03-14", "2026-03-15"]
    assert "en" in likely_languages("D&D every Monday at 7pm", ("en",))
    # `at` is Danish too, and the hour alone reads as well in it
    assert "every-2" in find_about_days("every Wednesday 7pm D&D at Kim's", NOW, UTC, ("da", "no", "en"))


def test_t62_no_other_day_recurs_every_year_and_a_name_with_a_weekday_is_about_no_day() -> None:
    for text in ("The party is on 3 October", "He was stubborn on 3 October", "My birthday is in May"):
        assert not any(day.startswith("every") for day in find_about_days(text, NOW, UTC, ("en",)))
    about = [find_about_days(f"The saturday {noun} is small.", NOW, UTC, ("en",)) for noun in ("market", "flight")]
    assert list(map(len, about)) == [0, 1]


@pytest.mark.parametrize(("day", "language", "text"), _others("about"))
def test_t62_a_stored_text_is_about_days_in_other_languages(day: str, language: str, text: str) -> None:
    assert [each[-2:] for each in find_about_days(text, NOW, UTC, (language,))] == [day] * (day != "-")


@pytest.mark.parametrize(("language", "text"), [
    ("de", "Habe gerade den Termin bekommen: Sonntag 9 Uhr"), ("fr", "j'ai reçu la date : dimanche 9h"),
    ("en", "Pete said sunday"), ("de", "Er hat gesagt Sonntag"), ("en", "The mechanic rang - car ready sunday"),
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


@pytest.mark.parametrize(("expected", "language", "text"), _rows("beside"))
def test_p73_a_stored_text_names_a_day_beside_its_own_if_that_is_sure(expected: str, language: str, text: str) -> None:
    day = find_day_meant(text, NOW, UTC, (language,))
    assert (f"{day:%m-%d}" if day else "-") == expected


BASICS = ("03-10..03-11", "03-02..03-09", "03-08..03-09", "03-09..now", "03-05..03-06", "03-08..now", "03-03..03-04",
          "03-01..04-01", "-..01-05", "03-03..03-06")  # fmt: skip


def _languages() -> list[tuple[str, str, str]]:
    lines = Path(__file__).with_name("languages.txt").read_text(encoding="utf-8").splitlines()
    each = ((line.partition("|")[0], line.partition("|")[2].split(";")) for line in lines)
    return [(code, text, span) for code, texts in each for text, span in zip(texts, BASICS, strict=True) if text != "-"]


@pytest.mark.parametrize(("language", "text", "expected"), _languages())
def test_t62_the_same_times_are_named_in_other_languages(language: str, text: str, expected: str) -> None:
    found = [(each.start, each.end) for each in read_spans(text, NOW, UTC, (language,)) if each.role != "about"]
    assert found == [tuple(map(_moment, expected.split("..")))]


def test_t62_a_word_for_before_is_no_amount_and_an_amount_no_word_for_before() -> None:
    for language, text in (("zh", "下個之前14?"), ("en", "I told you on Monday fortnight"), ("ko", "전 다음 주")):
        assert all(span.start is not None for span in read_spans(text, NOW, UTC, [language])), text


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80) | st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join), st.datetimes())
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
def test_t62_every_language_has_words_of_time_and_in_any_order_they_fail_in_none(language: str) -> None:
    lexicon, rng = load(language), Random(7)
    assert lexicon is not None
    kinds = {kind for phrases in lexicon.phrases.values() for meanings in phrases.values() for kind in meanings}
    assert set("WUDN") <= kinds and kinds & set("MJ")
    words = [" ".join(phrase) for phrases in lexicon.phrases.values() for phrase in phrases] + ["3", "14", "2026"]
    for _ in range(200):
        text = " ".join(rng.choices(words, k=rng.randrange(2, 6)))
        assert all(start <= end for start, end in (span.words[0] for span in read_spans(text, NOW, UTC, [language])))
