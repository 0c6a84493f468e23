"""A prompt comes back whatever breaks in the store (F50 to F53, F58, F59, P3, G14, G26)."""

import json
import os
import traceback
from typing import Any

import pytest
from sqlalchemy import text as sql

from core import chat_history_cache, prompt_engine, synth_core_memory
from core.calls import defaults
from core.config import Settings
from core.database.engine import Database
from core.database.schema import TABLES
from core.errors import CoreError, StoreReadError
from tests.spec.stage import Stage, failed, message, said

ROUNDS = int(os.environ.get("FAULT_ROUNDS", "1"))
KEYS = ["context", "input", "instructions", "__pre_reduction_size", "actions"]
ASKED = "canary tell me of tofu and pizza"


def run(db: Database, *statements: str) -> None:
    """Do something to the database that this library never would."""
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


@pytest.mark.parametrize("table", ["chat_history_cache", "conversations"])
def test_f50_reading_by_itself_names_the_table_and_the_remedy(stage: Stage, table: str) -> None:
    run(stage.db, f"DROP TABLE {table}")
    with pytest.raises(StoreReadError, match="migrate") as caught:
        chat_history_cache.load_chat_history("tg/42", db=stage.db, scope=stage.scope())
    assert caught.value.source == table
    no_canary(caught.value)


def test_f50_f51_without_any_table_live_lines_are_shown_and_private_ones_stay_private(stage: Stage, live: Any) -> None:
    stage.say("canary secret", "tg/secret", "Bob", minutes=9, privacy="direct")
    live["tg/secret"] = [{"text": "canary live secret", "sender_name": "Bob"}]
    assert "secret" not in str(stage.context(ASKED, live))
    for table in TABLES:
        run(stage.db, f"DROP TABLE {table}")
    prompt, report = stage.explain(ASKED, live)
    assert "secret" not in str(prompt["context"])
    assert list(prompt) == KEYS
    assert prompt["input"]["payload"]["text"] == ASKED
    assert said(prompt["context"]["history_current_chat"]) == ["canary live here"]
    assert prompt["context"]["history_recent"] == [], "nothing says who may see other conversations"
    assert prompt["context"]["memories"] == []
    assert {"chat_history_cache", "memories", "ai_diary"} <= set(failed(report))


UNREACHABLE = {
    "closed port": "mysql://root:canarypassword@127.0.0.1:1/none", "no folder": "sqlite:////no/such/folder/at/all.db",
    "unknown scheme": "oracle://root:canarypassword@127.0.0.1/none",
}  # fmt: skip


@pytest.mark.engines("sqlite")
@pytest.mark.parametrize("kind", UNREACHABLE)
def test_f51_f73_a_database_out_of_reach_leaves_the_live_prompt(
    kind: str, live: dict[str, Any], engine_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(database_url=UNREACHABLE[kind], db_timeout_seconds=2)
    monkeypatch.setattr(defaults, "process", defaults._Process(settings=settings))
    prompt, report = prompt_engine.explain_json_prompt(message(ASKED), live, settings=settings)
    assert list(prompt) == KEYS
    assert said(prompt["context"]["history_current_chat"]) == ["canary live here"]
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
