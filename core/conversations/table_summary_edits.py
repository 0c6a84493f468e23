"""Changes that a person makes to the list of conversations: another title or summary, one taken off, one put in.

Called by `conversations.memory_files`, whose rows are those the scope sees.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, select, update

from ..audience import table_conversations as conversations
from ..database.engine import Database
from ..database.schema_recent import conversation_summaries
from ..memories import table_history as item_history
from ..scope import Scope
from ..shapes import WriteResult
from . import table_summaries as summaries
from .table_summaries import NewSummary

_C = conversation_summaries.c
EDITED = "edited"


def change(db: Database, persona: str, row_id: int, *, title: str, summary: str, at: datetime | None, by: str) -> bool:
    """Give a listed summary another title, summary or time, the former texts kept; False where it is not listed.

    Args:
        at: None leaves the time as it is.
        by: who changed it, for the history.

    Raises:
        StoreWriteError: nothing was changed.
    """

    def work(connection: Connection) -> bool:
        there = select(_C.title, _C.summary).where(_listed(persona, row_id)).with_for_update()
        row = connection.execute(there).first()
        if row is None:
            return False
        if (row.title, row.summary) != (title, summary):
            former = [(row_id, f"{row.title}\n{row.summary}", EDITED)]
            name = conversation_summaries.name
            item_history.insert_texts(connection, db, persona, name, former, changed_by=by, now=db.clock())
        new = {"title": title, "summary": summary, "provenance": "manual"} | ({"occurred_at": at} if at else {})
        connection.execute(update(conversation_summaries).where(_listed(persona, row_id)).values(new))
        return True

    return db.transaction(work, source="conversation_summaries", confirm=lambda _: None)


def archive(db: Database, persona: str, row_id: int) -> bool:
    """Take a summary off the list; False where it is not on it.

    Raises:
        StoreWriteError: nothing was changed.
    """
    gone = update(conversation_summaries).where(_listed(persona, row_id)).values(archived_at=db.clock())
    done = db.transaction(lambda c: c.execute(gone).rowcount, source="conversation_summaries", confirm=lambda _: None)
    return bool(done)


def insert(db: Database, scope: Scope, *, title: str, summary: str, at: datetime, most: int) -> WriteResult:
    """Put a summary that a person wrote on the list of the scope's audience.

    Raises:
        StoreWriteError: nothing was stored.
    """
    row_id = db.ids.one()

    def work(connection: Connection) -> WriteResult:
        place = conversations.ensure(connection, db, scope, sender=scope.participant)
        # No conversation ended: the row's own id stands for the end, so that two never are the same.
        new = NewSummary(row_id, None, title, summary, at, row_id, "import")
        return summaries.keep(connection, db, scope.persona, new, place, most=most)

    def confirm(connection: Connection) -> WriteResult | None:
        there = connection.execute(select(_C.id).where(_C.persona_id == scope.persona, _C.id == row_id)).first()
        return WriteResult(True, row_id) if there else None

    return db.transaction(work, source="conversation_summaries", confirm=confirm)


def _listed(persona: str, row_id: int) -> ColumnElement[bool]:
    return and_(_C.persona_id == persona, _C.id == row_id, _C.archived_at.is_(None))
