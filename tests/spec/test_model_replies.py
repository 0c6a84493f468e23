"""F33: model replies are data. They name no ids but those they were given, queue nothing and set nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import select

from core import jobs, stories
from core.config import Settings
from core.conversations import close_conversation
from core.database.engine import Database
from core.upkeep import ddl
from tests.spec.stage import Stage
from tests.store.world import open_db

GROUP, ANN = "tg/g1", "tg/ann"
TABLES = ddl.list_tables()
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


def _consolidated(stage: Stage, given: dict[str, Any], row: int) -> None:
    jobs.enqueue_operation("CONSOLIDATION", conversation=GROUP, **given)


def _deepened(stage: Stage, given: dict[str, Any], row: int) -> None:
    jobs.enqueue_operation("DEEP_CONSOLIDATION", conversation=GROUP, **given)


def _ended(stage: Stage, given: dict[str, Any], row: int) -> None:
    close_conversation(GROUP, **given)


def _recapped(stage: Stage, given: dict[str, Any], row: int) -> None:
    jobs.enqueue_operation("RECAP", metadata={"message_id": row}, conversation=GROUP, **given)


def _scene(stage: Stage, given: dict[str, Any], row: int) -> None:
    assert stories.add_scene_break(row, **given).stored


def _running(stage: Stage, given: dict[str, Any], row: int) -> None:
    assert stories.add_scene_break(row, recap=False, **given).stored
    assert stories.set_scene_recap(row, "they talked about boats and tea", **given).stored


def _detected(stage: Stage, given: dict[str, Any], row: int) -> None:
    jobs.enqueue_operation("SCENE_DETECTION", conversation=GROUP, **given)


WORK: dict[str, Callable[[Stage, dict[str, Any], int], None]] = {
    "CONSOLIDATION": _consolidated,
    "DEEP_CONSOLIDATION": _deepened,
    "CONVERSATION_SUMMARY": _ended,
    "RECAP": _recapped,
    "SCENE_RECAP": _scene,
    "RUNNING_SCENE_RECAP": _running,
    "SCENE_DETECTION": _detected,
}


def _reply(other: Stage, foreign: int) -> str:
    """Return a reply that tries everything: foreign ids, another persona, operations, settings."""
    said = f"{TAG}: they talk about boats and tea in the harbour."
    tries: dict[str, Any] = {
        "persona_id": other.persona,
        "persona": other.persona,
        "audience_id": 1,
        "conversation": "tg/other",
        "conversation_key": "tg/other",
        "participant": "tg/eve",
        "participant_key": "tg/eve",
        "source_ids": [foreign],
        "source_message_ids": [foreign],
        "sources": [foreign],
        "id": foreign,
        "message_id": foreign,
        "superseded_by": foreign,
        "pinned": True,
        "operations": [{"type": "RECAP", "payload": {"message_id": foreign}}],
        "enqueue": "CLEAR",
        "type": "CONSOLIDATION",
        "config": {"PRIVATE_STAYS_PRIVATE": 0},
        "settings": {"PRIVATE_STAYS_PRIVATE": 0},
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
    """Foreign ids, another persona, operations and settings in a reply change nothing."""
    stage, other = Stage(db), Stage(db)
    foreign = other.say("a secret of the other persona", GROUP)
    mine = []
    for n in range(40):
        who = "Ann" if n % 2 else "Bob"
        mine.append(stage.say(f"line {n} about boats and tea in the harbour", GROUP, who, minutes=300 - n))
    given = {"db": db, "settings": FLAGS, "scope": stage.scope()}
    WORK[kind](stage, given, mine[-1])
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
