"""A wire between hosts and a server that misbehaves as networks do: slow, cut anywhere, half-open, or led elsewhere.

Unlike `tests.store.relay`, which loses one commit exactly, it knows nothing of what passes. Stands for a proxy too:
`lead_to` sends new connections to another server, as ProxySQL and MaxScale do after a failover.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Self

from sqlalchemy.engine import make_url

Budget = Callable[[], int | None]
"""How many bytes a new connection passes on, both ways together, before it fails; None for without end."""


class Wire:
    def __init__(self, url: str) -> None:
        self._url = make_url(url)
        self.target: tuple[str, int] | None = (self._url.host or "127.0.0.1", self._url.port or 3306)
        self.delay_seconds = 0.0
        """How late every piece is, each way."""
        self.budget: Budget = lambda: None
        self.half_open = False
        """A connection whose bytes are used up stays open and says nothing, rather than being cut."""
        self.silent = False
        """Nothing is passed on, on any connection."""
        self.cuts = 0
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
        left = [self.budget()]
        self._open.add(writer)
        there: asyncio.StreamWriter | None = None
        try:
            if self.target is None:
                return
            back, there = await asyncio.open_connection(*self.target)
            self._open.add(there)
            ways = (
                asyncio.ensure_future(self._pass(reader, there, left)),
                asyncio.ensure_future(self._pass(back, writer, left)),
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

    async def _pass(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, left: list[int | None]) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(1 << 16):
                if self.delay_seconds:
                    await asyncio.sleep(self.delay_seconds)
                while self.silent:  # noqa: ASYNC110 - set by another thread
                    await asyncio.sleep(0.05)
                room = left[0]
                if room is not None:
                    left[0] = room - len(data)
                    data = data[: max(0, room)]
                target.write(data)
                await target.drain()
                if left[0] is not None and left[0] < 0:
                    self.cuts += 1
                    if self.half_open:
                        await asyncio.sleep(3600)
                    return
