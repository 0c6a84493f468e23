"""The protocol over standard input and output: every request is answered, also one that is in progress at the end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from .server import create_server
from .speaker import Speaker

FINISH_SECONDS = 60
"""Longest wait for the answers to requests that were in progress when the input ended."""


def serve_stdio(make_speaker: Callable[[], Speaker]) -> None:
    """Serve one speaker over standard input and output until the input ends.

    Args:
        make_speaker: opens what is needed; called by each call until it succeeds. What it raises is what that call is
            answered.
    """
    lock, speakers = threading.Lock(), list[Speaker]()

    def find_speaker(_: Any) -> Speaker:
        with lock:
            if not speakers:
                speakers.append(make_speaker())
            return speakers[0]

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await Relay(reading, writing).run(create_server(find_speaker))

    try:
        anyio.run(serve)
    except BaseExceptionGroup as group:
        raise _first_of(group) from None


def _first_of(error: BaseException) -> BaseException:
    """Return what went wrong, such as a stream that is closed, out of the groups that the tasks wrap it in."""
    return _first_of(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


class Relay:
    """Passes messages on between the streams of a transport and a server.

    The SDK's server cancels what it is doing when its input ends. This stands before it, and ends the server's input
    after the last answer.
    """

    def __init__(self, reading: Any, writing: Any) -> None:
        self._reading, self._writing = reading, writing
        self._pending: set[str] = set()
        self._idle: anyio.Event | None = None
        """Set by the last answer after the end of the input."""

    async def run(self, server: Server[Any]) -> None:
        """Serve until the input has ended and all requests are answered."""
        to_server, server_reading = anyio.create_memory_object_stream[Any](0)
        server_writing, from_server = anyio.create_memory_object_stream[Any](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._pass_in, to_server)
            tasks.start_soon(self._pass_out, from_server)
            await server.run(server_reading, server_writing, server.create_initialization_options())

    async def _pass_in(self, to_server: Any) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with to_server:
                async for item in self._reading:
                    if not isinstance(item, Exception):  # a line that is no message of the protocol has no answer
                        self._note_request(item.message)
                        await to_server.send(item)
                await self._finish()

    async def _finish(self) -> None:
        if self._pending:
            self._idle = anyio.Event()
            with anyio.move_on_after(FINISH_SECONDS):
                await self._idle.wait()

    async def _pass_out(self, from_server: Any) -> None:
        async with self._writing:
            async for item in from_server:
                await self._writing.send(item)
                if isinstance(item.message, (types.JSONRPCResponse, types.JSONRPCError)):
                    self._settle(item.message.id)

    def _note_request(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest):
            self._pending.add(str(message.id))
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))  # a cancelled request gets no answer

    def _settle(self, request_id: object) -> None:
        self._pending.discard(str(request_id))
        if self._idle is not None and not self._pending:
            self._idle.set()
