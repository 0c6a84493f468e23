"""Connections to the model server (R15, R20)."""

import asyncio
from collections.abc import Iterator

import httpx2
import pytest

from core.config import Settings
from core.web.proxy.routes import Upstream
from tests.unit.llm.model_server import ModelServer, running


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with running() as made:
        yield made


async def ask(server: ModelServer, behaviour: str, times: int) -> list[int]:
    settings = Settings(llm_base_url=server.base(behaviour))
    upstream, statuses = Upstream(settings), []
    try:
        for _ in range(times):
            answer = await upstream.send("POST", "/chat/completions", "", {}, b"{}", settings)
            await answer.aread()
            await answer.aclose()
            statuses.append(answer.status_code)
    finally:
        await upstream.close()
    return statuses


def test_r15_no_connection_is_kept_that_the_server_may_close_as_it_is_used_again(server: ModelServer) -> None:
    assert asyncio.run(ask(server, "ok", 2)) == [200, 200] and len({asked.peer for asked in server.asked}) == 2


def test_r20_a_server_that_closes_new_connections_is_asked_once(server: ModelServer) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        asyncio.run(ask(server, "nothing", 1))
    assert len(server.asked) == 1
