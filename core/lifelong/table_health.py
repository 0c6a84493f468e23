"""Counts over memory items (table memories): what health reports. Nothing is changed here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Integer, and_, bindparam, exists, func, or_, select

from ..database.dialects import Key
from ..database.engine import Database
from ..database.schema import audiences, conversations, memories, memory_recalls
from ..memories.rules import INSTRUCTION
from ..memories.table_reading import is_there
from .table_pruning import expired

_C = memories.c
_MINE = _C.persona_id == bindparam("persona", type_=Key(64))


class Count(NamedTuple):
    """How many items of one kind and tier hold."""

    kind: str
    tier: str
    items: int
    oldest: datetime | None
    newest: datetime | None


_KINDS = (
    select(_C.kind, _C.tier, func.count(), func.min(_C.timestamp), func.max(_C.timestamp))
    .where(_MINE, *is_there())
    .group_by(_C.kind, _C.tier)
    .order_by(_C.kind, _C.tier)
)


def kinds(db: Database, persona: str) -> list[Count]:
    """Return the items that hold, by kind and tier."""
    rows = db.read(_KINDS, {"persona": persona}, source="memories")
    return [Count(row[0] or "", row[1] or "", int(row[2]), row[3], row[4]) for row in rows]


def count_archived(db: Database, persona: str) -> int:
    """Return how many items are archived or superseded."""
    former = or_(_C.archived_at.is_not(None), _C.superseded_by.is_not(None))
    return _number(db, select(func.count()).select_from(memories).where(_MINE, former), {"persona": persona})


def _number(db: Database, statement: Any, values: dict[str, Any]) -> int:
    return int(db.read(statement, values, source="memories")[0][0] or 0)


def count_exact_duplicates(db: Database, persona: str) -> int:
    """Return how many items say what another one of their audience and participant says; not instructions."""
    groups = (
        select((func.count() - 1).label("more"))
        .where(_MINE, *is_there(), _C.kind != INSTRUCTION)
        .group_by(_C.audience_id, _C.participant_key, _C.content_hash)
        .having(func.count() > 1)
        .subquery()
    )
    return _number(db, select(func.sum(groups.c.more)), {"persona": persona})


_NEWEST = (
    select(_C.id, _C.audience_id, _C.participant_key, _C.content_hash, _C.text_folded)
    .where(_MINE, *is_there(), _C.kind != INSTRUCTION)
    .order_by(_C.timestamp.desc(), _C.id.desc())
    .limit(bindparam("most", type_=Integer()))
)


def newest(db: Database, persona: str, most: int) -> Sequence[Any]:
    """Return the newest items: id, audience, participant, hash, folded text."""
    return db.read(_NEWEST, {"persona": persona, "most": most}, source="memories")


def count_expired(db: Database, persona: str, ttl_seconds: int) -> int:
    """Return how many session items have expired and are not archived yet."""
    where = expired(persona, db.clock(), ttl_seconds, given=False, active=None)
    return _number(db, select(func.count()).select_from(memories).where(where), {})


def count_never_recalled(db: Database, persona: str) -> int:
    """Return how many long-term items stood in no prompt yet."""
    r = memory_recalls.c
    recalled = exists().where(r.persona_id == _C.persona_id, r.memory_id == _C.id, r.recalled > 0)
    chosen = select(func.count()).select_from(memories).where(_MINE, *is_there(), _C.tier == "long_term", ~recalled)
    return _number(db, chosen, {"persona": persona})


def count_orphans(db: Database, persona: str) -> int:
    """Return how many items have lost their audience, their conversation, or the item in their place."""
    a, k, other = audiences.c, conversations.c, memories.alias("other")
    no_audience = ~exists().where(a.audience_id == _C.audience_id, a.persona_id == _C.persona_id)
    no_place = and_(
        _C.conversation_key.is_not(None),
        ~exists().where(k.persona_id == _C.persona_id, k.conversation_key == _C.conversation_key),
    )
    no_successor = and_(
        _C.superseded_by.is_not(None),
        ~exists().where(other.c.persona_id == _C.persona_id, other.c.id == _C.superseded_by),
    )
    where = (_MINE, or_(no_audience, no_place, no_successor))
    return _number(db, select(func.count()).select_from(memories).where(*where), {"persona": persona})


def audiences_of(db: Database, persona: str) -> set[int]:
    """Return the ids of a persona's audiences."""
    a = audiences.c
    rows = db.read(select(a.audience_id).where(a.persona_id == persona), source="audiences")
    return {int(row[0]) for row in rows}
