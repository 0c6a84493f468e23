"""What the tests of the proxy share: a model server that records what arrives, and the proxy, both on sockets."""

from __future__ import annotations

import asyncio
import copy
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import urlopen

import httpx2
import uvicorn
from openai import OpenAI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from core import Scope, chat_history_cache, tokens
from core.config import Settings
from core.database.engine import Database
from core.web import create_app

PATIENCE_SECONDS = 120
"""Longest wait for anything, on a machine that is slow and busy."""


@contextmanager
def serving(app: Any, port: int = 0, http: Any = "auto") -> Iterator[str]:
    with socket.create_server(("127.0.0.1", port)) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as `serve` does; each answer takes 40 ms else
        quiet: dict[str, Any] = {"log_config": None, "access_log": False, "lifespan": "on", "ws": "none"}
        server = uvicorn.Server(uvicorn.Config(app, http=http, timeout_keep_alive=PATIENCE_SECONDS, **quiet))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()


class Recorded:
    def __init__(self, path: str, headers: dict[str, str], content: bytes) -> None:
        self.path, self.headers, self.content = path, headers, content

    @property
    def body(self) -> Any:
        return json.loads(self.content)

    @property
    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.body["messages"]
        return found


class ModelServer:
    """A model server that answers what it is told to, and records what arrives."""

    url: str = ""
    """Address while it is served."""

    def __init__(self) -> None:
        self.requests: list[Recorded] = []
        self.answers: list[str] = []
        """What is said next, one an answer; then `ok` and a number."""
        self.reply: Callable[[Recorded], Response] | None = None
        """Answers in place of the usual way."""
        self.paused = threading.Event()
        """Set: a stream stops after its first piece until it is cleared."""
        self.ended: list[str] = []
        """How each stream ended."""
        routes = [
            Route("/v1/chat/completions", self._complete, methods=["POST"]),
            Route("/v1/models", self._list, methods=["GET"]),
            Route("/v1/{rest:path}", self._answer_other, methods=["GET", "POST", "DELETE", "PUT"]),
        ]
        self.app = Starlette(routes=routes)

    @property
    def last(self) -> Recorded:
        return self.requests[-1]

    async def _list(self, request: Request) -> Response:
        self.requests.append(Recorded(request.url.path, dict(request.headers), b""))
        return JSONResponse({"object": "list", "data": [{"id": "tiny", "object": "model"}]}, headers={"x-limit": "7"})

    async def _answer_other(self, request: Request) -> Response:
        recorded = Recorded(request.url.path, dict(request.headers), await request.body())
        self.requests.append(recorded)
        if self.reply is not None:
            return self.reply(recorded)
        return JSONResponse({"path": request.url.path, "bytes": len(recorded.content), "method": request.method})

    async def _complete(self, request: Request) -> Response:
        recorded = Recorded(request.url.path, dict(request.headers), await request.body())
        self.requests.append(recorded)
        if self.reply is not None:
            return self.reply(recorded)
        if not recorded.content:
            return JSONResponse({"error": {"message": "a body is needed"}}, 400)
        text = self.answers.pop(0) if self.answers else f"ok {len(self.requests)}"
        if not recorded.body.get("stream"):
            return JSONResponse(whole(text), headers={"x-ratelimit-remaining-requests": "41"})
        return StreamingResponse(self._stream(text), media_type="text/event-stream")

    async def _stream(self, text: str) -> Any:
        how = "cut"
        try:
            for number, piece in enumerate(text.split(" ")):
                yield event({"delta": {"content": piece if not number else f" {piece}"}})
                while self.paused.is_set():  # noqa: ASYNC110 - set by the test, in another thread
                    await asyncio.sleep(0.005)
            yield event({"delta": {}, "finish_reason": "stop"})
            yield b"data: [DONE]\n\n"
            how = "whole"
        finally:
            self.ended.append(how)


def event(choice: dict[str, Any]) -> bytes:
    made = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "tiny",
            "choices": [{"index": 0, "finish_reason": None, **choice}]}  # fmt: skip
    return b"data: " + json.dumps(made).encode() + b"\n\n"


def whole(text: str | None, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, **more}
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "tiny",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}  # fmt: skip


