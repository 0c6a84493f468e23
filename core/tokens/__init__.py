"""Tokens, with which client programs authenticate.

A token is shown once, when it is created; the database stores only its hash. `web.guard` decides which kinds a route
accepts. The token's scope limits which items a request may see, like the scope of any caller.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from hmac import compare_digest
from typing import Unpack

from ..access.table import is_foreign
from ..base.hints import shown
from ..calls import defaults
from ..calls.call import CallOptions, GivenSettings, load_viewer, open_call
from ..database.engine import Database
from ..database.ids import retry_duplicates
from ..errors import MessageError, ScopeError
from ..memories.rules import read_id
from ..scope import NO_SERVER, Privacy, Scope, key_text
from . import shapes, table
from .shapes import AccessToken, ListedToken, NewToken, TokenKind
from .table import read_token as read_token
from .table import renew_token as renew_token
from .table import update_revoked as update_revoked

__all__ = [
    "AccessToken", "ListedToken", "NewToken", "add_token", "find_token", "list_tokens", "narrow_scope", "revoke_token",
]  # fmt: skip

KINDS = ("scope", "host", "admin")
LABEL_CHARS = 100
PERSONAS_CHARS = 1000


def add_token(
    kind: TokenKind = "scope", *, label: str = "", personas: str = "", **options: Unpack[CallOptions]
) -> NewToken:
    """Create a token and return it as in `list_tokens`, with its text under `token`, shown only this once.

    Args:
        kind: `scope` for the scope's participant, in its conversation and server if given; `host` for every participant
            and conversation of the persona; `admin` for the operator's routes alone.
        label: purpose, at most 100 characters, shown in lists.
        personas: other personas that requests of a host token may choose, separated by commas, or `*` for all.

    Raises:
        MessageError: an unknown kind, a scope token without participant, a label or `personas` that is too long.
        StoreWriteError: nothing was stored.

    >>> from prompt_engine import Scope, open_database, tokens
    >>> db = open_database("sqlite://")
    >>> made = tokens.add_token(db=db, scope=Scope("iris", participant="web/ann"))
    >>> made["kind"], tokens.find_token(made["token"], db=db).scope.participant
    ('scope', 'web/ann')
    >>> db.close()
    """
    if kind not in KINDS:
        raise MessageError(f"kind is {shown(kind)}. It must be one of {', '.join(KINDS)}.", fields=("kind",))
    label = key_text(label, "label", 4 * LABEL_CHARS)
    personas = key_text(personas, "personas", 4 * PERSONAS_CHARS)
    if len(label) > LABEL_CHARS:
        raise MessageError(
            f"label is {len(label)} characters long. At most {LABEL_CHARS} are allowed.", fields=("label",)
        )
    if personas and (kind != "host" or len(personas) > PERSONAS_CHARS):
        raise MessageError(
            f"personas is for a host token, and at most {PERSONAS_CHARS} characters long. Use `*` for all personas.",
            fields=("personas",),
        )
    call = open_call(**options)
    asking = call.scope
    if kind == "admin":
        return issue_token(call.db, AccessToken(0, kind, table.OPERATOR, label=label))
    if kind == "host":
        return issue_token(call.db, AccessToken(0, kind, asking.persona, label=label, personas=personas))
    if not (asking.participant or "").strip():
        raise MessageError(
            "participant is missing. A scope token is of one participant; a host token is of a whole persona.",
            fields=("participant",),
        )
    token = AccessToken(0, kind, asking.persona, asking.participant, asking.conversation, asking.server, label)
    return issue_token(call.db, token)


@retry_duplicates
def issue_token(db: Database, token: AccessToken) -> NewToken:
    token_id = db.ids.one()
    text = shapes.write_token(token_id, secrets.token_urlsafe(32))
    return {**table.insert_token(db, replace(token, id=token_id), shapes.hash_token(text)), "token": text}


def find_token(text: str, *, db: Database | None = None) -> AccessToken | None:
    """Return the access token that a client sent as `text`; None if the token is unknown, revoked or expired.

    >>> from prompt_engine import open_database, tokens
    >>> tokens.find_token("no token", db=open_database("sqlite://")) is None
    True
    """
    handle = defaults.handle(db)
    token_id = shapes.read_token_id(text)
    row = read_token(handle, token_id) if token_id is not None else None
    if row is None or not compare_digest(row[1], shapes.hash_token(text)):
        return None
    expires_at = row[0].expires_at
    return row[0] if expires_at is None or expires_at > handle.clock() else None


def narrow_scope(
    token: AccessToken,
    *,
    persona: str | None = None,
    conversation: str | None = None,
    participant: str | None = None,
    server: str | None = None,
    privacy: Privacy | None = None,
) -> Scope:
    """Return the scope of a request: the token's scope, narrowed to the names given in the request.

    A host token speaks for all participants and conversations of its personas. A scope token speaks for its
    participant: in its conversation if it has one, else in the participant's own direct conversations (`web/ann` and
    `web/ann/2` of `web/ann`).

    Raises:
        ScopeError: the request names something outside the token's scope, whether it exists or not.

    >>> from prompt_engine.tokens import narrow_scope
    >>> from prompt_engine.tokens import AccessToken
    >>> narrow_scope(AccessToken(1, "scope", "iris", "web/ann"), conversation="web/ann/2").privacy
    'direct'
    """
    own = token.scope
    if persona is not None and not token.may_speak_as(persona):
        raise ScopeError(_NOT_FOR.format("persona"))
    if token.kind == "host":
        return Scope(persona or own.persona, conversation, participant, server or "", None, privacy)
    if participant is not None and participant != own.participant:
        raise ScopeError(_NOT_FOR.format("participant"))
    if server not in (None, "", NO_SERVER, own.server):
        raise ScopeError(_NOT_FOR.format("server"))
    if conversation in (None, own.conversation):
        return own
    if token.conversation is not None or not shapes.is_own_place(conversation, own.participant or ""):
        raise ScopeError(_NOT_FOR.format("conversation"))
    return replace(own, conversation=conversation, privacy="separate" if privacy == "separate" else "direct")


def may_change(row_id: int, *, db: Database | None, settings: GivenSettings, scope: Scope) -> bool:
    """Return whether the scope's person may change a row; True if the scope does not see the row."""
    call = open_call(db, settings, scope)
    return not is_foreign(call.db, load_viewer(call), row_id)


