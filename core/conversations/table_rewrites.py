"""Rewriting a list of saved memories in one transaction, as long as it is the list that was looked at.

A rewrite touches what one person has saved for one audience; others' memories are neither shown to the model nor
changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from ..audience import table as audiences
from ..audience import table_conversations as conversations
from ..audience import table_participants as participants
from ..database.engine import Database
from ..database.schema import memories as table
from ..database.schema import participants as people
from ..database.sources import MEMORIES
from ..index import indexed
from ..memories import table as memories
from ..memories import table_history as item_history
from ..memories.new_item import NewMemory
from ..scope import Scope
from ..shapes import WriteReason, WriteResult
from . import table_saved as saved
from .rules_rewrites import Rewrite
from .table_saved import Item

REPLACED = "replaced"
CHANGED_BY = "model"
_C = table.c


@dataclass(frozen=True, slots=True)
class Ready:
    """What a rewrite begins with."""

    items: tuple[Item, ...] = ()
    """What the scope's person has saved for the scope's audience, oldest first."""
    local_only: bool = False
    """What is said here may not leave the machine."""
    reason: WriteReason = ""
    """`privacy` where nothing of the person may be saved."""


def prepare(db: Database, scope: Scope, *, privacy_default: str) -> Ready:
    """Return the list as it is now. A conversation that is not known yet is made.

    Raises:
        StoreWriteError: it could not be worked out.
    """

    def work(connection: Connection) -> Ready:
        if memories.is_private(connection, scope, "long_term", privacy_default, True):
            return Ready(reason="privacy")
        place = conversations.ensure(connection, db, scope, sender=scope.participant)
        return Ready(tuple(_items(connection, scope, place, hold=False)), place.local_only)

    return db.transaction(work, source="memories", confirm=lambda _: None)


def apply(
    db: Database, scope: Scope, seen: Sequence[Item], change: Rewrite, statement: str, *, privacy_default: str
) -> WriteResult | None:
    """Change the list as asked, all of it or nothing; None where it is not the list that was seen any more.

    Args:
        seen: what `prepare` gave.
        statement: what the person said; an addition that is just that is the person's, others are the model's.

    Returns:
        `(True, id of the first new memory, "")`, the id None where memories were dropped alone; `privacy`.

    Raises:
        StoreWriteError: nothing was changed.
    """
    now = db.clock()
    texts = [text for _, text in change.replaced] + list(change.added)
    made = [saved.new(text, now=now, provenance="host" if text == statement else "model") for text in texts]
    ready = list(zip(db.ids.take(len(made)), made, strict=True))
    notes = tuple(
        f"{count} {word}"
        for count, word in (
            (len(change.replaced), REPLACED),
            (len(change.dropped), "dropped"),
            (len(change.added), "added"),
        )
        if count
    )
    done = WriteResult(True, ready[0][0] if ready else None, notes=notes)

    def work(connection: Connection) -> WriteResult | None:
        if memories.is_private(connection, scope, "long_term", privacy_default, True):
            return WriteResult(False, None, "privacy")
        place = conversations.ensure(connection, db, scope, sender=scope.participant)
        audiences.lock(connection, scope.persona, place.audience_id)
        there = _items(connection, scope, place, hold=True)
        if [(item.id, item.digest) for item in there] != [(item.id, item.digest) for item in seen]:
            return None
        _change(connection, db, scope, place, seen, change, ready)
        return done

    def confirm(connection: Connection) -> WriteResult | None:
        if not ready:
            return None
        there = select(_C.id).where(_C.persona_id == scope.persona, _C.id == ready[0][0])
        return done if connection.execute(there).first() else None

    return db.transaction(work, source="memories", confirm=confirm)


def _items(connection: Connection, scope: Scope, place: conversations.Place, *, hold: bool) -> list[Item]:
    """Return what the scope's person, under whatever identity, has saved for the audience."""
    if scope.participant:
        person = participants.person_of(connection, scope.persona, scope.participant)
        p = people.c
        linked = select(p.participant_key).where(p.persona_id == scope.persona, p.person_key == person)
        keys = sorted({scope.participant, *connection.execute(linked).scalars()})
        whose: Any = _C.participant_key.in_(keys)
    else:
        whose = _C.participant_key.is_(None)
    chosen = select(*saved.COLUMNS).where(
        _C.persona_id == scope.persona,
        _C.audience_id == place.audience_id,
        _C.local_only <= int(place.local_only),
        whose,
        *saved.is_there(),
    )
    ordered = chosen.order_by(_C.timestamp, _C.id)
    return [saved.item_of(row) for row in connection.execute(ordered.with_for_update() if hold else ordered)]


def _change(
    connection: Connection,
    db: Database,
    scope: Scope,
    place: conversations.Place,
    seen: Sequence[Item],
    change: Rewrite,
    ready: Sequence[tuple[int, NewMemory]],
) -> None:
    now = db.clock()
    memories.write(connection, db, scope, ready, place)
    for (at, _), (row_id, _) in zip(change.replaced, ready, strict=False):
        gone = {"superseded_by": row_id, "updated_at": now}
        indexed.set_hidden(connection, db, MEMORIES, scope.persona, [seen[at].id], **gone)
    dropped = [seen[at].id for at, _ in change.dropped]
    indexed.set_hidden(connection, db, MEMORIES, scope.persona, dropped, archived_at=now, updated_at=now)
    former = [(seen[at].id, seen[at].text, REPLACED) for at, _ in change.replaced]
    former += [(seen[at].id, seen[at].text, reason) for at, reason in change.dropped]
    item_history.insert_texts(connection, db, scope.persona, table.name, former, changed_by=CHANGED_BY, now=now)
