"""Access control: every request passes `Guard` before its body is read.

| Step | Refused with |
|---|---|
| the Host header must name this machine, against DNS rebinding | 421 |
| the origin must not be another site; ALLOWED_ORIGINS may use all but the operator's routes | 403 |
| `Authorization: Bearer` with a token of the right kind, or the page's cookie | 401, 403 |
| the body must be small enough and arrive in time | 413, 408 |
"""

import asyncio
import ipaddress
import logging
from collections.abc import Collection, Mapping
from contextlib import suppress
from html import escape
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request, cookie_parser
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..base import logs
from ..transfer.items.formats import MAX_BYTES
from . import errors
from .access import ADMIN, COOKIE, FORBIDDEN, NO_TOKEN, TOKEN_KEY, WRONG_TOKEN, TokenReader, WebContext, is_token

Area = Literal["open", "admin", "hosts", "proxy"]
"""Group of routes and its token. open: no token. admin: operator's token. hosts: API, MCP. proxy: model server."""

METRICS = "/metrics"
"""Path that Prometheus collectors request by default; it is served by the metrics route below ADMIN."""
V1, MCP = "/v1", "/mcp"
READING = ("GET", "HEAD", "OPTIONS")

FORM_BYTES = 8_192
BODY_BYTES = 4_194_304
"""Largest body in bytes: many times the longest conversation that a model reads."""
UPLOAD_BYTES = MAX_BYTES + 65_536
"""Largest body with a file, in bytes: the largest file plus its multipart frame."""
PROXY_BYTES = 64_000_000
"""Largest request to the model server, in bytes; photos and recordings fit."""
BODY_SECONDS = 60.0
PROXY_SECONDS = 600.0

_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": _POLICY,
    "referrer-policy": "same-origin",  # no-referrer would make the Origin of the page's own forms `null`
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
PROXY_HEADERS = {name: HEADERS[name] for name in ("cache-control", "x-content-type-options", "referrer-policy")}
"""Headers added to the model server's responses that lack them; the other HEADERS are for this server's pages."""

_NO_LOGIN = "A token is needed. Send it as `Authorization: Bearer TOKEN`, or log in on the page."
WRONG_LOGIN = "The token is wrong, or the log-in has ended. Send the value of ADMIN_TOKEN, or log in again."
_OTHER_SITE = "A page of another site sent the request. Use the page of this server."
_OTHER_ORIGIN = "The request was sent from a page that ALLOWED_ORIGINS does not name."
_NO_ORIGIN = "The request does not say where it was sent from. Send the header Origin."
_TOO_LARGE = "The body is too large. At most {} bytes are taken here. Send less at once."
_OPERATOR = "prompt_engine.operator"


