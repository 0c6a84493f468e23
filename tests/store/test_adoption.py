"""The original application's database becomes ours (D30): rows keep ids, texts, times; what was broken is listed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from core.database import schema, schema_lifelong
from core.database.engine import Database
from core.errors import StoreError
from core.text.folding import fold
from core.text.hits import content_digest
from core.upkeep import adopted_rows, adoption, ddl, inspection, migration

pytestmark = pytest.mark.slow
MOST = pytest.mark.engines("sqlite", "mariadb", "mysql")
"""The original ran on MariaDB and MySQL; on seekdb, whose DDL is slow, a thousand rows and odd values must do."""

START = datetime(2026, 3, 10, 12, tzinfo=UTC)

SERVER = {
    "json": """
    CREATE TABLE memories (id INT AUTO_INCREMENT PRIMARY KEY, timestamp DATETIME, content TEXT NOT NULL,
        author VARCHAR(100), source VARCHAR(100), tags JSON, scope VARCHAR(50), emotion VARCHAR(50), intensity INT,
        emotion_state VARCHAR(50));
    CREATE TABLE ai_diary (id INT AUTO_INCREMENT PRIMARY KEY, content TEXT NOT NULL, personal_thought TEXT,
        emotions JSON, interaction_summary TEXT, user_message TEXT, context_tags JSON, involved_users JSON,
        timestamp DATETIME DEFAULT CURRENT_TIMESTAMP, interface VARCHAR(50), chat_id VARCHAR(255),
        thread_id VARCHAR(255));
    CREATE TABLE chat_history_cache (id INT AUTO_INCREMENT PRIMARY KEY, interface_path VARCHAR(191) NOT NULL,
        message_text TEXT, sender_name VARCHAR(255), sender_id VARCHAR(255), timestamp DATETIME NOT NULL, metadata JSON,
        UNIQUE KEY uq_path_time (interface_path, timestamp))""",
    "text": """
    CREATE TABLE memories (id INT AUTO_INCREMENT PRIMARY KEY, timestamp TIMESTAMP NULL, content MEDIUMTEXT NOT NULL,
        author VARCHAR(255), source VARCHAR(100), tags TEXT, scope VARCHAR(50), emotion VARCHAR(50), intensity INT,
        emotion_state VARCHAR(50)) {old_charset};
    CREATE TABLE ai_diary (id INT AUTO_INCREMENT PRIMARY KEY, content TEXT NOT NULL, personal_thought TEXT,
        emotions TEXT, interaction_summary TEXT, user_message TEXT, context_tags TEXT, involved_users TEXT,
        timestamp TIMESTAMP NULL, interface TEXT, chat_id TEXT, thread_id TEXT) {old_charset};
    CREATE TABLE chat_history_cache (id INT AUTO_INCREMENT PRIMARY KEY, interface_path VARCHAR(191) NOT NULL,
        message_text TEXT, sender_name VARCHAR(255), sender_id VARCHAR(255), timestamp TIMESTAMP NULL, metadata TEXT,
        mood VARCHAR(20), UNIQUE KEY uq_path_time (interface_path, timestamp)) {old_charset}""",
}

EMBEDDED = """
    CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp TEXT, content TEXT NOT NULL, author TEXT,
        source TEXT, tags TEXT, scope TEXT, emotion TEXT, intensity INTEGER, emotion_state TEXT);
    CREATE TABLE ai_diary (id INTEGER PRIMARY KEY AUTOINCREMENT, content TEXT NOT NULL, personal_thought TEXT,
        emotions TEXT, interaction_summary TEXT, user_message TEXT, context_tags TEXT, involved_users TEXT,
        timestamp TEXT, interface TEXT, chat_id TEXT, thread_id TEXT);
    CREATE TABLE chat_history_cache (id INTEGER PRIMARY KEY AUTOINCREMENT, interface_path TEXT NOT NULL,
        message_text TEXT, sender_name TEXT, sender_id TEXT, timestamp TEXT, metadata TEXT, mood TEXT,
        UNIQUE (interface_path, timestamp))"""


@pytest.fixture
def db(fresh_url: str) -> Iterator[Database]:
    """An empty database."""
    handle = Database(fresh_url)
    yield handle
    handle.close()


def run(db: Database, script: str) -> None:
    """Run a script's statements."""
    for statement in ddl.split_statements(script):
        db.transaction(lambda c, s=statement: c.exec_driver_sql(s), source="test")


