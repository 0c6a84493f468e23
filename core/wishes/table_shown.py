"""The wishes a prompt shows: those of the person it answers, brought with its last statement.

`wishes.rules.holding` chooses among them. Called by `wishes.section`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlalchemy import Integer, bindparam, select

from ..audience.view import Viewer
from ..database import rows
from ..database.dialects import ID, Key, from_key, read_time
from ..database.schema import memories
from ..database.section_parts import FIRST, SectionPart, SectionRow, columns
from ..database.statements import Part
from . import table as wishes

MOST_READ = 400
"""Wishes of one person that are read for one prompt, the newest."""
_C = memories.c

SHOWN = FIRST + 24
"""Number of the part that brings the wishes of a prompt."""


@lru_cache(maxsize=4)
def _part(known: bool, family: str) -> Part:
    made = select(*columns(SHOWN, _C.id, texts=(_C.content,), tags=_C.metadata, at=_C.timestamp)).where(
        _C.persona_id == bindparam("persona", type_=Key(64)),
        _C.audience_id.in_(bindparam("audiences", expanding=True, type_=ID)),
        _C.local_only <= bindparam("local_only", type_=Integer()),
        wishes.whose(known, False),
        *wishes.holds(),
    )
    return Part(made.order_by(_C.timestamp.desc(), _C.id.desc()).limit(MOST_READ), family)


def section_part(viewer: Viewer) -> SectionPart:
    """Return what brings the wishes of who is asking with the last statement of a prompt, the newest MOST_READ."""
    known, values = wishes.of_viewer(viewer)
    return SectionPart(SHOWN, lambda family: _part(known, family), values, memories.name)


def read_items(found: Sequence[SectionRow]) -> list[wishes.Item]:
    """Return the wishes that `section_part` brought, oldest first."""
    made = []
    for row in found:
        told = rows.read_object(from_key(row.tags)) or {}
        topic = str(told.get("topic") or "") or f"wish:{row.id}"
        at = read_time(row.at)
        made.append(wishes.Item(int(row.id), row.text0 or "", topic, str(told.get("kind") or ""), at, None))
    return sorted(made, key=lambda item: (item.at is not None, item.at, item.id))
