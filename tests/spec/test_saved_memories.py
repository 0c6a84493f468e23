"""Saved memories: only when asked, listed, rewritten, deleted; the tool that saves them (C11 to C18, C24 to C29)."""

from __future__ import annotations

from typing import Any

import pytest

from core import conversations
from core.config import Settings
from core.database import schema
from core.database.engine import Database
from core.errors import StoreWriteError
from core.scope import Scope
from core.shapes import ToolCall
from core.synth_core_memory import silently_record_memory
from tests.spec.stage import HERE, Stage, at_once, failed
from tests.store.world import Clock, count

PLAIN = Settings()
MEMORIES, HISTORY = schema.memories, schema.item_history


def where(stage: Stage, path: str | None = HERE, who: str | None = "ann", **fields: Any) -> Scope:
    return stage.scope(path, participant=f"tg/{who}" if who else None, **fields)


def save(stage: Stage, text: Any, path: str | None = HERE, who: str | None = "ann", **more: Any) -> Any:
    fields = {k: more.pop(k) for k in ("privacy", "server", "destination") if k in more}
    more.setdefault("settings", PLAIN)
    return conversations.add_saved_memory(text, db=stage.db, scope=where(stage, path, who, **fields), **more)


def items(stage: Stage, path: str | None = HERE, who: str | None = "ann", **more: Any) -> list[Any]:
    archived = more.pop("archived", False)
    return conversations.list_saved_memories(
        archived=archived, db=stage.db, settings=PLAIN, scope=where(stage, path, who, **more)
    )


def texts(stage: Stage, path: str | None = HERE, who: str | None = "ann", **more: Any) -> list[str]:
    return [one["text"] for one in items(stage, path, who, **more)]


@pytest.mark.engines("sqlite")  # no server does it differently
def test_c11_what_cannot_be_saved_is_said(stage: Stage) -> None:
    assert save(stage, " \n ") == (False, None, "empty")
    assert save(stage, "x" * 4001) == (False, None, "too_long") and save(stage, "x" * 4000).stored
    off = Settings(enable_saved_memory=False)
    assert save(stage, "tea", settings=off) == (False, None, "disabled")
    assert count(stage.db, MEMORIES, stage.persona) == 1  # type: ignore[arg-type]


@pytest.mark.engines("sqlite")  # no server does it differently
def test_c12_only_on_an_explicit_wish(stage: Stage) -> None:
    assert save(stage, "I like tea", said="please remember that I like tea").stored
    for said in ("I bought a notebook", "don't remember that", "Remember that! But don't remember that.", ""):
        assert save(stage, "something", said=said) == (False, None, "not_explicit")
    german = Settings(languages=("de",))
    assert save(stage, "Tee", said="Bitte merk dir, dass ich Tee mag", settings=german).stored
    assert save(stage, "vouched for").stored


def test_c13_a_duplicate_and_a_failing_store_are_told(stage: Stage) -> None:
    first = save(stage, "I like tea")
    assert save(stage, "i LIKE  tea") == (False, first.id, "duplicate")
    assert save(stage, "I like tea", who="bob").stored and save(stage, "I like tea", None, None).stored
    heard = silently_record_memory("something heard", db=stage.db, settings=PLAIN, scope=where(stage))
    assert heard.stored and save(stage, "something heard").stored
    broken = Database("sqlite://", clock=Clock())  # no tables
    with pytest.raises(StoreWriteError):
        conversations.add_saved_memory("canary7391", db=broken, settings=PLAIN, scope=where(stage))


SUBJECTS = [
    ("I live in Leeds", "I live in Rome now", True),
    ("My shoe size is 39", "My shoe size is 40", True),
    ("I use Emacs as my editor", "My editor is Zed", True),
    ("Ich esse kein Fleisch", "Ich esse wieder Fleisch", True),
    ("Vivo en Lugo", "Ahora vivo en Vigo", True),
    ("Мой размер обуви 39", "Размер обуви теперь 40", True),
    ("I like tea", "I like rain", False),
    ("My cat is called Tofu", "My dog is called Rex", False),
    ("My favourite colour is blue", "My favourite food is pizza", False),
]


