"""F30, F31, F34: whatever is said, remembered, named or made of it stays a text in a data field, through every door."""

import importlib
import inspect
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from core import conversations, insert_memory, jobs, lifelong, relationships, short_term, stories
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.database.registry import REGISTRY
from core.database.schema_base import metadata
from core.errors import CoreError, MessageError
from core.prompt_engine import build_json_prompt, reduce_prompt_for_llm_limit, set_hook, to_messages
from core.synth_core_memory import silently_record_memory
from tests.isolation.readers import BARE, READERS, WRITERS
from tests.spec.hostile import CANARY, HOSTILE, inner_shape, shape
from tests.spec.stage import ELSEWHERE, HERE, MINUTE, NOW, Stage, message, tables_with
from tests.spec.story import Model
from tests.store.world import verify_index

FLAGS: dict[str, Any] = {"short_term_max_channels": 5, "max_prompt_chars": 0, "diary_chars": 30_000}
ALL_AT_ONCE = " ".join(HOSTILE)
EVERYTHING = "ISOLATION_SCOPES" in os.environ
"""Try each text in each field of a message; otherwise all at once in each, and by itself in one."""
ONE = HOSTILE[7]
NOT_GIVEN = {"db", "settings", "scope", "model", "screen", "counter", "progress", "shuffle",
             "vocabulary", "wait", "dry_run", "folder", "max_bytes", "overwrite"}  # fmt: skip
"""Arguments that hold no text of anybody, or name a file."""
NOT_CALLED = {"core.jobs.Worker", "core.history_engine.HistoryEngine"}
"""Classes; what they call is called by itself."""
FILES = {"core.transfer.imports.import_file", "core.transfer.exports.export_chat", "core.transfer.import_items",
         "core.conversations.export_markdown", "core.conversations.import_markdown",
         "core.personas.set_persona_text"}  # fmt: skip
"""Functions about files, which tests/fuzz and tests/unit/transfer try."""
SECRET = "the code is zqobey 7391"
PLAIN = Settings()
MARKS = ("tool", "tool_result", "function", "memory", "recap", "summary", "prompt", "context", "TOOL ")


def plant(stage: Stage, text: str) -> None:
    short = text[:150]

    def by(path: str = HERE, who: str = "tg/ann") -> dict[str, Any]:
        return {**stage.asking(path, who), "settings": Settings(**FLAGS)}

    row = stage.say(f"tofu {text}", minutes=30, who="Ann", metadata={"note": text}, message_id="m1")
    stage.say(f"tofu answer {text}", minutes=29, who="self")
    stage.say(f"tofu there {text}", ELSEWHERE, "Bob", minutes=40, title=f"t {short}")
    stage.remember(f"tofu is {text}", ["tofu", f"tofu {short[:40]}"], 300)
    stage.diary(f"day of tofu {text}", 90, personal_thought=f"thought {text}", interaction_summary=f"sum {text}",
                user_message=f"said {text}", involved_users=[f"n {short}"])  # fmt: skip
    # The entry is longer than DIARY_CHARS: its thought alone is shown.
    stage.diary("long day " * 5000, 100, personal_thought=f"other thought {text}")
    conversations.add_saved_memory(f"tofu saved {short}", **by())
    conversations.add_saved_memory(f"Please call me {short}", kind="instruction", **by())
    answer = json.dumps({"title": f"title {short}", "summary": f"summary {text}"})
    conversations.close_conversation(ELSEWHERE, lambda messages: answer, wait=True, **by(ELSEWHERE, "tg/bob"))
    relationships.adjust("tg/ann", 5, 5, f"user {short}", realname=f"real {short}", **by())
    turn = [{"content": f"turn {text}", "sender_id": "ann", "speaker": f"speaker {short}"}]
    short_term.write_turn(None, f"answer {text}", user="tg/ann", channel="tg/44", messages=turn,
                          channel_name=f"c {short}", server_name=f"s {short}", at=NOW - MINUTE,
                          **by("tg/44"))  # fmt: skip
    short_term.update_short_term_memory("tg/ann", "tg/44", f"summary {text}", **by("tg/44"))
    stories.set_data(row, "memory", f"recap {text}", **by())
    stories.set_data(row, "include", "short", **by())
    stories.add_scene_break(row, f"scene {short}", **by())
    stories.set_scene_recap(row, f"scene recap {text}", **by())
    stories.add_running_recap_version(f"running {text}", 1, 0, 0, 1, **by())
    lifelong.add_facts_with_meta([{"text": f"tofu fact {text}", "emotion": short[:40], "kind": "PastEvents"}], **by())


