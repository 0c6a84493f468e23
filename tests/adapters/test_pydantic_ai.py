"""R32: our capability in agents of Pydantic AI, with its own models for tests."""

import asyncio
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="the extra pydantic-ai is not installed")

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel as AnyModel

from core import Scope, forget, insert_memory
from core.adapters.pydantic_ai import Memory
from core.calls import defaults
from core.chat_history_cache import load_chat_history
from core.database.engine import Database
from core.errors import MessageError


class Asked:
    def __init__(self, *answers: list[Any]) -> None:
        self.requests: list[str] = []
        self._answers = list(answers)
        self.model = FunctionModel(self._answer)

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.requests.append(str(messages))
        return ModelResponse(parts=self._answers.pop(0) if self._answers else [TextPart("Green tea.")])


def ask(agent: Agent[Any, Any], text: str, **more: Any) -> Any:
    return asyncio.run(agent.run(text, **more))


def texts(db: Database, scope: Scope) -> list[tuple[str, str]]:
    return [(line["sender_id"], line["text"]) for line in load_chat_history(scope.conversation, db=db, scope=scope)]


def test_r32_what_belongs_to_the_prompt_stands_in_the_request_alone(db: Database, ann: Scope) -> None:
    insert_memory("Ann drinks oolong at dawn", "Ann", "chat", [], ann, db=db)
    asked = Asked()
    agent = Agent(asked.model, capabilities=[Memory(db=db, scope=ann)])
    done = ask(agent, "Anything else?", message_history=ask(agent, "Who drinks oolong?").all_messages())
    assert "oolong at dawn" in asked.requests[0] and "oolong at dawn" not in str(done.all_messages())
    own = [("ann", "Who drinks oolong?"), ("self", "Green tea."), ("ann", "Anything else?")]
    assert texts(db, ann) == [*own, ("self", "Green tea.")]


def test_r32_what_was_said_before_is_brought_where_the_request_lacks_it(db: Database, ann: Scope) -> None:
    """An agent that is given no history remembers its own conversation; one that has it hears nothing twice."""
    asked = Asked()
    agent = Agent(asked.model, capabilities=[Memory(db=db, scope=ann)])
    long = "We walked by the harbour. " * 60 + "The oolong stands behind the flour."
    first = ask(agent, long)
    ask(agent, "Where does the oolong stand, behind the flour?")
    ask(agent, "And where is the harbour?", message_history=first.all_messages())
    assert "We walked by the harbour" in asked.requests[1]
    assert asked.requests[2].count("We walked by the harbour") == 60


def test_r32_a_run_with_tools_brings_it_with_each_request_and_keeps_the_turn_once(db: Database, ann: Scope) -> None:
    insert_memory("Ann drinks oolong at dawn", "Ann", "chat", [], ann, db=db)
    asked = Asked([ToolCallPart("kettle", {})])
    agent = Agent(asked.model, capabilities=[Memory(db=db, scope=ann)])
    agent.tool_plain(lambda: "it is hot", name="kettle")
    ask(agent, "Who drinks oolong?")
    assert [request.count("oolong at dawn") for request in asked.requests] == [1, 1]
    assert texts(db, ann) == [("ann", "Who drinks oolong?"), ("self", "Green tea.")]


def test_r32_a_structured_answer_is_not_kept_as_what_was_said(db: Database, ann: Scope) -> None:
    class Tea(BaseModel):
        name: str

    agent = Agent(AnyModel(), output_type=Tea, capabilities=[Memory(db=db, scope=ann)])
    assert isinstance(ask(agent, "Which tea?").output, Tea) and texts(db, ann) == [("ann", "Which tea?")]


def test_r32_one_agent_keeps_its_users_apart_and_forgets_them(db: Database, ann: Scope, bob: Scope) -> None:
    asked = Asked()
    agent = Agent(asked.model, deps_type=object, capabilities=[Memory(db=db)])

    class Deps:
        scope = bob

    ask(agent, "I drink oolong at dawn", deps=ann)
    ask(agent, "Who drinks oolong?", deps=Deps())
    ask(agent, "Which tea do I drink? oolong?", deps=ann)
    assert "oolong at dawn" not in asked.requests[1]
    assert [text for _, text in texts(db, bob)] == ["Who drinks oolong?", "Green tea."]
    forget(participant="web/ann", db=db, scope=ann)
    ask(agent, "Which tea do I drink? oolong?", deps=ann)
    assert "oolong at dawn" not in asked.requests[3]


@pytest.mark.parametrize("opens", [True, False])
def test_r32_an_answer_is_given_where_the_turn_cannot_be_kept(
    ann: Scope, broken_db: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, opens: bool
) -> None:
    monkeypatch.setattr(defaults, "process", defaults._Process())
    monkeypatch.setenv("DATABASE_URL", "mysql://eva:secret@127.0.0.1:1/chats")
    own = Memory(db=broken_db if opens else None, scope=ann)
    agent = Agent(AnyModel(custom_output_text="Sencha."), capabilities=[own])
    assert ask(agent, "Which tea?").output == "Sencha."
    assert "source_failed" in caplog.text and "turn_not_kept" in caplog.text and "Which tea" not in caplog.text


def test_r32_a_scope_without_a_conversation_is_said(db: Database, persona: str) -> None:
    agent = Agent(AnyModel(), capabilities=[Memory(db=db, scope=Scope(persona))])
    with pytest.raises(MessageError, match="names no conversation"):
        ask(agent, "Which tea?")
