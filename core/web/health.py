"""What tells a supervisor how the server is doing: alive, when the process answers; ready, when requests can
be served.
"""

from __future__ import annotations

import asyncio
import time
from typing import Literal

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..errors import CoreError
from ..upkeep.migration import list_pending
from .context import WebContext

ALIVE = "/health/live"
READY = "/health/ready"

Lack = Literal["", "database", "schema"]
"""What is missing: nothing; the database does not answer; its tables are not those of this version."""

_KEPT_SECONDS = 1.0
_NO_STORE = {"cache-control": "no-store"}


class Health:
    def __init__(self, context: WebContext) -> None:
        self._context = context
        self._lack: Lack = ""
        self._asked_at: float | None = None
        self._asking = asyncio.Lock()

    def routes(self) -> list[Route]:
        """Return the routes; `/health` alone says what `/health/live` says."""
        return [Route("/health", answer_alive), Route(ALIVE, answer_alive), Route(READY, self._answer_ready)]

    async def _answer_ready(self, _: Request) -> Response:
        async with self._asking:
            if self._asked_at is None or time.monotonic() - self._asked_at >= _KEPT_SECONDS:
                self._lack = await run_in_threadpool(self._find_lack)
                self._asked_at = time.monotonic()
        if self._lack:
            return JSONResponse({"status": "not ready", "lacks": self._lack}, 503, headers=_NO_STORE)
        return JSONResponse({"status": "ready"}, headers=_NO_STORE)

    def _find_lack(self) -> Lack:
        try:
            return "schema" if list_pending(self._context.database()) else ""
        except CoreError:
            return "database"


async def answer_alive(_: Request) -> Response:
    return JSONResponse({"status": "ok"}, headers=_NO_STORE)
