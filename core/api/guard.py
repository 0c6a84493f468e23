"""What every request passes before anything of it is read: `FaceGuard`, around each face that is for programs.

| Step | Refused with |
|---|---|
| the Host header names this machine (a foreign name may have been pointed at it) | 421 |
| a page of a browser that asks is one of ALLOWED_ORIGINS | 403 |
| the body is not larger than MAX_BODY_BYTES, and comes whole within BODY_SECONDS | 413, 408 |
| `Authorization: Bearer` with a token of a kind that is for this | 401, 403 |
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope

from ..admin import errors, hosts
from ..admin.guard import Guard, refuse_host, refuse_length
from ..calls import defaults
from ..calls.call import GivenSettings
from ..config import Settings
from ..database.engine import Database
from ..errors import StoreError
from ..tokens.shapes import AccessToken, TokenKind
from . import access

MAX_BODY_BYTES = 4_194_304
"""Largest body: many times the longest conversation that a model reads."""
BODY_SECONDS = 60.0
"""Longest time a body may take to arrive."""
TOKEN_THREADS = 8
TOKEN_SECONDS = 2.0
"""Longest wait for the database where a token was right a moment ago."""
MOST_KNOWN = 1000
"""Tokens remembered for the time that the database does not answer."""
TOO_LARGE = "The body is too large. At most {} bytes are taken. Send less at once."
TOO_SLOW = "The body did not arrive in time. Send it within {:.0f} seconds."
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}
"""On every answer that does not say otherwise."""


@dataclass(frozen=True, slots=True)
class FaceContext:
    """What every face works with; values are read at each request, so that a changed flag acts at once."""

    db: Database | None = None
    """None for the database of the process."""
    settings: GivenSettings = None
    allowed_hosts: frozenset[str] = frozenset()
    """Names in the Host header that are answered, in lower case, beside loopback and ADMIN_HOST; `*` for all."""

    def database(self) -> Database:
        """Return the database."""
        db: Database = defaults.handle(self.db)
        return db

    def values(self) -> Settings:
        """Return the settings as they are now, without asking the database."""
        return defaults.settings_for(self.settings)


class FaceGuard(Guard):
    """Knows a program by a token of kind scope or host."""

    def __init__(
        self,
        app: ASGIApp,
        context: FaceContext,
        *,
        kinds: Collection[TokenKind] = access.FOR_HOSTS,
        is_proxy: bool = False,
    ) -> None:
        super().__init__(app, HEADERS)
        self._context = context
        self._kinds = kinds
        self._is_proxy = is_proxy
        """A proxy reads bodies itself, passes on long ones, and refuses in the OpenAI dialect."""
        self._checking = ThreadPoolExecutor(TOKEN_THREADS, "prompt-engine-token")
        self._known: dict[bytes, AccessToken] = {}
        """Hash of a header to the token it showed last, for the time that the database does not answer."""

    async def refuse(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the refusal of a foreign host or site, of too much, and of who has shown no token."""
        settings = self._context.values()
        if refused := refuse_host(headers, settings.admin_host, self._context.allowed_hosts):
            return refused
        if headers.get("origin", "") not in settings.allowed_origins and (
            hosts.judge_origin(headers, scope["scheme"]) == "foreign"
        ):
            return errors.build_refusal(403, "The request was sent from a page that ALLOWED_ORIGINS does not name.")
        if not self._is_proxy and (refused := refuse_length(headers, MAX_BODY_BYTES, TOO_LARGE)):
            return refused
        return await self._refuse_unknown(scope, headers, settings)

    async def limit_body(self, scope: Scope, receive: Receive) -> Receive:  # noqa: ARG002 - of every guard
        """Return a receive that gives the body, read whole; a proxy reads it itself."""
        if self._is_proxy:
            return receive
        return give_body(await read_body(receive, MAX_BODY_BYTES), receive)

    async def _refuse_unknown(self, scope: Scope, headers: Headers, settings: Settings) -> Response | None:
        shown = hashlib.sha256(headers.get("authorization", "").encode("utf-8", "surrogatepass")).digest()
        work = asyncio.get_running_loop().run_in_executor(
            self._checking,
            partial(access.check_token, headers, self._context.database(), kinds=self._kinds, settings=settings),
        )
        try:
            token = await asyncio.wait_for(work, TOKEN_SECONDS if shown in self._known else None)
        except (StoreError, TimeoutError):
            if shown not in self._known:  # one that was right a moment ago goes on as far as it can
                raise
            token = self._known[shown]
        except access.AccessRefusedError as error:
            self._known.pop(shown, None)
            return errors.answer_error(error)
        while len(self._known) >= MOST_KNOWN:
            self._known.pop(next(iter(self._known)), None)
        self._known[shown] = token
        access.note_token(scope, token)
        return None

    def speak(self, answer: Response) -> Response:
        """Return a refusal as clients of the face read it."""
        return speak_dialect(answer) if self._is_proxy else answer


def speak_dialect(answer: Response) -> Response:
    """Return a refusal that clients of the OpenAI dialect understand too: they show `error.message` and
    nothing else.
    """
    said = json.loads(bytes(answer.body))
    word, (field, *_) = said["error"], said["fields"] or [None]
    said["error"] = {"message": said["message"], "type": word, "param": field, "code": word}
    answer.body = json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    answer.headers["content-length"] = str(len(answer.body))
    return answer


async def read_body(receive: Receive, most: int, seconds: float = BODY_SECONDS) -> bytes:
    """Return a body when all of it has come; every face reads it whole before it does anything."""
    parts, got, more = [], 0, True
    try:
        async with asyncio.timeout(seconds):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                parts.append(message.get("body", b""))
                got += len(parts[-1])
                if got > most:
                    raise errors.Refused(413, TOO_LARGE.format(most))
                more = message.get("more_body", False)
    except TimeoutError:
        raise errors.Refused(408, TOO_SLOW.format(seconds)) from None
    return b"".join(parts)


def give_body(body: bytes, receive: Receive) -> Receive:
    """Return a receive that gives a body that was read, then what else comes of the connection."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_next() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_next