def built(stage: Stage, text: str) -> dict[str, Any]:
    short = text[:150]
    reply = {"text": text, "sender_name": short}
    live = {HERE: [{"sender_name": f"Ann {short}", "text": f"live {text}", "reply_to": reply}],
            ELSEWHERE: [{"sender_name": f"Bob {short}", "text": f"live there {text}"}]}  # fmt: skip
    return stage.prompt(
        f"tofu {text}", live, from_user={"id": "ann", "username": f"u {short}", "full_name": f"n {short}"},
        reply_to_message={"text": f"r {text}", "from_user": {"username": f"b {short}"}},
        thread_name=f"thread {short}", settings=Settings(**FLAGS),
    )  # fmt: skip


def prompt_of(stage: Stage, text: str) -> dict[str, Any]:
    one = Stage(stage.db)
    plant(one, text)
    set_hook("context", lambda: {"mood": text})
    return built(one, text)


@pytest.fixture(scope="module")
def harmless(db: Any) -> dict[str, Any]:
    prompt = prompt_of(Stage(db), "quiet words of Ann")
    empty = [key for key, value in prompt["context"].items() if value in ([], {}, "", None)]
    assert set(empty) <= {"tags_placeholder"}, empty
    return prompt


def held(prompt: dict[str, Any]) -> None:
    assert CANARY in json.dumps(prompt["context"])
    rest = {key: value for key, value in prompt.items() if key not in ("context", "input")}
    assert CANARY not in json.dumps(rest)
    told = to_messages(prompt)
    assert told[0]["role"] == "system" and CANARY not in told[0]["content"]
    assert {message["role"] for message in told[1:]} == {"user"}
    assert CANARY not in json.dumps(to_messages(prompt, "anthropic")["system"])
    for position in ("before_prompt", "in_prompt", "in_chat", "after_prompt"):
        placed = to_messages(prompt, settings=Settings(scene_recap_position=position))
        system = [message["content"] for message in placed if message["role"] == "system"]
        assert CANARY not in "".join(system), position


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_f30_f31_no_text_is_more_than_a_text(stage: Stage, harmless: dict[str, Any], text: str) -> None:
    prompt = prompt_of(stage, text)
    assert shape(prompt) == shape(harmless)
    assert all(prompt[key] == harmless[key] for key in ("instructions", "actions"))
    json.loads(json.dumps(prompt, allow_nan=False).encode())
    held(prompt)
    for dialect in ("openai", "anthropic"):
        both = (to_messages(each, dialect) for each in (prompt, harmless))
        mine, theirs = (made["messages"] if isinstance(made, dict) else made for made in both)
        assert list(map(inner_shape, mine)) == list(map(inner_shape, theirs))
    small = reduce_prompt_for_llm_limit(prompt, 9000)
    assert list(small) == list(prompt) and small["instructions"] == harmless["instructions"]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_f30_no_text_closes_a_fence_or_makes_a_section_of_a_file(stage: Stage, tmp_path: Path, text: str) -> None:
    plant(stage, text)
    by = {**stage.asking(HERE, "tg/ann"), "settings": Settings(**FLAGS)}
    told = conversations.get_user_memory_prompt(**by) or ""
    for mark in ("<saved_memories>", "</saved_memories>", "<recent_conversations>", "</recent_conversations>"):
        assert told.count(mark) == 1, mark
    inside = re.split(r"</?(?:saved_memories|recent_conversations)>", told)
    assert CANARY not in inside[0] + inside[2] + inside[4]
    whole = conversations.get_system_prompt_with_memory("base", **by)
    assert whole.startswith("base\n\n") and whole.endswith(told)
    before = conversations.load_memory(**by)
    conversations.export_markdown(tmp_path, **by)
    back = conversations.import_markdown(tmp_path, **by)
    assert (back.added, back.left_out, conversations.load_memory(**by)) == (0, (), before)


def test_f31_models_are_asked_with_texts_as_data(stage: Stage) -> None:
    asked: list[list[dict[str, str]]] = []

    def model(messages: list[dict[str, str]]) -> str:
        asked.append(messages)
        return "She spoke of tofu."

    for text in HOSTILE[:8]:
        one = Stage(stage.db)
        plant(one, text)
        by = {**one.asking(HERE), "settings": Settings(**FLAGS)}
        jobs.run_pending(model=model, **by)
        lifelong.consolidate_history(HERE, model=model, **by)
        conversations.close_conversation(HERE, model, wait=True, **by)
    said = [one for messages in asked for one in messages if CANARY in one["content"]]
    assert len(said) >= 20
    for one in said:
        assert one["role"] == "user"
        for line in one["content"].split("\n"):
            if CANARY in line:
                assert _is_data(line), line[:300]


def _is_data(line: str) -> bool:
    """Return whether what a line holds of a text stands in JSON, alone or behind a word of ours."""
    for start in re.finditer(r'[{\["]', line):
        if CANARY in line[: start.start()]:
            return False
        try:
            _, end = json.JSONDecoder().raw_decode(line[start.start() :])
        except ValueError:
            continue
        return CANARY not in line[start.start() + end :]
    return False