def fill(db: Database, table: str, rows: list[dict[str, Any]]) -> None:
    """Insert rows as the original application does, without anything of ours."""
    mark = "?" if db.family == "sqlite" else "%s"
    names = list(dict.fromkeys(name for row in rows for name in row))
    sql = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join([mark] * len(names))})"
    values = [tuple(row.get(name) for name in names) for row in rows]
    db.transaction(lambda c: c.exec_driver_sql(sql, values), source="test")


def stamp(number: int) -> str:
    """Return the time of a row as the original stores it: naive, whole seconds."""
    return f"{START + timedelta(seconds=number):%Y-%m-%d %H:%M:%S}"


def original(db: Database, columns: str = "text", charset: str = "latin1") -> None:
    """Make the original's tables."""
    if db.family == "sqlite":
        run(db, EMBEDDED)
    else:
        if "OceanBase" in str(db.read_driver("SELECT VERSION()", (), source="test")[0][0]):
            charset = ""  # it has neither latin1 nor utf8mb3
        run(db, SERVER[columns].replace("{old_charset}", f"DEFAULT CHARSET={charset}" if charset else ""))


def memory(number: int, **more: Any) -> dict[str, Any]:
    """Return a row of the original's memories."""
    row = {"id": number, "timestamp": stamp(number), "content": f"Café No. {number}", "author": "synth"}
    return row | {"source": "chat", "tags": '["Café", "cat"]', "scope": "general"} | more


def diary(number: int, **more: Any) -> dict[str, Any]:
    """Return a row of the original's diary."""
    row = {"id": number, "content": f"Day {number}", "personal_thought": "Ünd", "emotions": '["joy"]'}
    row |= {"interaction_summary": None, "user_message": f"Hi {number}", "context_tags": '["cat"]'}
    row |= {
        "involved_users": '["ann"]',
        "timestamp": stamp(number),
        "interface": None,
        "chat_id": None,
        "thread_id": None,
    }
    return row | more


def chat(number: int, **more: Any) -> dict[str, Any]:
    """Return a row of the original's chat."""
    row = {"id": number, "interface_path": "telegram_bot/c1", "message_text": f"Straße {number}", "sender_name": "Ann"}
    return row | {"sender_id": "ann", "timestamp": stamp(number), "metadata": '{"n": 1}'} | more


def rows_of(db: Database, table: Any) -> dict[int, Any]:
    """Return all rows of a table by id."""
    return {row.id: row for row in db.read(select(table).order_by(table.c.id), source=table.name)}


