"""`prompt-engine serve --share-port`: several processes on one port, each of which may get any request (R11)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra `mcp`")
pytest.importorskip("uvicorn", reason="needs the extra `admin`")

import httpx2

import core.cli
from core.cli import app as command_app
from core.db import open_database
from core.scope import Scope
from core.tokens import add_token
from tests.servers.base import free_port
from tests.spec.mcp_world import ANN, ROOT, environment
from tests.spec.proxy_world import wait_until

REQUESTS = 24


@contextmanager
def serving(url: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    words = ["serve", "--mcp", "--no-admin", "--no-worker", "--share-port", "--port", str(port)]
    child = subprocess.Popen([sys.executable, "-m", str(core.cli.__name__), *words], env=environment(url), cwd=ROOT)
    try:
        yield child
    finally:
        child.terminate()
        child.wait(60)


def is_live(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/health/live", timeout=5).status_code == 200
    except httpx2.TransportError:
        return False


def call(url: str, token: str, name: str, arguments: dict[str, Any]) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    return httpx2.post(f"{url}/mcp", json=body, headers=headers, timeout=120).json()["result"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not spread connections")
def test_r11_any_of_several_processes_answers_any_request(tmp_path: Path) -> None:
    url, port = f"sqlite:///{tmp_path / 'serve.db'}", free_port()
    place = f"http://127.0.0.1:{port}"
    with closing(open_database(url)) as db, ExitStack() as stack:
        token = add_token(db=db, scope=Scope("iris", participant=ANN))["token"]
        first = stack.enter_context(serving(url, port))
        assert wait_until(lambda: is_live(place))
        assert call(place, token, "memory_save", {"text": "Ann likes green tea."})["structuredContent"]["done"]
        second = stack.enter_context(serving(url, port))
        listening = lambda: Path("/proc/net/tcp").read_text().count(f":{port:04X} 00000000:0000 0A")  # noqa: E731
        assert wait_until(lambda: listening() == 2)
        for _ in range(REQUESTS):
            listed = call(place, token, "memory_list", {})["content"][0]["text"]
            assert [each["text"] for each in json.loads(listed)["memories"]] == ["Ann likes green tea."]
        first.terminate()
        first.wait(60)
        assert all(is_live(place) for _ in range(REQUESTS)) and second.poll() is None


def test_r11_a_shared_port_is_refused_for_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who logged in at one process would be a stranger to the next."""
    monkeypatch.setenv("ADMIN_TOKEN", "a-token-of-the-tests-0001")
    words = ["serve", "--port", str(free_port()), "--database", f"sqlite:///{tmp_path / 'serve.db'}", "--share-port"]
    assert command_app.run_command(words) == 2
    assert "--no-admin" in " ".join(capsys.readouterr().err.split())