def values_for(stage: Stage, rows: dict[str, int]) -> dict[str, Any]:
    return {
        "message": rows["chat"], "message_text": "hello", "interface_path": HERE, "text": "Please call me Ann",
        "content": "hello", "author": "host", "source": "chat", "tags": ["tofu"], "id": rows["item"],
        "ids": [rows["item"]], "keep": rows["item"], "others": [rows["item"] + 1],
        "new_content": "tofu is white", "user_text": "I like tofu", "response_text": "good",
        "entries": ["tofu is soft"], "statement": "likes tofu", "base": "You are Iris.", "user": "ann", "channel": "42",
        "server": "s1", "messages": [{"content": "hi", "sender_id": "ann"}], "summary": "they spoke", "memory": "short",
        "recap": "short", "key": "memory", "value": "short", "name": "scene", "version": 0, "number": 0,
        "target": "tg/77", "refused_id": 1, "on": True, "position": "in_chat", "type": "RECAP", "a": "tofu",
        "b": "food",
        "alias": "bean", "tag": "tofu", "participant": "tg/ann", "level": "none", "conversation": "tg/99",
        "privacy": "public", "person": "Ann", "query": "tofu", "payload": {"mode": "free", "query": "tofu"},
        "user_id": "tg/ann", "path": HERE,
    }  # fmt: skip


def functions() -> Iterator[tuple[str, Any]]:
    bare = {f"{door}.{name}" for door, names in BARE.items() for name in names.split()}
    names = {*READERS, *(f"{door}.{name}" for door, listed in WRITERS.items() for name in listed.split())}
    for name in sorted(names - bare - NOT_CALLED - FILES):
        if name.startswith("core.values."):  # called by adapters alone, which choose the kind
            continue
        module, _, own = name.rpartition(".")
        yield name, getattr(importlib.import_module(module), own)


def called(name: str, function: Any, values: dict[str, Any], by: dict[str, Any], argument: str, text: Any) -> str:
    parameters = inspect.signature(function).parameters
    wanted = {
        each.name: values[each.name]
        for each in parameters.values()
        if each.default is each.empty and each.name in values and each.kind is not each.VAR_KEYWORD
    }
    if name == "core.conversations.run_tool_call":
        reply = f"<use_tool><name>memoryTool</name><memoryContent>{text}</memoryContent></use_tool>"
        calls = conversations.parse_tool_call(reply)
        wanted, argument = ({"call": calls[0]} if calls else {}), "said"
    given_text = [text] if argument in ("ids", "others", "entries", "messages") else text
    try:
        result = function(**{**wanted, argument: given_text}, **by)
        if hasattr(result, "__iter__") and not isinstance(result, (str, dict, tuple, list)):
            list(result)
    except Exception as error:  # noqa: BLE001 - which it was is what is looked at
        said = str(error)
        of_ours = isinstance(error, (CoreError, TypeError)) or (  # a text in place of a number or a function
            isinstance(error, ValueError) and said.endswith((".", "?")) and " " in said
        )
        return "refused" if of_ours else f"{name}({argument}=...): {type(error).__name__}: {said[:200]}"
    return "done"


