"""Connections to the model server that are kept from one request to the next (R15, R20)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import httpx2
import pytest

from core.config import Settings
from core.web.proxy.routes import Upstream

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def ask_twice(serve: Callable[[int, asyncio.StreamWriter], Awaitable[None]]) -> list[int]:
    """Return the statuses of two requests; `serve` answers each, told how many its connection had before."""

    talking: list[asyncio.Task[None] | None] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talking.append(asyncio.current_task())
        count = 0
        while await reader.readline():
            while await reader.readline() != b"\r\n":
                pass
            await serve(count, writer)
            count += 1
            if writer.is_closing():
                break
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    settings = Settings(llm_base_url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    upstream = Upstream(settings)
    statuses = []
    try:
        for _ in range(2):
            answer = await upstream.send("GET", "/models", "", {}, b"", settings)
            await answer.aread()
            await answer.aclose()
            statuses.append(answer.status_code)
    finally:
        await upstream.close()
        await asyncio.gather(*(each for each in talking if each is not None))
        server.close()
        await server.wait_closed()
    return statuses


def test_r15_a_kept_connection_that_is_closed_as_it_is_used_again_costs_nothing() -> None:
    opened = []

    async def serve(count: int, writer: asyncio.StreamWriter) -> None:
        if count:
            writer.close()
        else:
            opened.append(writer)
            writer.write(ANSWER)

    assert asyncio.run(ask_twice(serve)) == [200, 200] and len(opened) == 2


def test_r20_a_server_that_closes_new_connections_is_asked_once() -> None:
    asked = []

    async def serve(count: int, writer: asyncio.StreamWriter) -> None:
        asked.append(count)
        writer.close()

    with pytest.raises(httpx2.RemoteProtocolError):
        asyncio.run(ask_twice(serve))
    assert asked == [0]
