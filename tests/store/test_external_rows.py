"""Rows that others insert by SQL, are found (D40)."""

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import delete, select

from core import chat_history_cache as chat_log
from core import privacy, prompt_engine, synth_core_memory
from core.access import external_rows, load
from core.database.engine import Database
from core.database.schema import ai_diary, audiences, chat_history_cache, conversations, memories, tags
from core.db import check_server, reindex
from core.errors import StoreWriteError
from core.scope import Scope
from tests.store.search_world import NOW, find, memory, said
from tests.store.world import verify_index

pytestmark = pytest.mark.dialects

TEXTS = (memories, ai_diary, chat_history_cache)


@pytest.fixture
def db(db: Database) -> Database:
    def work(connection: Any) -> None:
        for table in (*TEXTS, audiences, conversations, tags):
            connection.execute(delete(table))

    db.transaction(work, source="tests")
    db.caches.clear()
    reindex(db)
    return db


def run_sql(db: Database, sql: str, *values: Any) -> None:
    text = sql if db.family == "sqlite" else sql.replace("%", "%%").replace("?", "%s")
    db.transaction(lambda c: c.exec_driver_sql(text, values or None), source="tests")


PLAIN = (
    "INSERT INTO memories (content, author, source, tags) VALUES ('Ann keeps a Xylofant', 'ann', 'chat', '[\"Pets\"]')"
)
DIARY = (
    "INSERT INTO ai_diary (content, personal_thought, emotions, context_tags, timestamp, interface, chat_id) "
    "VALUES ('We spoke of glaciers', 'how cold', '[]', '[\"ice\"]', '2026-03-10 10:00:00', 'telegram_bot', '42')"
)
CHAT = (
    "INSERT INTO chat_history_cache (interface_path, message_text, sender_name, sender_id, timestamp) "
    "VALUES ('telegram_bot/42', 'the marmalade is ready', 'Ann', '7', '2026-03-10 10:00:00')"
)

LINE = "INSERT INTO chat_history_cache (interface_path, message_text, sender_id, timestamp) VALUES (?, ?, ?, ?)"


def test_d40_a_plain_insert_is_found_by_tag_and_by_word(db: Database) -> None:
    run_sql(db, PLAIN)
    scope = Scope()
    assert [hit["snippet"] for hit in find(db, scope, tags=["pets"])] == ["Ann keeps a Xylofant"]
    assert [hit["snippet"] for hit in find(db, scope, keywords=["xylofant"])] == ["Ann keeps a Xylofant"]
    assert verify_index(db) == []
    row = db.read(select(memories), source="tests")[0]
    kind = db.read(select(audiences.c.kind).where(audiences.c.audience_id == row.audience_id), source="tests")
    assert (row.id > 0, row.persona_id, [one[0] for one in kind], row.timestamp) == (True, "default", ["persona"], NOW)
    run_sql(db, "UPDATE memories SET indexed = 0")  # a script that changed the row marks it again
    assert (external_rows.index_all_rows(db), external_rows.index_all_rows(db)) == (1, 0)
    assert db.read(select(tags.c.tag, tags.c.uses), source="tests") == [("pets", 1)] and verify_index(db) == []


def test_d40_messages_and_diary_entries_are_found_in_both_modes_and_items_in_a_prompt(db: Database) -> None:
    run_sql(db, DIARY)
    run_sql(db, CHAT)
    for ranking in ("relevance", "recency"):
        assert len(find(db, Scope(), keywords=["glaciers"], ranking=ranking)) == 1
        assert len(find(db, Scope(), tags=["ice"], ranking=ranking)) == 1
        assert len(find(db, Scope(), keywords=["marmalade"], ranking=ranking)) == 1
    assert verify_index(db) == []
    row = db.read(select(chat_history_cache), source="tests")[0]
    assert (row.participant_key, row.role, row.text_folded) == ("telegram_bot/7", "user", "the marmalade is ready")
    assert row.indexed == 1
    run_sql(db, PLAIN)
    prompt, report = ask(db, "Who keeps a xylofant?")
    assert [hit["snippet"] for hit in prompt["context"]["memories"]] == ["Ann keeps a Xylofant"]
    assert (report["errors"], report["notes"]) == ([], [])


@pytest.mark.parametrize("name", ["Ann", "  Ann Lee ", "Ann\nLee", "\u00e4" * 250, "self"])
def test_f88_an_inserted_row_without_an_id_has_the_id_that_a_saved_one_has(db: Database, name: str) -> None:
    sql = "INSERT INTO chat_history_cache (interface_path, message_text, sender_name, sender_id) VALUES (?, ?, ?, '')"
    run_sql(db, sql, "tg/42", "inserted", name)
    assert external_rows.index_all_rows(db) == 1
    assert chat_log.save_chat_message("tg/42", "saved", name, db=db, scope=Scope()).stored
    keys = db.read(select(chat_history_cache.c.participant_key), source="tests")
    assert len(set(keys)) == 1 and keys[0][0] is not None


