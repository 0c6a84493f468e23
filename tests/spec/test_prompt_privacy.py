"""Who sees what in a whole prompt (F1 to F4, F12 to F18)."""

from __future__ import annotations

from typing import Any

import pytest

from core.config import Settings
from core.privacy import link_participants
from core.prompt.call import PromptRequest, open_call
from core.scope import Scope
from tests.spec.stage import HERE, NOW, Stage, message, reasons, said

ROWS = {
    "r1": {"path": "discord/c1", "server": "s1", "who": "Cid"},
    "r2": {"path": "discord/c2", "server": "s2", "who": "Cid"},
    "r3": {"path": "discord/ann", "who": "Ann", "privacy": "direct"},
    "r4": {"path": "discord/bob", "who": "Bob", "privacy": "direct"},
    "r5": {"path": "discord/c9", "server": "s1", "who": "Ann", "privacy": "restricted"},
    "r7": {"path": "discord/c7", "who": "Cid"},
}

PROMPTS: dict[str, tuple[dict[str, Any], str]] = {
    "public s1": ({"path": "discord/x1", "server_id": "s1", "is_private": False}, "r1 r6"),
    "public s2": ({"path": "discord/x2", "server_id": "s2", "is_private": False}, "r2 r6"),
    "direct Ann": ({"path": "discord/ann", "is_private": True}, "r3 r6 r7"),
    "direct Ann elsewhere": ({"path": "tg/ann", "is_private": True, "interface": "tg"}, "r3 r6 r7"),
    "c9": ({"path": "discord/c9", "server_id": "s1"}, "r1 r5 r6"),
    "c8 of s1": ({"path": "discord/c8", "server_id": "s1", "is_private": True}, "r1 r6"),
    "public none": ({"path": "discord/x7", "is_private": False}, "r6 r7"),
    "no conversation": ({"path": None}, "r6 r7"),
}


@pytest.fixture(scope="module")
def rows(db: Any) -> Stage:
    """The rows of the example of F12, each as a line and as a memory."""
    stage = Stage(db)
    for name, where in ROWS.items():
        stage.say(f"canary {name} line", minutes=30, **where)  # type: ignore[arg-type]
        who = {"participant": f"discord/{where['who'].lower()}"}
        who |= {name: where[name] for name in ("server", "privacy") if name in where}
        stage.remember(f"canary {name} memory", ["canary"], 60, where["path"], **who)
    stage.remember("canary r6 memory", ["canary"], 60)
    link_participants("discord/ann", "tg/ann", db=db, scope=stage.scope())
    return stage


def seen(context: dict[str, Any]) -> set[str]:
    return {name for name in ("r1", "r2", "r3", "r4", "r5", "r6", "r7") if f"canary {name} " in str(context)}


@pytest.mark.parametrize("name", PROMPTS)
def test_f12_f14_a_prompt_sees_the_rows_of_the_table(rows: Stage, name: str) -> None:
    asked, visible = PROMPTS[name]
    assert seen(rows.context("canary", **asked)) == set(visible.split())


def test_f1_two_personas_with_the_same_message_share_nothing(stage: Stage) -> None:
    other = Stage(stage.db)
    for one, name in ((stage, "mine"), (other, "theirs")):
        one.say(f"canary {name}", minutes=9)
        one.say(f"canary {name} there", "tg/43", "Bob", minutes=8)
        one.remember(f"canary {name} memory", ["canary"])
        one.diary(f"canary {name} day", personal_thought=f"canary {name} thought")
    assert "theirs" not in str(stage.prompt("canary"))
    assert "mine" not in str(other.prompt("canary"))
    assert len(stage.context("canary")["memories"]) > 0


def test_f1_the_scope_is_made_from_the_message(stage: Stage) -> None:
    asked = message("hi", path="discord/5/9", server_id="s1", who="Zoe")
    request = PromptRequest(asked, db=stage.db, settings=Settings(), scope=Scope(stage.persona))
    assert open_call(request).scope == Scope(stage.persona, "discord/5/9", "discord/zoe", "s1")


def live(text: str, who: str, **more: Any) -> dict[str, Any]:
    return {"sender_name": who, "sender_id": who.lower(), "text": text, "timestamp": NOW.isoformat(), **more}


def test_f13_live_lines_of_a_direct_message_stay_there(stage: Stage) -> None:
    stage.say("hello there", "discord/bobs", "Bob", minutes=60, privacy="direct")
    memory = {
        "discord/bobs": [live("canary stored private", "Bob")],
        "discord/bob": [live("canary chat is sender", "Bob")],
        "discord/cid": [live("canary says private", "Dan", is_private=True)],
        "discord/eve": [live("canary chat type", "Fay", chat={"type": "private"})],
        "discord/bobs/7": [live("canary thread", "Bob")],
        "discord/open": [live("fine", "Gus")],
    }
    prompt, report = stage.explain("canary", memory, path="discord/x", is_private=False)
    assert "canary" not in str(prompt["context"])
    assert "fine" in str(prompt["context"]["history_recent"])
    assert reasons(report, "history_recent") == ["private"] * 5


def test_f81_a_room_of_two_servers_shows_its_own_lines_stored_and_live(stage: Stage) -> None:
    room = "irc/general"
    for server in ("alpha", "beta"):
        stage.say(f"canary of {server}", room, "Bob", minutes=9, server=server)
    asked = {"path": room, "server_id": "beta", "is_private": False}
    context = stage.context("what", {room: [live("live", "Bob")]}, **asked)
    assert said(context["history_current_chat"]) == ["canary of beta", "live"]
    assert context["history_recent"] == []


def test_f18_local_only_rows_enter_local_prompts_alone(stage: Stage) -> None:
    stage.remember("canary kept local", ["canary"], local_only=True)
    stage.diary("canary day", local_only=True, personal_thought="canary thought")
    assert "canary" not in str(stage.context("canary"))
    inside = stage.context("canary", destination="local")
    assert "canary kept local" in str(inside["memories"])
    assert "canary day" in str(inside["ai_diary"]) and "canary thought" in str(inside["ai_diary"])
    assert "canary" not in str(stage.context("canary", AI_DIARY_FULL=0))
    assert "canary thought" in str(stage.context("canary", destination="local", AI_DIARY_FULL=0)["thoughts"])
    by_scope = Scope(persona=stage.persona, destination="local")
    assert "canary kept local" in str(stage.context("canary", scope=by_scope))
    assert "canary kept local" in str(stage.context("canary", PROMPT_DESTINATION="local"))
    with pytest.raises(ValueError, match="destination"):
        stage.prompt("canary", destination="moon")


def test_f3_what_a_message_says_of_its_persona_is_data(stage: Stage) -> None:
    other = Stage(stage.db)
    other.remember("canary of another", ["canary"])
    asked = {"persona_id": other.persona, "persona": other.persona, "payload": {"persona_id": other.persona}}
    assert "another" not in str(stage.context("canary", {"persona_id": other.persona}, **asked))


def test_f10_the_own_line_of_a_stored_direct_message_is_seen(stage: Stage) -> None:
    stage.say("canary mine", HERE, "Ann", minutes=9, privacy="direct")
    assert "canary mine" in str(stage.context("what", path=HERE))
    assert message()["interface_path"] == HERE
