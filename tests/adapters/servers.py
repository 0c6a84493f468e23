"""Servers on loopback for the tests of adapters: one that answers what a function gives, and the API of Telegram."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.spec.proxy_world import serving

Answer = Callable[[str, dict[str, Any]], dict[str, Any]]


@contextmanager
def answering(answer: Answer) -> Iterator[str]:

    async def reply(request: Request) -> Response:
        is_json = "json" in request.headers.get("content-type", "")
        body = json.loads(await request.body()) if is_json else {"form": await request.body()}
        return JSONResponse(answer(request.url.path, body), headers={"Connection": "close"})

    with serving(Starlette(routes=[Route("/{path:path}", reply, methods=["POST"])])) as url:
        yield url


class Telegram:
    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def __call__(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        method = path.rpartition("/")[2]
        me = {"id": 99, "is_bot": True, "first_name": "Iris", "username": "iris_bot"}
        if method == "sendMessage":
            self.sent.append(body)
            chat = {"id": 7, "type": "private", "first_name": "Ann"}
            made = {"message_id": 500 + len(self.sent), "date": 1_700_000_000, "chat": chat, "from": me, "text": "x"}
            return {"ok": True, "result": made}
        return {"ok": True, "result": me if method == "getMe" else True}
