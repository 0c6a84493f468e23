"""A relay between the program and a server, which loses what a network loses: an answer, or a request."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Literal, Self

from sqlalchemy.engine import make_url

Loss = Literal["answer", "request"]
COMMIT = b"\x03COMMIT"
"""What a client sends to commit: the command that takes a statement, and the statement."""


class Relay:
    """Passes bytes on between clients and one server, as a context manager.

    `lose("answer")` lets the next COMMIT reach the server and then cuts the connection instead of passing on what the
    server said; `lose("request")` cuts it before the server has seen the COMMIT.
    """

    def __init__(self, url: str) -> None:
        self._server = make_url(url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._loss: Loss | None = None
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self.lost = 0

    @property
    def url(self) -> str:
        port = self._listener.getsockname()[1]
        return self._server.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)

    def lose(self, what: Loss) -> None:
        self._loss = what

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for each in self._open:
            each.close()

    def _start(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection((self._server.host or "127.0.0.1", self._server.port or 3306))
            self._open += (client, server)
            cut = threading.Event()
            self._start(self._requests, client, server, cut)
            self._start(self._answers, client, server, cut)

    def _requests(self, client: socket.socket, server: socket.socket, cut: threading.Event) -> None:
        while data := _received(client):
            if data[4:] == COMMIT:
                with self._lock:
                    loss, self._loss = self._loss, None
                if loss is not None:
                    self.lost += 1
                    cut.set()
                if loss == "request":
                    break
            if not _sent(server, data):
                break
        _end(client, server)

    def _answers(self, client: socket.socket, server: socket.socket, cut: threading.Event) -> None:
        while data := _received(server):
            if cut.is_set() or not _sent(client, data):
                break
        _end(client, server)


def _received(source: socket.socket) -> bytes:
    try:
        return source.recv(1 << 16)
    except OSError:
        return b""


def _sent(target: socket.socket, data: bytes) -> bool:
    try:
        target.sendall(data)
    except OSError:
        return False
    return True


def _end(*sockets: socket.socket) -> None:
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
