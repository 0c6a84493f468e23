"""DOOR: the admin application, to be served or mounted."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse

from ..calls.call import GivenSettings
from ..calls.defaults import check_model, settings_for
from ..config.admin_token import admin_token
from ..database.engine import Database
from ..errors import ConfigError
from . import (
    bodies,
    errors,
    guard,
    lifecycle,
    memory,
    metrics,
    pages,
    playground,
    queue,
    relationship,
    transfer,
    upkeep,
)
from .context import AdminContext
from .sessions import Sessions, WrongTokens

_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)+")
NO_TELEMETRY: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
"""The web framework would record parameters and error texts where the process has such a recorder."""


def create_app(
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    model: Any = None,
    prefix: str = "/admin",
    allowed_hosts: Collection[str] = (),
) -> FastAPI:
    """Return the admin application: API and page, every route behind ADMIN_TOKEN.

    A host mounts it into its own: `host.mount("/", create_app())` keeps the paths as they are documented, another
    place stands before them. What the host itself lets through or not is not looked at.

    Args:
        db: a handle of `open_database`; None for the database of the process.
        settings: whole, or a mapping of flag to value; None for those of the process, read at each request.
        model: what consolidation asks, as `configure` takes it; None for that of the process.
        prefix: what every path begins with, such as `/admin`.
        allowed_hosts: names in the Host header that are answered beside loopback and ADMIN_HOST; `*` for all, where
            something in front looks at them.

    Returns:
        An ASGI application; it opens the database of the process at its first request.

    Raises:
        ConfigError: ADMIN_TOKEN is unset or shorter than 16 characters; the prefix is none.
        TypeError: the model cannot be asked.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.admin import create_app
    >>> app = create_app(db=open_database("sqlite://"), settings={"ADMIN_TOKEN": "0123456789abcdef"}, prefix="/memory")
    >>> "/memory/jobs" in app.openapi()["paths"]
    True
    """
    # 1. what it works with
    check_model(model)
    if not _PREFIX.fullmatch(prefix):
        raise ConfigError(
            f"prefix is {prefix[:40]!r}. It must begin with a slash and not end in one, such as '/admin'."
        )
    context = AdminContext(
        db=db,
        settings=settings,
        model=model,
        prefix=prefix,
        token=_read_token(settings),
        allowed_hosts=frozenset(each.lower() for each in allowed_hosts),
    )
    # 2. the application, and what every request passes first
    sessions, wrong = Sessions(context.token), WrongTokens()
    app = FastAPI(
        title="prompt-engine admin",
        version="1",
        description="What an operator sees and repairs of one persona's memory. Every route needs ADMIN_TOKEN.",
        docs_url=None,  # that page loads its script from elsewhere
        redoc_url=None,
        openapi_url=f"{prefix}/openapi.json",
        redirect_slashes=False,
        telemetry=NO_TELEMETRY,
    )
    app.state.admin = context
    app.add_middleware(guard.AdminGuard, context=context, sessions=sessions, wrong=wrong)
    for failure in errors.HANDLED:
        app.add_exception_handler(failure, errors.handle)
    app.add_exception_handler(HTTPException, _answer_http_error)
    # 3. its routes
    app.include_router(guard.login_routes(context, sessions, wrong), prefix=prefix)
    app.include_router(api_routes(), prefix=prefix)
    app.include_router(pages.router(context), prefix=prefix)
    app.add_route(prefix, _lead_to_page, include_in_schema=False)
    return app


def api_routes() -> APIRouter:
    """Return every route of the API, each behind `require_token`."""
    router = APIRouter(dependencies=[Depends(guard.require_token), Depends(bodies.check_known)])
    for group in GROUPS:
        router.include_router(group.router)
    return router


GROUPS: tuple[Any, ...] = (transfer, lifecycle, memory, relationship, queue, upkeep, playground, metrics)
"""Modules with a router each, in the order of their paths: `/memory/{id}` stands behind its neighbours."""


def _read_token(settings: GivenSettings) -> str:
    token = settings_for(settings).admin_token
    if problem := admin_token(token):
        raise ConfigError(problem, flag="ADMIN_TOKEN")
    return token


async def _lead_to_page(request: Request) -> RedirectResponse:
    """Lead from the prefix alone to the page; whoever has no token was answered by the guard."""
    return RedirectResponse(f"{request.scope['path']}/", 307)


async def _answer_http_error(request: Request, error: Any) -> Any:
    """Answer what was refused; a browser that is signed in gets a page for a path that there is not."""
    context: AdminContext = request.app.state.admin
    path = guard.path_below(request.scope, context.prefix)
    is_visit = request.method == "GET" and "text/html" in request.headers.get("accept", "")
    is_screen = path == pages.BASE or path.startswith(f"{pages.BASE}/")
    if error.status_code in (404, 405) and is_visit and is_screen and guard.is_known(request):
        return await run_in_threadpool(pages.render_missing, context, request, error.status_code)
    return errors.answer_http_error(error)
