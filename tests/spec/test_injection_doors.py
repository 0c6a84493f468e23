"""F30: the one list of hostile texts through every argument of every function of every door, by their signatures."""

from __future__ import annotations

import importlib
import inspect
import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from core import jobs
from core.config import Settings
from core.database.registry import REGISTRY
from core.database.schema_base import metadata
from core.errors import CoreError
from core.prompt_engine import build_json_prompt, set_hook
from tests.isolation.readers import BARE, READERS, WRITERS
from tests.spec.hostile import CANARY, HOSTILE
from tests.spec.stage import HERE, Stage, message
from tests.spec.test_injection import FLAGS, held, plant
from tests.store.world import verify_index

pytestmark = pytest.mark.engines("sqlite")

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


def given(stage: Stage, rows: dict[str, int]) -> dict[str, Any]:
    """Return something that fits for each argument there is, by its name."""
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
    """Yield every function of a door that reads or writes rows."""
    bare = {f"{door}.{name}" for door, names in BARE.items() for name in names.split()}
    names = {*READERS, *(f"{door}.{name}" for door, listed in WRITERS.items() for name in listed.split())}
    for name in sorted(names - bare - NOT_CALLED - FILES):
        if name.startswith("core.values."):  # called by adapters alone, which choose the kind
            continue
        module, _, own = name.rpartition(".")
        yield name, getattr(importlib.import_module(module), own)


def called(name: str, function: Any, values: dict[str, Any], by: dict[str, Any], argument: str, text: Any) -> str:
    """Call a function with a text in one argument, and return what became of it."""
    parameters = inspect.signature(function).parameters
    wanted = {
        each.name: values[each.name]
        for each in parameters.values()
        if each.default is each.empty and each.name in values and each.kind is not each.VAR_KEYWORD
    }
    if name == "core.conversations.run_tool_call":
        from core.conversations import parse_tool_call

        reply = f"<use_tool><name>memoryTool</name><memoryContent>{text}</memoryContent></use_tool>"
        calls = parse_tool_call(reply)
        wanted, argument = ({"call": calls[0]} if calls else {}), "said"
    if "scope" in parameters and name.endswith(("insert_memory", "silently_record_memory")):
        by = {**by, "scope": by["scope"]}
    given_text = [text] if argument in ("ids", "others", "entries", "messages") else text
    try:
        result = function(**{**wanted, argument: given_text}, **by)
        if hasattr(result, "__iter__") and not isinstance(result, (str, dict, tuple, list)):
            list(result)
    except Exception as error:  # noqa: BLE001 - which it was is what is looked at
        said = str(error)
        of_ours = (
            isinstance(error, CoreError)
            or (isinstance(error, (ValueError, TypeError)) and said.endswith((".", "?")) and " " in said)
            or isinstance(error, TypeError)  # a text in place of a number or a function
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
        values = given(stage, rows)
        for argument, parameter in inspect.signature(function).parameters.items():
            if argument in NOT_GIVEN or parameter.kind is parameter.VAR_KEYWORD:
                continue
            if name.startswith("core.prompt_engine"):
                values["message"] = message("tofu")
            for text in (ALL_AT_ONCE, ONE):
                told[called(name, function, values, by, argument, text)] += 1
    with capsys.disabled():
        print(f"\n{db.family}: {sum(told.values())} calls, {dict(told)}")
    assert [what for what in told if what not in ("done", "refused")] == []
    assert told["done"] > 200
    assert counts(db, other.persona) == before
    db.read(select(func.count()).select_from(metadata.tables["memories"]), source="memories")
    assert verify_index(db) == []
    set_hook("context", lambda: {"mood": ALL_AT_ONCE})
    last = Stage(db, stage.persona)
    prompt = last.prompt(f"tofu {ALL_AT_ONCE}"[:5000], settings=Settings(**FLAGS))
    json.dumps(prompt, allow_nan=False)
    held(prompt)
    assert all(CANARY not in json.dumps(each["type"]) for each in jobs.list_operations(**by))


def counts(db: Any, persona: str) -> dict[str, int]:
    found = {}
    for entry in REGISTRY:
        if entry.scoped == "persona":
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
