"""A server of embeddings in the OpenAI dialect on a loopback socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.store.embedder import Grams
from tests.unit.llm.model_server import Handler, serve

API_KEY = "canary-key"


@dataclass
class EmbeddingServer:
    """A running server; `base("ok")` is the address whose answers `ok` gives."""

    port: int
    asked: list[dict[str, Any]] = field(default_factory=list)
    """The bodies as they arrived."""
    headers: list[dict[str, str]] = field(default_factory=list)

    def base(self, behaviour: str = "ok") -> str:
        return f"http://127.0.0.1:{self.port}/{behaviour}/v1"


def embeddings(body: dict[str, Any]) -> bytes:
    made = Grams(dimensions=body.get("dimensions") or 64).embed(body["input"])
    data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(made)]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return json.dumps(
        {"object": "list", "data": data[::-1], "model": body.get("model") or "small", "usage": usage}
    ).encode()


class _Handler(Handler):
    server_of: EmbeddingServer
    release: threading.Event

    def do_POST(self) -> None:  # noqa: N802 - the name http.server calls
        headers, body = self.read()
        self.server_of.asked.append(body)
        self.server_of.headers.append(headers)
        BEHAVIOURS[self.path.split("/")[1]](self, body)


def _slow(handler: _Handler, body: dict[str, Any]) -> None:
    handler.release.wait(60)
    handler.close_connection = True


def _keyed(handler: _Handler, body: dict[str, Any]) -> None:
    if handler.headers.get("authorization") == f"Bearer {API_KEY}":
        handler.reply(embeddings(body))
    else:
        handler.reply(b'{"error": {"message": "canary-text is not the key", "code": "invalid_api_key"}}', 401)


BEHAVIOURS: dict[str, Callable[[_Handler, dict[str, Any]], None]] = {
    "ok": lambda h, body: h.reply(embeddings(body)),
    "keyed": _keyed,
    "slow": _slow,
    "few": lambda h, body: h.reply(embeddings({**body, "input": body["input"][:-1]})),
    "twice": lambda h, body: h.reply(embeddings(body).replace(b'"index": 1', b'"index": 0')),
    "words": lambda h, body: h.reply(b'{"data": [{"index": 0, "embedding": ["a"]}]}'),
    "null": lambda h, body: h.reply(b'{"data": [{"index": 0, "embedding": null}]}'),
    "html": lambda h, body: h.reply(b"<html>canary-text</html>"),
    "error200": lambda h, body: h.reply(b'{"error": {"message": "canary-text", "code": 429}}'),
    "auth200": lambda h, body: h.reply(b'{"error": {"message": "canary-text", "code": "401"}}'),
}


@contextmanager
def running() -> Iterator[EmbeddingServer]:
    made, release = EmbeddingServer(0), threading.Event()
    with serve(type("Handler", (_Handler,), {"server_of": made, "release": release})) as made.port:
        try:
            yield made
        finally:
            release.set()
