"""One server for every face: the operator's, the API for hosts, the proxy, and what is mounted beside them.

| Path | Face | Token |
|---|---|---|
| `/admin/...` | the operator's routes and page | ADMIN_TOKEN, or a token of kind admin |
| `/v1/...` | the API for hosts; with a proxy everything else of the model server | scope, host |
| what `Mounted` says | another ASGI application, such as MCP under `/mcp` | scope, host |
| `/health/live`, `/health/ready` | that the process answers; that it can serve requests | none |
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from ..admin import errors
from ..admin.app import create_app
from ..calls.call import GivenSettings
from ..calls.defaults import settings_for
from ..database.engine import Database
from .guard import FaceContext, FaceGuard, speak_dialect
from .health import Health
from .host_app import create_host_app, list_own_paths

ADMIN = "/admin"
V1 = "/v1"


@dataclass(frozen=True, slots=True)
class Mounted:
    """Another face under the same address, behind the same guard: host, origin, size and token are looked at before.

    The application finds the token of a request with `api.access.get_token(request)`.
    """

    path: str
    """Such as `/mcp`; requests to it and below it are passed on as they are, the path whole."""
    app: ASGIApp
    lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None
    """What is entered before the first request and left after the last one; None for nothing."""


def create_server(
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    allowed_hosts: Collection[str] = (),
    admin: bool = True,
    proxy: bool = False,
    mounted: Sequence[Mounted] = (),
) -> Starlette:
    """Return the ASGI application of all faces.

    Args:
        db: a handle of `open_database`; None for the database of the process.
        settings: whole, or a mapping of flag to value; None for those of the process, read at each request.
        allowed_hosts: names in the Host header that are answered beside loopback and ADMIN_HOST; `*` for all.
        admin: with the operator's routes and page, which need ADMIN_TOKEN.
        proxy: with the OpenAI dialect, passed on to LLM_BASE_URL.
        mounted: further faces.

    Returns:
        What a server such as uvicorn serves, with its lifespan on.

    Raises:
        ConfigError: ADMIN_TOKEN is unset or too short; for a proxy, LLM_BASE_URL is unset or no address, or the extra
            `llm` is not installed.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.api import create_server
    >>> app = create_server(db=open_database("sqlite://"), admin=False)
    >>> [route.path for route in app.routes]
    ['/health', '/health/live', '/health/ready']
    """
    context = FaceContext(db, settings, frozenset(each.lower() for each in allowed_hosts))
    lifespans = [each.lifespan for each in mounted if each.lifespan is not None]
    host_app = create_host_app(context)
    paths = list_own_paths() if proxy else [V1]
    faces: list[tuple[str, ASGIApp]] = [(path, FaceGuard(host_app, context)) for path in paths]
    if proxy:
        from .proxy.routes import Proxy  # noqa: PLC0415 - asks for the extra `llm`

        made = Proxy(context)
        faces.append((V1, FaceGuard(made, context, is_proxy=True)))
        lifespans.append(made.lifespan)
    faces += [(each.path, FaceGuard(each.app, context)) for each in mounted]
    origins = settings_for(settings).allowed_origins
    if origins:
        faces = [(path, _allow_origins(app, origins)) for path, app in faces]
    if admin:
        faces.append((ADMIN, create_app(db=db, settings=settings, prefix=ADMIN, allowed_hosts=allowed_hosts)))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for begin in lifespans:
                await stack.enter_async_context(begin())
            yield

    server = Starlette(routes=Health(context).routes(), lifespan=lifespan)
    server.router.default = _Faces(faces, is_proxy=proxy)
    server.state.context = context
    return server


class _Faces:
    """Gives a request to the face whose path it begins with."""

    def __init__(self, faces: Sequence[tuple[str, ASGIApp]], *, is_proxy: bool) -> None:
        self._faces = tuple(faces)
        self._is_proxy = is_proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope.get("path", ""))
        mistake = find_base_url_mistake(path) if self._is_proxy else ""
        for prefix, app in () if mistake else self._faces:
            if path == prefix or path.startswith(f"{prefix}/"):
                await app(scope, receive, send)
                return
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        refused = errors.build_refusal(404, mistake or "There is nothing under this path.")
        await (speak_dialect(refused) if mistake else refused)(scope, receive, send)


def find_base_url_mistake(path: str) -> str:
    """Return what is wrong with the base URL of a client that asks for a path, blank where nothing is."""
    parts = path.split("/")[1:]
    names = [part for part in parts if part]
    if names[:2] == ["v1", "v1"]:
        return "The path holds `/v1` twice. The client adds one itself: leave `/v1` out of its base URL."
    if names.count("completions") > 1:
        return "The path holds `/chat/completions` twice. End the client's base URL with `/v1`."
    if names != parts and names[:1] == ["v1"]:
        return "The path holds a slash too many. End the client's base URL with `/v1`, without a slash behind it."
    if names and names[0] in ("chat", "completions", "models", "embeddings", "responses", "audio", "rerank"):
        return "The path holds no `/v1`. End the client's base URL with `/v1`."
    return ""


def _allow_origins(app: ASGIApp, origins: Collection[str]) -> ASGIApp:
    return CORSMiddleware(
        app,
        allow_origins=list(origins),
        allow_methods=["GET", "POST", "PATCH", "DELETE"],
        allow_headers=["*"],
        expose_headers=["*"],
    )
