"""Saved memories (table memories, kind `saved`): kept because a person asked, listed, deleted, restored.

How a whole list is rewritten stands in `conversations.table_rewrites`. Whoever looks for an equal item holds the
audience first (`audience.table.lock`), so that of two who save the same one finds the other's.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Integer, bindparam, select

from ..audience import table as audiences
from ..audience import table_conversations as conversations
from ..audience.view import is_seen
from ..database.bulk import chunks
from ..database.dialects import ID, Key
from ..database.engine import Database
from ..database.row_shapes import FIRST, TEXT, TIME, Branch, Shape
from ..database.schema import memories as table
from ..database.sources import MEMORIES
from ..database.statements import Part, aside
from ..index import indexed
from ..memories import new_item as memory_input
from ..memories import table as memories
from ..memories.new_item import NewMemory, Provenance
from ..scope import Scope
from ..shapes import WriteResult

KIND = "saved"
AUTHOR, BY_PERSON, BY_FILE = "user", "user", "file"
"""author, and the two values of source: said or handed in, and written into the Markdown file."""
NO_SUCH = "there is no such saved memory"
_AUDIENCES_AT_ONCE = 500
_C = table.c


class Item(NamedTuple):
    """One saved memory."""

    id: int
    text: str
    at: datetime | None
    source: str
    digest: bytes
    participant: str | None
    archived_at: datetime | None
    superseded_by: int | None

    @property
    def is_former(self) -> bool:
        """Return whether it has left the list."""
        return self.archived_at is not None or self.superseded_by is not None


COLUMNS = (
    _C.id, _C.content, _C.timestamp, _C.source, _C.content_hash, _C.participant_key, _C.archived_at, _C.superseded_by,
)  # fmt: skip


def item_of(row: Any) -> Item:
    """Return a row of `COLUMNS`."""
    digest = bytes(row.content_hash or b"")
    return Item(row[0], row[1], row[2], row[3], digest, row[5], row[6], row[7])


def is_there() -> tuple[Any, ...]:
    """Return the conditions of a row that is on the list."""
    return _C.kind == KIND, _C.archived_at.is_(None), _C.superseded_by.is_(None), _C.quarantined == 0


def new(text: str, *, now: datetime, source: str = BY_PERSON, provenance: Provenance = "host") -> NewMemory:
    """Return a saved memory ready to be stored; `text` is not blank. It is pinned, so nothing prunes it."""
    made = memory_input.read(
        text, now=now, author=AUTHOR, source=source, tags=[], kind=KIND, pinned=True, provenance=provenance
    )
    assert made is not None
    return made


# Writing


def add(db: Database, scope: Scope, memory: NewMemory, *, privacy_default: str, of_person: bool = True) -> WriteResult:
    """Store a saved memory in the scope.

    Returns:
        `(True, id, "")`; else `duplicate` with the id of the one that says the same of the same person to the same
        audience, or `privacy`.

    Raises:
        StoreWriteError: nothing was stored.
    """
    row_id = db.ids.one()
    stored = WriteResult(True, row_id, notes=memory.notes)

    def work(connection: Connection) -> WriteResult:
        if memories.is_private(connection, scope, memory.tier, privacy_default, of_person):
            return WriteResult(False, None, "privacy", notes=memory.notes)
        place = conversations.ensure(connection, db, scope, sender=scope.participant)
        memories.refuse_late(db, scope, row_id, WriteResult(False, None, "privacy", notes=memory.notes))
        audiences.lock(connection, scope.persona, place.audience_id)
        double = find_equal(connection, scope.persona, place.audience_id, scope.participant, memory.digest)
        if double is not None:
            return WriteResult(False, double, "duplicate", notes=memory.notes)
        memories.write(connection, db, scope, [(row_id, memory)], place)
        return stored

    def confirm(connection: Connection) -> WriteResult | None:
        there = connection.execute(_THERE, {"persona": scope.persona, "id": row_id}).first()
        return stored if there else None

    return memories.run_write(db, work, confirm)


_THERE = select(_C.id).where(_C.persona_id == bindparam("persona"), _C.id == bindparam("id"))


def find_equal(
    connection: Connection, persona: str, audience_id: int, participant: str | None, digest: bytes
) -> int | None:
    """Return the id of the saved memory that says the same, the oldest of several; None where there is none."""
    whose = _C.participant_key == participant if participant else _C.participant_key.is_(None)
    same = select(_C.id).where(
        _C.persona_id == persona, _C.audience_id == audience_id, _C.content_hash == digest, whose, *is_there()
    )
    return connection.execute(same.order_by(_C.timestamp, _C.id).limit(1)).scalar()


def archive(db: Database, scope: Scope, row_id: int, *, seen: Collection[int], local: bool) -> WriteResult:
    """Take a visible saved memory off the list; `unchanged` where there is none, whoever's it may be."""

    def work(connection: Connection) -> WriteResult:
        row = connection.execute(_ONE, {"persona": scope.persona, "id": row_id}).first()
        if not is_seen(row, seen, local) or row.archived_at is not None or row.superseded_by is not None:  # type: ignore[union-attr]
            return WriteResult(False, None, "unchanged", notes=(NO_SUCH,))
        now = db.clock()
        indexed.set_hidden(connection, db, MEMORIES, scope.persona, [row_id], archived_at=now, updated_at=now)
        return WriteResult(True, row_id)

    return db.transaction(work, source="memories", confirm=lambda _: None)


