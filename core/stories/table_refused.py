"""Texts that were refused as recaps (table refused_recaps), kept with the reason for a person to see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, select

from ..database.engine import Database
from ..database.readers import Reader
from ..database.rows import read_object
from ..database.schema_stories import refused_recaps
from ..shapes import RecapTarget

_F = refused_recaps.c
_PER_TARGET = 20
"""Most texts kept of one target: a model that fails for days must not fill the table."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A text that was refused."""

    id: int
    conversation: str
    target: str
    target_id: int | None
    """Message row or scene id; None for the running recap."""
    content: str
    reason: str
    created_at: datetime | None
    data: Mapping[str, Any] | None
    """What is to be stored with the text."""


_COLUMNS = (
    _F.id, _F.conversation_key, _F.target, _F.target_id, _F.content, _F.reason, _F.created_at, _F.data,
)  # fmt: skip
_HERE = and_(_F.persona_id == bindparam("persona"), _F.conversation_key == bindparam("conversation"))
_ALL = select(*_COLUMNS).where(_HERE).order_by(_F.id)
_ONE = select(*_COLUMNS).where(_F.persona_id == bindparam("persona"), _F.id == bindparam("id"))


def _refused(r: Any) -> Refused:
    return Refused(
        r.id, r.conversation_key, r.target, r.target_id, r.content, r.reason, r.created_at, read_object(r.data)
    )


def read_refused(read: Reader, persona: str, conversation: str) -> list[Refused]:
    """Return what was refused in a conversation, oldest first."""
    return [_refused(r) for r in read(_ALL, {"persona": persona, "conversation": conversation})]


def find_refused(read: Reader, persona: str, refused_id: int) -> Refused | None:
    """Return a refused text, None where there is none of this id."""
    return next((_refused(r) for r in read(_ONE, {"persona": persona, "id": refused_id})), None)


def insert_refused(
    connection: Connection,
    db: Database,
    persona: str,
    conversation: str,
    target: RecapTarget,
    content: str,
    reason: str,
    *,
    target_id: int | None = None,
    data: Mapping[str, Any] | None = None,
) -> int:
    """Keep a refused text and return its id; the same text for the same target is kept once, the oldest give way."""
    mine = [_F.target == target, _F.target_id.is_not_distinct_from(target_id)]
    chosen = select(_F.id, _F.content).where(_HERE, *mine).order_by(_F.id)
    there = connection.execute(chosen, {"persona": persona, "conversation": conversation}).all()
    for kept in there:
        if kept.content == content:
            return int(kept.id)
    too_many = [kept.id for kept in there[: max(0, len(there) - _PER_TARGET + 1)]]
    if too_many:
        connection.execute(delete(refused_recaps).where(_F.persona_id == persona, _F.id.in_(too_many)))
    refused_id = db.ids.one()
    row = {
        "id": refused_id,
        "persona_id": persona,
        "conversation_key": conversation,
        "target": target,
        "target_id": target_id,
        "content": content,
        "reason": reason,
        "data": dict(data) if data else None,
        "created_at": db.clock(),
    }
    connection.execute(refused_recaps.insert().values(row))
    return refused_id


def delete_refused(connection: Connection, persona: str, refused_id: int) -> bool:
    """Remove a refused text, and return whether it was there."""
    return bool(
        connection.execute(delete(refused_recaps).where(_F.persona_id == persona, _F.id == refused_id)).rowcount
    )
