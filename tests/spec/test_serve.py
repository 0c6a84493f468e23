"""`prompt-engine serve`: where it listens, what it says where it cannot, what a supervisor is told (L34, R34)."""

import logging
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from sqlalchemy import delete
from starlette.testclient import TestClient

from core.base import logs
from core.cli import app
from core.database.engine import Database
from core.database.schema import schema_version
from core.db import open_database
from core.jobs import Worker
from core.web import app as app_module
from core.web import create_app
from tests.servers.base import free_port

TOKEN = "a-token-of-the-tests-0001"
Serve = Callable[..., tuple[int, str]]


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def listened() -> list[Any]:
    return []


@pytest.fixture
def serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listened: list[Any], capsys: pytest.CaptureFixture[str]
) -> Iterator[Serve]:
    """Run the command, which ends once it listens, with variables; return its code and what it said."""

    def end(_: object, sockets: list[socket.socket]) -> None:
        listened.append(sockets[0].getsockname()[:2])
        raise KeyboardInterrupt

    def run(*words: str, **variables: str) -> tuple[int, str]:
        for name, value in {"ADMIN_TOKEN": TOKEN, **variables}.items():
            monkeypatch.setenv(name, value)
        code = app.run_command(["serve", "--database", f"sqlite:///{tmp_path / 'a.sqlite3'}", *words])
        return code, " ".join(capsys.readouterr().err.split())

    monkeypatch.setattr(uvicorn.Server, "run", end)
    monkeypatch.chdir(tmp_path)
    yield run


def test_l34_it_listens_on_this_machine_or_warns_and_names_a_taken_port(
    serve: Serve, listened: list[Any], port: int
) -> None:
    code, said = serve("--port", str(port))
    assert (code, listened.pop()) == (0, ("127.0.0.1", port))
    assert f"http://127.0.0.1:{port}/ until" in said and "Stopped." in said and "encrypted" not in said
    code, said = serve(ADMIN_HOST="0.0.0.0", ADMIN_PORT=str(port))
    assert (code, listened) == (0, [("0.0.0.0", port)])
    assert "It listens on 0.0.0.0" in said and "encrypted" in said and TOKEN not in said
    listened.clear()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        code, said = serve("--port", str(number))
    assert code == 1 and not listened and f"port {number}" in said


@pytest.mark.parametrize("token", ["", "short"])
def test_l34_without_token_it_does_not_start(serve: Serve, listened: list[Any], token: str, tmp_path: Path) -> None:
    code, said = serve(ADMIN_TOKEN=token)
    assert code == 2 and not listened and not list(tmp_path.iterdir())
    assert said.startswith("ADMIN_TOKEN") and "secrets.token_urlsafe" in said and (not token or token not in said)
    assert said.endswith("Without the page: --no-admin.")


def test_r14_a_proxy_needs_no_admin_token(serve: Serve, listened: list[Any], port: int) -> None:
    """Whoever wants the one setting has no page to log in to."""
    upstream = {"ADMIN_TOKEN": "", "LLM_BASE_URL": "http://127.0.0.1:9/v1"}
    code, said = serve("--proxy", "--port", str(port), "--no-worker", **upstream)
    assert code == 0 and listened and f"http://127.0.0.1:{port}/ until" in said
    assert serve("--proxy", "--admin", **upstream)[0] == 2


def test_f86_a_public_address_needs_mcp_and_the_operators_token(serve: Serve, port: int) -> None:
    pytest.importorskip("mcp", reason="needs the extra `mcp`")
    asked = ("--port", str(port), "--public-url", "https://memory.example.org/", "--mcp")
    assert serve(*asked)[0] == 0
    code, said = serve(*asked, ADMIN_TOKEN="")
    assert code == 2 and "--mcp" in said and "ADMIN_TOKEN" in said


def test_r11_a_worker_runs_beside_the_server_or_says_why_not(
    serve: Serve, port: int, monkeypatch: Any, caplog: Any
) -> None:
    assert serve("--port", str(port), "--log-level", "info", LLM_BASE_URL="ftp://host", LLM_MODEL="m")[0] == 0
    assert logs.logger.level == logging.INFO
    logs.logger.setLevel(logging.NOTSET)
    assert "worker_ended error='ConfigError'" in caplog.text and "beginning with http://" in caplog.text
    begun: list[bool] = []
    monkeypatch.setattr(Worker, "run", lambda self: begun.append(True))
    assert serve("--port", str(port), "--no-worker")[0] == 0 and not begun
    assert serve("--port", str(port))[0] == 0 and begun == [True]


