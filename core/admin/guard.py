"""Who may ask: every request passes a `Guard` before anything of it is read. Of the operator's routes:

| Step | Refused with |
|---|---|
| the Host header names this machine (a foreign name may have been pointed at it) | 421 |
| a changing request was not sent from another site | 403 |
| the body is not larger than its route takes, while it is read | 413 |
| `Authorization: Bearer` with the token or one of kind admin, or the page's cookie | 401, many wrong tokens 429; 403 |

Only the log-in form and the page's own style and script are given to those who have no token: `PUBLIC`. With the
cookie alone, a changing request has to say where it was sent from (Origin, Sec-Fetch-Site or Referer), which every
browser does; a program uses the token.

A browser that has not logged in gets its 401 as a page that leads to `{prefix}/login`. After a wrong token that is
`{prefix}/login?failed=1`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Security
from fastapi.security import APIKeyCookie, HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..base import logs
from ..calls.defaults import settings_for
from ..errors import CoreError
from ..tokens import find_token
from ..tokens.rules import read_token_id
from ..tokens.shapes import AccessToken
from ..transfer.items.pieces import MAX_BYTES
from . import errors, hosts
from .context import AdminContext
from .sending import Sending
from .sessions import COOKIE, LIFETIME, Sessions, WrongTokens, is_token

PUBLIC: Mapping[str, tuple[str, ...]] = {"/login": ("GET", "HEAD", "POST"), "/static/": ("GET", "HEAD")}
"""Below the prefix: what needs no token; a path ending in a slash stands for all below it."""

READING = ("GET", "HEAD", "OPTIONS")
FORM_BYTES = 8_192
BODY_BYTES = 2_000_000
UPLOAD_BYTES = MAX_BYTES + 65_536
"""What a file may have, and what surrounds it in a multipart body."""

_KNOWN = "prompt_engine_admin"
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
"""On every answer that does not say otherwise."""

_NO_TOKEN = "A token is needed. Send it as `Authorization: Bearer TOKEN`, or log in on the page."  # noqa: S105 - a sentence
_WRONG = "The token is wrong, or the log-in has ended. Send the value of ADMIN_TOKEN, or log in again."

_TOO_LARGE = "The body is too large. At most {} bytes are taken here. Send less at once."

_bearer = HTTPBearer(auto_error=False, description="The value of ADMIN_TOKEN.")
_cookie = APIKeyCookie(name=COOKIE, auto_error=False, description="Set by POST /login; holds for 12 hours.")
_Bearer = Annotated[Any, Security(_bearer)]
_Cookie = Annotated[Any, Security(_cookie)]


def require_token(request: Request, _a: _Bearer = None, _b: _Cookie = None) -> AdminContext:
    """Return what the routes work with; for `Depends`, in every route of every router."""
    if not request.scope.get(_KNOWN):
        raise HTTPException(401, _NO_TOKEN, {"WWW-Authenticate": "Bearer"})
    context: AdminContext = request.app.state.admin
    return context


def is_known(request: Request) -> bool:
    """Return whether whoever asks has shown a token or a log-in."""
    return bool(request.scope.get(_KNOWN))


class Guard:
    """Stands before an application: refuses what may not pass, and turns what fails behind it into an answer.

    The operator's routes and every face for programs stand behind one, each with its own way to know who asks.
    """

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self._app, self._headers = app, headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sending = Sending(send, self._headers)
        try:
            refused = await self.refuse(scope, Headers(scope=scope))
            if refused is not None:
                await self.speak(refused)(scope, receive, sending)
            else:
                await self._app(scope, await self.limit_body(scope, receive), sending)
        except ClientDisconnect:
            logs.event(logging.INFO, "request_cut_off")  # nobody is left to answer
        except errors.CutOffError:
            pass  # a response that does not end closes the connection, so that nobody takes a part for the whole
        except Exception as error:  # noqa: BLE001 - the outermost point: nothing of it may reach the client
            answer = self.speak(errors.answer_error(error))
            if not sending.begun:
                await answer(scope, receive, sending)

    async def refuse(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the refusal of a request; None lets it through, marked with who asks."""
        raise NotImplementedError

    async def limit_body(self, scope: Scope, receive: Receive) -> Receive:
        """Return a receive that gives no more than is allowed."""
        raise NotImplementedError

    def speak(self, answer: Response) -> Response:
        """Return an answer in the dialect of the face."""
        return answer


