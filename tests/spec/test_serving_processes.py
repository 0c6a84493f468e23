"""`prompt-engine serve --share-port`: several processes on one port, each of which may get any request (R11)."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra `mcp`")
pytest.importorskip("uvicorn", reason="needs the extra `admin`")

import httpx2
from starlette.responses import StreamingResponse

import core.cli
from core.cli import app as command_app
from core.db import open_database
from core.scope import Scope
from core.tokens import add_token
from core.web import connections, create_app
from tests.servers.base import free_port
from tests.spec.mcp_world import ANN, ROOT, environment
from tests.spec.proxy_world import ModelServer, ProxyWorld, chat, event, wait_until
from tests.spec.proxy_world import serving as serving_app

REQUESTS = 8


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


ENDING = """
import sys
import {package}.cli.serve as serve
serve.STREAM_SECONDS = 1
from {package}.cli import app
sys.exit(app.run_command(sys.argv[1:]))
"""


@pytest.mark.slow
def test_r39_a_server_that_ends_stores_what_streams_brought(tmp_path: Path, model: ModelServer) -> None:
    """A model that thinks for an hour must not hold it: the supervisor would kill it, and everything be lost."""
    url, port = f"sqlite:///{tmp_path / 'serve.db'}", free_port()
    place, model.reply, over = f"http://127.0.0.1:{port}", None, threading.Event()
    said, stop = event({"delta": {"content": "Hello."}}), event({"delta": {}, "finish_reason": "stop"})

    async def pieces(recorded: Any) -> Any:
        yield said + (stop if recorded.messages[-1]["content"] == "whole" else b"")
        while not over.is_set():  # noqa: ASYNC110 - set by the test, in another thread
            await asyncio.sleep(0.005)

    model.reply = lambda r: StreamingResponse(pieces(r), media_type="text/event-stream")
    words = ["serve", "--proxy", "--no-admin", "--no-worker", "--port", str(port)]
    program = ENDING.format(package=core.cli.__name__.removesuffix(".cli"))
    env = environment(url, LLM_BASE_URL=f"{model.url}/v1")  # type: ignore[attr-defined]
    with closing(open_database(url)) as db, ExitStack() as stack:
        world = ProxyWorld(db, "default", place, model)
        stack.callback(world.close)
        stack.callback(over.set)
        command = [sys.executable, "-c", program, *words]
        child = stack.enter_context(subprocess.Popen(command, env=env, cwd=ROOT, stderr=subprocess.PIPE))
        stack.callback(child.kill)
        assert wait_until(lambda: is_live(place))
        for who, text in (("ann", "whole"), ("bob", "half")):
            asked = world.client(X_User_Id=who).chat.completions
            stream = stack.enter_context(asked.create(model="t", messages=chat(text), stream=True))
            assert next(iter(stream)).choices[0].delta.content == "Hello."
        child.terminate()
        _, told = child.communicate(timeout=30)
        assert b"Traceback" not in told and b"Stopped." in told, told
        assert world.lines("proxy/ann") == [("ann", "whole"), ("self", "Hello.")]
        assert world.lines("proxy/bob") == [("bob", "half")]


@pytest.mark.engines("sqlite")
def test_r13_a_connection_whose_head_never_ends_is_closed(db: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each costs its client a few bytes, and the server a place."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    whole, half = b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"GET /health/live HTTP/1.1\r\nX-A: "

    def ask(client: socket.socket) -> None:
        got = b""
        client.sendall(whole)
        while b'"ok"}' not in got:
            got += client.recv(65_536)

    with serving_app(create_app(db=db, admin=False), http=connections.HeadTimedProtocol) as url:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        for asks, sent in ((0, b""), (0, half), (1, half)):
            with socket.create_connection(address, timeout=30) as client:
                for _ in range(asks):
                    ask(client)
                client.sendall(sent)
                assert client.recv(65_536) == b""
        with socket.create_connection(address, timeout=30) as client:
            ask(client)
            time.sleep(0.7)  # one that is kept open between requests is not held to it
            ask(client)
