"""Saved memories (table memories, kind `saved`): insert, list, delete and restore."""

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, literal, select

from ..access import table as audience_table
from ..access import table_conversations
from ..access.view import Viewer, is_seen
from ..calls.call import Call
from ..database.compiled import FIRST, CompiledStatement, Shape
from ..database.dialects import Key
from ..database.engine import Database
from ..database.schema import memories, participants
from ..database.sources import MEMORIES
from ..index import indexed
from ..memories import new_item, table_instructions, table_sources
from ..memories import table as memories_table
from ..memories.new_item import NewMemory, Provenance
from ..memories.rules import INSTRUCTION, SAVED
from ..memories.table_instructions import KEPT_ITEM, KeptItem, match_in_force, match_seen
from ..shapes import WriteResult

AUTHOR, BY_PERSON, BY_FILE = "user", "user", "file"
"""Author of saved memories, and the two sources: said or passed in, or written into the Markdown file."""
_C = memories.c
_CHANGED = (
    _C.id, _C.metadata, _C.participant_key, _C.archived_at, _C.superseded_by, _C.audience_id, _C.local_only,
    _C.content_hash, _C.kind,
)  # fmt: skip


def build_memory(
    text: str,
    *,
    now: datetime,
    source: str = BY_PERSON,
    provenance: Provenance = "host",
    source_message_ids: list[int | str] | None = None,
) -> NewMemory:
    """Build a saved memory to store, pinned so that it is not pruned; `text` must not be blank."""
    memory = new_item.read(
        text, now=now, author=AUTHOR, source=source, tags=[], kind=SAVED, pinned=True, provenance=provenance,
        source_message_ids=source_message_ids,
    )  # fmt: skip
    assert memory is not None
    return memory


def insert_memory(call: Call, memory: NewMemory) -> WriteResult:
    def find_double(connection: Connection, place: table_conversations.AudienceRow) -> WriteResult | None:
        own = (place.audience_id, call.scope.participant, memory.digest, place.local_only)
        double = _find_equal(connection, call.persona, *own)
        return None if double is None else memories_table.build_result(memory, double, "duplicate")

    return memories_table.insert(call, memory, check=find_double)


def _find_equal(
    connection: Connection, persona: str, audience_id: int, participant: str | None, digest: bytes, local_only: bool
) -> int | None:
    """Return the id of the oldest saved memory with this text, or None; without `local_only`, skip local_only rows."""
    whose = _C.participant_key == participant if participant else _C.participant_key.is_(None)
    there = (_C.persona_id == persona, _C.audience_id == audience_id, _C.local_only <= int(local_only))
    # no ORDER BY: SQLite would read all memories of the audience in order of time, not the few with this digest
    same = select(_C.timestamp, _C.id).where(*there, _C.content_hash == digest, whose, *match_in_force(SAVED))
    found = [(row.timestamp is not None, row.timestamp, row.id) for row in connection.execute(same)]
    return min(found)[2] if found else None


def set_archived(db: Database, viewer: Viewer, row_id: int, *, archived: bool) -> WriteResult:
    """Archive or restore a saved memory or instruction; reason `unchanged` if the viewer sees no row with this id."""
    persona = viewer.scope.persona
    its_id = (_C.persona_id == persona, _C.id == row_id, _C.kind.in_((SAVED, INSTRUCTION)))

    def work(connection: Connection) -> WriteResult:
        place = None if archived else connection.execute(select(_C.audience_id).where(*its_id)).first()
        if place is not None:
            audience_table.lock(connection, persona, place.audience_id)
        row: Any = connection.execute(select(*_CHANGED).where(*its_id).with_for_update()).first()
        is_there = is_seen(row, viewer.audiences, viewer.sees_local_only)
        if not is_there or archived is not (row.archived_at is None and row.superseded_by is None):
            return WriteResult(False, None, "unchanged", notes=("there is no such saved memory",))
        if not archived and row.kind == INSTRUCTION:
            table_instructions.restore_instruction(connection, db, persona, row)
            return WriteResult(True, row_id)
        columns: dict[str, Any] = {"archived_at": db.clock()}
        if not archived:
            own_text = (row.audience_id, row.participant_key, bytes(row.content_hash or b""), bool(row.local_only))
            double = _find_equal(connection, persona, *own_text)
            if double is not None:
                return WriteResult(False, double, "duplicate")
            columns = {"archived_at": None, "superseded_by": None}
        else:
            table_sources.close_sources(connection, persona, [row_id])
        indexed.set_columns(connection, db, MEMORIES, persona, [row_id], **columns, updated_at=db.clock())
        return WriteResult(True, row_id)

    return db.idempotent_transaction(work, source="memories")


def read_items(db: Database, viewer: Viewer, *, kind: str = SAVED) -> list[KeptItem]:
    """Return the saved memories that a viewer sees, or the asking person's instructions; oldest first, ties by id."""
    where, values = [*match_seen(db.family), *match_in_force(kind)], viewer.bound
    if kind == INSTRUCTION:
        is_known, person = table_instructions.describe_person(viewer)
        where.append(table_instructions.match_person(is_known))
        values |= person
    statement = select(*KEPT_ITEM).where(*where).order_by(_C.timestamp, _C.id)
    return [table_instructions.read_item(row) for row in db.read(statement, values, source="memories")]


class SavedText(NamedTuple):
    """A saved memory as a prompt shows it."""

    id: int
    content: str | None
    pinned: int
    person: str | None
    """Name of the person who saved it."""
    participant: str | None
    at: datetime | None


_P = participants.c
_IS_SAVER = _P.participant_key == func.coalesce(_C.participant_key, literal("", Key(255)))
_NAME = select(_P.display_name).where(_P.persona_id == _C.persona_id, _IS_SAVER)
SHOWN = Shape(
    FIRST + 22, SavedText, _C.id, content=_C.content, pinned=_C.pinned,
    person=_NAME.scalar_subquery(), participant=_C.participant_key, at=_C.timestamp,
)  # fmt: skip
MOST_READ = 1000
"""Maximum number of saved memories that a prompt chooses from; the newest are read."""


def order_saved(rows: Iterable[SavedText]) -> list[SavedText]:
    return sorted(rows, key=lambda row: (row.at is not None, row.at, row.id))


@lru_cache(maxsize=4)
def select_shown(family: str) -> CompiledStatement:
    newest = select(*SHOWN.columns).where(*match_seen(family), *match_in_force(SAVED))
    return CompiledStatement(newest.order_by(_C.timestamp.desc(), _C.id.desc()).limit(MOST_READ), family)


def read_shown(db: Database, viewer: Viewer) -> list[SavedText]:
    """Return the newest saved memories as a prompt shows them, oldest first."""
    return order_saved(map(SHOWN.read, db.read(select_shown(db.family), viewer.bound, source="memories")))
