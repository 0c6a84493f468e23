"""The main job of the faces: one command on a fresh file, stock clients of both kinds, killed and started again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

import core.cli
from core import tokens
from core.db import open_database
from core.jobs import list_operations
from core.scope import Scope
from tests.spec.proxy_world import PATIENCE_SECONDS, ModelServer, ProxyWorld, chat, serving, wait_until

pytestmark = [pytest.mark.engines("sqlite"), pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def command(folder: Path, port: int, model_url: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run `prompt-engine serve --proxy --mcp` in a folder until the block ends."""
    own = {"PYTHONPATH": str(ROOT)} if core.cli.__name__.startswith("core") else {}
    words = ["serve", "--proxy", "--mcp", "--port", str(port), "--database", f"sqlite:///{folder / 'own.db'}"]
    environment = {**os.environ, **own, "LLM_BASE_URL": f"{model_url}/v1", "LLM_API_KEY": "k"}
    environment.pop("ADMIN_TOKEN", None)
    with (folder / "log.txt").open("ab") as log:
        process = subprocess.Popen([sys.executable, "-m", core.cli.__name__, *words], cwd=folder, env=environment,
                                   stdout=log, stderr=log)  # fmt: skip
        try:
            assert wait_until(lambda: is_up(port) or process.poll() is not None)
            assert process.poll() is None, (folder / "log.txt").read_text()
            yield process
        finally:
            process.kill()
            process.wait(PATIENCE_SECONDS)


def is_up(port: int) -> bool:
    """Return whether the server answers."""
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/health", timeout=PATIENCE_SECONDS).status_code == 200
    except httpx2.HTTPError:
        return False


async def ask_mcp(port: int, token: str, tool: str, **arguments: Any) -> str:
    """Return what a tool answers to a stock client of MCP."""
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    head = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=head, timeout=PATIENCE_SECONDS) as http:
        link = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
        async with Client(link) as client:
            return json.dumps((await client.call_tool(tool, arguments)).model_dump(mode="json"), ensure_ascii=False)


def test_the_main_job_of_the_faces(tmp_path: Path) -> None:
    """Thirty turns in two rooms as two people by the proxy; MCP then tells each person theirs and nothing else."""
    pytest.importorskip("mcp")
    model = ModelServer()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with serving(model.app) as model_url:
        with command(tmp_path, port, model_url) as process:
            db = open_database(f"sqlite:///{tmp_path / 'own.db'}")
            world = ProxyWorld(db, "iris", f"http://127.0.0.1:{port}", model)
            people = {who: world.token("scope", f"proxy/{who}") for who in ("ann", "bob")}
            said: dict[tuple[str, str], list[str]] = {}
            shared = {"X_Conversation_Privacy": "direct"}
            for turn in range(30):
                who, room = ("ann", "bob")[turn % 2], ("attic", "cellar")[turn // 2 % 2]
                texts = said.setdefault((who, room), [])
                word = f"{who} hid {['gold', 'books', 'wine'][turn % 3]} number {turn} in the {room}"
                texts.append(f"Remember that {word}.")
                client = world.client(X_User_Id=who, X_Conversation_Id=room, **shared)
                if turn % 4:
                    stream = client.chat.completions.create(model="tiny", messages=chat(*texts), stream=True)
                    texts.append("".join(each.choices[0].delta.content or "" for each in stream))
                else:
                    texts.append(world.ask(client, *texts))
            # Killed in the middle of an answer: what was answered before is stored, what was not is not half there.
            model.paused.set()
            model.answers = ["never to be seen whole"]
            client = world.client(X_User_Id="ann", X_Conversation_Id="attic", **shared)
            cut = client.chat.completions.create(model="tiny", messages=chat("And now?"), stream=True)
            assert next(cut).choices[0].delta.content == "never"
            assert wait_until(lambda: all(len(world.lines(f"proxy/{w}/{r}")) == len(t) for (w, r), t in said.items()))
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE_SECONDS)
            cut.close()
            model.paused.clear()
            world.close()
        with command(tmp_path, port, model_url):
            for (who, room), texts in said.items():
                assert [text for _, text in world.lines(f"proxy/{who}/{room}")] == texts
            for who, other in (("ann", "bob"), ("bob", "ann")):
                found = asyncio.run(ask_mcp(port, people[who], "memory_search", query="Who hid gold, books and wine?"))
                assert f"{who} hid" in found and f"{other} hid" not in found
                block = asyncio.run(ask_mcp(port, people[who], "memory_context", message="What did they hide?"))
                assert f"{who} hid" in block and f"{other} hid" not in block
            client = world.client(X_User_Id="ann", X_Conversation_Id="new", **shared)
            world.ask(client, "What did I hide in the attic?")
            assert "ann hid" in str(model.last.messages) and "bob hid" not in str(model.last.messages)
            world.close()
            assert list_operations("failed", db=db, scope=Scope("iris")) == []
            assert tokens.list_tokens(db=db, scope=Scope("iris"))
            db.close()
