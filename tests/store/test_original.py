"""`import --from URL`: rows of the original application's database become memories, diary entries and messages."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from core.cli import main
from core.database.engine import Database
from core.database.schema import chat_history_cache
from core.db import check_server, open_database
from core.errors import TransferError
from core.scope import Scope
from core.synth_core_memory import search_memories
from core.transfer.original import OriginalImport, import_original
from core.upkeep import inspection
from tests.databases import run_script
from tests.store.world import rows_of

pytestmark = pytest.mark.dialects

TABLES = """
CREATE TABLE memories (id INT PRIMARY KEY, timestamp DATETIME, content TEXT NOT NULL, author VARCHAR(100),
    source VARCHAR(100), tags TEXT, scope VARCHAR(50), emotion VARCHAR(50), intensity INT, emotion_state VARCHAR(50));
CREATE TABLE ai_diary (id INT PRIMARY KEY, content TEXT NOT NULL, personal_thought TEXT, emotions TEXT,
    interaction_summary TEXT, user_message TEXT, context_tags TEXT, involved_users TEXT, timestamp DATETIME,
    interface VARCHAR(50), chat_id VARCHAR(255), thread_id VARCHAR(255));
CREATE TABLE chat_history_cache (id INT PRIMARY KEY, interface_path VARCHAR(191) NOT NULL, message_text TEXT,
    sender_name VARCHAR(255), sender_id VARCHAR(255), timestamp DATETIME NOT NULL, metadata TEXT);
INSERT INTO memories VALUES (1, '2026-03-10 10:00:00', 'Ann keeps a xylofant', 'ann', 'chat', '["pets"]', 'general',
    NULL, NULL, NULL);
INSERT INTO memories (id, content, tags) VALUES (2, 'Bob likes herring', 'broken [');
INSERT INTO memories (id, content) VALUES (3, '');
INSERT INTO memories (id, content, tags) VALUES (4, 'Cleo paints quokkas', 'animals, wall art');
INSERT INTO memories (id, content, tags) VALUES (5, 'Dan bakes', '"bread" "rye"');
INSERT INTO memories (id, content, tags) VALUES (6, 'Eve sails', '[''boats'', ''open sea'']');
INSERT INTO ai_diary (id, content, personal_thought, context_tags, timestamp, interface, chat_id)
    VALUES (1, 'We spoke of glaciers', 'how cold', '["ice"]', '2026-03-10 10:00:00', 'telegram_bot', '42');
INSERT INTO chat_history_cache VALUES (1, 'telegram_bot/42', 'the marmalade is ready', 'Ann', '7',
    '2026-03-10 10:00:00', NULL);
INSERT INTO chat_history_cache VALUES (2, 'telegram_bot/42', 'how sweet', 'Iris', 'self', '2026-03-10 10:00:01', NULL);
INSERT INTO chat_history_cache VALUES (3, 'discord_bot/9', 'nobody answers', 'Bob Stone', '8',
    '2026-03-10 10:00:02', NULL)
"""


@pytest.fixture
def url(fresh_url: str) -> str:
    run_script(fresh_url, TABLES)
    return fresh_url


def read_all(url: str) -> str:
    names = ("memories", "ai_diary", "chat_history_cache")
    with closing(Database(url)) as db:
        rows = [[tuple(row) for row in db.read(f"SELECT * FROM {name}", (), source="test")] for name in names]
        return json.dumps([rows, sorted(inspection.read_facts(db).items())], default=str)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with closing(open_database(f"sqlite:///{tmp_path / 'own.db'}")) as made:
        yield made


def test_d30_rows_of_the_original_application_are_saved_and_it_is_not_changed(url: str, db: Database) -> None:
    before, scope = read_all(url), Scope("iris")
    expected = OriginalImport(memories=5, diary=1, messages=3, duplicates=0, left_out=1)
    assert import_original(url, db=db, scope=scope) == expected
    assert import_original(url, db=db, scope=scope) == OriginalImport(duplicates=9, left_out=1)
    assert read_all(url) == before
    assert [hit["snippet"] for hit in search_memories(tags=["pets"], db=db, scope=scope)] == ["Ann keeps a xylofant"]
    tags = {words: [hit["snippet"] for hit in search_memories(tags=[words], db=db, scope=scope)]
            for words in ("wall art", "rye", "open sea")}  # fmt: skip
    assert tags == {"wall art": ["Cleo paints quokkas"], "rye": ["Dan bakes"], "open sea": ["Eve sails"]}
    assert [one for one in check_server(db) if one.severity == "error"] == []


@pytest.mark.parametrize("private", [None, True])
def test_d30_speakers_keep_name_and_id_and_lines_their_privacy(url: str, db: Database, private: bool | None) -> None:
    import_original(url, private=private, db=db, scope=Scope("iris"))
    rows = sorted(rows_of(db, chat_history_cache, "iris"), key=lambda row: row.message_id)
    assert [(row.sender_name, row.sender_id, row.role) for row in rows] == [
        ("Ann", "7", "user"), ("Iris", "self", "persona"), ("Bob Stone", "8", "user")
    ]  # fmt: skip
    elsewhere = Scope("iris", "web/1", "web/eve", privacy="public")
    hits = search_memories(keywords=["marmalade"], include_chat=True, db=db, scope=elsewhere)
    assert [hit["snippet"] for hit in hits] == ([] if private else ["the marmalade is ready"])
    direct = Scope("iris", "telegram_bot/42", "telegram_bot/7", privacy="direct" if private else "public")
    hits = search_memories(keywords=["marmalade"], include_chat=True, db=db, scope=direct)
    assert [hit["snippet"] for hit in hits] == ["the marmalade is ready"]


def test_d30_a_database_of_prompt_engine_and_one_without_its_tables_are_refused_by_name(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, empty = f"sqlite:///{tmp_path / 'theirs.db'}", f"sqlite:///{tmp_path / 'empty.db'}"
    open_database(theirs).close()
    with closing(Database(empty)) as other:
        other.transaction(lambda c: c.exec_driver_sql("CREATE TABLE other (id INT)"), source="test")
    for url, reason in ((theirs, r"theirs\.db.* is a database of prompt-engine.*prompt-engine db copy SOURCE TARGET"),
                        (empty, r"empty\.db.* holds none of the tables memories")):  # fmt: skip
        with pytest.raises(TransferError, match=reason):
            import_original(url, db=db, scope=Scope("iris"))
    monkeypatch.chdir(tmp_path)  # an option that changes nothing is refused too
    assert main(["import", "--from", "sqlite:///a.db", "--dry-run", "--database", "sqlite:///b.db"]) != 0
