"""What a supervisor is told of the server: alive, when the process answers; ready, when requests can be served."""

from __future__ import annotations

import asyncio
import time

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..errors import CoreError
from ..upkeep.migration import list_pending
from .context import WebContext

_KEPT_SECONDS = 1.0
"""Everybody may ask, without a token: the database is asked at most so often."""
_NO_STORE = {"cache-control": "no-store"}


def list_routes(context: WebContext) -> list[Route]:
    """Return the routes; `/health` alone says what `/health/live` says."""
    asking = asyncio.Lock()
    lack, asked_at = "", float("-inf")

    def find_lack() -> str:
        """Return what is missing: nothing, an answer of the database, or tables of this version."""
        try:
            return "schema" if list_pending(context.database()) else ""
        except CoreError:
            return "database"

    async def answer_ready(_: Request) -> Response:
        nonlocal lack, asked_at
        async with asking:
            if time.monotonic() - asked_at >= _KEPT_SECONDS:
                lack, asked_at = await run_in_threadpool(find_lack), time.monotonic()
        if lack:
            return JSONResponse({"status": "not ready", "lacks": lack}, 503, headers=_NO_STORE)
        return JSONResponse({"status": "ready"}, headers=_NO_STORE)

    async def answer_alive(_: Request) -> Response:
        return JSONResponse({"status": "ok"}, headers=_NO_STORE)

    ready = Route("/health/ready", answer_ready)
    return [Route("/health", answer_alive), Route("/health/live", answer_alive), ready]
