"""How a database comes to the present (D29, D32): from nothing, earlier versions, half a migration or a file."""

import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import insert, select, text

import core.cli
from core.database.dialects import StoredBytes
from core.database.engine import Database
from core.database.schema import TABLES, schema_version
from core.db import check_server, insert_memory, open_database
from core.errors import StoreError
from core.synth_core_memory import search_memories
from core.upkeep import ddl, inspection, migration
from tests import schema_files
from tests.databases import run_script
from tests.store.world import account, of_today, url_of

pytestmark = pytest.mark.dialects
ROOT = Path(__file__).resolve().parents[2]
NOT_SEEKDB = pytest.mark.engines("sqlite", "mariadb", "mysql")
"""SQLAlchemy warns there about parts of SHOW CREATE TABLE that it does not know."""

NEXT = """
from alembic import op
from sqlalchemy import inspect
revision = "9999"
down_revision = "{last}"

def upgrade() -> None:
    connection = op.get_bind()
    if "mood" not in [column["name"] for column in inspect(connection).get_columns("memories")]:
        connection.exec_driver_sql("ALTER TABLE memories ADD COLUMN mood INT NOT NULL DEFAULT 3")
    {between}
    if "ix_memories_mood" not in [index["name"] for index in inspect(connection).get_indexes("memories")]:
        connection.exec_driver_sql("CREATE INDEX ix_memories_mood ON memories (persona_id, mood)")
"""


@pytest.fixture
def db(fresh_url: str) -> Iterator[Database]:
    with closing(Database(fresh_url)) as handle:
        yield handle


