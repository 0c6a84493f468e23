"""The rows of tokens (table access_tokens)."""

from datetime import datetime
from typing import Any, cast

from sqlalchemy import Connection, bindparam, insert, select, update

from ..database.engine import Database
from ..database.schema import access_tokens
from ..database.stored_values import read_time
from ..text.times import iso_text
from .shapes import AccessToken, ListedToken

OPERATOR = ""
"""Persona of admin tokens: blank, which no scope can have."""

_T = access_tokens.c
_SOURCE = "access_tokens"
_FIELDS = {
    "id": "id", "kind": "kind", "persona_id": "persona", "participant_key": "participant",
    "conversation_key": "conversation", "server_id": "server", "personas": "personas", "label": "label",
    "resource": "resource",
}  # fmt: skip
"""Columns of the table and the matching fields of AccessToken, in the order of lists."""
_TIMES = ("created_at", "expires_at", "revoked_at")
_SHOWN = [_T[column] for column in (*_FIELDS, *_TIMES)]
_BY_ID = select(*_SHOWN, _T.token_hash).where(_T.id == bindparam("id"))


def insert_token(db: Database, token: AccessToken, token_hash: bytes) -> ListedToken:
    row: dict[str, Any] = {column: getattr(token, field) for column, field in _FIELDS.items()}
    row |= {"token_hash": token_hash, "created_at": db.clock(), "expires_at": token.expires_at}

    def work(connection: Connection) -> None:
        connection.execute(insert(access_tokens), row)

    def confirm(connection: Connection, _: None) -> bool:
        return connection.execute(_BY_ID, {"id": token.id}).first() is not None

    db.transaction(work, source=_SOURCE, confirm=confirm)
    return _build_listed({**row, "revoked_at": None})


def read_token(db: Database, token_id: int) -> tuple[AccessToken, bytes] | None:
    """Return a token and its stored hash; None if it is unknown or revoked."""
    for row in db.read(_BY_ID, {"id": token_id}, source=_SOURCE):
        if row.revoked_at is None:
            token = AccessToken(**_read_fields(row._mapping), expires_at=read_time(row.expires_at))
            return token, bytes(row.token_hash)
    return None


def read_tokens(db: Database, persona: str) -> list[ListedToken]:
    rows = db.read(select(*_SHOWN).where(_T.persona_id == persona).order_by(_T.id))
    return [_build_listed(row._mapping) for row in rows]


def renew_token(db: Database, token_id: int, known_hash: bytes, new_hash: bytes, expires_at: datetime) -> bool:
    """Replace a token's hash and expiry; return False if another renewal came first or the token was revoked."""
    this = (_T.id == token_id, _T.token_hash == known_hash, _T.revoked_at.is_(None))
    change = update(access_tokens).where(*this).values(token_hash=new_hash, expires_at=expires_at)

    def confirm(connection: Connection, _: bool) -> bool:
        row = connection.execute(_BY_ID, {"id": token_id}).first()
        return row is not None and bytes(row.token_hash) == new_hash

    return db.transaction(lambda c: bool(c.execute(change).rowcount), source=_SOURCE, confirm=confirm)


def update_revoked(db: Database, persona: str, token_id: int) -> bool:
    """Revoke a token; return False if it is unknown, of another persona, or was revoked before."""
    this = (_T.persona_id == persona, _T.id == token_id, _T.revoked_at.is_(None))
    change = update(access_tokens).where(*this).values(revoked_at=db.clock())
    return db.idempotent_transaction(lambda c: bool(c.execute(change).rowcount), source=_SOURCE)


def _build_listed(row: Any) -> ListedToken:
    return cast("ListedToken", {**_read_fields(row), **{name: iso_text(read_time(row[name])) for name in _TIMES}})


def _read_fields(row: Any) -> dict[str, Any]:
    return {field: row[column] for column, field in _FIELDS.items()}
