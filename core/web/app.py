"""The application: its routes and who may use them.

| Path | What | Token |
|---|---|---|
| `/` | a page that names the running parts | none |
| `/admin/...` | the operator's API and page | ADMIN_TOKEN, or a token of kind admin |
| `/v1/...` | the API for hosts; with a proxy every other route of the model server | scope, host |
| `/mcp` | the Model Context Protocol | scope |
| `/openapi.json` | the description of the API | none |
| `/health/live`, `/health/ready` | whether the process answers; whether it can serve requests | none |
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from ..calls.call import GivenSettings
from ..calls.defaults import check_model, settings_for
from ..config.levels import describe_bad_token
from ..database.engine import Database
from ..errors import ConfigError, CoreError
from ..upkeep.migration import list_pending
from . import access, bodies, guard, http_api
from .access import ADMIN, WebContext

NO_TELEMETRY: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
"""Switches off the web framework's tracing: it would send parameters and error texts to the process's tracer."""


def create_app(
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    model: Any = None,
    allowed_hosts: Collection[str] = (),
    admin: bool = True,
    proxy: bool = False,
    mcp: bool = False,
    public_url: str = "",
) -> FastAPI:
    """Return the ASGI application: the HTTP API, and the chosen parts. Run its lifespan events.

    Args:
        db, settings, model: None uses those of the process, read for each request.
        allowed_hosts: accepted names in the Host header, besides loopback and ADMIN_HOST; pass `*` (all names) if a
            reverse proxy in front of this server checks the names.
        admin: serve the operator's API and page, which need ADMIN_TOKEN.
        proxy: serve the proxy to LLM_BASE_URL.
        mcp: serve the Model Context Protocol under `/mcp`.
        public_url: public address, as `https://memory.example.org`; remote programs then connect to `/mcp` by OAuth,
            and the operator consents on the page.

    Raises:
        ConfigError: ADMIN_TOKEN, LLM_BASE_URL or `public_url` cannot be used, or the extra `llm` is not installed.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.web import create_app
    >>> app = create_app(db=open_database("sqlite://"), settings={"ADMIN_TOKEN": "0123456789abcdef"})
    >>> "/admin/forget" in app.openapi()["paths"], "/v1/prompt" in app.openapi()["paths"]
    (True, True)
    """
    check_model(model)
    token = settings_for(settings).admin_token if admin else ""
    if admin and (problem := describe_bad_token(token)):
        raise ConfigError(problem, flag="ADMIN_TOKEN")
    context = WebContext(
        db=db,
        settings=settings,
        model=model,
        allowed_hosts=frozenset(each.lower() for each in allowed_hosts),
        admin_token=token,
        has_proxy=proxy,
        has_mcp=mcp,
    )
    if public_url:
        oauth = _make_oauth(context, public_url)
        hosts = context.allowed_hosts | {urlsplit(oauth.url).hostname or ""}
        context = replace(context, oauth=oauth, allowed_hosts=hosts)
    lifespans: list[Any] = []
    app = _make_bare(context, lifespans)
    app.router.routes.extend(_list_health_routes(context))
    app.add_route("/", _show_front, include_in_schema=False)
    app.include_router(
        http_api.router, dependencies=[bodies.BEARER, Depends(access.get_token), *_CHECKED], responses=bodies.REFUSALS
    )
    if admin:
        from .admin import api, pages  # noqa: PLC0415 - loaded where it is served

        dependencies = [*bodies.OPERATOR, *_CHECKED]
        app.include_router(api.router, prefix=ADMIN, dependencies=dependencies, responses=bodies.REFUSALS)
        app.include_router(pages.router, prefix=ADMIN)
        app.add_api_route(guard.METRICS, api.metrics, dependencies=dependencies, include_in_schema=False)
        app.mount(f"{ADMIN}/static", StaticFiles(directory=pages.STATIC))
    if mcp:
        from .mcp.http import McpEndpoint  # noqa: PLC0415 - an extra of its own

        endpoint = McpEndpoint(context)
        app.router.routes.extend(context.oauth.routes() if context.oauth else ())
        app.router.routes.extend(Route(path, endpoint) for path in (guard.MCP, f"{guard.MCP}/"))
        lifespans.append(endpoint.lifespan)
    if proxy:
        from .proxy.routes import Proxy  # noqa: PLC0415 - needs the extra `llm`

        app.router.default = model_server = Proxy(context)
        lifespans.append(model_server.lifespan)
    return app


def _make_oauth(context: WebContext, public_url: str) -> Any:
    if not (context.admin_token and context.has_mcp):
        what = (
            "A public address (public_url) needs MCP, and the admin page, on which the operator consents. Serve both: "
            "--mcp, a value for ADMIN_TOKEN, and no --no-admin."
        )
        raise ConfigError(what, flag="public_url")
    from .mcp.oauth import Provider  # noqa: PLC0415 - an extra of its own

    return Provider(context, public_url)


_CHECKED = (Depends(bodies.check_known),)


def _make_bare(context: WebContext, lifespans: list[Any]) -> FastAPI:
    """Return the application without routes, with its guard, error handling, and code for start and shutdown."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for begin in lifespans:
                await stack.enter_async_context(begin())
            yield

    app = FastAPI(
        title="prompt-engine",
        version="1",
        description="Memory of personas: hosts search and store, operators inspect and repair.",
        docs_url=None,  # the web framework's documentation page loads its script from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        telemetry=NO_TELEMETRY,
    )
    app.state.context = context
    own_paths = {"/".join(route.path.split("/")[:3]) for route in http_api.router.routes if isinstance(route, APIRoute)}
    app.add_middleware(guard.Guard, context=context, own_paths=own_paths)  # own paths, such as /v1/memories
    if origins := context.values().allowed_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["*"],
            expose_headers=["*"],
        )
    for failure in (RequestValidationError, HTTPException):
        app.add_exception_handler(failure, bodies.pass_on)
    return app


async def _show_front(request: Request) -> Response:
    from .admin.pages.page import environment  # noqa: PLC0415 - loaded where it is served

    root, address = (str(each).rstrip("/") for each in (request.scope.get("root_path", ""), request.base_url))
    template = environment().get_template("front.html.j2")
    return HTMLResponse(template.render(context=request.app.state.context, root=root, address=address, admin=ADMIN))


# Health: alive if the process answers, ready if requests can be served

HEALTH_SECONDS = 1.0
"""Shortest time between two checks of the database: a health request needs no token, so anybody can send many."""


def _list_health_routes(context: WebContext) -> list[Route]:
    """Return the health routes; `/health` equals `/health/live`."""
    asking = asyncio.Lock()
    lack, asked_at = "", float("-inf")

    def find_lack() -> str:
        """Return why requests cannot be served: "database" (no answer), "schema" (another version), or ""."""
        try:
            return "schema" if list_pending(context.database()) else ""
        except CoreError:
            return "database"

    async def answer_ready(_: Request) -> Response:
        nonlocal lack, asked_at
        async with asking:
            if time.monotonic() - asked_at >= HEALTH_SECONDS:
                lack, asked_at = await run_in_threadpool(find_lack), time.monotonic()
        if lack:
            return JSONResponse({"status": "not ready", "lacks": lack}, 503)
        return JSONResponse({"status": "ready"})

    async def answer_alive(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    alive = [Route(path, answer_alive) for path in ("/health", "/health/live")]
    return [*alive, Route("/health/ready", answer_ready)]