def test_d30_a_thousand_rows_each_with_five_broken_tags(db: Database) -> None:
    """The example of the rule: 1,000 each afterwards, five listed."""
    original(db)
    bad = {17: "cat, dog", 18: '["cat"', 400: "{", 999: "[NaN]", 1000: "'cat'"}
    fill(db, "memories", [memory(n, tags=bad.get(n, '["Café", "cat"]')) for n in range(1, 1001)])
    fill(db, "ai_diary", [diary(n, context_tags=bad.get(n, '["cat"]')) for n in range(1, 1001)])
    fill(db, "chat_history_cache", [chat(n, metadata=bad.get(n, '{"n": 1}')) for n in range(1, 1001)])
    done = migration.migrate(db)
    assert {name: one.rows for name, one in done.adopted.items()} == dict.fromkeys(adoption.ORIGINAL[:3], 1000)
    for table, column in (("memories", "tags"), ("ai_diary", "context_tags"), ("chat_history_cache", "metadata")):
        listed = [(one.row_id, one.column, one.why) for one in done.adopted[table].broken]
        assert listed == [(n, column, "json") for n in sorted(bad)]
        found = rows_of(db, ddl.list_tables()[table])
        assert sorted(found) == list(range(1, 1001))
        assert all(found[n].timestamp == START + timedelta(seconds=n) for n in found)
    memories, diaries, lines = (rows_of(db, ddl.list_tables()[name]) for name in adoption.ORIGINAL[:3])
    assert all(memories[n].content == f"Café No. {n}" for n in memories)
    assert [memories[n].tags for n in (16, 17, 18)] == ['["Café", "cat"]', "[]", "[]"]
    assert all(diaries[n].user_message == f"Hi {n}" for n in diaries)
    assert all(lines[n].message_text == f"Straße {n}" for n in lines)
    assert inspection.list_differences(inspection.read_tables(db), db.family) == []
    assert not migration.migrate(db).changed


@MOST
@pytest.mark.parametrize(("columns", "charset"), [("json", ""), ("text", "latin1"), ("text", "utf8mb3")])
def test_d30_columns_of_every_kind_are_taken_over(db: Database, columns: str, charset: str) -> None:
    """JSON or TEXT, DATETIME or TIMESTAMP, old character sets: the same rows come out."""
    original(db, columns, charset)
    fill(db, "memories", [memory(3)])
    fill(db, "chat_history_cache", [chat(5)])
    migration.migrate(db)
    row, line = rows_of(db, schema.memories)[3], rows_of(db, schema.chat_history_cache)[5]
    assert (row.content, row.author, row.source, row.scope) == ("Café No. 3", "synth", "chat", "general")
    assert json.loads(row.tags) == ["Café", "cat"]
    assert row.timestamp == START + timedelta(seconds=3) == row.created_at
    assert (row.persona_id, row.tier, row.importance, row.pinned) == ("default", "long_term", 0.5, 0)
    assert row.text_folded == "cafe no. 3"
    assert row.content_hash == content_digest("Café No. 3")
    assert (line.role, line.participant_key, line.sender_id) == ("user", "telegram_bot/ann", "ann")
    assert (line.text_folded, json.loads(line.metadata)) == ("strasse 5", {"n": 1})


@MOST
def test_d30_the_unique_key_on_path_and_time_goes(db: Database) -> None:
    """Two lines of one second are two lines."""
    original(db)
    fill(db, "chat_history_cache", [chat(1)])
    migration.migrate(db)
    unique = [columns for one, columns in inspection.read_tables(db)["chat_history_cache"].indexes.values() if one]
    assert unique == [("persona_id", "interface_path", "message_id")]


