"""A header to the token it shows, and a token and a request to the scope."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from starlette.requests import HTTPConnection

from ..admin.errors import Refused
from ..admin.sessions import is_token
from ..config import Settings
from ..database.engine import Database
from ..errors import ScopeError
from ..scope import Scope
from ..tokens import find_token, narrow_scope
from ..tokens.shapes import AccessToken, TokenKind

FOR_HOSTS: Collection[TokenKind] = ("scope", "host")
"""Kinds of token that speak for people; `admin` is for the operator's routes."""

NO_TOKEN = "A valid token is needed. Send it as `Authorization: Bearer TOKEN`; `prompt-engine token add` makes one."  # noqa: S105 - a sentence
FORBIDDEN = "The token is not for this."

_KNOWN = "prompt_engine_access"


class AccessRefusedError(Refused):
    """A request is refused for who sends it: 401 or 403. What is said is the same whatever there is."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, message, headers, word="forbidden" if status == 403 else "")


def check_token(
    headers: Mapping[str, str],
    db: Database,
    *,
    kinds: Collection[TokenKind] = FOR_HOSTS,
    settings: Settings | None = None,
) -> AccessToken:
    """Return the token that a request shows.

    Args:
        headers: of the request, names in lower case; `authorization: Bearer TOKEN` is read.
        db: the database with the tokens, which is asked: call it in a thread.
        kinds: those that are taken here.
        settings: so that ADMIN_TOKEN is known as what it is: right, and not for this.

    Returns:
        The token, with what it stands for.

    Raises:
        AccessRefusedError: 401, no token, or none that holds; 403, one that is for something else.
        StoreReadError: the database did not answer.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.api import check_token
    >>> from prompt_engine.tokens import add_token
    >>> db = open_database("sqlite://")
    >>> made = add_token("host", db=db, scope=Scope("iris"))
    >>> check_token({"authorization": f"Bearer {made['token']}"}, db).persona
    'iris'
    >>> db.close()
    """
    kind, _, given = headers.get("authorization", "").partition(" ")
    text = given.strip() if kind.lower() == "bearer" else ""
    token = find_token(text, db=db) if text else None
    if token is None:
        if text and settings is not None and settings.admin_token and is_token(text, settings.admin_token):
            raise AccessRefusedError(403, FORBIDDEN)
        raise AccessRefusedError(401, NO_TOKEN, {"WWW-Authenticate": "Bearer"})
    if token.kind not in kinds:
        raise AccessRefusedError(403, FORBIDDEN)
    return token


def read_scope(token: AccessToken, **said: Any) -> Scope:
    """Return the scope of a request.

    Args:
        token: of `check_token`.
        said: what the request says of itself, as `tokens.narrow_scope` takes it.

    Returns:
        A scope as every function takes it.

    Raises:
        AccessRefusedError: 403, it says what the token does not stand for.

    >>> from prompt_engine.api import read_scope
    >>> from prompt_engine.tokens.shapes import AccessToken
    >>> read_scope(AccessToken(1, "scope", "iris", "web/ann"), conversation="web/ann/2").conversation
    'web/ann/2'
    """
    try:
        return narrow_scope(token, **said)
    except ScopeError as error:
        raise AccessRefusedError(403, str(error)) from None


def note_token(scope: Any, token: AccessToken) -> None:
    """Keep the token of a request for what comes behind the guard."""
    scope[_KNOWN] = token


def get_token(request: HTTPConnection) -> AccessToken:
    """Return the token of a request that has passed the guard."""
    token = request.scope.get(_KNOWN)
    if not isinstance(token, AccessToken):
        raise AccessRefusedError(401, NO_TOKEN, {"WWW-Authenticate": "Bearer"})
    return token
