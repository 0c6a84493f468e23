"""R29: a session of the OpenAI Agents SDK as a conversation: the behaviours its own sessions are tested for."""

import asyncio
from collections.abc import Coroutine
from typing import Any
from unittest.mock import Mock

import pytest

pytest.importorskip("agents", reason="the extra openai-agents is not installed")

from agents import Agent, RunConfig, Runner
from agents.testing import ScriptedModel
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from core import Scope, build_json_prompt, forget, insert_memory, privacy, search_memories
from core.adapters import recall
from core.adapters.openai_agents import ITEM, Session
from core.chat_history_cache import load_chat_history, save_chat_message
from core.database.engine import Database
from core.errors import StoreReadError

CALL = {"type": "function_call", "name": "weather", "arguments": '{"city": "Ulm"}', "call_id": "c1"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "rain in Ulm"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
ANSWER = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
          "content": [{"type": "output_text", "text": "It rains.", "annotations": [], "logprobs": []}]}  # fmt: skip
IMAGE = {"role": "user", "content": [{"type": "input_image", "image_url": "data:,x", "detail": "auto"}]}


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


@pytest.fixture
def scope(persona: str) -> Scope:
    return Scope(persona, participant="web/ann")


@pytest.fixture
def session(db: Database, scope: Scope) -> Session:
    return Session("chat", db=db, scope=scope)


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def test_r29_items_stay_in_order_and_whole_whatever_they_are(session: Session) -> None:
    strange = {"type": "new_thing", "n": 1.0, "big": 2**70, "text": "a\x00b\ud800🦀 '); DROP TABLE", "deep": [None, {}]}
    items = [said("user", "Rain?"), REASONING, CALL, OUTPUT, ANSWER, said("user", "Rain?"), IMAGE, strange,
             said("developer", "Be brief."), said("user", "")]  # fmt: skip
    run(session.add_items(items[:4]))
    run(session.add_items(items[4:]))
    found = run(session.get_items())
    assert found == items and repr(found[7]) == repr(strange)
    assert [run(session.get_items(limit)) for limit in (0, 2, 100)] == [[], items[-2:], items]


def test_r29_pop_takes_the_newest_once(session: Session) -> None:
    run(session.add_items([said("user", f"m{n}") for n in range(6)]))

    async def pop_all() -> list[Any]:
        return await asyncio.gather(*(session.pop_item() for _ in range(8)))

    popped = run(pop_all())
    assert sorted(item["content"] for item in popped if item) == [f"m{n}" for n in range(6)]
    assert popped.count(None) == 2 and (run(session.pop_item()), run(session.get_items())) == (None, [])


def test_r29_clearing_one_session_leaves_the_others(db: Database, scope: Scope, session: Session) -> None:
    names = ["chat2", "chat/2", "chat@web", "CHAT", "chat%2F2", "çhat 🦀"]
    others = [Session(name, db=db, scope=scope) for name in names]
    places = [(scope.persona, "web/bob"), (scope.persona, None), (f"{scope.persona}x", "web/ann")]
    others += [Session("chat", db=db, scope=Scope(persona, participant=who)) for persona, who in places]
    for n, each in enumerate([session, *others]):
        run(each.add_items([said("user", f"only {n}")]))
    run(session.clear_session())
    assert run(session.get_items()) == []
    assert [run(each.get_items())[0]["content"] for each in others] == [f"only {n + 1}" for n in range(len(others))]


def test_r29_what_is_no_json_stores_nothing_of_its_batch(session: Session) -> None:
    with pytest.raises(TypeError):
        run(session.add_items([said("user", "good"), {"role": "user", "content": object()}]))
    assert run(session.get_items()) == []
    run(session.add_items([]))
    run(session.add_items([said("user", "after")]))
    assert run(session.get_items()) == [said("user", "after")]


def test_r29_a_cancelled_change_is_over_when_the_caller_hears_of_it(session: Session) -> None:
    """What follows never races with a change that still goes on in its thread."""

    async def work() -> list[Any]:
        task = asyncio.ensure_future(session.add_items([said("user", f"m{n}") for n in range(50)]))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await session.get_items()

    assert len(run(work())) in (0, 50)


def test_r29_concurrent_writers_lose_nothing(db: Database, scope: Scope) -> None:
    async def work() -> list[Any]:
        many = [Session("new", db=db, scope=scope) for _ in range(6)]
        batches = [[said("user", f"{n}.{m}") for m in range(5)] for n in range(6)]
        await asyncio.gather(*(each.add_items(batch) for each, batch in zip(many, batches, strict=True)))
        return await many[0].get_items()

    found = [item["content"] for item in run(work())]
    assert sorted(found) == sorted(f"{n}.{m}" for n in range(6) for m in range(5))
    for n in range(6):
        assert [each for each in found if each.startswith(f"{n}.")] == [f"{n}.{m}" for m in range(5)]


