"""Rows that others insert by SQL, and texts that others change, are found (D40, D41)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import delete, select, update

from core.audience import inserted_rows
from core.database.engine import Database
from core.database.schema import (
    ai_diary,
    audiences,
    chat_history_cache,
    conversations,
    memories,
    search_count,
    search_fresh,
    search_progress,
    search_stats,
    search_tag,
    search_term,
    tags,
)  # fmt: skip
from core.db import check_server, pack_index, reindex, verify_index
from core.index import changed as changed_rows
from core.scope import Scope
from core.upkeep import maintenance
from tests.store.search_world import NOW, entered, find, memory, open_quick, said

TEXTS = (memories, ai_diary, chat_history_cache)


@pytest.fixture(scope="module")
def module_db(migrated_url: str) -> Iterator[Database]:
    """One migrated database per engine."""
    handle = open_quick(migrated_url)
    yield handle
    handle.close()


@pytest.fixture
def db(module_db: Database) -> Database:
    """The module's database without rows."""

    def work(connection: Any) -> None:
        for table in (*TEXTS, audiences, conversations, tags):
            connection.execute(delete(table))
        connection.execute(update(search_progress).values(ready=1, next_id=0, until_id=0))

    module_db.transaction(work, source="tests")
    module_db.caches.clear()
    reindex(module_db)
    return module_db


def run_sql(db: Database, sql: str, *values: Any) -> None:
    """Run a client's statement."""
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


def test_d40_a_plain_insert_is_found_by_tag_and_by_word(db: Database) -> None:
    """The next search gives the row its place; nothing has to be run first."""
    run_sql(db, PLAIN)
    scope = Scope()
    assert [hit["snippet"] for hit in find(db, scope, tags=["pets"])] == ["Ann keeps a Xylofant"]
    assert [hit["snippet"] for hit in find(db, scope, keywords=["xylofant"])] == ["Ann keeps a Xylofant"]
    assert verify_index(db) == []
    row = db.read(select(memories), source="tests")[0]
    kind = db.read(select(audiences.c.kind).where(audiences.c.audience_id == row.audience_id), source="tests")
    assert (row.id > 0, row.persona_id, [one[0] for one in kind], row.timestamp) == (True, "default", ["persona"], NOW)
    assert db.read(select(tags.c.tag, tags.c.uses), source="tests") == [("pets", 1)]
    assert inserted_rows.take_in_all(db) == 0


def test_d40_messages_and_diary_entries_are_found_in_both_modes(db: Database) -> None:
    """Of every table the original application writes, with the columns it knows."""
    run_sql(db, DIARY)
    run_sql(db, CHAT)
    for ranking in ("relevance", "recency"):
        assert len(find(db, Scope(), keywords=["glaciers"], ranking=ranking)) == 1
        assert len(find(db, Scope(), tags=["ice"], ranking=ranking)) == 1
        assert len(find(db, Scope(), keywords=["marmalade"], ranking=ranking)) == 1
    assert verify_index(db) == []
    row = db.read(select(chat_history_cache), source="tests")[0]
    assert (row.participant_key, row.role, row.text_folded) == ("telegram_bot/7", "user", "the marmalade is ready")


def test_d40_reindex_takes_them_in(db: Database) -> None:
    """Many at once, of several personas, and beside rows of ours."""
    memory(db, Scope(), "ours about tea")
    for n in range(3):
        run_sql(db, "INSERT INTO memories (content, tags) VALUES (?, '[]')", f"theirs about tea {n}")
    run_sql(db, "INSERT INTO memories (persona_id, content, tags) VALUES ('other', 'tea elsewhere', '[]')")
    assert changed(db) == []
    assert reindex(db) == 4
    assert reindex(db) == 0
    assert verify_index(db) == []
    assert len(find(db, Scope(), keywords=["tea"], limit=10)) == 4
    assert len(find(db, Scope("other"), keywords=["tea"], limit=10)) == 1