@pytest.fixture
def present(fresh_migrated_url: str) -> Iterator[Database]:
    """A database of today without rows, for a test that changes it."""
    with of_today(fresh_migrated_url) as handle:
        yield handle


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that adds a revision, as the next version of the program would bring one."""

    def add(between: str = "") -> None:
        copy = tmp_path / "migrations"
        if not copy.exists():
            shutil.copytree(migration.find_folder(), copy, ignore=shutil.ignore_patterns("__pycache__"))
            monkeypatch.setattr(migration, "find_folder", lambda: copy)
        last = max(one for one in migration.list_revisions() if one != "9999")
        (copy / "versions" / "v9999_mood.py").write_text(NEXT.format(between=between, last=last))

    return add


def shape(db: Database) -> inspection.Facts:
    return {name: found for name, found in inspection.read_facts(db).items() if not name[0].startswith("sqlite_")}


def run(db: Database, *statements: str) -> None:
    """Run statements by a handle of their own: one that was opened refuses to write to tables that it does not know."""
    run_script(url_of(db), ";\n".join(statements))


def test_d29_an_empty_database_is_made_and_a_second_run_changes_nothing(db: Database) -> None:
    run(db, "CREATE TABLE invoices (id INTEGER PRIMARY KEY)")
    assert migration.list_pending(db) == migration.list_revisions()
    first = migration.migrate(db)
    assert first.applied == tuple(migration.list_revisions()) and first.changed
    before = shape(db), stored(db)
    second = migration.migrate(db)
    assert second == migration.Migrated(messages=(migration.NOTHING,)) and not second.changed
    assert (shape(db), stored(db)) == before and migration.list_pending(db) == []


def stored(db: Database) -> dict[str, list[Any]]:
    return {t.name: sorted(map(repr, db.read(select(t), source=t.name))) for t in TABLES.values()}


def test_d32_migrations_from_nothing_give_what_the_schema_gives(db: Database, fresh_url: str) -> None:
    migration.run_revisions(db)
    by_revisions = shape(db)
    assert inspection.list_names(by_revisions) == set(TABLES)
    run(db, *(f"DROP TABLE {ddl.quote(name, db.family)}" for name in inspection.list_names(by_revisions)))
    assert shape(db) == {}
    migration.migrate(db)
    assert shape(db) == by_revisions


@NOT_SEEKDB
def test_d32_alembic_finds_no_difference_between_migrations_and_schema(db: Database) -> None:
    """Names, types, defaults and keys; `alembic revision --autogenerate` would write down any other difference."""
    migration.run_revisions(db)
    options = {"compare_type": True, "compare_server_default": is_other_default}
    with db.engines()[1].connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection, opts=options), schema_version.metadata)
    if db.family == "sqlite":  # there a unique constraint is a unique index: it is missed as one and left over as other
        kinds = ("add_constraint", "remove_index")
        unique = [{(one[1].name, *one[1].columns.keys()) for one in found if one[0] == kind} for kind in kinds]
        assert unique[0] == unique[1]
        found = [one for one in found if one[0] not in kinds]
    assert found == []


def is_other_default(*about: Any) -> bool | None:
    """Tell Alembic that a number is the same in each spelling, and to compare others itself."""
    texts = [re.sub("['()]", "", str(text)) for text in about[3::2]]
    is_number = all(re.fullmatch(r"-?\d+(\.\d+)?", text) for text in texts)
    return len(set(map(float, texts))) > 1 if is_number else None


def test_d29_a_half_made_database_is_finished(present: Database) -> None:
    unfinished = f"UPDATE schema_version SET version_num = '{migration.UNFINISHED}'"
    run(present, "DROP TABLE search_fresh", "DROP TABLE counters", unfinished)
    (found,) = (one for one in check_server(present) if one.severity == "error")
    assert found.remedy == "Run prompt-engine db init again"
    migration.ensure_present(present)
    assert inspection.list_differences(shape(present), present.family) == [] and migration.list_pending(present) == []


FOREIGN = {
    "alembic": ["CREATE TABLE schema_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)",
                "INSERT INTO schema_version VALUES ('a1b2c3d4e5f6')"],
    "tags": ["CREATE TABLE tags (id INTEGER PRIMARY KEY, name VARCHAR(50))", "INSERT INTO tags VALUES (1, 'x')"],
    "memories": ["CREATE TABLE memories (id INTEGER PRIMARY KEY, content VARCHAR(50), tags VARCHAR(50))",
                 "INSERT INTO memories VALUES (1, 'x', '[]')", "CREATE VIEW contents AS SELECT content FROM memories"],
    "a view": ["CREATE VIEW memories AS SELECT 1 AS id, 'x' AS content"],
}  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
def test_d30_tables_of_another_program_are_refused_by_name_and_stay_as_they_are(db: Database, name: str) -> None:
    """Opening a database must never change what is not ours: a search is enough to open one."""
    run(db, *FOREIGN[name])
    table = FOREIGN[name][0].split()[2]
    before = shape(db), db.read(text(f"SELECT * FROM {table}"), source="test")
    for open_it in (migration.ensure_present, migration.migrate, lambda _: open_database(url_of(db))):
        with pytest.raises(StoreError, match=rf"another program.*\b{table}\b.*database of its own"):
            open_it(db)
    assert [(one.severity, one.where) for one in check_server(db) if one.severity == "error"] == [("error", table)]
    assert (shape(db), db.read(text(f"SELECT * FROM {table}"), source="test")) == before


OTHERS = {
    "9998": (["UPDATE schema_version SET version_num = '9998'"], "newer program", "Update this program"),
    "column": (["ALTER TABLE chat_history_cache DROP COLUMN no_items",
                "UPDATE schema_version SET fingerprint = '0123456789abcdef'"],
               "chat_history_cache.no_items: the column is missing", "prompt-engine db check"),
}  # fmt: skip


@NOT_SEEKDB
@pytest.mark.parametrize("name", OTHERS)
def test_d31_a_database_of_another_schema_is_refused_by_name_and_stays_as_it_is(
    fresh_url: str, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    statements, what, remedy = OTHERS[name]
    monkeypatch.setenv("DATABASE_URL", fresh_url)
    with of_today(fresh_url) as db:
        run(db, *statements)
        before = shape(db), db.read(text("SELECT * FROM schema_version"), source="test")
        with pytest.raises(StoreError, match=what) as refused:
            migration.migrate(db)
        assert remedy.lower() in str(refused.value).lower()
        with pytest.raises(StoreError) as unopened:
            open_database(fresh_url)
        is_server_shape = name == "column" and db.family != "sqlite"  # an operator decides there when tables are read
        assert ("another build" if is_server_shape else what) in str(unopened.value)
        errors = [one for one in check_server(db) if one.severity == "error"]
        assert what.rpartition(": ")[2].lower() in f"{errors[0].what} {errors[0].remedy}".lower()
        for words in (("db", "migrate"), ("db", "check")):
            assert core.cli.main(words) == 1, words
            told = "".join(capsys.readouterr())
            assert all(part in " ".join(told.split()) for part in what.split(": ")), told
        assert (shape(db), db.read(text("SELECT * FROM schema_version"), source="test")) == before


def test_d31_not_a_byte_of_a_refused_file_changes(tmp_path: Path) -> None:
    """A file in the usual journal mode would be switched to another one by being opened for writing."""
    file = tmp_path / "other.sqlite3"
    with closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE memories (id INTEGER PRIMARY KEY)").close()
    before = file.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        open_database(f"sqlite:///{file}")
    assert file.read_bytes() == before and list(tmp_path.iterdir()) == [file]


def test_d31_tables_that_were_repaired_are_recorded_by_the_next_migration(present: Database) -> None:
    """The statements of `db check` make them equal; a type that is spelled otherwise may be equal from the start."""
    dropped, marked = OTHERS["column"][0]
    run(present, dropped)
    with pytest.raises(StoreError, match=r"chat_history_cache\.no_items: the column is missing"):
        migration.migrate(present)
    run(present, marked)
    errors = [one for one in check_server(present) if one.severity == "error"]
    assert [one.where for one in errors] == ["chat_history_cache.no_items", "schema_version"]
    run(present, errors[0].remedy.rstrip(";"))
    assert migration.list_pending(present)
    assert migration.migrate(present).changed and migration.list_pending(present) == []
    assert present.read(select(schema_version.c.fingerprint), source="test")[0][0] == ddl.build_fingerprint()


@pytest.mark.engines("sqlite")
def test_a_new_file_is_opened_while_another_program_makes_it(db: Database) -> None:
    """The first connection switches a file to WAL, and SQLite refuses that at once where another holds a lock."""
    holder = sqlite3.connect(db.target.url.database or "", check_same_thread=False, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    later = threading.Timer(0.3, holder.close)
    later.start()
    try:
        migration.ensure_present(db)
    finally:
        later.join()
    with closing(sqlite3.connect(db.target.url.database or "")) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@NOT_SEEKDB
def test_d31_a_program_writes_nothing_once_a_newer_one_migrates(present: Database, next_version: Any) -> None:
    """It would store rows that lack what the new tables ask for, and nobody would know which."""
    next_version()
    with closing(Database(url_of(present))) as newer:
        migration.migrate(newer)
        before = stored(newer)
        with pytest.raises(StoreError, match=r"version 9999, this program at 00\d\d.*[Uu]pdate this program"):
            insert_memory("Ann plays the clarinet.", db=present)
        assert stored(newer) == before
        insert_memory("Ann plays the clarinet.", db=newer)
        assert [hit["snippet"] for hit in search_memories(query="clarinet", db=newer)] == ["Ann plays the clarinet."]


MIGRATE = """
import sys
from pathlib import Path
from core.database.engine import Database
from core.upkeep import migration
migration.find_folder = lambda: Path(sys.argv[2])
migration.migrate(Database(sys.argv[1]))
"""


def start_migration(db: Database) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", MIGRATE, url_of(db), str(migration.find_folder())], cwd=ROOT)


@NOT_SEEKDB
def test_d29_a_killed_migration_is_completed_by_the_next(present: Database, next_version: Any, tmp_path: Path) -> None:
    """On a server each statement is stored at once, so the next run finds half of them done. An embedded database has
    nobody else to look after it and is migrated as it is opened; a server's operator decides."""
    insert_memory("Ann plays the clarinet.", db=present)
    before, half = shape(present), tmp_path / "half"
    next_version(f"import pathlib, time; pathlib.Path({str(half)!r}).touch(); time.sleep(600)")
    with start_migration(present) as child:
        while not half.exists():
            assert child.poll() is None
            time.sleep(0.02)
        child.kill()
    next_version()
    if present.family == "sqlite":
        assert shape(present) == before
        migration.ensure_present(present)
    else:
        assert ("memories", "type", "mood") in shape(present)
        with pytest.raises(StoreError, match="prompt-engine db migrate"):
            migration.ensure_present(present)
        assert migration.migrate(present).applied == ("9999",)
    assert shape(present)["memories", "index", "persona_id, mood"] == "ix_memories_mood"
    assert migration.list_pending(present) == [] and not migration.migrate(present).changed
    assert [hit["snippet"] for hit in search_memories(query="clarinet", db=present)] == ["Ann plays the clarinet."]


