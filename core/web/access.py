"""Tokens of requests, log-ins of the admin page, and the shared state of routes."""

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
from ..calls.call import GivenSettings
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

TOKEN_SECONDS = 2.0
"""Longest wait for the database when it looks up a token found earlier; after this wait the token is accepted."""

MAX_REMEMBERED = 1_000
"""Maximum number of tokens remembered for times when the database does not answer."""

TOKEN_KEY = "prompt_engine.token"  # noqa: S105 - a key of the request


class TokenReader:
    """Finds tokens in the database. While the database does not answer, tokens found earlier stay valid."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(8, "prompt-engine-token")
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
    """Return the header `name` decoded as UTF-8, since servers decode headers as Latin-1; "" if it is missing."""
    try:
        return headers.get(name.lower(), "").encode("latin-1").decode("utf-8")
    except UnicodeError:
        what = f"{name} is not UTF-8. Send the header as UTF-8 bytes."
        raise Refused(400, what, word="bad_value", fields=(name,)) from None


def is_token(given: str, token: str) -> bool:
    """Return whether `given` equals `token`, comparing them in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode("utf-8", "surrogatepass"))


COOKIE = "prompt_engine_admin"
LIFETIME = timedelta(hours=12)


class Sessions:
    """The log-ins of this process: random cookie values, each valid until it expires or its user logs out."""

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


ADMIN = "/admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebContext:
    """Shared state of all routes. Settings are read for each request, so a change acts at once."""

    db: Database | None = None
    """Database of the routes; None uses the database of the process."""
    settings: GivenSettings = None
    model: Any = None
    allowed_hosts: frozenset[str] = frozenset()
    """Accepted Host names in lower case, besides loopback and ADMIN_HOST; `*` accepts all."""
    admin_token: str = field(default="", repr=False)
    """Value of ADMIN_TOKEN when the application was created; "" if the operator's routes are not served."""
    has_proxy: bool = False
    has_mcp: bool = False
    sessions: Sessions = field(default_factory=Sessions)
    oauth: Any = None
    """OAuth provider (`mcp.oauth.Provider`) for remote MCP clients; None without a public address."""

    def database(self) -> Database:
        db: Database = defaults.handle(self.db)
        return db

    def values(self) -> Settings:
        return defaults.settings_for(self.settings)

    def now(self) -> datetime:
        return defaults.clock(self.db)()


class AdminCall:
    def __init__(self, context: WebContext, persona: str) -> None:
        self.context, self.db, self.settings = context, context.database(), context.values()
        self.scope = Scope(persona)

    @property
    def asking(self) -> dict[str, Any]:
        """Return the common arguments of public functions; functions for items also need `operator=True`."""
        return {"db": self.db, "settings": self.settings, "scope": self.scope}
