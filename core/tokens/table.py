"""The rows of tokens (table access_tokens)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from ..database.engine import Database
from ..database.schema import access_tokens
from ..database.stored_values import read_time
from ..text.times import iso_text
from .shapes import AccessToken, ListedToken

OPERATOR = ""
"""Persona of admin tokens; no scope can have it."""

_T = access_tokens.c
_SOURCE = "access_tokens"
_SHOWN = (
    _T.id, _T.kind, _T.persona_id, _T.participant_key, _T.conversation_key, _T.server_id, _T.personas, _T.label,
    _T.resource, _T.created_at, _T.expires_at, _T.revoked_at,
)  # fmt: skip
_BY_ID = select(*_SHOWN, _T.token_hash).where(_T.id == bindparam("id"))
_LISTED = select(*_SHOWN).where(_T.persona_id == bindparam("persona")).order_by(_T.id)
_REVOKED = (
    update(access_tokens)
    .where(_T.persona_id == bindparam("persona"), _T.id == bindparam("token"), _T.revoked_at.is_(None))
    .values(revoked_at=bindparam("at"))
)

_RENEWED = (
    update(access_tokens)
    .where(_T.id == bindparam("token"), _T.token_hash == bindparam("known"), _T.revoked_at.is_(None))
    .values(token_hash=bindparam("new"), expires_at=bindparam("at"))
)


def insert_token(db: Database, token: AccessToken, token_hash: bytes) -> ListedToken:
    now = db.clock()
    row = {
        "id": token.id,
        "persona_id": token.persona,
        "kind": token.kind,
        "token_hash": token_hash,
        "participant_key": token.participant,
        "conversation_key": token.conversation,
        "server_id": token.server,
        "personas": token.personas,
        "label": token.label,
        "resource": token.resource,
        "created_at": now,
        "expires_at": token.expires_at,
    }

    def work(connection: Connection) -> None:
        connection.execute(insert(access_tokens), row)

    def confirm(connection: Connection) -> bool | None:
        return True if connection.execute(_BY_ID, {"id": token.id}).first() is not None else None

    db.transaction(work, source=_SOURCE, confirm=confirm)
    return _build_listed({**row, "revoked_at": None})


def read_token(db: Database, token_id: int) -> tuple[AccessToken, bytes] | None:
    """Return a token and its stored hash; None if it is unknown or revoked."""
    for row in db.read(_BY_ID, {"id": token_id}, source=_SOURCE):
        if row.revoked_at is None:
            token = AccessToken(
                row.id, row.kind, row.persona_id, row.participant_key, row.conversation_key, row.server_id, row.label,
                row.personas, read_time(row.expires_at), row.resource,
            )  # fmt: skip
            return token, bytes(row.token_hash)
    return None


def read_tokens(db: Database, persona: str) -> list[ListedToken]:
    return [_build_listed(row._mapping) for row in db.read(_LISTED, {"persona": persona}, source=_SOURCE)]


def renew_token(db: Database, token_id: int, known_hash: bytes, new_hash: bytes, expires_at: datetime) -> bool:
    """Replace a token's hash and expiry; False if another renewal was faster or the token was revoked."""
    values = {"token": token_id, "known": known_hash, "new": new_hash, "at": expires_at}

    def work(connection: Connection) -> bool:
        return bool(connection.execute(_RENEWED, values).rowcount)

    def confirm(connection: Connection) -> bool | None:
        row = connection.execute(_BY_ID, {"id": token_id}).first()
        return True if row is not None and bytes(row.token_hash) == new_hash else None

    return db.transaction(work, source=_SOURCE, confirm=confirm)


def update_revoked(db: Database, persona: str, token_id: int) -> bool:
    """Revoke a token, and return whether it was valid until now."""
    values = {"persona": persona, "token": token_id, "at": db.clock()}
    return db.idempotent_transaction(lambda c: bool(c.execute(_REVOKED, values).rowcount), source=_SOURCE)


def _build_listed(row: Any) -> ListedToken:
    return {
        "id": row["id"],
        "kind": row["kind"],
        "persona": row["persona_id"],
        "participant": row["participant_key"],
        "conversation": row["conversation_key"],
        "server": row["server_id"],
        "personas": row["personas"],
        "label": row["label"],
        "resource": row["resource"],
        "created_at": iso_text(read_time(row["created_at"])),
        "expires_at": iso_text(read_time(row["expires_at"])),
        "revoked_at": iso_text(read_time(row["revoked_at"])),
    }
