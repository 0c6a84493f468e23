"""How a database comes to the present (D29, D31, D32): from nothing, from earlier versions, from half a migration."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select

from core.errors import StoreError
from core.store import ddl, inspecting, leasing, migrating, restoring, schema
from core.store.engine import Database

NEXT = """
from alembic import op
from core.store import ddl
revision = "9999"
down_revision = "{last}"

def upgrade() -> None:
    connection = op.get_bind()
    if not ddl.has_column(connection, "memories", "mood"):
        connection.exec_driver_sql("ALTER TABLE memories ADD COLUMN mood INT NOT NULL DEFAULT 3")
    {between}
    if not ddl.has_index(connection, "memories", "ix_memories_mood"):
        connection.exec_driver_sql("CREATE INDEX ix_memories_mood ON memories (persona_id, mood)")
"""


@pytest.fixture
def db(fresh_url: str) -> Iterator[Database]:
    """An empty database."""
    handle = Database(fresh_url)
    yield handle
    handle.close()


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that adds a revision, as the next version of the program would bring one."""

    def add(between: str = "") -> None:
        copy = tmp_path / "migrations"
        if not copy.exists():
            shutil.copytree(migrating.folder(), copy, ignore=shutil.ignore_patterns("__pycache__"))
            monkeypatch.setattr(migrating, "folder", lambda: copy)
        last = max(one for one in migrating.revisions() if one != "9999")
        (copy / "versions" / "9999_mood.py").write_text(NEXT.format(between=between, last=last))

    return add


def shape(db: Database) -> dict[str, Any]:
    """Return tables, columns and indexes with all that the server says of them."""
    return {name: found for name, found in inspecting.look(db).items() if not name.startswith("sqlite_")}


def run(db: Database, *statements: str) -> None:
    """Run statements, each in a transaction of its own."""
    for statement in statements:
        db.transaction(lambda c, s=statement: c.exec_driver_sql(s), source="test")


def test_d29_an_empty_database_is_made_and_a_second_run_changes_nothing(db: Database) -> None:
    """The first run of a new installation, and every one after it."""
    assert migrating.pending(db) == migrating.revisions()
    first = migrating.migrate(db)
    assert first.applied == tuple(migrating.revisions())
    assert first.changed
    assert migrating.pending(db) == []
    before = shape(db), stored(db)
    second = migrating.migrate(db)
    assert second == migrating.Migrated(messages=(migrating.NOTHING,))
    assert not second.changed
    assert (shape(db), stored(db)) == before


def stored(db: Database) -> dict[str, list[Any]]:
    """Return every row of every table."""
    return {t.name: sorted(map(repr, db.read(select(t), source=t.name))) for t in ddl.tables().values()}


def test_d16_the_index_of_a_new_database_is_complete(db: Database) -> None:
    """Otherwise every search would look for rows that are not indexed."""
    migrating.migrate(db)
    rows = db.read(select(schema.search_progress.c.source, schema.search_progress.c.ready), source="search_progress")
    assert sorted(map(tuple, rows)) == [(0, 1), (1, 1), (2, 1)]


def test_d32_migrations_from_nothing_give_what_the_schema_gives(db: Database, fresh_url: str) -> None:
    """Column by column, index by index: two ways to a database, one database."""
    for revision in migrating.revisions():
        migrating.run_revision(db, revision)
    by_revisions, progress = shape(db), stored(db)["search_progress"]
    run(db, *(f"DROP TABLE {ddl.quoted(name, db.family)}" for name in by_revisions))
    assert shape(db) == {}
    migrating.migrate(db)
    by_schema = shape(db)
    assert set(by_revisions) == set(by_schema) == set(ddl.tables())
    for name, table in by_schema.items():
        assert by_revisions[name] == table, name
    assert stored(db)["search_progress"] == progress


def test_d32_the_database_is_what_the_metadata_says(db: Database) -> None:
    """Every column, type and index of the schema is there under its name, and nothing else is."""
    migrating.migrate(db)
    found = shape(db)
    assert inspecting.differences(found, db.family) == []
    for table in ddl.tables().values():
        there = found[table.name]
        assert set(there.columns) == set(table.c.keys())
        assert there.indexes == ddl.indexes(table), table.name
        assert there.primary_key == tuple(table.primary_key.columns.keys())