@pytest.mark.engines("mariadb", "mysql")
def test_d29_an_account_with_a_password_migrates(present: Database, next_version: Any) -> None:
    """A migration has a connection of its own, which waits longer."""
    next_version()
    with account(url_of(present), "ALL") as url, closing(Database(url)) as own:
        assert migration.migrate(own).applied == ("9999",)


@NOT_SEEKDB
@pytest.mark.slow
@pytest.mark.parametrize("is_empty", [True, False], ids=["empty", "a version behind"])
def test_d29_processes_that_migrate_at_once_wait_for_each_other(
    is_empty: bool, fresh_url: str, next_version: Any, request: pytest.FixtureRequest
) -> None:
    """Containers that start together all run `db migrate`, and programs that open a file migrate it."""
    url = fresh_url if is_empty else request.getfixturevalue("fresh_migrated_url")
    if not is_empty:
        next_version("import time; time.sleep(0.5)")
    with closing(Database(url)) as db:
        children = [start_migration(db) for _ in range(3)]
        assert [child.wait(120) for child in children] == [0, 0, 0]
        assert migration.list_pending(db) == [] and inspection.list_differences(shape(db), db.family) == []
        assert len(stored(db)["schema_version"]) == 1


def test_d29_tables_that_others_make_meanwhile_are_seen(fresh_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = inspection.read_facts

    def read_before_they_are_made(db: Database) -> Any:
        facts = read(db)
        monkeypatch.setattr(inspection, "read_facts", read)
        with closing(Database(fresh_url)) as other:
            migration.migrate(other)
        return facts

    monkeypatch.setattr(inspection, "read_facts", read_before_they_are_made)
    with closing(Database(fresh_url)) as db:
        assert migration.migrate(db).messages == (migration.NOTHING,)


@pytest.mark.engines("sqlite")
def test_d31_an_earlier_file_that_is_only_read_is_refused_by_name(present: Database, next_version: Any) -> None:
    next_version()
    with pytest.raises(StoreError, match=r"version 00.*this program at 9999.*prompt-engine db migrate"):
        open_database(f"{url_of(present)}?mode=ro")


def test_d1_an_insert_without_persona_lands_in_default(present: Database) -> None:
    for table in TABLES.values():
        if "persona_id" not in table.c:
            continue
        values = {c.name: example(c) for c in table.columns if not c.nullable and c.server_default is None}
        present.transaction(lambda c, t=table, v=values: c.execute(insert(t), v), source=table.name)
        assert present.read(select(table.c.persona_id), source=table.name)[-1][0] == "default", table.name


def example(column: Any) -> Any:
    made = {"Time": datetime(2026, 3, 10, 12, tzinfo=UTC), "Key": "k"}.get(type(column.type).__name__)
    if made is not None:
        return made
    kind = str(column.type).upper()
    return bytes(32) if isinstance(column.type, StoredBytes) else 1 if "INT" in kind or "NUMERIC" in kind else "x"


def test_d32_the_schema_files_are_up_to_date_and_make_the_database(db: Database) -> None:
    for path, content in schema_files.build_files().items():
        assert path.read_text(encoding="utf-8") == content, f"{path.name} is out of date"
    for statement in ddl.split_statements(schema_files.build_script(db.family)):
        db.transaction(lambda c, s=statement: c.exec_driver_sql(s), source="test")
    assert inspection.list_differences(inspection.read_facts(db), db.family) == []
    assert migration.list_pending(db) == [] and not migration.migrate(db).changed


def test_d32_alembic_and_the_program_know_the_same_revisions() -> None:
    """The program reads them from file names, so that opening a database does not load Alembic."""
    from alembic.script import ScriptDirectory

    script = ScriptDirectory(str(migration.find_folder()))
    assert [one.revision for one in script.walk_revisions()][::-1] == migration.list_revisions()
    assert script.get_heads() == migration.list_revisions()[-1:]
