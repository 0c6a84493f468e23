"""Wishes (table memories, kind `wish`): what people wish once and for all, stored in the transaction of
their message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Integer, bindparam, or_, select

from ..audience import table as audience_table
from ..audience import table_conversations
from ..audience.view import Viewer
from ..database import rows
from ..database.dialects import ID, Key
from ..database.engine import Database
from ..database.schema import memories, participants
from ..database.sources import MEMORIES
from ..index import indexed
from ..memories import new_item
from ..memories import table as memories_table
from ..memories.new_item import NewMemory
from ..scope import Scope
from ..shapes import WriteResult
from ..text.hits import content_digest
from .rules import Wish

KIND = "wish"
AUTHOR = "user"
SAID, BY_HAND = "chat", "host"
"""Values of source: recognised in a message, and handed in by the host."""
NO_SUCH = "there is no such wish"
NEWER = "a newer wish says otherwise"
_C = memories.c


class Item(NamedTuple):
    """One wish."""

    id: int
    text: str
    topic: str
    kind: str
    at: datetime | None
    participant: str | None
    archived_at: datetime | None = None
    superseded_by: int | None = None

    @property
    def is_former(self) -> bool:
        """Return whether it holds no more."""
        return self.archived_at is not None or self.superseded_by is not None


@dataclass(frozen=True, slots=True)
class NewWish:
    """A wish, ready to be stored."""

    wish: Wish
    memory: NewMemory


def build_wish(
    wish: Wish,
    *,
    at: datetime,
    source: str = SAID,
    quarantined: bool = False,
    sources: Sequence[int | str] | None = None,
) -> NewWish:
    """Return a wish ready to be stored, pinned so that nothing prunes it."""
    made = new_item.read(
        wish.text,
        now=at,
        author=AUTHOR,
        source=source,
        tags=[],
        kind=KIND,
        pinned=True,
        quarantined=quarantined,
        source_message_ids=list(sources) if sources else None,
        metadata={"topic": wish.topic, "kind": wish.kind},
    )
    assert made is not None
    return NewWish(wish, made)


# Writing

Holding = dict[tuple[int, str | None], dict[str, list[Item]]]
"""Audience and person to topic to the wishes that hold, as one transaction has read them, which holds the audiences."""


def record_wishes(
    connection: Connection,
    db: Database,
    scope: Scope,
    place: table_conversations.Place,
    wishes: Sequence[NewWish],
    *,
    privacy_default: str,
    holding: Holding | None = None,
) -> list[WriteResult]:
    """Store wishes in the caller's transaction, which holds the place, and say of each what became of it."""
    if not wishes:
        return []
    if memories_table.is_private(connection, scope, "long_term", privacy_default, True):
        return [WriteResult(False, None, "privacy") for _ in wishes]
    place = table_conversations.choose_place(connection, db, scope, place, KIND)
    audience_table.lock(connection, scope.persona, place.audience_id)
    known = {} if holding is None else holding
    return [_record_wish(connection, db, scope, place, wish, known) for wish in wishes]


def _record_wish(
    connection: Connection,
    db: Database,
    scope: Scope,
    place: table_conversations.Place,
    new_wish: NewWish,
    holding: Holding,
) -> WriteResult:
    memory, wish = new_wish.memory, new_wish.wish
    by_topic = _read_by_topic(connection, scope, place, holding)
    about = by_topic.get(wish.topic, [])
    same = next((item for item in about if content_digest(item.text) == memory.digest), None)
    newer = [item for item in about if item.at is not None and item.at > memory.at]
    if newer and same not in newer:
        return WriteResult(False, None, "unchanged", notes=(NEWER,))
    if same is not None and not memory.quarantined:
        at = max(memory.at, same.at or memory.at)
        memories_table.renew(connection, db, scope.persona, same.id, at, memory.source_message_ids)
        by_topic[wish.topic] = [item._replace(at=at) if item is same else item for item in about]
        return WriteResult(False, same.id, "duplicate")
    row_id = db.ids.one()
    memories_table.write(connection, db, scope, [(row_id, memory)], place)
    if not memory.quarantined:
        # A wish that was flagged takes nobody's place: it is not shown.
        _supersede(connection, db, scope.persona, [item.id for item in about], row_id)
        by_topic[wish.topic] = [Item(row_id, wish.text, wish.topic, wish.kind, memory.at, scope.participant)]
    return WriteResult(True, row_id, notes=memory.notes)


def _read_by_topic(
    connection: Connection, scope: Scope, place: table_conversations.Place, holding: Holding
) -> dict[str, list[Item]]:
    """Return the wishes of the scope's person that hold in the place, by topic, each topic's oldest first."""
    key = place.audience_id, scope.participant
    if key not in holding:
        values = {"persona": scope.persona, "audience": place.audience_id, "participant": scope.participant}
        made: dict[str, list[Item]] = {}
        for item in map(read_item, connection.execute(_read_holding(scope.participant is not None), values)):
            made.setdefault(item.topic, []).append(item)
        holding[key] = made
    return holding[key]


def _supersede(connection: Connection, db: Database, persona: str, ids: Sequence[int], by: int | None) -> None:
    if ids:
        indexed.set_hidden(connection, db, MEMORIES, persona, ids, superseded_by=by, updated_at=db.clock())


def insert_wish(db: Database, scope: Scope, new_wish: NewWish, *, privacy_default: str) -> WriteResult:
    """Store one wish in the scope; the result is that of `record_wishes`."""

    def work(connection: Connection) -> WriteResult:
        place = table_conversations.ensure(connection, db, scope, sender=scope.participant)
        return record_wishes(connection, db, scope, place, [new_wish], privacy_default=privacy_default)[0]

    return db.repeat(work, source="memories")