def restore(db: Database, scope: Scope, row_id: int, *, seen: Collection[int], local: bool) -> WriteResult:
    """Bring a deleted or replaced one back; what has taken its place stays.

    Returns:
        `unchanged` where there is none; `duplicate` with the id of one on the list that says the same.
    """

    def work(connection: Connection) -> WriteResult:
        values = {"persona": scope.persona, "id": row_id}
        found = connection.execute(_PLACE, values).first()
        if found is not None:
            audiences.lock(connection, scope.persona, found.audience_id)
        row = connection.execute(_ONE, values).first()
        if not is_seen(row, seen, local) or (row.archived_at is None and row.superseded_by is None):  # type: ignore[union-attr]
            return WriteResult(False, None, "unchanged", notes=(NO_SUCH,))
        assert row is not None
        double = find_equal(
            connection, scope.persona, row.audience_id, row.participant_key, bytes(row.content_hash or b"")
        )
        if double is not None:
            return WriteResult(False, double, "duplicate")
        there = {"archived_at": None, "superseded_by": None, "updated_at": db.clock()}
        indexed.set_hidden(connection, db, MEMORIES, scope.persona, [row_id], **there)
        return WriteResult(True, row_id)

    return db.transaction(work, source="memories", confirm=lambda _: None)


_PLACE = select(_C.audience_id).where(_C.persona_id == bindparam("persona"), _C.id == bindparam("id"), _C.kind == KIND)
_ONE = (
    select(_C.id, _C.audience_id, _C.local_only, _C.participant_key, _C.content_hash, _C.archived_at, _C.superseded_by)
    .where(_C.persona_id == bindparam("persona"), _C.id == bindparam("id"), _C.kind == KIND, _C.quarantined == 0)
    .with_for_update()
)


# Reading


def _of_audiences(family: str) -> Any:
    """Return the condition on audiences; there are few saved memories, so that the index of kinds is to be taken."""
    return aside(_C.audience_id, family).in_(bindparam("audiences", expanding=True, type_=ID))


@lru_cache(maxsize=4)
def _listed(former: bool, family: str) -> Any:
    on_list = (_C.kind == KIND, _C.quarantined == 0) if former else is_there()
    chosen = select(*COLUMNS).where(
        _C.persona_id == bindparam("persona"),
        _of_audiences(family),
        _C.local_only <= bindparam("local_only", type_=Integer()),
        *on_list,
    )
    return chosen.order_by(_C.timestamp, _C.id)


def listed(
    db: Database, persona: str, audiences_seen: Sequence[int], *, local: bool, former: bool = False
) -> list[Item]:
    """Return the saved memories of these audiences, oldest first, ties by id; with `former` those off the list too.

    Raises:
        StoreReadError: nothing could be read.
    """
    found: list[Item] = []
    parts = list(chunks(audiences_seen, _AUDIENCES_AT_ONCE))
    for part in parts:
        values = {"persona": persona, "audiences": part, "local_only": int(local)}
        found += [item_of(row) for row in db.read(_listed(former, db.family), values, source="memories")]
    if len(parts) > 1:
        found.sort(key=lambda item: (item.at is not None, item.at, item.id))
    return found


# For a prompt


class SavedText(NamedTuple):
    """One of the newest saved memories, as a prompt shows it."""

    id: int
    content: str | None
    at: datetime | None


class SavedBeyond(NamedTuple):
    """A saved memory beyond those a prompt shows."""

    id: int


SHOWN = Shape(FIRST + 22, SavedText, content=TEXT, at=TIME)
REST = Shape(FIRST + 23, SavedBeyond)
MOST_COUNTED = 1000


@lru_cache(maxsize=4)
def _part(shape: Shape[Any], family: str) -> Part:
    shown = {"content": _C.content, "at": _C.timestamp} if shape is SHOWN else {}
    made = select(*shape.columns(id=_C.id, **shown)).where(
        _C.persona_id == bindparam("persona", type_=Key(64)),
        _of_audiences(family),
        _C.local_only <= bindparam("local_only", type_=Integer()),
        *is_there(),
    )
    newest = made.order_by(_C.timestamp.desc(), _C.id.desc()).limit(bindparam("most", type_=Integer()))
    return Part(newest.offset(bindparam("skipped", type_=Integer())), family)


def section_parts(most: int) -> tuple[Branch, ...]:
    """Return what brings the newest `most` saved memories a prompt may show, and the ids of the others."""
    return (
        Branch(SHOWN, lambda family: _part(SHOWN, family), {"most": most, "skipped": 0}, table.name),
        Branch(REST, lambda family: _part(REST, family), {"most": MOST_COUNTED, "skipped": most}, table.name),
    )
