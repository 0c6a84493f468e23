"""A prompt comes back whatever breaks in the store (F50 to F53, F58, F59, P3, G14, G26)."""

import json
import os
import re
import shutil
import traceback
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text as sql

from core import conversations, lifelong, prompt_engine, relationships, short_term, stories, synth_core_memory
from core.calls import defaults
from core.config import Settings
from core.database.engine import Database
from core.database.registry import REGISTRY
from core.database.schema import TABLES
from core.errors import CoreError
from tests.databases import traced
from tests.faults.conftest import fill
from tests.spec.stage import ELSEWHERE, HERE, Stage, failed, message, said

ROUNDS = int(os.environ.get("FAULT_ROUNDS", "1"))
KEYS = ["context", "input", "instructions", "__pre_reduction_size", "actions"]
ASKED = "canary tell me of tofu and pizza"


def run(db: Database, *statements: str) -> None:
    with db.engines()[1].connect() as connection:
        for statement in statements:
            connection.execute(sql(statement))
        connection.commit()


def no_canary(error: BaseException) -> None:
    """Check that neither the error nor anything it hangs on holds a text that was said (G26)."""
    assert "canary" not in "".join(traceback.format_exception_only(error))
    seen: BaseException | None = error
    while seen is not None:
        assert "canary" not in repr(seen)
        seen = seen.__cause__ or seen.__context__


def test_f50_f51_without_any_table_live_lines_are_shown_and_private_ones_stay_private(stage: Stage, live: Any) -> None:
    stage.say("canary secret", "tg/secret", "Bob", minutes=9, privacy="direct")
    live["tg/secret"] = [{"text": "canary live secret", "sender_name": "Bob"}]
    assert "secret" not in str(stage.context(ASKED, live))
    for table in TABLES:
        run(stage.db, f"DROP TABLE {table}")
    prompt, report = stage.explain(ASKED, live)
    assert "secret" not in str(prompt["context"]) and list(prompt) == KEYS
    assert prompt["input"]["payload"]["text"] == ASKED
    assert said(prompt["context"]["history_current_chat"]) == ["canary live here"]
    assert prompt["context"]["history_recent"] == [], "nothing says who may see other conversations"
    assert prompt["context"]["memories"] == [] and {"chat_history_cache", "memories", "ai_diary"} <= set(failed(report))


UNREACHABLE = {
    "closed port": "mysql://root:canarypassword@127.0.0.1:1/none", "no folder": "sqlite:////no/such/folder/at/all.db",
    "unknown scheme": "oracle://root:canarypassword@127.0.0.1/none",
}  # fmt: skip


