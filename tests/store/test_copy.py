"""`db copy` and `db restore`: a whole database on another engine, with the same rows, privacy and search hits."""

import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, Text, event, exc, insert, literal, select, update
from sqlalchemy.engine import make_url

from core import privacy, tokens
from core.chat_history_cache import save_message
from core.database.dialects import ID, Decimal, Whole
from core.database.engine import Database
from core.database.schema import TABLES, chat_history_cache, memories, schema_version, tag_links
from core.db import copy_database, insert_memory, open_database
from core.errors import StoreError, StoreWriteError
from core.scope import Scope
from core.synth_core_memory import search_memories
from core.transfer.original import import_original
from core.upkeep import backup, inspection
from core.upkeep import copy as copying
from tests.databases import listening, run_script
from tests.servers import SERVERS
from tests.servers.family import Daemon
from tests.store import scenario
from tests.store.world import account, open_db, verify_index
from tests.unit.cli import conftest as cli_world
from tests.unit.cli.conftest import Command

run = cli_world.run

ROOT = Path(__file__).resolve().parents[2]
ANN, EVE = Scope("default", "web/ann", "web/ann", privacy="direct"), Scope("default", "web/eve", "web/eve")
TAB = "tab\t bell\x07 escape\x1b[31m line\u2028end\r\n"
HOSTILE = ("🐈‍⬛ and 猫", TAB, "x" * 1_000_000, "it's \\' \"quoted\" %s :name")


@pytest.fixture
def source_url(source_file: Path, tmp_path: Path) -> str:
    return f"sqlite:///{shutil.copy(source_file, tmp_path / 'source.db')}"