@MOST
def test_d30_conversations_and_audiences_are_made(db: Database) -> None:
    """Rows are seen where they were said: public ones in server "", those of a direct message by that person."""
    original(db)
    lines = [
        chat(1),
        chat(2, interface_path="telegram_bot/c1/7"),
        chat(3, interface_path="telegram_bot/bob", sender_id="self"),
    ]
    lines.append(chat(4, interface_path="telegram_bot/bob", sender_id="bob", sender_name="Bob"))
    fill(db, "chat_history_cache", lines)
    fill(db, "memories", [memory(1)])
    fill(
        db,
        "ai_diary",
        [diary(1), diary(2, interface="telegram_bot", chat_id="bob"), diary(3, interface="webui", chat_id="9")],
    )
    migration.migrate(db)
    a, c, p = schema.audiences.c, schema.conversations, schema.participants.c
    kinds = {r[0]: tuple(r[1:]) for r in db.read(select(a.audience_id, a.kind, a.server_id, a.ref), source="audiences")}
    public, direct = ("server", "", ""), ("direct", "", "telegram_bot/bob")
    seen = [kinds[row.audience_id] for row in rows_of(db, schema.chat_history_cache).values()]
    assert seen == [public, public, direct, direct]
    assert kinds[rows_of(db, schema.memories)[1].audience_id] == ("persona", "", "")
    assert [kinds[row.audience_id] for row in rows_of(db, schema.ai_diary).values()] == [
        ("persona", "", ""),
        direct,
        public,
    ]
    talks = {row.conversation_key: row for row in db.read(select(c), source="conversations")}
    assert sorted(talks) == ["telegram_bot/bob", "telegram_bot/c1", "telegram_bot/c1/7", "webui/9"]
    thread, private = talks["telegram_bot/c1/7"], talks["telegram_bot/bob"]
    assert (thread.parent_key, thread.interface, thread.chat_id, thread.thread_id) == (
        "telegram_bot/c1", "telegram_bot", "c1", "7",
    )  # fmt: skip
    assert (private.is_private, private.direct_person_key) == (1, "telegram_bot/bob")
    assert (thread.is_private, thread.direct_person_key) == (0, None)
    assert talks["telegram_bot/c1"].last_message_at == START + timedelta(seconds=1)
    assert private.last_message_at == START + timedelta(seconds=4)
    people = {tuple(r) for r in db.read(select(p.participant_key, p.person_key, p.display_name), source="participants")}
    assert people == {
        ("telegram_bot/ann", "telegram_bot/ann", "Ann"),
        ("telegram_bot/bob", "telegram_bot/bob", "Bob"),
    }
    roles = [row.role for row in rows_of(db, schema.chat_history_cache).values()]
    assert roles == ["user", "user", "persona", "user"]


@MOST
def test_d30_tags_become_a_vocabulary_and_the_index_waits(db: Database) -> None:
    """D13: uses of `cat` is the number of rows with it. D16: until it is built, the index counts as not ready."""
    original(db)
    fill(db, "memories", [memory(5, tags='["Cat", "cat"]'), memory(6, tags='["pet"]'), memory(9, tags="[]")])
    fill(db, "ai_diary", [diary(4, context_tags='["cat"]')])
    migration.migrate(db)
    t, s = schema.tags.c, schema.search_progress.c
    assert dict(map(tuple, db.read(select(t.tag, t.uses), source="tags"))) == {"cat": 2, "pet": 1}
    waiting = db.read(select(s.source, s.ready, s.next_id, s.until_id).order_by(s.source), source="search_progress")
    assert list(map(tuple, waiting)) == [(0, 0, 0, 9), (1, 0, 0, 4), (2, 1, 0, 0)]


