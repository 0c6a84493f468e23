"""Opening a database, and what people are told when that fails."""

import shutil
import sqlite3
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pymysql
import pytest
from sqlalchemy import text

from core.calls.defaults import EMBEDDED_FILE, configure, handle
from core.chat_history_cache import load_chat_history, save_chat_message
from core.database import connections, failures, files
from core.database.engine import Database
from core.database.ids import Ids, made_at
from core.db import check_server, insert_memory, open_database
from core.errors import ConfigError, StoreError, StoreReadError, StoreWriteError
from core.prompt_engine import explain_json_prompt
from core.scope import Scope
from core.synth_core_memory import search_memories
from core.upkeep import check
from tests.databases import listening
from tests.servers import Server
from tests.store.scenario import differing, expected, play
from tests.store.world import account, full_disk, of_today, open_db

pytestmark = pytest.mark.dialects

SERVERS = pytest.mark.engines("mariadb", "mysql")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "own.db"
    with closing(open_database(f"sqlite:///{path}")) as db:
        insert_memory("Ann likes green tea", "ann", "chat", ["tea"], db=db)
    return path


@pytest.mark.parametrize("now", [datetime.now, time.time])
def test_g28_a_clock_without_a_zone_is_refused_where_it_is_given(now: Any) -> None:
    """It failed later, in a call that does not name the clock."""
    with pytest.raises(ValueError, match=r"clock returns no time with a zone.*datetime\.now\(timezone\.utc\)"):
        open_database("sqlite://", clock=now)


def test_g28_a_clock_before_2025_still_gives_each_process_ids_of_its_own() -> None:
    """A board without a battery starts in 1970: two processes that count from 1 overwrite each other."""
    past = datetime(1970, 1, 1, tzinfo=UTC)
    first, second = Ids(lambda: past), Ids(lambda: past)
    mine, theirs = first.take(100), second.take(100)
    assert not set(mine) & set(theirs) and mine == sorted(set(mine))
    assert max(mine + theirs) < Ids(lambda: datetime(2026, 1, 1, tzinfo=UTC)).one()
    assert Ids(lambda: datetime(2090, 1, 1, tzinfo=UTC)).one() < 2**53


@pytest.mark.parametrize("year", [2095, 2300, 9999])
def test_g28_f59_ids_rise_below_2_to_the_53_when_the_clock_jumps_ahead_and_back(year: int) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    ahead, times = datetime(year, 1, 1, tzinfo=UTC), [now]
    ids = Ids(lambda: times[-1])
    made = ids.take(3)
    times.append(ahead)
    made += ids.take(5000)
    ids.jump()
    times.append(now + timedelta(days=1))
    made += ids.take(3)
    times[-1] -= timedelta(hours=12)
    made += ids.take(3)
    assert made == sorted(set(made)) and made[-1] < 2**53
    assert made_at(made[-1]).date() == (now + timedelta(days=1)).date() and Ids(lambda: ahead).one() < 2**42