def test_d29_a_column_dropped_by_hand_is_restored(db: Database) -> None:
    """And what follows from the row is filled in again."""
    migrating.migrate(db)
    row = {"id": 7, "message_text": "Straße", "interface_path": "webui/1", "timestamp": db.clock()}
    db.transaction(lambda c: c.execute(insert(schema.chat_history_cache), row), source="test")
    before = shape(db)
    run(
        db,
        "ALTER TABLE chat_history_cache DROP COLUMN text_folded",
        "ALTER TABLE memories DROP COLUMN pinned",
        drop_index(db, "memories", "ix_memories_kind"),
    )
    assert migrating.pending(db) == []
    assert {(one.kind, one.table, one.name) for one in restoring.missing(shape(db), db.family)} == {
        ("column", "chat_history_cache", "text_folded"),
        ("column", "memories", "pinned"),
        ("index", "memories", "ix_memories_kind"),
    }
    done = migrating.migrate(db)
    assert "restored the column memories.pinned" in done.messages
    assert "restored the index memories.ix_memories_kind" in done.messages
    assert {name: sorted(t.columns) for name, t in shape(db).items()} == {
        name: sorted(t.columns) for name, t in before.items()
    }
    assert inspecting.differences(shape(db), db.family) == []
    assert db.read(select(schema.chat_history_cache.c.text_folded), source="test")[0][0] == "strasse"
    assert not migrating.migrate(db).changed


def drop_index(db: Database, table: str, name: str) -> str:
    """Return the DROP INDEX of an engine."""
    return f"DROP INDEX {name}" if db.family == "sqlite" else f"DROP INDEX {name} ON {table}"


def test_d29_a_table_dropped_by_hand_is_restored(db: Database) -> None:
    """Empty, and said."""
    migrating.migrate(db)
    run(db, "DROP TABLE ai_diary")
    assert migrating.plan(db) == ["restore table ai_diary.ai_diary"]
    assert "restored the table ai_diary" in migrating.migrate(db).messages
    assert migrating.plan(db) == []
    assert inspecting.differences(shape(db), db.family) == []


def test_d29_a_restored_audience_is_never_guessed(db: Database) -> None:
    """A row whose audience is lost is seen by nobody, unless its conversation is known."""
    migrating.migrate(db)
    conversation = {"id": 1, "audience_id": 42, "conversation_key": "discord/9"}
    rows = [
        {"id": 1, "content": "a", "conversation_key": "discord/9"},
        {"id": 2, "content": "b", "conversation_key": None},
    ]
    db.transaction(lambda c: c.execute(insert(schema.conversations), conversation), source="test")
    db.transaction(lambda c: c.execute(insert(schema.memories), rows), source="test")
    indexes = [name for name, (_, columns) in ddl.indexes(schema.memories).items() if "audience_id" in columns]
    run(db, *(drop_index(db, "memories", name) for name in indexes), "ALTER TABLE memories DROP COLUMN audience_id")
    migrating.migrate(db)
    chosen = select(schema.memories.c.id, schema.memories.c.audience_id)
    assert sorted(map(tuple, db.read(chosen, source="test"))) == [(1, 42), (2, 0)]


def test_d29_a_half_made_database_is_finished(db: Database) -> None:
    """A process that died while it made the tables; the next one goes on, on servers too."""
    migrating.migrate(db)
    run(db, "DROP TABLE search_term", "DROP TABLE config", "DELETE FROM schema_version")
    migrating.ensure(db)
    assert inspecting.differences(shape(db), db.family) == []
    assert migrating.pending(db) == []


def test_d29_an_older_version_is_brought_up_by_its_revisions(db: Database, next_version: Any) -> None:
    """The former version's database, this version's program."""
    migrating.migrate(db)
    next_version()
    assert migrating.pending(db) == ["9999"]
    assert migrating.migrate(db).applied == ("9999",)
    assert "mood" in shape(db)["memories"].columns
    assert migrating.pending(db) == []
    assert not migrating.migrate(db).changed


def test_d29_a_revision_that_failed_half_way_goes_on(db: Database, next_version: Any) -> None:
    """A server commits each DDL at once, so the first half stays; the second run must get past it."""
    migrating.migrate(db)
    next_version("connection.exec_driver_sql('SELECT nothing FROM nowhere')")
    with pytest.raises(StoreError):
        migrating.migrate(db)
    assert ("mood" in shape(db)["memories"].columns) == (db.family == "mysql")
    assert migrating.pending(db) == ["9999"]
    next_version()
    assert migrating.migrate(db).applied == ("9999",)
    assert shape(db)["memories"].has_index(False, ("persona_id", "mood"))