def test_d40_reindex_takes_them_in(db: Database) -> None:
    memory(db, Scope(), "ours about tea")
    for n in range(3):
        run_sql(db, "INSERT INTO memories (content, tags) VALUES (?, '[]')", f"theirs about tea {n}")
    run_sql(db, "INSERT INTO memories (persona_id, content, tags) VALUES ('other', 'tea elsewhere', '[]')")
    assert reindex(db) == 5 and verify_index(db) == [] and len(find(db, Scope(), keywords=["tea"], limit=10)) == 4
    assert len(find(db, Scope("other"), keywords=["tea"], limit=10)) == 1


def test_d40_a_row_of_a_known_conversation_is_seen_there_alone(db: Database) -> None:
    """What is inserted into a private conversation is no more widely seen than what is said in it."""
    scope = Scope(conversation="tg/7", participant="tg/7", privacy="direct")
    said(db, scope, [("we talk about whales", NOW)], "tg/7")
    run_sql(db, LINE, "tg/7", "the whales are hidden", "7", "2026-03-10 10:00:00")
    assert find(db, Scope(conversation="tg/9", participant="tg/9"), keywords=["hidden"]) == []
    assert len(find(db, scope, keywords=["hidden"])) == 1


def test_f18_a_row_of_a_local_conversation_or_with_an_odd_mark_stays_on_this_machine(db: Database) -> None:
    scope = Scope(conversation="tg/7", participant="tg/7", privacy="direct")
    said(db, scope, [("we talk about whales", NOW)], "tg/7")
    privacy.set_conversation_local_only("tg/7", db=db, scope=scope)
    run_sql(db, "INSERT INTO memories (content, conversation_key) VALUES ('the walrus is hidden', 'tg/7')")
    assert find(db, scope, keywords=["walrus"]) == []
    assert len(find(db, replace(scope, destination="local"), keywords=["walrus"])) == 1
    # a mark that is neither 0 nor 1 must not fail every search of what is seen with it
    memory(db, Scope(), "ours about a walrus")
    run_sql(db, "INSERT INTO memories (content, local_only) VALUES ('the walrus is hidden', -1)")
    assert [hit["snippet"] for hit in find(db, Scope(), keywords=["walrus"])] == ["ours about a walrus"]
    assert len(find(db, Scope(destination="local"), keywords=["walrus"])) == 2 and verify_index(db) == []


def test_d40_a_broken_value_does_not_keep_the_others_out(db: Database) -> None:
    run_sql(db, "INSERT INTO memories (content, tags) VALUES ('odd herring', '{\"a\": 1}')")
    run_sql(db, "INSERT INTO memories (content) VALUES ('herring without')")
    if db.family == "sqlite":  # which keeps a number that no column of a server takes
        run_sql(db, "INSERT INTO memories (content, audience_id) VALUES ('large herring', 1e308)")
    assert len(find(db, Scope(), keywords=["herring"])) == (3 if db.family == "sqlite" else 2)
    assert verify_index(db) == []


