"""A server of answers and embeddings in the OpenAI dialect on a loopback socket, which does what its address says."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.store.embedder import Grams

API_KEY = "canary-key"


@dataclass
class Asked:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    peer: tuple[str, int]


@dataclass
class ModelServer:
    """A running server; `base("ok")` is the address whose answers `ok` gives."""

    port: int
    asked: list[Asked] = field(default_factory=list)

    def base(self, behaviour: str = "ok") -> str:
        return f"http://127.0.0.1:{self.port}/{behaviour}/v1"


def answer(content: Any, **more: Any) -> bytes:
    message = {"role": "assistant", "content": content, **more}
    return json.dumps({"choices": [{"index": 0, "message": message}]}, ensure_ascii=False).encode()


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def embeddings(body: dict[str, Any]) -> bytes:
    made = Grams(dimensions=body.get("dimensions") or 64).embed(body["input"])
    data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(made)]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    whole = {"object": "list", "data": data[::-1], "model": body.get("model") or "small", "usage": usage}
    return json.dumps(whole).encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # an answer of two writes takes 40 ms else
    asked: list[Asked]

    def do_POST(self) -> None:
        self.body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.asked.append(Asked(self.path, headers, self.body, self.client_address))
        behaviours = EMBEDDINGS if self.path.endswith("/embeddings") else ANSWERS
        behaviours[self.path.split("/")[1]](self)

    def reply(self, content: bytes, status: int = 200, **headers: str) -> None:
        self.send_response_only(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""

    def chunks(self, parts: Iterator[bytes], pause: float = 0.0) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in parts:
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            time.sleep(pause)
        self.wfile.write(b"0\r\n\r\n")


def _half(handler: _Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices"')
    handler.close_connection = True


def _slow(handler: _Handler) -> None:
    time.sleep(60.0)
    handler.reply(answer("late"))


def _keyed(handler: _Handler) -> None:
    if handler.headers.get("authorization") == f"Bearer {API_KEY}":
        handler.reply(embeddings(handler.body))
    else:
        handler.reply(b'{"error": {"message": "canary-text is not the key", "code": "invalid_api_key"}}', 401)


SECRET_ANSWER = b'{"error": {"message": "you said canary-text with canary-key", "code": 400}}'

ANSWERS: dict[str, Callable[[_Handler], None]] = {
    "ok": lambda h: h.reply(answer("ok")), "unicode": lambda h: h.reply(answer("猫はトーフ 😀 café")),
    "chunked": lambda h: h.chunks(answer("猫" * 50)[at : at + 7] for at in range(0, len(answer("猫" * 50)), 7)),
    "parts": lambda h: h.reply(answer([_text("a"), {"type": "image"}, _text("b")])),
    "cookie": lambda h: h.reply(answer("ok"), Set_Cookie="session=1; Path=/"), "slow": _slow,
    "dripping": lambda h: h.chunks((b" " for _ in range(600)), 0.1),
    "huge": lambda h: h.chunks(b"x" * 1_000_000 for _ in range(30)), "half": _half,
    "nothing": lambda h: setattr(h, "close_connection", True), "garbage": lambda h: h.reply(b"\xff\xfe not json"),
    "deep": lambda h: h.reply(b"[" * 100_000), "choiceless": lambda h: h.reply(b'{"choices": []}'),
    "blank": lambda h: h.reply(answer(" \n")), "refused": lambda h: h.reply(answer(None, refusal="I cannot do that.")),
    "tools": lambda h: h.reply(answer(None, tool_calls=[{"id": "1"}])), "number": lambda h: h.reply(answer(7)),
    "error200": lambda h: h.reply(b'{"error": {"message": "slow down", "code": 429}}'),
    "auth200": lambda h: h.reply(b'{"error": {"message": "no", "code": "401"}}'),
    "text200": lambda h: h.reply(b'{"error": "model not loaded"}'), "400": lambda h: h.reply(SECRET_ANSWER, 400),
    "401": lambda h: h.reply(b'{"error": "bad key"}', 401),
    "429": lambda h: h.reply(b"slow down", 429, Retry_After="7"), "500": lambda h: h.reply(b"oops", 500),
    "503": lambda h: h.reply(b"busy", 503, Retry_After="99999999"),
    "307": lambda h: h.reply(b"", 307, Location="/ok/v1/chat/completions", Connection="close"),
}  # fmt: skip

EMBEDDINGS: dict[str, Callable[[_Handler], None]] = {
    "ok": lambda h: h.reply(embeddings(h.body)), "keyed": _keyed, "slow": _slow,
    "few": lambda h: h.reply(embeddings({**h.body, "input": h.body["input"][:-1]})),
    "twice": lambda h: h.reply(embeddings(h.body).replace(b'"index": 1', b'"index": 0')),
    "words": lambda h: h.reply(b'{"data": [{"index": 0, "embedding": ["a"]}]}'),
    "null": lambda h: h.reply(b'{"data": [{"index": 0, "embedding": null}]}'),
    "html": lambda h: h.reply(b"<html>canary-text</html>"), "500": lambda h: h.reply(b"oops", 500),
    "error200": lambda h: h.reply(b'{"error": {"message": "canary-text", "code": 429}}'),
    "auth200": lambda h: h.reply(b'{"error": {"message": "canary-text", "code": "401"}}'),
}  # fmt: skip


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # of five, the kernel turns away some of many clients that come at once


@contextmanager
def running() -> Iterator[ModelServer]:
    made = ModelServer(0)
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"asked": made.asked}))
    made.port = server.server_address[1]
    server.daemon_threads = True
    server.handle_error = lambda request, client_address: None  # type: ignore[method-assign] - clients that give up
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