class Guard:
    """Middleware that rejects forbidden requests and turns exceptions into error responses."""

    def __init__(self, app: ASGIApp, context: WebContext, own_paths: Collection[str]) -> None:
        self._app, self._context, self._own_paths = app, context, frozenset(own_paths)
        self._tokens = TokenReader()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path, begun = path_below(scope), False
        area = self.find_area(path)

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in (PROXY_HEADERS if area == "proxy" else HEADERS).items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._check(scope, Headers(scope=scope), area)
            if area == "proxy":
                receive = give_body(await read_body(receive, PROXY_BYTES, PROXY_SECONDS), receive)
            elif area != "open":
                receive = give_body(await read_body(receive, _max_bytes(path), BODY_SECONDS), receive)
            await self._app(scope, receive, send_with_headers)
        except (ClientDisconnect, asyncio.CancelledError):
            logs.event(logging.INFO, "request_cut_off")  # the client disconnected, or the server is stopping
        except errors.CutOffError:
            pass  # the connection closes without an end, so that no client takes the part for the whole answer
        except Exception as error:  # noqa: BLE001 - the outermost point: clients get no details
            refused = errors.judge(error, scope)
            if not begun:
                await self._respond(refused, scope, area)(scope, receive, send_with_headers)

    def _respond(self, refused: errors.Refused, scope: Scope, area: Area) -> Response:
        path, status, answer = path_below(scope), refused.status_code, refused.answer
        if area == "proxy":  # clients of the OpenAI dialect show only `error.message`
            field = answer.fields[0] if answer.fields else None
            error = {"message": answer.message, "type": answer.error, "param": field, "code": answer.error}
            return refused.respond({**answer.model_dump(), "error": error})
        if _is_below(path, MCP):  # clients of MCP show only the message of a JSON-RPC error
            if status == 401 and self._context.oauth is not None:
                where = f'Bearer resource_metadata="{self._context.oauth.metadata}"'
                refused.headers = {**(refused.headers or {}), "WWW-Authenticate": where}
            data, code = {"error": answer.error, "fields": answer.fields}, -32600 if status < 500 else -32603
            failed = {"code": code, "message": answer.message, "data": data}
            return refused.respond({"jsonrpc": "2.0", "id": None, "error": failed})
        if area == "admin" and status == 401 and "text/html" in Headers(scope=scope).get("accept", ""):
            is_form = scope["method"] not in READING and path != f"{ADMIN}/logout"
            return _ask_to_log_in(scope) if is_form else lead_to_login(scope, _name_page(scope))
        return refused.respond()

    def find_area(self, path: str) -> Area:
        if _is_below(path, ADMIN) or path == METRICS:
            return "admin" if self._context.admin_token else "open"
        if _is_below(path, MCP):
            return "hosts" if self._context.has_mcp else "open"
        if not _is_below(path, V1):
            return "open"
        is_own = "/".join(path.split("/")[:3]) in self._own_paths
        return "proxy" if self._context.has_proxy and not is_own else "hosts"

    async def _check(self, scope: Scope, headers: Headers, area: Area) -> None:
        path = path_below(scope)
        if _is_below(path, "/health"):  # monitoring programs use any Host header
            return
        settings = self._context.values()
        if not is_known_host(headers.get("host", ""), settings.admin_host, self._context.allowed_hosts):
            raise errors.Refused(
                421,
                "The Host header names another machine. Use 127.0.0.1, localhost or ADMIN_HOST, or allow the name "
                "with `prompt-engine serve --allow-host NAME`.",
            )
        if area == "open":
            return
        origin = judge_origin(headers, scope["scheme"])
        changes = scope["method"] not in READING
        if area == "admin" and changes and origin == "foreign":
            raise errors.Refused(403, _OTHER_SITE, word="foreign_site")
        if area != "admin" and origin == "foreign" and headers.get("origin") not in settings.allowed_origins:
            raise errors.Refused(403, _OTHER_ORIGIN, word="foreign_site")
        if area == "admin":
            await self._check_operator(scope, headers, is_unsigned_change=changes and origin == "none")
        else:
            await self._check_program(scope, headers)

    async def _check_program(self, scope: Scope, headers: Headers) -> None:
        text = _read_bearer(headers)
        token = await self._tokens.find(text, self._context.database()) if text else None
        if token is None:
            admin_token = self._context.values().admin_token
            if text and admin_token and is_token(text, admin_token):
                raise errors.Refused(403, FORBIDDEN)
            raise errors.Refused(401, WRONG_TOKEN if text else NO_TOKEN)
        oauth = self._context.oauth  # None if the process has no public address
        is_for_mcp = _is_below(path_below(scope), MCP) and (oauth is None or token.resource == oauth.resource)
        if token.kind == "admin" or (token.resource and not is_for_mcp):
            raise errors.Refused(403, FORBIDDEN)
        scope[TOKEN_KEY] = token

    async def _check_operator(self, scope: Scope, headers: Headers, *, is_unsigned_change: bool) -> None:
        text = _read_bearer(headers)
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        if text is not None:
            if not is_token(text, self._context.admin_token):
                token = await self._tokens.find(text, self._context.database())
                if token is None:
                    logs.warning("admin_wrong_token", route=errors.name_route(scope), client=scope.get("client"))
                    raise errors.Refused(401, WRONG_LOGIN)
                if token.kind != "admin":
                    raise errors.Refused(403, FORBIDDEN)
            scope[_OPERATOR] = True
        elif cookie and self._context.sessions.is_open(cookie, self._context.now()):
            if is_unsigned_change:
                raise errors.Refused(403, _NO_ORIGIN, word="foreign_site")
            scope[_OPERATOR] = True
        elif not is_public(path_below(scope).removeprefix(ADMIN), scope["method"]):
            raise errors.Refused(401, WRONG_LOGIN if cookie else _NO_LOGIN)


def is_public(path: str, method: str) -> bool:
    is_login = path == "/login" and method in ("GET", "HEAD", "POST")
    return is_login or (path.startswith("/static/") and method in ("GET", "HEAD"))


def lead_to_login(scope: Scope, wanted: str = "", *, failed: bool = False) -> HTMLResponse:
    """Build a 401 page that leads to the log-in form, then to the page `wanted`; `failed` means a wrong token."""
    query = urlencode({name: value for name, value in (("failed", failed and "1"), ("next", wanted)) if value})
    return lead_to(f"{admin_root(scope)}/login{'?' if query else ''}{query}", "Log in", 401)


def lead_to(address: str, words: str, status: int = 200) -> HTMLResponse:
    """Build a page that refreshes to `address`; the security policy forbids answering a form with a redirect."""
    place = escape(address)
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{words}</title>'
        f'<meta http-equiv="refresh" content="0; url={place}"></head>'
        f'<body><a href="{place}">{words}</a></body></html>\n'
    )
    return HTMLResponse(page, status)


