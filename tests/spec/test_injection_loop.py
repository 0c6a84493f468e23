"""F34: what a tool, a memory or a prompt said is not remembered as what a person said. F36: what is flagged waits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select

from core import conversations, jobs, lifelong, privacy, short_term, stories
from core.calls.screening import set_screen
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.database.registry import REGISTRY
from core.database.schema_base import metadata
from core.db import insert_memory
from core.errors import MessageError
from core.synth_core_memory import search_memories, silently_record_memory
from core.transfer import import_items
from tests.spec.stage import HERE, NOW, Stage

pytestmark = pytest.mark.engines("sqlite")

SECRET = "the code is zqobey 7391"
PLAIN = Settings()
MARKS = ("tool", "tool_result", "function", "memory", "recap", "summary", "prompt", "context", "TOOL ")


def by(stage: Stage, path: str | None = HERE, **flags: Any) -> dict[str, Any]:
    made = Settings(**flags)
    return {"db": stage.db, "settings": made, "scope": stage.scope(path, participant="tg/ann")}


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
    own = by(stage)
    wishes = conversations.list_saved_memories(kind="instruction", **own)
    found = search_memories(keywords=["zqobey"], include_chat=False, **own)
    return repr((found, conversations.load_memory(**own), wishes, stage.context("zqobey", settings=PLAIN)["memories"]))


@pytest.mark.parametrize("mark", MARKS)
def test_f34_what_the_host_marks_is_captured_nowhere(stage: Stage, mark: str) -> None:
    own = by(stage)
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

    own = by(stage)
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
    own = by(stage)
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


@pytest.fixture
def screen() -> Iterator[list[str]]:
    """A hook that flags what holds the word; the kinds it was asked about."""
    kinds: list[str] = []

    def look(text: str, kind: str) -> list[str]:
        kinds.append(kind)
        return ["word"] if "zqobey" in text else []

    set_screen(look)
    yield kinds
    set_screen(None)


def _saved(s: Stage) -> Any:
    return conversations.add_saved_memory(SECRET, **by(s))


def _consolidated(s: Stage) -> Any:
    for n in range(6):
        s.say(f"tofu is my favourite food number {n}", minutes=30 - n)
    answer = json.dumps({"key_facts": [SECRET]})
    return lifelong.consolidate_history(HERE, model=lambda messages: answer, **by(s))


def _edited(s: Stage) -> Any:
    row = s.remember("tofu is white", ["tofu"])
    return lifelong.edit_item(row, SECRET, **by(s, None))


WRITERS: dict[str, Any] = {
    "insert": lambda s: insert_memory(SECRET, "host", "chat", [], s.scope(HERE), db=s.db, settings=PLAIN),
    "captured": lambda s: silently_record_memory(SECRET, **by(s)),
    "facts": lambda s: lifelong.add_facts_with_meta([SECRET], **by(s)),
    "saved": _saved,
    "wish": lambda s: conversations.add_saved_memory("Please call me zqobey", kind="instruction", **by(s)),
    "wish said": lambda s: s.say("Please always call me zqobey.", minutes=1),
    "diary": lambda s: s.diary("a day", personal_thought=SECRET),
    "import": lambda s: import_items(json.dumps({"items": [{"text": SECRET}]}).encode(), **by(s, None)),
    "consolidated": _consolidated,
    "edited": _edited,
}


@pytest.mark.parametrize("name", WRITERS)
def test_f36_what_a_writing_door_stores_is_screened(stage: Stage, screen: list[str], name: str) -> None:
    WRITERS[name](stage)
    own = by(stage)
    assert screen
    assert "zqobey" not in json.dumps(stage.context("zqobey code tofu", settings=PLAIN)["memories"])
    assert "zqobey" not in remembered(stage)
    waiting = privacy.list_quarantined(**own)
    stored = {table for table in kept(stage) if table in ("memories", "ai_diary")}
    assert len(waiting) == len(stored), waiting
    for each in waiting:
        assert privacy.release(each["source"], each["id"], **own)
    if stored:
        assert "zqobey" in remembered(stage) + repr(stage.context("zqobey", settings=PLAIN))
    else:
        assert name == "consolidated"


def test_f36_recaps_that_are_flagged_and_extracts_of_flagged_lines_are_refused(stage: Stage, screen: list[str]) -> None:
    own = by(stage)
    rows = [stage.say(f"Ann walks to the house of tofu number {n}.", minutes=30 - n) for n in range(4)]
    stories.add_scene_break(rows[1], "one", **own)
    stories.queue_recaps(HERE, **own)
    jobs.run_pending(model=lambda messages: "She knows zqobey.", **own)
    assert kept(stage) == set()
    assert "flagged" in json.dumps([each["error"] for each in jobs.list_operations(**own)])
    assert "zqobey" not in json.dumps(stage.context("tofu", settings=PLAIN))
    assert "recap" in screen
    row = stage.say(f"{SECRET}.", minutes=3)
    stories.queue_recaps(HERE, **own)
    jobs.run_pending(**own)
    assert stories.get_memory(row, **own) is None


def test_f36_a_summary_that_is_flagged_gives_way_to_an_extract(stage: Stage, screen: list[str]) -> None:
    stage.say("we talk of tofu and of the garden", minutes=3)
    stage.say(SECRET, minutes=2)
    answer = json.dumps({"title": "zqobey", "summary": "They spoke of zqobey."})
    own = by(stage)
    conversations.close_conversation(HERE, lambda messages: answer, wait=True, **own)
    (shown,) = conversations.list_recent_conversations(**own)
    assert "zqobey" not in repr(shown) and "tofu" in shown["summary"]
    assert "summary" in screen


def test_f36_what_is_flagged_is_not_kept_for_a_moment(stage: Stage, screen: list[str]) -> None:
    own = by(stage)
    said = [{"content": "hello", "sender_id": "ann"}, {"content": SECRET, "sender_id": "ann"}]
    assert short_term.write_turn(None, "ok", user="tg/ann", channel=HERE, messages=said, **own)[0]
    done = short_term.update_short_term_memory("tg/ann", HERE, SECRET, **own)
    assert (done.stored, done.reason) == (False, "refused") and done.notes
    assert kept(stage) == set()
    assert [line["content"] for line in short_term.get_for_user("tg/ann", **own)[0]["messages"]] == ["hello", "ok"]
    assert "short_term" in screen