@pytest.mark.engines("sqlite")  # no server does it differently
@pytest.mark.parametrize(("old", "new", "is_similar"), SUBJECTS)
def test_t63_a_saved_fact_names_an_older_one_about_the_same_subject(
    stage: Stage, old: str, new: str, is_similar: bool
) -> None:
    """A model that is told can take the old one away; two that contradict each other would both be believed."""
    first = save(stage, old)
    save(stage, new, who="bob")
    similar = save(stage, new).similar
    expected = {"id": first.id, "text": old, "day": stage.db.clock().date().isoformat()}  # type: ignore[union-attr]
    assert similar == (expected if is_similar else None) and first.similar is None
    assert save(stage, new).similar is None  # a duplicate


@pytest.mark.dialects
def test_c13_the_same_saved_by_many_at_once_is_there_once(stage: Stage) -> None:
    told = at_once(lambda: save(stage, "I like tea"), 6)
    assert sorted(one.reason for one in told) == ["", *["duplicate"] * 5] and len({one.id for one in told}) == 1


def test_c14_there_is_no_limit_and_the_first_is_first(stage: Stage) -> None:
    clock: Any = stage.db.clock  # type: ignore[union-attr]
    before = clock.now
    for n in range(60):
        clock.forward(seconds=1)
        assert save(stage, f"fact {n}").stored
    clock.now = before
    assert texts(stage) == [f"fact {n}" for n in range(60)]


def test_c18_deleting_and_restoring_and_what_is_not_there(stage: Stage) -> None:
    def delete(row_id: Any, restore: bool = False, path: str | None = HERE, who: str = "ann", **more: Any) -> Any:
        scope = where(stage, path, who, **more)
        result = conversations.delete_saved_memory(row_id, restore=restore, db=stage.db, settings=PLAIN, scope=scope)
        return result, result.notes

    tea = save(stage, "I like tea").id
    assert delete(tea)[0] == (True, tea, "") and texts(stage) == []
    assert delete(tea) == delete(7) and delete(7)[0] == (False, None, "unchanged")
    assert delete(tea, restore=True)[0] == (True, tea, "") and texts(stage) == ["I like tea"]
    assert delete(tea, restore=True) == delete(7)
    stranger = conversations.delete_saved_memory(tea, db=stage.db, settings=PLAIN, scope=Scope("somebody"))
    assert (stranger, stranger.notes) == delete(7) and texts(stage) == ["I like tea"]
    private = save(stage, "a secret", "tg/ann", privacy="direct").id
    assert delete(private) == delete(-1) == delete(2**70) and texts(stage, "tg/ann") == ["I like tea", "a secret"]
    heard = stage.remember("no saved memory", path=HERE)
    assert delete(heard) == delete(7)
    assert count(stage.db, MEMORIES, stage.persona, MEMORIES.c.archived_at.is_(None)) == 3
    delete(tea)
    again = save(stage, "I like tea").id
    assert delete(tea, restore=True)[0] == (False, again, "duplicate")


def xml(content: str) -> str:
    return f"<use_tool><name>memoryTool</name><memoryContent>{content}</memoryContent></use_tool>"


@pytest.mark.engines("sqlite")  # no server does it differently
@pytest.mark.parametrize("mode", ["agent", "plus", "basic", "project"])
def test_c24_who_reads_and_saves_in_each_mode(stage: Stage, mode: Any) -> None:
    settings = Settings(memory_mode=mode)
    save(stage, "I like tea", settings=settings)
    scope = where(stage)
    memory = conversations.get_user_memory_prompt(db=stage.db, settings=settings, scope=scope)
    assert (memory is None) is (mode == "project")
    (call,) = conversations.parse_tool_call(xml("I like cake"))
    told = conversations.run_tool_call(call, db=stage.db, settings=settings, scope=scope)
    assert told["success"] is (mode in ("agent", "plus"))
    assert told["success"] or told["message"].startswith("disabled")
    context = stage.context("hello", MEMORY_MODE=mode)
    assert ("saved_memories" in context) is (mode != "project")


