"""F33: model replies are data. They name no ids but those they were given, queue nothing and set nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from core import jobs, stories
from core.config import Settings
from core.conversations import close_conversation
from core.database.engine import Database
from core.database.schema import TABLES
from tests.spec.stage import Stage
from tests.store.world import open_db

GROUP, ANN = "tg/g1", "tg/ann"
FLAGS = Settings()
TAG = "zqreply"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """What a reply may do does not depend on the engine."""
    made = open_db(f"sqlite:///{tmp_path_factory.mktemp('replies') / 'replies.db'}")
    yield made
    made.close()


def rows(db: Database, name: str, persona: str | None = None) -> list[Any]:
    table = TABLES[name]
    chosen = select(table)
    return list(db.read(chosen if persona is None else chosen.where(table.c.persona_id == persona), source=name))


def _queue(kind: str, given: dict[str, Any], **metadata: Any) -> None:
    jobs.enqueue_operation(kind, metadata=metadata, conversation=GROUP, **given)


def _running(given: dict[str, Any], row: int) -> None:
    assert stories.add_scene_break(row, recap=False, **given).stored
    assert stories.set_scene_recap(row, "they talked about boats and tea", **given).stored


WORK: dict[str, Callable[[dict[str, Any], int], Any]] = {
    "CONSOLIDATION": lambda given, row: _queue("CONSOLIDATION", given),
    "DEEP_CONSOLIDATION": lambda given, row: _queue("DEEP_CONSOLIDATION", given),
    "CONVERSATION_SUMMARY": lambda given, row: close_conversation(GROUP, **given),
    "RECAP": lambda given, row: _queue("RECAP", given, message_id=row),
    "SCENE_RECAP": lambda given, row: stories.add_scene_break(row, **given),
    "RUNNING_SCENE_RECAP": _running,
    "SCENE_DETECTION": lambda given, row: _queue("SCENE_DETECTION", given),
}


def _reply(other: Stage, foreign: int) -> str:
    """Return a reply that tries everything: foreign ids, another persona, operations, settings."""
    said = f"{TAG}: they talk about boats and tea in the harbour."
    tries: dict[str, Any] = {
        **dict.fromkeys(("persona_id", "persona"), other.persona),
        **dict.fromkeys(("conversation", "conversation_key"), "tg/other"),
        **dict.fromkeys(("participant", "participant_key"), "tg/eve"),
        **{key: [foreign] for key in ("source_ids", "source_message_ids", "sources")},
        **dict.fromkeys(("id", "message_id", "superseded_by"), foreign),
        **{key: {"PRIVATE_STAYS_PRIVATE": 0} for key in ("config", "settings")},
        "audience_id": 1,
        "pinned": True,
        "operations": [{"type": "RECAP", "payload": {"message_id": foreign}}],
        "enqueue": "CLEAR",
        "type": "CONSOLIDATION",
        "PRIVATE_STAYS_PRIVATE": 0,
    }
    fact = {"text": said, **tries}
    made = {
        "title": said, "summary": said, "recap": said, "memory": said, "developments": [said],
        "key_facts": [fact], "facts_about_user": [fact], "sceneBreakAt": foreign, **tries,
    }  # fmt: skip
    return json.dumps(made)


@pytest.mark.parametrize("kind", WORK)
def test_f33_a_reply_names_nothing_it_was_not_given(kind: str, db: Database) -> None:
    stage, other = Stage(db), Stage(db)
    foreign = other.say("a secret of the other persona", GROUP)
    mine = []
    for n in range(40):
        who = "Ann" if n % 2 else "Bob"
        mine.append(stage.say(f"line {n} about boats and tea in the harbour", GROUP, who, minutes=300 - n))
    given = {"db": db, "settings": FLAGS, "scope": stage.scope()}
    WORK[kind](given, mine[-1])
    before = {name: rows(db, name) for name in ("conversations", "audiences", "participants")}
    theirs = {name: rows(db, name, other.persona) for name in TABLES if "persona_id" in TABLES[name].c}
    asked: list[str] = []

    def model(messages: list[dict[str, str]]) -> str:
        asked.append(messages[-1]["content"])
        return _reply(other, foreign)

    ran = jobs.run_pending(model=model, **given)
    assert asked and any(run.type == kind for run in ran)
    assert {name: rows(db, name, other.persona) for name in theirs} == theirs
    for name in ("audiences", "participants"):
        assert len(rows(db, name)) == len(before[name])
    assert [row.conversation_key for row in rows(db, "conversations", stage.persona)] == [GROUP]
    for row in rows(db, "memories", stage.persona):
        assert (row.conversation_key, row.pinned, row.superseded_by) == (GROUP, 0, None)
        assert row.participant_key in (None, ANN, "tg/bob")
        assert set(json.loads(row.source_message_ids or "[]")) <= set(mine)
    assert not any(row.break_row == foreign for row in rows(db, "scenes"))
    follows = {"SCENE_RECAP": {"RUNNING_SCENE_RECAP"}, "SCENE_DETECTION": {"SCENE_RECAP", "RUNNING_SCENE_RECAP"}}
    queued = {row.type for row in rows(db, "memory_jobs", stage.persona)}
    assert queued <= {kind} | follows.get(kind, set())


@pytest.mark.parametrize("kind", WORK)
@pytest.mark.parametrize("reply", ["no JSON at all" * 2, "[]", None], ids=["words", "list", "unnamed"])
def test_s47_an_operation_without_a_usable_answer_says_so(kind: str, reply: str | None, db: Database) -> None:
    """Completed with an extract, or tried again: in both cases the row of the operation has the reason."""
    stage = Stage(db)
    mine = [stage.say(f"line {n} about boats and tea in the harbour", GROUP, "Ann", minutes=300 - n) for n in range(40)]
    flags = FLAGS if reply is not None else replace(FLAGS, llm_base_url="http://127.0.0.1:9/v1")
    given = {"db": db, "settings": flags, "scope": stage.scope()}
    WORK[kind](given, mine[-1])
    (run,) = [run for run in jobs.run_pending(model=reply and (lambda _: reply), **given) if run.type == kind]
    stored = next(row for row in rows(db, "memory_jobs", stage.persona) if row.id == run.id)
    assert (stored.status, stored.error or "") == (run.state, run.error)
    if reply is None:
        assert (run.state, run.error) == ("completed", "NoModel: LLM_MODEL is not set")
    elif reply == "[]" or kind in ("CONSOLIDATION", "DEEP_CONSOLIDATION", "SCENE_DETECTION"):  # words are a recap
        assert run.error == "ModelError: unreadable"
