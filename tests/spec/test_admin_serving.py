"""`prompt-engine serve`: where it listens, and what it says where it cannot (L34)."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.cli import app
from core.cli import serve as serving
from core.jobs import Worker

TOKEN = "a-token-of-the-tests-0001"


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.fixture
def listened() -> list[Any]:
    return []


Serve = Callable[..., tuple[int, str]]


@pytest.fixture
def serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listened: list[Any], capsys: pytest.CaptureFixture[str]
) -> Iterator[Serve]:
    """Run the command, which ends once it listens, with variables; return its code and what it said."""

    def end(app: object, listening: socket.socket) -> None:
        listened.append(listening.getsockname()[:2])
        raise KeyboardInterrupt

    def run(*words: str, **variables: str) -> tuple[int, str]:
        for name, value in {"ADMIN_TOKEN": TOKEN, **variables}.items():
            monkeypatch.setenv(name, value)
        code = app.run_command(["serve", "--database", f"sqlite:///{tmp_path / 'a.sqlite3'}", *words])
        return code, " ".join(capsys.readouterr().err.split())

    monkeypatch.setattr(serving, "_run_server", end)
    monkeypatch.chdir(tmp_path)
    yield run


def test_l34_it_listens_on_this_machine_alone(serve: Serve, listened: list[Any], port: int) -> None:
    code, said = serve("--port", str(port))
    assert (code, listened) == (0, [("127.0.0.1", port)])
    assert f"http://127.0.0.1:{port}/admin/" in said and "Stopped." in said and "encrypted" not in said


def test_l34_listening_elsewhere_is_warned_of(serve: Serve, listened: list[Any], port: int) -> None:
    code, said = serve(ADMIN_HOST="0.0.0.0", ADMIN_PORT=str(port))
    assert (code, listened) == (0, [("0.0.0.0", port)])
    assert "It listens on 0.0.0.0" in said and "encrypted" in said and TOKEN not in said


@pytest.mark.parametrize("token", ["", "short"])
def test_l34_without_token_it_does_not_start(serve: Serve, listened: list[Any], token: str) -> None:
    code, said = serve(ADMIN_TOKEN=token)
    assert code == 2 and not listened
    assert said.startswith("ADMIN_TOKEN") and "secrets.token_urlsafe" in said
    assert said.endswith("Without the page: --no-admin.")


def test_l34_a_port_that_is_taken_is_named(serve: Serve, listened: list[Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        code, said = serve("--port", str(number))
    assert code == 1 and not listened and f"port {number}" in said


def test_r14_a_proxy_needs_no_admin_token(serve: Serve, listened: list[Any], port: int) -> None:
    """Whoever wants the one setting has no page to log in to."""
    upstream = {"ADMIN_TOKEN": "", "LLM_BASE_URL": "http://127.0.0.1:9/v1"}
    code, said = serve("--proxy", "--port", str(port), "--no-worker", **upstream)
    assert code == 0 and listened and f"http://127.0.0.1:{port}/v1 as base URL" in said and "/admin/" not in said
    assert serve("--proxy", "--admin", **upstream)[0] == 2


def test_f86_it_says_where_remote_programs_connect_and_what_that_needs(serve: Serve, port: int) -> None:
    pytest.importorskip("mcp", reason="needs the extra `mcp`")
    asked = ("--port", str(port), "--public-url", "https://memory.example.org/", "--mcp")
    code, said = serve(*asked)
    assert code == 0 and "connect to https://memory.example.org/mcp," in said
    code, said = serve(*asked, ADMIN_TOKEN="")
    assert code == 2 and "--mcp" in said and "ADMIN_TOKEN" in said


def test_r11_the_server_does_the_work_in_the_background_unless_told_not_to(
    serve: Serve, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[bool] = []
    monkeypatch.setattr(Worker, "run", lambda self: begun.append(True))
    assert serve("--port", str(port), "--no-worker")[0] == 0 and not begun
    assert serve("--port", str(port))[0] == 0 and begun == [True]
