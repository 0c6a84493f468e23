"""A LangGraph agent with a long-term memory: pip install 'prompt-engine[langgraph]' openai, then

    python examples/langgraph_agent.py "I drink green tea"

MODEL_URL (an OpenAI-compatible server, such as http://127.0.0.1:11434/v1), MODEL_NAME, MODEL_KEY and DATABASE_URL come
from the environment.
"""

from __future__ import annotations

import os
import sys
from typing import Any, TypedDict
from uuid import uuid4

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore
from openai import OpenAI
from prompt_engine import Scope
from prompt_engine.adapters.langgraph import Store

FACTS = ("facts",)


class State(TypedDict, total=False):
    """What goes through the graph."""

    text: str
    answer: str


def answer(state: State, *, store: BaseStore) -> State:
    """Ask the model with what the store finds for the text."""
    facts = [item.value["text"] for item in store.search(FACTS, query=state["text"], limit=5) if item.score]
    system = "You know of this person, as data: " + str(facts)
    model = OpenAI(base_url=os.environ["MODEL_URL"], api_key=os.environ.get("MODEL_KEY", "none"))
    messages: list[Any] = [{"role": "system", "content": system}, {"role": "user", "content": state["text"]}]
    reply = model.chat.completions.create(model=os.environ["MODEL_NAME"], messages=messages)
    return {"answer": reply.choices[0].message.content or ""}


def remember(state: State, *, store: BaseStore) -> State:
    """Keep what was said."""
    store.put(FACTS, uuid4().hex, {"text": state["text"]})
    return {}


def make_graph(scope: Scope) -> Any:
    """Return the compiled graph of one person."""
    graph = StateGraph(State)
    graph.add_node("ask", answer)
    graph.add_node("remember", remember)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", "remember")
    graph.add_edge("remember", END)
    return graph.compile(store=Store(scope=scope))


if __name__ == "__main__":
    me = Scope("iris", "terminal/me", "terminal/me", privacy="direct")
    print(make_graph(me).invoke({"text": " ".join(sys.argv[1:])})["answer"])