def test_d31_the_former_version_works_while_the_new_one_migrates(db: Database, next_version: Any) -> None:
    """It knows nothing of the new column, and nothing of the new version number."""
    migrating.migrate(db)
    failed: list[Exception] = []
    written = [0]
    stop = threading.Event()

    def former() -> None:
        handle = Database(db.target.url.render_as_string(hide_password=False))
        try:
            while not stop.is_set():
                number = written[0] + 1
                row = {"id": number, "content": f"text {number}"}
                handle.transaction(lambda c, row=row: c.execute(insert(schema.memories), row), source="memories")
                written[0] = number
                assert len(handle.read(select(schema.memories.c.id), source="memories")) >= number
        except Exception as error:  # noqa: BLE001 - shown by the test
            failed.append(error)
        finally:
            handle.close()

    thread = threading.Thread(target=former)
    thread.start()
    try:
        while written[0] < 3 and not failed:
            time.sleep(0.01)
        next_version()
        migrating.migrate(db)
        reached = written[0]
        while written[0] < reached + 3 and not failed:
            time.sleep(0.01)
    finally:
        stop.set()
        thread.join()
    assert failed == []
    assert len(db.read(select(schema.memories.c.id), source="memories")) == written[0]


def test_d31_a_newer_database_opens(db: Database, next_version: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The former version does not refuse a database that the new one has migrated, and does not turn it back."""
    former = migrating.folder()
    migrating.migrate(db)
    next_version()
    migrating.migrate(db)
    monkeypatch.setattr(migrating, "folder", lambda: former)
    assert migrating.pending(db) == []
    migrating.ensure(db)
    assert not migrating.migrate(db).changed
    assert migrating.current(db) == "9999"


def test_d31_columns_since_the_first_release_have_defaults() -> None:
    """The former version leaves them out of its INSERTs; and none of its own may be gone."""
    for family in ("mysql", "sqlite"):
        script = (migrating.folder() / "versions" / f"0001_tables.{family}.sql").read_text()
        first = {s.split()[5]: s for s in ddl.statements(script) if s.startswith("CREATE TABLE")}
        for table in ddl.tables().values():
            if table.name not in first:
                continue
            before = {line.split()[0].strip('`"') for line in first[table.name].splitlines()[1:]}
            for column in table.columns:
                fits = column.name in before or column.nullable or column.server_default is not None
                assert fits, f"{table.name}.{column.name} is new and needs a default or NULL"
        assert set(first) <= set(ddl.tables())


def test_d29_processes_at_once_make_one_database(db: Database) -> None:
    """Several programs start on the day of the installation."""
    assert at_once(db, migrating.migrate) == []
    assert inspecting.differences(shape(db), db.family) == []
    assert len(stored(db)["schema_version"]) == 1
    assert len(stored(db)["search_progress"]) == 3


def test_d29_processes_at_once_migrate_once(db: Database, next_version: Any) -> None:
    """One works, the others wait and find nothing left to do."""
    migrating.migrate(db)
    next_version()
    done: list[migrating.Migrated] = []
    assert at_once(db, lambda handle: done.append(migrating.migrate(handle))) == []
    assert sorted(one.applied for one in done) == [(), (), ("9999",)]


def at_once(db: Database, work: Any) -> list[Exception]:
    """Run work three times at once, each with a handle of its own, and return what was raised."""
    failed: list[Exception] = []
    ready = threading.Barrier(3)

    def one() -> None:
        handle = Database(db.target.url.render_as_string(hide_password=False))
        try:
            ready.wait()
            work(handle)
        except Exception as error:  # noqa: BLE001 - shown by the test
            failed.append(error)
        finally:
            handle.close()

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


def test_a_dead_worker_s_lease_runs_out(db: Database) -> None:
    """A migration that was killed does not keep the next one out for ever; a living one does."""
    migrating.migrate(db)
    with (
        leasing.lease(db, "migrate"),
        pytest.raises(StoreError, match="Another process"),
        leasing.lease(db, "migrate", wait_seconds=0.1),
    ):
        pytest.fail("two hold the lease")
    now = db.clock()
    with leasing.lease(db, "migrate") as keep:
        keep()
        later = Database(db.target.url.render_as_string(hide_password=False), clock=lambda: now + leasing_span())
        with leasing.lease(later, "migrate", wait_seconds=0.1):
            pass
        later.close()


def leasing_span() -> Any:
    """Return a little more than a lease lasts."""
    from datetime import timedelta

    return timedelta(seconds=leasing.LEASE_SECONDS + 5)


def test_ensure_tells_the_operator_of_a_server_and_mends_sqlite(db: Database, next_version: Any) -> None:
    """An embedded database has nobody else to look after it; a server's operator decides."""
    migrating.ensure(db)
    assert migrating.pending(db) == []
    next_version()
    if db.family == "sqlite":
        migrating.ensure(db)
        assert migrating.pending(db) == []
        return
    with pytest.raises(StoreError, match="prompt-engine db migrate"):
        migrating.ensure(db)
    assert migrating.pending(db) == ["9999"]


def test_ensure_costs_one_round_trip_at_the_present(db: Database) -> None:
    """It runs at every opening."""
    migrating.migrate(db)
    with db.traced() as statements:
        migrating.ensure(db)
    assert len(statements) == 1


@pytest.mark.engines("sqlite")
def test_an_empty_sqlite_file_is_made_quickly(db: Database) -> None:
    """Tests and first starts wait for it; Alembic, which takes longer to import than all of this, stays out."""
    best = 1.0
    for _ in range(3):
        began = time.perf_counter()
        migrating.migrate(db)
        best = min(best, time.perf_counter() - began)
        run(db, *(f"DROP TABLE {name}" for name in shape(db)))
    assert best < 0.25


def test_d1_an_insert_without_persona_lands_in_default(db: Database) -> None:
    """Rows of a program that knows no personas belong to the first one."""
    migrating.migrate(db)
    for table in ddl.tables().values():
        if "persona_id" not in table.c:
            continue
        values = {c.name: example(c) for c in table.columns if not c.nullable and c.server_default is None}
        db.transaction(lambda c, t=table, v=values: c.execute(insert(t), v), source=table.name)
        assert db.read(select(table.c.persona_id), source=table.name)[-1][0] == "default", table.name


def example(column: Any) -> Any:
    """Return some value of a column's type."""
    from datetime import UTC, datetime

    made = {"Time": datetime(2026, 3, 10, 12, tzinfo=UTC), "Key": "k"}.get(type(column.type).__name__)
    if made is not None:
        return made
    return 1 if "INT" in str(column.type).upper() or "NUMERIC" in str(column.type).upper() else "x"


def test_d3_a_key_is_never_cut(db: Database) -> None:
    """A server in strict mode refuses what does not fit, whatever its own settings are."""
    migrating.migrate(db)
    row = {"id": 1, "interface_path": "x" * 513, "message_text": "a", "timestamp": db.clock()}
    if db.family == "sqlite":
        pytest.skip("the program alone checks lengths there")
    with pytest.raises(StoreError):
        db.transaction(lambda c: c.execute(insert(schema.chat_history_cache), row), source="test")


def test_d10_values_read_back_as_they_were(db: Database) -> None:
    """importance 0.6 is 0.6, 70,000 bytes are 70,000 bytes, tags are tags."""
    migrating.migrate(db)
    long = "é" * 35_000
    row = {"id": 1, "content": long, "importance": 0.6, "tags": ["caf\u00e9", "\U0001f370"]}
    db.transaction(lambda c: c.execute(insert(schema.memories), row), source="test")
    m = schema.memories.c
    found = db.read(select(m.content, m.importance, m.tags), source="test")[0]
    assert (found[0], found[1]) == (long, 0.6)
    assert found[2] == '["caf\u00e9", "\U0001f370"]'


def test_a_message_id_of_null_stands_twice_and_another_once(db: Database) -> None:
    """D9: NULLs do not collide, ids do."""
    migrating.migrate(db)
    row = {"interface_path": "webui/1", "message_text": "a", "timestamp": db.clock()}
    for number in (1, 2):
        add = {**row, "id": number, "message_id": None}
        db.transaction(lambda c, add=add: c.execute(insert(schema.chat_history_cache), add), source="test")
    once = {**row, "id": 3, "message_id": "m1"}
    db.transaction(lambda c: c.execute(insert(schema.chat_history_cache), once), source="test")
    with pytest.raises(StoreError):
        db.transaction(lambda c: c.execute(insert(schema.chat_history_cache), {**once, "id": 4}), source="test")


def test_the_found_types_are_compared_in_one_spelling() -> None:
    """Servers write the same type in different words."""
    column = inspecting.FoundColumn("id", "bigint", False)
    assert replace(column, type=inspecting.plain_type("BIGINT(20)")) == column
    assert inspecting.plain_type("int(11)") == inspecting.plain_type("INTEGER") == "int"
    assert inspecting.is_same_type("longtext", "json")
    assert not inspecting.is_same_type("mediumtext", "json")