def test_g28_rows_whose_ids_are_taken_are_stored_under_new_ones(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes may make the same id within a millisecond; neither may lose its row."""
    memory, line = insert_memory("Tea", "ann", "chat", [], db=db), save_chat_message("web/7", "Hi", "Ann", db=db)
    monkeypatch.setattr(db.ids, "one", lambda: memory)
    again = insert_memory("Coffee", "ann", "chat", [], db=db)
    monkeypatch.setattr(db.ids, "one", lambda: line.id)
    second = save_chat_message("web/7", "Hello", "Ann", db=db)
    assert second.stored and again != memory and second.id != line.id
    assert {hit["snippet"] for hit in search_memories(keywords=["tea", "coffee"], db=db)} == {"Tea", "Coffee"}
    texts = {each["text"] for each in load_chat_history("web/7", db=db)}
    assert texts == {"Hi", "Hello"}, "in either order: the clock stands still, and a new id is drawn"


@pytest.mark.parametrize("login", ["pa@zebra@host", "zebra/x@y@host", "a?b@zebra@host", "pa@zebra:w/d@host",
                                   "pa@zebra:w/d@host:3306"])  # fmt: skip
def test_f73_a_password_is_never_shown_and_its_signs_are_escaped(login: str) -> None:
    with pytest.raises(ConfigError, match="%40") as caught:
        Database(f"mysql://ann:{login}/name")
    assert "zebra" not in str(caught.value)
    wrong: Any = 7
    with pytest.raises(ConfigError, match="'type int' is not a connection string"):
        Database(wrong)
    target = connections.parse_url("mysql://ann:pa%40ss%2Fword@host/name?unix_socket=/run/my@sock")
    assert (target.url.password, target.url.host, "word" in target.shown) == ("pa@ss/word", "host", False)


@pytest.mark.parametrize(
    ("query", "named"), [("tsl=on", ": 'tsl'"), ("tsl=on&tls=on&chrset=x", ": 'tsl', 'chrset'"), ("zebra7=on", "")]
)
def test_f73_a_mistyped_parameter_is_named_and_no_part_of_a_password(query: str, named: str) -> None:
    with pytest.raises(ConfigError, match=rf"parameters that are not known{named}\. Behind .* tls, tls_ca"):
        Database(f"mysql://ann:secret@host/name?{query}")


@pytest.mark.parametrize("option", [{"pool_size": -1}, {"pool_size": "8"}, {"size": 8}])
def test_g25_an_option_that_cannot_be_is_refused_where_a_database_is_opened(option: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=f"__init__.*{min(option)}|^{min(option)} is "):
        open_database("sqlite://", **option)


def test_f54_mode_ro_reads_and_never_writes(file: Path) -> None:
    with closing(open_database(f"sqlite:///{file}?mode=ro")) as db:
        assert len(search_memories(keywords=["tea"], db=db)) == 1
        with pytest.raises(StoreWriteError, match="read only") as caught:
            insert_memory("Bob likes cake", "bob", "chat", [], db=db)
        assert caught.value.number == 1290 and [one for one in check.check_server(db) if one.severity == "error"] == []
    with pytest.raises(StoreError, match="cannot be opened"):
        open_database(f"sqlite:///{file.with_name('none.db')}?mode=ro")
    assert not file.with_name("none.db").exists()


def test_a_new_file_is_private_from_its_creation(tmp_path: Path) -> None:
    """Whoever has an account on the machine must not read what people said; nor in the files beside it."""
    with closing(open_database(f"sqlite:///{tmp_path / 'own.db'}")) as db:
        insert_memory("Ann likes green tea", "ann", "chat", [], db=db)
        assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.glob("own.db*")} == {0o600}


def test_f52_a_busy_new_file_is_waited_for() -> None:
    connection = Mock(OperationalError=sqlite3.OperationalError)
    connection.execute.side_effect = [sqlite3.OperationalError("database is locked"), Mock()]
    connections._start_wal(connection, 1)


@pytest.mark.parametrize("how", ["replaced", "removed"])
def test_f52_a_file_that_was_replaced_under_a_running_process_is_noticed(file: Path, how: str) -> None:
    copy = file.with_name("backup.db")
    shutil.copy(file, copy)
    db = open_database(f"sqlite:///{file}")
    insert_memory("before", "ann", "chat", [], db=db)
    if how == "replaced":
        copy.replace(file)
    else:
        file.unlink()
    with pytest.raises(StoreWriteError, match=how):
        insert_memory("lost", "ann", "chat", [], db=db)
    for beside in ("-wal", "-shm"):
        file.with_name(file.name + beside).unlink(missing_ok=True)
    if how == "removed":
        with pytest.raises(StoreReadError, match="removed"):
            search_memories(keywords=["tea"], db=db)
        with pytest.raises(StoreReadError, match="removed"):
            check.check_server(db)
        assert not file.exists()
        copy.replace(file)
    insert_memory("afterwards", "ann", "chat", [], db=db)
    with sqlite3.connect(file) as other:
        stored = [row[0] for row in other.execute("SELECT content FROM memories ORDER BY id")]
    assert stored == ["Ann likes green tea", "afterwards"]
    db.close()


@pytest.mark.parametrize(("said", "told"), [
    ("'pynacl' package is required for ed25519_password auth method", "pynacl"),
    ("'cryptography' package is required for sha256_password or caching_sha2_password", "prompt-engine[mysql]"),
])  # fmt: skip
def test_f52_a_login_that_needs_a_package_names_it(monkeypatch: pytest.MonkeyPatch, said: str, told: str) -> None:
    monkeypatch.setattr(pymysql, "connect", Mock(side_effect=RuntimeError(said)))
    db = Database("mysql://ann:secret@127.0.0.1:1/name", timeout_seconds=1)
    with pytest.raises(StoreReadError) as caught:
        db.read(text("SELECT 1"), source="test")
    assert told in str(caught.value)


@SERVERS
def test_d34_too_many_connections_of_an_account_are_waited_for_and_explained(fresh_migrated_url: str) -> None:
    """1226 and 1203: our own idle connections are closed, and the call is tried again."""
    with account(fresh_migrated_url, "ALL", limit="WITH MAX_USER_CONNECTIONS 1") as url:
        mine, other = Database(url, timeout_seconds=3), Database(url, timeout_seconds=3)
        assert mine.read(text("SELECT 1"), source="test")[0][0] == 1
        mine.transaction(lambda c: c.execute(text("SELECT 1")).scalar(), source="test")  # its idle reader gave way
        with pytest.raises(StoreReadError, match="connections") as caught, mine.connection(source="test"):
            other.read(text("SELECT 1"), source="test")
        assert caught.value.number in failures.CROWDED
        mine.close()
        threading.Event().wait(0.1)
        assert other.read(text("SELECT 1"), source="test")[0][0] == 1
        other.close()


@pytest.mark.posix
def test_f54_a_file_on_a_read_only_medium_is_opened_as_immutable(file: Path) -> None:
    """SQLite makes files beside one that it reads; here, as there, it cannot."""
    file.with_name(f"{file.name}-shm").symlink_to("/nowhere/at/all")
    with pytest.raises(StoreReadError, match=r"read-only medium .*\?immutable=1"):
        open_database(f"sqlite:///{file}?mode=ro")
    with closing(open_database(f"sqlite:///{file}?immutable=1")) as db:
        assert [hit["snippet"] for hit in search_memories(keywords=["tea"], db=db)] == ["Ann likes green tea"]
        with pytest.raises(StoreWriteError, match="immutable=1"):
            insert_memory("Ann likes coffee", "ann", "chat", [], db=db)
        assert [one for one in check_server(db) if one.severity == "error"] == []


@pytest.mark.posix
def test_f54_a_program_started_on_a_full_disk_builds_prompts_and_writes_later(file: Path) -> None:
    """No other program has the file open, so SQLite would have to make its files first."""
    with full_disk(), closing(open_database(f"sqlite:///{file}")) as db:
        assert [hit["snippet"] for hit in search_memories(keywords=["tea"], db=db)] == ["Ann likes green tea"]
        prompt, report = explain_json_prompt({"text": "tea?"}, db=db)
        assert "green tea" in str(prompt) and report["errors"] == []
        with pytest.raises(StoreWriteError, match="disk is full: free space") as caught:
            insert_memory("Bob likes cake", "bob", "chat", [], db=db)
        assert caught.value.number == 1021
    for more in ("with space again", "and again"):
        insert_memory(f"tea {more}", "bob", "chat", [], db=db)
        assert f"tea {more}" in [hit["snippet"] for hit in search_memories(keywords=["tea"], db=db)]


@pytest.mark.posix
def test_f54_rows_of_a_journal_are_never_left_out(file: Path) -> None:
    """A program that was killed leaves rows there which the file lacks."""
    file.with_name(f"{file.name}-wal").write_bytes(b"x" * 100)
    with full_disk(), pytest.raises(StoreReadError, match="disk is full: free space") as caught:
        open_database(f"sqlite:///{file}")
    assert caught.value.number == 1021


def test_f73_no_file_is_made_where_none_can_be_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Desktop programs start an MCP server in `/`; and a folder may be gone."""
    (tmp_path / "my data").mkdir()
    files.check_folder(f"sqlite:///{tmp_path}/my%20data/persona.db")  # there as in an address
    monkeypatch.delenv("DATABASE_URL", raising=False)
    (tmp_path / "gone").mkdir()
    for folder in ("/", tmp_path / "gone"):
        monkeypatch.chdir(folder)
        if folder != "/":
            folder.rmdir()
        with pytest.raises(ConfigError, match=r"DATABASE_URL.*sqlite:////"):
            open_database()
        assert not Path("/prompt-engine.sqlite3").exists()
    monkeypatch.chdir(tmp_path)


@SERVERS
def test_f52_a_text_larger_than_the_packet_is_told_so(make_server: Callable[..., Server], server_name: str) -> None:
    server = make_server(server_name)
    with of_today(server.create_database("packets"), timeout_seconds=5) as db:
        server.execute("SET GLOBAL max_allowed_packet = 1048576")
        db.close()
        # 600 kB are stored twice, and half of a text of quotes is what protects them on the way
        for content in ("a" * 3_000_000, "ж" * 300_000, "'" * 300_000):
            with pytest.raises(StoreWriteError, match="max_allowed_packet"):
                insert_memory(content, "ann", "chat", [], db=db)
            assert db.repeats == Counter(), "no other connection takes it either"
        insert_memory("a" * 450_000, "ann", "chat", [], db=db)


@SERVERS
def test_f52_a_large_text_on_a_lost_connection_is_no_large_packet(db: Database) -> None:
    """The server takes 8 MB: what ended the connection is the network."""
    lose, large = Mock(side_effect=pymysql.err.OperationalError(2013, "Lost connection")), {"large": "a" * 1_500_000}
    with listening(db.engines()[0], "do_execute", lose), pytest.raises(StoreReadError, match="was lost") as caught:
        db.read(text("SELECT :large"), large, source="test")
    assert "max_allowed_packet" not in str(caught.value)


MODES = "NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT,IGNORE_SPACE,HIGH_NOT_PRECEDENCE,NO_ZERO_IN_DATE,NO_ZERO_DATE"
PADDED = "PAD_CHAR_TO_FULL_LENGTH"
LAX = ({"sql_mode": "''", "time_zone": "'+05:00'"}, "READ UNCOMMITTED", "CHARACTER SET latin1")
STRANGE = {
    "time_zone": "'-11:30'", "collation_server": "'utf8mb4_general_ci'",
    "collation_connection": "'latin1_swedish_ci'", "autocommit": "0",
}  # fmt: skip
ODD = ("SERIALIZABLE", "CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
"""Global variables, isolation and the options of the database."""


def _padded(server: Server) -> Iterator[str]:
    """Yield the mode that pads CHAR columns where the server still has it."""
    before = server.scalar("SELECT @@GLOBAL.sql_mode")
    try:
        server.execute(f"SET GLOBAL sql_mode = '{PADDED}'")
    except Exception:  # noqa: BLE001 - this server has no such mode
        return
    server.execute(f"SET GLOBAL sql_mode = '{before}'")
    yield PADDED


@pytest.mark.slow
@pytest.mark.engines("mariadb", "mysql")
def test_d5_behaviour_depends_on_no_setting_of_a_server(make_server: Callable[..., Server], server_name: str) -> None:
    server = make_server(server_name)
    strange = {**STRANGE, "sql_mode": f"'{','.join((MODES, *_padded(server)))}'"}
    for name, (variables, isolation, options) in {"lax": LAX, "strange": (strange, *ODD)}.items():
        for variable, value in variables.items():
            server.execute(f"SET GLOBAL {variable} = {value}")
        server.execute(f"SET GLOBAL TRANSACTION ISOLATION LEVEL {isolation}")
        server.execute(f"CREATE DATABASE d5_{name} {options}")
        with closing(open_db(server.url_for(f"d5_{name}"))) as db:
            assert differing(play(db), expected()) == [], name
            assert _session(db) == ("+00:00", "utf8mb4", True)


def _session(db: Database) -> tuple[str, str, bool]:
    asked = text("SELECT @@time_zone, @@character_set_connection, @@sql_mode LIKE '%STRICT_TRANS_TABLES%'")
    zone, letters, strict = db.read(asked, source="test")[0]
    return zone, letters, bool(strict)


@pytest.mark.engines("mariadb", "mysql", "seekdb")
def test_d5_every_connection_is_set_up(db: Database) -> None:
    assert _session(db) == ("+00:00", "utf8mb4", True)

    def work(connection: Any) -> tuple[Any, ...]:
        zone, mode = connection.exec_driver_sql("SELECT @@time_zone, @@sql_mode").one()
        level = connection.exec_driver_sql("SHOW VARIABLES LIKE 't%%_isolation'").all()[0][1]
        return zone, "STRICT_TRANS_TABLES" in mode, level

    assert db.transaction(work, source="test") == ("+00:00", True, "READ-COMMITTED")


def test_g4_without_anything_the_embedded_file_is_used_and_configure_sets_another(own_folder: Path) -> None:
    assert save_chat_message("tg/1", "hello", sender_id="7").stored and (own_folder / EMBEDDED_FILE).is_file()
    assert [line["text"] for line in load_chat_history("tg/1")] == ["hello"]
    assert load_chat_history("tg/1", scope=Scope("other")) == []
    configure(f"sqlite:///{own_folder / 'own.db'}", settings={"CHAT_HISTORY": 1})
    for n in range(3):
        save_chat_message("tg/1", f"text {n}", sender_id="7")
    assert [line["text"] for line in load_chat_history("tg/1")] == ["text 2"]
    assert len(load_chat_history("tg/1", settings={"CHAT_HISTORY": 2})) == 2
    configure(handle())
    assert len(load_chat_history("tg/1")) == 3
