"""The sections of a whole prompt: history, diary, what comes up, other channels (P20 to P39, P68, T62, M17 to M21)."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import update

from core import Scope, build_json_prompt, build_messages, conversations, forget, insert_memory, short_term
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.database.schema import chat_history_cache as table
from core.errors import CoreError, MessageError
from core.history_engine import HistoryEngine
from core.messages import table_hidden
from core.privacy import link_participants
from core.synth_tagging import link_tags
from core.transcripts import build_reply, save_turn
from tests.databases import traced
from tests.spec.stage import ELSEWHERE, HERE, NOW, Stage, message, reasons, said, snippets
from tests.store.test_search_packed import pack

PATHS = ["a b/c d", "\U0001f600/\U0001f600", "tg//1", "/tg/1", "%/_", "TG/1", "tg/1/2/3/4", "tg/" + "x" * 250]
WEEK = 7 * 1440
FLIGHT = "2026-03-12: [2026-02-17 12:00] Ann: In 23 days I fly to Riga."
SURE = [
    "See you tomorrow at the lake", "See you tomorrow at 8 pm", "Bye, the dentist is tomorrow", "I work tomorrow lol",
    "Bis morgen muss das fertig sein", "Demain je pars", "Hasta mañana tengo que pagar",
]  # fmt: skip
GUILD = {"server_id": "s1", "is_private": False}
BYE = [
    "gn chat, see you tomorrow", "bye, see u tomorrow", "See you tomorrow Bob!", "I'll see you all tomorrow evening",
    "Bis morgen!", "Tschüss, bis morgen Abend, alle zusammen", "À demain !", "¡Hasta mañana a todos!", "A domani!",
    "Até amanhã, pessoal", "Tot morgen allemaal!", "До завтра!", "Vi ses i morgon", "また明日ね", "내일 봐요", "明天见",
]  # fmt: skip


def live(text: str, minutes: float = 0, who: str = "Ann", **more: Any) -> dict[str, Any]:
    sender = "self" if who == "self" else who.lower()
    at = (NOW - timedelta(minutes=minutes)).isoformat()
    return {"sender_name": who, "sender_id": sender, "text": text, "timestamp": at, **more}


def test_p20_build_context_alone_gives_the_keys_of_p8_the_lists_of_the_prompt_and_cuts_memories(stage: Stage) -> None:
    stage.say_all((f"line {n}" for n in range(16)), minutes=100)
    stage.say_all((f"there {n}" for n in range(16)), ELSEWHERE, "Bob", minutes=100)
    stage.diary("a day", personal_thought="hm")
    hits = [{"source": "memories", "id": n, "timestamp": "", "snippet": f"s{n}", "tags": []} for n in range(12)]
    build, memory = HistoryEngine().build_context, {HERE: [live("live one", 1)]}
    context = build(message("hi"), memory, memories=iter(hits), **stage.asking())
    lists = ["history_current_chat", "history_recent", "thoughts"]
    assert list(context) == [*lists, "memories", "tags_placeholder", "ai_diary"]
    assert [context[key] for key in lists] == [stage.context("hi", memory)[key] for key in lists]
    assert len(context["memories"]) == 10
    broken: Any = [3, None, {"snippet": 4}, hits[0], "x"]
    context = build(message("hi"), 3, memories=broken, **stage.asking())
    assert context["memories"] == hits[:1]


@pytest.mark.engines()
@pytest.mark.parametrize("unseen", [{"role": "thought"}, {"hidden": table_hidden.AT_SOURCE}])
def test_p24_older_rows_are_read_as_long_as_they_are_needed(stage: Stage, unseen: dict[str, Any]) -> None:
    stage.say_all((f"good {n}" for n in range(10)), minutes=400)
    stage.say_all((f"there {n}" for n in range(10)), ELSEWHERE, "Bob", minutes=400)
    for path in (HERE, ELSEWHERE):
        stage.say_all((f"hm {n}" for n in range(40)), path, minutes=300)
    change = update(table).where(table.c.persona_id == stage.persona, table.c.message_text.like("hm %"))
    stage.db.transaction(lambda connection: connection.execute(change.values(unseen)), source="a test")
    with traced(stage.db) as statements:
        context = stage.context("what", CONTEXT_VERBOSITY=10)
    assert said(context["history_current_chat"]) == [f"good {n}" for n in range(10)] and len(statements) <= 14
    assert said(context["history_recent"]) == [f"there {n}" for n in range(10)]
    stage.say_all((f"later {n}" for n in range(10)), minutes=30)
    stage.say_all((f"there later {n}" for n in range(10)), ELSEWHERE, "Bob", minutes=30)
    with traced(stage.db) as statements:
        full = stage.context("what", CONTEXT_VERBOSITY=10)
    assert len(full["history_current_chat"]) == len(full["history_recent"]) == 10 and len(statements) <= 14


@pytest.mark.engines()
def test_p24_further_conversations_are_read_when_the_newest_give_no_line(stage: Stage) -> None:
    stage.say("good", "tg/last", "Bob", minutes=900)
    for n in range(4):
        stage.say("hm", f"tg/noise{n}", "Bob", minutes=100 + n, role="thought")
    assert said(stage.context("what", CONTEXT_VERBOSITY=3)["history_recent"]) == ["good"]


def test_p33_the_message_itself_is_not_repeated(stage: Stage) -> None:
    stage.say("is tofu soft", minutes=0, message_id="m-now")
    stage.say("is tofu soft", minutes=5, message_id="m-before")
    memory = {HERE: [live("is tofu soft", 0, message_id="m-now"), live("is tofu soft", 0)]}
    prompt, report = stage.explain("is tofu soft", memory)
    assert said(prompt["context"]["history_current_chat"]) == ["is tofu soft"]
    assert "echo" in reasons(report, "history_current_chat")
    other = stage.explain("is tofu soft", memory, ENABLE_HISTORY_CURRENT_CHAT=0)
    assert snippets(other[0]["context"]) == ["is tofu soft"] and "echo" in reasons(other[1], "memories")


def test_p36_skip_history_empties_the_lists_and_nothing_else(stage: Stage) -> None:
    stage.say_all((f"tofu here {n}" for n in range(30)), minutes=90)
    stage.say_all((f"tofu there {n}" for n in range(30)), ELSEWHERE, "Bob", minutes=90)
    stage.remember("tofu is white", ["tofu"], 900)
    stage.diary("a day", personal_thought="hm")
    whole = stage.context("tofu")
    with traced(stage.db) as all_statements:
        assert stage.context("tofu") == whole
    with traced(stage.db) as statements:
        empty = stage.prompt("tofu", {"skip_history": True})
    assert len(statements) <= len(all_statements)
    context = empty["context"]
    assert context["history_current_chat"] == context["history_recent"] == context["thoughts"] == []
    lists = {"history_current_chat", "history_recent", "thoughts"}
    assert {k: v for k, v in context.items() if k not in lists} == {k: v for k, v in whole.items() if k not in lists}


def test_p34_a_memory_that_says_no_more_than_a_visible_message_stands_there_once(stage: Stage) -> None:
    group = "tg/-5"
    stage.say("Hi all! Please remember that I am allergic to shellfish.", group, "Bob", minutes=90)
    bob = stage.scope(group, participant="tg/bob")
    assert conversations.list_saved_memories(kind="instruction", db=stage.db, scope=bob)
    asked = {"path": group, "is_private": False, "who": "Ann"}
    shown = stage.context("What about shellfish?", **asked)
    assert "shellfish" in str(shown["history_current_chat"]) and shown["memories"] == []
    stage.say_all((f"line {number} of the day" for number in range(12)), group, "Cid", minutes=60)
    later = stage.context("What about shellfish?", **asked)
    assert "shellfish" not in str(later["history_current_chat"])
    assert {hit["source"] for hit in later["memories"]} >= {"memories"}
    said = stage.say("I love tea.", minutes=30)
    oolong, scope = "Ann's favourite tea is oolong.", stage.scope("tg/42")
    insert_memory(oolong, "synth", "chat", ["tea"], scope, message_id=said, db=stage.db)
    assert [hit["snippet"] for hit in stage.context("tea?")["memories"]] == [oolong]


def test_p38_the_diary_is_shown_oldest_first_within_its_days_and_whole_within_its_characters(stage: Stage) -> None:
    stage.diary("old", minutes=2 * 24 * 60 + 5)
    stage.diary("c1", minutes=120, interaction_summary="we talked", personal_thought="he is sad")
    stage.diary("only content", minutes=60)
    first, last = "[2026-03-10 10:00] c1 | summary: we talked | thought: he is sad", "[2026-03-10 11:00] only content"
    assert stage.context("what")["ai_diary"] == [first, last]
    assert len(stage.context("what", DIARY_HISTORY_DAYS=3)["ai_diary"]) == 3
    assert "ai_diary" not in stage.context("what", DIARY_HISTORY_DAYS=0)
    prompt, report = stage.explain("what", DIARY_CHARS=len(first))
    assert prompt["context"]["ai_diary"] == [last] and reasons(report, "ai_diary") == ["limit"]


def test_p38_p39_what_was_written_reaches_the_prompt_once_and_the_last_thoughts_stay_in_order(stage: Stage) -> None:
    stage.diary("Ann has an exam today.", interaction_summary="We talked of school.", personal_thought="hm", minutes=9)
    stage.diary("She fears it. Poor An.", interaction_summary="she  fears it.", personal_thought="Poor An.", minutes=8)
    stage.diary("An examination.", interaction_summary="exam", minutes=7)
    prompt, report = stage.explain("what")
    assert [line.split("] ")[1] for line in prompt["context"]["ai_diary"]] == [
        "Ann has an exam today. | summary: We talked of school. | thought: hm",
        "She fears it. Poor An.", "An examination. | summary: exam",
    ]  # fmt: skip
    assert prompt["context"]["thoughts"] == [] and reasons(report, "thoughts") == ["visible", "visible"]
    for n in range(4):
        stage.diary(f"day {n}", minutes=6 - n, personal_thought=f"thought {n}")
    prompt, report = stage.explain("what", AI_DIARY_FULL=0)
    shown = prompt["context"]["thoughts"]
    assert [line.split("] ")[1] for line in shown] == ["Poor An.", *(f"thought {n}" for n in range(4))]
    assert shown[0].startswith("[2026-03-10 11:52] ") and reasons(report, "thoughts") == ["limit"]
    assert stage.context("what", ENABLE_THOUGHTS=0)["thoughts"] == []


def test_t59_a_thought_that_is_shown_is_no_memory_too(stage: Stage) -> None:
    """Nor by a tag beside the words: a snippet is cut around words of the message, never around its tags."""
    stage.remember("Fins", ["dolphins", "sea"])
    link_tags("dolphins", "sea", db=stage.db, scope=stage.scope())
    stage.diary("Ann told me of the sea", personal_thought="I want to see dolphins")
    stage.diary("We spoke of dolphins", personal_thought="Dolphins are clever")
    context = stage.context("Do you like dolphins?", AI_DIARY_FULL=0, SNIPPET_WINDOW="match")
    assert {hit["snippet"] for hit in context["memories"]} == {"Fins", "We spoke of dolphins"}


def test_p72_memories_are_hits(stage: Stage) -> None:
    stage.remember("tofu is white", ["tofu"], 60)
    stage.say("tofu came up", "tg/44", "Bob", minutes=60 * 24 * 3, title="P")
    plain = stage.context("tofu", UNIFIED_HISTORY=0)["memories"]
    keys = ["source", "id", "timestamp", "snippet", "tags"]
    assert [list(hit) for hit in plain] == [keys, [*keys, "speaker"]]


def test_f60_what_is_no_message_is_refused_with_what_is_looked_for(stage: Stage) -> None:
    for wrong in (None, "hello", []):
        with pytest.raises(MessageError, match=type(wrong).__name__):
            build_json_prompt(wrong, db=stage.db, scope=stage.scope())
    for nameless in ({}, SimpleNamespace(mood="fine", id=1), {"TEXT": "hi"}):
        with pytest.raises(MessageError) as caught:
            build_json_prompt(nameless, db=stage.db, scope=stage.scope())
        assert caught.value.fields == ("message_id", "date")
        assert all(name in str(caught.value) for name in ("text", "message_id", "date"))


def test_p9_the_attachments_of_a_message_are_in_the_prompt(stage: Stage) -> None:
    """Somebody who sends a picture without a word expects an answer to it."""
    asked: dict[str, Any] = {"db": stage.db, "scope": stage.scope()}
    sent = message("", attachments=[{"filename": "cat.png", "size": 7}, {"type": "photo"}])
    assert build_json_prompt(sent, **asked)["input"]["payload"]["attachments"] == sent["attachments"]
    assert build_json_prompt(sent, attachments=["b"], **asked)["input"]["payload"]["attachments"] == ["b"]
    assert build_messages(sent, **asked)[-1]["content"].endswith("[Attached: cat.png, photo]")


@pytest.mark.parametrize("path", PATHS)
def test_f69_odd_conversation_keys_are_keys(stage: Stage, path: str) -> None:
    stage.say("here", path, minutes=20)
    stage.say("other", path[:-1] + "~", "Bob", minutes=20)
    prompt = stage.prompt("what", path=path)
    assert said(prompt["context"]["history_current_chat"]) == ["here"]
    assert prompt["input"]["payload"]["source"]["interface_path"] == path


@pytest.mark.parametrize(("fields", "named"), [
    ({"path": "x" * 513}, "interface_path"), ({"message_id": "m\x00"}, "message_id"),
    ({"chat": {"id": 10**5000}}, "chat.id"), ({"from_user": {"id": "é" * 128}}, "from_user.id"),
    ({"server_id": "s" * 192}, "server"),
])  # fmt: skip
def test_f70_an_id_that_does_not_fit_names_its_field(stage: Stage, fields: dict[str, Any], named: str) -> None:
    with pytest.raises(MessageError, match=named) as caught:
        stage.prompt("hi", **fields)
    assert caught.value.fields and isinstance(caught.value, CoreError)


def test_f6_p72_who_asks_is_named_as_their_lines_are_under_all_identities(stage: Stage) -> None:
    """The history shows full names: without one here nobody could tell whose "I" the question is."""
    said = {"text": "Where is my key?", "interface_path": "tg/42", "message_id": "1"}
    names = {}
    for more in ({"full_name": "Ann\nLee"}, {"full_name": "Ann", "username": "ann"}, {}):
        made = build_json_prompt({**said, "from_user": {"id": "7", **more}}, db=stage.db, scope=stage.scope())
        source = made["input"]["payload"]["source"]
        names[source["name"]] = source.get("username")
    assert names == {"Ann Lee": None, "Ann": "ann", "7": None}
    for path, who in ((HERE, "Ann"), ("dc/9", "Annie_92"), ("dc/9", "Ann")):
        stage.say(f"I am {who}.", path, who)
    for who in ("dc/annie_92", "web/7"):
        conversations.add_saved_memory(f"tea with {who}", db=stage.db, scope=stage.scope("dc/9", participant=who))
        link_participants("tg/ann", who, **stage.asking())
    context = stage.context("hello", from_user={"id": "ann", "full_name": "Ann Lee"})  # whose lines have an older name
    lines = [*context["history_current_chat"], *context["history_recent"]]
    assert [line.split("] ")[-1].split(":")[0] for line in lines] == ["Ann Lee", "Ann Lee", "Ann"]
    assert context["saved_memories"] == ["[2026-03-10] tea with dc/annie_92", "[2026-03-10] tea with web/7"]
    own = {"role": "assistant", "from_user": {"id": "self", "full_name": "Iris"}}  # a line of the persona answers Ann
    answers = stage.context("Hm", scope=stage.scope(HERE, participant="tg/ann"), **own)
    assert "] Ann: " in answers["history_current_chat"][0]


def chat(stage: Stage) -> None:
    stage.say("Tell me of quaggas", minutes=60, message_id="q0")
    stage.say("Quaggas are zebras", who="self", minutes=59, message_id="a0")
    stage.say("And of tofu quaggas?", minutes=50, message_id="q1")
    stage.say("A tofu quagga is an old answer", who="self", minutes=49, message_id="a1")
    stage.say("I listen too", who="Bob", minutes=48, message_id="b1")
    stage.say("A second old answer on quaggas", who="self", minutes=47, message_id="a2")


def test_p68_the_message_and_the_answers_after_it_are_nowhere(stage: Stage) -> None:
    chat(stage)
    for replacing in ("q1", "a1"):  # an answer made anew replaces itself
        context = stage.context("And of tofu quaggas?", date=NOW, replacing=replacing, message_id="q1")
        assert "old answer" not in json.dumps(context)
    stage.remember("A tofu quagga is an old answer", ["quagga"])
    assert "old answer" in json.dumps(stage.prompt("And of tofu quaggas again?"))
    for lines in (10, 1, 0):
        asked = {"replacing": "q1", "message_id": "q2", "HISTORY_LINES": lines, "MEMORY_ITEMS": 20}
        prompt, report = stage.explain("And of tofu quaggas, please?", **asked)
        text = json.dumps(prompt["context"])
        assert "old answer" not in text and "And of tofu quaggas?" not in text and "Quaggas are zebras" in text
        if lines == 10:
            assert any("I listen too" in line for line in prompt["context"]["history_current_chat"])
            assert reasons(report, "history_current_chat") == ["replaced"] * 3
    assert "old answer" in json.dumps(stage.prompt("And of tofu quaggas again?"))


@pytest.mark.parametrize("later", [0, 60])
def test_p68_a_memory_made_from_what_is_replaced_is_left_out(stage: Stage, later: int) -> None:
    made_from = {"asked": stage.say("I want a quagga", minutes=90, message_id="q1")}
    made_from |= {who: stage.say(f"{who} speaks", who=who, minutes=80) for who in ("self", "Bob")}
    stage.say_all((f"later line {n}" for n in range(later)), minutes=70)
    for name, row in made_from.items():
        insert_memory(f"quagga: {name}", "synth", "chat", scope=stage.scope(HERE), message_id=row, db=stage.db)
    shown = snippets(stage.context("A quagga?", replacing="q1", message_id="q2"))
    assert "quagga: asked" not in shown and "quagga: Bob" in shown
    assert later or "quagga: self" not in shown
    assert "quagga: asked" in snippets(stage.context("A quagga?"))


def test_p68_live_messages_are_left_out_likewise(stage: Stage) -> None:
    said = [("before", "self"), ("asked", "ann"), ("old answer", "self"), ("listening", "bob")]
    live = [{"message_id": f"l{n}", "text": text, "sender_id": who} for n, (text, who) in enumerate(said)]
    lines = stage.context("asked better", {HERE: live}, replacing="l1", message_id="l9")["history_current_chat"]
    assert [line.split('"')[1] for line in lines] == ["before", "listening"]


def test_p68_far_back_and_unknown_messages(stage: Stage) -> None:
    chat(stage)
    for n in range(40):
        stage.say(f"later line {n}", who="self" if n % 2 else "Ann", minutes=40 - n)
    context = stage.context("quaggas", replacing="q1", message_id="q2")
    assert not [line for line in context["history_current_chat"] if f"{stage.persona.capitalize()}:" in line]
    prompt, report = stage.explain("quaggas", replacing="nothing", message_id="q2")
    assert any("no message of that id" in note for note in report["notes"])
    assert [line for line in prompt["context"]["history_current_chat"] if f"{stage.persona.capitalize()}:" in line]
    row_id, elsewhere = stage.say("one more line", who="self", minutes=1), stage.say("far away", ELSEWHERE)
    for named in (row_id, str(row_id)):  # an imported message has no id of a platform
        prompt, report = stage.explain("quaggas", replacing=named, message_id="q3")
        assert not report["notes"] and "one more line" not in str(prompt) and "later line 38" in str(prompt)
    for unknown in (elsewhere, 2**63, -row_id):
        prompt, report = stage.explain("quaggas", replacing=unknown, message_id="q3")
        assert any("no message of that id" in note for note in report["notes"]) and "one more line" in str(prompt)
    with pytest.raises(MessageError, match="replacing"):
        stage.prompt("quaggas", replacing={"x": 1})


def coming(stage: Stage, text: str = "Good morning!", **more: Any) -> Any:
    return stage.context(text, **more).get("upcoming", "absent")


@pytest.mark.engines()
@pytest.mark.parametrize("is_packed", [False, True])
def test_t62_what_was_said_weeks_ago_about_the_next_days_comes_up(stage: Stage, is_packed: bool) -> None:
    stage.say("In 23 days I fly to Riga.", ELSEWHERE, minutes=3 * WEEK)
    stage.remember("Ann's course begins on 17 March.", minutes=2 * WEEK)
    for text, weeks in (
        ("Do I fly on 12 March?", 2), ("I fly to Oslo on 18 March.", 2), ("I flew here on 9 March.", 3),
        ("I fly on 13 March each year.", 60),
    ):  # fmt: skip
        stage.say(text, ELSEWHERE, minutes=weeks * WEEK)
    stage.say("Come on 12 March!", ELSEWHERE, who="self", minutes=WEEK)
    stage.say("Riga on 13 March, hm", ELSEWHERE, who="self", minutes=WEEK, role="thought")
    if is_packed:
        pack(stage.db, stage.scope(HERE))
    first, second = coming(stage, ENABLE_HISTORY_RECENT=0)
    assert first == FLIGHT and second.startswith("2026-03-17: [2026-02-24 12:00] ") and "course" in second
    asked = build_messages(message("Good morning!"), **stage.asking(ENABLE_HISTORY_RECENT=False))
    assert FLIGHT in asked[-1]["content"].splitlines()
    assert coming(stage, ENABLE_HISTORY_RECENT=0, ENABLE_UPCOMING=0) == "absent"


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("text", ["My birthday is on 13 March.", "I was born on 13 March 1999."])
def test_t62_a_birthday_comes_up_and_is_found_every_year(stage: Stage, text: str, is_packed: bool) -> None:
    stage.say(text, ELSEWHERE, minutes=120 * WEEK)
    stage.say("On 12 March the shop is closed.", ELSEWHERE, minutes=WEEK)
    if is_packed:
        pack(stage.db, stage.scope(HERE))
    assert [line[:10] for line in coming(stage, ENABLE_HISTORY_RECENT=0)] == ["2026-03-12", "2026-03-13"]
    hits = stage.context("Are there any birthdays this week?", ENABLE_HISTORY_RECENT=0)["memories"]
    assert text in [hit["snippet"] for hit in hits]


@pytest.mark.parametrize("text", ["My birthday is on 29 February.", "I was born on 29 February 2000."])
@pytest.mark.parametrize(("year", "day"), [(2026, "2026-02-28"), (2027, "2027-02-28"), (2028, "2028-02-29")])
def test_t62_a_birthday_on_29_february_comes_on_the_28th_in_other_years(
    stage: Stage, text: str, year: int, day: str
) -> None:
    """Whoever was born on that day is congratulated in February, as calendars of phones do it."""
    said_at, now = datetime(2025, 11, 3, 12, tzinfo=UTC), datetime(year, 2, 25, 12, tzinfo=UTC)
    assert save_chat_message(ELSEWHERE, text, "Ann", "ann", said_at, **stage.asking(ELSEWHERE, "tg/ann")).stored
    stage.db.clock.now = now  # type: ignore[union-attr]
    quiet = {"date": now, "ENABLE_HISTORY_RECENT": 0}
    (line,) = coming(stage, **quiet)
    assert line.startswith(f"{day}: ") and text in line
    on_day = f"Any birthdays on {day[-2:]} February?"
    for asked in ("Whose birthday is this week?", on_day, "Whose birthday is on 29 February?"):
        assert text in [hit["snippet"] for hit in stage.context(asked, **quiet)["memories"]], asked


def test_t62_the_day_of_a_coming_line_is_that_of_the_askers_zone(stage: Stage) -> None:
    stage.say("In five days I sail.", ELSEWHERE, minutes=3 * 1440 - 8 * 60)  # 7 March, 20:00 in UTC
    for zone, day in ((None, "2026-03-12"), ("Pacific/Auckland", "2026-03-13")):
        (line,) = coming(stage, ENABLE_HISTORY_RECENT=0, time_zone=zone)
        assert line.startswith(day)


@pytest.mark.parametrize(("said", "zone"), [("On 13 March I sail.", None), ("In 9 days I sail.", "Pacific/Auckland")])
def test_t62_of_a_long_text_the_words_about_the_day_come_up(stage: Stage, said: str, zone: str | None) -> None:
    stage.say(f"{'A new ship is a fine thing. ' * 60}{said} {'Far away. ' * 60}", ELSEWHERE, minutes=WEEK - 60)
    (line,) = coming(stage, ENABLE_HISTORY_RECENT=0, time_zone=zone)
    assert said in line and len(line) < 500


def test_t62_what_another_section_shows_does_not_come_up_twice(stage: Stage) -> None:
    stage.say("In 23 days I fly to Riga.", ELSEWHERE, minutes=3 * WEEK)
    assert coming(stage) == "absent"  # among the lines of other conversations
    assert coming(stage, "Who flies to Riga?", ENABLE_HISTORY_RECENT=0) == "absent"  # among the memories
    stage.say("Tomorrow I sail.", minutes=0, message_id="m-now")
    assert coming(stage, "Tomorrow I sail.") == "absent"


@pytest.mark.engines()
def test_t63_what_comes_up_comes_with_what_moves_or_cancels_it(stage: Stage) -> None:
    """The change may name a day further off than three lines reach, or none."""
    plans = "Movie night is on 12 March.", "Yoga is on 13 March.", "I sail on 15 March."
    stage.say_all(plans, ELSEWHERE, minutes=6 * 1440, step=1440)
    stage.say("Movie night moved to 14 March.", ELSEWHERE, minutes=2 * 1440)
    stage.say("Yoga is cancelled!", "tg/bob", who="Bob", minutes=1440)  # his direct messages
    movie, yoga, sail = coming(stage, ENABLE_HISTORY_RECENT=0)
    assert movie.endswith("12 March. (Later: [2026-03-08 12:00] Ann: Movie night moved to 14 March.)")
    assert yoga.endswith("Yoga is on 13 March.") and sail.endswith("I sail on 15 March.")
    stage.say("Yoga is cancelled!", ELSEWHERE, minutes=1440)
    assert coming(stage, ENABLE_HISTORY_RECENT=0)[1].endswith("(Later: [2026-03-09 12:00] Ann: Yoga is cancelled!)")


@pytest.mark.parametrize(("plan", "text", "is_change"), [
    ("Movie night is on 12 March.", "Game night is cancelled!", False),
    ("Movie night is on 12 March.", "Sorry all, movie night is cancelled.", True),
    ("The yoga class is on 12 March.", "The pottery class moved online.", False),
    ("The picnic in the park is on 12 March.", "They cancelled the park concert.", False),
    ("The picnic in the park is on 12 March.", "The picnic is cancelled, it rains.", True),
    ("Choir rehearsal in the hall is on 12 March.", "Rehearsal is cancelled.", True),
    ("John Smith's meeting is on 12 March.", "John Doe's meeting is cancelled.", False),
    ("John Smith's meeting is on 12 March.", "The meeting with John Smith is cancelled.", True),
    ("John Smith's meeting is on 12 March.", "John's meeting is cancelled.", True),
    ("The meeting with Ana Núñez is on 12 March.", "Ana Gómez moved her meeting.", False),
    ("Le concert de jazz est le 12 mars.", "Le concert de rock est annulé.", False),
    ("Le concert de jazz est le 12 mars.", "Le concert de jazz est annulé.", True),
])  # fmt: skip
def test_t63_what_cancels_another_thing_does_not_come_with_a_plan(
    stage: Stage, plan: str, text: str, is_change: bool
) -> None:
    stage.say(plan, ELSEWHERE, minutes=6 * 1440)
    stage.say_all((f"night class park rehearsal concert movie picnic {n}" for n in range(3)), ELSEWHERE, minutes=13_000)
    stage.say(text, ELSEWHERE, minutes=1440)
    (line,) = coming(stage, ENABLE_HISTORY_RECENT=0)
    assert line.endswith(f"{text})") is is_change, line


def test_t62_at_most_three_come_up_the_nearest_first(stage: Stage) -> None:
    stage.say_all((f"I sail on {day} March." for day in (14, 11, 13, 12)), ELSEWHERE, minutes=WEEK)
    prompt, report = stage.explain("Good morning!", ENABLE_HISTORY_RECENT=0)
    assert [line[:10] for line in prompt["context"]["upcoming"]] == ["2026-03-11", "2026-03-12", "2026-03-13"]
    assert reasons(report, "upcoming") == ["limit"]


@pytest.mark.parametrize("text", [*BYE, *SURE])
def test_t62_a_goodbye_does_not_come_up_and_a_plan_with_its_words_does(stage: Stage, text: str) -> None:
    """In a live chat, goodbyes left no room for what people have planned."""
    stage.say("I sail on 13 March.", ELSEWHERE, minutes=WEEK)
    stage.say(text, ELSEWHERE, who="Bob", minutes=30)
    days = ["2026-03-11"] * (text in SURE) + ["2026-03-13"]
    assert [line[:10] for line in coming(stage, ENABLE_HISTORY_RECENT=0)] == days


def test_t62_many_goodbyes_hide_no_plan(stage: Stage) -> None:
    for n in range(40):
        stage.say("see you tomorrow", ELSEWHERE, who=f"v{n}", minutes=60 + n)
    stage.say("I sail on 13 March.", ELSEWHERE, minutes=WEEK)
    assert [line[:10] for line in coming(stage, ENABLE_HISTORY_RECENT=0)] == ["2026-03-13"]


def test_f1_nobody_elses_direct_messages_and_nothing_forgotten_come_up(stage: Stage) -> None:
    stage.say("I fly to Riga on 12 March.", "tg/bob", who="Bob", minutes=WEEK, privacy="direct", participant="tg/bob")
    assert coming(stage, ENABLE_HISTORY_RECENT=0) == "absent"
    own = {"path": "tg/bob", "who": "Bob", "is_private": True}
    assert len(coming(stage, ENABLE_HISTORY_CURRENT_CHAT=0, **own)) == 1
    forget(participant="tg/bob", db=stage.db, scope=stage.scope())
    assert coming(stage, ENABLE_HISTORY_CURRENT_CHAT=0, **own) == "absent"


def test_p53_what_comes_up_is_cut_like_any_section(stage: Stage) -> None:
    stage.say_all((f"I sail on {day} March. {'far ' * 60}" for day in (11, 12, 13)), ELSEWHERE, minutes=WEEK)
    whole, _ = stage.explain("Good morning!", ENABLE_HISTORY_RECENT=0)
    assert len(whole["context"]["upcoming"]) == 3
    prompt, report = stage.explain("Good morning!", ENABLE_HISTORY_RECENT=0, max_chars=1400)
    assert report["size"] <= 1400 and report["sections"]["upcoming"]["found"] == 3
    assert len("".join(prompt["context"].get("upcoming", ()))) < len("".join(whole["context"]["upcoming"]))


def turn(stage: Stage, channel: str, text: str, minutes: float = 1, who: str = "ann", **more: Any) -> None:
    """Let Iris answer a line in a channel some minutes ago."""
    answered = NOW - timedelta(minutes=minutes)
    said = [{"content": text, "speaker": who.title(), "sender_id": who, "timestamp": answered}]
    made = {"user": f"tg/{who}", "channel": channel, "server": "s1", "messages": said, "at": answered, **more}
    result = short_term.write_turn(made, [{"text": f"re {text}", "persona_name": "Iris"}], **stage.asking())
    assert result.stored, result


def shown(stage: Stage, path: str = "tg/here", **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = stage.context("hello", path=path, **{**GUILD, **more}).get("short_term", [])
    return found


def test_m21_other_channels_newest_first_and_once(stage: Stage) -> None:
    for n in range(1, 6):
        turn(stage, f"tg/c{n}", f"in {n}", minutes=10 * n, channel_name=f"room {n}")
    turn(stage, "tg/c4", "bob in 4", minutes=5, who="bob")
    turn(stage, "tg/here", "what is said here", minutes=2)
    found = shown(stage)
    assert [each["channel"] for each in found] == ["tg/c4", "room 1", "room 2"]
    assert [list(each) for each in found] == [["channel", "age", "lines"]] * 3
    lines = ['[2026-03-10 11:50] Ann: "in 1"', '[2026-03-10 11:50] Iris: "re in 1"']
    assert found[1] == {"channel": "room 1", "age": "10 minutes ago", "lines": lines}
    assert short_term.update_short_term_memory("tg/ann", "tg/here", "we met", "s1", **stage.asking()).stored
    found = shown(stage)
    assert found[0] == {"channel": "tg/here", "age": "just now", "summary": "we met"}
    assert found == short_term.build_short_term_context("tg/ann", "tg/here", "s1", **stage.asking())


def test_m21_what_the_lists_show_is_not_repeated(stage: Stage) -> None:
    for n in range(1, 5):
        turn(stage, f"tg/c{n}", f"in {n}", minutes=10 * n)
    stage.say("in 1", "tg/c1", minutes=10, server="s1")
    stage.say("re in 1", "tg/c1", "self", minutes=10, server="s1")
    stage.say("in 2", "tg/c2", minutes=20, server="s1")
    prompt, report = stage.explain("hello", path="tg/here", **GUILD)
    assert len(prompt["context"]["history_recent"]) == 3
    found = prompt["context"]["short_term"]
    assert [each["channel"] for each in found] == ["tg/c2", "tg/c3", "tg/c4"]
    assert found[0]["lines"] == ['[2026-03-10 11:40] Iris: "re in 2"']
    told, why = report["sections"]["short_term"], reasons(report, "short_term")
    assert told["kept"] == 3 and told["found"] == 3 + len(why) and set(why) == {"visible"}
    without = stage.context("hello", path="tg/here", ENABLE_HISTORY_RECENT=0, **GUILD)["short_term"]
    assert [each["channel"] for each in without] == ["tg/c1", "tg/c2", "tg/c3"]


def test_m21_an_answer_without_a_name_is_the_personas(stage: Stage) -> None:
    """A text alone is what most hosts have; `self` is no name that a model knows anybody by."""
    asking: dict[str, Any] = {"db": stage.db, "settings": Settings()}
    scope = Scope("iris", participant="tg/ann", server="s1")
    said = [{"content": "hi", "sender_id": "ann"}, {"content": "Well met.", "type": "persona"}]
    answers = ["A text alone.", {"text": "As another.", "persona_id": "rose"}]
    short_term.write_turn({"messages": said}, answers, **asking, scope=replace(scope, conversation="tg/c1"))
    there = replace(scope, conversation="tg/c2")
    line, reply = {"text": "Tea?", "interface_path": "tg/c2"}, build_reply("Green tea.", "tg/c2", "iris")
    save_turn(line, reply, name="Lady Iris", **asking, scope=there)
    message = {"text": "hello", "interface_path": "tg/here", "from_user": {"id": "ann"}, "server_id": "s1"}
    asking["settings"] = Settings(enable_history_recent=False)
    made = build_json_prompt(message, **asking, scope=Scope("iris"))["context"]["short_term"]
    lines = {each["channel"]: [line.rpartition("] ")[2] for line in each["lines"]] for each in made}
    assert lines["tg/c1"][1:] == ['iris: "Well met."', 'iris: "A text alone."', 'rose: "As another."']
    assert lines["tg/c2"][1:] == ['Lady Iris: "Green tea."']


def test_m18_nothing_private_is_in_a_public_prompt(stage: Stage) -> None:
    turn(stage, "tg/pub", "public")
    turn(stage, "tg/closed", "closed", is_private=True)
    turn(stage, "tg/closed/7", "below closed")
    turn(stage, "tg/ann", "direct", server="DM")
    turn(stage, "tg/bob", "of bob", who="bob", server="DM")
    turn(stage, "tg/open", "no server", server=None, is_private=False)

    def channels(path: str = "tg/here", **more: Any) -> list[str]:
        return sorted(each["channel"] for each in shown(stage, path, **more))

    assert channels() == ["tg/pub"]
    direct = {"server_id": None, "is_private": True}
    assert channels("tg/ann", **direct) == ["tg/open"]
    link_participants("discord/ann", "tg/ann", **stage.asking())
    assert channels("discord/ann", **direct) == ["tg/ann", "tg/open"]
    # A closed channel sees its threads, in which there may be fewer people; a thread sees neither it nor others.
    assert channels("tg/closed", is_private=True) == ["tg/closed/7", "tg/pub"]
    assert [channels(f"tg/closed/{n}", is_private=True) for n in (7, 8)] == [["tg/pub"]] * 2
    assert shown(Stage(stage.db)) == []
