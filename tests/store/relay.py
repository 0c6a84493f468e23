"""A relay between programs and a server that misbehaves as networks do: slow, cut anywhere, half-open, led elsewhere.

It stands for a proxy too: `lead_to` sends new connections to another server, as ProxySQL and MaxScale do.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Literal, Self

from sqlalchemy.engine import make_url

Budget = Callable[[], int | None]
"""How many bytes a new connection passes on, both ways together, before it fails; None for without end."""
Loss = Literal["answer", "request"]
COMMIT = b"\x03COMMIT"
"""What a client sends to commit: the command that takes a statement, and the statement."""


class _Connection:
    def __init__(self, left: int | None) -> None:
        self.left = left
        """How many bytes it still passes on."""
        self.is_answered = True


class Relay:
    """Passes bytes on between clients and one server, as a context manager; it runs in a thread."""

    def __init__(self, url: str) -> None:
        self._url = make_url(url)
        self.target = (self._url.host or "127.0.0.1", self._url.port or 3306)
        self.delay_seconds = 0.0
        """How late every piece is, each way."""
        self.budget: Budget = lambda: None
        self.half_open = False
        """A connection whose bytes are used up stays open and says nothing, rather than being cut."""
        self.silent = False
        """Nothing is passed on, on any connection."""
        self.cuts = 0
        self._loss: Loss | None = None
        self.lost = 0
        """How many commits were lost."""
        self._open: set[asyncio.StreamWriter] = set()
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.port = 0

    @property
    def url(self) -> str:
        return self._url.set(host="127.0.0.1", port=self.port).render_as_string(hide_password=False)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(120)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(120)
        assert self._loop.is_closed()

    def lose(self, what: Loss) -> None:
        """Cut the connection of the next COMMIT: before the server has seen it, or in place of its answer."""
        self._loss = what

    def lead_to(self, host: str, port: int) -> None:
        self.target = (host, port)
        self.cut_all()

    def cut_all(self) -> None:
        self._loop.call_soon_threadsafe(self._cut_all)

    def heal(self) -> None:
        self.delay_seconds, self.half_open, self.silent = 0.0, False, False
        self.budget = lambda: None
        self.cut_all()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        self._cut_all()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.01))
        self._loop.close()

    def _cut_all(self) -> None:
        for writer in tuple(self._open):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(self.budget())
        self._open.add(writer)
        there: asyncio.StreamWriter | None = None
        try:
            back, there = await asyncio.open_connection(*self.target)
            self._open.add(there)
            ways = (
                asyncio.ensure_future(self._pass(reader, there, connection, is_request=True)),
                asyncio.ensure_future(self._pass(back, writer, connection)),
            )
            _, waiting = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for each in waiting:
                each.cancel()
        except OSError:
            pass
        finally:
            for each in (writer, there):
                if each is not None:
                    self._open.discard(each)
                    each.transport.abort()

    async def _pass(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, connection: _Connection, *,
        is_request: bool = False,
    ) -> None:  # fmt: skip
        with contextlib.suppress(OSError):
            while data := await source.read(1 << 16):
                if is_request and data[4:] == COMMIT and self._loss is not None:
                    loss, self._loss = self._loss, None
                    self.lost += 1
                    connection.is_answered = False
                    if loss == "request":
                        return
                elif not (is_request or connection.is_answered):
                    return
                if self.delay_seconds:
                    await asyncio.sleep(self.delay_seconds)
                while self.silent:  # noqa: ASYNC110 - set by another thread
                    await asyncio.sleep(0.05)
                room = connection.left
                if room is not None:
                    connection.left = room - len(data)
                    data = data[: max(0, room)]
                target.write(data)
                await target.drain()
                if connection.left is not None and connection.left < 0:
                    self.cuts += 1
                    if self.half_open:
                        await asyncio.sleep(3600)
                    return
