"""Reads memory items (table memories): by words and filters, by id, and as counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, func, or_, select

from ..access.rules import plain_key
from ..database.compiled import IDS, read_parts
from ..database.dialects import Key, has_keyword, json_has_text, like_pattern
from ..database.engine import Database
from ..database.rows import read_list, read_object
from ..database.schema import memories
from ..database.sources import MEMORIES
from ..text.hits import stored_tags
from ..text.times import iso_text
from .shapes import Item, ItemPage

_C = memories.c
_IS_ARCHIVED = or_(_C.archived_at.is_not(None), _C.superseded_by.is_not(None))
MOST_COUNTED = 10_000
"""Maximum number of matches in a total; counting goes one further, to see whether there are more."""


@dataclass(frozen=True, slots=True)
class ReadScope:
    persona: str
    audiences: tuple[int, ...] | None = None
    """Ids of the visible audiences; None for an operator, who sees all of the persona."""
    local: bool = True

    def conditions(self) -> list[Any]:
        where: list[Any] = [_C.persona_id == self.persona]
        if self.audiences is not None:
            where.append(_C.audience_id.in_(self.audiences))
        if not self.local:
            where.append(_C.local_only == 0)
        return where


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """Conditions of an item search; an item must meet all conditions."""

    words: tuple[str, ...] = ()
    """Folded words that the text must contain."""
    kinds: tuple[str, ...] = ()
    tier: str = ""
    conversation: str | None = None
    participants: tuple[str, ...] = ()
    """Participants whose items match; empty for everybody."""
    min_importance: float | None = None
    since: datetime | None = None
    until: datetime | None = None
    tags: tuple[str, ...] = ()
    archived: bool = False
    """Search archived items instead."""
    here: str | None = None
    """The active conversation, whose session items do not expire."""


COLUMNS = (
    _C.id, _C.persona_id, _C.content, _C.kind, _C.tier, _C.importance, _C.tags, _C.emotion, _C.conversation_key,
    _C.participant_key, _C.timestamp, _C.expires_at, _C.pinned, _C.provenance, _C.source_message_ids, _C.author,
    _C.source, _C.scope, _C.local_only, _C.metadata, _C.archived_at, _C.superseded_by,
)  # fmt: skip


def item_of(row: Any) -> Item:
    return {
        "id": int(row.id),
        "text": row.content,
        "kind": row.kind or "",
        "tier": row.tier or "",
        "importance": float(row.importance),
        "tags": stored_tags(row.tags),
        "emotion": row.emotion or "",
        "persona": row.persona_id,
        "conversation": row.conversation_key,
        "participant": row.participant_key,
        "timestamp": iso_text(row.timestamp),
        "expires_at": iso_text(row.expires_at),
        "pinned": bool(row.pinned),
        "provenance": row.provenance or "",
        "source_message_ids": read_list(row.source_message_ids),
        "author": row.author or "",
        "source": row.source or "",
        "label": row.scope or "",
        "local_only": bool(row.local_only),
        "metadata": read_object(row.metadata) or {},
        "archived_at": iso_text(row.archived_at),
        "superseded_by": None if row.superseded_by is None else int(row.superseded_by),
    }


def _show_item(seen: ReadScope, row: Any) -> Item:
    """Convert a row to an item. Operators get the stored conversation key, others the host's key without server."""
    item = item_of(row)
    if item["conversation"] and seen.audiences is not None:
        item["conversation"] = plain_key(item["conversation"])
    return item


def is_kept(now: datetime, ttl_seconds: int, here: str | None = None) -> Any:
    """Return the SQL condition of items that have not expired; session items of conversation `here` never expire."""
    since = now - timedelta(seconds=ttl_seconds)
    unset = _C.expires_at.is_(None) & or_(_C.tier != "session", _C.timestamp.is_(None), _C.timestamp > since)
    is_active = (_C.tier == "session") & (_C.conversation_key == bindparam("here", here, type_=Key(512)))
    return or_(unset, _C.expires_at > now, is_active)