def replace_wish(db: Database, viewer: Viewer, row_id: int, new_wish: NewWish) -> WriteResult:
    """Put a wish in the place of a visible one: its person, audience and conversation stay."""

    def change(connection: Connection, row: Any) -> WriteResult:
        own = replace(viewer.scope, conversation=row.conversation_key, participant=row.participant_key)
        place = table_conversations.Place(row.audience_id, bool(row.local_only))
        new_id = db.ids.one()
        memories_table.write(connection, db, own, [(new_id, new_wish.memory)], place)
        _supersede(connection, db, viewer.scope.persona, [row_id], new_id)
        return WriteResult(True, new_id, notes=new_wish.memory.notes)

    return memories_table.change_visible(db, viewer, KIND, row_id, change, former=False, note=NO_SUCH)


def archive_wish(db: Database, viewer: Viewer, row_id: int) -> WriteResult:
    """Let a visible wish hold no more; `unchanged` where there is none, whoever's it may be."""

    def change(connection: Connection, _row: Any) -> WriteResult:
        now = db.clock()
        indexed.set_hidden(connection, db, MEMORIES, viewer.scope.persona, [row_id], archived_at=now, updated_at=now)
        return WriteResult(True, row_id)

    return memories_table.change_visible(db, viewer, KIND, row_id, change, former=False, note=NO_SUCH)


def restore_wish(db: Database, viewer: Viewer, row_id: int) -> WriteResult:
    """Bring a former wish back; what holds now about its topic is superseded by it."""

    def change(connection: Connection, row: Any) -> WriteResult:
        item = read_item(row)
        of = {"persona": viewer.scope.persona, "audience": row.audience_id, "participant": item.participant}
        there = [read_item(other) for other in connection.execute(_read_holding(item.participant is not None), of)]
        _supersede(connection, db, viewer.scope.persona, [o.id for o in there if o.topic == item.topic], row_id)
        # It is the newest word about its topic from now on.
        now = db.clock()
        shown = {"archived_at": None, "superseded_by": None, "updated_at": now}
        indexed.set_hidden(connection, db, MEMORIES, viewer.scope.persona, [row_id], **shown)
        memories_table.renew(connection, db, viewer.scope.persona, row_id, now)
        return WriteResult(True, row_id)

    return memories_table.change_visible(db, viewer, KIND, row_id, change, former=True, note=NO_SUCH)


_ITEM = (_C.id, _C.content, _C.metadata, _C.timestamp, _C.participant_key, _C.archived_at, _C.superseded_by)


def match_holding() -> tuple[Any, ...]:
    """Return the conditions of a wish that holds."""
    return _C.kind == KIND, _C.archived_at.is_(None), _C.superseded_by.is_(None), _C.quarantined == 0


@lru_cache(maxsize=2)
def _read_holding(known: bool) -> Any:
    whose = _C.participant_key == bindparam("participant") if known else _C.participant_key.is_(None)
    chosen = select(*_ITEM).where(
        _C.persona_id == bindparam("persona"), _C.audience_id == bindparam("audience"), whose, *match_holding()
    )
    return chosen.order_by(_C.timestamp, _C.id)


# Reading


def read_item(row: Any) -> Item:
    """Return a row whose first columns are those of `_ITEM`."""
    told = rows.read_object(row[2]) or {}
    topic, kind = str(told.get("topic") or ""), str(told.get("kind") or "")
    return Item(row[0], row[1], topic or f"wish:{row[0]}", kind, row[3], row[4], row[5], row[6])


@lru_cache(maxsize=8)
def match_person(known: bool, everyone: bool) -> Any:
    """Return the condition of rows of who is asking, under whichever of their linked identities."""
    if everyone:
        return _C.id.is_not(None)
    if not known:
        return _C.participant_key.is_(None)
    p = participants.c
    linked = select(p.participant_key).where(
        p.persona_id == bindparam("persona", type_=Key(64)), p.person_key == bindparam("person", type_=Key(255))
    )
    return or_(_C.participant_key == bindparam("participant", type_=Key(255)), _C.participant_key.in_(linked))


def describe_person(viewer: Viewer) -> tuple[bool, dict[str, Any]]:
    """Return whether it is known who is asking, and the values of `match_person`."""
    who = viewer.scope.participant or viewer.person
    return who is not None, {"participant": who, "person": viewer.person or who} if who is not None else {}


def read_items(db: Database, viewer: Viewer, *, everyone: bool = False, former: bool = False) -> list[Item]:
    """Return the visible wishes of who is asking, oldest first, ties by id."""
    if not viewer.audiences:
        return []
    known, values = describe_person(viewer)
    wanted = (_C.kind == KIND, _C.quarantined == 0) if former else match_holding()
    chosen = select(*_ITEM).where(
        _C.persona_id == bindparam("persona", type_=Key(64)),
        _C.audience_id.in_(bindparam("audiences", expanding=True, type_=ID)),
        _C.local_only <= bindparam("local_only", type_=Integer()),
        match_person(known, everyone),
        *wanted,
    )
    values |= {"persona": viewer.scope.persona, "audiences": list(viewer.audiences)}
    values |= {"local_only": int(viewer.sees_local_only)}
    return [read_item(row) for row in db.read(chosen.order_by(_C.timestamp, _C.id), values, source="memories")]
