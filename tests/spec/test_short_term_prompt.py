"""`context.short_term` in a whole prompt: what other channels show, once, within three round trips (M17 to M21)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from core import short_term
from core.chat_history_cache import save_message
from core.config import Settings
from core.privacy import link_participants
from core.prompt_engine import build_json_prompt
from core.scope import Scope
from core.transcripts import finish_turn
from tests.spec.stage import Stage, reasons
from tests.store.world import NOW

pytestmark = pytest.mark.engines("sqlite")

GUILD = {"server_id": "s1", "is_private": False}


def turn(stage: Stage, channel: str, text: str, minutes: float = 1, who: str = "ann", **more: Any) -> None:
    """Let Iris answer a line in a channel some minutes ago."""
    answered = NOW - timedelta(minutes=minutes)
    said = [{"content": text, "speaker": who.title(), "sender_id": who, "timestamp": answered}]
    result = short_term.write_turn(
        {"user": f"tg/{who}", "channel": channel, "server": "s1", "messages": said, "at": answered, **more},
        [{"text": f"re {text}", "persona_name": "Iris"}],
        **stage.asking(),
    )
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
    assert found[1] == {
        "channel": "room 1",
        "age": "10 minutes ago",
        "lines": ['[2026-03-10 11:50] Ann: "in 1"', '[2026-03-10 11:50] Iris: "re in 1"'],
    }
    more = stage.asking()
    assert short_term.update_short_term_memory("tg/ann", "tg/here", "we met", "s1", **more).stored
    assert shown(stage)[0] == {"channel": "tg/here", "age": "just now", "summary": "we met"}
    door = short_term.build_short_term_context("tg/ann", "tg/here", "s1", **more)
    assert door == shown(stage)


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
    told = report["sections"]["short_term"]
    assert told["kept"] == 3 and told["found"] == 3 + len(reasons(report, "short_term"))
    assert set(reasons(report, "short_term")) == {"visible"}
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
    done = save_message({"text": "Tea?", "interface_path": "tg/c2"}, **asking, scope=there)
    finish_turn(done, "Tea?", "Green tea.", name="Lady Iris", **asking, scope=there)
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
    assert [each["channel"] for each in shown(stage)] == ["tg/pub"]
    direct = {"server_id": None, "is_private": True}
    assert [each["channel"] for each in shown(stage, "tg/ann", **direct)] == ["tg/open"]
    link_participants("discord/ann", "tg/ann", **stage.asking())
    linked = shown(stage, "discord/ann", **direct)
    assert {each["channel"] for each in linked} == {"tg/ann", "tg/open"}
    # A closed channel sees its threads, in which there may be fewer people; a thread sees neither it nor others.
    closed = {"is_private": True}
    assert {each["channel"] for each in shown(stage, "tg/closed", **closed)} == {"tg/closed/7", "tg/pub"}
    assert [each["channel"] for each in shown(stage, "tg/closed/7", **closed)] == ["tg/pub"]
    assert [each["channel"] for each in shown(stage, "tg/closed/8", **closed)] == ["tg/pub"]
    assert shown(Stage(stage.db)) == []