def ask(db: Database, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    asked = {"text": text, "chat": {"id": "42"}, "from_user": {"id": "7"}, "interface_path": "telegram_bot/42"}
    return prompt_engine.explain_json_prompt(asked, db=db)


def test_d40_rows_that_one_search_cannot_index_are_told_and_wait(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """One search is not held up by all that another program wrote; nothing is missed without a word."""
    assert external_rows.RANGE == 200
    monkeypatch.setattr(external_rows, "RANGE", 3)
    run_sql(db, "INSERT INTO ai_diary (content) VALUES ('otter')")
    for n in range(9):
        run_sql(db, "INSERT INTO memories (content, tags) VALUES (?, '[]')", f"otter {n}")
    hits, report = synth_core_memory.explain_search(keywords=["otter"], db=db, limit=20)
    assert (len(hits), report["notes"]) == (3, [load.WAITING]) and "db reindex" in load.WAITING
    assert ask(db, "Where is the otter?")[1]["notes"] == [load.WAITING]
    assert [one.where for one in check_server(db) if "wait to be indexed" in one.what] == ["memories", "ai_diary"]
    assert len(find(db, Scope(), keywords=["otter"], limit=20)) == 9
    hits, report = synth_core_memory.explain_search(keywords=["otter"], db=db, limit=20)
    assert (len(hits), report["notes"]) == (10, [])
    for n in range(4):
        run_sql(db, "INSERT INTO memories (content, tags) VALUES (?, '[]')", f"otter, again {n}")
    assert external_rows.index_all_rows(db) == 4
    assert len(find(db, Scope(), keywords=["otter"], limit=20)) == 14 and verify_index(db) == []


def test_d40_a_search_that_cannot_index_finds_the_rest(
    db: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    memory(db, Scope(), "an otter of ours")
    run_sql(db, "INSERT INTO memories (content, tags) VALUES ('an otter of theirs', '[]')")
    monkeypatch.setattr(Database, "transaction", Mock(side_effect=StoreWriteError("read only", number=1290)))
    hits, report = synth_core_memory.explain_search(keywords=["otter"], db=db)
    assert ([hit["snippet"] for hit in hits], report["notes"]) == (["an otter of ours"], [load.WAITING])
    assert "rows_not_indexed error='StoreWriteError' number=1290" in caplog.text
    prompt, report = ask(db, "Where is the otter?")
    assert [hit["snippet"] for hit in prompt["context"]["memories"]] == ["an otter of ours"]
    assert (report["errors"], report["notes"]) == ([], [load.WAITING])


@pytest.mark.engines("sqlite")
def test_d40_a_search_waits_for_no_other_writer(db: Database) -> None:
    """Another session may hold the write lock for as long as it likes: the search has its time for reading."""
    memory(db, Scope(), "an otter of ours")
    run_sql(db, "INSERT INTO memories (content, tags) VALUES ('an otter of theirs', '[]')")
    hasty = Database(db.target.url.render_as_string(), timeout_seconds=1.0, clock=db.clock)
    with closing(sqlite3.connect(db.target.url.database or "", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        for n in range(3):
            hits, report = synth_core_memory.explain_search(keywords=["otter"], db=hasty)
            assert "an otter of ours" in [hit["snippet"] for hit in hits], n
            assert report["notes"] == [load.WAITING]
        assert hasty.repeats == Counter()
    hasty.close()
    assert len(find(db, Scope(), keywords=["otter"])) == 2


def test_p25_a_conversation_inserted_by_sql_is_among_the_others(db: Database) -> None:
    run_sql(db, CHAT)
    run_sql(db, LINE, "telegram_bot/43", "the jam is ready", "8", "2026-03-10 11:00:00")
    asked = {"text": "And now?", "chat": {"id": "9"}, "from_user": {"id": "7"}, "interface_path": "telegram_bot/9"}
    for place in ({}, {"server_id": "5001"}, {"chat": {"id": "7", "type": "private"}}):
        prompt, report = prompt_engine.explain_json_prompt({**asked, **place}, db=db)
        lines = [line["text"] if isinstance(line, dict) else line for line in prompt["context"]["history_recent"]]
        assert ["marmalade" in lines[0], "jam" in lines[1]] == [True, True], (place, lines)
        assert report["errors"] == []
    own = {**asked, "interface_path": "telegram_bot/42", "chat": {"id": "42"}}
    lines = prompt_engine.explain_json_prompt(own, db=db)[0]["context"]["history_recent"]
    assert len(lines) == 1 and "jam" in str(lines)
    assert prompt_engine.explain_json_prompt(asked, scope=Scope("other"), db=db)[0]["context"]["history_recent"] == []


def test_f50_a_table_that_cannot_be_read_hides_no_other(db: Database) -> None:
    """Whether rows wait in it cannot be told; what is seen can."""
    memory(db, Scope(), "an otter of ours")
    run_sql(db, "ALTER TABLE ai_diary RENAME TO gone")
    try:
        assert len(find(db, Scope(), keywords=["otter"])) == 1
        prompt, report = ask(db, "Where is the otter?")
    finally:
        run_sql(db, "ALTER TABLE gone RENAME TO ai_diary")
    assert [hit["snippet"] for hit in prompt["context"]["memories"]] == ["an otter of ours"]
    assert {error["source"] for error in report["errors"]} == {"ai_diary"}


@pytest.mark.parametrize(("table", "columns"), [
    ("memories", "content"), ("ai_diary", "content"), ("chat_history_cache", "message_text"),
    ("chat_history_cache", "message_text, interface_path"),
])  # fmt: skip
def test_d40_every_column_that_may_be_left_out_has_a_default(db: Database, table: str, columns: str) -> None:
    values = ", ".join(["'the pangolin'", "'tg/9'"][: columns.count(",") + 1])
    run_sql(db, f"INSERT INTO {table} ({columns}) VALUES ({values})")
    waits = db.read(f"SELECT indexed, timestamp FROM {table}", (), source="tests")
    assert tuple(waits[0]) == (0, None) and len(find(db, Scope(), keywords=["pangolin"])) == 1
    done = db.read(f"SELECT indexed, timestamp FROM {table}", (), source="tests")
    assert done[0][0] == 1 and done[0][1] is not None and verify_index(db) == []
