"""F88: who names no id goes by the name; who names no interface is matched on all of them."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from core.chat_history_cache import load_chat_history, save_chat_message, save_message
from core.config import Settings
from core.conversations import add_recent_conversation
from core.database.engine import Database
from core.database.schema import participants
from core.db import forget
from core.privacy import link_participants, scope_of, set_privacy
from core.prompt_engine import build_json_prompt, build_messages
from core.scope import Scope
from core.short_term import write_turn
from tests.spec.stage import Stage

ROOM = "web/kitchen"


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"message_id": None, "date": None, "text": text, "interface_path": ROOM, **more}


@pytest.mark.parametrize(
    ("sender", "person"),
    [
        ({"from_user": "ann"}, "web/ann"),
        ({"from_user": {"name": "ann"}}, "web/ann"),
        ({"from_user": {"username": "ann"}}, "web/ann"),
        ({"sender": {"display_name": "Ann B."}}, "web/Ann B."),
        ({"author": 7}, "web/7"),
        ({"sender_name": "ann"}, "web/ann"),
        ({"from_user": {"name": "é" * 300}}, "web/" + "é" * 125),
    ],
    ids=str,
)
def test_f88_a_sender_without_an_id_has_the_name_as_id(stage: Stage, sender: dict[str, Any], person: str) -> None:
    """Lines of nobody were found by no call of `forget`, and stayed in the prompts of others."""
    call = {"db": stage.db, "settings": Settings(), "scope": Scope(stage.persona)}
    stored = save_message(said("The zqharbour opens at nine", **sender), **call)
    assert stored.stored and scope_of(said("hi", **sender), scope=call["scope"]).participant == person
    assert person.endswith("/7") or any("no id" in note for note in stored.notes)
    assert [line["sender_id"] for line in load_chat_history(ROOM, **call)] == [person.partition("/")[2]]
    assert forget(participant=person, **call)["chat_history_cache"] == 1
    shown = build_messages(said("When does the zqharbour open?", from_user={"id": "bob"}), **call)
    assert "nine" not in str(shown)


def test_f88_every_way_to_hand_in_a_name_alone_means_the_same_person(stage: Stage) -> None:
    call = {"db": stage.db, "settings": Settings(), "scope": Scope(stage.persona)}
    save_chat_message(ROOM, "Tea at four", "ann", **call)
    save_chat_message(ROOM, "It snows", "Narrator", role="narrator", **call)
    save_chat_message(ROOM, "Fine", "Iris", "self", **call)
    save_message(said("Or at five", from_user={"name": "ann"}), **call)
    turn = {"user": {"name": "ann"}, "interface": "web", "channel": "kitchen", "messages": ["Tea?"]}
    assert write_turn(turn, "Yes", **call).stored == 1
    talk = [{"text": "We talk about tea at length", "sender_name": "ann"}]
    assert add_recent_conversation(talk, wait=True, **{**call, "scope": Scope(stage.persona, ROOM)}).stored
    done = forget(participant="web/ann", **call)
    assert (done["chat_history_cache"], done["short_term_memories"], done["conversation_summaries"]) == (2, 1, 1)
    assert [line["text"] for line in load_chat_history(ROOM, **call)] == ["It snows", "Fine"]


def test_f88_the_persons_own_id_and_the_scope_come_before_the_name(stage: Stage) -> None:
    call = {"db": stage.db, "settings": Settings()}
    known = Scope(stage.persona, participant="web/7")
    save_message(said("Tea at four", from_user={"name": "ann"}), scope=known, **call)
    save_message(said("Or at five", from_user={"id": 8, "name": "ann"}), scope=known, **call)
    assert [line["sender_id"] for line in load_chat_history(ROOM, scope=known, **call)] == ["7", "8"]


def turn_of(user: str) -> dict[str, Any]:
    """A turn in the words of a host that names no interface."""
    said = [{"role": "user", "sender_id": user, "name": "Ann", "content": "The zqharbour opens at nine"}]
    return {"userDiscId": user, "channelId": "c1", "serverDiscId": "s1", "simplifiedMessages": said}


@pytest.mark.parametrize("linked", [False, True])
def test_f88_a_level_holds_for_a_turn_that_names_no_interface(stage: Stage, linked: bool) -> None:
    call = {"db": stage.db, "settings": Settings(), "scope": Scope(stage.persona)}
    who = f"u_{stage.persona}"
    key = f"tg/{who}" if linked else f"discord/{who}"
    if linked:
        link_participants(f"discord/{who}", key, **call)
    set_privacy(key, "full", **call)
    assert write_turn(turn_of(who), "Yes", **call).reason == "privacy"
    assert write_turn(turn_of(f"x{who}"), "Yes", **call).stored == 1
    assert write_turn(turn_of(who.replace("_", "-")), "Yes", **call).stored == 1


@pytest.mark.parametrize("how", ["full", "forgotten"])
def test_f88_what_such_a_turn_left_goes_with_the_person(stage: Stage, how: str) -> None:
    call = {"db": stage.db, "settings": Settings(), "scope": Scope(stage.persona)}
    who = f"v{stage.persona}"
    assert write_turn(turn_of(who), "Yes", **call).stored == 1
    if how == "full":
        assert set_privacy(f"discord/{who}", "full", **call)["removed"] == {"short_term_memories": 1}
    else:
        assert forget(participant=f"discord/{who}", **call)["short_term_memories"] == 1
    assert participant_rows(stage.db, who) == ([] if how == "forgotten" else [""])


def participant_rows(db: Database, key: str) -> list[str]:
    rows = db.read(select(participants.c.display_name).where(participants.c.participant_key == key), source="test")
    return [row[0] for row in rows]


def test_f88_a_name_like_that_of_the_room_makes_no_direct_message_of_it(stage: Stage) -> None:
    """Whoever is called `lobby` and asks in the lobby of a server sees that server alone."""
    stage.say("quagga elsewhere", "tg/other", "Bob")
    asked = {"text": "quagga?", "interface_path": "web/lobby", "from_user": {"full_name": "lobby"}}
    scope = stage.scope("web/lobby", participant="who/9", server="guild")
    assert scope_of(asked, db=stage.db, scope=scope).privacy is None
    prompt = build_json_prompt(asked, db=stage.db, settings=Settings(), scope=scope)
    assert "elsewhere" not in str(prompt["context"])
