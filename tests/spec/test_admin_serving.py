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
Serve = Callable[..., int]


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.fixture
def listened() -> list[Any]:
    return []


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listened: list[Any]) -> Iterator[Serve]:
    def end(app: object, listening: socket.socket) -> None:
        listened.append(listening.getsockname()[:2])
        raise KeyboardInterrupt

    monkeypatch.setattr(serving, "_run_server", end)
    monkeypatch.setenv("ADMIN_TOKEN", TOKEN)
    monkeypatch.chdir(tmp_path)
    yield lambda *words: app.run_command(["serve", "--database", f"sqlite:///{tmp_path / 'a.sqlite3'}", *words])


def test_l34_it_listens_on_this_machine_alone(
    serve: Serve, listened: list[Any], port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert serve("--port", str(port)) == 0
    assert listened == [("127.0.0.1", port)]
    said = " ".join(capsys.readouterr().err.split())
    assert f"http://127.0.0.1:{port}/admin/" in said and "Stopped." in said and "encrypted" not in said


def test_l34_listening_elsewhere_is_warned_of(
    serve: Serve, listened: list[Any], port: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADMIN_HOST", "0.0.0.0")
    monkeypatch.setenv("ADMIN_PORT", str(port))
    assert serve() == 0 and listened == [("0.0.0.0", port)]
    said = " ".join(capsys.readouterr().err.split())
    assert "It listens on 0.0.0.0" in said and "encrypted" in said and TOKEN not in said


@pytest.mark.parametrize("token", ["", "short"])
def test_l34_without_token_it_does_not_start(
    serve: Serve, listened: list[Any], token: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADMIN_TOKEN", token)
    assert serve() == 2 and not listened
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith("ADMIN_TOKEN") and "secrets.token_urlsafe" in said
    assert said.endswith("Without the page: --no-admin.")


def test_l34_a_port_that_is_taken_is_named(
    serve: Serve, listened: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        assert serve("--port", str(number)) == 1 and not listened
    assert f"port {number}" in " ".join(capsys.readouterr().err.split())


def test_r14_a_proxy_needs_no_admin_token(
    serve: Serve, listened: list[Any], port: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wants the one setting has no page to log in to."""
    monkeypatch.setenv("ADMIN_TOKEN", "")
    monkeypatch.setenv("LLM_BASE_URL", "http://127.0.0.1:9/v1")
    assert serve("--proxy", "--port", str(port), "--no-worker") == 0 and listened
    said = " ".join(capsys.readouterr().err.split())
    assert f"http://127.0.0.1:{port}/v1 as base URL" in said and "/admin/" not in said
    assert serve("--proxy", "--admin") == 2


def test_f86_it_says_where_remote_programs_connect_and_what_that_needs(
    serve: Serve, listened: list[Any], port: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mcp", reason="needs the extra `mcp`")
    asked = ("--port", str(port), "--public-url", "https://memory.example.org/")
    assert serve(*asked, "--mcp") == 0 and listened
    assert "connect to https://memory.example.org/mcp," in " ".join(capsys.readouterr().err.split())
    monkeypatch.setenv("ADMIN_TOKEN", "")
    assert serve(*asked, "--mcp") == 2
    said = capsys.readouterr().err
    assert "--mcp" in said and "ADMIN_TOKEN" in said


def test_r11_the_server_does_the_work_in_the_background_unless_told_not_to(
    serve: Serve, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[bool] = []
    monkeypatch.setattr(Worker, "run", lambda self: begun.append(True))
    assert serve("--port", str(port), "--no-worker") == 0 and not begun
    assert serve("--port", str(port)) == 0 and begun == [True]
