"""Servers on loopback for the tests of adapters: a model, and the HTTP API of Telegram; and a database that fails."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from core.database.engine import Database
from core.db import open_database

Answer = Callable[[str, dict[str, Any]], dict[str, Any]]


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # of five, the kernel turns away some of many clients that come at once


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """Yield the URL of a server that answers each POST with what `answer(path, body)` gives."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            is_json = "json" in (self.headers.get("Content-Type") or "")
            body = json.dumps(answer(self.path, json.loads(raw) if is_json else {"form": raw.decode()})).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    with _Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(120)


class Model:
    """A model server in the dialect of OpenAI: says what it is told to, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.says = "Green tea."

    def __call__(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        assert path.endswith("/chat/completions"), path
        self.asked.append(json.dumps(body["messages"], ensure_ascii=False))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": self.says}}
        return {"id": "c", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice]}


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


@contextmanager
def broken_database(folder: Path) -> Iterator[Database]:
    """Yield a database that lost its tables after it was opened."""
    file = folder / "broken.db"
    db = open_database(f"sqlite:///{file}")
    try:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                if not name.startswith("sqlite_"):
                    connection.execute(f"DROP TABLE IF EXISTS {name}")
        yield db
    finally:
        db.close()
