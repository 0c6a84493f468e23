"""Diary, input and replaced rows in a whole prompt."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from core.errors import CoreError, MessageError
from core.prompt_engine import build_json_prompt, build_messages
from tests.spec.stage import HERE, Stage, message, reasons, said
from tests.store.world import NOW

pytestmark = pytest.mark.engines("sqlite")


def test_p38_the_diary_is_shown_oldest_first_within_its_days(stage: Stage) -> None:
    stage.diary("old", minutes=2 * 24 * 60 + 5)
    stage.diary("c1", minutes=120, interaction_summary="we talked", personal_thought="he is sad")
    stage.diary("only content", minutes=60)
    assert stage.context("what")["ai_diary"] == [
        "[2026-03-10 10:00] c1 | summary: we talked | thought: he is sad",
        "[2026-03-10 11:00] only content",
    ]
    assert len(stage.context("what", DIARY_HISTORY_DAYS=3)["ai_diary"]) == 3
    assert "ai_diary" not in stage.context("what", DIARY_HISTORY_DAYS=0)


def test_p38_the_newest_whole_entries_fit_under_the_characters(stage: Stage) -> None:
    stage.diary("a" * 300, minutes=120)
    stage.diary("b" * 100, minutes=60)
    context, report = stage.explain("what", DIARY_CHARS=200)
    assert context["context"]["ai_diary"] == [f"[2026-03-10 11:00] {'b' * 100}"]
    assert reasons(report, "ai_diary") == ["limit"]


def test_p38_what_was_written_reaches_the_prompt_and_nothing_twice(stage: Stage) -> None:
    stage.diary(
        "Ann has an exam on Thursday.", interaction_summary="We talked of school.", personal_thought="hm", minutes=9
    )
    stage.diary(
        "She fears it. Poor Ann.", interaction_summary="she  fears it.", personal_thought="Poor Ann.", minutes=8
    )
    stage.diary("An examination.", interaction_summary="exam", minutes=7)
    prompt, report = stage.explain("what")
    assert [line.split("] ")[1] for line in prompt["context"]["ai_diary"]] == [
        "Ann has an exam on Thursday. | summary: We talked of school. | thought: hm",
        "She fears it. Poor Ann.",
        "An examination. | summary: exam",
    ]
    assert prompt["context"]["thoughts"] == []
    assert reasons(report, "thoughts") == ["visible", "visible"]
    bare = stage.context("what", AI_DIARY_FULL=0)
    assert [line.split("] ")[1] for line in bare["thoughts"]] == ["hm", "Poor Ann."]


def test_p39_the_last_thoughts_stay_in_order(stage: Stage) -> None:
    for n in range(7):
        stage.diary(f"day {n}", minutes=100 - n, personal_thought=f"thought {n}")
    context, report = stage.explain("what", AI_DIARY_FULL=0)
    shown = context["context"]["thoughts"]
    assert [line.split("] ")[1] for line in shown] == [f"thought {n}" for n in range(2, 7)]
    assert shown[0].startswith("[2026-03-10 10:22] ")
    assert reasons(report, "thoughts") == ["limit", "limit"]
    assert stage.context("what", ENABLE_THOUGHTS=0)["thoughts"] == []


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


PATHS = ["a b/c d", "\U0001f600/\U0001f600", "tg//1", "/tg/1", "%/_", "TG/1", "tg/1/2/3/4", "tg/" + "x" * 250]


@pytest.mark.parametrize("path", PATHS)
def test_f69_odd_conversation_keys_are_keys(stage: Stage, path: str) -> None:
    stage.say("here", path, minutes=20)
    stage.say("other", path[:-1] + "~", "Bob", minutes=20)
    prompt = stage.prompt("what", path=path)
    assert said(prompt["context"]["history_current_chat"]) == ["here"]
    assert prompt["input"]["payload"]["source"]["interface_path"] == path


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"path": "x" * 513}, "interface_path"),
        ({"message_id": "m\x00"}, "message_id"),
        ({"chat": {"id": 10**5000}}, "chat.id"),
        ({"from_user": {"id": "é" * 128}}, "from_user.id"),
        ({"server_id": "s" * 192}, "server"),
    ],
)
def test_f70_an_id_that_does_not_fit_names_its_field(stage: Stage, fields: dict[str, Any], named: str) -> None:
    with pytest.raises(MessageError, match=named) as caught:
        stage.prompt("hi", **fields)
    assert caught.value.fields
    assert isinstance(caught.value, CoreError)


def test_p72_who_asks_is_named_as_their_lines_are(stage: Stage) -> None:
    """The history shows full names: without one here nobody could tell whose "I" the question is."""
    said = {"text": "Where is my key?", "interface_path": "tg/42", "message_id": "1"}
    shown = {}
    for who in ({"id": "7", "full_name": "Ann\nLee"}, {"id": "7", "full_name": "Ann", "username": "ann"}, {"id": "7"}):
        made = build_json_prompt({**said, "from_user": who}, db=stage.db, scope=stage.scope())
        source = made["input"]["payload"]["source"]
        shown[source["name"]] = source.get("username")
    assert shown == {"Ann Lee": None, "Ann": "ann", "7": None}


def chat(stage: Stage) -> None:
    stage.say("Tell me of quaggas", minutes=60, message_id="q0")
    stage.say("Quaggas are zebras", who="self", minutes=59, message_id="a0")
    stage.say("And of tofu quaggas?", minutes=50, message_id="q1")
    stage.say("A tofu quagga is an old answer", who="self", minutes=49, message_id="a1")
    stage.say("I listen too", who="Bob", minutes=48, message_id="b1")
    stage.say("A second old answer on quaggas", who="self", minutes=47, message_id="a2")


def test_p68_the_message_and_the_answers_after_it_are_nowhere(stage: Stage) -> None:
    chat(stage)
    stage.remember("A tofu quagga is an old answer", ["quagga"])
    assert "old answer" in json.dumps(stage.prompt("And of tofu quaggas again?"))
    for lines in (10, 1, 0):
        prompt, report = stage.explain(
            "And of tofu quaggas, please?", replacing="q1", message_id="q2", HISTORY_LINES=lines, MEMORY_ITEMS=20
        )
        text = json.dumps(prompt["context"])
        assert "old answer" not in text
        assert "And of tofu quaggas?" not in text
        assert "Quaggas are zebras" in text
        if lines == 10:
            assert any("I listen too" in line for line in prompt["context"]["history_current_chat"])
            assert reasons(report, "history_current_chat") == ["replaced"] * 3
    assert "old answer" in json.dumps(stage.prompt("And of tofu quaggas again?"))


def test_p68_an_answer_made_anew_replaces_itself(stage: Stage) -> None:
    chat(stage)
    for asked in ({"replacing": "q1", "message_id": "q1"}, {"replacing": "a1", "message_id": "q1"}):
        context = stage.context("And of tofu quaggas?", date=NOW, **asked)
        assert "old answer" not in json.dumps(context)


def test_p68_live_messages_are_left_out_likewise(stage: Stage) -> None:
    live: dict[str, Any] = {
        HERE: [
            {"message_id": "l0", "text": "before", "sender_id": "self"},
            {"message_id": "l1", "text": "asked", "sender_id": "ann"},
            {"message_id": "l2", "text": "old answer", "sender_id": "self"},
            {"message_id": "l3", "text": "listening", "sender_id": "bob"},
        ]
    }
    lines = stage.context("asked better", live, replacing="l1", message_id="l9")["history_current_chat"]
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
    row_id = stage.say("one more line", minutes=1)
    prompt, report = stage.explain("quaggas", replacing=row_id, message_id="q3")
    assert any("not the row's" in note for note in report["notes"])
    assert "one more line" in str(prompt["context"]["history_current_chat"])
    with pytest.raises(MessageError, match="replacing"):
        stage.prompt("quaggas", replacing={"x": 1})
