"""A message that takes the place of another, or whose answer is made anew (P68)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.errors import MessageError
from tests.spec.stage import HERE, Stage, reasons
from tests.store.world import NOW

pytestmark = pytest.mark.engines("sqlite")


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