def refuse_host(headers: Headers, listening_on: str, allowed: Collection[str]) -> Response | None:
    """Return the refusal of a Host header that names another machine."""
    if hosts.is_known_host(headers.get("host", ""), listening_on, allowed):
        return None
    return errors.build_refusal(
        421,
        "The Host header names another machine. Use 127.0.0.1, localhost or ADMIN_HOST, or allow the name with "
        "`prompt-engine serve --allow-host NAME`.",
    )


def refuse_length(headers: Headers, most: int, sentence: str) -> Response | None:
    """Return the refusal of a body that says it is too long."""
    length = headers.get("content-length", "")
    is_large = length.isdecimal() and (len(length) > 15 or int(length) > most)
    return errors.build_refusal(413, sentence.format(most)) if is_large else None


class AdminGuard(Guard):
    """Knows an operator by ADMIN_TOKEN, a token of kind admin, or the page's log-in."""

    def __init__(self, app: ASGIApp, context: AdminContext, sessions: Sessions, wrong: WrongTokens) -> None:
        super().__init__(app, HEADERS)
        self._context = context
        self._sessions = sessions
        self._wrong = wrong

    async def refuse(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the refusal of a foreign host or site, of too much, and of who has shown no token."""
        path = path_below(scope, self._context.prefix)
        listening_on = settings_for(self._context.settings).admin_host
        if refused := refuse_host(headers, listening_on, self._context.allowed_hosts):
            return refused
        if scope["method"] not in READING and hosts.judge_origin(headers, scope["scheme"]) == "foreign":
            return errors.build_refusal(
                403, "The request was sent from a page of another site. Use the page of this server."
            )
        return refuse_length(headers, _max_bytes(path), _TOO_LARGE) or await self._refuse_unknown(scope, path)

    async def limit_body(self, scope: Scope, receive: Receive) -> Receive:
        """Return a receive that ends with 413 as soon as more came than is allowed, whatever was announced."""
        most, got = _max_bytes(path_below(scope, self._context.prefix)), 0

        async def receive_some() -> Message:
            nonlocal got
            message = await receive()
            got += len(message.get("body", b""))
            if got > most:
                raise errors.Refused(413, _TOO_LARGE.format(most))
            return message

        return receive_some

    async def _judge_stored_token(self, scope: Scope, given: str, now: datetime) -> Response | None:
        """Return the refusal of a token that is not ADMIN_TOKEN, None for one that the database has for operators."""
        try:
            token = await run_in_threadpool(self._find_token, given)
        except CoreError as error:
            return errors.answer_core_error(error)
        if token is None:
            return await _refuse_token(self._wrong, now)
        if token.kind != "admin":
            return errors.build_refusal(403, "The token is not for this.", "forbidden")
        scope[_KNOWN] = "token"
        return None

    def _find_token(self, given: str) -> AccessToken | None:
        return find_token(given, db=self._context.db) if read_token_id(given) is not None else None

    async def _refuse_unknown(self, scope: Scope, path: str) -> Response | None:
        """Return the refusal for who has shown neither token nor cookie; else mark the request as known."""
        headers, now = Headers(scope=scope), self._context.now()
        kind, _, given = headers.get("authorization", "").partition(" ")
        value = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        if kind.lower() == "bearer":
            if is_token(given.strip(), self._context.token):
                scope[_KNOWN] = "token"
                return None
            return await self._judge_stored_token(scope, given.strip(), now)
        if value and self._sessions.holds(value, now):
            if scope["method"] not in READING and hosts.judge_origin(headers, scope["scheme"]) == "none":
                return errors.build_refusal(
                    403, "The request does not say from where it was sent. Send the header Origin."
                )
            scope[_KNOWN] = "session"
            return None
        if is_public(path, scope["method"]):
            return None
        if "text/html" in headers.get("accept", "") and scope["method"] in READING:
            return lead_to_login(scope, self._context.prefix)
        return errors.build_refusal(401, _WRONG if value else _NO_TOKEN, headers={"WWW-Authenticate": "Bearer"})


async def _refuse_token(wrong: WrongTokens, now: datetime) -> Response:
    """Return the refusal of a wrong token, later the more of them came (`WrongTokens`)."""
    wait = wrong.count(now)
    logs.warning("admin_wrong_token", slowed=wait != 0)
    if wait is None:
        return errors.build_refusal(429, "Too many wrong tokens. Wait a minute.", headers={"Retry-After": "60"})
    await asyncio.sleep(wait)
    return errors.build_refusal(401, _WRONG, headers={"WWW-Authenticate": "Bearer"})


def login_routes(context: AdminContext, sessions: Sessions, wrong: WrongTokens) -> APIRouter:
    """Return the routes by which the page logs in and out."""
    router = APIRouter(tags=["Log-in"])

    @router.post("/login", status_code=303, response_class=RedirectResponse, responses=LOGIN_ERRORS)
    async def login(request: Request, token: Annotated[str, Form(description="The value of ADMIN_TOKEN.")]) -> Response:
        """Set the page's cookie, which holds for 12 hours, and lead to the page."""
        if not is_token(token.strip(), context.token):
            refused = await _refuse_token(wrong, context.now())
            is_page = "text/html" in request.headers.get("accept", "") and refused.status_code == 401
            return lead_to_login(request.scope, context.prefix, failed=True) if is_page else refused
        base = root_path(request.scope, context.prefix)
        answer = RedirectResponse(f"{base}/", 303)
        answer.set_cookie(
            COOKIE,
            sessions.begin(context.now()),
            max_age=int(LIFETIME.total_seconds()),
            path=base,
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return answer

    @router.post("/logout", status_code=303, response_class=RedirectResponse, responses=LOGIN_ERRORS)
    def logout(request: Request, context: Annotated[AdminContext, Security(require_token)]) -> Response:
        """End the page's log-in: the cookie holds no more, whoever has it."""
        base = root_path(request.scope, context.prefix)
        sessions.end(request.cookies.get(COOKIE, ""), context.now())
        answer = RedirectResponse(f"{base}/login", 303)
        answer.delete_cookie(COOKIE, path=base, httponly=True, samesite="strict")
        return answer

    return router


LOGIN_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": errors.ErrorAnswer, "description": words}
    for status, words in ((400, "The body cannot be read."), (401, "A wrong token, or none."), (403, "Another site."),
                          (413, "Too large."), (422, "No token."), (429, "Too many wrong tokens."))
}  # fmt: skip


def lead_to_login(scope: Scope, prefix: str, *, failed: bool = False) -> HTMLResponse:
    """Return a 401 that leads a browser to the log-in form."""
    place = f"{root_path(scope, prefix)}/login{'?failed=1' if failed else ''}"
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Log in</title>'
        f'<meta http-equiv="refresh" content="0; url={place}"></head><body><a href="{place}">Log in</a></body></html>\n'
    )
    return HTMLResponse(page, 401)


def root_path(scope: Scope, prefix: str) -> str:
    """Return what every path of this application begins with in a browser: where it is mounted, and the prefix."""
    return f"{scope.get('root_path', '').rstrip('/')}{prefix}"


def path_below(scope: Scope, prefix: str) -> str:
    """Return the part of a request's path below the prefix; blank where it stands elsewhere."""
    start = root_path(scope, prefix)
    path = str(scope["path"])
    return path[len(start) :] if path.startswith(f"{start}/") else ""


def is_public(path: str, method: str) -> bool:
    """Return whether a path below the prefix needs no token."""
    return any(
        method in methods and (path == known or (known.endswith("/") and path.startswith(known)))
        for known, methods in PUBLIC.items()
    )


def _max_bytes(path: str) -> int:
    if path == "/login":
        return FORM_BYTES
    return UPLOAD_BYTES if path.endswith("/import") else BODY_BYTES