@pytest.fixture(scope="session")
def source_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with rows in nearly every table, and values that no server would take as they are."""
    file = tmp_path_factory.mktemp("copy") / "source.db"
    db = open_db(f"sqlite:///{file}")
    scenario.play(db)
    for number, text in enumerate(HOSTILE):
        insert_memory(text, "Ann", "chat", ["cat"], Scope(), metadata={"at": number, "text": text[:99]}, db=db)
    insert_memory("The safe code is marzipan.", "Ann", "chat", ["code"], ANN, db=db)
    save_message({"text": "Tofu sleeps on the piano", "interface_path": "web/room", "from_user": {"id": "ann"}}, db=db)
    tokens.add_token("host", label="a host", db=db)
    odd = {"content": literal(b"caf\xe9 bytes"), "importance": 0.61234}
    marked = update(memories).where(memories.c.content == HOSTILE[0]).values(odd)
    by_sql = {"message_text": "by sql a quokka", "interface_path": "web/room", "sender_id": "bob"}
    for statement in (marked, insert(chat_history_cache).values(by_sql)):
        db.transaction(lambda c, statement=statement: c.execute(statement), source="test")
    db.close()
    return file


def read_all(url: str, *left_out: str) -> dict[str, list[Any]]:
    """Return the rows of each table but the index, as a copy reads them."""
    with closing(Database(url)) as db, db.connection(source="test") as connection:
        kept = [table for name, table in TABLES.items() if name not in (*copying.INDEX, *left_out)]
        return {table.name: sorted(copying._read_rows(connection, table), key=repr) for table in kept}


def find(url: str, text: str, scope: Scope = EVE) -> list[str]:
    with closing(open_database(url)) as db:
        return [hit["snippet"] for hit in search_memories(query=text, scope=scope, db=db)]


@pytest.mark.slow
@pytest.mark.dialects
def test_d36_a_copy_and_back_has_equal_rows_privacy_and_hits(source_url: str, fresh_url: str, tmp_path: Path) -> None:
    before = Path(source_url.removeprefix("sqlite:///")).read_bytes()
    back = f"sqlite:///{tmp_path / 'back.db'}"
    stages: list[str] = []
    done = copy_database(source_url, fresh_url, tokens=True, progress=lambda *at: stages.append(at[0]))
    assert Path(source_url.removeprefix("sqlite:///")).read_bytes() == before
    assert done.repaired == 1 and done.rows["memories"] > 5 and {"memories", "audiences"} <= set(stages)
    waiting = read_all(source_url)
    copy_database(fresh_url, back, tokens=True)
    rows = read_all(back)
    assert rows == read_all(fresh_url)
    changed = [name for name in rows if rows[name] != waiting[name]]
    assert set(changed) <= {"chat_history_cache", "audiences", "counters"}  # the row inserted by SQL was indexed
    for url in (source_url, fresh_url, back):
        assert find(url, "marzipan") == [] and find(url, "marzipan", ANN) == ["The safe code is marzipan."]
        assert len(find(url, "piano quokka")) == 2
        with closing(open_db(url)) as db:
            assert verify_index(db) == []
    with closing(open_db(source_url)) as one, closing(open_db(back)) as other:
        for text in ("cat", "Straße 50%", "猫", "Tofu", "bytes"):
            hits = [search_memories(query=text, scope=Scope(scenario.PERSONA), db=db) for db in (one, other)]
            assert hits[0] == hits[1]


@pytest.mark.parametrize("stopped_at", ["chat_history_cache", "memories", "audiences"])
def test_d36_a_copy_that_was_cut_off_goes_on_doubles_nothing_and_leaves_tokens_out(
    source_url: str, fresh_url: str, stopped_at: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stop(table: str, done: int, total: int) -> None:
        if table == stopped_at and (done > 2 or table == "audiences"):
            raise KeyboardInterrupt

    monkeypatch.setattr(copying, "ROWS_AT_ONCE", 3)
    with pytest.raises(KeyboardInterrupt):
        copy_database(source_url, fresh_url, progress=stop)
    with pytest.raises(StoreError, match=r"was cut off.*Run `prompt-engine db copy` again"):
        open_database(fresh_url)
    with pytest.raises(StoreError, match="was cut off"):
        copy_database(fresh_url, source_url)
    before = read_all(fresh_url)
    open_database(other := f"sqlite:///{tmp_path / 'other.db'}").close()
    with pytest.raises(StoreError, match="unfinished copy of another source"):
        copy_database(other, fresh_url)
    assert read_all(fresh_url) == before
    with closing(Database(source_url)) as db:  # the source goes on living
        db.transaction(lambda c: c.execute(update(tag_links).values(weight=0.5)), source="test")
    done = copy_database(source_url, fresh_url)
    assert (done.source, done.tokens_left) == (source_url, 1) and "access_tokens" not in done.rows
    assert read_all(fresh_url)["access_tokens"] == []
    rows, wanted = read_all(fresh_url, "access_tokens"), read_all(source_url, "access_tokens")
    assert [name for name in rows if len(rows[name]) != len(wanted[name])] in ([], ["audiences"])
    assert rows["tag_links"] == wanted["tag_links"] and rows["memories"] == wanted["memories"]
    with closing(open_db(fresh_url)) as db:
        assert verify_index(db) == []


@pytest.mark.slow
@pytest.mark.parametrize("stopped_at", ["audiences", "tag_links"])
def test_d36_a_copy_cut_off_before_all_tables_are_made_is_refused_and_goes_on(
    run: Command, source_url: str, fresh_url: str, stopped_at: str
) -> None:
    def stop(_: object, __: object, statement: str, *___: object) -> None:
        if re.match(rf"CREATE TABLE (IF NOT EXISTS )?[`\"]?{stopped_at}\b", statement):
            raise KeyboardInterrupt

    with listening(Engine, "before_cursor_execute", stop), pytest.raises(KeyboardInterrupt):
        copy_database(source_url, fresh_url)
    with pytest.raises(StoreError, match=r"was cut off.*Run `prompt-engine db copy` again"):
        open_database(fresh_url)
    for command in ("check", "migrate"):
        said = run("db", command, "--database", fresh_url)
        assert said.code == 1 and "prompt-engine db copy` again" in said.out + said.err
    copy_database(source_url, fresh_url)
    assert read_all(fresh_url)["memories"] == read_all(source_url)["memories"]


KILLED = """
import os, signal, sys
from sqlalchemy import Engine, event
from core.db import copy_database

source, target, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])

def step(*_):
    global steps
    steps -= 1
    if steps < 0:
        os.kill(os.getpid(), signal.SIGKILL)

def connected(connection, _):
    (file,) = [row[2] for row in connection.execute("PRAGMA database_list")]
    if file != source:
        step()