_NOT_FOR = "The token does not stand for this {}."


def list_tokens(*, admin: bool = False, **options: Unpack[CallOptions]) -> list[ListedToken]:
    """Return the tokens of the scope's persona without their texts, oldest first, including revoked tokens.

    Args:
        admin: list admin tokens instead, which belong to no persona.

    >>> from prompt_engine import open_database, tokens
    >>> db = open_database("sqlite://")
    >>> _ = tokens.add_token("host", label="my bot", db=db)
    >>> [(each["kind"], each["label"], each["revoked_at"]) for each in tokens.list_tokens(db=db)]
    [('host', 'my bot', '')]
    >>> db.close()
    """
    call = open_call(**options)
    return table.read_tokens(call.db, table.OPERATOR if admin else call.persona)


def revoke_token(id: object, *, admin: bool = False, **options: Unpack[CallOptions]) -> bool:  # noqa: A002 - row's key
    """Revoke a token; return False if it is unknown, was revoked before, or belongs to another persona.

    Args:
        id: a whole number, as in `list_tokens`.
        admin: revoke an admin token instead of one of the persona.

    Raises:
        MessageError: the id is not a whole number.

    >>> from prompt_engine import open_database, tokens
    >>> db = open_database("sqlite://")
    >>> made = tokens.add_token("host", db=db)
    >>> tokens.revoke_token(made["id"], db=db), tokens.revoke_token(made["id"], db=db)
    (True, False)
    >>> db.close()
    """
    call = open_call(**options)
    return table.update_revoked(call.db, table.OPERATOR if admin else call.persona, read_id(id))
