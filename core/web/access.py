"""Who asks: the token a request shows, what it stands for, the log-ins of the page, and what routes work with."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from starlette.requests import HTTPConnection

from ..calls import defaults
from ..calls.call import Call, GivenSettings
from ..config import Settings
from ..database.engine import Database
from ..errors import ScopeError, StoreError
from ..scope import Scope
from ..tokens import find_token, narrow_scope
from ..tokens.shapes import AccessToken, hash_token
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
        shown = hash_token(text)
        work = asyncio.get_running_loop().run_in_executor(self._threads, lambda: find_token(text, db=db))
        try:
            token = await asyncio.wait_for(work, TOKEN_SECONDS if shown in self._remembered else None)
        except (StoreError, TimeoutError):
            token = self._remembered.get(shown)
            if token is None or (token.expires_at is not None and token.expires_at <= db.clock()):
                raise
            return token
        if token is None:
            self._remembered.pop(shown, None)
        else:
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered.clear()
            self._remembered[shown] = token
        return token


def get_token(request: HTTPConnection) -> AccessToken:
    """Return the token of a request that has passed the guard."""
    token = request.scope.get(TOKEN_KEY)
    if not isinstance(token, AccessToken):
        raise Refused(401, NO_TOKEN)
    return token


def read_scope(token: AccessToken, **said: Any) -> Scope:
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
    """The log-ins of this process: random values, each until it expires or is logged out."""

    def __init__(self) -> None:
        self._ends: dict[str, datetime] = {}

    def begin(self, now: datetime) -> str:
        self._ends = {value: end for value, end in self._ends.items() if end > now}
        value = secrets.token_urlsafe(32)
        self._ends[value] = now + LIFETIME
        return value

    def is_open(self, value: str, now: datetime) -> bool:
        return now < self._ends.get(value, now)

    def end(self, value: str) -> None:
        self._ends.pop(value, None)


# What routes work with

ADMIN = "/admin"
"""Path of the operator's routes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebContext:
    """What every route works with. Settings are read at each request, so a changed flag acts at once."""

    db: Database | None = None
    """None for the database of the process."""
    settings: GivenSettings = None
    model: Any = None
    """What consolidation asks; None for that of the process."""
    allowed_hosts: frozenset[str] = frozenset()
    """Names in the Host header that are answered, in lower case, beside loopback and ADMIN_HOST; `*` for all."""
    admin_token: str = field(default="", repr=False)
    """ADMIN_TOKEN when the application was made; blank without the operator's routes."""
    has_proxy: bool = False
    has_mcp: bool = False
    sessions: Sessions = field(default_factory=Sessions)
    oauth: Any = None
    """The `mcp.oauth.Provider` by which the operator connects remote programs; None without a public address."""

    def database(self) -> Database:
        db: Database = defaults.handle(self.db)
        return db

    def values(self) -> Settings:
        return defaults.settings_for(self.settings)

    def now(self) -> datetime:
        return (self.db.clock if self.db is not None else defaults.clock())()


@dataclass(frozen=True, slots=True)
class AdminCall:
    context: WebContext
    call: Call

    @property
    def asking(self) -> dict[str, Any]:
        """Return the keyword arguments of a public function; one about items also gets `operator=True`."""
        return {"db": self.call.db, "settings": self.call.settings, "scope": self.call.scope}


def open_admin_call(context: WebContext, persona: str) -> AdminCall:
    return AdminCall(context, Call(context.database(), context.values(), Scope(persona)))