def test_d40_a_row_of_a_known_conversation_is_seen_there_alone(db: Database) -> None:
    """What is inserted into a private conversation is no more widely seen than what is said in it."""
    scope = Scope(conversation="tg/7", participant="tg/7", privacy="direct")
    said(db, scope, [("we talk about whales", NOW)], "tg/7")
    run_sql(
        db,
        "INSERT INTO chat_history_cache (interface_path, message_text, sender_id, timestamp) "
        "VALUES ('tg/7', 'the whales are hidden', '7', '2026-03-10 10:00:00')",
    )
    hits = find(db, Scope(conversation="tg/9", participant="tg/9"), keywords=["hidden"])
    assert hits == []
    assert len(find(db, scope, keywords=["hidden"])) == 1


def test_d40_a_broken_value_does_not_keep_the_others_out(db: Database) -> None:
    """Tags that are no list are none; a search that cannot write finds what is indexed."""
    run_sql(db, "INSERT INTO memories (content, tags) VALUES ('odd herring', '{\"a\": 1}')")
    run_sql(db, "INSERT INTO memories (content) VALUES ('herring without')")
    assert len(find(db, Scope(), keywords=["herring"])) == 2
    assert verify_index(db) == []


def test_d40_more_than_one_read_takes_in_are_taken_in_by_the_next(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One search is not held up by all that the original application wrote meanwhile."""
    monkeypatch.setattr(inserted_rows, "MOST_AT_A_READ", 3)
    monkeypatch.setattr(inserted_rows, "RANGE", 2)
    for n in range(5):
        run_sql(db, "INSERT INTO memories (content, tags) VALUES (?, '[]')", f"otter {n}")
    assert len(find(db, Scope(), keywords=["otter"], limit=10)) == 3
    assert len(find(db, Scope(), keywords=["otter"], limit=10)) == 5
    assert verify_index(db) == []


def changed(db: Database) -> list[tuple[str, str]]:
    """Return what the check says of rows that were changed."""
    return [(one.where, one.remedy) for one in check_server(db) if "changed by SQL" in one.there]


@pytest.mark.parametrize("packed", [False, True])
def test_d41_a_changed_text_and_tag_are_told_and_mended(db: Database, packed: bool) -> None:
    """Found by its former words until then; afterwards by the new ones alone, and the index agrees."""
    scope = Scope()
    row_id = memory(db, scope, "Bob plays the tuba", tags=["music"])
    memory(db, scope, "Bob sleeps", tags=["music"])
    if packed:
        for n in range(300):
            memory(db, scope, f"filler {n}")
        pack_index(db)
    assert changed(db) == []
    run_sql(db, "UPDATE memories SET content = 'Bob plays the cello', tags = '[\"strings\"]' WHERE id = ?", row_id)
    assert len(find(db, scope, keywords=["tuba"])) == 1
    assert changed(db) == [("memories", "prompt-engine db reindex --changed")]
    assert reindex(db, changed=True) == 1
    assert changed(db) == []
    assert verify_index(db) == []
    assert find(db, scope, keywords=["tuba"]) == []
    assert [hit["snippet"] for hit in find(db, scope, keywords=["cello"])] == ["Bob plays the cello"]
    assert len(find(db, scope, tags=["strings"])) == 1
    uses = {row.tag: row.uses for row in db.read(select(tags), source="tests")}
    assert uses == {"music": 1, "strings": 1}


@pytest.mark.parametrize("packed", [False, True])
def test_d41_a_changed_tag_alone_is_told(db: Database, packed: bool) -> None:
    """The text and its hash say nothing of it."""
    row_id = memory(db, Scope(), "Bob plays the tuba", tags=["music"])
    if packed:
        for n in range(300):
            memory(db, Scope(), f"filler {n}")
    run_sql(db, "UPDATE memories SET tags = '[]' WHERE id = ?", row_id)
    assert changed(db) == [("memories", "prompt-engine db reindex --changed")]
    assert reindex(db, changed=True) == 1
    assert (changed(db), verify_index(db), find(db, Scope(), tags=["music"])) == ([], [], [])


def test_d41_diary_entries_and_messages_are_told_too(db: Database) -> None:
    """Any of the four texts of an entry."""
    scope = Scope(conversation="tg/1")
    entered(db, scope, "a day", personal_thought="quiet")
    said(db, scope, [("hello there", NOW)], "tg/1")
    run_sql(db, "UPDATE ai_diary SET personal_thought = 'about badgers'")
    run_sql(db, "UPDATE chat_history_cache SET message_text = 'hello badgers'")
    assert [where for where, _ in changed(db)] == ["ai_diary", "chat_history_cache"]
    seen: list[str] = []
    assert reindex(db, changed=True, progress=lambda what, _done, _total: seen.append(what)) == 2
    assert {"ai_diary", "chat_history_cache"} <= set(seen)
    assert (changed(db), verify_index(db)) == ([], [])
    assert len(find(db, scope, keywords=["badgers"])) == 2


def test_d41_many_changed_rows_are_mended_without_reading_all_tags_for_each_few(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every tag of a large database is read to find them, and once more to mend them."""
    reads: list[int] = []
    read_tags = changed_rows.read_tags
    monkeypatch.setattr(changed_rows, "AT_ONCE", 1)

    def count_reads(*given: Any) -> Any:
        reads.append(1)
        return read_tags(*given)

    monkeypatch.setattr(changed_rows, "read_tags", count_reads)
    for n in range(4):
        memory(db, Scope(), f"Bob plays tuba {n}", tags=["music"])
    run_sql(db, "UPDATE memories SET tags = '[\"brass\"]'")
    assert reindex(db, changed=True) == 4
    assert len(reads) == 2
    assert (changed(db), verify_index(db), find(db, Scope(), tags=["music"])) == ([], [], [])
    assert len(find(db, Scope(), tags=["brass"])) == 4


def test_d41_the_script_changes_text_and_tags(db: Database) -> None:
    """It counts first, and says how the index follows."""
    row_id = memory(db, Scope(), "Bob plays the tuba", tags=["music"])
    given: dict[str, Any] = {"id": row_id, "content": "Bob's flute", "tags": '["wind"]'}
    ran = maintenance.run_script(db, "rewrite", values=given)
    assert (sum(ran.changed.values()), next(iter(ran.counted.values()))) == (0, 1)
    assert maintenance.run_script(db, "rewrite", values=given, apply=True).changed == {"memories": 1}
    assert "db reindex --changed" in maintenance.get_script("rewrite", db.family).head
    assert reindex(db, changed=True) == 1
    assert [hit["snippet"] for hit in find(db, Scope(), tags=["wind"])] == ["Bob's flute"]


def test_g10_what_was_folded_otherwise_is_folded_anew(db: Database) -> None:
    """A row that an earlier version stored with its accents is found without them once it is indexed anew."""
    row_id = memory(db, Scope(), "the Caf\u00e9", tags=["Caf\u00e9"])
    for folded in ("by the backfill", "by --changed"):
        run_sql(db, "UPDATE memories SET text_folded = 'the caf\u00e9' WHERE id = ?", row_id)
        assert changed(db) == [("memories", "prompt-engine db reindex --changed")]
        if folded == "by --changed":
            assert reindex(db, changed=True) == 1
            reindex(db)  # what this test wrote into the folded text was never indexed
        else:
            values = search_progress.update().values(ready=0, next_id=0, until_id=row_id)
            clear = [delete(table) for table in (search_fresh, search_term, search_tag, search_count, search_stats)]
            db.transaction(lambda c, some=(*clear, values): [c.execute(one) for one in some], source="tests")
            assert reindex(db) == 1
        assert (changed(db), verify_index(db)) == ([], [])
        for keyword in ("cafe", "caf\u00e9", "CAF\u00c9"):
            assert len(find(db, Scope(), keywords=[keyword])) == 1, folded
        assert [hit["tags"] for hit in find(db, Scope(), tags=["caf\u00e9"])] == [["caf\u00e9"]]
        assert len(find(db, Scope(), query="Caf\u00e9?")) == 1
