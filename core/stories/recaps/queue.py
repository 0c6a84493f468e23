"""Queueing the recaps of messages that have none, such as those of an imported conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...database.bulk import chunks
from ...database.engine import Database
from ...messages import table_story_rows as story_rows
from ...scope import Scope
from ..calls import Given, of_conversation

if TYPE_CHECKING:
    from sqlalchemy import Connection

PART = 200
"""Operations queued in one transaction."""


def queue_recaps(
    conversation: object = None, *, db: Database | None = None, settings: Given = None, scope: Scope | None = None
) -> int:
    """Queue the recap of every message that has none or a stale one, oldest first, and return how many were queued.

    Messages that are waiting for theirs already, that nobody said, or that are marked `exclude` are passed over; a
    second call queues nothing. An import queues nothing by itself.

    Args:
        conversation: its key; None is the scope's.

    Raises:
        StoreWriteError: the part at hand was not queued; those before it are.
    """
    call = of_conversation(conversation, db, settings, scope)
    if call.place is None or call.place.stories_off:
        return 0
    rows = story_rows.without_recap(call.reader("chat_history_cache"), call.persona, call.conversation)
    for part in chunks(rows, PART):

        def work(connection: Connection, part: list[int] = part) -> None:
            for row_id in part:
                story_rows.queue_recap(connection, call.db, call.persona, call.conversation, row_id)

        call.db.transaction(work, source="memory_jobs")
    return len(rows)
