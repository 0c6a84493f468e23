"""R34: what a supervisor is told of a server, over HTTP and by the command: alive, ready, and what is lacking."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import delete
from starlette.testclient import TestClient

from core.cli import app as command
from core.cli import serve
from core.database.engine import Database
from core.database.schema import schema_version
from core.db import open_database
from core.web import app as app_module
from core.web import create_app

pytestmark = pytest.mark.engines("sqlite")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Database]:
    db = open_database(f"sqlite:///{tmp_path / 'own.sqlite3'}")
    yield db
    db.close()


@pytest.fixture(autouse=True)
def _asked_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "HEALTH_SECONDS", 0.0)


def lose_version(db: Database) -> None:
    db.transaction(lambda c: c.execute(delete(schema_version)), source="test")


def test_r34_ready_is_told_from_alive(own: Database) -> None:
    """A supervisor sends requests to what is ready, and restarts only what is not alive."""
    with TestClient(create_app(db=own, admin=False)) as client:
        for path in ("/health", "/health/live"):
            assert client.get(path).json() == {"status": "ok"}
        ready = client.get("/health/ready")
        assert (ready.status_code, ready.json()) == (200, {"status": "ready"})
        assert ready.headers["cache-control"] == "no-store"
        lose_version(own)
        older = client.get("/health/ready")
        assert (older.status_code, older.json()) == (503, {"status": "not ready", "lacks": "schema"})
        assert client.get("/health/live").status_code == 200


def test_r34_a_database_that_does_not_answer_is_not_ready(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    away = Database(f"mysql://ann:pw7321@127.0.0.1:{port}/none", timeout_seconds=1)
    with TestClient(create_app(db=away, admin=False)) as client:
        answer = client.get("/health/ready")
        assert (answer.status_code, answer.json()) == (503, {"status": "not ready", "lacks": "database"})
        assert client.get("/health/live").json() == {"status": "ok"}
    away.close()


def test_r34_asking_often_costs_the_database_nothing(own: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody who reaches the port may ask, without a token."""
    asked: list[Database] = []
    monkeypatch.setattr(app_module, "HEALTH_SECONDS", 3600.0)
    monkeypatch.setattr(app_module, "list_pending", asked.append)
    with TestClient(create_app(db=own, admin=False)) as client:
        assert {client.get("/health/ready").status_code for _ in range(20)} == {200}
    assert len(asked) == 1


@pytest.mark.parametrize("name", ["DATABASE_URL", "ADMIN_TOKEN", "LLM_API_KEY"])
@pytest.mark.parametrize("content", [None, "", " \n"])
def test_r34_a_secret_whose_file_is_missing_or_empty_stops_it(
    name: str, content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Taken as unset, the database would be a new file and the server without its key, without a word."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADMIN_TOKEN", "a-token-of-the-tests-0001")
    file = tmp_path / "secret"
    if content is not None:
        file.write_text(content)
    monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(f"{name}_FILE", str(file))
    monkeypatch.setattr(serve, "_open_socket", lambda *_: pytest.fail("it started"))
    assert command.run_command(["serve"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith(f"{name}_FILE names") and ("is empty" if content is not None else "cannot be read") in said
    assert not (tmp_path / "prompt-engine.sqlite3").exists()
