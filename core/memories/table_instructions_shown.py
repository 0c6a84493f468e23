"""The standing instructions a prompt shows: those of the person it answers, read with its last statement."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Integer, bindparam, or_, select

from ..access import cross_channel
from ..access.view import Viewer
from ..database.dialects import ID, Key
from ..database.row_shapes import FIRST, OBJECT, TEXT, TIME, Branch, Shape
from ..database.schema import memories
from ..database.statements import Part
from . import table_instructions as instructions

MOST_READ = 400
"""Instructions of one person that are read for one prompt, the newest."""
_C = memories.c


class StoredInstruction(NamedTuple):
    """An instruction as a prompt needs it."""

    id: int
    content: str | None
    metadata: dict[str, Any] | None
    at: datetime | None


SHOWN = Shape(FIRST + 24, StoredInstruction, content=TEXT, metadata=OBJECT, at=TIME)


@lru_cache(maxsize=4)
def _part(known: bool, of_servers: bool, family: str) -> Part:
    seen = _C.audience_id.in_(bindparam("audiences", expanding=True, type_=ID))
    made = select(*SHOWN.columns(id=_C.id, content=_C.content, metadata=_C.metadata, at=_C.timestamp)).where(
        _C.persona_id == bindparam("persona", type_=Key(64)),
        or_(seen, cross_channel.said_by_person(memories)) if of_servers else seen,
        _C.local_only <= bindparam("local_only", type_=Integer()),
        instructions.match_person(known),
        *instructions.match_holding(),
    )
    return Part(made.order_by(_C.timestamp.desc(), _C.id.desc()).limit(MOST_READ), family)


def section_part(viewer: Viewer, *, server_in_direct: bool = False) -> Branch:
    """Return what reads the newest MOST_READ instructions of who is asking, with the last statement of a prompt."""
    known, values = instructions.describe_person(viewer)
    own = cross_channel.values_of(viewer, server_in_direct)
    values |= own or {}
    return Branch(SHOWN, lambda family: _part(known, own is not None, family), values, memories.name, own is not None)


def read_items(stored: Sequence[StoredInstruction]) -> list[instructions.Item]:
    """Return the instructions that `section_part` brought, oldest first."""
    items = [
        instructions.Item(row.id, row.content or "", instructions.read_topics(row.metadata or {}), row.at, "", None)
        for row in stored
    ]
    return sorted(items, key=lambda item: (item.at is not None, item.at, item.id))