def respond(recorded: Recorded, text: str, *calls: dict[str, Any], **more: Any) -> Response:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}
    output = [{"type": "reasoning", "id": "t", "summary": [{"type": "summary_text", "text": "Hm."}]}, *calls]
    whole = {
        "id": "r1", "object": "response", "created_at": 1, "status": "completed", "model": "tiny", "error": None,
        "output": [*output, item] if text else output,
        "parallel_tool_calls": False, "tool_choice": "auto", "tools": [], **more,
    }  # fmt: skip
    if not recorded.body.get("stream"):
        return JSONResponse(whole)
    at = {"item_id": "m", "output_index": 0, "content_index": 0, "logprobs": []}
    events: list[Any] = [{"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}]
    pieces = [f"{word} " for word in text.split(" ")[:-1]] + text.split(" ")[-1:]
    events += [{"type": "response.output_text.delta", "delta": piece, **at} for piece in pieces]
    events.append({"type": f"response.{whole['status']}", "response": whole})
    written = (
        f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"
        for number, event in enumerate(events)
    )
    return StreamingResponse(written, media_type="text/event-stream")


class ProxyWorld:
    def __init__(self, db: Database, persona: str, url: str, model: ModelServer) -> None:
        self.db, self.persona, self.url, self.model = db, persona, url, model
        self.host = self.token()
        self._clients: list[OpenAI] = []

    def token(self, kind: Any = "host", participant: str | None = None, **more: Any) -> str:
        personas = more.pop("personas", "")
        scope = Scope(self.persona, participant=participant, **more)
        return tokens.add_token(kind, personas=personas, db=self.db, scope=scope)["token"]

    def of(self, persona: str) -> ProxyWorld:
        made = copy.copy(self)
        made.persona = persona
        return made

    @contextmanager
    def served_again(self, **more: Any) -> Iterator[ProxyWorld]:
        """Yield another proxy to the same model server, with other settings."""
        with proxy_of(self.db, self.model, **more) as url:
            made = ProxyWorld(self.db, self.persona, url, self.model)
            yield made
            made.close()

    def post(self, who: str | None = "ann", headers: Any = None, **given: Any) -> httpx2.Response:
        """Send a request as it is given here, by the host's token and in the name of a person."""
        named = {"X-User-Id": who} if who else {}
        head = {"Authorization": f"Bearer {self.host}", **named, **(headers or {})}
        return httpx2.post(f"{self.url}/v1/chat/completions", timeout=PATIENCE_SECONDS, headers=head, **given)

    def client(self, token: str | None = None, **headers: str) -> OpenAI:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        limits: dict[str, Any] = {"max_retries": 0, "timeout": PATIENCE_SECONDS}
        made = OpenAI(base_url=f"{self.url}/v1", api_key=token or self.host, default_headers=named, **limits)
        self._clients.append(made)
        return made

    def close(self) -> None:
        for each in self._clients:
            each.close()

    def ask(self, client: OpenAI, *texts: str, **more: Any) -> str:
        """Return the answer to a chat of which people and model said these lines in turn; all of it is stored then."""
        answer = client.chat.completions.create(model="tiny", messages=chat(*texts), **more)
        return answer.choices[0].message.content or ""

    def lines(self, conversation: str, participant: str | None = None, **more: Any) -> list[tuple[str, str]]:
        who = participant or "/".join(conversation.split("/")[:2])
        scope = Scope(self.persona, conversation, who, **{"privacy": "direct", **more})
        lines = chat_history_cache.load_chat_history(conversation, 1000, db=self.db, scope=scope)
        return [(line["sender_id"], line["text"]) for line in lines]

    def wait_for_lines(self, count: int, conversation: str, **more: Any) -> list[tuple[str, str]]:
        wait_until(lambda: len(self.lines(conversation, **more)) >= count)
        return self.lines(conversation, **more)


def chat(*texts: str) -> list[Any]:
    roles = ["user" if (len(texts) - number) % 2 else "assistant" for number in range(len(texts))]
    return [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]


def wait_until(holds: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> bool:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def is_up(url: str) -> bool:
    """Tell whether a server answers; it is asked again and again, so by a client that is made at no cost."""
    try:
        with urlopen(url, timeout=60) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@contextmanager
def proxy_of(db: Database, model: ModelServer, below: str = "", *, mcp: bool = False, **flags: Any) -> Iterator[str]:
    usual = {"llm_base_url": f"{model.url}/v1", "llm_api_key": "upstream-key", "proxy_memory_seconds": PATIENCE_SECONDS}
    app = create_app(db=db, settings=Settings(**{**usual, **flags}), admin=False, proxy=True, mcp=mcp)
    with serving(Mount(below, app) if below else app) as url:
        yield f"{url}{below}"