@MOST
def test_d30_what_was_compacted_keeps_its_rows(db: Database) -> None:
    """The original's archived_memories (D27): ids, texts and times stay, a broken list of sources is listed."""
    original(db)
    if db.family == "sqlite":
        run(
            db,
            "CREATE TABLE archived_memories (id INTEGER PRIMARY KEY AUTOINCREMENT, tag TEXT, summary TEXT NOT NULL, "
            "source_ids TEXT, source_count INTEGER, llm_model TEXT, confidence REAL, notes TEXT, "
            "compaction_level INTEGER DEFAULT 1, total_source_chars INTEGER, summary_chars INTEGER, created_by TEXT, "
            "created_at TEXT)",
        )
    else:
        run(
            db,
            "CREATE TABLE archived_memories (id INT AUTO_INCREMENT PRIMARY KEY, tag JSON, summary TEXT NOT NULL, "
            "source_ids TEXT, source_count INT, llm_model VARCHAR(100), confidence FLOAT, notes TEXT, "
            "compaction_level INT DEFAULT 1, total_source_chars INT, summary_chars INT, created_by VARCHAR(100), "
            "created_at DATETIME)",
        )
    row = {"tag": '["Café"]', "summary": "Café, twice", "source_ids": "[3, 4]", "source_count": 2, "llm_model": "m"}
    row |= {"confidence": 0.75, "notes": None, "compaction_level": 2, "total_source_chars": 40, "summary_chars": 11}
    rows = [{"id": n, **row, "created_by": None, "created_at": stamp(n)} for n in range(1, 1004)]
    rows[4] |= {"source_ids": "3, 4", "compaction_level": None, "total_source_chars": None}
    fill(db, "archived_memories", rows)
    fill(db, "memories", [memory(3), memory(4)])
    done = migration.migrate(db)
    assert done.adopted["archived_memories"].rows == 1003
    assert [(one.row_id, one.column, one.why) for one in done.adopted["archived_memories"].broken] == [
        (5, "source_ids", "json")
    ]
    adopted = rows_of(db, schema_lifelong.archived_memories)
    assert sorted(adopted) == list(range(1, 1004))
    first, mended = adopted[1], adopted[5]
    assert (json.loads(first.tag), first.summary, json.loads(first.source_ids)) == (["Café"], "Café, twice", [3, 4])
    assert (first.source_count, first.llm_model, float(first.confidence), first.compaction_level) == (2, "m", 0.75, 2)
    assert (first.persona_id, first.created_by, first.created_at) == ("default", "", START + timedelta(seconds=1))
    assert (first.memory_id, first.notes, first.audience_id) == (
        None,
        None,
        rows_of(db, schema.memories)[3].audience_id,
    )
    assert (json.loads(mended.source_ids), mended.compaction_level, mended.total_source_chars) == ([], 1, 0)
    assert (
        inspection.list_differences(inspection.read_tables(db), db.family) == [] and not migration.migrate(db).changed
    )


@MOST
def test_d30_columns_the_host_added_stay(db: Database) -> None:
    """Nothing of the original is dropped unsaid."""
    original(db)
    fill(db, "chat_history_cache", [chat(1, mood="glad"), chat(2, mood=None)])
    migration.migrate(db)
    found = db.read_driver("SELECT mood FROM chat_history_cache ORDER BY id", (), source="test")
    assert [row[0] for row in found] == ["glad", None]


