"""F34: what a tool, a memory or a prompt said is not remembered as what a person said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import select

from core import conversations, jobs, lifelong, short_term
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.database.registry import REGISTRY
from core.database.schema_base import metadata
from core.db import insert_memory
from core.errors import MessageError
from core.synth_core_memory import search_memories, silently_record_memory
from tests.spec.stage import HERE, NOW, Stage

pytestmark = pytest.mark.engines("sqlite")

SECRET = "the code is zqobey 7391"
PLAIN = Settings()
MARKS = ("tool", "tool_result", "function", "memory", "recap", "summary", "prompt", "context", "TOOL ")


def kept(stage: Stage, word: str = "zqobey") -> set[str]:
    """Return the tables in whose texts a word stands for the persona."""
    found = set()
    for entry in REGISTRY:
        if entry.texts and entry.scoped == "persona":
            table = metadata.tables[entry.table]
            asked = select(*(table.c[name] for name in entry.texts)).where(table.c.persona_id == stage.persona)
            if any(word in repr(tuple(row)) for row in stage.db.read(asked, source=entry.table)):
                found.add(entry.table)
    return found


def remembered(stage: Stage) -> str:
    """Return what is found and listed of everything but the chat."""
    own = stage.asking(HERE, "tg/ann")
    wishes = conversations.list_saved_memories(kind="instruction", **own)
    found = search_memories(keywords=["zqobey"], include_chat=False, **own)
    return repr((found, conversations.load_memory(**own), wishes, stage.context("zqobey", settings=PLAIN)["memories"]))


@pytest.mark.parametrize("mark", MARKS)
def test_f34_what_the_host_marks_is_captured_nowhere(stage: Stage, mark: str) -> None:
    own = stage.asking(HERE, "tg/ann")
    assert silently_record_memory(SECRET, source=mark, **own).reason == "refused"
    for field in ("role", "kind", "type", "source"):
        said = [{"content": "hello", "sender_id": "ann"}, {"content": SECRET, "sender_id": "ann", field: mark}]
        told = short_term.write_turn(None, "ok", user="tg/ann", channel=HERE, messages=said, **own)
        assert told[1] in ("", "unchanged")
        conversations.add_recent_conversation(said, lambda messages: json.dumps(
            {"title": "t", "summary": messages[-1]["content"][-4000:]}), wait=True, **own)  # fmt: skip
    with pytest.raises(MessageError, match="role"):
        save_chat_message(HERE, SECRET, "tool", "tool", role=mark, **own)
    assert kept(stage) == set()


def test_f34_system_lines_of_the_log_are_read_by_nobody_who_remembers(stage: Stage) -> None:
    """A host that keeps results of tools in the log does so as system lines: a log, and never what a person said."""
    stage.say("hello there, we talk of tofu today", minutes=5)
    wish = f"Please always call me zqobey. {SECRET}"
    stage.say(wish, minutes=4, role="system")
    assert kept(stage) == {"chat_history_cache"}
    asked: list[str] = []

    def model(messages: list[dict[str, str]]) -> str:
        asked.append(messages[-1]["content"])
        return json.dumps({"title": "tofu", "summary": "They talked of tofu."})

    own = stage.asking(HERE, "tg/ann")
    lifelong.consolidate_history(HERE, model=model, **own)
    lifelong.consolidate_history(HERE, **own)
    conversations.close_conversation(HERE, model, wait=True, **own)
    jobs.run_pending(model=model, **own)
    assert asked and all("zqobey" not in each for each in asked)
    assert kept(stage) == {"chat_history_cache"}
    assert conversations.list_saved_memories(kind="instruction", **own) == []


def test_f34_what_was_recalled_for_a_turn_is_not_captured_in_it(stage: Stage) -> None:
    insert_memory(SECRET, "host", "chat", ["code"], stage.scope(HERE), db=stage.db, settings=PLAIN)
    insert_memory(SECRET + " of the door", "host", "chat", ["code"], stage.scope(HERE), db=stage.db, settings=PLAIN)
    own = stage.asking(HERE, "tg/ann")
    for turn in range(10):
        context = stage.context("what is the code zqobey?", settings=PLAIN)
        for hit in context["memories"]:
            done = silently_record_memory(hit["snippet"], **own)
            assert (done.stored, done.reason) == (False, "refused"), turn
            done = silently_record_memory(f"  {hit['snippet'].upper()} ", **own)
            assert not done.stored
    assert lifelong.search_items("zqobey", **own)["total"] == 2
    clock: Any = stage.db.clock  # type: ignore[union-attr]
    clock.forward(days=1)
    try:
        assert silently_record_memory("the code is zqobey 7391, again", **own).stored
    finally:
        clock.now = NOW
