"""Tokens and log-ins: which token a request shows, what it stands for, and how long a log-in of the page lasts."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

from starlette.requests import HTTPConnection

from ..database.engine import Database
from ..errors import ScopeError, StoreError
from ..scope import Scope
from ..tokens import find_token, narrow_scope
from ..tokens.shapes import AccessToken, read_token_id
from .errors import Refused

NO_TOKEN = "A valid token is needed. Send it as `Authorization: Bearer TOKEN`; `prompt-engine token add` makes one."  # noqa: S105 - a sentence
WRONG_TOKEN = "The token is not valid here: it was revoked, mistyped, or made for another database. Make one with `prompt-engine token add`."  # noqa: S105, E501 - a sentence
FORBIDDEN = "The token is not for this."

TOKEN_THREADS = 8
TOKEN_SECONDS = 2.0
"""Longest wait for the database where a token was right a moment ago."""
MAX_REMEMBERED = 1000
"""Tokens remembered for the time that the database does not answer."""

TOKEN_KEY = "prompt_engine.token"  # noqa: S105 - a key of the request


class TokenReader:
    """Finds tokens in the database. One that was found a moment ago holds while the database does not answer."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(TOKEN_THREADS, "prompt-engine-token")
        self._remembered: dict[bytes, AccessToken] = {}

    async def find(self, text: str, db: Database) -> AccessToken | None:
        """Return the token with this text, None for none that holds."""
        if read_token_id(text) is None:
            return None
        shown = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        work = asyncio.get_running_loop().run_in_executor(self._threads, lambda: find_token(text, db=db))
        try:
            token = await asyncio.wait_for(work, TOKEN_SECONDS if shown in self._remembered else None)
        except (StoreError, TimeoutError):
            token = self._remembered.get(shown)
            if token is None or (token.expires_at is not None and token.expires_at <= db.clock()):
                raise
            return token
        self._remembered.pop(shown, None)
        if token is not None:
            while len(self._remembered) >= MAX_REMEMBERED:
                self._remembered.pop(next(iter(self._remembered)), None)
            self._remembered[shown] = token
        return token


def get_token(request: HTTPConnection) -> AccessToken:
    """Return the token of a request that has passed the guard."""
    token = request.scope.get(TOKEN_KEY)
    if not isinstance(token, AccessToken):
        raise Refused(401, NO_TOKEN)
    return token


def read_scope(token: AccessToken, **said: Any) -> Scope:
    """Return the scope of a request: what its token stands for, narrowed by what the request says."""
    try:
        return narrow_scope(token, **said)
    except ScopeError as error:
        raise Refused(403, str(error)) from None


def read_header(headers: Mapping[str, str], name: str) -> str:
    """Return a header that names somebody, blank where it is missing: UTF-8, which the server read as Latin-1."""
    try:
        return headers.get(name.lower(), "").encode("latin-1").decode("utf-8")
    except UnicodeError:
        raise Refused(
            400, f"{name} is not UTF-8. Send the header as UTF-8 bytes.", word="bad_value", fields=(name,)
        ) from None


def is_token(given: str, token: str) -> bool:
    """Return whether a text is the token, in a time that says nothing about where it differs."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode("utf-8", "surrogatepass"))


# Log-ins of the page

COOKIE = "prompt_engine_admin"
LIFETIME = timedelta(hours=12)


class Sessions:
    """The log-ins of one application: a signed value that expires, and holds no more after a log-out.

    The session of Starlette would bring a package, and its cookies would hold after a log-out.
    """

    def __init__(self, token: str) -> None:
        self._key = hashlib.sha256(b"prompt-engine admin session\x00" + token.encode("utf-8", "surrogatepass")).digest()
        self._ended: dict[str, int] = {}

    def begin(self, now: datetime) -> str:
        """Return the value of a cookie that holds from now for LIFETIME."""
        expires = int((now + LIFETIME).timestamp())
        body = f"{expires}.{secrets.token_hex(16)}"
        return f"{body}.{self._sign(body)}"

    def holds(self, value: str, now: datetime) -> bool:
        """Return whether a cookie's value was made here, has not expired and was not ended."""
        body, _, signature = value.rpartition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), self._sign(body).encode()):
            return False
        expires, _, name = body.partition(".")
        return int(expires) > now.timestamp() and name not in self._ended

    def end(self, value: str, now: datetime) -> None:
        """Let a value hold no more; in this process, which is the one that serves the page."""
        if self.holds(value, now):
            expires, name, _ = value.split(".")
            self._ended = {key: until for key, until in self._ended.items() if until > now.timestamp()}
            self._ended[name] = int(expires)

    def sign_form(self, cookie: str) -> str:
        """Return the form token of a log-in: nobody makes it without ADMIN_TOKEN, and each log-in has its own."""
        return self._sign(f"form {cookie}")

    def _sign(self, body: str) -> str:
        return hmac.new(self._key, body.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


MAX_TRIES = 30
"""Wrong tokens within WINDOW after which the answer is 429."""
WINDOW = timedelta(minutes=1)


class WrongTokens:
    def __init__(self) -> None:
        self._times: deque[datetime] = deque(maxlen=MAX_TRIES + 1)

    def are_too_many(self, now: datetime) -> bool:
        """Count one more, and return whether there were more than MAX_TRIES within WINDOW."""
        self._times.append(now)
        while not now - WINDOW < self._times[0] <= now:  # later ones too: a clock may be put back
            self._times.popleft()
        return len(self._times) > MAX_TRIES
