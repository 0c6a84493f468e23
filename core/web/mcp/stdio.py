"""MCP over standard input and output: every request is answered, even a request in progress when the input ends."""

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
"""Longest wait for running requests after the end of the input."""


def serve_stdio(make_speaker: Callable[[], Speaker]) -> None:
    """Serve one speaker over standard input and output until the input ends.

    `make_speaker` opens the database. If it raises, the tool call fails with its error, and the next call tries again.
    """
    lock, speakers = threading.Lock(), list[Speaker]()

    def find_speaker(_: Any) -> Speaker:
        with lock:
            if not speakers:
                speakers.append(make_speaker())
            return speakers[0]

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await run_until_answered(reading, writing, create_server(find_speaker))

    try:
        anyio.run(serve)
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):  # task groups wrap the actual error
            error = error.exceptions[0]
        raise error from None


async def run_until_answered(reading: Any, writing: Any, server: Server[Any]) -> None:
    """Serve until the input has ended and all requests are answered.

    The SDK's server cancels running requests when its input ends, so its input stays open until the last answer.
    """
    to_server, server_reading = anyio.create_memory_object_stream[Any](0)
    server_writing, from_server = anyio.create_memory_object_stream[Any](0)
    pending: set[str] = set()
    changed = anyio.Condition()

    async def settle(request_id: object) -> None:
        async with changed:
            pending.discard(str(request_id))
            changed.notify_all()

    async def pass_in() -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with to_server:
                async for item in reading:
                    if isinstance(item, Exception):  # an invalid line gets no answer
                        continue
                    if isinstance(item.message, types.JSONRPCRequest):
                        pending.add(str(item.message.id))
                    elif getattr(item.message, "method", "") == "notifications/cancelled":
                        await settle((item.message.params or {}).get("requestId"))  # this message gets no answer
                    await to_server.send(item)
                with anyio.move_on_after(FINISH_SECONDS):
                    async with changed:
                        while pending:
                            await changed.wait()

    async def pass_out() -> None:
        async with writing:
            async for item in from_server:
                await writing.send(item)
                if isinstance(item.message, (types.JSONRPCResponse, types.JSONRPCError)):
                    await settle(item.message.id)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pass_in)
        tasks.start_soon(pass_out)
        await server.run(server_reading, server_writing, server.create_initialization_options())
