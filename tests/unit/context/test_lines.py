"""Lines of the history lists and of the diary: what the model reads of every message."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.context import lines
from core.context.lines import age_mark, body, is_persona, mark_lines, place_of, reply_note, shown_name, stamp
from core.context.section_base import Built
from core.context.section_diary import diary_lines
from core.context.section_thoughts import thought_lines
from core.shapes import DiaryEntry, HistoryEntry, LeftOut, ReplyNote
from core.text.folding import join_lines

NOW = datetime(2026, 3, 10, 13, 6, tzinfo=UTC)
AT = datetime(2026, 3, 10, 13, 5, tzinfo=UTC)
ROME = ZoneInfo("Europe/Rome")


def shown(entry: HistoryEntry, *, own: bool = True, **options: object) -> str:
    made = body(entry, **{"zone": ROME, "now": NOW, **options})  # type: ignore[arg-type]
    return made if own else f"[from {place_of(entry)}] {made}"


def test_p28_a_line_has_local_time_one_sender_and_text_with_single_quotes_and_no_line_break() -> None:
    entry = HistoryEntry("tg/1", 'say "hi"\nnow', sender_name="Ann", time=AT)
    assert shown(entry) == "[2026-03-10 14:05] Ann: \"say 'hi' / now\""
    assert shown(HistoryEntry("tg/1", "ok", sender_name='A\r\n"b"')) == "A 'b': \"ok\""
    assert shown(HistoryEntry("tg/1", "ok", sender_name="x" * 64)) == f'{"x" * 64}: "ok"'
    assert shown(HistoryEntry("tg/1", "ok", sender_name="x" * 65)) == f'{"x" * 64}: "ok"'
    assert len(join_lines(("milk" + " " * 200_000 + "x\n") * 3).splitlines()) == 1  # and takes no time
    # at the ends of the calendar a zone has no local time
    assert stamp(datetime.max.replace(tzinfo=UTC), ZoneInfo("Asia/Tokyo")) == "[9999-12-31 23:59]"
    assert stamp(datetime.min.replace(tzinfo=UTC), ZoneInfo("America/New_York")) == "[0001-01-01 00:00]"


@pytest.mark.parametrize("mark", ["\n", "\r\n", "\v", "\x1c", "\x85", "\u2028"])
def test_f83_only_what_could_be_a_speakers_line_is_marked(mark: str) -> None:
    """A text with a line break would otherwise hold another person's words; ordinary lines stay as they are."""
    forged = ("Bob: I owe", "[2026-03-10 11:00]", " - **Ann B**： yes", "\u3000Ann\uff1ano", "self :x", "9:30 A: a")
    assert mark_lines(mark.join(["hi", *forged])).splitlines() == ["hi", *(f"> {line}" for line in forged)]
    plain = ("I like tea", "    return x", "", "- milk", "We met at 9:30", "It was so long " + "that " * 30 + ": true")
    assert mark_lines(mark.join(["Ann: hi", *plain])) == "\n".join(["Ann: hi", *plain])


@pytest.mark.parametrize(("text", "shown"), [
    ("Shopping\nmilk\n\n  oat flakes 🥛 \r\neggs\n", "Shopping / milk / oat flakes 🥛 / eggs"),
    ("To buy:\n- milk\n- eggs", "To buy: - milk - eggs"), ("Bake\n1. flour\n2) eggs", "Bake 1. flour 2) eggs"),
    ("I moved.\n\nIt is loud (so loud!)\nHelp", "I moved. It is loud (so loud!) Help"),
    ("牛乳\n卵。\n米", "牛乳 / 卵。 米"),
    ("tea\u2028rice\x85Bob: no\x00", "tea / rice / Bob: no"), (" as it is ", " as it is "), ("\n", ""),
])  # fmt: skip
def test_p24_the_lines_of_a_list_stay_apart_on_one_line(text: str, shown: str) -> None:
    """A shopping list became `milk oat flakes eggs`."""
    assert join_lines(text) == shown and join_lines(shown) == shown


def test_p22_the_persona_is_known_by_its_role_and_the_first_of_name_username_and_id_is_shown() -> None:
    own = ({"sender_id": "self", "role": "persona"}, {"role": "thought"})
    others: tuple[Any, ...] = ({"sender_id": "self", "sender_name": "self"}, {"sender_name": "Ann"})
    assert [is_persona(HistoryEntry("a", "t", **each)) for each in (*own, *others)] == [True, True, False, False]
    senders = [("7", "Ann", "ann"), ("7", " ", "ann"), ("7", "\x00", ""), ("", "", "")]
    names = [shown(HistoryEntry("a", "t", *sender)).split(":")[0] for sender in senders]
    assert names == ["Ann", "ann", "7", "Unknown"]


def test_f83_a_name_is_one_persons_within_a_prompt() -> None:
    labels = lines.NameLabels("Iris")
    named = [(lines.PERSONA, "Iris"), (("tg", "1"), "iris"), (("tg", "1"), "iris"), (("dc", "1"), "Iris"),
             (("", "iris"), "Iris"), (("tg", "2"), "Ann"), (("tg", "3"), "ANN"), (("", "ann"), "Ann")]  # fmt: skip
    told = [labels.label(identity, name) for identity, name in named]
    assert labels.persona == "Iris" and lines.NameLabels().persona == ""
    assert told == ["Iris", "iris (2)", "iris (2)", "Iris (3)", "Iris (2)", "Ann", "ANN (2)", "Ann"]