@MOST
def test_d30_an_interrupted_adoption_goes_on(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process dies in the second range; the next run takes the rest, no row twice, none left out."""
    original(db)
    monkeypatch.setattr(adoption, "RANGE", 10)
    fill(db, "memories", [memory(n) for n in range(1, 36)])
    fill(db, "chat_history_cache", [chat(n) for n in range(1, 36)])
    for stop_at in (20, 60):
        steps: list[tuple[str, int, int]] = []

        def progress(what: str, done: int, total: int, steps: list[Any] = steps, stop_at: int = stop_at) -> None:
            steps.append((what, done, total))
            if sum(1 for one in steps if one[1] > 0) * 10 >= stop_at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            migration.migrate(db, progress=progress)
        assert migration.list_pending(db) == migration.list_revisions()
    done = migration.migrate(db)
    assert done.adopted["chat_history_cache"].rows == 35
    assert sorted(rows_of(db, schema.memories)) == sorted(rows_of(db, schema.chat_history_cache)) == list(range(1, 36))
    assert not [name for name in inspection.read_tables(db) if name.startswith(("adopting_", "adopted_"))]
    t = schema.tags.c
    assert dict(map(tuple, db.read(select(t.tag, t.uses), source="tags"))) == {"cat": 35, "café": 35}
    assert not migration.migrate(db).changed


@MOST
def test_d30_an_adoption_that_stopped_after_the_change_of_names_is_finished(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the new name and dropping the old table lies a moment too."""
    original(db)
    fill(db, "memories", [memory(1)])

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(adoption, "_drop_old", die)
        with pytest.raises(KeyboardInterrupt):
            migration.migrate(db)
    assert "adopted_memories" in inspection.read_tables(db)
    assert migration.migrate(db).changed
    assert "adopted_memories" not in inspection.read_tables(db)
    assert sorted(rows_of(db, schema.memories)) == [1]
    s = schema.search_progress.c
    assert (0, 0, 1) in {tuple(r) for r in db.read(select(s.source, s.ready, s.until_id), source="search_progress")}
    assert not migration.migrate(db).changed


@MOST
def test_d30_rows_written_meanwhile_are_not_lost(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody forgot to stop the original application: the old table stays until its rows are with us."""
    original(db)
    fill(db, "memories", [memory(1)])
    swap = adoption._swap

    def late(handle: Database, table: Any) -> None:
        if table.name == "memories":
            fill(db, "memories", [memory(2)])
        swap(handle, table)

    monkeypatch.setattr(adoption, "_swap", late)
    with pytest.raises(StoreError, match="fewer rows than adopted_memories"):
        migration.migrate(db)
    assert db.read_driver("SELECT COUNT(*) FROM adopted_memories", (), source="test")[0][0] == 2


@MOST
def test_d30_a_key_that_is_too_long_is_refused_before_anything_changes(db: Database) -> None:
    """D3: keys are never cut."""
    original(db)
    run(db, "ALTER TABLE ai_diary RENAME TO other")
    fill(db, "chat_history_cache", [chat(1), chat(2, interface_path="x" * 100, sender_id="ü" * 128)])
    before = inspection.read_tables(db)["chat_history_cache"]
    with pytest.raises(StoreError, match=r"chat_history_cache\.sender_id is longer than 255 bytes in rows 2"):
        migration.migrate(db)
    assert inspection.read_tables(db)["chat_history_cache"] == before


@MOST
def test_d30_what_hangs_on_an_original_table_is_named_not_lost(db: Database) -> None:
    """A trigger or foreign key of the host would vanish with the old table, or delete its own rows."""
    original(db)
    if db.family == "sqlite":
        run(db, "CREATE TABLE notes (memory INTEGER REFERENCES memories (id) ON DELETE CASCADE)")
    else:
        run(db, "CREATE TABLE notes (memory INT, FOREIGN KEY (memory) REFERENCES memories (id) ON DELETE CASCADE)")
    fill(db, "memories", [memory(1)])
    fill(db, "notes", [{"memory": 1}])
    with pytest.raises(StoreError, match="a foreign key of notes"):
        migration.migrate(db)
    run(db, "DROP TABLE notes")
    assert migration.migrate(db).adopted["memories"].rows == 1


def test_d30_odd_values_are_mended_and_listed(db: Database) -> None:
    """NULLs where ours may have none, names that are too long, empty JSON: no row is lost over them."""
    original(db)
    fill(db, "memories", [memory(1, author="a" * 150, tags="", intensity=None, timestamp=None), memory(2, tags=None)])
    fill(db, "chat_history_cache", [chat(1, sender_id=None, sender_name=None, message_text=None, metadata=None)])
    done = migration.migrate(db)
    assert [(one.row_id, one.column, one.why) for one in done.adopted["memories"].broken] == [(1, "author", "long")]
    first, second = rows_of(db, schema.memories).values()
    assert (first.author, first.tags, first.timestamp) == ("a" * 100, "[]", None)
    assert second.tags == "[]"
    line = rows_of(db, schema.chat_history_cache)[1]
    assert (line.sender_id, line.sender_name, line.message_text, line.participant_key) == ("", "", "", None)


@pytest.mark.engines("sqlite")
def test_d30_times_of_every_spelling_are_utc(db: Database) -> None:
    """Naive is UTC; what cannot be read is listed, and counts as oldest."""
    original(db)
    said = ["2026-03-10T13:00:00+01:00", "2026-03-10 12:00", "2026-03-10T12:00:00Z", 1773144000, "soon"]
    fill(db, "memories", [memory(n, timestamp=t) for n, t in enumerate(said, 1)])
    fill(db, "chat_history_cache", [chat(1, timestamp="soon")])
    done = migration.migrate(db)
    assert [row.timestamp for row in rows_of(db, schema.memories).values()] == [START] * 4 + [None]
    assert [(one.row_id, one.column) for one in done.adopted["memories"].broken] == [(5, "timestamp")]
    assert rows_of(db, schema.chat_history_cache)[1].timestamp == datetime(1970, 1, 1, tzinfo=UTC)


@MOST
def test_d30_settings_and_tags_of_the_original_are_taken_over(db: Database) -> None:
    """Tables of one name and another form; one that is not understood is set aside, not lost."""
    original(db)
    text = "TEXT" if db.family == "sqlite" else "VARCHAR(100)"
    run(db, f"CREATE TABLE config (config_key {text} NOT NULL PRIMARY KEY, value TEXT)")
    run(db, f"CREATE TABLE tag_links (tag {text}, related_tag {text}, weight FLOAT)")
    run(db, f"CREATE TABLE tags (id INT, label {text})")
    fill(db, "config", [{"config_key": "CONTEXT_VERBOSITY", "value": "4"}])
    fill(db, "tag_links", [{"tag": "cat", "related_tag": "pet", "weight": 0.5}])
    fill(db, "tags", [{"id": 1, "label": "cat"}])
    migration.migrate(db)
    c, n = schema.config.c, schema.tag_links.c
    assert list(map(tuple, db.read(select(c.config_key, c.value), source="config"))) == [("CONTEXT_VERBOSITY", "4")]
    links = db.read(select(n.persona_id, n.tag, n.related_tag, n.weight), source="tag_links")
    assert list(map(tuple, links)) == [("default", "cat", "pet", 0.5)]
    assert [row[0] for row in db.read_driver("SELECT label FROM original_tags", (), source="test")] == ["cat"]
    assert inspection.list_differences(inspection.read_tables(db), db.family) == []
    assert not migration.migrate(db).changed


def test_d30_opening_the_original_on_a_server_says_what_to_run(db: Database) -> None:
    """Adoption takes its time and the old application must be stopped: that is an operator's decision."""
    original(db)
    fill(db, "memories", [memory(1)])
    if db.family == "sqlite":
        migration.ensure_present(db)
        assert sorted(rows_of(db, schema.memories)) == [1]
        return
    with pytest.raises(StoreError, match="prompt-engine db migrate"):
        migration.ensure_present(db)
    assert "persona_id" not in inspection.read_tables(db)["memories"].columns


# The values by themselves

VALUES = st.one_of(
    st.none(), st.integers(), st.floats(), st.text(max_size=40), st.binary(max_size=20), st.datetimes(), st.booleans()
)


@given(st.sampled_from(adoption.ORIGINAL[:3]), st.lists(VALUES, min_size=30, max_size=30))
def test_d30_no_value_stops_an_adoption(name: str, values: list[Any]) -> None:
    """Whatever a column holds, the row is read, and what is NOT NULL with us has a value."""
    table = ddl.list_tables()[name]
    names = [c.name for c in table.columns if c.name != "persona_id"][:30]
    row = dict(zip(names, values, strict=False)) | {"id": 1}
    read, broken = adopted_rows.Reader(table, list(row)).read(row)
    adopted_rows.complete_row(table, read)
    for column in table.columns:
        if column.name in read and not column.nullable:
            assert read[column.name] is not None
    assert {one.column for one in broken} <= set(names)
    assert read["text_folded"] is not None


@given(st.text())
def test_d12_the_folded_text_follows_the_row(text: str) -> None:
    """T21 compares what is stored here."""
    assert adopted_rows.folded_of("memories", {"content": text}) == (fold(text), content_digest(text))


def test_d11_the_four_texts_of_a_diary_entry_are_kept_apart() -> None:
    """content "a", user_message "b": keyword `ab` finds nothing, `b` finds the entry."""
    folded, _ = adopted_rows.folded_of("ai_diary", {"content": "a", "user_message": "b"}) or ("", b"")
    assert "ab" not in folded
    assert folded.endswith("b")
    assert adopted_rows.folded_of("tags", {}) is None
