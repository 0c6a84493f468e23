"""Audiences: sets of rows with the same visibility, each with an id within its persona."""

from typing import Any

from sqlalchemy import Connection, bindparam, null, select

from ..database.dialects import insert_ignore
from ..database.engine import Database
from ..database.failures import DUPLICATE_KEY
from ..database.schema import audiences
from ..database.sources import ALL, open_to
from ..errors import DuplicateKeyError
from .rules import AudienceKey
from .view import Viewer

_A = audiences.c
_OF_PERSONA = _A.persona_id == bindparam("persona")
_KEY = (_A.kind == bindparam("kind"), _A.server_id == bindparam("server"), _A.ref == bindparam("ref"))
_FIND = select(_A.audience_id).where(_OF_PERSONA, *_KEY)
_HOLD = _FIND.with_for_update()


def find_or_make(connection: Connection, db: Database, persona: str, key: AudienceKey) -> int:
    """Return the id of an audience, inserting a new one; the row is locked if forgetting might delete it meanwhile."""
    audience_id = find(connection, persona, key, lock=key.kind != "persona")
    if audience_id is not None:
        return audience_id
    row: dict[str, Any] = {"audience_id": db.ids.one(), "persona_id": persona, "kind": key.kind}
    connection.execute(insert_ignore(audiences, db.family), row | {"server_id": key.server, "ref": key.ref})
    inserted = find(connection, persona, key)
    if inserted is None:
        raise DuplicateKeyError(DUPLICATE_KEY, source="audiences")
    return inserted


def find(connection: Connection, persona: str, key: AudienceKey, *, lock: bool = False) -> int | None:
    """Return the id of an audience, None if it is not stored; with `lock`, lock its row until the transaction ends."""
    values = {"persona": persona, "kind": key.kind, "server": key.server, "ref": key.ref}
    return connection.execute(_HOLD if lock else _FIND, values).scalar()


def lock(connection: Connection, persona: str, audience_id: int) -> None:
    """Lock the audience until the transaction ends, so that only one writer at a time looks for duplicates."""
    connection.execute(_LOCK, {"persona": persona, "id": audience_id})


_LOCK = select(_A.audience_id).where(_OF_PERSONA, _A.audience_id == bindparam("id")).with_for_update()


def read_keys(db: Database, persona: str) -> dict[int, AudienceKey]:
    rows = db.read(select(_A.audience_id, _A.kind, _A.server_id, _A.ref).where(_A.persona_id == persona))
    return {int(row[0]): AudienceKey(*row[1:]) for row in rows}


def is_foreign(db: Database, viewer: Viewer, row_id: int) -> bool:
    """Return whether a visible row is outside the viewer's own audience and the viewer's direct conversation."""
    own = viewer.own if viewer.privacy in ("direct", "separate") else None
    for source in ALL:
        c = source.table.c
        who = c.participant_key if "participant_key" in c else null()
        seen = (c.persona_id == viewer.scope.persona, c.audience_id.in_(viewer.audiences), open_to(source))
        found = select(who, _A.kind, _A.server_id, _A.ref).where(c.id == row_id, _A.audience_id == c.audience_id, *seen)
        for row in db.read(found, {"local_only": int(viewer.sees_local_only)}):
            return row[0] not in viewer.identities and row.kind != "saved" and AudienceKey(*row[1:]) != own
    return False