FIRST = """
import sys
import uvicorn
from core.cli import app
from core.db import open_database
from core.prompt_engine import build_messages

def answer(*_, **__):
    before = set(sys.modules)
    message = {"text": "Where is my dog?", "interface_path": "web/bob", "from_user": {"id": "bob"}}
    build_messages(message, db=open_database("sqlite://"))
    print(sorted(set(sys.modules) - before))

uvicorn.Server.run = answer
app.run_command(["serve", "--no-admin", "--no-worker", "--database", "sqlite://", "--port", sys.argv[1]])
"""


def test_r39_the_first_request_waits_for_no_loading(port: int) -> None:
    """A proxy waits PROXY_MEMORY_SECONDS for the memories, and loading takes longer on a small machine."""
    done = subprocess.run([sys.executable, "-c", FIRST, str(port)], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_only_a_new_database_is_logged_as_created(serve: Serve, port: int, caplog: pytest.LogCaptureFixture) -> None:
    for created in (1, 0):
        caplog.clear()
        assert serve("--port", str(port), "--no-worker", "--log-level", "info")[0] == 0
        assert caplog.text.count("database_created") == created
    logs.logger.setLevel(logging.NOTSET)


SIGNALLED = """
import gc, os, signal, sys
from core.cli import app, serve

def send(*_):
    gc.callbacks.remove(send)
    os.kill(os.getpid(), signal.SIGTERM)

warm_up = serve._warm_up
serve._warm_up = lambda settings: (warm_up(settings), gc.callbacks.append(send))
sys.exit(app.run_command(["serve", "--no-admin", "--database", "sqlite://", "--port", sys.argv[1]]))
"""


@pytest.mark.posix
def test_r34_a_signal_during_a_callback_ends_the_server(port: int) -> None:
    """An exception of a signal handler would be lost there: Python ignores what a callback of a collection raises."""
    words = [sys.executable, "-c", SIGNALLED, str(port)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "Stopped."), done.stderr


def test_a_warning_of_the_server_says_when(serve: Serve, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(Worker, "run", lambda self: logs.warning("worker_waits", number=2003))
    said = serve("--port", str(port))[1]
    assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} WARNING worker_waits number=2003", said)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Database]:
    with closing(open_database(f"sqlite:///{tmp_path / 'own.sqlite3'}")) as db:
        yield db


@pytest.fixture(autouse=True)
def _asked_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "HEALTH_SECONDS", 0.0)


def test_r34_ready_is_told_from_alive(own: Database, port: int) -> None:
    """A supervisor sends requests to what is ready, and restarts only what is not alive."""
    assert ask_health(own) == (200, {"status": "ready"})
    own.transaction(lambda c: c.execute(delete(schema_version)), source="test")
    assert ask_health(own) == (503, {"status": "not ready", "lacks": "schema"})
    with closing(Database(f"mysql://ann:pw7321@127.0.0.1:{port}/none", timeout_seconds=1)) as away:
        assert ask_health(away) == (503, {"status": "not ready", "lacks": "database"})


def ask_health(db: Database) -> tuple[int, Any]:
    with TestClient(create_app(db=db, admin=False)) as client:
        for path in ("/health", "/health/live"):
            assert client.get(path).json() == {"status": "ok"}
        ready = client.get("/health/ready")
        assert ready.headers["cache-control"] == "no-store"
        return ready.status_code, ready.json()


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
    name: str, content: str | None, own_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Taken as unset, the database would be a new file and the server without its key, without a word."""
    monkeypatch.setenv("ADMIN_TOKEN", TOKEN)
    file = own_folder / "secret"
    if content is not None:
        file.write_text(content)
    monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(f"{name}_FILE", str(file))
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: pytest.fail("it started"))
    assert app.run_command(["serve"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith(f"{name}_FILE names") and ("is empty" if content is not None else "cannot be read") in said
    assert not (own_folder / "prompt-engine.sqlite3").exists()