@pytest.mark.engines("sqlite")  # no server does it differently
def test_c28_calls_are_done_and_answered_in_their_form(stage: Stage) -> None:
    scope, reply = where(stage), f"I will. {xml('I &lt;3 tea')} Done. {xml(' ')} <think>{xml('thought')}</think>"

    def done(call: Any, **more: Any) -> Any:
        return conversations.run_tool_call(call, db=stage.db, settings=Settings(), scope=scope, **more)

    first, second = (done(call) for call in conversations.parse_tool_call(reply))
    assert (first["success"], first["message"]) == (True, "saved") and "<success>true</success>" in first["reply"]
    assert second["success"] is False and second["message"].startswith("empty") and second["id"] is None
    assert texts(stage) == ["I <3 tea"]
    native = {
        "tool_calls": [{"id": "c1", "function": {"name": "memoryTool", "arguments": '{"memoryContent": "I <3 tea"}'}}]
    }
    (again,) = (done(call) for call in conversations.parse_tool_call(native))
    assert (again["success"], again["id"]) == (False, first["id"]) and again["reply"]["tool_call_id"] == "c1"
    (broken,) = conversations.parse_tool_call("<use_tool><name>memoryTool</name><memoryContent>x</use_tool>")
    assert done(broken)["message"].startswith("error: the call cannot be read")
    assert done(ToolCall("memoryTool", "x"), said="hello")["message"].startswith("not_explicit")
    assert texts(stage) == ["I <3 tea"]


@pytest.mark.engines("sqlite")  # no server does it differently
def test_c28_c29_a_store_that_fails_is_an_answer_and_costs_no_prompt(stage: Stage) -> None:
    broken = Database("sqlite://", clock=Clock())  # no tables
    told = conversations.run_tool_call(
        ToolCall("memoryTool", "canary7391"), db=broken, settings=Settings(), scope=where(stage)
    )
    assert told["success"] is False and told["message"].startswith("error") and "7391" not in str(told)
    made, report = stage.explain("@memory likes tea", MEMORY_MODE="plus", db=broken)
    assert made["input"] and "memory_tool" not in report and failed(report)


def test_c29_in_mode_plus_the_message_is_saved_before_the_prompt(stage: Stage) -> None:
    def prompt(said: str, **flags: Any) -> tuple[Any, Any]:
        made, report = stage.explain(said, **{"MEMORY_MODE": "plus", **flags})
        return made["context"].get("saved_memories", []), report["search"].get("memory_tool")

    shown, told = prompt("@memory likes tea")
    assert shown == ["[2026-03-10] likes tea"]
    assert told == {"call": "memoryTool", "by": "@memory", "stored": True, "id": told["id"], "reason": ""}
    assert prompt("@memory likes tea")[1]["reason"] == "duplicate"
    assert prompt("@memory")[1]["reason"] == "empty"
    assert prompt("write to mail@memory.org") == (["[2026-03-10] likes tea"], None)
    shown, told = prompt("Please remember that my cat is Tofu")
    assert [line[13:] for line in shown] == ["likes tea", "Please remember that my cat is Tofu"]
    assert told["by"] == "phrase"
    assert prompt("@memory more", MEMORY_MODE="agent")[1] is None
    assert prompt("@memory more", ENABLE_SAVED_MEMORY=0) == ([], None)
    assert prompt("@memory more", ENABLED_TOOL_IDS=["weather"])[1] is None
    assert len(texts(stage)) == 2
