"""Bad input to a whole prompt (F60 to F66, F69, F70)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from core.errors import CoreError, MessageError
from core.prompt_engine import build_json_prompt, build_messages
from tests.spec.stage import Stage, message, said

pytestmark = pytest.mark.engines("sqlite")


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
        source = build_json_prompt({**said, "from_user": who}, db=stage.db, scope=stage.scope())["input"]["payload"][
            "source"
        ]
        shown[source["name"]] = source.get("username")
    assert shown == {"Ann Lee": None, "Ann": "ann", "7": None}