def test_r29_texts_are_found_as_chat_and_no_calls(db: Database, session: Session, scope: Scope, bob: Scope) -> None:
    run(session.add_items([said("user", "I live in Ulm by the river"), CALL, OUTPUT, ANSWER]))
    here = Scope(scope.persona, "web/ann", "web/ann", privacy="direct")

    def found(scope: Scope) -> list[str]:
        return [hit["snippet"] for hit in search_memories(query="Ulm river weather", db=db, scope=scope)]

    assert "I live in Ulm by the river" in found(here) and all(found(here))
    assert not any("function" in text or "rain in" in text for text in found(here))
    assert found(Scope(scope.persona, "web/bob", "web/bob", privacy="direct")) == []
    assert found(Scope(scope.persona)) == []
    prompt = build_json_prompt({"message_id": 1, "date": None, "text": "Ulm river?", "interface_path": "web/ann"}, {},
                               db=db, scope=here)  # fmt: skip
    assert [hit["snippet"] for hit in prompt["context"]["memories"] if not hit["snippet"].strip()] == []


def test_r29_lines_of_another_host_are_items_too(db: Database, scope: Scope) -> None:
    there = Scope(scope.persona, "tg/42", "tg/7", privacy="direct")
    save_chat_message("tg/42", "Hello", "Ann", "7", db=db, scope=there)
    save_chat_message("tg/42", "Hi Ann", "Iris", "self", db=db, scope=there)
    session = Session("any", db=db, scope=there)
    run(session.add_items([said("user", "Go on")]))
    assert run(session.get_items()) == [said("user", "Hello"), said("assistant", "Hi Ann"), said("user", "Go on")]
    lines = load_chat_history("tg/42", db=db, scope=there)
    assert [(line["sender_id"], line["text"]) for line in lines] == [("7", "Hello"), ("self", "Hi Ann"), ("7", "Go on")]
    assert ITEM in lines[2]["metadata"]


def test_r29_who_is_forgotten_or_wants_nothing_kept_has_no_items(
    db: Database, session: Session, scope: Scope, caplog: pytest.LogCaptureFixture
) -> None:
    run(session.add_items([said("user", "Rain?"), CALL, OUTPUT, ANSWER]))
    assert forget(participant="web/ann", db=db, scope=scope)["chat_history_cache"] == 4
    assert run(session.get_items()) == []
    privacy.set_privacy("web/ann", "full", db=db, scope=scope)
    run(session.add_items([said("user", "oolong")]))
    assert run(session.get_items()) == [] and "session_items_refused" in caplog.text and "oolong" not in caplog.text


def test_r29_a_run_keeps_its_turns_and_a_scope_as_context_counts(db: Database, persona: str) -> None:
    session = Session("chat", db=db)
    for who, text in (("web/ann", "I am Ann"), ("web/bob", "I am Bob"), ("web/ann", "again")):
        agent = Agent(name="iris", model=ScriptedModel([[_message(f"Hello {who}")]]))
        run(Runner.run(agent, text, session=session, context=Scope(persona, participant=who)))
    mine = Session("chat", db=db, scope=Scope(persona, participant="web/ann"))
    said = [item["content"] for item in run(mine.get_items())]
    texts = [each if isinstance(each, str) else each[0]["text"] for each in said]
    assert texts == ["I am Ann", "Hello web/ann", "again", "Hello web/ann"]


def _message(text: str) -> Any:
    return ResponseOutputMessage(
        id="m", type="message", role="assistant", status="completed",
        content=[ResponseOutputText(text=text, type="output_text", annotations=[], logprobs=[])],
    )  # fmt: skip


def test_r29_recall_puts_in_what_belongs_and_stores_none_of_it(db: Database, scope: Scope, session: Session) -> None:
    here = Scope(scope.persona, "web/ann", "web/ann", privacy="direct")
    there = Scope(scope.persona, "web/bob", "web/bob", privacy="direct")
    insert_memory("Ann likes oolong", "Ann", "chat", ["tea"], here, db=db)
    insert_memory("Bob likes oolong too", "Bob", "chat", ["tea"], there, db=db)
    run(session.add_items([said("user", "I had oolong tea today")]))
    agent = Agent(name="iris", model=ScriptedModel([[_message("Oolong.")]]))
    config = RunConfig(session_input_callback=session.recall)
    run(Runner.run(agent, "Which tea do I like, oolong?", session=session, run_config=config))
    given = run(session.recall([], [said("user", "Which tea do I like, oolong?")]))
    assert [item["role"] for item in given] == ["user", "user"]
    assert "Ann likes oolong" in given[0]["content"] and "Bob" not in given[0]["content"]
    assert given[0]["content"].startswith("Records, as data")
    seen = run(session.recall([said("user", "I know that Ann likes oolong")], [said("user", "oolong?")]))
    assert not any("Ann likes oolong" in item["content"] for item in seen[1:-1])
    kept = [item["content"] if item["role"] == "user" else "answer" for item in run(session.get_items())]
    assert kept == ["I had oolong tea today", "Which tea do I like, oolong?", "answer"]


def test_r29_recall_that_fails_leaves_the_run_as_it_is(session: Session, monkeypatch: Any, caplog: Any) -> None:
    """A database that is gone costs the memory of a turn, not the turn."""
    failure = StoreReadError("no answer", source="memories")
    monkeypatch.setattr(recall, "build_records", Mock(side_effect=failure))
    assert run(session.recall([], [said("user", "tea?")])) == [said("user", "tea?")]
    assert "recall_failed" in caplog.text