@pytest.mark.slow
def test_f30_every_argument_of_every_door(db: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other, stage = Stage(db), Stage(db)
    plant(other, "quiet words")
    plant(stage, "quiet words")
    rows = {"chat": stage.say("tofu", message_id="h1"), "item": stage.remember("tofu", ["tofu"])}
    before = counts(db, other.persona)
    own = stage.scope(HERE, participant="tg/ann")
    by: dict[str, Any] = {"db": db, "settings": Settings(**FLAGS), "scope": own}
    told: Counter[str] = Counter()
    for name, function in functions():
        values = values_for(stage, rows)
        for argument, parameter in inspect.signature(function).parameters.items():
            if argument in NOT_GIVEN or parameter.kind is parameter.VAR_KEYWORD:
                continue
            if name.startswith("core.prompt_engine"):
                values["message"] = message("tofu")
            for text in (ALL_AT_ONCE, ONE):
                told[called(name, function, values, by, argument, text)] += 1
    with capsys.disabled():
        print(f"\n{db.family}: {sum(told.values())} calls, {dict(told)}")
    assert [what for what in told if what not in ("done", "refused")] == [] and told["done"] > 200
    assert counts(db, other.persona) == before and verify_index(db) == []
    set_hook("context", lambda: {"mood": ALL_AT_ONCE})
    last = Stage(db, stage.persona)
    prompt = last.prompt(f"tofu {ALL_AT_ONCE}"[:5000], settings=Settings(**FLAGS))
    json.dumps(prompt, allow_nan=False)
    held(prompt)
    assert all(CANARY not in json.dumps(each["type"]) for each in jobs.list_operations(**by))


def counts(db: Any, persona: str) -> dict[str, int]:
    found = {}
    for entry in REGISTRY:
        if entry.persona == "persona_id":
            table = metadata.tables[entry.table]
            asked = select(func.count()).select_from(table).where(table.c.persona_id == persona)
            found[entry.table] = int(db.read(asked, source=entry.table)[0][0])
    return found


@pytest.mark.slow
def test_f30_every_field_of_a_message(db: Any) -> None:
    stage = Stage(db)
    plant(stage, "quiet words")
    plain = message("tofu")
    fields = [*plain, "thread_id", "thread_name", "chat", "reply_to_message", "server_id", "is_private", "interface",
              "attachments", "tags", "metadata", "human_count", "context", "synth_name"]  # fmt: skip
    shapes = ({"text": ALL_AT_ONCE}, [ALL_AT_ONCE], {"id": ONE, "type": ONE, "title": ONE})
    seen = 0
    for number, field in enumerate(fields):
        some = HOSTILE if EVERYTHING else HOSTILE[number % len(fields) :: len(fields)]
        for text in (ALL_AT_ONCE, *some, *shapes) if db.family == "sqlite" else (ALL_AT_ONCE, shapes[2]):
            for value in (text, {"text": text, "from_user": {"id": "b", "username": text, "full_name": text}}):
                try:
                    prompt = build_json_prompt({**plain, field: value}, db=db, settings=Settings(**FLAGS),
                                               scope=stage.scope())  # fmt: skip
                except CoreError:
                    continue
                seen += 1
                rest = {key: part for key, part in prompt.items() if key not in ("context", "input")}
                assert CANARY not in json.dumps(rest), field
                assert list(prompt)[:3] == ["context", "input", "instructions"]
    assert seen > 30


def kept(stage: Stage) -> set[str]:
    return tables_with(stage.db, stage.persona, CANARY) & {one.table for one in REGISTRY if one.persona == "persona_id"}


@pytest.mark.parametrize("mark", MARKS)
def test_f34_what_the_host_marks_is_captured_nowhere(stage: Stage, mark: str) -> None:
    own = stage.asking(HERE, "tg/ann")
    assert silently_record_memory(SECRET, source=mark, **own).reason == "refused"
    for field in ("role", "kind", "type", "source"):
        said = [{"content": "hello", "sender_id": "ann"}, {"content": SECRET, "sender_id": "ann", field: mark}]
        told = short_term.write_turn(None, "ok", user="tg/ann", channel=HERE, messages=said, **own)
        assert told[1] in ("", "unchanged")
        echo = Model(lambda request: json.dumps({"title": "t", "summary": request[-4000:]}))
        conversations.add_recent_conversation(said, echo, wait=True, **own)
    with pytest.raises(MessageError, match="role"):
        save_chat_message(HERE, SECRET, "tool", "tool", role=mark, **own)
    assert kept(stage) == set()


def test_f34_system_lines_of_the_log_are_read_by_nobody_who_remembers(stage: Stage) -> None:
    """A host that keeps results of tools in the log does so as system lines: a log, and never what a person said."""
    stage.say("hello there, we talk of tofu today", minutes=5)
    stage.say(f"Please always call me zqobey. {SECRET}", minutes=4, role="system")
    assert kept(stage) == {"chat_history_cache"}
    model, own = Model(json.dumps({"title": "tofu", "summary": "They talked of tofu."})), stage.asking(HERE, "tg/ann")
    lifelong.consolidate_history(HERE, model=model, **own)
    lifelong.consolidate_history(HERE, **own)
    conversations.close_conversation(HERE, model, wait=True, **own)
    jobs.run_pending(model=model, **own)
    assert model.asked and "zqobey" not in str(model.asked) and kept(stage) == {"chat_history_cache"}
    assert conversations.list_saved_memories(kind="instruction", **own) == []


def test_f34_what_was_recalled_for_a_turn_is_not_captured_in_it(stage: Stage) -> None:
    for text in (SECRET, SECRET + " of the door"):
        insert_memory(text, "host", "chat", ["code"], stage.scope(HERE), db=stage.db, settings=PLAIN)
    own = stage.asking(HERE, "tg/ann")
    for turn in range(10):
        context = stage.context("what is the code zqobey?", settings=PLAIN)
        for hit in context["memories"]:
            done = silently_record_memory(hit["snippet"], **own)
            assert (done.stored, done.reason) == (False, "refused"), turn
            done = silently_record_memory(f"  {hit['snippet'].upper()} ", **own)
            assert not done.stored
    assert lifelong.search_items("zqobey", **own)["total"] == 2
    stage.db.clock.forward(days=1)  # type: ignore[union-attr,attr-defined]
    assert silently_record_memory("the code is zqobey 7391, again", **own).stored
