"""The history lists of a whole prompt, stored and live lines together (P20 to P37)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from core import conversations
from core.db import insert_memory
from core.history_engine import HistoryEngine
from tests.databases import traced
from tests.spec.stage import ELSEWHERE, HERE, NOW, Stage, message, reasons, said, snippets


def live(text: str, minutes: float = 0, who: str = "Ann", **more: Any) -> dict[str, Any]:
    sender = "self" if who == "self" else who.lower()
    at = (NOW - timedelta(minutes=minutes)).isoformat()
    return {"sender_name": who, "sender_id": sender, "text": text, "timestamp": at, **more}


def current(context: dict[str, Any]) -> list[str]:
    return said(context["history_current_chat"])


def recent(context: dict[str, Any]) -> list[str]:
    return said(context["history_recent"])


def test_p20_build_context_alone_gives_the_keys_of_p8_and_cuts_memories(stage: Stage) -> None:
    stage.say("a line", minutes=20)
    stage.diary("a day", personal_thought="hm")
    hits = [{"source": "memories", "id": n, "timestamp": "", "snippet": f"s{n}", "tags": []} for n in range(12)]
    build = HistoryEngine().build_context
    context = build(message("hi"), None, memories=hits, **stage.asking())
    assert list(context) == [
        "history_current_chat", "history_recent", "thoughts", "memories", "tags_placeholder", "ai_diary",
    ]  # fmt: skip
    assert current(context) == ["a line"]
    assert len(context["memories"]) == 10
    broken: Any = [3, None, {"snippet": 4}, hits[0], "x"]
    context = build(message("hi"), 3, memories=broken, **stage.asking())
    assert context["memories"] == hits[:1]


def test_p20_build_context_alone_gives_the_lists_of_the_prompt(stage: Stage) -> None:
    for n in range(30):
        stage.say("  " if n > 15 else f"line {n}", minutes=100 - n) if n <= 15 else None
        stage.say(f"there {n}", ELSEWHERE, "Bob", minutes=100 - n)
    memory = {HERE: [live("live one", 1)]}
    by = stage.asking()
    context = HistoryEngine().build_context(message("hi"), memory, **by)
    prompt = stage.context("hi", memory)
    for key in ("history_current_chat", "history_recent", "thoughts"):
        assert context[key] == prompt[key]


def test_p24_older_rows_are_read_as_long_as_they_are_needed(stage: Stage) -> None:
    for n in range(10):
        stage.say(f"good {n}", minutes=400 - n)
        stage.say(f"there {n}", ELSEWHERE, "Bob", minutes=400 - n)
    for n in range(40):
        for path in (HERE, ELSEWHERE):
            stage.say(f"hm {n}", path, minutes=300 - n, role="thought")
    with traced(stage.db) as statements:
        context = stage.context("what", CONTEXT_VERBOSITY=10)
    assert current(context) == [f"good {n}" for n in range(10)]
    assert recent(context) == [f"there {n}" for n in range(10)]
    assert len(statements) <= 14
    for n in range(10):
        stage.say(f"later {n}", minutes=30 - n)
        stage.say(f"there later {n}", ELSEWHERE, "Bob", minutes=30 - n)
    with traced(stage.db) as statements:
        full = stage.context("what", CONTEXT_VERBOSITY=10)
    assert len(current(full)) == len(recent(full)) == 10
    assert len(statements) <= 14


def test_p24_further_conversations_are_read_when_the_newest_give_no_line(stage: Stage) -> None:
    stage.say("good", "tg/last", "Bob", minutes=900)
    for n in range(4):
        stage.say("hm", f"tg/noise{n}", "Bob", minutes=100 + n, role="thought")
    assert recent(stage.context("what", CONTEXT_VERBOSITY=3)) == ["good"]


def test_p33_the_message_itself_is_not_repeated(stage: Stage) -> None:
    stage.say("is tofu soft", minutes=0, message_id="m-now")
    stage.say("is tofu soft", minutes=5, message_id="m-before")
    memory = {HERE: [live("is tofu soft", 0, message_id="m-now"), live("is tofu soft", 0)]}
    prompt, report = stage.explain("is tofu soft", memory)
    assert current(prompt["context"]) == ["is tofu soft"]
    assert "echo" in reasons(report, "history_current_chat")
    other = stage.explain("is tofu soft", memory, ENABLE_HISTORY_CURRENT_CHAT=0)
    assert snippets(other[0]["context"]) == ["is tofu soft"]
    assert "echo" in reasons(other[1], "memories")


def test_p36_skip_history_empties_the_lists_and_nothing_else(stage: Stage) -> None:
    for n in range(30):
        stage.say(f"tofu here {n}", minutes=90 - n)
        stage.say(f"tofu there {n}", ELSEWHERE, "Bob", minutes=90 - n)
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


def test_p34_a_memory_that_is_a_sentence_of_a_visible_message_stands_there_once(stage: Stage) -> None:
    """What Bob asked to remember is a wish of Bob's, found as a memory once its line has left the history."""
    group = "tg/-5"
    stage.say("Hi all! Please remember that I am allergic to shellfish.", group, "Bob", minutes=90)
    bob = stage.scope(group, participant="tg/bob")
    assert conversations.list_saved_memories(kind="instruction", db=stage.db, scope=bob)
    asked = {"path": group, "is_private": False, "who": "Ann"}
    shown = stage.context("What about shellfish?", **asked)
    assert "shellfish" in str(shown["history_current_chat"]) and shown["memories"] == []
    for number in range(12):
        stage.say(f"line {number} of the day", group, "Cid", minutes=60 - number)
    later = stage.context("What about shellfish?", **asked)
    assert "shellfish" not in str(later["history_current_chat"])
    assert {hit["source"] for hit in later["memories"]} >= {"memories"}


def test_p34_a_memory_that_says_more_than_the_visible_message_is_shown(stage: Stage) -> None:
    said = stage.say("I love tea.", minutes=30)
    insert_memory(
        "Ann's favourite tea is oolong.", "synth", "chat", ["tea"], stage.scope("tg/42"), message_id=said, db=stage.db
    )
    assert [hit["snippet"] for hit in stage.context("tea?")["memories"]] == ["Ann's favourite tea is oolong."]