def executed(connection, *_):
    if source not in str(connection.engine.url):
        step()

event.listen(Engine, "connect", connected)
event.listen(Engine, "before_cursor_execute", executed)
event.listen(Engine, "commit", executed)
copy_database(f"sqlite:///{source}", f"sqlite:///{target}")
"""


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.parametrize("steps", [0, 1, 3, 6])
def test_d36_a_copy_killed_at_once_leaves_no_empty_memory(source_url: str, tmp_path: Path, steps: int) -> None:
    """Nobody takes a file with nothing in it for a new memory."""
    source, target = Path(source_url.removeprefix("sqlite:///")), tmp_path / "new.db"
    command = [sys.executable, "-c", KILLED, str(source), str(target), str(steps)]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    if target.exists():
        with pytest.raises(StoreError, match=r"was cut off.*Run `prompt-engine db copy` again"):
            open_database(f"sqlite:///{target}")
    copy_database(source_url, f"sqlite:///{target}")
    assert read_all(f"sqlite:///{target}")["memories"] == read_all(source_url)["memories"]


TOO_LARGE = {
    chat_history_cache.c.sender_name: "N" * 400, chat_history_cache.c.message_text: "é" * 9_000_000,
    chat_history_cache.c.sender_id: "k" * 400, memories.c.intensity: 2**62, memories.c.importance: 12.5,
    memories.c.local_only: 300,
}  # fmt: skip


@pytest.mark.parametrize(("column", "value"), TOO_LARGE.items(), ids=str)
def test_d36_a_value_over_its_column_is_named_first(fresh_url: str, tmp_path: Path, column: Any, value: object) -> None:
    """A SQLite file takes it; on a server it would be cut, or stop the copy half way."""
    url = f"sqlite:///{tmp_path / 'source.db'}"
    with closing(open_database(url)) as db:
        insert_memory("a fact", "ann", "chat", [], EVE, db=db)
        save_message({"text": "hi", "interface_path": "web/room", "from_user": {"id": "ann"}}, db=db)
        (row,) = db.read(select(column.table.c.id), source="test")
        change = update(column.table).values({column.name: literal(value, Text() if isinstance(value, str) else None)})
        db.transaction(lambda c: c.execute(change), source="test")
    with pytest.raises(StoreError, match=rf"No server takes {column} of row {row.id}: .*Correct it\."):
        copy_database(url, fresh_url)
    with closing(Database(fresh_url)) as db:
        assert inspection.read_facts(db) == {}


def test_d36_every_column_of_numbers_has_a_limit() -> None:
    numbers = [c.type for table in TABLES.values() for c in table.columns if isinstance(c.type, Whole | Decimal)]
    assert {kind for kind in numbers if kind is not ID} == copying.MOST.keys()


def test_d36_a_copy_whose_commit_is_lost_is_run_again(source_url: str, tmp_path: Path) -> None:
    def lose(_: Connection) -> None:
        raise exc.OperationalError("COMMIT", {}, Exception(2013, "lost"), connection_invalidated=True)

    new = f"sqlite:///{tmp_path / 'new.db'}"
    try:
        with pytest.raises(StoreWriteError, match=r"could not be written: .*\(error 2013\)\. Run the copy again: it"):
            copy_database(source_url, new, progress=lambda *_: event.listen(Engine, "commit", lose))
    finally:
        event.remove(Engine, "commit", lose)


def test_d36_a_target_with_rows_and_a_source_of_another_schema_are_refused(source_url: str, fresh_url: str) -> None:
    with closing(open_database(fresh_url)) as db:
        insert_memory("kept", "ann", "chat", [], Scope(), db=db)
    with pytest.raises(StoreError, match=r"holds rows already, in .*memories"):
        copy_database(source_url, fresh_url)
    assert find(fresh_url, "kept") == ["kept"]
    with closing(Database(source_url)) as db:
        db.transaction(lambda c: c.execute(update(schema_version).values(fingerprint="0")), source="test")
    with pytest.raises(StoreError, match=r"are those of another build at version \d+\. Run `prompt-engine db migrate`"):
        copy_database(source_url, fresh_url)


def test_d36_a_copy_killed_after_its_end_is_complete_run_again(run: Command, fresh_url: str, tmp_path: Path) -> None:
    """Whoever sees it cut off runs it again, and nobody has written to the target."""
    url = f"sqlite:///{tmp_path / 'source.db'}"
    with closing(open_database(url)) as db:
        insert_memory("a fact", "ann", "chat", [], EVE, db=db)
    first, again = run("db", "copy", url, fresh_url), run("db", "copy", url, fresh_url)
    assert (first.code, again.code, again.json) == (0, 0, first.json)
    assert "The copy is complete" in again.err and find(fresh_url, "fact") == ["a fact"]
    with closing(open_database(fresh_url)) as db:
        insert_memory("another fact", "ann", "chat", [], EVE, db=db)
    refused = run("db", "copy", url, fresh_url)
    assert refused.code == 1 and "holds rows already" in refused.err and len(find(fresh_url, "fact")) == 2
    (tmp_path / "link.db").symlink_to(tmp_path / "source.db")
    (tmp_path / "hard.db").hardlink_to(tmp_path / "source.db")
    others = [f"sqlite:///{tmp_path / name}" for name in ("source.db", "link.db", "hard.db")]
    for source, target in (*((url, other) for other in others), (fresh_url, fresh_url)):
        assert "the same database" in run("db", "copy", source, target).err


def test_d36_a_source_that_is_not_there_is_named_as_it_was_written(tmp_path: Path) -> None:
    target, own = f"sqlite:///{tmp_path / 'target.db'}", open_database("sqlite://")
    for file in ("nowhere.db", "no-folder/nowhere.db"):
        missing = f"sqlite:///{tmp_path / file}"
        for read in (lambda url: copy_database(url, target), lambda url: import_original(url, db=own)):
            with pytest.raises(StoreError, match=r"does not exist\. .*[Cc]orrect the address") as refused:
                read(missing)
            said = str(refused.value)
            assert str((tmp_path / file).parent) in said and "mode=ro" not in said and "DATABASE_URL" not in said
    assert list(tmp_path.iterdir()) == []


def test_d36_the_command_copies_backs_up_and_restores(
    run: Command, source_url: str, fresh_url: str, engine_name: str, tmp_path: Path
) -> None:
    ran = run("db", "copy", source_url, fresh_url, "--tokens")
    assert ran.code == 0 and ran.json["rows"]["access_tokens"] == 1 and "1 value;" in ran.err, ran.err
    left = run("db", "copy", source_url, f"sqlite:///{tmp_path / 'left.sqlite3'}")
    assert "Not copied: 1 access token. " in left.err and "Not copied" not in ran.err
    again = run("db", "copy", source_url, fresh_url)
    assert again.code == 1 and "holds rows already" in again.err
    if engine_name != "sqlite":
        return
    assert run("db", "backup", "kept", "--database", fresh_url).code == 0
    taken = run("db", "restore", "kept", fresh_url)
    assert taken.code == 1 and "holds" in taken.err and "Nothing was changed" in taken.err
    target = f"sqlite:///{tmp_path / 'restored.db'}"
    assert run("db", "restore", "kept", target).code == 0 and read_all(target) == read_all(fresh_url)
    assert "run `prompt-engine db copy" in run("db", "restore", "kept", "mysql://u:p@127.0.0.1:1/n").err
    assert "dump of a server goes to a server" in run("db", "restore", __file__, f"sqlite:///{tmp_path / 'x.db'}").err


def test_g26_a_database_address_may_be_named_by_a_variable_or_a_file(
    run: Command, source_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of processes shows every argument to everybody on the machine."""
    (tmp_path / "to").write_text(f"sqlite:///{tmp_path / 'to.db'}\n")
    (tmp_path / "secret").write_text("hunter2\n")
    monkeypatch.setenv("SOURCE", source_url)
    assert run("db", "copy", "env:SOURCE", f"file:{tmp_path / 'to'}").json["target"].endswith("to.db")
    assert run("db", "check", "--database", f"file:{tmp_path / 'to'}").code == 0
    assert run("db", "backup", "kept", "--database", "env:SOURCE").code == 0
    monkeypatch.setenv("TARGET", f"sqlite:///{tmp_path / 'restored.db'}")
    assert run("db", "restore", "kept", "env:TARGET").code == 0
    refused = [run("db", "check", "--database", each) for each in ("env:NOT_SET", f"file:{tmp_path / 'secret'}")]
    assert [(each.code, "holds no database address" in each.err) for each in refused] == [(2, True)] * 2
    assert "hunter2" not in str(refused)
    gone = run("db", "copy", "env:SOURCE", "file:/nowhere/at/all")
    assert gone.code == 1 and "/nowhere/at/all: No such file" in gone.err


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_d36_a_lost_files_journal_is_named_and_kept(run: Command, source_url: str, tmp_path: Path, ending: str) -> None:
    """SQLite would add its rows to the restored file, or replace all of them."""
    assert run("db", "backup", "kept", "--database", source_url).code == 0
    left, target = tmp_path / f"new.db{ending}", f"sqlite:///{tmp_path / 'new.db'}"
    left.write_bytes(b"of another file")
    for command in (("db", "restore", "kept", target), ("db", "copy", source_url, target)):
        ran = run(*command)
        assert ran.code == 1 and f"{left} belongs to another file. Nothing was changed. Move it away" in ran.err
        assert left.read_bytes() == b"of another file" and not (tmp_path / "new.db").exists()