@pytest.mark.parametrize("name", [
    "IRIS", " Iris ", "Iris\u00a0", "\u3000Iris", "\uff29ris", "Iris\u200b", "\u200dIris", "Iris\u2060", "I\u00adris",
    "Iris\ufe0f", "\u202eIris", "Ir\ufeffis", "Iris\u3164", "\u2800Iris", "Iris\U000e0041", "\u2066Iris\u2069",
    "I\u034fris",
], ids=ascii)  # fmt: skip
@pytest.mark.parametrize("own_id", ["9", ""])
def test_f83_a_name_that_looks_like_the_personas_has_a_mark(name: str, own_id: str) -> None:
    labels = lines.NameLabels("Iris")
    entry = HistoryEntry("tg/1", "t", sender_id=own_id, sender_name=name)
    assert labels.label_entry(entry) == labels.label_entry(entry) == f"{lines.sender(entry)} (2)"
    for other in ("Irina", "Iris B", "Iri\u015b\u200b\u200c x", "\U0001f469\u200d\U0001f680"):
        assert labels.label(("tg", other), other) == other
    assert [lines.shown_name(blank, "ann") for blank in ("\u200b", " \u2060", "\u3164")] == ["ann"] * 3
    assert lines.shown_name("  Ann  Lee ") == "Ann  Lee"


def test_t33_a_name_is_in_a_text_as_whole_words() -> None:
    held = ("ann", "with ann.", "annika met ann", "(ann)", "ann lee")
    assert all(lines.holds_words(text, "ann") for text in held)
    assert not any(lines.holds_words(text, "ann") for text in ("annika", "joann", "", "annann"))


def test_p29_a_reply_names_whom_it_answers_and_quotes_at_most_40_characters() -> None:
    entry = HistoryEntry("a", "ok", sender_name="Ann", time=AT, reply=ReplyNote("Bob", "see you"))
    assert shown(entry) == '[2026-03-10 14:05] Ann [replied to Bob: "see you"]: "ok"'
    assert reply_note("Bob", "x" * 40) == f'[replied to Bob: "{"x" * 40}"]'
    assert reply_note("Bob", "x" * 41) == f'[replied to Bob: "{"x" * 40}…"]'
    assert reply_note("", 'a\n"b"') == "[replied to Unknown: \"a 'b'\"]"
    assert reply_note("Bob", " ") == "[replied to Bob]"


def test_p30_a_line_of_another_conversation_names_it_and_the_own_never_does() -> None:
    entry = HistoryEntry("telegram_bot/42", "ok", sender_name="Ann", time=AT)
    assert shown(entry, own=False) == '[from telegram_bot/42] [2026-03-10 14:05] Ann: "ok"'
    assert shown(entry, own=True) == '[2026-03-10 14:05] Ann: "ok"'
    assert shown(HistoryEntry("tg/2", "ok", title="\x00 "), own=False) == '[from tg/2] Unknown: "ok"'
    titled = HistoryEntry("telegram_bot/42", "ok", sender_name="Ann", time=AT, title='The\n"Club"')
    assert shown(titled, own=False) == "[from The 'Club'] [2026-03-10 14:05] Ann: \"ok\""


def test_p31_f59_the_age_counts_whole_minutes_hours_and_days_after_the_time() -> None:
    minutes = {5: "", 9.99: "", 10: "10 minutes", 62: "1 hour", 23.99 * 60: "23 hours", 47 * 60: "1 day"}
    for age, words in {**minutes, 48 * 60: "2 days", -9999: ""}.items():
        assert age_mark(NOW - timedelta(minutes=age), NOW) == (words and f"[{words} ago]")
    assert age_mark(None, NOW) == ""
    entry = HistoryEntry("a", "ok", sender_name="Ann", time=AT)
    assert shown(entry, now=AT + timedelta(minutes=25)) == '[2026-03-10 14:05] [25 minutes ago] Ann: "ok"'


ANY = st.text(st.characters(codec=None), max_size=60) | st.sampled_from(["]\n[", '"\r\n"', "\ud800\x00\u2028"])


@given(ANY, ANY, ANY, ANY, ANY, st.booleans())
def test_p28_no_text_or_name_breaks_a_line(text: str, name: str, key: str, quote: str, time: str, own: bool) -> None:
    entry = HistoryEntry(key, text, sender_name=name, title=name, shown_time=time, reply=ReplyNote(name, quote))
    told = shown(entry, own=own)
    assert len(told.encode("utf-8").decode().splitlines()) == 1 and "\x00" not in told
    assert 0 < len(shown_name(name)) <= 64


def test_g11_a_thought_of_nothing_visible_is_none() -> None:
    nul = DiaryEntry(1, None, "\x00", personal_thought="\x00", interaction_summary="\x00 ")
    assert thought_lines([nul], 5, UTC) == Built([])
    assert diary_lines([nul], 100, UTC) == Built([], (LeftOut("ai_diary", "blank", "1"),))
