"""Real connections to the memory over MCP: the command as a child process, and a server on a loopback socket."""

import itertools
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

import core.cli
from core import tokens as tokens_door
from core.config import Settings
from core.database.engine import Database
from core.scope import Scope
from core.web import create_app
from core.web.mcp.speaker import Speaker, build_scope
from tests.spec import proxy_world

Transport = Literal["stdio", "http"]
LINKS: tuple[tuple[Transport, str], ...] = tuple(itertools.product(("stdio", "http"), ("legacy", "auto")))
"""Both ways to reach it, each with the handshake of old and with that of today."""
ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
ANN, BOB = "web/ann", "web/bob"
ROOT = Path(__file__).resolve().parents[2]
_NOWHERE = Path(os.devnull).open("w")  # noqa: SIM115 - as long as the process


def asked(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def command(persona: str, *words: str) -> list[str]:
    return [sys.executable, "-m", str(core.cli.__name__), "mcp", "--persona-id", persona, *words]


def environment(url: str, **more: str) -> dict[str, str]:
    own = {"PYTHONPATH": str(ROOT)} if core.cli.__name__.startswith("core") else {}
    known = {name: value for name, value in os.environ.items() if not name.startswith(("MCP_", "PERSONA"))}
    return {**known, **own, "DATABASE_URL": url, **more}


@dataclass(frozen=True)
class HttpServer:
    """A server on a loopback socket, in a thread, with the tokens of some people."""

    tokens: dict[str, str]
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def headers(self, who: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[who]}"}

    def post(self, headers: Mapping[str, str | bytes], body: Any = None, **given: Any) -> httpx2.Response:
        content = {"content": body} if isinstance(body, (bytes, str)) else {"json": body or asked("memory_list")}
        usual = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        sent: Any = {**usual, **headers}
        return httpx2.post(self.url, headers=sent, timeout=120, **content, **given)


@contextmanager
def serving(db: Database, persona: str) -> Iterator[HttpServer]:
    """Serve MCP over a loopback socket as `prompt-engine serve --mcp` does, with a token for each of two people."""
    scopes = {who: Scope(persona, participant=who) for who in (ANN, BOB)}
    tokens = {who: tokens_door.add_token(db=db, scope=scope)["token"] for who, scope in scopes.items()}
    app = create_app(db=db, settings=Settings(), admin=False, mcp=True)
    with proxy_world.serving(app) as url:
        yield HttpServer(tokens, int(url.rpartition(":")[2]))


@dataclass(frozen=True)
class Caller:
    """A client that is connected; its loop runs in a thread."""

    portal: BlockingPortal
    client: Client

    def __call__(self, tool: str, **arguments: Any) -> Any:
        return self.portal.call(self.client.call_tool, tool, arguments)

    def list_tools(self) -> list[Any]:
        return self.portal.call(self.client.list_tools).tools


@dataclass(frozen=True)
class World:
    db: Database
    url: str
    persona: str
    http: HttpServer

    @contextmanager
    def connect(self, transport: Transport = "http", era: str = "auto", who: str = ANN) -> Iterator[Caller]:
        opening = self._open(transport, era, who)
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(opening) as client:
            yield Caller(portal, client)

    @asynccontextmanager
    async def _open(self, transport: Transport, era: str, who: str) -> AsyncIterator[Client]:
        if transport == "stdio":
            words = command(self.persona, "--participant", who)
            child = StdioServerParameters(command=words[0], args=words[1:], env=environment(self.url))
            async with Client(stdio_client(child, errlog=_NOWHERE), mode=era) as client:
                yield client
            return
        async with (
            httpx2.AsyncClient(headers=self.http.headers(who), timeout=120) as http,
            Client(streamable_http_client(self.http.url, http_client=http), mode=era) as client,
        ):
            yield client

    @property
    def asking(self) -> Mapping[str, Any]:
        return speaker_of(self.db, self.persona, ANN).asking


def speaker_of(db: Database, persona: str, who: str, **more: Any) -> Speaker:
    return Speaker(build_scope(persona, who, **more), db=db)


def told(result: Any) -> dict[str, Any]:
    """Return the answer of a call: structured, with the same as text, or as text alone."""
    text = result.content[0].text
    assert not result.is_error, text
    if result.structured_content is None:
        return json.loads(text) if text.startswith('{"notice"') else {"context": text}
    answer: dict[str, Any] = result.structured_content
    assert json.loads(text) == answer
    return answer


def refused(result: Any) -> str:
    """Return the sentence of an error result, in which nothing of the program stands."""
    assert result.is_error and result.structured_content is None
    (block,) = result.content
    text = str(block.text)
    assert not any(word in text for word in ("Traceback", 'File "', "pydantic", "sqlalchemy", "errors.")), text
    return text
