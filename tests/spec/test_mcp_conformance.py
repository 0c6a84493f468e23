"""The protocol's own conformance tool against the real server over HTTP (R6): what applies to any server.

Its other scenarios ask for tools, resources and prompts of a server made for it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

pytest.importorskip("mcp", reason="needs the extra `mcp`")
pytest.importorskip("uvicorn", reason="needs the extra `admin`")

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from core.database.engine import Database
from tests.inspector import conformance
from tests.spec import proxy_world
from tests.spec.mcp_world import ANN, HttpServer, serving
from tests.store.world import own_scope

COMMAND = conformance.find()
SCENARIOS = ("server-initialize", "ping", "tools-list", "dns-rebinding-protection")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.engines("sqlite"),
    pytest.mark.skipif(COMMAND is None, reason=conformance.MISSING),
]


def _with_token(http: HttpServer) -> Starlette:
    """Return what passes requests on with a token: the tool knows none. The Host header stays as it came."""

    async def pass_on(request: Request) -> Response:
        sent = {name: value for name, value in request.headers.items() if name != "content-length"}
        async with httpx2.AsyncClient(timeout=proxy_world.PATIENCE_SECONDS, trust_env=False) as client:
            answer = await client.request(
                request.method, http.url, content=await request.body(), headers={**sent, **http.headers(ANN)}
            )
        kept: dict[str, Any] = {
            name: value
            for name, value in answer.headers.items()
            if name not in ("content-length", "transfer-encoding", "connection")
        }
        return Response(answer.content, answer.status_code, kept)

    return Starlette(routes=[Route("/mcp", pass_on, methods=["GET", "POST", "DELETE"])])


def test_r6_the_conformance_tool_finds_nothing(db: Database, tmp_path: Path) -> None:
    with serving(db, own_scope().persona) as http, proxy_world.serving(_with_token(http)) as url:
        for scenario in SCENARIOS:
            words = [*(COMMAND or []), "server", "--url", f"{url}/mcp", "--scenario", scenario]
            ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=180, check=False)
            told = ran.stdout + ran.stderr
            assert ran.returncode == 0 and ", 0 failed, 0 warnings" in told and "0/0" not in told, (scenario, told)
