"""Real connections to the memory over MCP: the command as a child process, and a server on a loopback socket.

`connect` gives the SDK's own client over either, in either era of the protocol. Over HTTP each person has a token of a
test's own; the tokens of the product are tried in `test_mcp_serving`.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx2
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

import core.cli
from core.database.engine import Database
from core.mcp_server import Speaker, build_scope
from core.mcp_server.http import HttpFace

Transport = Literal["stdio", "http"]
LINKS: tuple[tuple[Transport, str], ...] = (
    ("stdio", "legacy"),
    ("stdio", "auto"),
    ("http", "legacy"),
    ("http", "auto"),
)
"""Both ways to reach it, each with the handshake of old and with that of today."""
ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
ANN, BOB = "web/ann", "web/bob"
ROOT = Path(__file__).resolve().parents[2]


def command(persona: str, *words: str) -> list[str]:
    """Return the command line of the server for one person."""
    return [sys.executable, "-m", str(core.cli.__name__), "mcp", "--persona-id", persona, *words]


def environment(url: str, **more: str) -> dict[str, str]:
    """Return the environment of a child process that works on a database."""
    own = {"PYTHONPATH": str(ROOT)} if core.cli.__name__.startswith("core") else {}
    known = {name: value for name, value in os.environ.items() if not name.startswith(("MCP_", "PERSONA"))}
    return {**known, **own, "DATABASE_URL": url, **more}


@dataclass
class HttpServer:
    """A server on a loopback socket, in a thread, with a token for each of some people."""

    speakers: dict[str, Speaker]
    port: int = 0
    _ended: Callable[[], None] = field(default=lambda: None, repr=False)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}/mcp"


def _guarded(face: HttpFace, speakers: dict[str, Speaker]) -> ASGIApp:
    """Put the test's own look at tokens before the face."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            async with face.lifespan():
                await send({"type": "lifespan.startup.complete"})
                await receive()
            await send({"type": "lifespan.shutdown.complete"})
        elif dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ") in speakers:
            await face(scope, receive, send)
        else:
            await PlainTextResponse("no", 401)(scope, receive, send)

    return app


@contextmanager
def serving(speakers: dict[str, Speaker]) -> Iterator[HttpServer]:
    """Serve some people by their tokens until the end."""
    face = HttpFace(
        lambda request: speakers[request.headers["authorization"].removeprefix("Bearer ")], max_body_bytes=4_194_304
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(_guarded(face, speakers), log_config=None, access_log=False, ws="none", lifespan="on")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield HttpServer(speakers, listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()


@dataclass(frozen=True)
class World:
    """A database, its persona, and a server with a token for Ann and for Bob."""

    db: Database
    url: str
    persona: str
    http: HttpServer

    @asynccontextmanager
    async def connect(self, transport: Transport = "http", era: str = "auto", who: str = ANN) -> AsyncIterator[Client]:
        """Yield the SDK's client, connected as a person."""
        if transport == "stdio":
            words = command(self.persona, "--participant", who)
            child = StdioServerParameters(command=words[0], args=words[1:], env=environment(self.url))
            async with Client(stdio_client(child, errlog=_NOWHERE), mode=era) as client:
                yield client
            return
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {who}"}, timeout=60) as http,
            Client(streamable_http_client(self.http.url, http_client=http), mode=era) as client,
        ):
            yield client

    def run(
        self,
        scenario: Callable[[Client], Coroutine[Any, Any, Any]],
        transport: Transport = "http",
        era: str = "auto",
        who: str = ANN,
    ) -> Any:
        """Run what a client does, and return what it returns."""

        async def connected() -> Any:
            async with self.connect(transport, era, who) as client:
                return await scenario(client)

        try:
            return asyncio.run(connected())
        except BaseExceptionGroup as group:
            raise _first_of(group) from None

    def speaker(self, who: str = ANN) -> Speaker:
        """Return who a person is to the server."""
        return speaker_of(self.db, self.persona, who)


_NOWHERE = Path(os.devnull).open("w")  # noqa: SIM115 - as long as the process


def _first_of(error: BaseException) -> BaseException:
    """Return what went wrong in a scenario, out of the groups that the SDK's tasks wrap it in."""
    return _first_of(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def speaker_of(db: Database, persona: str, who: str, **more: Any) -> Speaker:
    """Return a speaker of a persona."""
    return Speaker(build_scope(persona, who, **more), db=db)


def told(result: Any) -> dict[str, Any]:
    """Return the structured answer of a call, of which the text form says the same."""
    assert not result.is_error, result.content[0].text
    answer: dict[str, Any] = result.structured_content
    text = result.content[0].text
    if "context" in answer:
        assert text == answer["context"] or (not answer["context"] and text)
    else:
        assert json.loads(text) == answer
    return answer


def refused(result: Any) -> str:
    """Return the sentence of an error result, in which nothing of the program stands."""
    assert result.is_error and result.structured_content is None
    (block,) = result.content
    text = str(block.text)
    assert not any(word in text for word in ("Traceback", 'File "', "pydantic", "sqlalchemy", "errors.")), text
    return text