@pytest.mark.parametrize("kind", UNREACHABLE)
def test_f51_f73_no_database_leaves_the_live_prompt(kind: str, live: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(database_url=UNREACHABLE[kind], db_timeout_seconds=2)
    monkeypatch.setattr(defaults, "process", defaults._Process(settings=settings))
    prompt, report = prompt_engine.explain_json_prompt(message(ASKED), live, settings=settings)
    assert list(prompt) == KEYS and said(prompt["context"]["history_current_chat"]) == ["canary live here"]
    assert prompt["context"]["memories"] == []
    assert {"database", "chat_history_cache", "memories", "ai_diary"} <= set(failed(report))
    assert "canarypassword" not in json.dumps(report)
    with pytest.raises(CoreError) as caught:
        synth_core_memory.search_memories(keywords=["canary"], settings=settings)
    no_canary(caught.value)
    if "//root" in UNREACHABLE[kind] and kind != "unknown scheme":
        db = Database(UNREACHABLE[kind], timeout_seconds=2)
        prompt, report = prompt_engine.explain_json_prompt(message(ASKED), live, db=db)
        assert said(prompt["context"]["history_current_chat"]) == ["canary live here"]
        assert {"chat_history_cache", "memories", "ai_diary"} <= set(failed(report))


EVERYONE = {"conversations", "audiences", "participants", "privacy_levels"}
"""Without these nothing stored can be shown, since nobody can tell who may see it."""
OWN = {
    "chat_history_cache": {"history_current_chat", "history_recent", "memories", "running_recap"},
    "ai_diary": {"thoughts", "ai_diary", "memories"}, "memories": {"memories", "saved_memories"},
    "conversation_summaries": {"recent_conversations"}, "short_term_memories": {"short_term"},
    "user_relationships": {"relationship"}, "privacy_levels": {"relationship", "memories"},
    "running_recaps": {"running_recap"},
}  # fmt: skip
"""What may be missing without a table; where it is not listed, only the memories, which the search finds."""


def fill_all(stage: Stage) -> None:
    fill(stage)
    made: dict[str, Any] = {"db": stage.db, "settings": Settings()}
    here = {**made, "scope": stage.scope(HERE, participant="tg/ann")}
    rows = [stage.say(f"canary told {n}", minutes=300 - n) for n in range(14)]
    stories.add_scene_break(rows[10], **here)
    stories.set_scene_recap(rows[10], "canary scene", **here)
    stories.edit_memory(rows[5], "canary recap of five", **here)
    stories.add_running_recap_version("canary running recap", provenance="manual", **here)
    there = {**made, "scope": stage.scope(ELSEWHERE)}
    for n in range(60):  # more than a history shows, so that what is remembered of the conversation is told, too
        stage.say(f"canary said there {n}", ELSEWHERE, "Bob", minutes=400 - n)
    conversations.add_recent_conversation(wait=True, **there)
    conversations.add_saved_memory("canary saved: Ann likes tea", **here)
    relationships.adjust("tg/ann", 5, 3, username="Ann", **here)
    said = {"messages": [{"role": "user", "content": "canary short term"}]}
    elsewhere = {**made, "scope": stage.scope("tg/99", participant="tg/ann")}
    short_term.write_turn(said, [{"text": "canary oh"}], user="tg/ann", channel="tg/99", **elsewhere)
    lifelong.add_facts_with_meta([{"text": "canary fact"}], **here)


def tables_read(stage: Stage) -> list[str]:
    with traced(stage.db) as statements:
        prompt, report = stage.explain(ASKED)
    assert failed(report) == []
    assert set(prompt["context"]) >= {"short_term", "recent_conversations", "saved_memories", "relationship"}
    words = set(re.findall(r"(?:FROM|JOIN|,) +([a-z_]+)", " ".join(statements)))
    return sorted(words & {listed.table for listed in REGISTRY})


@pytest.fixture(scope="module")
def whole(db: Database) -> Stage:
    stage = Stage(db)
    fill_all(stage)
    return stage


def _check_other_sections(prompt: dict[str, Any], table: str, undisturbed: dict[str, Any], where: Any) -> None:
    assert list(prompt) == KEYS and prompt["input"] == undisturbed["input"], where
    for key, value in undisturbed["context"].items():
        if table not in EVERYONE and key not in OWN.get(table, {"memories"}):
            assert prompt["context"].get(key) == value, (where, key)


def _stands(stage: Stage, table: str, undisturbed: dict[str, Any]) -> None:
    stage.db.caches.clear()
    prompt, report = stage.explain(ASKED)
    _check_other_sections(prompt, table, undisturbed, table)
    if prompt["context"] != undisturbed["context"]:
        names = {table, "search_index"} if table.startswith("search_") else {table}
        assert names & set(failed(report)), (table, failed(report))
    assert "canary tell" not in json.dumps(report)


@pytest.mark.engines(*(("sqlite", "mariadb") if ROUNDS == 1 else ("sqlite", "mariadb", "mysql")))
@pytest.mark.slow
def test_f50_every_table_that_a_prompt_reads_may_be_missing(whole: Stage) -> None:
    undisturbed, tables = whole.prompt(ASKED), tables_read(whole)
    assert len(tables) >= 15
    for table in tables:
        run(whole.db, f"ALTER TABLE {table} RENAME TO gone_{table}")
        try:
            _stands(whole, table, undisturbed)
        finally:
            run(whole.db, f"ALTER TABLE gone_{table} RENAME TO {table}")
    whole.db.caches.clear()
    assert whole.prompt(ASKED) == undisturbed


BROKEN: dict[str, tuple[Any, ...]] = {
    "JsonText": ("not json", '{"a": 1}', '[1, [2], "x"]', 42, b"\xff\x00", None),
    "Time": ("soon", 7, "9999-99-99 00:00:00.000000"), "StoredText": (42, b"\xff\x00", 1.5),
    "StoredBytes": ("no hash", 42, 1.5, b"\xff\x00"),
}  # fmt: skip


@pytest.mark.engines("sqlite")
@pytest.mark.slow
def test_f58_every_column_that_a_prompt_reads_may_be_broken(whole: Stage, tmp_path: Path) -> None:
    """In every row at once, one in eight cases unless FAULT_ROUNDS asks for all; a server refuses most by itself."""
    undisturbed, source = whole.prompt(ASKED), Path(str(whole.db.target.url.database))
    cases = [
        (table, column.name, value)
        for table in tables_read(whole)
        for column in TABLES[table].c
        for value in BROKEN.get(type(column.type).__name__, ())
        if value is not None or column.nullable
    ]
    whole.db.close()
    assert len(cases) > 150
    for table, column_name, value in cases[:: 8 if ROUNDS == 1 else 1]:
        file = tmp_path / "broken.db"
        for end in ("", "-wal", "-shm"):
            Path(f"{file}{end}").unlink(missing_ok=True)
        shutil.copy(source, file)
        db = Database(f"sqlite:///{file}", clock=whole.db.clock)
        with db.engines()[1].connect() as connection:
            connection.execute(sql("PRAGMA ignore_check_constraints = ON"))
            connection.execute(sql(f"UPDATE {table} SET {column_name} = :value"), {"value": value})
            connection.commit()
        where = (table, column_name, value)
        stage = Stage(db, whole.persona)
        synth_core_memory.search_memories(keywords=["canary", "tofu"], db=db, scope=stage.scope())
        prompt, report = stage.explain(ASKED)
        _check_other_sections(prompt, table, undisturbed, where)
        index_is_broken = ["search_index"] if table.startswith("search_") else []
        assert failed(report) in ([], index_is_broken), (where, failed(report))
        db.close()
