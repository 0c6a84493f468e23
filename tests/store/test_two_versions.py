"""D31: rows that a program writes beside this one that knows few of the columns: those of seed 004 and the audience."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert, update

from core import ai_diary, chat_history_cache
from core.audience import table as audiences
from core.audience.rules import AudienceKey
from core.config import Settings
from core.database import schema
from core.database.engine import Database
from core.db import insert_memory, reindex, verify_index
from core.memories import table as memory_rows
from core.prompt_engine import explain_json_prompt
from core.scope import Scope
from core.synth_core_memory import search_memories
from tests.store.world import NOW, index_differences, open_db

SCOPE = Scope(persona="default")
DEFAULTS = Settings()
MORE: dict[str, Any] = {"settings": DEFAULTS, "scope": SCOPE}


@pytest.fixture
def db(fresh_migrated_url: str) -> Iterator[Database]:
    """A database of its own: the former program writes for the persona `default`."""
    made = open_db(fresh_migrated_url)
    yield made
    made.close()


def former(db: Database) -> dict[str, int]:
    """Write one row of each kind as a program does that knows the seed's columns alone; return their ids."""
    audience = db.transaction(
        lambda c: audiences.find_or_make(c, db, "default", AudienceKey("persona")), source="audiences"
    )
    ids = dict(zip(("memory", "entry", "line"), (501, 502, 503), strict=True))
    at = NOW - timedelta(hours=2)
    old = {
        schema.memories: {
            "id": ids["memory"], "timestamp": at, "content": "A Straße called Xylofant", "author": "synth",
            "source": "chat", "tags": ["cat"], "scope": "general", "emotion": None, "intensity": None,
            "emotion_state": None,
        },
        schema.ai_diary: {
            "id": ids["entry"], "timestamp": at, "content": "Xylofant day", "personal_thought": "so tired",
            "emotions": [], "interaction_summary": "", "user_message": "", "context_tags": ["cat"],
            "involved_users": ["Ann"], "interface": "tg", "chat_id": "1", "thread_id": "",
        },
        schema.chat_history_cache: {
            "id": ids["line"], "timestamp": at, "interface_path": "tg/1", "message_id": "m1", "sender_name": "Ann",
            "sender_id": "ann", "message_text": "said Xylofant", "metadata": None,
        },
    }  # fmt: skip
    for table, row in old.items():
        row["audience_id"] = audience
        db.transaction(lambda c, table=table, row=row: c.execute(insert(table), row), source="former")
    return ids


def call_all(db: Database) -> None:
    """Read and write through every door once: none may fail on the former program's rows."""
    message = {"message_id": "x", "date": NOW, "text": "Xylofant?", "from_user": {"id": "ann"}}
    message["interface_path"] = "tg/1"
    report = explain_json_prompt(message, db=db, **MORE)[1]
    assert not [stage for stage in report["stages"] if stage.get("error")], report["stages"]
    for ranking in ("recency", "relevance"):
        search_memories(keywords=["xylofant"], tags=["cat"], ranking=ranking, db=db, **MORE)
    chat_history_cache.load_chat_history("tg/1", db=db, **MORE)
    chat_history_cache.get_cache_stats(db=db, **MORE)
    ai_diary.get_recent_entries(2, db=db, **MORE)
    assert chat_history_cache.save_chat_message("tg/1", "a new line", db=db, **MORE).stored
    assert insert_memory("a new item", "synth", "chat", ["cat"], SCOPE, db=db, settings=DEFAULTS)
    assert ai_diary.add_diary_entry("a new entry", context_tags=["cat"], db=db, **MORE).stored


def test_d31_rows_of_the_former_version_hurt_nobody_and_are_found_after_reindex(db: Database) -> None:
    ids = former(db)
    call_all(db)
    reindex(db)
    assert verify_index(db) == []
    for asked in ({"keywords": ["xylofant"]}, {"keywords": ["strasse"]}, {"tags": ["cat"]}):
        found = {hit["id"] for hit in search_memories(limit=50, db=db, **asked, **MORE)}  # type: ignore[arg-type]
        wanted = {ids["memory"]} if asked == {"keywords": ["strasse"]} else set(ids.values())
        if "tags" in asked:
            wanted = {ids["memory"], ids["entry"]}
        assert wanted <= {int(each) for each in found}, asked
    lines = chat_history_cache.load_chat_history("tg/1", db=db, **MORE)
    assert "said Xylofant" in [line["text"] for line in lines]


def test_d31_rows_of_the_former_version_can_be_changed_before_any_reindex(db: Database) -> None:
    """Edited, deleted, archived: their index rows, which are not there, are neither missed nor left behind."""
    ids = former(db)
    assert chat_history_cache.edit_chat_message("m1", "said otherwise", interface_path="tg/1", db=db, **MORE).id in (
        ids["line"], None,
    )  # fmt: skip
    ai_diary.cleanup_old_entries(0.01, db=db, **MORE)
    memory_rows.remove(db, "default", [ids["memory"]])
    call_all(db)
    reindex(db)
    assert verify_index(db) == [] and index_differences(db, "default") == []


def test_d31_the_former_version_changes_rows_of_this_one(db: Database) -> None:
    """It knows nothing of the index; verify lists it, reindex mends it."""
    row_id = insert_memory("my cat", "synth", "chat", ["cat"], SCOPE, db=db, settings=DEFAULTS)
    m = schema.memories
    change = update(m).where(m.c.id == row_id).values(content="my dog", text_folded=None, tags=["dog"])
    db.transaction(lambda c: c.execute(change), source="former")
    call_all(db)
    listed = [str(each) for each in verify_index(db)]
    assert listed and not any("my dog" in each for each in listed)
    reindex(db)
    assert verify_index(db) == []
    assert [hit["id"] for hit in search_memories(tags=["dog"], db=db, **MORE)] == [row_id]
    row = db.read(m.select().where(m.c.id == row_id), source="test")[0]
    assert (row.content, json.loads(row.tags)) == ("my dog", ["dog"])