@pytest.mark.posix
def test_d36_a_backup_that_does_not_fit_on_the_disk_leaves_none(run: Command, source_url: str, tmp_path: Path) -> None:
    import resource

    before = sorted(tmp_path.iterdir())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        ran = run("db", "backup", str(tmp_path / "kept"), "--database", source_url)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert ran.code == 1 and "cannot be written" in ran.err
    assert sorted(tmp_path.iterdir()) == before


def test_d36_a_restored_file_is_read_before_it_is_reported(
    run: Command, source_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program may write into the file at the same moment."""
    copy = backup._copy_file
    assert run("db", "backup", "kept", "--database", source_url).code == 0

    def copy_and_change(source: Path, part: Path) -> None:
        copy(source, part)
        with closing(sqlite3.connect(part)) as other:
            other.execute("UPDATE memories SET author = 'eve'")
            other.commit()

    monkeypatch.setattr(backup, "_copy_file", copy_and_change)
    ran = run("db", "restore", "kept", f"sqlite:///{tmp_path / 'new.db'}")
    assert ran.code == 1 and "differs from 'kept' in memories" in ran.err and ran.out == ""


def put_client(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, script: str) -> None:
    tool = folder / "bin" / name
    tool.parent.mkdir(exist_ok=True)
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o700)
    monkeypatch.setenv("PATH", str(tool.parent))


@pytest.fixture
def clients(engine_name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Put the clients of the server on PATH, and nothing else; return their names, none where they are not here."""
    kind = SERVERS.get(engine_name)
    found = kind.clients() if kind is not None and issubclass(kind, Daemon) else {}
    for name, words in {"none": ["exit"], **found}.items():
        put_client(tmp_path, monkeypatch, name, f'exec {shlex.join(words)} "$@"')
    return list(found)


@pytest.fixture
def own_url(fresh_url: str, engine_name: str) -> Iterator[str]:
    """The database as an account reads it that has a password, and the rights of `docs/servers.md` alone."""
    if engine_name == "sqlite":
        yield fresh_url
        return
    rights = re.search(r"GRANT (.+) ON persona", (ROOT / "docs/servers.md").read_text(encoding="utf-8"))
    with closing(Database(fresh_url)) as db:
        socket = db.read("SELECT @@socket", (), source="test")[0][0]  # over TCP this server has no key for a login
    where = make_url(fresh_url).set(username="keeper", password='ge"h #im', query={"unix_socket": str(socket)})
    grant = f"GRANT {rights and rights[1]} ON `{where.database}`.* TO keeper"
    run_script(fresh_url, f"""DROP USER IF EXISTS keeper;\nCREATE USER keeper IDENTIFIED BY 'ge"h #im';\n{grant}""")
    yield where.render_as_string(hide_password=False)
    run_script(fresh_url, "DROP USER keeper")


@pytest.mark.slow
@pytest.mark.engines("sqlite", "mariadb", "mysql")
def test_d36_a_backup_that_is_restored_has_every_row_and_privacy_setting(
    run: Command, source_url: str, own_url: str, clients: list[str], engine_name: str, tmp_path: Path
) -> None:
    """The clients are those of the server. `python -m tests.servers install` obtains them where they are missing."""
    copy_database(source_url, own_url, tokens=True)
    with closing(open_database(own_url)) as db:
        for place, level in (("web/ann", "direct"), ("web/staff", "restricted"), ("web/square", "public")):
            scope = Scope("default", place, "web/ann", "guild", privacy=level)  # type: ignore[arg-type]
            save_message({"text": f"the word is {level}", "interface_path": place}, db=db, scope=scope)
        privacy.set_privacy("web/eve", "partial", db=db, scope=EVE)
    before = read_all(own_url)
    assert all(before[name] for name in ("memories", "audiences", "privacy_levels", "access_tokens"))
    ran = run("db", "backup", "kept", "--database", own_url)
    if engine_name != "sqlite" and not clients:
        print(f"{engine_name}: its clients are not on this machine; {ran.err}")
        assert ran.code == 1 and "is installed here. Install one, or run where the server is" in ran.err
        return
    assert ran.code == 0, ran.err
    delete_database(own_url)
    target = own_url if engine_name != "sqlite" else f"sqlite:///{tmp_path / 'restored.db'}"
    restored = run("db", "restore", "kept", target)
    assert restored.code == 0, restored.err
    assert read_all(target) == before
    with closing(open_database(target)) as db:
        assert verify_index(db) == []
    assert run("db", "check", "--database", target).code == 0
    assert find(target, "marzipan") == [] and find(target, "marzipan", ANN) == ["The safe code is marzipan."]


@pytest.mark.engines("mariadb", "mysql")
def test_d36_a_backup_without_tables_that_the_account_may_not_read_is_none(
    run: Command, fresh_migrated_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A dump leaves out tables in silence that the account may not read."""
    put_client(tmp_path, monkeypatch, "mariadb-dump", 'echo "-- Dump completed"')
    assert run("db", "backup", "whole.sql", "--database", fresh_migrated_url).code == 0
    with account(fresh_migrated_url, "SELECT", TABLES.keys() - {"privacy_levels"}) as url:
        partial = run("db", "backup", "partial.sql", "--database", url)
    assert partial.code == 1 and "may not read privacy_levels" in partial.err and not Path("partial.sql").exists()


def delete_database(url: str) -> None:
    name = str(make_url(url).database)
    if url.startswith("sqlite"):
        Path(name).unlink()
    else:
        run_script(url, f"DROP DATABASE `{name}`;\nCREATE DATABASE `{name}` CHARACTER SET utf8mb4")


@pytest.mark.engines("mariadb", "mysql", extras=True)
def test_d36_a_dump_is_read_by_the_client_that_is_there(
    run: Command, fresh_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dump = tmp_path / "today.sql"
    dump.write_text("-- a dump\n")
    put_client(tmp_path, monkeypatch, "other", "exit 1")
    cut = run("db", "restore", dump, fresh_url)
    assert cut.code == 1 and "does not end with" in cut.err
    with dump.open("a") as file:
        file.write("-- Dump completed on 2026-03-10 12:00:00\n")
    missing = run("db", "restore", dump, fresh_url)
    assert missing.code == 1 and "Neither mariadb nor mysql is installed here" in missing.err
    put_client(tmp_path, monkeypatch, "mysql", "echo 'ERROR 1064 at line 7' >&2; exit 1")
    assert "1064 at line 7. Empty the target" in run("db", "restore", dump, fresh_url).err
    put_client(tmp_path, monkeypatch, "mysql", 'PATH=/usr/bin:/bin; echo "$2" > arguments.txt; cat > read.sql')
    assert run("db", "restore", dump, fresh_url).code == 0 and (tmp_path / "read.sql").read_text() == dump.read_text()
    assert (tmp_path / "arguments.txt").read_text().strip() == Database(fresh_url).target.url.database
    with closing(open_database(fresh_url)):
        refused = run("db", "restore", dump, fresh_url)
    assert refused.code == 1 and "holds 3" in refused.err and "Name an empty database" in refused.err
