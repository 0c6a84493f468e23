"""`prompt-engine db` against what is no database, and how long work is shown."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.database.engine import Database
from tests.unit.cli.conftest import Command

PROTOCOL_41, SECURE, PLUGIN = 0x0200, 0x8000, 0x80000
_NO_TLS = PROTOCOL_41 | SECURE | PLUGIN


@pytest.fixture
def greeting_without_tls() -> Iterator[int]:
    """A port that greets as a MySQL server does that offers no encryption; yields its number."""
    greeting = b"\x0a8.0.0\x00" + struct.pack("<I", 1) + b"a" * 8 + b"\x00" + struct.pack("<H", _NO_TLS & 0xFFFF)
    greeting += b"\x2d\x02\x00" + struct.pack("<H", _NO_TLS >> 16) + b"\x15" + bytes(10) + b"b" * 12 + b"\x00"
    greeting += b"mysql_native_password\x00"
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(struct.pack("<I", len(greeting))[:3] + b"\x00" + greeting)
                    connection.recv(4096)

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(2)


def _checked(run: Command, *arguments: object) -> str:
    ran = run("db", "check", *arguments)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (1, "", 1)
    assert "db check" not in ran.err
    return ran.err


def test_f74_a_file_that_is_no_database_is_called_one(run: Command, tmp_path: Path) -> None:
    """The path is mistyped more often than a database is broken."""
    (tmp_path / "own.db").write_text("a shopping list, and a long one: " + "milk " * 200)
    assert "The file is no SQLite database" in _checked(run)
    assert (tmp_path / "own.db").read_text().startswith("a shopping list")


def test_f74_a_server_that_is_not_there_could_not_be_reached(run: Command) -> None:
    """Advice to run what just ran helps nobody."""
    said = _checked(run, "--database", "mysql://ann:canary-pw@127.0.0.1:1/x")
    assert (
        "The server could not be reached" in said
        and "The server is 127.0.0.1, port 1." in said
        and "canary-pw" not in said
    )


def test_f74_build_stops_where_a_program_gets_a_prompt_without_memory(run: Command) -> None:
    """At a terminal a prompt without memory would look like an empty memory; a host must answer somehow."""
    url = "mysql://ann@127.0.0.1:1/x"
    ran = run("build", "Hi", "--database", url)
    assert (ran.code, ran.out) == (1, "") and "127.0.0.1, port 1" in ran.err


def test_f74_a_server_without_tls_is_told_with_the_way_out(run: Command, greeting_without_tls: int) -> None:
    """Verified encryption is the default on a network, and many servers at home have none."""
    said = _checked(run, "--database", f"mysql://ann@127.0.0.1:{greeting_without_tls}/x?tls=verify")
    assert "offers no encryption (TLS): add ?tls=off" in said


def test_db_check_gives_no_advice_to_run_itself(made: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also for errors that nothing is known about: here a folder that may not be written."""
    (tmp_path / "folder").mkdir()
    _checked(made, "--database", f"sqlite:///{tmp_path / 'folder'}")
    monkeypatch.setattr(Database, "read_driver", lambda db, *_, **__: db.read("SELECT no such thing", source="x"))
    assert "own log may say more" in _checked(made)
