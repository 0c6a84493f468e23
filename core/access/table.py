"""Audiences: the sets of rows that may be seen together. Each has an id within its persona."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, bindparam, select

from ..database.dialects import insert_ignore
from ..database.engine import Database
from ..database.failures import DUPLICATE_KEY
from ..database.schema import audiences
from ..errors import DuplicateKeyError
from .rules import AudienceKey

_CACHE = "audiences"
_MOST = 100_000

_made: WeakKeyDictionary[Connection, set[tuple[str, AudienceKey]]] = WeakKeyDictionary()
"""Audiences made in a transaction that may still be rolled back: their ids are not kept for others."""

_FIND = select(audiences.c.audience_id).where(
    audiences.c.persona_id == bindparam("persona"),
    audiences.c.kind == bindparam("kind"),
    audiences.c.server_id == bindparam("server"),
    audiences.c.ref == bindparam("ref"),
)
_HOLD = _FIND.with_for_update()
FORGOTTEN_KINDS = ("direct", "saved", "conversation")
"""Kinds of audiences that go with a person or a conversation: another process may have deleted one that was kept."""


def find_or_make(connection: Connection, db: Database, persona: str, key: AudienceKey) -> int:
    """Return the id of an audience; the first row of an audience makes it."""
    cache = _cache(db) if key.kind not in FORGOTTEN_KINDS else {}
    known = cache.get((persona, key))
    if known is not None:
        return known
    values = {"persona": persona, "kind": key.kind, "server": key.server, "ref": key.ref}
    found = connection.execute(_FIND if key.kind not in FORGOTTEN_KINDS else _HOLD, values).scalar()
    if found is None:
        row = {
            "audience_id": db.ids.one(),
            "persona_id": persona,
            "kind": key.kind,
            "server_id": key.server,
            "ref": key.ref,
        }
        connection.execute(insert_ignore(audiences, db.family), row)
        _made.setdefault(connection, set()).add((persona, key))
        found = connection.execute(_FIND, values).scalar()
        if found is None:
            raise DuplicateKeyError(DUPLICATE_KEY, source="audiences")
        return int(found)
    if (persona, key) not in _made.get(connection, ()):
        if len(cache) >= _MOST:
            cache.clear()
        cache[persona, key] = int(found)
    return int(found)


def find(connection: Connection, persona: str, key: AudienceKey) -> int | None:
    """Return the id of an audience, None where it has no rows yet."""
    values = {"persona": persona, "kind": key.kind, "server": key.server, "ref": key.ref}
    return connection.execute(_FIND, values).scalar()


def lock(connection: Connection, persona: str, audience_id: int) -> None:
    """Hold the audience until the transaction ends, so that who looks for an equal row first does so alone."""
    connection.execute(_LOCK, {"persona": persona, "id": audience_id})


_LOCK = (
    select(audiences.c.audience_id)
    .where(audiences.c.persona_id == bindparam("persona"), audiences.c.audience_id == bindparam("id"))
    .with_for_update()
)


def forget_cached(db: Database) -> None:
    """Drop the ids kept of this database; called where audiences are deleted."""
    db.caches.pop(_CACHE, None)


def _cache(db: Database) -> dict[tuple[str, AudienceKey], int]:
    cache: Any = db.caches.setdefault(_CACHE, {})
    return cache  # type: ignore[no-any-return]
