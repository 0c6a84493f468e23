"""What a person said in public channels of servers, known in their own direct messages (SERVER_IN_DIRECT)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import and_, bindparam, literal, or_, select

from ..database.dialects import Key
from ..database.schema import audiences, participants
from .view import Viewer


def values_of(viewer: Viewer, server_in_direct: bool) -> dict[str, str] | None:
    """Return what `said_by_person` binds beside `persona`; None where a scope knows nothing of servers."""
    if not server_in_direct or viewer.privacy != "direct" or not viewer.person:
        return None
    return {"own_person": viewer.person}


@lru_cache(maxsize=8)
def said_by_person(table: Any) -> Any:
    """Return the condition of rows of a person, under whichever of their linked identities, in public channels."""
    a, p, row = audiences.c, participants.c, table.c
    persona, person = bindparam("persona", type_=Key(64)), bindparam("own_person", type_=Key(255))
    public = select(a.audience_id).where(a.persona_id == persona, a.kind == literal("server", Key(12)))
    linked = select(p.participant_key).where(p.persona_id == persona, p.person_key == person)
    return and_(row.audience_id.in_(public), or_(row.participant_key == person, row.participant_key.in_(linked)))