def _ask_to_log_in(scope: Scope) -> HTMLResponse:
    """Build a page for a form sent after the log-in expired; reloading the page sends the same form again."""
    root = admin_root(scope)
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Log in</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="stylesheet" href="{root}/static/admin.css"></head><body><main>'
        '<h1>The log-in has ended</h1><p class="problem" role="alert">Nothing was changed. '
        f'<a href="{root}/login" target="_blank">Log in</a> in a new tab, then reload this page: the form is sent '
        "again with all you wrote.</p></main></body></html>\n"
    )
    return HTMLResponse(page, 401)


def _name_page(scope: Scope) -> str:
    """Return the requested admin page (path and query), to return to after log-in; "" for other requests."""
    path = path_below(scope).removeprefix(ADMIN)
    if not path.startswith("/page/"):
        return ""
    query = scope["query_string"].decode("latin-1")[:6000]
    return f"{path}?{query}" if query else path


def path_below(scope: Scope) -> str:
    """Return the path of a request relative to the host's mount point."""
    return str(scope["path"]).removeprefix(str(scope.get("root_path", "")).rstrip("/"))


def admin_root(scope: Scope) -> str:
    return f"{str(scope.get('root_path', '')).rstrip('/')}{ADMIN}"


def _is_below(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}/")


def _read_bearer(headers: Headers) -> str | None:
    kind, _, text = headers.get("authorization", "").partition(" ")
    return text.strip() if kind.lower() == "bearer" else None


def _max_bytes(path: str) -> int:
    if path == f"{ADMIN}/login":
        return FORM_BYTES
    return UPLOAD_BYTES if path.startswith(ADMIN) and path.endswith("/import") else BODY_BYTES


async def read_body(receive: Receive, max_bytes: int, seconds: float) -> bytes:
    """Read the whole body; raise ClientDisconnect if the connection ends before the body is complete."""
    body, more = bytearray(), True
    try:
        async with asyncio.timeout(seconds):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                body += message.get("body", b"")
                if len(body) > max_bytes:
                    raise errors.Refused(413, _TOO_LARGE.format(max_bytes))
                more = message.get("more_body", False)
    except TimeoutError:
        raise errors.Refused(408, f"The body did not arrive in time. Send it within {seconds:.0f} seconds.") from None
    return bytes(body)


def give_body(body: bytes, receive: Receive) -> Receive:
    """Build an ASGI `receive` function that yields the body already read, then the connection's further messages."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_next() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_next


_ANY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened on
_PORTS = {"http": 80, "https": 443}
_NOT_IN_HOSTS = frozenset("@/\\?#")
"""Characters that separate a host from the rest of a URL."""


def is_known_host(host: str, listening_on: str, allowed: Collection[str] = ()) -> bool:
    """Return whether a Host header names this machine or is in `allowed`; unlike Starlette's check, it parses IPv6."""
    if "*" in allowed:
        return True
    name = ""
    if _NOT_IN_HOSTS.isdisjoint(host):
        with suppress(ValueError):
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".").lower()
    if not name:
        return False
    if name.endswith(".localhost") or name in allowed or name == listening_on.lower() or is_loopback(name):
        return True
    return listening_on in _ANY_ADDRESS and _parse_address(name) is not None


def is_loopback(host: str) -> bool:
    address = _parse_address(host.strip("[]"))
    return host.lower() == "localhost" or (address is not None and address.is_loopback)


def _parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    with suppress(ValueError):
        return ipaddress.ip_address(text)
    return None


def judge_origin(headers: Mapping[str, str], scheme: str) -> Literal["own", "foreign", "none"]:
    """Return who sent a request: "own" for a page of this application, "foreign" for another site, else "none"."""
    fetched = headers.get("sec-fetch-site", "").strip().lower()
    if fetched not in ("", "same-origin", "none"):
        return "foreign"
    said = headers.get("origin", headers.get("referer"))
    if said is None:
        return "own" if fetched else "none"
    place = _parse_place(said)
    used = said.partition(":")[0].lower()  # a Host without a port means the scheme's port
    own = _parse_place(f"{used if used in _PORTS else scheme}://{headers.get('host', '')}")
    return "own" if place is not None and place == own else "foreign"


def _parse_place(url: str) -> tuple[str, int] | None:
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    return (parts.hostname, port) if parts.hostname and port else None


def require_operator(request: Request) -> Any:
    """Return the context for a request with the operator's token or log-in; raise Refused (401) for other requests."""
    if not request.scope.get(_OPERATOR):
        raise errors.Refused(401, _NO_LOGIN)
    return request.app.state.context
