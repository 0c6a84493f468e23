"""The launcher of the test servers keeps what the other tests rely on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pymysql
import pytest
from sqlalchemy import create_engine, text

from tests.servers import SERVERS, Reachable, Server, ServerError, packages
from tests.servers import session as sessions
from tests.servers.session import Session

ROOT = Path(__file__).resolve().parents[2]


def test_every_engine_gives_an_empty_database_that_keeps_all_of_unicode(engine_url: str) -> None:
    """Everything else in the suite stands on this URL."""
    engine = create_engine(engine_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE line (id INTEGER PRIMARY KEY, body VARCHAR(40) NOT NULL)"))
        connection.execute(text("INSERT INTO line VALUES (1, :body)"), {"body": "né 中文 😀"})
        assert connection.scalar(text("SELECT body FROM line")) == "né 中文 😀"
    engine.dispose()


def test_a_fresh_url_does_not_see_the_tables_of_another(engine_url: str, fresh_url: str) -> None:
    """Tests that count rows would depend on their order otherwise."""
    assert engine_url != fresh_url
    for url in (engine_url, fresh_url):
        engine = create_engine(url)
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE only_here (id INTEGER PRIMARY KEY)"))
        engine.dispose()


def test_a_killed_server_keeps_what_was_committed(server_name: str, make_server: Callable[..., Server]) -> None:
    """The fault tests kill servers in the middle of work and look at what is left."""
    if server_name not in SERVERS:
        pytest.skip("somebody's own server is not ours to kill")
    server = make_server(server_name, durable=True)
    url = server.create_database("kept")
    assert url.startswith("mysql+pymysql://root@") and "kept" in url
    with server.connect("kept") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE note (k VARBINARY(64) PRIMARY KEY, tags JSON NOT NULL, at DATETIME(6) NOT NULL)")
        cursor.execute("""INSERT INTO note VALUES ('a', '["😀","x"]', '2026-11-21 10:00:00.123456')""")
        pid = server.pid
        server.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not server.running
    server.start()
    found = server.execute("SELECT at FROM kept.note WHERE JSON_CONTAINS(tags, JSON_QUOTE('😀'))")
    assert str(found[0][0]) == "2026-11-21 10:00:00.123456"
    assert server.pid != pid


def test_options_reach_the_server(make_server: Callable[..., Server]) -> None:
    """Tests ask for an unusual sql_mode or a small packet to see the library cope."""
    name = next((n for n in ("mariadb", "mysql") if SERVERS[n].available()), None)
    if name is None:
        pytest.skip("no MariaDB or MySQL here")
    server = make_server(name, options={"sql_mode": "ANSI_QUOTES", "max_allowed_packet": "1M"})
    assert server.scalar("SELECT @@sql_mode") == "ANSI_QUOTES"
    assert server.scalar("SELECT @@max_allowed_packet") == str(1 << 20)


def test_a_server_listens_on_loopback_only(make_server: Callable[..., Server]) -> None:
    """An open root account without a password must not be reachable from outside."""
    tables = [Path(f"/proc/net/{kind}") for kind in ("tcp", "tcp6")]
    if not tables[0].exists():
        pytest.skip("no /proc/net here")
    name = next(n for n in SERVERS if SERVERS[n].available())
    server = make_server(name)
    inodes = set()
    for link in Path(f"/proc/{server.pid}/fd").iterdir():
        target = str(link.readlink()) if link.is_symlink() else ""
        inodes.add(target.removeprefix("socket:[").rstrip("]"))
    lines = [line.split() for table in tables if table.exists() for line in table.read_text().splitlines()[1:]]
    listening = [words[1].split(":")[0] for words in lines if words[3] == "0A" and words[9] in inodes]
    assert all(address == "0100007F" for address in listening)


def test_a_server_that_cannot_start_says_why(make_server: Callable[..., Server]) -> None:
    """A hang or a bare exit code would cost an afternoon."""
    name = next((n for n in ("mariadb", "mysql") if SERVERS[n].available()), None)
    if name is None:
        pytest.skip("no MariaDB or MySQL here")
    with pytest.raises(ServerError, match=r"no.such.variable"):
        make_server(name, options={"no_such_variable": "1"})


def test_the_command_stops_its_server_when_it_is_killed() -> None:
    """A benchmark that is stopped with SIGKILL must not leave a server behind."""
    name = next(n for n in SERVERS if SERVERS[n].available())
    command = [sys.executable, "-m", "tests.servers", "start", name]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        process.stdout.readline()
        server = Reachable(name, url)
        assert server.scalar("SELECT 1") == "1"
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            server.scalar("SELECT 1")
        except (pymysql.err.Error, OSError):
            return
        time.sleep(0.1)
    pytest.fail("the server outlived the command that started it")


def test_no_server_at_all_is_a_problem_and_not_a_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite that quietly tests SQLite alone hid real faults."""
    monkeypatch.setattr(sessions, "is_debian", lambda: False)
    for kind in SERVERS.values():
        monkeypatch.setattr(kind, "available", lambda: False)
    session = Session.planned({})
    assert session.names == ["sqlite"]
    assert "no database server found" in session.problems[0]
    assert Session.planned({"TEST_SERVERS": "sqlite"}).problems == []
    assert "mariadb" in Session.planned({"TEST_SERVERS": "sqlite,mariadb"}).problems[0]


def test_on_debian_a_missing_server_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """There all of them can be had, so one that is missing is a fault of the set-up."""
    monkeypatch.setattr(sessions, "is_debian", lambda: True)
    monkeypatch.setattr(SERVERS["mysql"], "available", lambda: False)
    monkeypatch.setattr(SERVERS["mariadb"], "available", lambda: True)
    monkeypatch.setattr(SERVERS["seekdb"], "available", lambda: True)
    session = Session.planned({})
    assert session.names == ["sqlite", "mariadb", "mysql", "seekdb"]
    assert session.problems == ["no mysql on this machine; run: python -m tests.servers install"]


def test_an_unknown_name_is_told_with_the_known_ones() -> None:
    """A typing error would otherwise run fewer engines than asked for."""
    assert "it may name sqlite, mariadb, mysql, seekdb" in Session.planned({"TEST_SERVERS": "maria"}).problems[0]


def test_another_suite_is_asked_of_the_machines_own_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mirror that somebody configured must be used, and sources of third parties left alone."""
    monkeypatch.setattr(packages, "os_release", lambda: {"VERSION_CODENAME": "bookworm"})
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(
        "# deb http://off.example/debian bookworm main\n"
        "deb [signed-by=/k.gpg] http://one.example/debian bookworm main contrib # near\n"
        "deb-src http://one.example/debian bookworm main\n"
        "deb http://one.example/debian bookworm-updates main\n"
        "deb http://third.example/tool bookworm stable\n"
    )
    (tmp_path / "sources.list.d" / "debian.sources").write_text(
        "Types: deb\nURIs: http://two.example/debian\nSuites: bookworm bookworm-updates\nComponents: main\n"
        "Signed-By: /k.gpg\n\nTypes: deb\nEnabled: no\nURIs: http://off.example\nSuites: bookworm\nComponents: main\n"
    )
    found = [source.text for source in packages.sources_for("unstable", tmp_path)]
    assert found == [
        "deb [signed-by=/k.gpg] http://one.example/debian unstable main\n",
        "Types: deb\nURIs: http://two.example/debian\nSuites: unstable\nComponents: main\nSigned-By: /k.gpg\n",
    ]