def _conditions(seen: ReadScope, wanted: ItemFilter) -> list[Any]:
    where = [*seen.conditions(), _IS_ARCHIVED if wanted.archived else MEMORIES.visible]
    where += [has_keyword(_C.text_folded, like_pattern(word)) for word in wanted.words]
    where += [json_has_text(_C.tags, tag) > 0 for tag in wanted.tags]
    if wanted.kinds:
        where.append(_C.kind.in_(wanted.kinds))
    if wanted.tier:
        where.append(_C.tier == wanted.tier)
    if wanted.conversation is not None:
        where.append(_C.conversation_key == wanted.conversation)
    if wanted.participants:
        where.append(_C.participant_key.in_(wanted.participants))
    if wanted.min_importance is not None:
        where.append(_C.importance >= wanted.min_importance)
    if wanted.since is not None:
        where.append(_C.timestamp >= wanted.since)
    if wanted.until is not None:
        where.append(_C.timestamp < wanted.until)
    return where


def search(db: Database, seen: ReadScope, wanted: ItemFilter, *, ttl_seconds: int, limit: int, offset: int) -> ItemPage:
    """Return a page of items, newest first, ties by the higher id, and the total."""
    if seen.audiences == ():
        return {"items": [], "total": 0}
    where = _conditions(seen, wanted)
    if not wanted.archived:
        where.append(is_kept(db.clock(), ttl_seconds, wanted.here))
    some = select(_C.id).where(*where).limit(MOST_COUNTED + 1).subquery()
    total = int(db.read(select(func.count()).select_from(some), source="memories")[0][0])
    if total <= min(offset, MOST_COUNTED):
        return {"items": [], "total": total}
    newest = select(*COLUMNS).where(*where).order_by(_C.timestamp.desc(), _C.id.desc())
    items = [_show_item(seen, row) for row in db.read(newest.limit(limit).offset(offset))]
    if total <= MOST_COUNTED:
        return {"items": items, "total": total}
    return {"items": items, "total": max(total, offset + len(items)), "at_least": True}


def find(db: Database, seen: ReadScope, row_id: int) -> Item | None:
    rows = db.read(select(*COLUMNS).where(*seen.conditions(), _C.id == row_id))
    return next((_show_item(seen, row) for row in rows), None)


def lock_items(connection: Connection, seen: ReadScope, ids: Sequence[int]) -> list[Any]:
    """Return the visible rows of these ids in order of id, locked until the transaction ends."""
    chosen = select(*COLUMNS, _C.audience_id).where(*seen.conditions(), _C.id.in_(IDS)).order_by(_C.id)
    return read_parts(connection.execute, chosen.with_for_update(), {}, ids)


def read_item_texts(db: Database, persona: str, ids: Sequence[int]) -> dict[int, str]:
    """Return id to text for up to 1,000 items, archived or not; unknown ids are left out."""
    if not ids:
        return {}
    chosen = select(_C.id, _C.content).where(_C.persona_id == persona, _C.id.in_(list(ids)[:1000]))
    return {int(row[0]): row[1] for row in db.read(chosen)}


class Count(NamedTuple):
    kind: str
    tier: str
    items: int
    """Number of active items of this kind and tier."""


def count_kinds(db: Database, persona: str) -> list[Count]:
    counted = select(_C.kind, _C.tier, func.count()).where(_C.persona_id == persona, MEMORIES.visible)
    rows = db.read(counted.group_by(_C.kind, _C.tier).order_by(_C.kind, _C.tier))
    return [Count(row[0] or "", row[1] or "", int(row[2])) for row in rows]


def count_archived(db: Database, persona: str) -> int:
    counted = select(func.count()).select_from(memories).where(_C.persona_id == persona, _IS_ARCHIVED)
    return int(db.read(counted)[0][0])
